"""What an unpickler puts in the place of a name that must not run: it keeps what it is given and does nothing.

Resize = stand_in("fastai.vision.augment", "Resize")
resize = Resize()                           # as a pickle makes one
resize.__setstate__({"method": "crop"})     # resize.state["method"]
"""

from collections.abc import Iterable, Iterator
from typing import Any

from models.errors import Refused

NAMED_TYPES = ("_builtin_type",)  # cloudpickle's way to say CodeType, which its functions are made with


class Placeholder:
    """An object of a pickle, by what made it: ``origin`` (module and name), ``args``, ``state``, ``items``.

    A class of placeholders takes any arguments, as classes and functions do; an object of it takes a state, items
    and keys, as objects do, but cannot be called or compared, and has none of the methods of what it stands for.
    """

    origin = ("", "")

    def __new__(cls, *args: Any, **options: Any) -> "Placeholder":
        made = super().__new__(cls)
        made.args, made.state, made.items = args, {}, []
        return made

    def __init__(self, *args: Any, **options: Any):
        pass

    def __setstate__(self, state: Any) -> None:
        # A pair is the form for classes with slots.
        for part in state if isinstance(state, tuple) and len(state) == 2 else (state,):
            if isinstance(part, dict):
                self.state.update(part)

    def __call__(self, *args: Any, **options: Any) -> "Placeholder":
        if self.origin[1] not in NAMED_TYPES:
            raise Refused(f"refused, it calls what {'.'.join(self.origin)} made")
        return stand_in(*self.origin)()

    # A network that looked at one would go on with a wrong answer.
    def __eq__(self, other: Any) -> bool:
        raise TypeError(f"{self!r} is not there to be compared")

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is not there to be asked")

    __hash__ = object.__hash__

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        self.items.extend(values)

    def __repr__(self) -> str:
        return f"<{'.'.join(self.origin)}>"


def stand_in(module: str, name: str) -> type[Placeholder]:
    """A class of placeholders for one name."""
    return type(name, (Placeholder,), {"origin": (module, name)})


def is_a(value: Any, *names: str) -> bool:
    """Whether `value` is an object made by one of `names`, each ``module.name``."""
    return isinstance(value, Placeholder) and ".".join(value.origin) in names


def objects(root: Any) -> Iterator[Placeholder]:
    """Every placeholder below `root`, once, in the order of the file."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Placeholder):
            yield value
            waiting += [value.items, value.state, value.args]
        elif isinstance(value, dict):
            waiting += [*value.values(), *value.keys()]
        elif isinstance(value, (list, tuple, set)):
            waiting += value
