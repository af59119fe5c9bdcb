"""The total loss on a grid: masses, and δ(ε) at as many places as asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from leakcap.accounting.contour import log_kernel_peak
from leakcap.accounting.part import UNIT
from leakcap.numeric.logspace import Floats

__all__ = ["Bracket", "GridSum"]

_RANGE = 600.0
"""Exponents that doubles hold on both sides."""


class _Payoffs(NamedTuple):
    """At each grid point from `first` on: δ there and Q's mass from it on, scaled to the point `centre`."""

    first: int
    centre: float
    deltas: Floats
    masses: Floats


@dataclass(frozen=True, eq=False)
class GridSum:
    """Masses e^{cx − log_total}·P of the total loss on the grid, each within `error`, and what is left out.

    `outside` bounds the tilted mass beyond the window, which wraps around into it.
    """

    c: float
    start: float
    step: float
    masses: Floats
    log_total: float
    error: float
    outside: float
    infinite: float
    slack: float

    @cached_property
    def _above(self) -> _Payoffs:
        return self._payoffs(1.0)

    @cached_property
    def _below(self) -> _Payoffs:
        return self._payoffs(-1.0)

    def _payoffs(self, sign: float) -> _Payoffs:
        """Sums of positive terms, hence precise relative to themselves.

        As a function of γ = e^ε, δ is a polygon: between γ_k and γ_{k+1} it falls by Q's mass from k+1 on.
        """
        places = self.start + np.arange(self.masses.size) * self.step
        centre = float(places[int(np.argmax(self.masses))])
        reach = _RANGE / (self.c + 1.0)
        first, last = np.searchsorted(places, (centre - reach, centre + reach)).tolist()
        x = places[first:last] - centre
        masses = np.maximum(self.masses + sign * self.error, 0.0)
        at_q = np.exp(-(self.c + 1.0) * x) * masses[first:last]
        beyond = np.cumsum(at_q[::-1])[::-1]
        drops = np.exp(x[:-1]) * math.expm1(self.step) * beyond[1:]
        deltas = np.concatenate([np.cumsum(drops[::-1])[::-1], [0.0, 0.0]])
        if sign > 0.0:
            deltas += math.exp(-self.c * reach) * float(masses[last:].sum())
        return _Payoffs(first, centre, deltas, np.append(beyond, 0.0))

    def delta(self, epsilon: Floats, *, upward: bool) -> Floats:
        """Bounds on δ(ε) of the grid's loss, from above or from below; infinite losses included."""
        sign = 1.0 if upward else -1.0
        table = self._above if upward else self._below
        epsilon = epsilon - sign * self.slack
        place = np.floor((epsilon - self.start) / self.step) + 1.0 - table.first
        index = np.clip(place, 0, table.deltas.size - 1).astype(np.intp)
        at = self.start + (index + table.first) * self.step
        with np.errstate(under="ignore", over="ignore"):
            part = np.exp(at - table.centre) * -np.expm1(-np.maximum(at - epsilon, 0.0)) * table.masses[index]
        scale = self.log_total - self.c * table.centre
        sizes = abs(self.log_total) + abs(self.c * table.centre) + 2.0 * _RANGE
        rounding = UNIT * (4.0 * self.masses.size + 16.0 * sizes)
        with np.errstate(over="ignore", under="ignore"):
            total = (table.deltas[index] + part) * math.exp(min(scale, 700.0)) * (1.0 + sign * rounding)
            lost = np.exp(np.minimum(self.log_total - self.c * epsilon + log_kernel_peak(self.c), 700.0))
        finite = np.maximum(total + sign * self.outside * lost, 0.0)
        unseen = (place < 0.0) & (table.first > 0)
        finite = np.where(unseen, 1.0 if upward else 0.0, finite)
        return np.asarray(np.clip(self.infinite + finite, 0.0, 1.0), dtype=np.float64)


@dataclass(frozen=True)
class Bracket:
    """Both ends: a loss on the grid above and one below."""

    upper: GridSum
    lower: GridSum

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """Enclosures of δ(ε)."""
        high = self.upper.delta(epsilon, upward=True)
        return np.minimum(self.lower.delta(epsilon, upward=False), high), high

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of δ(ε)."""
        low, high = self.deltas(np.array([epsilon]))
        return float(low[0]), float(high[0])
