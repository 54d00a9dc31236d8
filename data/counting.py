"""How many of what, in words: ``1 image``, ``2 images``, ``3 classes``.

counted(len(files), "file")
"""


def counted(count: int, noun: str) -> str:
    """`count` and the `noun`, in the plural where there is not one of it."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"
