"""Pictures drawn with matplotlib's objects, without its state or a window."""
