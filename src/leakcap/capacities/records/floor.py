"""One record of a database under an entropy floor: the largest p(y|x_i)/p(y), for one value and output.

Let a = P(x_i = v), and A, B the mean likelihoods of the output where x_i = v and where not. The lift is
A/(aA + (1−a)B), and the entropy of the belief h(a) + aH₀ + (1−a)H₁. A belief has a lift of L or more iff
A(1−La) ≥ L(1−a)B, so for every λ > 0 all of them satisfy 0 ≤ D(a), where with ΛSE = ln Σ exp

    D(a) = λa ΛSE_v[f(1−La)/(λa)] + λ(1−a) ΛSE_{≠v}[−Lf/λ] + λ(h(a) − b).

The first term is a perspective of a convex function, the second is linear and h lies below its tangents: on
an interval of a, D is at most the larger of two numbers. Where both are negative no belief has lift L. Every
maximum at a fixed a is a pair of Gibbs laws.
Source: Wu, Xia & He 2017, assumption 1; the branch and bound is this project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.search import last_where

__all__ = ["FloorQuestion", "Lift", "binary_entropies", "middle_of", "prune"]

_UNIT = 2.0**-53
_HALVINGS = 64
_ROUGH = 34
_ZOOMS = 12
_GRID = 24
_CELLS = 60_000
_ROUNDS = 120
_LEAST = 1e-14
"""The rarest value that a witness takes, in units of 1/lift."""


@dataclass(frozen=True)
class Lift:
    """A belief: the probability of the value, and the laws of the databases with it and without it."""

    value: float
    share: float
    inside: Floats
    outside: Floats


def binary_entropies(share: Floats) -> Floats:
    """h(a), elementwise, 0 at both ends.

    >>> binary_entropies(np.array([0.0, 0.5])).round(6).tolist()
    [0.0, 0.693147]
    """
    safe = np.clip(share, 1e-300, 1.0)
    rest = np.clip(1.0 - share, 1e-300, 1.0)
    return np.asarray(-share * np.log(safe) - (1.0 - share) * np.log(rest))


class FloorQuestion:
    """Likelihoods of one output: `inside` where the record has the value, `outside` where it has another."""

    def __init__(self, inside: Floats, outside: Floats, floor: float) -> None:
        self.inside, self._of_inside, count = np.unique(inside, return_inverse=True, return_counts=True)
        self.outside, self._of_outside, others = np.unique(outside, return_inverse=True, return_counts=True)
        self.log_inside, self.log_outside = np.log(count), np.log(others)
        self.sizes = (len(inside), len(outside))
        self.floor = floor
        self.scale = float(max(self.inside[-1], self.outside[-1]))

    @property
    def key(self) -> tuple[bytes, ...]:
        """Equal for questions with the same answer."""
        parts = (self.inside, self.outside, self.log_inside, self.log_outside)
        return tuple(part.tobytes() for part in parts)

    @property
    def ceiling(self) -> float:
        """The ratio of the largest likelihood inside to the least outside: the lift at b = 0."""
        top, bottom = float(self.inside[-1]), float(self.outside[0])
        return math.inf if bottom <= 0.0 < top else top / bottom if bottom > 0.0 else 0.0

    @property
    def unbounded(self) -> bool:
        """Whether a belief in databases that rule the output out has enough entropy."""
        impossible = round(float(np.exp(self.log_outside[0]))) if self.outside[0] <= 0.0 else 0
        return impossible > 0 and self.inside[-1] > 0.0 and math.log(impossible) >= self.floor

    def shares(self) -> tuple[float, float]:
        """The least and the largest a that leave enough entropy: h(a) + a ln N₀ + (1−a) ln N₁ ≥ b."""
        inside, outside = (math.log(n) for n in self.sizes)
        peak = self.sizes[0] / (self.sizes[0] + self.sizes[1])

        def enough(share: float) -> bool:
            most = float(binary_entropies(np.array(share))) + share * inside + (1.0 - share) * outside
            return most >= self.floor - 16.0 * _UNIT * (1.0 + inside + outside)

        return last_where(enough, peak, 0.0)[0], last_where(enough, peak, 1.0)[0]

    def best(self) -> Lift:
        """The best belief found: a grid of a, narrowed about its best point again and again."""
        low, high = self.shares()
        low = max(low, _LEAST / max(min(self.ceiling, 1e6), 1.0))
        shares = np.clip(_logistic(np.linspace(_logit(low), _logit(high), 3 * _GRID)), low, high)
        found = None
        for _ in range(_ZOOMS):
            values, slopes, lifts = self._dinkelbach(shares)
            top = int(np.argmax(values))
            if found is None or values[top] > found.value:
                inside, outside = self._laws(
                    shares[top : top + 1], lifts[top : top + 1], slopes[top : top + 1]
                )
                found = Lift(float(values[top]), float(shares[top]), inside[0], outside[0])
            left, right = shares[max(top - 1, 0)], shares[min(top + 1, len(shares) - 1)]
            if right - left <= 4.0 * _UNIT * right:
                break
            shares = np.linspace(left, right, _GRID)
        assert found is not None
        inside, outside = (
            np.exp(found.inside - self.log_inside)[self._of_inside],
            np.exp(found.outside - self.log_outside)[self._of_outside],
        )
        return Lift(found.value, found.share, inside, outside)

    def _dinkelbach(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        lifts = np.ones_like(shares)
        slopes = np.ones_like(shares)
        for _ in range(60):
            slopes = self.slopes(shares, lifts)
            log_inside, log_outside = self._laws(shares, lifts, slopes)
            top = np.exp(log_inside) @ self.inside
            bottom = np.exp(log_outside) @ self.outside
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(top > 0.0, top / (shares * top + (1.0 - shares) * bottom), 0.0)
            if np.all(values <= lifts * (1.0 + 1e-15)):
                break
            lifts = np.maximum(values, lifts)
        return lifts, slopes, lifts

    def _laws(self, shares: Floats, lifts: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Logarithms of the two Gibbs laws."""
        first = self._first(shares, lifts) / (slopes * shares)[:, None] + self.log_inside
        second = self._second(lifts) / slopes[:, None] + self.log_outside
        return first - logsumexp(first, axis=1)[:, None], second - logsumexp(second, axis=1)[:, None]

    def _first(self, shares: Floats, lifts: Floats) -> Floats:
        return np.asarray((1.0 - lifts * shares)[:, None] * self.inside)

    def _second(self, lifts: Floats) -> Floats:
        return np.asarray(-lifts[:, None] * self.outside)

    def _entropies(self, shares: Floats, lifts: Floats, slopes: Floats) -> Floats:
        log_inside, log_outside = self._laws(shares, lifts, slopes)
        inside = -(np.exp(log_inside) * (log_inside - self.log_inside)).sum(axis=1)
        outside = -(np.exp(log_outside) * (log_outside - self.log_outside)).sum(axis=1)
        return np.asarray(binary_entropies(shares) + shares * inside + (1.0 - shares) * outside)

    def slopes(self, shares: Floats, lifts: Floats, halvings: int = _HALVINGS) -> Floats:
        """The λ of every a at which the Gibbs laws have entropy b, from the side that has enough."""
        middle = math.log(self.scale)
        low, high = np.full_like(shares, middle - 60.0), np.full_like(shares, middle + 60.0)
        enough = self._entropies(shares, lifts, np.exp(low)) >= self.floor
        high = np.where(enough, low, high)
        for _ in range(halvings):
            centre = 0.5 * (low + high)
            above = self._entropies(shares, lifts, np.exp(centre)) >= self.floor
            high, low = np.where(above, centre, high), np.where(above, low, centre)
        return np.asarray(np.exp(high))

    def excess(self, low: Floats, high: Floats, lift: float) -> tuple[Floats, Floats]:
        """On each interval of a, a number that D does not exceed (negative: no belief of this lift), and one
        that it does not fall short of at its middle (positive: there is such a belief, as far as λ is right).
        """
        middle = middle_of(low, high)
        lifts = np.full_like(low, lift)
        slopes = self.slopes(middle, lifts, _ROUGH)
        bend = np.log1p(-middle) - np.log(middle)
        start = binary_entropies(middle)
        second = slopes * logsumexp(self._second(lifts) / slopes[:, None] + self.log_outside, axis=1)
        result, reached = np.full_like(low, -np.inf), np.full_like(low, -np.inf)
        for share in (low, high, middle):
            width = np.maximum(slopes * share, 1e-300)[:, None]
            first = width[:, 0] * logsumexp(self._first(share, lifts) / width + self.log_inside, axis=1)
            terms = (
                first,
                (1.0 - share) * second,
                slopes * (start + bend * (share - middle)),
                slopes * self.floor,
            )
            size = sum(np.abs(term) for term in terms) + lift * self.scale
            value = terms[0] + terms[1] + terms[2] - terms[3]
            noise = (16.0 * (len(self.inside) + len(self.outside)) + 256.0) * _UNIT * size
            if share is middle:
                reached = value - noise
            else:
                result = np.maximum(result, value + noise)
        return np.asarray(np.where(np.isnan(result), np.inf, result)), reached


def prune(question: FloorQuestion, lift: float) -> bool:
    """Whether it is proved that no belief has this lift."""
    low, high = question.shares()
    high = min(high, 1.0 / lift)
    if low > high:
        return True
    starts, ends = np.array([low * (1.0 - 1e-12)]), np.array([min(high * (1.0 + 1e-12), 1.0)])
    tried = 0
    for _ in range(_ROUNDS):
        tried += len(starts)
        bounds, reached = question.excess(starts, ends, lift)
        if (reached > 0.0).any():
            return False
        open_ = bounds >= 0.0
        starts, ends = starts[open_], ends[open_]
        if not starts.size:
            return True
        if tried > _CELLS:
            return False
        middle = middle_of(starts, ends)
        starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
    return False


def middle_of(low: Floats, high: Floats) -> Floats:
    """Geometric while the ends are far apart, a thousandth of the upper end beside zero."""
    geometric = np.where(low > 0.0, np.sqrt(low * high), high / 1024.0)
    return np.where(high > 4.0 * low, geometric, 0.5 * (low + high))


def _logit(share: float) -> float:
    share = min(max(share, 1e-300), 1.0 - _UNIT)
    return math.log(share) - math.log1p(-share)


def _logistic(values: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-values)))
