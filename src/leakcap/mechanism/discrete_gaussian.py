"""Discrete Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from leakcap.adversary import Adversary, AllPriors, GivenPrior
from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.bound import Bound
from leakcap.capacities.verb import solve
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import require
from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.base import Laws, Outputs, as_secrets
from leakcap.mechanism.levels import level_of_noise
from leakcap.mechanism.noise_sums import gaussian_sum_error
from leakcap.mechanism.orders import best_of, two_point_capacity
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.rounding import down, float_up, up
from leakcap.numeric.special import cosine, normal_tail, pi
from leakcap.sampling import ByteSource, discrete_gaussian, system_bytes
from leakcap.sampling.rational import printed

__all__ = ["DiscreteGaussian"]

_REACH = 12.5
"""Standard deviations of the window: less than 10^−33 lies beyond."""
_LARGEST = 1 << 22
"""Entries of the largest window."""
_FAR = 14.0
_FEW, _NARROW = 4, 1e3
"""Up to so many steps and this standard deviation capacities are solved where one is asked in passing."""
_SUMMED = 1e5
"""Hockey-sticks are summed term by term up to this standard deviation."""


@dataclass(frozen=True)
class DiscreteGaussian(AdditiveNoise):
    """Integer secrets plus noise P(z) ∝ e^(−z²/(2σ²)); (Δ²/(2σ²))-zCDP for the sensitivity Δ.

    `sensitivity` is the distance of the farthest secrets. No ε holds with δ = 0.
    Source: Canonne, Kamath & Steinke 2020.

    >>> DiscreteGaussian(2.0).diameter(Renyi(3)).upper
    0.375
    """

    sigma: float | Fraction
    sensitivity: int = 1

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020"
    label: ClassVar[str] = "discrete Gaussian"

    def __post_init__(self) -> None:
        owner = "DiscreteGaussian"
        require(1e-3 <= self.sigma <= 1e12, "sigma", owner, "lie between 0.001 and 10^12", self.sigma)
        whole = isinstance(self.sensitivity, int) and self.sensitivity >= 1
        require(whole, "sensitivity", owner, "be an integer of at least 1", self.sensitivity)

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy, sensitivity²/(2σ²)."""
        return (self.sensitivity / float(self.sigma)) ** 2 / 2

    def channel(self) -> Channel:
        """Raises `InvalidParameter`: every output has its own likelihood ratio. See `window`."""
        self._no_channel("every ruler between neighbours, Rényi orders over priors")

    def window(self) -> Channel | None:
        """Secrets 0, …, sensitivity and outputs up to 12.5σ beyond them; None if that is too large.

        Less than 10^−33 of the mass is left out, so capacities agree to double precision.

        >>> DiscreteGaussian(1.0).window().shape
        (2, 28)
        """
        beyond, n = math.ceil(_REACH * float(self.sigma)), self.sensitivity
        if (n + 1) * (n + 1 + 2 * beyond) > _LARGEST:
            return None
        y, x = np.arange(-beyond, n + beyond + 1), np.arange(n + 1)
        rows = np.exp(-(((y - x[:, None]) / float(self.sigma)) ** 2) / 2)
        return Channel(rows / rows.sum(axis=1, keepdims=True), inputs=x.tolist(), outputs=y.tolist())

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """Priors through the window, widened by what it may lose."""
        if not isinstance(adversary, (AllPriors, GivenPrior)) or not isinstance(divergence, Renyi):
            return super().exact(divergence, adversary)
        if isinstance(adversary, AllPriors) and math.isinf(divergence.alpha):
            return self._maximal_leakage(divergence)
        window = self.window()
        if window is None:
            return self._bracket(divergence) if isinstance(adversary, AllPriors) else None
        found = solve(adversary, window, divergence)
        low, high = down(found.lower, 64), up(found.upper, 64)
        method = f"{found.method}, outputs beyond 12.5σ left out"
        return replace(found, lower=low, upper=high + 1e-30, method=method)

    def level(self, order: Renyi) -> Bound:
        """Between the radius of the same order and the least of the general bounds; ∞ at order ∞."""
        return level_of_noise(self, order)

    def _bracket(self, order: Renyi) -> Bound:
        """Without a window: the best test of the ends from below, noise about the midpoint from above."""
        test = self._hockey_stick(1.0).lower

        def tested(digits: Digits) -> Laws:
            right, wrong = (1 + digits.of(test)) / 2, (1 - digits.of(test)) / 2
            return Laws((right, wrong), (wrong, right))

        half = math.ceil(self.sensitivity / 2)
        centre = enclose(lambda d: order.alpha * half * half / (d.of(self.sigma) * self.sigma) / 2)[1]
        uppers = [centre, self._maximal_leakage(Renyi(math.inf)).upper]
        return best_of(order, [two_point_capacity(order, tested)], uppers)

    def _maximal_leakage(self, order: Renyi) -> Bound:
        return self.closed_form(
            lambda d: (1 + self.sensitivity / theta(d.of(0), d.of(self.sigma))).log(), order
        )

    def diameter(self, divergence: Divergence) -> Bound | None:
        """αρ plus a term that vanishes at whole (α−1)·sensitivity; ρ at order 1; hockey-stick by its sum.

        D_α = αΔ²/(2σ²) + ln(θ((α−1)Δ)/θ(0))/(α−1) with θ(f) = Σ_y e^(−(y−f)²/(2σ²)).
        Source: Canonne, Kamath & Steinke 2020, proposition 5 and theorem 7.
        """
        secrets = 0, self.sensitivity
        match divergence:
            case Renyi(alpha) if math.isinf(alpha):
                return self._told((math.inf, math.inf), divergence, secrets)
            case Renyi(alpha):
                return self.closed_form(lambda d: self._renyi(alpha, d), divergence, secrets)
            case HockeyStick(exp_epsilon):
                return self._hockey_stick(exp_epsilon)
            case TotalVariation():
                return self._hockey_stick(1.0)
        return None

    def _renyi(self, alpha: float, digits: Digits) -> Interval:
        sigma, n = digits.of(self.sigma), self.sensitivity
        whole = digits.of(alpha) * n * n / (sigma * sigma) / 2
        shift = (Fraction(alpha) - 1) * n
        shift -= round(shift)
        if alpha == 1.0 or not shift:
            return whole
        ratio = theta(digits.of(shift), sigma) / theta(digits.of(0), sigma)
        return whole + ratio.log() / (digits.of(alpha) - 1)

    def _hockey_stick(self, gamma: float) -> Bound:
        """Σ_y (P(y) − γP(y − n))₊: the terms up to n/2 − σ²·ln γ/n."""
        ruler, witness = HockeyStick(gamma), (0, self.sensitivity)
        if gamma == 0.0:
            return self._told((1.0, 1.0), ruler, witness)
        if self.sigma > _SUMMED:
            ends = self._by_distribution_function(gamma)
            method = "normal distribution function, with the error of the midpoint rule"
            return Bound.enclosed(
                ends, method=method, source=self.source, unit="probability", witness=witness
            )
        if gamma >= 1.0:
            return self._told(self._summed(math.log(gamma)), ruler, witness)
        # The other direction is the same: 1 − γ more than γ times the hockey-stick of 1/γ.
        low, high = ((1.0 - gamma) + gamma * end for end in self._summed(-math.log(gamma)))
        return self._told((down(low, 4), up(high, 4)), ruler, witness)

    def _summed(self, t: float) -> tuple[float, float]:
        """Σ P(y)(1 − e^(t − L(y)))₊ with L = n(n − 2y)/(2σ²) for t ≥ 0, with the error of each term.

        Less than 10^−40 of it lies beyond 14σ on either side of the terms that count.
        """
        sigma, n = float(self.sigma), self.sensitivity
        top = math.ceil(min(n / 2 - sigma * (sigma * t / n), _FAR * sigma)) + 1.0
        y = top - np.arange(0.0, max(top, 0.0) + _FAR * sigma + 2.0)
        loss = n * (n - 2.0 * y) / (2.0 * sigma * sigma)
        depth = (y / sigma) ** 2 / 2
        weight, fall = np.exp(-depth), t - loss
        gain = -np.expm1(np.minimum(fall, 0.0))
        # Roundings of the depth, the loss and t, of σ itself among them, and of both exponentials.
        unsettled = 4.0 * t + 8.0 * np.abs(loss)
        units = gain * (8.0 * depth + 16.0) + 2.0 * np.where(fall < unsettled * 2.0**-53, unsettled, 0.0)
        value = math.fsum(weight * gain)
        error = 1.01 * 2.0**-53 * (float(weight @ units) + 4.0 * value) + 5e-324
        total = enclose(lambda d: theta(d.of(0), d.of(self.sigma)))
        high = max(up((value + error) / total[0], 4), 5e-324)
        return down(max(value - error, 0.0) / total[1], 2), high

    def _by_distribution_function(self, gamma: float) -> tuple[float, float]:
        """For a wide law: sums up to `last` are Φ((last + ½)/σ) to within 1/(8σ²).

        The midpoint rule errs by ∫|f''|/8 at most, which is 4·max|f'|/8 < 0.31/σ, over Σf > 2.5σ.
        """
        n = self.sensitivity

        def parts(digits: Digits) -> tuple[Interval, Interval, Interval]:
            sigma = digits.of(self.sigma)
            cut = (digits.of(n) / 2 - sigma * sigma * digits.of(gamma).log() / n).floor() + digits.of(0.5)
            slack = 1 / (sigma * sigma) / 8
            return normal_tail(-cut / sigma), normal_tail((n - cut) / sigma) * gamma, slack

        def lowest(digits: Digits) -> Interval:
            p, q, slack = parts(digits)
            return (p - q - slack * (1 + digits.of(gamma))).or_more(1 - digits.of(gamma)).positive_part()

        def highest(digits: Digits) -> Interval:
            p, q, slack = parts(digits)
            return (p - q).positive_part() + slack * (1 + digits.of(gamma))

        low, high = enclose(lowest)[0], enclose(highest)[1]
        at_most = enclose(lambda d: parts(d)[0] + parts(d)[2])[1]
        high = min(high, at_most, 1.0)
        return min(low, high), high

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: secrets of any size plus discrete Gaussian noise for the decimal that sigma prints as."""
        x = as_secrets(secrets, None, None, "DiscreteGaussian.sample")
        return np.asarray(x + self.noise(x.size, source))

    @cached_property
    def width(self) -> Fraction:
        """σ."""
        return printed(self.sigma)

    def noise(self, size: int, source: ByteSource) -> NDArray[Any]:
        """Discrete Gaussian noise."""
        return discrete_gaussian(self.width**2, size, source)

    def variance(self) -> float:
        """σ², which the variance is never above."""
        return float(self.width**2)

    def error(self, beyond: float) -> int:
        """By the law's own tail, or by the normal one that is not below it.

        >>> DiscreteGaussian(15.3064).error(0.05)
        30
        """
        return gaussian_sum_error(self.width**2, 1, beyond=beyond)

    def error_of_sum(self, count: int, beyond: float) -> int:
        """The same for the sum of so many."""
        return gaussian_sum_error(self.width**2, count, beyond=beyond)

    def apart(self, order: float, *, steps: int, squared: Fraction, most: int | None = None) -> float:
        """α‖Δ‖²/(2σ²), integer by integer: θ((α−1)Δ) ≤ θ(0) in `diameter`, and divergences of independent
        noises add up. Source: Canonne, Kamath & Steinke 2020, proposition 5.
        """
        if math.isinf(order):
            return math.inf if squared else 0.0
        return float_up(Fraction(order) * squared / (2 * self.width**2))

    def event(self, *, steps: int, squared: Fraction, most: int | None = None) -> dict[str, Any]:
        """Its σ² and the squared distance: ρ = Δ₂²/(2σ²) of zero-concentrated privacy."""
        return {
            "name": "DiscreteGaussianDpEvent",
            "variance": self.width**2,
            "squared_sensitivity": Fraction(squared),
        }

    def tells(self, reach: int) -> Bound:
        """Solved for few secrets; else below the divergence from noise about the middle, and ln(1 +
        reach/θ)."""
        noise = replace(self, sensitivity=reach) if reach else None
        if noise is None:
            return Bound.exact(0.0, method="nothing to tell")
        if reach <= _FEW and self.sigma <= _NARROW:
            found = noise.exact(Renyi(1.0), AllPriors())
            assert found is not None
            return found
        return noise._bracket(Renyi(1.0)) if self.sigma <= _SUMMED else noise._at_most()

    def _at_most(self) -> Bound:
        """Of a wide law both general bounds, in a moment."""
        middle = self.apart(1.0, steps=0, squared=Fraction(self.sensitivity, 2) ** 2)
        most = min(middle, self._maximal_leakage(Renyi(math.inf)).upper)
        return Bound(0.0, most, method="divergence from the middle", source=self.source)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Weak to strong, coarse and fine, a longer shift."""
        return cls(1.0), cls(0.4), cls(10.0), cls(Fraction(5, 2), 3), cls(30.0, 1)


