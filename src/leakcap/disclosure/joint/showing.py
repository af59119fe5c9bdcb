"""What is published of a number of people, whose keys have a sum: by cell keys, or by any other method."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakcap.disclosure.cells import CellMethod, Shown
from leakcap.disclosure.joint.keyed import RowsByKey, begins_with_keys
from leakcap.disclosure.joint.margin import checked_table
from leakcap.errors import require

__all__ = ["Outcome", "Showing", "showing", "sorted_outcomes"]

Outcome: TypeAlias = tuple[Shown, ...]
"""What several cells show."""
Shares: TypeAlias = dict[Shown, dict[int, np.ndarray]]
"""What can be published; of each number of people, at each key, how likely it is, times a divisor."""


class Showing(ABC):
    """What a cell or margin shows. `keys` is how many keys there are; 1 where a method has none."""

    keys: int

    @abstractmethod
    def shares(self, counts: Iterable[int]) -> tuple[Shares, int]:
        """What is published of these numbers of people, in whole numbers, and their divisor."""


@dataclass(frozen=True, eq=False)
class _ByTable(Showing):
    """Cell keys by a table of what is added."""

    rows: np.ndarray

    @property
    def keys(self) -> int:  # type: ignore[override]
        """As many as a row has."""
        return int(self.rows.shape[1])

    def shares(self, counts: Iterable[int]) -> tuple[Shares, int]:
        """At each key one number is published."""
        last = len(self.rows) - 1
        return _at_each_key((count, (count + self.rows[min(count, last)]).tolist()) for count in counts), 1


@dataclass(frozen=True, eq=False)
class _ByKeyedMethod(Showing):
    """Cell keys and the steps after them."""

    rows: RowsByKey

    @property
    def keys(self) -> int:  # type: ignore[override]
        """As they were given."""
        return self.rows.keys

    def shares(self, counts: Iterable[int]) -> tuple[Shares, int]:
        """At each key one number or word is published."""
        return _at_each_key((count, self.rows.shown(count)) for count in counts), 1


@dataclass(frozen=True, eq=False)
class _ByMethod(Showing):
    """A method without keys: each cell and margin has a chance of its own."""

    method: CellMethod
    keys: int = 1

    def shares(self, counts: Iterable[int]) -> tuple[Shares, int]:
        """The laws of the counts, over a divisor of all their fractions."""
        laws = {count: self.method.law(count) for count in counts}
        divisor = math.lcm(*(chance.denominator for law in laws.values() for chance in law.values()))
        found: Shares = {}
        for count, law in laws.items():
            for value, chance in law.items():
                found.setdefault(value, {})[count] = np.array([int(chance * divisor)], dtype=object)
        return found, divisor


def showing(method: Sequence[Sequence[int]] | CellMethod, keys: int | None, verb: str) -> Showing:
    """What `method` publishes: a perturbation table by counts and keys, or an office's method.

    Raises `InvalidParameter` for `keys` that are missing, or given where there are none to count.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> found, divisor = showing(RandomRounding(3), None, "tree_channel").shares([4])
    >>> {value: rows[4].tolist() for value, rows in found.items()}, divisor
    ({3: [2], 6: [1]}, 3)
    """
    keyed = isinstance(method, CellMethod) and begins_with_keys(method)
    if keyed:
        require(keys is not None, "keys", verb, "be given: how many different keys a record can have", keys)
        assert isinstance(method, CellMethod)
        assert keys is not None
        return _ByKeyedMethod(RowsByKey(method, keys))
    rule = "be left out: it is for a method that begins with cell keys"
    require(keys is None, "keys", verb, rule, keys)
    return _ByMethod(method) if isinstance(method, CellMethod) else _ByTable(checked_table(method, verb))


def sorted_outcomes(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes in order, numbers before words.

    >>> sorted_outcomes([("suppressed", 3), (2, 9), (2, 3)])
    [(2, 3), (2, 9), ('suppressed', 3)]
    """
    return sorted(outcomes, key=lambda outcome: [(isinstance(one, str), one) for one in outcome])


def _at_each_key(rows: Iterable[tuple[int, Sequence[Shown]]]) -> Shares:
    found: Shares = {}
    for count, row in rows:
        for value in dict.fromkeys(row):
            share = np.array([int(one == value) for one in row], dtype=object)
            found.setdefault(value, {})[count] = share
    return found
