"""What can be asked of a table: one family of statistics a file, found by being here.

A new statistic is a subclass of `Statistic` in a module of this package; see `docs/architecture.md`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from leakcap.release.statistics.base import Expected, Statistic

__all__ = ["Expected", "Statistic", "statistics"]


@cache
def statistics() -> Mapping[str, Statistic]:
    """Every statistic by its name.

    >>> statistics()["count"].sql
    ('COUNT',)
    """
    found: dict[str, Statistic] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            mine = inspect.isclass(value) and value.__module__.endswith(f".{module.name}")
            if mine and issubclass(value, Statistic) and hasattr(value, "name"):
                found[value.name] = value()
    return MappingProxyType(found)
