"""Every class of a family, by existing: the package's modules are imported first, since packages are lazy."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TypeVar

T = TypeVar("T")


def import_all(package: str) -> None:
    """Import every module of a package."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)


def leaves(root: type[T]) -> list[type[T]]:
    """The classes below `root` that nothing extends."""
    below = root.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] if below else [root]
