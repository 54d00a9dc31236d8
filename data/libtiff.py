"""Keep libtiff from writing to standard error: what is wrong with a file is said once, by whoever reads it.

silence_libtiff()

Pillow switches off libtiff's warnings (`src/libImaging/TiffDecode.c`), but not its errors.
"""

import ctypes

from PIL import Image


def silence_libtiff() -> None:
    """Let the whole process's libtiff say nothing of errors, which Pillow raises as well.

    Where Pillow holds libtiff within itself, as on Windows, it cannot be reached, and goes on.
    """
    try:
        libraries = ctypes.CDLL(Image.core.__file__)  # a name is looked for in what it is linked with, too
        set_handler = libraries.TIFFSetErrorHandler
    except (OSError, AttributeError):
        return
    set_handler.argtypes, set_handler.restype = [ctypes.c_void_p], ctypes.c_void_p
    set_handler(None)
