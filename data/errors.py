"""What the data package raises: one line for the user that names the file or flag and the way out."""


class DataError(ValueError):
    """The data set cannot be used as it is; the message says what is wrong and what to do."""


class ImageError(DataError):
    """One image cannot be read; the message is ``<file>: <reason>``."""
