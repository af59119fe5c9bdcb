"""One noisy vector of integers: an aggregate, what a unit adds to it, and the mechanism that hides that.

What is offered for it buys the noise (`Offer`, `measured`): of a Laplace law by ε, all of it between
neighbours, at a scale of Δ₁/ε; of a Gaussian one by ρ, as `release/measurements/rho.py` says.

`Measurement` says what every kind has to answer. `NoisyMeasurement` has noise on every cell, of one of the
catalogue's laws: it draws the noise, prices it and says how far it goes. A choice among bins is
`RankMeasurement`, in `release/measurements/quantiles.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from leakcap.arrays import NDArray, np
from leakcap.bound import Bound
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.implied import rho_of_pure, tight_mutual_information
from leakcap.ledger.measured import rho_of
from leakcap.ledger.values import event_text
from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.discrete_gaussian import DiscreteGaussian
from leakcap.mechanism.geometric import TwoSidedGeometric
from leakcap.numeric import float_up, up
from leakcap.policy.document import Policy
from leakcap.release.measurements.aggregates import Aggregate
from leakcap.release.measurements.one_hot import MOST_BITS, one_hot_capacity
from leakcap.release.measurements.rho import deviation, least_root
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.exact_integers import ExactIntegers, plus
from leakcap.sampling import ByteSource, rational_scale

__all__ = ["Measurement", "NoisyMeasurement", "Offer", "measured", "noisy_of", "total_range"]

# The Gaussian's grid is so much coarser than Laplace noise of the same ε would have it: σ may be larger.
_COARSER = 64


@dataclass(frozen=True, kw_only=True)
class Measurement(ABC):
    """One noisy vector: its role in the statistic, what a unit adds, and what it cannot exceed.

    `unit` is what a step is worth; `total` the public range of one cell's total, to which it is clamped
    before noise (1-Lipschitz, so the sensitivity stays). `covers` says that rows can make every integer of
    the contribution's reach, the ends included.
    """

    role: str
    aggregate: Aggregate
    contribution: Contribution
    total: tuple[int, int] | None
    unit: Fraction = Fraction(1)
    covers: bool = True

    @property
    @abstractmethod
    def mechanism(self) -> str:
        """The noise by its name."""

    @property
    @abstractmethod
    def loss(self) -> Fraction | None:
        """The ε between neighbours that this costs, exactly; None where no ε holds without a δ."""

    @property
    @abstractmethod
    def loss_contents(self) -> Fraction | None:
        """The ε between any two possible contents of one unit's data."""

    @property
    def delta(self) -> Fraction:
        """The δ between neighbours that this costs, exactly or rounded up."""
        return Fraction(0)

    def curve(self) -> tuple[float, ...]:
        """The Rényi divergence between neighbours at each of the ledger's orders, in nats, rounded up.

        Unless a kind of noise knows better, all that its ε allows.
        """
        assert self.loss is not None
        return curve_of_pure(float_up(self.loss))

    @property
    def rho(self) -> Fraction:
        """The least ρ with D_α ≤ αρ at every order α > 1 between neighbours, rounded up; but for `delta`.

        Unless a kind of noise knows better, all that its ε allows.
        """
        assert self.loss is not None
        return Fraction(rho_of_pure(float_up(self.loss)))

    def appears(self, noisy: ExactIntegers) -> NDArray[np.bool_]:
        """Whether a cell with such a noisy integer is released at all."""
        return np.ones(len(noisy), dtype=bool)

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale of the noise as a person reads it, in the unit of what is released."""

    @abstractmethod
    def draw(self, exact: ExactIntegers, source: ByteSource) -> ExactIntegers:
        """The noisy integers, or choices, from the exact totals of all cells."""

    @abstractmethod
    def capacity(self) -> Bound:
        """The MI-DP of this measurement, in nats: what it tells about one unit, everything else known."""

    @abstractmethod
    def table_nats(self, units: int) -> float:
        """At most so much does it tell about a whole table of `units` units, in nats."""

    @abstractmethod
    def error(self, beyond: float) -> int:
        """How far the noise goes, in steps: further with probability `beyond` at most."""


@dataclass(frozen=True, kw_only=True)
class NoisyMeasurement(Measurement):
    """Noise of its own on every cell's total.

    Between neighbours the totals differ by `steps` in L1 and by `squared` in L2, squared, and one of them by
    `most`, where that is known; `contents`, `contents_squared` and `contents_most` are the same between any
    two contents of one unit's data, and some point has all of them within `radius_squared`.
    """

    noise: AdditiveNoise
    steps: int
    squared: Fraction
    contents: int
    contents_squared: Fraction
    radius_squared: Fraction
    most: int | None = None
    contents_most: int | None = None

    added: int = 1
    """How many cells each of the numbers is the sum of, in a margin: so many noises are in it."""

    one_hot: bool = False
    """Whether one row sets one cell to 1 and nothing else: then the exact capacity is known."""

    kept: ClassVar[bool] = True
    """Whether its noisy integers are one for each cell, and are kept with the answer."""

    @property
    def mechanism(self) -> str:
        """The law of the noise."""
        return self.noise.label

    @property
    def scale(self) -> Fraction:
        """The scale of a Laplace law or the standard deviation of a Gaussian one, in steps."""
        return self.noise.width

    @property
    def sensitivity(self) -> int:
        """The largest L1 distance between the totals of neighbours."""
        return self.steps

    @property
    def pure(self) -> bool:
        """Whether an ε holds without a δ."""
        return self.noise.loss(steps=1, squared=Fraction(1)) is not None

    @property
    def loss(self) -> Fraction | None:
        """The ε of totals so far apart."""
        return self.noise.loss(steps=self.steps, squared=self.squared, most=self.most)

    @property
    def loss_contents(self) -> Fraction | None:
        """The same between contents."""
        return self.noise.loss(steps=self.contents, squared=self.contents_squared, most=self.contents_most)

    @property
    def event(self) -> dict[str, Any] | None:
        """What it was for an auditor; None of a law of noise that has no event."""
        return self.noise.event(steps=self.steps, squared=self.squared, most=self.most)

    @property
    def event_contents(self) -> dict[str, Any] | None:
        """The same between two contents."""
        return self.noise.event(steps=self.contents, squared=self.contents_squared, most=self.contents_most)

    @property
    def rho(self) -> Fraction:
        """That of its event: of Gaussian noise Δ₂²/(2σ²), exactly."""
        known = None if self.delta else self.event
        return super().rho if known is None else rho_of(event_text(known))

    @property
    def noise_scale(self) -> float:
        """In the unit of the column, or rows, or people."""
        return float(self.scale * self.unit)

    def draw(self, exact: ExactIntegers, source: ByteSource) -> ExactIntegers:
        """Each total plus noise of its own."""
        return plus(exact, self.noise.noise(len(exact), source))

    def curve(self) -> tuple[float, ...]:
        """That of the noise at this distance, if an auditor can compute it again; else all that ε allows."""
        if self.event is None:
            return super().curve()
        apart = self.noise.apart
        return tuple(apart(order, steps=self.steps, squared=self.squared, most=self.most) for order in ORDERS)

    def level(self, order: float) -> float:
        """The Rényi divergence between any two contents of one unit's data, in nats, rounded up."""
        return self.noise.apart(
            order, steps=self.contents, squared=self.contents_squared, most=self.contents_most
        )

    def capacity(self) -> Bound:
        """Exact for one cell and for one-hot rows with Laplace noise; what no mechanism of this curve exceeds
        elsewhere."""
        contribution = self.contribution
        if contribution.cells == 1 and self.contents == contribution.diameter:
            return self.noise.tells(contribution.diameter)
        if self.loss_contents is None:
            most = self.noise.apart(1.0, steps=self.contents, squared=self.radius_squared)
            method, source = "divergence from noise about the middle", "Canonne, Kamath & Steinke 2020"
            return Bound(0.0, most, method=method, source=source)
        if self.one_hot and contribution.rows == 1 and contribution.cells <= MOST_BITS:
            return one_hot_capacity(contribution.cells, float_up(1 / self.scale))
        ceiling = tight_mutual_information(float_up(self.loss_contents))
        return Bound(0.0, ceiling, method="any mechanism of this ε", source="Dong, Durfee & Rogers 2020")

    def table_nats(self, units: int) -> float:
        """Capacities of disjoint cells add up."""
        low, high = self.contribution.total(units)
        return up(self.contribution.cells * self.noise.tells(high - low).upper)

    def error(self, beyond: float) -> int:
        """From the exact law of the noise, in a margin from that of the sum of its noises."""
        return self.noise.error(beyond) if self.added == 1 else self.noise.error_of_sum(self.added, beyond)


