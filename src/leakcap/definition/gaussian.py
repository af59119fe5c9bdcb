"""Gaussian differential privacy: no test does better than between N(0,1) and N(μ,1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from leakcap.bound import Bound
from leakcap.capacities import HasExact
from leakcap.channel import Channel
from leakcap.definition.base import Definition
from leakcap.definition.normal import quantile_of_tail
from leakcap.numeric.logspace import Floats

__all__ = ["GaussianDP"]


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
        pairs = ((rows[i], rows[j]) for i in range(len(rows)) for j in range(len(rows)) if i != j)
        value = max((_least_mu(p, q) for p, q in pairs), default=0.0)
        return Bound.exact(value, method="vertices of the trade-off functions", unit="μ")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """From nearly nothing to much."""
        return tuple(cls(m) for m in (1e-6, 0.1, 1.0, 3.0))


def _least_mu(p: Floats, q: Floats) -> float:
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
    return max((_quantile(a, b) + _quantile(c, d) for a, b, c, d in vertices), default=0.0)


def _from_the_left(masses: Floats) -> list[float]:
    sums: list[float] = np.cumsum(masses)[:-1].tolist()
    return sums


def _from_the_right(masses: Floats) -> list[float]:
    sums: list[float] = np.cumsum(masses[::-1])[::-1][1:].tolist()
    return sums


def _quantile(tail: float, rest: float) -> float:
    """The x with P(Z > x) = tail = 1 − rest, from the smaller of the two."""
    return quantile_of_tail(tail) if tail <= rest else -quantile_of_tail(rest)
