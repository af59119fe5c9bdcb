"""Cumulative counts from a tree of counts: each row is counted once on every level.

With branching B and K bins level l counts runs of B^l bins; there are L = ⌈log_B K⌉ levels below the whole.
The rows up to bin j are a sum of as many nodes as the digits of j in base B add up to. A row is in one node
of each level, so a unit moves all levels together L times as far as a histogram. B = K is the histogram
itself, whose prefixes sum up to K noises; B = 2 the binary tree. Which B has the smallest mean squared
error is known before any data are: L²·(mean digit sum), up to rounding of the noise.

Source: Chan, Shi & Song 2011 and Dwork, Naor, Pitassi & Rothblum 2010 for B = 2; Qardaji, Yang & Li 2013 for
the choice of B; Ayer, Brunk, Ewing, Reid & Silverman 1955 for the monotone fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from leakcap.arrays import np
from leakcap.numeric import up
from leakcap.release.measurements.aggregates import RowCount
from leakcap.release.measurements.measurement import NoisyMeasurement, Offer, measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.exact_integers import ExactIntegers, clipped, exact_integers
from leakcap.sampling import ByteSource

__all__ = [
    "TreeMeasurement",
    "branching_for",
    "digits",
    "levels_of",
    "monotone",
    "nodes_of",
    "prefixes",
    "tree_of",
]


@cache
def levels_of(bins: int, branching: int) -> tuple[int, ...]:
    """How many bins a node of each level counts, finest first.

    >>> levels_of(8, 2), levels_of(8, 8)
    ((1, 2, 4), (1,))
    """
    levels = [1]
    while levels[-1] * branching < bins:
        levels.append(levels[-1] * branching)
    return tuple(levels)


def digits(place: int, bins: int, branching: int) -> list[int]:
    """How many nodes of each level, finest first, the first `place` bins are a sum of.

    >>> digits(7, 8, 2), digits(8, 8, 2)
    ([1, 1, 1], [0, 0, 2])
    """
    found = []
    levels = levels_of(bins, branching)
    for _ in levels[:-1]:
        place, digit = divmod(place, branching)
        found.append(digit)
    return [*found, place]


@cache
def branching_for(bins: int) -> int:
    """The branching with the smallest mean squared error of the cumulative counts; the larger of two alike.

    >>> branching_for(4), 2 < branching_for(1000) < 1000
    (4, True)
    """

    def error(branching: int) -> Fraction:
        levels = len(levels_of(bins, branching))
        return Fraction(levels**2 * _digit_sums(bins, branching), bins)

    # Between two numbers of levels the smallest branching has the smallest digits.
    depths = range(1, bins.bit_length() + 1)
    choices = {max(2, _root(bins, depth)) + more for depth in depths for more in (0, 1)} | {bins}
    return min((b for b in sorted(choices, reverse=True) if b <= bins), key=error)


def _root(bins: int, depth: int) -> int:
    low = round(bins ** (1 / depth))
    return next(b for b in range(max(1, low - 1), bins + 1) if b**depth >= bins)


def _digit_sums(bins: int, branching: int) -> int:
    places, total = np.arange(1, bins + 1), 0
    for _ in levels_of(bins, branching)[:-1]:
        total += int((places % branching).sum())
        places //= branching
    return total + int(places.sum())


def nodes_of(counts: ExactIntegers, bins: int, branching: int) -> ExactIntegers:
    """All nodes of the trees of all groups: group by group, level by level, finest first.

    >>> nodes_of(np.array([1, 2, 3]), 3, 2).tolist()
    [1, 2, 3, 3, 3]
    """
    table: Any = counts.astype(object).reshape(-1, bins)
    parts = [
        np.add.reduceat(table, np.arange(0, bins, width), axis=1) for width in levels_of(bins, branching)
    ]
    return exact_integers(np.concatenate(parts, axis=1).ravel())


def prefixes(nodes: Sequence[int], bins: int, branching: int) -> list[int]:
    """The rows in the first 1, 2, … bins of one group, from its noisy nodes."""
    widths = levels_of(bins, branching)
    starts = np.cumsum([0, *(-(-bins // width) for width in widths)]).tolist()
    found = []
    for place in range(1, bins + 1):
        total, done = 0, 0
        for level in reversed(range(len(widths))):
            width = widths[level]
            count = digits(place, bins, branching)[level]
            first = starts[level] + done // width
            total += sum(nodes[first : first + count])
            done += count * width
        found.append(total)
    return found


def monotone(values: Sequence[int], weights: Sequence[Fraction]) -> list[int]:
    """The nearest rising sequence by weighted least squares, none of it below 0, rounded to whole numbers.

    Pools adjacent violators; rounding keeps the order.

    >>> monotone([3, 1, 4, -2], [Fraction(1)] * 4)
    [2, 2, 2, 2]
    >>> monotone([-1, 5, 3], [Fraction(1)] * 3)
    [0, 4, 4]
    """
    blocks: list[tuple[Fraction, Fraction, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, mass, size = Fraction(value), weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, count = blocks.pop()
            mean = (mean * mass + other * more) / (mass + more)
            mass, size = mass + more, size + count
        blocks.append((mean, mass, size))
    return [max(0, round(mean)) for mean, _, size in blocks for _ in range(size)]


@dataclass(frozen=True, kw_only=True)
class TreeMeasurement(NoisyMeasurement):
    """The noisy nodes of a tree of counts over `bins` bins in each group.

    The contribution is that of the histogram. On each of L levels a unit moves the counts as far as there, in
    L1 and in L2, so that all of them move L times as far in L1, and √L times in L2.
    """

    kept: ClassVar[bool] = False

    bins: int
    branching: int

    @property
    def levels(self) -> int:
        """On how many levels a row is counted."""
        return len(levels_of(self.bins, self.branching))

    def draw(self, exact: ExactIntegers, source: ByteSource) -> ExactIntegers:
        """Each node, within the public range of all rows, plus noise of its own."""
        nodes = nodes_of(exact, self.bins, self.branching)
        return super().draw(clipped(nodes, self.total), source)

    def table_nats(self, units: int) -> float:
        """Capacities of all nodes add up."""
        each = self.noise.tells(units * self.contribution.rows).upper
        groups = self.contribution.cells // self.bins
        nodes = sum(-(-self.bins // width) for width in levels_of(self.bins, self.branching))
        return up(groups * nodes * each)


def tree_of(contribution: Contribution, bins: int, branching: int, offer: Offer) -> TreeMeasurement:
    """The nodes with noise just large enough for what is offered for all levels together."""
    levels = len(levels_of(bins, branching))
    one = measured("count", RowCount(), contribution, offer, covers=False)
    known = {field.name: getattr(one, field.name) for field in fields(one)}
    for name in ("steps", "squared", "contents", "contents_squared", "radius_squared"):
        known[name] *= levels
    known["noise"] = offer.noise(known["steps"], known["squared"])
    return TreeMeasurement(**known, bins=bins, branching=branching)
