"""Geometric noise on the integers: two-sided (discrete Laplace) and truncated."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

from leakcap.adversary import Adversary, Neighbours
from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.bound import Bound
from leakcap.capacities.noise.geometric import geometric_capacity
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi
from leakcap.errors import require
from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.base import (
    MAX_EPSILON,
    Laws,
    Mechanism,
    Outputs,
    RowPair,
    as_secrets,
    require_entries,
    require_epsilon,
)
from leakcap.mechanism.geometric_sums import geometric_divergence
from leakcap.mechanism.levels import level_of_noise
from leakcap.mechanism.noise_sums import laplace_error, laplace_sum_error, laplace_variance
from leakcap.mechanism.orders import best_of, bounded_range_capacity, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval, enclose, outward
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import float_up, up
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale, system_bytes
from leakcap.sampling.rational import MIN_SCALE, printed

__all__ = ["TruncatedGeometric", "TwoSidedGeometric"]

_LARGEST_SOLVED = 3000
"""Above so many steps, orders other than 1 and ∞ are bracketed rather than solved."""
_CELLS = 64
"""Cells through which two ends are seen, for a bound from below."""


class _Geometric(Mechanism):
    """What both share: secrets 0, …, `reach`, decay a step, and rows that only their distance tells apart."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """The largest secret; the smallest is 0."""

    @property
    @abstractmethod
    def decay(self) -> float:
        """ε for a step of one."""

    @abstractmethod
    def step(self, digits: Digits) -> Interval:
        """The same to any number of digits."""

    def channel(self) -> Channel:
        """The truncated matrix: outputs below 0 all have one likelihood ratio, and so have those above."""
        n, s = self.reach, math.exp(-self.decay)
        require_entries(n + 1, n + 1, type(self).__name__)
        steps = np.arange(n + 1)
        rows = np.exp(-self.decay * np.abs(steps[:, None] - steps)) * math.tanh(self.decay / 2)
        rows[:, 0] = np.exp(-self.decay * steps) / (1 + s)
        rows[:, n] = np.exp(-self.decay * (n - steps)) / (1 + s)
        return Channel(rows)

    def statistic(self, outputs: Outputs) -> Outputs:
        """Outputs clamped to 0, …, `reach`: nothing is lost."""
        return np.asarray(np.clip(outputs, 0, self.reach))

    def claim(self) -> float:
        """`decay` times the distance of the farthest secrets, attained; rounded up where it is no double."""
        return self.promised()[1]

    def promised(self) -> tuple[float, float]:
        """The product, enclosed."""
        return enclose(lambda digits: self.step(digits) * self.reach)

    def attained(self) -> bool:
        """By the two ends."""
        return True

    def dominating_pair(self) -> RowPair:
        """The two end rows: geometric noise is log-concave, so a longer shift dominates a shorter one."""
        logs = _log_row(self.reach, self.decay)
        return RowPair(np.exp(logs), np.exp(logs[::-1]), (0, self.reach))

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """Listed pairs too: the farthest pair decides."""
        if not isinstance(adversary, Neighbours) or not adversary.pairs:
            return super().exact(divergence, adversary)
        if not all(0 <= x <= self.reach for pair in adversary.pairs for x in pair):
            return None
        low, high = max(((min(p), max(p)) for p in adversary.pairs), key=lambda pair: pair[1] - pair[0])
        return self._at_distance(high - low, divergence, (low, high))

    def diameter(self, divergence: Divergence) -> Bound:
        """The divergence of the two end rows."""
        return self._at_distance(self.reach, divergence, (0, self.reach))

    def _at_distance(self, distance: int, divergence: Divergence, witness: tuple[int, int]) -> Bound:
        if not distance:  # a row against itself
            least = (
                1 - Fraction(divergence.exp_epsilon) if isinstance(divergence, HockeyStick) else Fraction(0)
            )
            return self._told(outward(max(least, Fraction(0))), divergence, witness)
        return self.closed_form(
            lambda digits: geometric_divergence(divergence, self.step(digits), distance), divergence, witness
        )

    def radius(self, order: Renyi) -> Bound | None:
        """Shannon capacity, ln(1 + n·tanh(ε/2)) at order ∞; every order for two secrets."""
        if math.isinf(order.alpha):
            return self._maximal_leakage()
        if order.alpha == 1.0:
            return self._shannon()
        if self.reach > _LARGEST_SOLVED:
            return self._bracket(order)
        return super().radius(order) if self.reach == 1 else None

    def level(self, order: Renyi) -> Bound | None:
        """Solved from the channel where it is small; else between the radius and the general bounds."""
        if self.reach <= _LARGEST_SOLVED:
            return None
        digits = Digits(40)
        sides = self._two_sides(digits)
        rows = np.array([[mass.middle() for mass in law] for law in (sides.p, sides.q)])
        return level_of_noise(self, order, lambda _: rows, counts=())

    def _maximal_leakage(self) -> Bound:
        def formula(digits: Digits) -> Interval:
            s = (-self.step(digits)).exp()
            return (1 + (1 - s) / (1 + s) * self.reach).log()

        prior = (1 / (self.reach + 1),) * (self.reach + 1) if self.reach <= _LARGEST_SOLVED else None
        return self.closed_form(formula, Renyi(math.inf), prior)

    def _shannon(self) -> Bound:
        least, most = enclose(self.step)
        found = geometric_capacity(self.reach, most)
        if least == most:
            return found
        return replace(found, lower=min(geometric_capacity(self.reach, least).lower, found.upper))

    def central(self, order: Renyi, digits: Digits) -> Laws | None:
        """Two secrets: a row against the fair coin."""
        if self.reach > 1:
            return None
        s, half = (-self.step(digits)).exp(), digits.of(0.5)
        return Laws((1 / (1 + s), s / (1 + s)), (half, half))

    def best_prior(self) -> object:
        """The fair coin."""
        return 0.5, 0.5

    def _bracket(self, order: Renyi) -> Bound:
        """Without a matrix: between the two end rows, the Shannon capacity and what ε allows."""
        shannon = self._shannon()
        low = two_point_capacity(order, self._two_sides)
        uppers = [self._maximal_leakage().upper, bounded_range_capacity(order, self.claim())]
        if order.alpha > 1.0:
            return best_of(order, [low, shannon.lower], uppers)
        return best_of(order, [low], [*uppers, shannon.upper])

    def _two_sides(self, digits: Digits) -> Laws:
        """The two end secrets, and the cells of noise between them that lie nearer to one or the other.

        Each of 2·_CELLS cells holds as many outputs as any other, but for the ends.
        """
        step, n = self.step(digits), self.reach
        s = (-step).exp()
        edges = sorted({*(1 + (n - 1) * i // _CELLS for i in range(_CELLS)), n})
        # Σ_{a ≤ y < b} (1−s)/(1+s)·s^y = (s^a − s^b)/(1+s).
        falls = [(-step * edge).exp() for edge in edges]
        there = [1 / (1 + s), *((a - b) / (1 + s) for a, b in pairwise(falls)), falls[-1] / (1 + s)]
        rises = [(step * (edge - 1 - n)).exp() for edge in edges]
        back = [falls[-1] / (1 + s), *((b - a) / (1 + s) for a, b in pairwise(rises)), 1 / (1 + s)]
        return Laws(there, back)


@lru_cache(maxsize=1 << 15)
def _apart(scale: Fraction, order: float, steps: int) -> float:
    epsilon = float_up(steps / scale)
    if not steps or math.isinf(order) or scale * MAX_EPSILON < 1:
        return epsilon
    bound = TwoSidedGeometric(scale, steps).diameter(Renyi(order))
    return up(bound.upper)


def _log_row(n: int, decay: float) -> Floats:
    """Logarithms of the first row of the truncated geometric matrix over 0, …, n."""
    logs = -decay * np.arange(n + 1) + math.log(math.tanh(decay / 2))
    ends = -math.log1p(math.exp(-decay))
    logs[0], logs[n] = ends, ends - decay * n
    return np.asarray(logs)


@dataclass(frozen=True)
class TruncatedGeometric(_Geometric):
    """A secret in 0, …, n plus two-sided geometric noise of ε a step, clamped to 0, …, n.

    Adjacent secrets are ε apart, the farthest nε. Optimal for every prior and loss of one count.
    Source: Ghosh, Roughgarden & Sundararajan 2012.

    >>> TruncatedGeometric(2, math.log(2)).channel().matrix.round(4).tolist()
    [[0.6667, 0.1667, 0.1667], [0.3333, 0.3333, 0.3333], [0.1667, 0.1667, 0.6667]]
    """

    n: int
    epsilon: float

    source: ClassVar[str] = "Ghosh, Roughgarden & Sundararajan 2012"

    def __post_init__(self) -> None:
        require(self.n >= 1, "n", "TruncatedGeometric", "be at least 1 (the largest secret)", self.n)
        require_epsilon(self.epsilon, "TruncatedGeometric")

    @property
    def reach(self) -> int:
        """n."""
        return self.n

    @property
    def decay(self) -> float:
        """ε."""
        return self.epsilon

    def step(self, digits: Digits) -> Interval:
        """ε."""
        return digits.of(self.epsilon)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact discrete Laplace noise at `rational_scale(1, epsilon)`, then the clamp."""
        x = as_secrets(secrets, 0, self.n, "TruncatedGeometric.sample")
        noise = discrete_laplace(rational_scale(1, self.epsilon), x.size, source)
        return np.asarray(np.clip(x + noise, 0, self.n))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The channel of Fernandes, McIver & Sadeghi 2022, two secrets, many secrets, weak and strong."""
        pairs = ((2, math.log(2)), (1, 1.0), (20, 0.1), (5, 3.0), (40, 0.02))
        return tuple(cls(n, e) for n, e in pairs)


@dataclass(frozen=True)
class TwoSidedGeometric(_Geometric, AdditiveNoise):
    """Integer secrets plus noise P(z) ∝ e^(−|z|/scale), the discrete Laplace law.

    `sensitivity` is the distance of the farthest secrets: 1 for one person's effect on a count, n for a whole
    table of n people. ε = sensitivity/scale. Secrets 0, …, sensitivity with the outputs clamped to them, the
    truncated geometric matrix, tell as much: that is `channel()`.
    Source: Ghosh, Roughgarden & Sundararajan 2012; Inusah & Kozubowski 2006.

    >>> TwoSidedGeometric(1.0).claim()
    1.0
    """

    scale: float | Fraction
    sensitivity: int = 1

    source: ClassVar[str] = "Ghosh, Roughgarden & Sundararajan 2012"
    label: ClassVar[str] = "discrete Laplace"

    def __post_init__(self) -> None:
        owner = "TwoSidedGeometric"
        require(0 < self.scale < math.inf, "scale", owner, "be positive and finite", self.scale)
        require(self.scale >= MIN_SCALE, "scale", owner, "be at least 2**-30", self.scale)
        whole = isinstance(self.sensitivity, int) and self.sensitivity >= 1
        require(whole, "sensitivity", owner, "be an integer of at least 1", self.sensitivity)

    @property
    def reach(self) -> int:
        """The sensitivity."""
        return self.sensitivity

    @property
    def decay(self) -> float:
        """1/scale."""
        return float(1 / self.scale)

    def step(self, digits: Digits) -> Interval:
        """1/scale."""
        return 1 / digits.of(self.scale)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: secrets of any size plus discrete Laplace noise. Sums beyond 64 bits are not checked."""
        x = as_secrets(secrets, None, None, "TwoSidedGeometric.sample")
        return np.asarray(x + self.noise(x.size, source))

    @cached_property
    def width(self) -> Fraction:
        """The scale."""
        return rational_scale(1, 1 / printed(self.scale))

    def noise(self, size: int, source: ByteSource) -> NDArray[Any]:
        """Discrete Laplace noise."""
        return discrete_laplace(self.width, size, source)

    def variance(self) -> float:
        """1/(2·sinh²(1/2b))."""
        return laplace_variance(self.width)

    def error(self, beyond: float) -> int:
        """From the law itself: P(|Z| > a) = 2 s^{a+1}/(1+s), s = e^{−1/scale}.

        >>> TwoSidedGeometric(10.0).error(0.05)
        30
        """
        return laplace_error(self.width, beyond=beyond)

    def error_of_sum(self, count: int, beyond: float) -> int:
        """From the exact law of the sum."""
        return laplace_sum_error(self.width, count, beyond=beyond)

    def apart(self, order: float, *, steps: int, squared: Fraction, most: int | None = None) -> float:
        """That of as few integers as can share the steps, each moved as far as one can be.

        A step costs the more the farther one integer has been moved: e^((α−1)D) is a sum of two exponentials
        of the distance with positive weights, so that D is convex in it, and 0 at 0. So the more integers
        share the steps, the less they show.

        >>> noise = TwoSidedGeometric(10)
        >>> alone = noise.apart(2.0, steps=2, squared=Fraction(4))
        >>> noise.apart(2.0, steps=2, squared=Fraction(2), most=1) < 0.6 * alone
        True
        """
        if most is None or most >= steps:
            return _apart(self.width, order, steps)
        if math.isinf(order):
            return float_up(steps / self.width)
        moved, rest = divmod(steps, most)
        return up(moved * _apart(self.width, order, most) + _apart(self.width, order, rest), 2)

    def loss(self, *, steps: int, squared: Fraction, most: int | None = None) -> Fraction:
        """The distance in scales, however many integers share it."""
        return Fraction(steps) / self.width

    def event(self, *, steps: int, squared: Fraction, most: int | None = None) -> dict[str, Any]:
        """The same integers as in `apart`, each with noise of its own."""

        def moved(far: int) -> dict[str, Any]:
            rate = Fraction(1) / self.width
            return {"name": "DiscreteLaplaceDpEvent", "noise_parameter": rate, "sensitivity": far}

        if most is None or most >= steps:
            return moved(steps)
        count, rest = divmod(steps, most)
        same = {"name": "SelfComposedDpEvent", "event": moved(most), "count": count}
        return {"name": "ComposedDpEvent", "events": [same, moved(rest)]} if rest else same

    def tells(self, reach: int) -> Bound:
        """Exact; that of noise whose scale is a double where the scale is none."""
        if not reach:
            return Bound.exact(0.0, method="nothing to tell")
        return geometric_capacity(reach, float_up(1 / self.width))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """One person's effect, a sum's, a fraction for a scale, weak and strong."""
        return cls(1.0), cls(Fraction(10, 3), 5), cls(10.0), cls(0.25, 2), cls(25.0, 12)
