"""Gaussian differential privacy: no test does better than between N(0,1) and N(μ,1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from leakcap.arrays import np
from leakcap.bound import Bound
from leakcap.capacities import HasExact
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.definition.normal import quantile_of_tail
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["GaussianDP"]

_UNIT = 2.0**-53


@dataclass(frozen=True, repr=False)
class GaussianDP(Definition):
    """μ-Gaussian differential privacy: every trade-off function lies above that of N(0,1) and N(μ,1).

    Source: Dong, Roth & Su 2022, definition 2.6.

    >>> round(GaussianDP(0.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).mu, 9)
    1.3489795
    """

    mu: float

    symbol: ClassVar[str] = "μ-GDP"

    def __post_init__(self) -> None:
        self._require_level("mu")

    def measure(self, channel: Channel | HasExact) -> Bound:
        """The least μ over all pairs of rows: the largest Φ⁻¹(1−a) − Φ⁻¹(b) over vertices (a, b).

        G_μ is convex, so it lies below a trade-off function when it does at its vertices.
        """
        rows = (channel if isinstance(channel, Channel) else channel.channel()).matrix
        pairs = (
            (rows[i], rows[j])
            for i in range(len(rows))
            for j in range(len(rows))
            if (rows[i] != rows[j]).any()
        )
        units = rows.shape[1] + 8 + _missing(rows) / _UNIT
        found = [(mu, error) for p, q in pairs for mu, error in _vertices(p, q, units)]
        low, high = (
            max(found, key=lambda v: v[0] - v[1], default=(0.0, 0.0)),
            max(map(sum, found), default=0.0),
        )
        ends = max(down(low[0] - low[1]), 0.0) if math.isfinite(low[0]) else low[0], up(high)
        return Bound.enclosed(ends, method="vertices of the trade-off functions", unit="μ")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to much."""
        return tuple(cls(m) for m in (1e-6, 0.1, 1.0, 3.0))


def _missing(rows: Floats) -> float:
    return max(abs(math.fsum([*row, -1.0])) for row in rows.tolist())


def _vertices(p: Floats, q: Floats, units: float) -> list[tuple[float, float]]:
    """μ at each vertex and how far rounding can have moved it: a quantile by its tail's relative error.

    P(Z > x)/φ(x) ≤ 1.26 from x = 0 on, and the quantile function itself errs by a few units.
    """
    seen = (p > 0) | (q > 0)
    p, q = p[seen], q[seen]
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(q) - np.log(p))
    p, q = p[order], q[order]
    # Reject P where Q is more likely: a = P(rejected) is the level, b = Q(kept) the missed mass. Each is
    # summed from its own side, and its complement too, so that neither tail loses digits.
    level, kept = _from_the_right(p), _from_the_left(p)
    missed, caught = _from_the_left(q), _from_the_right(q)
    vertices = zip(level, kept, missed, caught, strict=True)
    quantiles = [(_quantile(a, b), _quantile(c, d)) for a, b, c, d in vertices]
    found = []
    for first, second in quantiles:
        size = abs(first) + abs(second)
        found.append((first + second, _UNIT * (2.6 * units + 16.0 * size) if math.isfinite(size) else 0.0))
    return found


def _from_the_left(masses: Floats) -> list[float]:
    sums: list[float] = np.cumsum(masses)[:-1].tolist()
    return sums


def _from_the_right(masses: Floats) -> list[float]:
    sums: list[float] = np.cumsum(masses[::-1])[::-1][1:].tolist()
    return sums


def _quantile(tail: float, rest: float) -> float:
    """The x with P(Z > x) = tail = 1 − rest, from the smaller of the two."""
    return quantile_of_tail(tail) if tail <= rest else -quantile_of_tail(rest)