@dataclass(frozen=True)
class Offer:
    """A part of a query's ε, or of its ρ where the noise is Gaussian.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> Offer(policy, epsilon=Fraction(1, 2)).noise(1, Fraction(1)).width
    Fraction(2, 1)
    >>> float(Offer(policy, rho=Fraction(1, 50)).noise(4, Fraction(4)).width)
    10.0
    """

    policy: Policy
    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @property
    def replace(self) -> bool:
        """Whether neighbours differ in the contents of one unit."""
        return self.policy.neighbours == "replace-one"

    @property
    def fineness(self) -> Fraction:
        """ε, or what stands for it where a grid is made about as fine as the noise."""
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        return Fraction(math.isqrt(math.floor(2 * self.rho * 4**60)), 2**60) / _COARSER

    def __truediv__(self, parts: Fraction | int) -> Self:
        if self.epsilon is not None:
            return replace(self, epsilon=self.epsilon / parts)
        assert self.rho is not None
        return replace(self, rho=self.rho / parts)

    def noise(self, steps: int, squared: Fraction) -> AdditiveNoise:
        """Noise that hides so many steps in L1, or so long a step in L2, squared. Raises
        `InvalidParameter`."""
        if self.epsilon is not None:
            return TwoSidedGeometric(rational_scale(steps, self.epsilon), steps)
        assert self.rho is not None
        return DiscreteGaussian(deviation(squared, self.rho), least_root(squared))


