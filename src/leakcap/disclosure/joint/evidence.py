"""What tells one person's absence from presence, held between two experiments of few outcomes each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["JointEvidence", "condensed", "told_by_all"]

_STEP, _REACH = 1 / 32, 10.0
_GRID = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
_FACTORS = np.exp(_GRID)
_ROUNDED = 1e-11
"""More than the roundings of one condensing move a law, in total variation: some 10⁵ sums of products."""


@dataclass(frozen=True)
class JointEvidence:
    """What a publication tells of presence, as an interval in the order of experiments (Blackwell 1951).

    `least` and `most` have two rows, how likely each outcome is in absence and in presence. The publication
    can be garbled into `least` and garbled from `most`, both moved by `slack` in total variation at most.
    Many outcomes are condensed by the logarithm of their ratio: `least` merges those that are alike, `most`
    splits each into the two ratios around it (Tal & Vardy 2013).

    >>> coin = JointEvidence.of([0.75, 0.25], [0.25, 0.75])
    >>> told_by_all([coin, coin, coin]).success().lower > 0.84
    True
    """

    least: Floats
    most: Floats
    slack: float = 0.0

    @classmethod
    def of(cls, absent: Iterable[float], present: Iterable[float], slack: float = 0.0) -> JointEvidence:
        """From how likely each outcome is without and with the person; condensed where there are many."""
        rows = np.array([tuple(absent), tuple(present)], dtype=float)
        return cls(rows, rows, slack)._condensed()

    def at_most(self, variation: float) -> JointEvidence:
        """This at least, and at most what has this total variation: the truth with that chance, or nothing.

        >>> JointEvidence.of([0.75, 0.25], [0.25, 0.75]).at_most(0.6).success().upper
        0.8000000000...
        """
        told = min(1.0, max(0.0, variation))
        most = np.array([[told, 1 - told, 0.0], [0.0, 1 - told, told]])
        return JointEvidence(self.least, most, self.slack)

    def success(self, prior: float = 0.5) -> Bound:
        """How often the best guess is right, where presence has this probability beforehand."""
        require(0 < prior < 1, "prior", "JointEvidence", "lie between 0 and 1", prior)
        if self._nothing:
            return Bound(max(prior, 1 - prior), max(prior, 1 - prior), "nothing is told", unit="probability")
        weights = np.array([[1 - prior], [prior]])
        low, high = (float(np.max(weights * rows, axis=0).sum()) for rows in (self.least, self.most))
        off = self.slack + _ROUNDED
        return Bound(max(low - off, prior, 1 - prior), min(high + off, 1.0), _METHOD, unit="probability")

    def delta(self, epsilon: float) -> Bound:
        """The least δ with which this ε is kept, in both directions: a probability."""
        require(0 <= epsilon <= 700, "epsilon", "JointEvidence", "lie between 0 and 700", epsilon)
        if self._nothing:
            return Bound(0.0, 0.0, "nothing is told", unit="probability")
        factor = math.exp(epsilon)

        def excess(rows: Floats) -> float:
            absent, present = rows
            return max(
                float(np.maximum(one - factor * other, 0.0).sum())
                for one, other in ((absent, present), (present, absent))
            )

        # A law that moves by s moves Σ max(0, P − e^ε Q) by s·(1 + e^ε) at most.
        off = min(1.0, (self.slack + _ROUNDED) * (1 + factor))
        low, high = max(0.0, excess(self.least) - off), min(1.0, excess(self.most) + off)
        return Bound(low, max(low, high), _METHOD, unit="probability")

    @property
    def capacity(self) -> Bound:
        """Shannon's capacity in nats: the most that is told on average, under any prior."""
        if self._nothing:
            return Bound(0.0, 0.0, "nothing is told")
        ends = [
            capacity(Channel(_normal(rows), inputs=("absent", "present")), Renyi(1.0), AllPriors())
            for rows in (self.least, self.most)
        ]
        # A joint law of presence and outcomes that moves by s changes H(presence | outcomes) by
        # s ln 2 + (1 + s) h(s/(1 + s)) at most (Alicki & Fannes 2004; Winter 2016).
        moved = self.slack + _ROUNDED
        share = moved / (1 + moved)
        doubt = -share * math.log(share) - (1 - share) * math.log1p(-share)
        off = moved * math.log(2) + (1 + moved) * doubt + 1e-12
        low = max(0.0, ends[0].lower - off)
        return Bound(low, max(low, min(math.log(2), ends[1].upper + off)), _METHOD)

    @property
    def _nothing(self) -> bool:
        return self.slack == 0.0 and np.array_equal(self.most[0], self.most[1])

    def __and__(self, other: JointEvidence) -> JointEvidence:
        """Both, each by independent chance."""
        if not isinstance(other, JointEvidence):
            return NotImplemented
        least, most = (
            np.array([np.outer(a, b).ravel() for a, b in zip(one, two, strict=True)])
            for one, two in ((self.least, other.least), (self.most, other.most))
        )
        return JointEvidence(least, most, self.slack + other.slack)._condensed()

    def _condensed(self) -> JointEvidence:
        if max(self.least.shape[1], self.most.shape[1]) <= 64:
            return self
        least = condensed(self.least)
        most = least if self.most is self.least else condensed(self.most)
        return JointEvidence(least[0], most[1], self.slack + _ROUNDED)


