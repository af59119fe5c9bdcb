"""Partitions of the outputs into finitely many cells, learned from some of the samples.

A partition turns the two distributions into two rows of a finite channel. It is learned on one part of the
samples and used on another, so that whatever it is, it is only post-processing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.audit.outcomes import Outcomes
from leakcap.numeric.logspace import Floats

__all__ = ["ByKind", "ByScore", "ByValue", "CellPartition", "Cells", "Score", "shrunk_log_ratios"]

Cells = NDArray[np.int64]
Score = Callable[[Floats], Floats]
"""From coordinates of shape (n, d) to one number for each output."""


class CellPartition(ABC):
    """Cells 0, …, size − 1, with an `order` in which the likelihood ratio is meant to rise."""

    order: Cells
    """Cells from those that speak most for the second input to those that speak most for the first."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def cells(self, outcomes: Outcomes) -> Cells:
        """The cell of each outcome."""

    @abstractmethod
    def describe(self, cells: Sequence[int]) -> str:
        """A set of cells in words."""

    def counts(self, outcomes: Outcomes) -> Floats:
        """How often each cell came."""
        return np.bincount(self.cells(outcomes), minlength=self.size).astype(np.float64)


def shrunk_log_ratios(first: Floats, second: Floats) -> Floats:
    """ln of the ratio of two histograms, drawn towards zero where there are few counts.

    >>> shrunk_log_ratios(np.array([0.0, 4.0]), np.array([0.0, 4.0])).tolist()
    [0.0, 0.0]
    """
    totals = max(float(first.sum()), 1.0), max(float(second.sum()), 1.0)
    pooled = (first + second) / (totals[0] + totals[1])
    # Half a count in each cell, split as the pooled sample is: a cell seen once says little.
    return np.asarray(
        np.log((first + 0.5) / (totals[0] * pooled + 0.5))
        - np.log((second + 0.5) / (totals[1] * pooled + 0.5))
    )


@dataclass(frozen=True)
class ByKind(CellPartition):
    """What kind of output it is: a number, a text, an exception; the values of numbers are ignored."""

    names: tuple[str, ...]
    order: Cells

    @property
    def size(self) -> int:
        """One cell a kind, and one for kinds that were not there yet."""
        return len(self.names) + 1

    def cells(self, outcomes: Outcomes) -> Cells:
        """The kind's index."""
        return np.minimum(outcomes.kinds, len(self.names))

    def describe(self, cells: Sequence[int]) -> str:
        """The names of the kinds."""
        names = [*self.names, "something new"]
        return "the output is " + " or ".join(sorted(names[c] for c in cells))


@dataclass(frozen=True)
class ByValue(CellPartition):
    """Each of the values that a score takes is a cell; values not seen when learning share the last one."""

    name: str
    score: Score
    values: Floats
    order: Cells

    @property
    def size(self) -> int:
        """One cell a value, one for other numbers, one for what is no number."""
        return len(self.values) + 2

    def cells(self, outcomes: Outcomes) -> Cells:
        """The value's index."""
        scores = self.score(outcomes.numbers)
        at = np.minimum(np.searchsorted(self.values, scores), len(self.values) - 1)
        known = np.where(self.values[at] == scores, at, len(self.values))
        return np.where(outcomes.numeric, known, len(self.values) + 1)

    def describe(self, cells: Sequence[int]) -> str:
        """The values, the first few by name."""
        known = [f"{self.values[c]:.12g}" for c in cells if c < len(self.values)]
        words = known[:12] + ([f"{len(known) - 12} more values"] if len(known) > 12 else [])
        words += ["a value not seen before"] if len(self.values) in cells else []
        words += ["no number"] if len(self.values) + 1 in cells else []
        return f"{self.name} is " + (" or ".join(words) if len(words) < 3 else "one of " + ", ".join(words))


@dataclass(frozen=True)
class ByScore(CellPartition):
    """Intervals of a score: cell i is edges[i−1] < score ≤ edges[i]; what is no number has cells of its own.

    `kinds` are the kinds without coordinates that were seen when learning.
    """

    name: str
    score: Score
    edges: Floats
    kinds: tuple[int, ...]
    names: tuple[str, ...]
    order: Cells

    @property
    def size(self) -> int:
        """One cell an interval, one a kind without coordinates, one for new kinds."""
        return len(self.edges) + 2 + len(self.kinds)

    def cells(self, outcomes: Outcomes) -> Cells:
        """The interval's index; after them the kinds without coordinates."""
        inside = np.searchsorted(self.edges, self.score(outcomes.numbers), side="left")
        if outcomes.numeric.all():
            return inside
        place = np.full(max([*self.kinds, int(outcomes.kinds.max()), 0]) + 1, len(self.kinds))
        place[list(self.kinds)] = np.arange(len(self.kinds))
        return np.where(outcomes.numeric, inside, len(self.edges) + 1 + place[outcomes.kinds])

    def describe(self, cells: Sequence[int]) -> str:
        """Unions of intervals, and names of kinds."""
        inside = sorted(c for c in cells if c <= len(self.edges))
        parts = [self._interval(low, high) for low, high in _runs(inside)]
        for cell in sorted(c for c in cells if c > len(self.edges)):
            at = cell - len(self.edges) - 1
            parts.append(
                f"the output is {self.names[self.kinds[at]] if at < len(self.kinds) else 'something new'}"
            )
        shown = parts[:6] + ([f"{len(parts) - 6} more intervals"] if len(parts) > 6 else [])
        return " or ".join(shown)

    def _interval(self, low: int, high: int) -> str:
        top = f"{self.name} ≤ {self.edges[high]:.10g}" if high < len(self.edges) else ""
        if low == 0:
            return top or f"{self.name} is any number"
        bottom = f"{self.edges[low - 1]:.10g} < {self.name}"
        return f"{bottom} ≤ {self.edges[high]:.10g}" if top else f"{self.name} > {self.edges[low - 1]:.10g}"


def _runs(cells: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive cells as ranges.

    >>> _runs([0, 1, 4])
    [(0, 1), (4, 4)]
    """
    runs: list[tuple[int, int]] = []
    for cell in cells:
        if runs and runs[-1][1] == cell - 1:
            runs[-1] = (runs[-1][0], cell)
        else:
            runs.append((cell, cell))
    return runs
