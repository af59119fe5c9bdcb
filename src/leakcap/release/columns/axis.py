"""One way in which a table is split."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from leakcap.arrays import NDArray, np
from leakcap.numeric import up
from leakcap.policy.declared import Key
from leakcap.release.columns.typed import OneOf, literal

__all__ = ["LONGEST_KEY", "Axis"]

LONGEST_KEY = 200
_WORD = 2**63
_LARGEST_CHARACTER = 4  # bytes of UTF-8


@dataclass(frozen=True)
class Axis:
    """One way in which the table is split: what the engine groups by, and the label of each of its values."""

    column: str
    tree: exp.Expression
    labels: dict[Key, Key]
    kind: str
    open: bool = False
    """Whether the keys are not public: there are no labels, and any key may occur."""
    within: tuple[str, ...] = ()
    """The columns that the keys lie within, the outermost first."""
    paths: tuple[tuple[Key, ...], ...] = ()
    """Where they lie within others: for each of them the labels of those columns and its own."""
    day: exp.Expression | None = None
    """The day of a row, where the code follows from it."""
    days: int = 0
    """How many days there are within the bounds; 0 where the code does not follow from a day."""

    @property
    def by_day(self) -> exp.Expression:
        """What rows are counted by first: the day, or the code where it does not follow from one."""
        return self.tree if self.day is None else self.day

    def of_day(self, name: exp.Expression) -> exp.Expression:
        """The code of what is called `name`, a day where the code follows from it.

        >>> day = exp.column("admitted")
        >>> month = Axis("month", exp.Month(this=day), {}, "integer", day=day)
        >>> month.of_day(exp.column("k")).sql()
        'MONTH(k)'
        """
        if self.day is None:
            return name.copy()
        return self.tree.transform(lambda node: name.copy() if node == self.day else node)

    def places(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each code among the labels; −1 where it is none of them."""
        if self._first is not None and column.dtype.kind == "i":
            place = column.astype(np.int64) - self._first
            return np.where((place >= 0) & (place < len(self.labels)), place, -1)
        known = {code: place for place, code in enumerate(self.labels)}
        return np.fromiter((known.get(code, -1) for code in column.tolist()), np.int64, len(column))

    @cached_property
    def _run(self) -> tuple[int, int] | None:
        """The least and the largest code, where they are integers without a gap; as all bins are."""
        if self.kind != "integer" or not self.labels:
            return None
        codes = [int(code) for code in self.labels]
        first, last = min(codes), max(codes)
        return (first, last) if last - first + 1 == len(codes) else None

    @cached_property
    def _first(self) -> int | None:
        """The least code, where they rise by one from it."""
        if self._run is None or abs(self._run[0]) >= _WORD // 2:
            return None
        first, last = self._run
        rises = all(map(operator.eq, self.labels, range(first, last + 1)))
        return first if rises else None

    @property
    def log_keys(self) -> float:
        """At least the logarithm of how many keys are possible: integers of 64 bits, texts up to a length."""
        if not self.open:
            return up(math.log(len(self.labels)))
        bits = 64 if self.kind == "integer" else 8 * _LARGEST_CHARACTER * LONGEST_KEY
        return (bits + 0.01) * math.log(2.0)  # a text may be shorter: 256/255 times as many

    def listed(self, name: exp.Expression) -> exp.Expression:
        """The condition that keeps rows whose key is public; all others are dropped.

        Of private keys all but NULL are kept.
        Integers without a gap are a range, which costs a row two comparisons however many they are.
        """
        if self.open:
            return exp.Not(this=exp.Is(this=name, expression=exp.Null()))
        if self._run is not None:
            first, last = (literal(code, "integer") for code in self._run)
            return exp.Between(this=name, low=first, high=last)
        return OneOf(this=name, keys=tuple(self.labels), kind=self.kind)
