"""What a model says of labelled images, and how good that is."""
