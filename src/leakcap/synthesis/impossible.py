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

_TRIED, _AT_ONCE = 100_000, 10_000
_ENOUGH = 1_000
_MOST = 1_000
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Impossible:
    """`rules`: for each combination its columns' places and which keys it means; `told`: the same by name.
    `possible` has for each column that a rule names its keys in some rows that no rule forbids.
    """

    rules: tuple[tuple[tuple[int, NDArray[np.bool_]], ...], ...]
    told: tuple[Mapping[str, tuple[Key, ...]], ...]
    possible: Mapping[int, NDArray[np.int32]]

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def named(self) -> int:
        """How many columns all rules name together: each is looked up for each row."""
        return sum(map(len, self.rules))

    def holds(self, codes: Mapping[int, NDArray[np.int32]]) -> NDArray[np.bool_]:
        """Of each row, given by the columns that rules name, whether some rule forbids it."""
        rows = len(next(iter(codes.values()), ()))
        found = np.zeros(rows, dtype=bool)
        for rule in self.rules:
            here = np.ones(rows, dtype=bool)
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
        found = cls(tuple(rules), tuple(told), {})
        return cls(found.rules, found.told, found._some(planned.plan.workload.sizes)) if rules else found

    def _some(self, sizes: Sequence[int]) -> dict[int, NDArray[np.int32]]:
        """Keys of the rules' columns, of which each has so many `sizes`, that no rule forbids."""
        random, places = np.random.default_rng(0), sorted({place for rule in self.rules for place, _ in rule})
        kept: dict[int, list[NDArray[np.int32]]] = {place: [] for place in places}
        many = 0
        for _ in range(0, _TRIED, _AT_ONCE):
            codes = {place: random.integers(0, sizes[place], _AT_ONCE, dtype=np.int32) for place in places}
            free = ~self.holds(codes)
            for place, own in codes.items():
                kept[place].append(own[free])
            many += int(free.sum())
            if many >= _ENOUGH:
                break
        if not many:
            raise InvalidQuery(
                f"`impossible` must leave enough rows possible: each of {_TRIED:,} rows drawn from all keys "
                "is forbidden. Name fewer combinations."
            )
        return {place: np.concatenate(own) for place, own in kept.items()}


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