def measured(
    role: str,
    aggregate: Aggregate,
    contribution: Contribution,
    offer: Offer,
    *,
    unit: Fraction = Fraction(1),
    covers: bool = True,
    one_hot: bool = False,
) -> NoisyMeasurement:
    """A vector with noise just large enough for what is offered. Raises `InvalidParameter` where that is out
    of the range that noise can be drawn for."""
    steps = contribution.sensitivity(replace=offer.replace)
    squared = Fraction(contribution.squared(replace=offer.replace))
    return NoisyMeasurement(
        role=role,
        aggregate=aggregate,
        contribution=contribution,
        noise=offer.noise(steps, squared),
        steps=steps,
        squared=squared,
        contents=contribution.diameter,
        contents_squared=Fraction(contribution.squared(replace=True)),
        radius_squared=Fraction(contribution.squared(replace=contribution.every)),
        most=contribution.most(replace=offer.replace),
        contents_most=contribution.most(replace=True),
        total=total_range(contribution, offer.policy),
        unit=unit,
        covers=covers,
        one_hot=one_hot,
    )


def noisy_of(parts: Sequence[Measurement]) -> list[NoisyMeasurement]:
    """Those of a plan's measurements that have noise on every cell."""
    return [part for part in parts if isinstance(part, NoisyMeasurement)]


def total_range(contribution: Contribution, policy: Policy) -> tuple[int, int] | None:
    """The public range of one cell's total; None where the number of units has no public bound."""
    return None if policy.units is None else contribution.total(policy.units)
