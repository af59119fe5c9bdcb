"""What is published of a count at each key: by a perturbation table, and by the steps after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.cells import CellMethod, FollowedBy, Shown
from leakcap.errors import require

__all__ = ["RowsByKey", "begins_with_keys"]

Codes = NDArray[np.int64]
_MOST_KEYS = 1 << 12


@dataclass(frozen=True, eq=False)
class RowsByKey:
    """What a method with cell keys publishes of so many people at the keys 0, …, `keys` − 1.

    Numbers stand for themselves, words for −1, −2, …. Raises `InvalidParameter` for a method without cell
    keys, for one with further chance after them, and where the table's shares are no whole keys.

    >>> from leakcap.disclosure.cell_key import PerturbationTable
    >>> half = Fraction(1, 2)
    >>> rows = RowsByKey(CellKey(PerturbationTable((((0, 2 * half),), ((-1, half), (1, 2 * half))))), 4)
    >>> rows.row(7)
    array([6, 6, 8, 8])
    """

    method: CellMethod
    keys: int
    _found: dict[int, Codes] = field(default_factory=dict, repr=False)
    _words: dict[Shown, int] = field(default_factory=dict, repr=False)
    _rows: dict[int, list[int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        first = _first_of(self.method)
        require(isinstance(first, CellKey), "method", "RowsByKey", "begin with cell keys", self.method.words)
        whole = isinstance(self.keys, int) and not isinstance(self.keys, bool)
        rule = f"be a whole number from 2 to {_MOST_KEYS}"
        require(whole and 2 <= self.keys <= _MOST_KEYS, "keys", "RowsByKey", rule, self.keys)
        assert isinstance(first, CellKey)
        self._rows.update(enumerate(first.table.by_key(self.keys)))

    def row(self, count: int) -> Codes:
        """At each key what is published of a count; that of an empty cell has key 0 alone."""
        if count not in self._found:
            first = _first_of(self.method)
            assert isinstance(first, CellKey)
            added = self._rows[first.table.place(count)]
            shown = {value: self._after(self.method, count + value) for value in set(added)}
            self._found[count] = np.array([self._code(shown[value]) for value in added], dtype=np.int64)
        return self._found[count]

    def shown(self, count: int) -> list[Shown]:
        """The same, with words as they are."""
        codes = self.row(count).tolist()
        words = {code: word for word, code in self._words.items()}
        return [words.get(code, code) for code in codes]

    def _after(self, method: CellMethod, number: int) -> Shown:
        """What the steps after the cell keys make of a number."""
        if not isinstance(method, FollowedBy):
            return number
        law = method.second.law(int(self._after(method.first, number)))
        rule = "have no chance of its own after the cell keys"
        require(set(law.values()) == {Fraction(1)}, "method", "RowsByKey", rule, method.second.words)
        return next(iter(law))

    def _code(self, shown: Shown) -> int:
        return shown if isinstance(shown, int) else self._words.setdefault(shown, -1 - len(self._words))


def begins_with_keys(method: CellMethod) -> bool:
    """Whether the first step of a method is that of cell keys.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> begins_with_keys(RandomRounding(3))
    False
    """
    return isinstance(_first_of(method), CellKey)


def _first_of(method: CellMethod) -> CellMethod:
    while isinstance(method, FollowedBy):
        method = method.first
    return method
