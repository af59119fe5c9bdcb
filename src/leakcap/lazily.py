"""Names of a package that are loaded when they are first asked for.

A command that touches no database should not wait for one. A name may not be that of a module beside it: once
imported, the module would stand in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(
    package: str, homes: Mapping[str, Sequence[str]], rooms: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `homes` are the modules that define its names,
    `rooms` those of its packages that are names themselves. Raises `ValueError` for a name that is also the
    module's in which it, or another one, is defined.

    >>> get, listed = lazily("leakcap", {"leakcap.bound": ("Bound",)})
    >>> get("Bound").__name__, "Bound" in listed()
    ('Bound', True)
    >>> lazily("leakcap", {"leakcap.bound": ("bound",)})
    Traceback (most recent call last):
    ValueError: leakcap.bound would be hidden by the module of that name: rename the module
    """
    home = {name: module for module, names in homes.items() for name in names}
    if hidden := sorted(name for name in home if f"{package}.{name}" in homes):
        name = f"{package}.{hidden[0]}"
        raise ValueError(f"{name} would be hidden by the module of that name: rename the module")

    def get(name: str) -> Any:
        if name in rooms:
            value: Any = import_module(f"{package}.{name}")
        elif name in home:
            value = getattr(import_module(home[name]), name)
        else:
            raise AttributeError(f"module `{package}` has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *rooms})

    return get, listed
