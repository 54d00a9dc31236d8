"""The error of this package."""


class XLAError(RuntimeError):
    """XLA is not to be had, or cannot do what is asked; the message says why, and what can be done."""
