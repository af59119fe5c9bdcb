"""The edges of the implication graph, by theme; each file enrols its own when it is imported."""

from __future__ import annotations

import importlib
import pkgutil

__all__ = ["load_all"]


def load_all() -> None:
    """Import every file of this folder, so that a new file of edges needs no list to be edited."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


load_all()
