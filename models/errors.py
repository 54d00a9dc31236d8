"""What `models/` raises when a request cannot be met and the user can do something about it.

raise ModelError("unknown architecture 'resnt18': did you mean resnet18?")
"""


class ModelError(ValueError):
    """A model that cannot be had as asked.

    The message is one line for the user: what is wrong, and the way out. Commands print it
    without a traceback, so it must stand alone.
    """
