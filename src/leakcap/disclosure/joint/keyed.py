"""What is published of a count at each key: by a perturbation table, and by the steps after it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.cells import CellMethod, FollowedBy, Shown
from leakcap.errors import require

__all__ = ["KeyedRows", "first_of"]

Codes = NDArray[np.int64]
_MOST_KEYS = 1 << 12


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """What a method with cell keys publishes of so many people at the keys 0, …, `keys` − 1.

    Numbers stand for themselves, words for −1, −2, …. Raises `InvalidParameter` for a method without cell
    keys, for one with further chance after them, and where the table's shares are no whole keys.

    >>> from leakcap.disclosure.cell_key import PerturbationTable
    >>> half = Fraction(1, 2)
    >>> rows = KeyedRows(CellKey(PerturbationTable((((0, 2 * half),), ((-1, half), (1, 2 * half))))), 4)
    >>> rows.row(7)
    array([6, 6, 8, 8])
    """

    method: CellMethod
    keys: int
    _found: dict[int, Codes] = field(default_factory=dict, repr=False)
    _words: dict[Shown, int] = field(default_factory=dict, repr=False)
    _rows: dict[int, list[int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        first = first_of(self.method)
        require(isinstance(first, CellKey), "method", "KeyedRows", "begin with cell keys", self.method.words)
        whole = isinstance(self.keys, int) and not isinstance(self.keys, bool)
        rule = f"be a whole number from 2 to {_MOST_KEYS}"
        require(whole and 2 <= self.keys <= _MOST_KEYS, "keys", "KeyedRows", rule, self.keys)
        assert isinstance(first, CellKey)
        self._rows.update(enumerate(first.table.by_key(self.keys)))

    @staticmethod
    def keys_of(method: CellMethod) -> int | None:
        """The least number of keys that its table's shares are whole numbers of; None without a table."""
        first = first_of(method)
        if not isinstance(first, CellKey):
            return None
        shares = {share.denominator for row in first.table.rows for _, share in row}
        return max(2, math.lcm(*shares))

    def row(self, count: int) -> Codes:
        """At each key what is published of a count; that of an empty cell has key 0 alone."""
        if count not in self._found:
            first = first_of(self.method)
            assert isinstance(first, CellKey)
            added = self._rows[first.table.place(count)]
            shown = {value: self._after(self.method, count + value) for value in set(added)}
            self._found[count] = np.array([self._code(shown[value]) for value in added], dtype=np.int64)
        return self._found[count]

    def _after(self, method: CellMethod, number: int) -> Shown:
        """What the steps after the cell keys make of a number."""
        if not isinstance(method, FollowedBy):
            return number
        law = method.second.law(int(self._after(method.first, number)))
        rule = "have no chance of its own after the cell keys"
        require(set(law.values()) == {Fraction(1)}, "method", "KeyedRows", rule, method.second.words)
        return next(iter(law))

    def _code(self, shown: Shown) -> int:
        return shown if isinstance(shown, int) else self._words.setdefault(shown, -1 - len(self._words))


def first_of(method: CellMethod) -> CellMethod:
    """The first step of a method."""
    while isinstance(method, FollowedBy):
        method = method.first
    return method
