"""Combinations of keys that no row of a file may have: structural zeros, named by whoever makes the file.

They are public: what is impossible is known without the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.tables.question import PlannedTables

__all__ = ["Impossible"]

_TRIED = 100_000
_MOST = 1_000
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Impossible:
    """`rules`: for each combination its columns' places and which keys it means; `told`: the same by name.
    `possible` has some rows that no rule forbids, column by column.
    """

    rules: tuple[tuple[tuple[int, NDArray[np.bool_]], ...], ...]
    told: tuple[Mapping[str, tuple[Key, ...]], ...]
    possible: tuple[NDArray[np.int32], ...]

    def __bool__(self) -> bool:
        return bool(self.rules)

    def holds(self, codes: Sequence[NDArray[np.int32]]) -> NDArray[np.bool_]:
        """Of each row, given column by column, whether some rule forbids it."""
        found = np.zeros(len(codes[0]), dtype=bool)
        for rule in self.rules:
            here = np.ones(len(found), dtype=bool)
            for place, keys in rule:
                here &= keys[codes[place]]
            found |= here
        return found

    @classmethod
    def of(cls, planned: PlannedTables, named: Sequence[Mapping[str, Key | Sequence[Key]]]) -> Self:
        """The rules, checked against the public keys of the tables. Raises `InvalidQuery`."""
        if len(named) > _MOST:
            raise InvalidQuery(
                f"`impossible` must have no more than {_MOST:,} combinations. Got {len(named):,}."
            )
        rules, told = [], []
        for one in named:
            if not isinstance(one, Mapping) or not one:
                raise InvalidQuery(
                    f"`impossible` must have combinations that name a column or more each. Got {one!r}."
                )
            keys = {column: _listed(given) for column, given in one.items()}
            rules.append(tuple(_rule(planned, column, own) for column, own in keys.items()))
            told.append(keys)
        found = cls(tuple(rules), tuple(told), ())
        if not rules:
            return found
        random = np.random.default_rng(0)
        sizes = planned.plan.workload.sizes
        codes = [random.integers(0, size, _TRIED).astype(np.int32) for size in sizes]
        free = ~found.holds(codes)
        if not free.any():
            raise InvalidQuery(
                f"`impossible` must leave some rows possible: of {_TRIED:,} rows drawn from all keys each is "
                "forbidden. Name fewer combinations."
            )
        return cls(found.rules, found.told, tuple(own[free] for own in codes))


def _listed(given: Key | Sequence[Key]) -> tuple[Key, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,)
    return tuple(given)


def _rule(planned: PlannedTables, column: str, keys: Sequence[Key]) -> tuple[int, NDArray[np.bool_]]:
    places = {axis.column: place for place, axis in enumerate(planned.axes)}
    if column not in places:
        known = ", ".join(f"`{name}`" for name in places)
        raise InvalidQuery(f"`impossible` must name columns of the tables: {known}. Got `{column}`.")
    place = places[column]
    axis = planned.axes[place]
    labels = list(axis.labels.values())
    meant = np.zeros(len(labels), dtype=bool)
    for key in keys:
        own = [index for index, one in enumerate(labels) if type(one) is type(key) and one == key]
        if not own:
            known = ", ".join(map(repr, labels[:_SHOWN])) + (", …" if len(labels) > _SHOWN else "")
            raise InvalidQuery(
                f"`{column}` of `impossible` must be one of its public keys, or a list of some: {known}. "
                f"Got {key!r}."
            )
        meant[own] = True
    if not keys:
        raise InvalidQuery(f"`{column}` of `impossible` must have a key. Got an empty list.")
    return place, meant
