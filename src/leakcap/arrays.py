"""NumPy, loaded when the first array is made: `from leakcap.arrays import NDArray, np`.

A preview prices every query and makes no array, and to load NumPy would be a fifth of what it takes. So the
modules that a preview loads take `np` from here. Whatever is asked of it loads NumPy; where a module asks
while it is being imported, that is at once. `NDArray` and `ArrayLike` are words of annotations. An alias that
is made of them is a string, `Floats: TypeAlias = "NDArray[np.float64]"`.
"""

from __future__ import annotations

from importlib import import_module
from types import GenericAlias
from typing import TYPE_CHECKING, Any

__all__ = ["ArrayLike", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    ArrayLike = Any

    class NDArray:
        """What is read of it is its name."""

        __class_getitem__ = classmethod(GenericAlias)

    class _Later:
        """A package whose names are fetched when they are first asked for, and kept."""

        def __init__(self, package: str) -> None:
            self.__package = package

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self.__package), name)
            setattr(self, name, value)
            return value

    np = _Later("numpy")
