"""What can be asked of a table: one family of statistics a file, found by being here.

A new statistic is a subclass of `Statistic` in a module of this package, or in a package of its own that
names the class among its entry points `leakcap.statistics`; see `docs/architecture.md`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from leakcap.errors import LeakcapError
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic

__all__ = ["Expected", "Statistic", "statistic_of", "statistics"]

GROUP = "leakcap.statistics"


@cache
def statistics() -> Mapping[str, Statistic]:
    """Every statistic by its name: leakcap's own, then those of other packages.

    Raises `LeakcapError` for one of another package that cannot be used, by its name.

    >>> statistics()["count"].sql
    ('COUNT',)
    """
    found = {kind.name: kind() for kind in _own()}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        kind = _loaded(entry)
        _check(kind, entry, found)
        found[kind.name] = kind()
    return MappingProxyType(found)


def statistic_of(query: QueryFields) -> Statistic:
    """The statistic that is asked for.

    >>> statistic_of(QueryFields(name="n", statistic="count")).label
    'count'
    """
    return statistics()[query.statistic]


def _own() -> Iterator[type[Statistic]]:
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            mine = inspect.isclass(value) and value.__module__.endswith(f".{module.name}")
            if mine and issubclass(value, Statistic) and hasattr(value, "name"):
                yield value


def _loaded(entry: EntryPoint) -> type[Statistic]:
    try:
        kind = entry.load()
    except Exception as error:
        raise _refused(entry, f"cannot be loaded ({type(error).__name__})") from None
    if not (inspect.isclass(kind) and issubclass(kind, Statistic)) or inspect.isabstract(kind):
        raise _refused(entry, "is no subclass of `Statistic` with all its methods")
    return kind


def _check(kind: type[Statistic], entry: EntryPoint, known: Mapping[str, Statistic]) -> None:
    """Names and SQL words must be plain and nobody else's: what they ask for must never depend on which
    package came first."""
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not name.isidentifier() or not name.islower():
        raise _refused(entry, "needs a `name` of lower-case letters, digits and underscores")
    if name in known:
        raise _refused(entry, f"has the name of another, `{name}`")
    taken = {word for one in known.values() for word in (*one.sql, *one.sql_of_two)}
    for word in (*kind.sql, *kind.sql_of_two):
        if not word.isidentifier() or not word.isupper() or word in taken:
            raise _refused(entry, f"has the SQL word `{word}`, which must be upper-case and nobody else's")


def _refused(entry: EntryPoint, rule: str) -> LeakcapError:
    return LeakcapError(f"The statistic `{entry.value}` {rule}. Mend or uninstall its package.")