def theta(shift: Interval, sigma: Interval) -> Interval:
    """Σ_y e^(−(y − shift)²/(2σ²)) over the integers, |shift| ≤ ½; by Poisson's summation from 0.4 on.

    >>> low, high = enclose(lambda d: theta(d.of(0), d.of(1)))
    >>> round(low, 12), high - low < 1e-15
    (2.506628288043, True)
    """
    digits = sigma.digits
    wide = sigma.low > Decimal("0.4")
    fall = -(pi(digits) * sigma) * (pi(digits) * sigma) * 2 if wide else -1 / (sigma * sigma) / 2
    total, k = digits.of(1) if wide else (fall * shift * shift).exp(), 0
    while True:
        k += 1
        if wide:
            turn = shift * k
            term = (fall * (k * k)).exp()
            wave = digits.of(1) if shift.is_zero else cosine(pi(digits) * 2 * turn)
            total = total + term * wave * 2
        else:
            near, far = digits.of(k) - shift, digits.of(k) + shift
            total = total + (fall * near * near).exp() + (fall * far * far).exp()
            term = (fall * ((2 * k - 1) * (2 * k - 1)) / 4).exp()
        if term.high < digits.down.scaleb(total.low, -digits.count):  # what follows falls to e^−3 a term
            break
    rest = digits.up.multiply(term.high, 4)
    total = total + Interval(rest.copy_negate(), rest, digits)
    return total * sigma * (pi(digits) * 2).sqrt() if wide else total