_METHOD = "outcomes with like ratios merged, and split"


def told_by_all(parts: Iterable[JointEvidence]) -> JointEvidence:
    """All of them together, each by independent chance."""
    return reduce(JointEvidence.__and__, parts)


def condensed(rows: Floats) -> tuple[Floats, Floats]:
    """Outcomes with like ratios merged; and each split into the two ratios of the grid around its own.

    The first tells less: it forgets which of them it was. The second tells more: who forgets which of the two
    it was has the outcome again.

    >>> least, most = condensed(np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]))
    >>> least.sum(axis=1), most.sum(axis=1)
    (array([1., 1.]), array([1., 1.]))
    """
    rows = rows[:, rows.any(axis=0)]
    absent, present = rows
    size, last = len(_GRID), len(_GRID) - 1
    with np.errstate(divide="ignore"):
        at = np.floor((np.log(present) - np.log(absent) + _REACH) / _STEP)
    low = np.clip(at, -1, last).astype(np.int64)
    # Places 0 to last + 1, then those of absence alone and of presence alone.
    places = low + 1
    places[present <= 0], places[absent <= 0] = size + 1, size + 2
    least = np.array([np.bincount(places, row, size + 3) for row in rows])
    inner = (low >= 0) & (low < last)
    start, here, there = low[inner], absent[inner], present[inner]
    first = _FACTORS[start]
    second = _FACTORS[start + 1]
    # Absence's share x goes to the ratio `first` and y to `second`: x + y = here, x·first + y·second = there.
    x = np.clip((here * second - there) / (second - first), 0.0, here)
    y = here - x
    found = np.bincount(start, x, size) + np.bincount(start + 1, y, size)
    moved = np.bincount(start, x * first, size) + np.bincount(start + 1, y * second, size)
    # Beyond the grid: its end, and certainty.
    under, over = low < 0, low >= last
    lows = (float(absent[under].sum()), float(present[under].sum()))
    highs = (float(absent[over].sum()), float(present[over].sum()))
    found[0] += lows[1] / _FACTORS[0]
    moved[0] += lows[1]
    found[last] += highs[0]
    moved[last] += highs[0] * _FACTORS[last]
    sure = max(0.0, lows[0] - lows[1] / _FACTORS[0]), max(0.0, highs[1] - highs[0] * _FACTORS[last])
    most = np.concatenate([np.array([found, moved]), [[sure[0], 0.0], [0.0, sure[1]]]], axis=1)
    return tuple(np.asarray(one[:, one.any(axis=0)]) for one in (least, most))  # type: ignore[return-value]


def _normal(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
