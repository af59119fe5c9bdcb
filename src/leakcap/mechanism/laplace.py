"""Laplace noise on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.adversary import Adversary, PowerConstraint
from leakcap.bound import Bound
from leakcap.capacities.noise.laplace import laplace_capacity
from leakcap.capacities.power import laplace_power_capacity, require_order
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import MAX_EPSILON, Laws, Mechanism, Outputs, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.levels import laplace_ranges, laplace_rows, level_of_noise
from leakcap.mechanism.orders import best_of, bounded_range_capacity, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval, enclose, outward
from leakcap.numeric.rounding import down, up
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["Laplace", "laplace_hockey_stick", "laplace_renyi"]

_CELLS = 64
"""Cells between two secrets: enough for a bound from below."""


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Real secrets plus noise of density e^(−|z|/scale)/(2·scale); ε = sensitivity/scale.

    `sensitivity` is the distance of the farthest secrets, an interval of that length for `AllPriors`.
    Source: Dwork, McSherry, Nissim & Smith 2006.

    >>> round(Laplace(1.0).diameter(Renyi(1)).upper, 12)
    0.367879441171
    """

    scale: float
    sensitivity: float = 1.0

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006"

    def __post_init__(self) -> None:
        for name in ("scale", "sensitivity"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, "Laplace", "be positive and finite", value)
        total = self.sensitivity / self.scale
        require(0 < total <= MAX_EPSILON, "sensitivity/scale", "Laplace", "be at most 700", total)

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is real."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def claim(self) -> float:
        """ε = sensitivity/scale, attained; rounded up where it is no double."""
        return self.promised()[1]

    def promised(self) -> tuple[float, float]:
        """The quotient, enclosed."""
        return outward(Fraction(self.sensitivity) / Fraction(self.scale))

    def _epsilon(self, digits: Digits) -> Interval:
        return digits.of(self.sensitivity) / digits.of(self.scale)

    def diameter(self, divergence: Divergence) -> Bound | None:
        """Two secrets at the full distance: Laplace noise is log-concave, so they dominate nearer ones.

        ε at order ∞, ε−1+e^−ε at order 1, Mironov's formula between; 1 − e^((ln γ − ε)/2) for the
        hockey-stick of γ ∈ [e^−ε, e^ε]. Source: Mironov 2017, proposition 6; Balle, Barthe & Gaboardi 2020.
        """
        secrets = 0.0, self.sensitivity
        match divergence:
            case Renyi(alpha) if math.isinf(alpha):
                return self._told(self.promised(), divergence, secrets)
            case Renyi(alpha):
                return self.closed_form(lambda d: laplace_renyi(alpha, self._epsilon(d)), divergence, secrets)
            case HockeyStick(gamma):
                return self.closed_form(
                    lambda d: laplace_hockey_stick(d.of(gamma), self._epsilon(d)), divergence, secrets
                )
            case TotalVariation():
                return self.closed_form(lambda d: 1 - (self._epsilon(d) / -2).exp(), divergence, secrets)
        return None

    def radius(self, order: Renyi) -> Bound:
        """Secrets anywhere in an interval: Shannon capacity, ln(1+ε/2) at order ∞, a bracket between."""
        least, most = self.promised()
        shannon = laplace_capacity(most)
        shannon = replace(shannon, lower=laplace_capacity(least).lower)
        if order.alpha == 1.0:
            return shannon
        top = self.closed_form(lambda d: (1 + self._epsilon(d) / 2).log(), order)
        if math.isinf(order.alpha):
            return top
        lowers = [two_point_capacity(order, self._two_ends)]
        middle = enclose(lambda d: laplace_renyi(order.alpha, self._epsilon(d) / 2))[1]
        uppers = [top.upper, middle, bounded_range_capacity(order, most)]
        if order.alpha > 1.0:
            return best_of(order, [*lowers, shannon.lower], uppers)
        return best_of(order, lowers, [*uppers, shannon.upper])

    def level(self, order: Renyi) -> Bound:
        """Secrets anywhere in an interval: Shannon capacity, ε at order ∞, a bracket between."""
        least, most = self.promised()
        finite = math.isfinite(order.alpha) and order.alpha != 1.0
        ranges = laplace_ranges(order.alpha, most) if finite else math.inf
        return level_of_noise(self, order, laplace_rows(least), ranges)

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """Under a power constraint too, where secrets may lie anywhere."""
        if isinstance(adversary, PowerConstraint):
            require_order(divergence, 1.0)
            noise = Fraction(self.scale) ** 2 * 2 * adversary.dimensions
            low, high = outward(Fraction(adversary.power) / noise)
            least, most = laplace_power_capacity(low), laplace_power_capacity(high)
            return replace(
                most,
                lower=down(adversary.dimensions * least.lower),
                upper=up(adversary.dimensions * most.upper),
            )
        return super().exact(divergence, adversary)

    def _two_ends(self, digits: Digits) -> Laws:
        """The secrets at the two ends, seen through cells between them and one beyond each."""
        epsilon = self._epsilon(digits)
        falls = [(epsilon * i / -_CELLS).exp() / 2 for i in range(_CELLS + 1)]
        cells = [digits.of(0.5), *(high - low for high, low in pairwise(falls)), falls[-1]]
        return Laws(cells, cells[::-1])

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """For research, not for release: floats leak (Mironov 2012). Release with `TwoSidedGeometric`.

        The difference of two exponential variates by inversion of 53-bit uniforms.
        """
        x = as_points(secrets, 1, "Laplace.sample")
        u = open_uniforms(2 * x.size, source)
        return np.asarray(x + self.scale * (np.log(u[: x.size]) - np.log(u[x.size :])))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Weak to strong, and one in other units."""
        return cls(1.0), cls(10.0), cls(0.5, 2.0), cls(300.0, 1.0)


def laplace_renyi(alpha: float, epsilon: Interval) -> Interval:
    """D_α between Laplace laws of scale 1 at distance ε, α < ∞. Source: Mironov 2017, proposition 6.

    (1/(α−1)) ln[(α/(2α−1)) e^((α−1)ε) + ((α−1)/(2α−1)) e^(−αε)], with its limits at ½ and 1.

    >>> low, high = enclose(lambda digits: laplace_renyi(2.0, digits.of(1)))
    >>> round(high, 10) == round(math.log((2 * math.e + math.exp(-2)) / 3), 10)
    True
    """
    digits = epsilon.digits
    if alpha == 1.0:
        return epsilon - 1 + (-epsilon).exp()
    if alpha < 0.5:
        # Both directions are equal, so that (1−α)·D_α = α·D_{1−α}.
        order = digits.of(alpha)
        return _renyi(1 - order, epsilon) * order / (1 - order)
    if alpha == 0.5:
        return epsilon - 2 * (1 + epsilon / 2).log()
    return _renyi(digits.of(alpha), epsilon)


def _renyi(order: Interval, epsilon: Interval) -> Interval:
    t, twice = order - 1, 2 * order - 1
    return epsilon + ((order + t * (-twice * epsilon).exp()) / twice).log() / t


def laplace_hockey_stick(gamma: Interval, epsilon: Interval) -> Interval:
    """Σ(P − γQ)₊ between Laplace laws of scale 1 at distance ε: the largest of three formulas.

    >>> enclose(lambda digits: laplace_hockey_stick(digits.of(0.25), digits.of(1)))
    (0.75, 0.75)
    """
    least = (1 - gamma).positive_part()
    return least if gamma.is_zero else least.or_more(1 - ((gamma.log() - epsilon) / 2).exp())
