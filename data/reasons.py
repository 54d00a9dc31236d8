"""Why a file is no image that can be used, in words for its owner.

reason(Path("a.jpg"), error, heif=False)    # "empty file"
"""

from pathlib import Path

from PIL import Image

from data.convert import PixelError

HEIC_SUFFIXES = (".heic", ".heif")
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")  # bytes 8 to 12
# Only those that no text begins with.
SIGNATURES = {b"\x89PNG": "PNG", b"\xff\xd8\xff": "JPEG", b"II*\0": "TIFF", b"MM\0*": "TIFF"}
HEAD = 32  # bytes that tell a kind of file


def reason(source: Path | str | bytes, error: Exception, *, heif: bool) -> str:
    """The reason in a few words, for a list of files that are left out; never raises.

    Parameters
    ----------
    source
        The path or the bytes that were read.
    error
        What was raised.
    heif
        Whether HEIC files can be read here.
    """
    if isinstance(error, PixelError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "link to a missing file" if Path(source).is_symlink() else "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, OSError) and error.strerror:  # the system's; Pillow's have a message alone
        return error.strerror.lower()
    head = _head(source)
    if head == b"":
        return "empty file"
    if isinstance(error, Image.UnidentifiedImageError):
        suffix = "" if isinstance(source, bytes) else Path(source).suffix.lower()
        heic = suffix in HEIC_SUFFIXES or (head[4:8] == b"ftyp" and head[8:12] in HEIC_BRANDS)
        if heic and not heif:
            return "HEIC is not supported: install pillow-heif"
        if kind := next((name for start, name in SIGNATURES.items() if head.startswith(start)), None):
            return f"damaged, or an unsupported kind of {kind}"
        return "not an image of a supported format"
    if isinstance(error, (Image.DecompressionBombError, MemoryError)):
        return "too many pixels to decode safely"
    return f"damaged ({str(error).splitlines()[0] if str(error) else type(error).__name__})"


def _head(source: Path | str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:HEAD]
    try:
        with open(source, "rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError):  # the first error tells more than this one
        return b"?"
