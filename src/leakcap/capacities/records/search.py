"""Branch and bound over P(x_i = v) for one question about one record under every limit of its class."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from leakcap.capacities.records.dual import KnowledgeLimits, RecordDual
from leakcap.capacities.records.floor import binary_entropies, middle_of, prune
from leakcap.numeric import entropy, last_where
from leakcap.numeric.logspace import Floats

__all__ = ["LiftInterval", "admits", "best_under_floor", "best_under_limits"]

_UNIT = 2.0**-53
_LADDER = (1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0)
_COARSE = (1e-6, 1e-4, 1e-2, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 10.0)
_CELLS = 200
_TIGHT = 0.15
"""Beyond this part above what is reached the floor alone is asked, which costs little."""
_BLUR = 0.1
_RARE = 1e-10
"""The rarest value that a witness takes."""
_STALLED = 0.01


@dataclass(frozen=True)
class LiftInterval:
    """reached ≤ sup ≤ proved as lifts, and the belief that attains the lower end (None: one known before)."""

    reached: float
    proved: float
    belief: Floats | None = None


def best_under_floor(dual: RecordDual, known: float) -> LiftInterval:
    """The sup over beliefs of entropy ≥ b, or a proof that it is not above `known`."""
    question = dual.relaxed
    if question.unbounded:
        return LiftInterval(math.inf, math.inf)
    ceiling = max(question.ceiling, known)
    if prune(question, known * (1.0 + _LADDER[0])):
        return LiftInterval(known, known * (1.0 + _LADDER[0]))
    found = question.best()
    belief = None
    if found.value > known:
        rest = (1.0 - found.share) * found.outside.reshape(dual.f1.shape)
        belief = np.vstack([found.share * found.inside[None, :], rest]).reshape(dual.shape)
    reached = max(found.value, known)
    for wider in _LADDER:
        if reached * (1.0 + wider) >= ceiling:
            break
        if prune(question, reached * (1.0 + wider)):
            return LiftInterval(reached, reached * (1.0 + wider), belief)
    return LiftInterval(reached, ceiling, belief)


def best_under_limits(dual: RecordDual, known: float) -> LiftInterval:
    """The same where single records and their dependence are limited too."""
    relaxed = dual.relaxed
    ceiling = math.inf if relaxed.unbounded else max(relaxed.ceiling, known)
    if not relaxed.unbounded and prune(relaxed, known * (1.0 + _COARSE[0])):
        return LiftInterval(known, known * (1.0 + _COARSE[0]))
    search = _Search(dual, known)
    for wider in _COARSE:
        if search.reached * (1.0 + wider) >= ceiling:
            break
        proved = wider < _TIGHT and search.run(wider)
        # A belief that keeps every limit keeps the floor.
        if proved or (not relaxed.unbounded and prune(relaxed, search.reached * (1.0 + wider))):
            return LiftInterval(search.reached, search.reached * (1.0 + wider), search.belief)
    return LiftInterval(search.reached, ceiling, search.belief)


class _Search:
    """Intervals of a, the least settled first; what is found on the way is kept."""

    def __init__(self, dual: RecordDual, known: float) -> None:
        self.dual, self.reached = dual, known
        self.belief: Floats | None = None
        low, high = dual.relaxed.shares()
        limits = dual.limits
        if 0 in limits.uncertain:
            low, high = _uncertain_shares(low, high, len(dual.f1), limits.least)
        self.ends = (low * (1.0 - 1e-12), min(high * (1.0 + 1e-12), 1.0))

    def run(self, wider: float) -> bool:
        """Whether no belief has a lift of `reached`·(1 + wider), as `reached` is at the end."""
        low, high = self.ends
        if low > high:
            return True
        heap = [(-math.inf, low, high)]
        for _ in range(_CELLS):
            if not heap:
                return True
            _, low, high = heapq.heappop(heap)
            target = self.reached * (1.0 + wider)
            high = min(high, 1.0 / target)
            if low >= high:
                continue
            middle = max(float(middle_of(np.array([low]), np.array([high]))[0]), 1e-3 * _RARE)
            multipliers = self.dual.multipliers(middle, target, _BLUR * wider)
            if self.dual.excess(low, high, middle, target, multipliers) < 0.0:
                continue
            before = self.reached
            self._try(multipliers.belief, middle)
            # So narrow an interval is only open where the multipliers are not good enough.
            narrow = high * target < _STALLED * wider or high - low < _STALLED * math.sqrt(wider) * high
            if narrow and self.reached <= before * (1.0 + 0.1 * wider):
                return False
            left = self.dual.excess(low, middle, middle, target, multipliers)
            right = self.dual.excess(middle, high, middle, target, multipliers)
            heapq.heappush(heap, (-left, low, middle))
            heapq.heappush(heap, (-right, middle, high))
        return False

    def _try(self, belief: Floats, share: float) -> None:
        """Keep the belief, moved as little as needed into the class, if it has a larger lift."""
        dual = self.dual
        share = max(share, _RARE)
        inside, outside = belief[0], belief[1:]
        if not (inside.sum() > 0.0 and outside.sum() > 0.0):
            return
        wanted = np.vstack([share * inside / inside.sum(), (1.0 - share) * outside / outside.sum()])
        safe = np.full_like(wanted, (1.0 - share) / outside.size)
        safe[0] = share / inside.size
        if self._lift(wanted) <= self.reached:
            return
        if not admits(safe.reshape(dual.shape), dual.limits):
            return
        bad, good = 0.0, 1.0
        for step in (0.0, *(2.0**-n for n in range(48, 0, -4))):
            if admits(((1.0 - step) * wanted + step * safe).reshape(dual.shape), dual.limits):
                good = step
                break
            bad = step
        for _ in range(30 if good > 0.0 else 0):
            centre = 0.5 * (bad + good)
            mixed = (1.0 - centre) * wanted + centre * safe
            bad, good = (bad, centre) if admits(mixed.reshape(dual.shape), dual.limits) else (centre, good)
        mixed = (1.0 - good) * wanted + good * safe
        value = self._lift(mixed)
        if value > self.reached:
            self.reached, self.belief = value, mixed.reshape(dual.shape)

    def _lift(self, belief: Floats) -> float:
        dual = self.dual
        top = float(belief[0] @ dual.f0)
        total = top + float((belief[1:] * dual.f1).sum())
        return top / (float(belief[0].sum()) * total) if total > 0.0 else 0.0


def admits(belief: Floats, limits: KnowledgeLimits) -> bool:
    """Whether a belief about (the record, the others) keeps every limit, to the last digits of an entropy.

    >>> admits(np.full((2, 2), 0.25), KnowledgeLimits(math.log(4), 0.0, math.log(2), (0, 1)))
    True
    """
    slack = 8.0 * _UNIT * (1.0 + math.log(belief.size))
    if entropy(belief.ravel()) < limits.floor - slack:
        return False
    for j in limits.uncertain:
        marginal = belief.sum(axis=tuple(axis for axis in range(belief.ndim) if axis != j))
        if entropy(marginal) < limits.least - slack:
            return False
    if math.isinf(limits.extent):
        return True
    flat = belief.reshape(belief.shape[0], -1)
    apart = math.exp(limits.extent) * np.outer(flat.sum(axis=1), flat.sum(axis=0))
    return bool((flat <= apart * (1.0 + 64.0 * _UNIT)).all())


def _uncertain_shares(low: float, high: float, others: int, least: float) -> tuple[float, float]:
    """The a with h(a) + (1−a) ln(m−1) ≥ t, a concave function of a, cut to [low, high]."""
    rest = math.log(others) if others > 1 else 0.0
    peak = 1.0 / (1.0 + others)

    def enough(share: float) -> bool:
        return float(binary_entropies(np.array(share))) + (1.0 - share) * rest >= least - 1e-14

    return max(low, last_where(enough, peak, 0.0)[1]), min(high, last_where(enough, peak, 1.0)[1])
