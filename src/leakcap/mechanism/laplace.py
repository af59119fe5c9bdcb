"""Laplace noise on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.capacities.laplace import laplace_capacity
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.base import MAX_EPSILON, Mechanism, Outputs, RowPair, as_points
from leakcap.mechanism.floats import open_uniforms
from leakcap.mechanism.orders import bounded_range_capacity, bracket, mirrored, two_point_capacity
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["Laplace"]


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
        require(
            0 < self.claim() <= MAX_EPSILON, "sensitivity/scale", "Laplace", "be at most 700", self.claim()
        )

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: the output is real."""
        self._no_channel("every ruler between neighbours, and Rényi orders over all priors")

    def claim(self) -> float:
        """ε = sensitivity/scale, attained."""
        return self.sensitivity / self.scale

    def diameter(self, divergence: Divergence) -> Bound | None:
        """Two secrets at the full distance: Laplace noise is log-concave, so they dominate nearer ones.

        ε at order ∞, ε−1+e^−ε at order 1, Mironov's formula between; 1 − e^((ln γ − ε)/2) for the
        hockey-stick of γ ∈ [e^−ε, e^ε]. Source: Mironov 2017, proposition 6; Balle, Barthe & Gaboardi 2020.
        """
        match divergence:
            case Renyi(alpha):
                value = laplace_renyi(alpha, self.claim())
            case HockeyStick(exp_epsilon):
                value = laplace_hockey_stick(exp_epsilon, self.claim())
            case TotalVariation():
                value = -math.expm1(-self.claim() / 2)
            case _:
                return None
        return self.closed_form(value, divergence, (0.0, self.sensitivity))

    def radius(self, order: Renyi) -> Bound:
        """Secrets anywhere in an interval: Shannon capacity, ln(1+ε/2) at order ∞, a bracket between."""
        epsilon = self.claim()
        if order.alpha == 1.0:
            return laplace_capacity(epsilon)
        top = math.log1p(epsilon / 2)
        if math.isinf(order.alpha):
            return self.closed_form(top, order)
        shannon = laplace_capacity(epsilon)
        lowers = [two_point_capacity(order, _two_ends(epsilon))]
        uppers = [top, laplace_renyi(order.alpha, epsilon / 2), bounded_range_capacity(order, epsilon)]
        if order.alpha > 1.0:
            return bracket(order, [*lowers, shannon.lower], uppers)
        return bracket(order, lowers, [*uppers, shannon.upper])

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


def _two_ends(epsilon: float) -> RowPair:
    """The secrets at the two ends, seen through 512 cells between them and one beyond each."""
    edges = np.linspace(0.0, epsilon, 513)
    between = 0.5 * np.exp(-edges[:-1]) * -np.expm1(-np.diff(edges))
    return mirrored(np.concatenate([[0.5], between, [0.5 * math.exp(-epsilon)]]))


def laplace_renyi(alpha: float, epsilon: float) -> float:
    """D_α between Laplace laws of scale 1 at distance ε. Source: Mironov 2017, proposition 6.

    (1/(α−1)) ln[(α/(2α−1)) e^((α−1)ε) + ((α−1)/(2α−1)) e^(−αε)], with its limits at ½, 1 and ∞.

    >>> round(laplace_renyi(2.0, 1.0), 10) == round(math.log((2 * math.e + math.exp(-2)) / 3), 10)
    True
    """
    if math.isinf(alpha):
        return epsilon
    t = alpha - 1.0
    if t == 0.0:
        return _exp_rest(-epsilon)
    if abs(t) < 0.25 and abs(t) * epsilon < 0.5:
        # Σ p^α q^(1−α) − 1 with nothing that cancels, divided by t.
        excess = (1 + t) * _exp_rest(t * epsilon) / t + _exp_rest(-(1 + t) * epsilon)
        return math.log1p(t * excess / (1 + 2 * t)) / t
    # With a = α − ½ the sum is e^(−ε/2)(cosh aε + sinh(aε)/(2a)), regular at a = 0.
    x, half = abs(t + 0.5) * epsilon, epsilon / 2
    if x < 1.0:
        rise = 2.0 * math.sinh(x / 2) ** 2 + half * _sinhc_rest(x)
        if epsilon < 1.0:
            return math.log1p(math.exp(-half) * (rise - _exp_rest(half))) / t
        return (math.log(1.0 + half + rise) - half) / t
    faded = math.exp(-2.0 * x)
    return (x - half + math.log(0.5 * (1.0 + faded) + half * (1.0 - faded) / (2.0 * x))) / t


def _exp_rest(x: float) -> float:
    """e^x − 1 − x, precise near zero."""
    if abs(x) > 1e-1:
        return math.expm1(x) - x
    term = total = x * x / 2
    for n in range(3, 14):
        term *= x / n
        total += term
    return total


def _sinhc_rest(x: float) -> float:
    """sinh(x)/x − 1 for 0 ≤ x ≤ 1, precise near zero."""
    term = total = x * x / 6
    for n in range(4, 20, 2):
        term *= x * x / (n * (n + 1))
        total += term
    return total


def laplace_hockey_stick(gamma: float, epsilon: float) -> float:
    """Σ(P − γQ)₊ between Laplace laws of scale 1 at distance ε.

    >>> laplace_hockey_stick(1.0, 1.0) == -math.expm1(-0.5)
    True
    """
    if gamma == 0.0:
        return 1.0
    t = math.log(gamma)
    if t >= epsilon:
        return 0.0
    return 1.0 - gamma if t <= -epsilon else -math.expm1((t - epsilon) / 2)
