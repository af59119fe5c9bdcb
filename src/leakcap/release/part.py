"""One noisy vector of integers: what a unit adds to it, its noise, and what that costs.

A part knows its own kind of noise. `Part` says what every kind has to answer, `NoisyPart` is discrete Laplace
noise on every cell; a choice among bins is `RankPart`, in `release/ranks.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities import geometric_capacity
from leakcap.divergence import Renyi
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.mechanism.base import MAX_EPSILON
from leakcap.mechanism.geometric import TwoSidedGeometric
from leakcap.numeric import float_up, up
from leakcap.release.aggregates import Aggregate
from leakcap.release.one_hot import MOST_BITS, one_hot_capacity
from leakcap.release.policy import Policy
from leakcap.release.sensitivity import Contribution
from leakcap.release.tight import tight_mutual_information
from leakcap.release.whole import Whole, plus
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale

__all__ = ["NoisyPart", "Part", "as_printed", "laplace_error", "noisy_part", "total_range"]


@dataclass(frozen=True, kw_only=True)
class Part(ABC):
    """One noisy vector: its role in the statistic, its ε, what a unit adds, and what it cannot exceed.

    `scale` is that of the noise in steps, at least sensitivity/ε; `unit` what a step is worth; `total` the
    public range of one cell's total, to which it is clamped before noise (1-Lipschitz, so the sensitivity
    stays). `covers` says that rows can make every integer of the contribution's reach, the ends included.
    """

    mechanism: ClassVar[str]

    role: str
    aggregate: Aggregate
    epsilon: Fraction
    contribution: Contribution
    sensitivity: int
    scale: Fraction
    total: tuple[int, int] | None
    unit: Fraction = Fraction(1)
    covers: bool = True

    @property
    def loss(self) -> Fraction:
        """The ε between neighbours that this part costs, exactly."""
        return Fraction(self.sensitivity) / self.scale

    @property
    def loss_contents(self) -> Fraction:
        """The ε between any two possible contents of one unit's data."""
        return Fraction(self.contribution.diameter) / self.scale

    @property
    def delta(self) -> Fraction:
        """The δ between neighbours that this part costs, exactly or rounded up."""
        return Fraction(0)

    def curve(self) -> tuple[float, ...]:
        """The Rényi divergence between neighbours at each of the ledger's orders, in nats, rounded up.

        Unless a kind of noise knows better, all that its ε allows.
        """
        return curve_of_pure(float_up(self.loss))

    def appears(self, noisy: Whole) -> NDArray[np.bool_]:
        """Whether a cell with such a noisy integer is released at all."""
        return np.ones(len(noisy), dtype=bool)

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale of the noise as a person reads it, in the unit of what is released."""

    @abstractmethod
    def draw(self, exact: Whole, source: ByteSource) -> Whole:
        """The noisy integers, or choices, from the exact totals of all cells."""

    @abstractmethod
    def capacity(self) -> Bound:
        """The MI-DP of this part, in nats: what it tells about one unit, everything else known."""

    @abstractmethod
    def table_nats(self, units: int) -> float:
        """At most so much does the part tell about a whole table of `units` units, in nats."""

    @abstractmethod
    def error(self, beyond: float) -> int:
        """How far the noise goes, in steps: further with probability `beyond` at most."""


@dataclass(frozen=True, kw_only=True)
class NoisyPart(Part):
    """Discrete Laplace noise of scale `scale` on every cell's total."""

    mechanism: ClassVar[str] = "discrete Laplace"

    one_hot: bool = False
    """Whether one row sets one cell to 1 and nothing else: then the exact capacity is known."""

    @property
    def noise_scale(self) -> float:
        """In the unit of the column, or rows, or people."""
        return float(self.scale * self.unit)

    def draw(self, exact: Whole, source: ByteSource) -> Whole:
        """Each total plus noise of its own."""
        return plus(exact, discrete_laplace(self.scale, len(exact), source))

    def curve(self) -> tuple[float, ...]:
        """That of one cell moved by the whole sensitivity.

        A step of one cell costs the more the farther that cell has been moved: e^((α−1)D) is a sum of two
        exponentials of the distance with positive weights, so that D is convex in it, and 0 at 0. So cells
        that share the sensitivity show less.
        """
        return geometric_curve(self.scale, self.sensitivity)

    def capacity(self) -> Bound:
        """Exact for one cell and for one-hot rows; what no mechanism of this ε exceeds elsewhere."""
        contribution, decay = self.contribution, float_up(1 / self.scale)
        if contribution.cells == 1:
            return geometric_capacity(contribution.diameter, decay)
        if self.one_hot and contribution.rows == 1 and contribution.cells <= MOST_BITS:
            return one_hot_capacity(contribution.cells, decay)
        ceiling = tight_mutual_information(float_up(self.loss_contents))
        return Bound(0.0, ceiling, method="any mechanism of this ε", source="Dong, Durfee & Rogers 2020")

    def table_nats(self, units: int) -> float:
        """Capacities of disjoint cells add up."""
        low, high = self.contribution.total(units)
        each = geometric_capacity(high - low, float_up(1 / self.scale)).upper
        return up(self.contribution.cells * each)

    def error(self, beyond: float) -> int:
        """From the exact law of the noise."""
        return laplace_error(self.scale, beyond=beyond)


