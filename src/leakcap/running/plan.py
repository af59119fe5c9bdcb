"""The noise of running totals: one variance for every step, priced for the whole horizon at once.

Of each series and step t the integer y_t = Σ_{s≤t} g_{t−s}·x_s + z_t is released, x_s the count of step s,
z_t independent discrete Gaussian noise. A row of step s moves the y of one series by column s, of squared
length D² = Σg² at most; see `docs/theory/running.md` for people with many rows and for rows that come late.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.numeric.rounding import floor_log2
from leakcap.running.factor import SquareRootFactor
from leakcap.sampling import ByteSource, discrete_gaussian
from leakcap.sampling.rational import printed

__all__ = ["RunningPlan", "noisy_step"]

_DIGITS = 12
_MOST = Fraction(1 << 80)
_PIECE = (1 << 21) - 1


@dataclass(frozen=True)
class RunningPlan:
    """Noise of this variance on the integers of every step of the horizon.

    A unit has at most `rows` rows in all steps together. With `replace` neighbours differ in the rows of one
    unit, else in its presence.

    >>> plan = RunningPlan.of(12, 0.02)
    >>> plan.rho <= Fraction(1, 50), round(plan.factor.worst, 2)
    (True, 1.85)
    """

    factor: SquareRootFactor
    variance: Fraction
    rows: int = 1
    replace: bool = False

    @classmethod
    def of(cls, steps: int, rho: float | Fraction, *, rows: int = 1, replace: bool = False) -> Self:
        """The plan with the least noise at this ρ, for the whole horizon. Raises `InvalidParameter`."""
        owner = "RunningPlan"
        number = isinstance(rho, int | float | Fraction) and not isinstance(rho, bool)
        require(number and 0 < rho < math.inf, "rho", owner, "be positive and finite", rho)
        whole = isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1
        require(whole, "rows", owner, "be a whole number from 1 on", rows)
        own = cls(SquareRootFactor(steps), Fraction(1), rows, replace)
        variance = own.squared_distance / (2 * printed(rho))
        # From a variance of 16 on discrete Gaussian noise is Gaussian noise on integers, but for 10⁻¹³⁰.
        step = Fraction(2) ** (floor_log2(variance) + 1 - _DIGITS)
        variance = max(math.ceil(variance / step) * step, Fraction(16))
        rule = "be large enough that noise can be drawn for it"
        require(variance <= _MOST, "rho", owner, rule, float(rho), "Use fewer rows of a person.")
        return cls(own.factor, variance, rows, replace)

    @property
    def squared_distance(self) -> int:
        """How far apart two neighbours' integers are at most, squared, along every path of an adversary.

        m²·D²: m rows, each at most as far as a row of the first step (and late rows less). Between contents
        each of the m places may hold a row here and another there, which share no sign: 2·m²·D².
        """
        return (2 if self.replace else 1) * self.rows**2 * self.factor.squared_column

    @cached_property
    def rho(self) -> Fraction:
        """The ρ of zero-concentrated privacy that the whole horizon costs."""
        return self.squared_distance / (2 * self.variance)


def noisy_step(plan: RunningPlan, counts: NDArray[np.int64], source: ByteSource) -> list[int]:
    """What is released of the last of the steps in `counts` (series, steps): for each series one integer.

    The counts are exact, and not private yet.

    >>> plan = RunningPlan.of(3, 0.5)
    >>> from leakcap.sampling import system_bytes
    >>> len(noisy_step(plan, np.array([[3, 4], [0, 0]]), system_bytes))
    2
    """
    series, steps = counts.shape
    noise = discrete_gaussian(plan.variance, series, source).tolist()
    exact = _weighted(counts, plan.factor.weights[:steps][::-1])
    return [own + z for own, z in zip(exact, noise, strict=True)]


def _weighted(counts: NDArray[np.int64], weights: Sequence[int]) -> list[int]:
    """Σ weight·count of each series, in whole numbers without a limit, in a time that no count changes.

    Counts are split into pieces of 22 bits at most, weights have 13 and steps are few: no sum reaches 2⁶³.

    >>> _weighted(np.array([[-(2**63), 2**63 - 1], [7, -1]]), [3, 4096]) == [4093 * 2**63 - 4096, -4075]
    True
    """
    own = np.array(weights, dtype=np.int64)
    low, middle, high = ((counts & _PIECE) @ own, (counts >> 21 & _PIECE) @ own, (counts >> 42) @ own)
    parts = zip(low.tolist(), middle.tolist(), high.tolist(), strict=True)
    return [a + (b << 21) + (c << 42) for a, b, c in parts]
