"""Optimal output laws of geometric noise whose prior skips a stretch next to each end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from leakcap.capacities.noise import laplace
from leakcap.capacities.noise.half_sums import HalfSums, half_sums
from leakcap.capacities.noise.tilt import log_two_cosh
from leakcap.numeric import crossing

__all__ = ["Gap", "middle_gap", "plateau_gap"]


@dataclass(frozen=True, slots=True)
class Gap:
    """ln q − v = γ + ln 2cosh(η(y − μ)) on [0, d], v its level where the divergence is the capacity.

    `first`, `last` and `beyond` are that function at 0, d and (continued) d + 1.
    """

    decay: float
    d: int
    centre: float
    shift: float
    first: float
    last: float

    @property
    def beyond(self) -> float:
        """The same cosh continued to d + 1."""
        return self.shift + log_two_cosh(self.decay * (self.d + 1 - self.centre))

    @property
    def mass(self) -> float:
        """tanh(η/2)·Σ_{y≤d} e^{ln q_y − v}: the outputs up to d, the tail below 0 included."""
        eta, half = self.decay, self.decay / 2
        # 2 sinh(η/2) Σ_{y=1}^{d} cosh(η(y−μ)) = sinh(η(d+½−μ)) + sinh(η(μ−½)), and sinh(η/2) = tanh·cosh.
        inside = _sinh_times(self.shift, eta * (self.d - self.centre) + half) + _sinh_times(
            self.shift, eta * self.centre - half
        )
        tail = math.exp(self.first) / (1.0 + math.exp(-eta))
        return tail + inside / math.cosh(half)

    def holds(self, right: float) -> bool:
        """The conditions of optimality: q_d ≤ e^v, and π_d ≥ 0 when q_{d+1} = e^{v + right}."""
        return self.last <= 1e-13 and self.beyond - right >= -1e-13

    def end_weight(self) -> float:
        """Prior probability at 0, up to the factor e^v."""
        return math.exp(self.shift + self.decay * self.centre) / math.tanh(self.decay / 2)

    def kink(self, right: float) -> float:
        """Prior probability at d, up to e^v, when the output there continues with e^{v + right} at d + 1."""
        s = math.exp(-self.decay)
        return s * math.exp(right) * math.expm1(self.beyond - right) / math.expm1(-self.decay) ** 2


def _sinh_times(shift: float, t: float) -> float:
    return (
        0.5 * (math.exp(shift + t) - math.exp(shift - t)) if abs(t) > 1e-3 else math.exp(shift) * math.sinh(t)
    )


@lru_cache(maxsize=1024)
def plateau_gap(decay: float) -> Gap:
    """The gap beside a long flat stretch; it does not depend on the number of secrets.

    d is where the cosh meets the level v: last ≤ 0 ≤ beyond.
    """
    d = max(1, int(laplace.gap()[2] / decay))
    for _ in range(64):
        gap = side_gap(decay, d)
        if gap.last > 1e-14 and d > 1:
            d -= 1
        elif gap.beyond < -1e-14:
            d += 1
        else:
            break
    return gap


@lru_cache(maxsize=1024)
def side_gap(decay: float, d: int) -> Gap:
    """The gap [0, d] when d + 1 is, or continues, the flat stretch."""
    fade = math.exp(-decay * d)

    def excess(sums: HalfSums) -> tuple[float, float]:
        shift = -sums.inner
        return sums.start + shift * (1.0 + math.exp(-decay) * (1.0 - fade)), shift

    return _solve(decay, d, excess)


@lru_cache(maxsize=1024)
def middle_gap(decay: float, d: int) -> Gap:
    """The gap [0, d] when d is the middle secret and carries the only inner atom."""
    once, fade = -math.expm1(-decay), math.exp(-decay * d)

    def excess(sums: HalfSums) -> tuple[float, float]:
        shift = (once * sums.last / 2 - sums.inner) / (1.0 - once / 2)
        rest = once * fade * (shift + sums.last) / 2
        return sums.start + shift * (1.0 + math.exp(-decay) * (1.0 - fade)) - rest, shift

    return _solve(decay, d, excess)


def _solve(decay: float, d: int, excess: Callable[[HalfSums], tuple[float, float]]) -> Gap:
    """The centre μ at which D(0) = D(d), where the excess crosses zero; it rises with μ."""

    def at(centre: float) -> float:
        return excess(half_sums(decay, d, centre))[0]

    centre = crossing(at, 0.25 * d, d + 1.0)
    sums = half_sums(decay, d, centre)
    shift = excess(sums)[1]
    return Gap(decay, d, centre, shift, shift + sums.first, shift + sums.last)
