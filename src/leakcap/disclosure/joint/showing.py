"""What is published of a number of people, whose keys have a sum: by cell keys, or by any other method."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, Shown
from leakcap.disclosure.joint.keyed import RowsByKey, begins_with_keys
from leakcap.disclosure.joint.margin import checked_table
from leakcap.errors import require

__all__ = ["Outcome", "Showing", "add_law", "channel_of_laws", "require_chances", "showing"]

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


def channel_of_laws(worlds: Sequence[str], laws: Sequence[Mapping[Outcome, Fraction]]) -> Channel:
    """The channel from worlds to outcomes, each world with its law. Outcomes are in order, numbers first.

    >>> likely = dict.fromkeys([("suppressed", 3), (2, 9), (2, 3)], Fraction(1, 3))
    >>> channel_of_laws(("absent", "present"), [likely, {(2, 9): Fraction(1)}]).outputs
    ((2, 3), (2, 9), ('suppressed', 3))
    """
    outcomes = {shown for law in laws for shown in law}
    outputs = sorted(outcomes, key=lambda outcome: [(isinstance(one, str), one) for one in outcome])
    matrix = [[law.get(shown, Fraction(0)) for shown in outputs] for law in laws]
    return Channel(matrix, inputs=worlds, outputs=outputs)


def add_law(law: dict[Outcome, Fraction], other: Mapping[Outcome, Fraction], weight: Fraction) -> None:
    """Add a law, so often, to what was added up so far.

    >>> total = {(1,): Fraction(1, 4)}
    >>> add_law(total, {(1,): Fraction(1)}, Fraction(1, 2))
    >>> total[1,]
    Fraction(3, 4)
    """
    for shown, chance in other.items():
        law[shown] = law.get(shown, Fraction(0)) + weight * chance


def require_chances(name: str, chances: Sequence[Fraction], verb: str) -> None:
    """Raise `InvalidParameter` unless these are exact chances of all that may be."""
    exact = all(isinstance(one, Fraction | int) and not isinstance(one, bool) for one in chances)
    rule = "have chances that are fractions from 0 and add up to one"
    require(exact and all(one >= 0 for one in chances) and sum(chances) == 1, name, verb, rule, "others")


def _at_each_key(rows: Iterable[tuple[int, Sequence[Shown]]]) -> Shares:
    found: Shares = {}
    for count, row in rows:
        for value in dict.fromkeys(row):
            share = np.array([int(one == value) for one in row], dtype=object)
            found.setdefault(value, {})[count] = share
    return found