@cache
def laplace_error(scale: Fraction, *, beyond: float) -> int:
    """The smallest integer a with P(|Z| > a) ≤ `beyond` for discrete Laplace noise of this scale.

    P(|Z| > a) = 2 s^{a+1}/(1+s), s = e^{−1/scale}.

    >>> laplace_error(Fraction(10), beyond=0.05)
    30
    """
    decay = float(1 / scale)
    tail = math.log(2.0) - math.log1p(math.exp(-decay)) - math.log(beyond)
    # A hair more, so that a tail that equals `beyond` up to rounding errs towards the wider interval.
    return max(0, math.ceil(tail / decay * (1 + 1e-12)) - 1)


@lru_cache(maxsize=1024)
def geometric_curve(scale: Fraction, distance: int) -> tuple[float, ...]:
    """The Rényi divergence of discrete Laplace noise at this distance, at each of the ledger's orders.

    >>> round(geometric_curve(Fraction(10), 1)[0], 12) == round(0.1 * math.tanh(0.05), 12)
    True
    """
    if not distance or scale * MAX_EPSILON < 1:
        return curve_of_pure(float_up(distance / scale))
    noise = TwoSidedGeometric(scale, distance)
    return tuple(up(bound.upper) for bound in map(noise.diameter, map(Renyi, ORDERS)) if bound is not None)


def noisy_part(
    role: str,
    aggregate: Aggregate,
    contribution: Contribution,
    epsilon: Fraction,
    policy: Policy,
    *,
    unit: Fraction = Fraction(1),
    covers: bool = True,
    one_hot: bool = False,
) -> NoisyPart:
    """A vector with noise just large enough for its ε. Raises `InvalidParameter` where ε is out of range."""
    sensitivity = contribution.sensitivity(replace=policy.neighbours == "replace-one")
    return NoisyPart(
        role=role,
        aggregate=aggregate,
        epsilon=epsilon,
        contribution=contribution,
        sensitivity=sensitivity,
        scale=rational_scale(sensitivity, epsilon),
        total=total_range(contribution, policy),
        unit=unit,
        covers=covers,
        one_hot=one_hot,
    )


def total_range(contribution: Contribution, policy: Policy) -> tuple[int, int] | None:
    """The public range of one cell's total; None where the number of units has no public bound."""
    return None if policy.units is None else contribution.total(policy.units)


def as_printed(number: float) -> Fraction:
    """The decimal that was asked for: 0.3 is 3/10, and its halves add up to it.

    >>> as_printed(0.3)
    Fraction(3, 10)
    """
    return Fraction(Decimal(repr(float(number))))
