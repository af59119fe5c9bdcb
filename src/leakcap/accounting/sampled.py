"""Privacy amplification: a query on a random sample of the people, and the loss of being in the table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss, normal_cells
from leakcap.accounting.part import UNIT, Atoms, Ends, LossComponent, Numbers
from leakcap.accounting.sampled_renyi import mixed_log, sampled_gaussian_renyi, sampled_laplace_renyi
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.gaussian import gaussian_hockey_stick
from leakcap.mechanism.laplace import laplace_hockey_stick
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.logspace import Floats

__all__ = ["SampledGaussianLoss", "SampledLaplaceLoss", "sampled"]

_BLOCK = 1 << 20
_LOG_PRECISION = 42.0
_MOST_PANELS = 2048
_HEIGHTS = 28
_QUADRATURE = 1e-6
"""ln of what the quadrature of a line's bound is right to: none of its singularities is nearer than π/4μ, 3.9
steps, so that the trapezoid rule is off by e^{−24} of the lines at its sides, which a shift raises little."""
_HIGHEST = 0.75
"""How far lines are lifted, as a share of the way to the zeros of R."""


def sampled(part: LossComponent, rate: float) -> LossComponent:
    """The loss of (1−rate)·Q + rate·P against Q: the removal side of Poisson sampling.

    Its reverse is the side of adding. Source: Zhu, Dong & Wang 2022, theorem 11.

    >>> sampled(GaussianLoss(1.0), 0.01).infinite
    0.0
    """
    require(0 < rate <= 1, "rate", "sampled", "be a probability above 0", rate)
    if rate == 1.0:
        return part
    if isinstance(part, GaussianLoss):
        return SampledGaussianLoss(part.mu, rate)
    if isinstance(part, LaplaceLoss):
        return SampledLaplaceLoss(part.epsilon, rate)
    if isinstance(part, FiniteLoss):
        p = np.array([*part.p, part.at_infinity, 0.0])
        q = np.array([*part.q, 0.0, part.at_minus_infinity])
        return finite_loss((1.0 - rate) * q + rate * p, q, units=part.units + 4.0)
    raise InvalidParameter(
        f"`part` of `sampled` must be a loss of Gaussian or Laplace noise or of two rows. Got {part!r}."
    )


def unmixed(loss: Floats, rate: float) -> Floats:
    """The inverse of `mixed_log`; −∞ at and below ln(1−rate)."""
    floor = math.log1p(-rate)
    above = np.maximum(loss - floor, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        inner = np.log(np.expm1(np.minimum(above, 700.0)))
    return np.where(above > 700.0, above, inner) + floor - math.log(rate)


Profile = Callable[[Interval], Interval]


def mixed_profile(gamma: Interval, rate: Interval, profile: Profile) -> Interval:
    """Σ((1−rate)·Q + rate·P − γQ)₊, from γ ↦ Σ(P − γQ)₊.

    The difference is rate·(P − γ'Q) with γ' = 1 + (γ−1)/rate; 1 − γ where γ' is not positive.
    """
    within = 1 + (gamma - 1) / rate
    certain = 1 - gamma
    if within.high <= 0:
        return certain
    if within.low < 0:  # these digits do not tell on which side
        return Interval(certain.positive_part().low, rate.high, rate.digits)
    return profile(within) * rate


def mixed_profile_back(gamma: Interval, rate: Interval, profile: Profile) -> Interval:
    """Σ(Q − γ((1−rate)·Q + rate·P))₊ for noise whose two directions are alike, from γ ↦ Σ(P − γQ)₊.

    The difference is rest·(Q − (γ·rate/rest)·P) with rest = 1 − γ(1−rate): nothing where that is ≤ 0.
    """
    rest = 1 - gamma * (1 - rate)
    if rest.high <= 0:
        return rest.digits.of(0)
    if rest.low <= 0:
        return Interval(rest.digits.of(0).low, rest.high, rest.digits)
    return profile(gamma * rate / rest) * rest


class _Mixture(LossComponent):
    """(1−rate)·Q + rate·P against Q; a subclass knows P against Q."""

    rate: float

    @abstractmethod
    def _profile(self, digits: Digits, gamma: Interval) -> Interval:
        """γ ↦ Σ(P − γQ)₊ of the noise alone."""

    @abstractmethod
    def _renyi(self, alpha: float, back: bool) -> Ends:
        """D_α of the mixture against the noise alone, or of the latter against the former."""

    def hockey_stick(self, epsilon: float) -> Ends:
        """rate·δ of the noise alone, at another ε."""
        return enclose(
            lambda d: mixed_profile(d.of(epsilon).exp(), d.of(self.rate), partial(self._profile, d))
        )

    def hockey_stick_back(self, epsilon: float) -> Ends:
        """The same for the other direction, up to the edge of its support."""
        return enclose(
            lambda d: mixed_profile_back(d.of(epsilon).exp(), d.of(self.rate), partial(self._profile, d))
        )

    def renyi(self, alpha: float) -> Ends:
        """D_α of the mixture against the pure noise, in nats."""
        return self._renyi(alpha, False)

    def renyi_back(self, alpha: float) -> Ends:
        """D_α of the pure noise against the mixture."""
        return self._renyi(alpha, True)


@dataclass(frozen=True)
class SampledGaussianLoss(_Mixture):
    """Unit Gaussians at distance `mu`, (1−rate)·N(0,1) + rate·N(μ,1) against N(0,1).

    K(z) = ln E[R^{z+1}], R = 1 − rate + rate·e^{μu−μ²/2}, u standard normal: the trapezoid rule on the
    real line, whose error falls as e^{−2πd/step} for strips of half-width d < π/μ without zeros of R.
    Source: Mironov, Talwar & Zhang 2019; Trefethen & Weideman 2014, theorem 5.1.

    >>> round(SampledGaussianLoss(1.0, 0.01).renyi(2.0)[1], 12)
    0.000171813422
    """

    mu: float
    rate: float

    def log_transform(self, z: Numbers) -> Numbers:
        """K(z)."""
        z = np.asarray(z)
        flat = z.reshape(-1)
        if flat.dtype.kind != "c":
            flat = flat.astype(np.float64)
        result = np.empty(flat.shape, dtype=flat.dtype)
        order = np.argsort(np.abs(flat.imag))
        start = 0
        while start < flat.size:
            reach = float(np.abs(flat.imag[order[start]])) * 1.25 + 4.0
            stop = int(np.searchsorted(np.abs(flat.imag[order]), reach))
            piece = order[start : max(stop, start + 1)]
            result[piece] = self._piece(flat[piece])
            start += piece.size
        return result.reshape(z.shape)

    def _piece(self, z: Numbers) -> Numbers:
        w = z + 1.0
        low, high = float(w.real.min()), float(w.real.max())
        left, right = self._window(low, high)
        step = self._step(low, high, float(np.abs(w.imag).max()))
        u: Floats = np.asarray(
            np.arange(math.floor(left / step), math.ceil(right / step) + 1) * step, dtype=np.float64
        )
        log_ratio = mixed_log(self.mu * u - 0.5 * self.mu**2, self.rate)
        log_weight = -0.5 * u * u + math.log(step / math.sqrt(2.0 * math.pi))
        result = np.empty(z.shape, dtype=z.dtype)
        stride = max(1, _BLOCK // u.size)
        for start in range(0, z.size, stride):
            part = w[start : start + stride, None]
            reach = np.abs(part.real * log_ratio).max()
            if reach < 30.0:
                mean = np.expm1(part * log_ratio) @ np.exp(log_weight)
                result[start : start + stride] = np.log1p(mean)
            else:
                exponents = part * log_ratio + log_weight
                top = exponents.real.max(axis=1)
                with np.errstate(divide="ignore"):
                    total = np.exp(exponents - top[:, None]).sum(axis=1)
                    result[start : start + stride] = np.log(total) + top
        return result

    def _window(self, low: float, high: float) -> tuple[float, float]:
        """Beyond it the integrand is below e^{−42} of all: R ≤ e^{μu−μ²/2} to the right of μ/2, R ≥ 1−rate.

        For w < 0 that is R^w ≤ (1−rate)^w, which R^w keeps to within a factor e left of some −a:
        M ≥ (1−rate)^w·Φ(−a)/e, with Φ(−a) ≥ φ(a)/(1+a).
        """
        base = math.sqrt(2.0 * _LOG_PRECISION + 8.0)
        right = max(high, 0.0) * self.mu + base
        down = max(-low, 0.0)
        grow = 2.0 * down * -math.log1p(-self.rate)
        if down > 0.0:
            turn = math.log(down) + math.log(self.rate) - math.log1p(-self.rate) - 0.5 * self.mu**2
            a = max(turn / self.mu, 0.0)
            grow = min(grow, a * a + 2.0 * math.log1p(a))
        return -math.sqrt(base * base + grow), max(right, math.sqrt(base * base + grow))

    def _step(self, low: float, high: float, t: float) -> float:
        """The largest step whose aliases are below e^{−42} of M(Re z), on the best of many lines u + id.

        There |R(u+id)^w| ≤ R(u)^{Re w}·e^{t·dμ}, over cos(dμ/2) to the power −Re w where that is
        positive, and φ grows by e^{d²/2}; the aliases fall as e^{−2πd/step}.
        """
        d = _lines(self.mu)
        shrink = max(-low, 0.0) * -np.log(np.maximum(np.cos(0.5 * d * self.mu), 1e-300))
        frequency = (_LOG_PRECISION + 0.7 + t * d * self.mu + 0.5 * d * d + shrink) / d
        return 2.0 * math.pi / max(float(frequency.min()), 8.0)

    def work(self, c: float, t: float) -> float:
        """The points of the trapezoid rule at c + it."""
        left, right = self._window(c + 1.0, c + 1.0)
        return (right - left) / self._step(c + 1.0, c + 1.0, t)

    def error(self, z: Numbers) -> Floats:
        """Rounding of each term, and the tails and aliases left out."""
        tilt = np.abs(self.mu * (np.abs(z.real + 1.0) + 1.0)) * self.mu + self.rate
        return np.asarray(UNIT * (32.0 + 8.0 * np.abs(z + 1.0) * tilt))

    def support(self) -> tuple[float, float]:
        """Least and largest finite loss."""
        return enclose(lambda d: (1 - d.of(self.rate)).log())[0], math.inf

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """The Gaussian's cells behind it, mixed."""
        u = (unmixed(edges, self.rate) + 0.5 * self.mu**2) / self.mu
        q, p = normal_cells(u), normal_cells(u - self.mu)
        return (1.0 - self.rate) * q + self.rate * p, q

    def _profile(self, digits: Digits, gamma: Interval) -> Interval:
        return gaussian_hockey_stick(gamma, digits.of(self.mu))

    def _renyi(self, alpha: float, back: bool) -> Ends:
        if not math.isinf(alpha):
            return sampled_gaussian_renyi(self.mu, self.rate, alpha, back)
        return enclose(lambda d: -(1 - d.of(self.rate)).log()) if back else (math.inf, math.inf)

    def lift(self, c: float, t: float) -> tuple[float, float]:
        """Which line below π/2μ bounds |M(c+it)| best, and ln of that bound; for who proves it in balls.

        >>> height, bound = SampledGaussianLoss(1.0, 0.5).lift(1.0, 20.0)
        >>> 0 < height < math.pi / 2, bound < SampledGaussianLoss(1.0, 0.5).envelope(1.0, 0.0)
        (True, True)
        """
        constant, angle = _lifted(self, c)
        exponents = constant - t * angle
        logs = np.logaddexp.reduce(exponents, axis=1)
        heights = _heights(self.mu)
        low = (heights > 0.0) & (heights * self.mu < 1.57)
        best = int(np.argmin(np.where(low, logs, np.inf)))
        return float(heights[best]), float(logs[best])

    def envelope(self, c: float, t: float) -> float:
        """By moving the line of integration up, where the bound falls with t."""
        constant, angle = _lifted(self, c)
        exponents = constant - t * angle
        top = exponents.max(axis=1)
        with np.errstate(under="ignore"):
            logs = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
        # What lies beyond the window does not fall.
        return float(np.logaddexp(logs.min(), logs[0] - _LOG_PRECISION)) + _QUADRATURE


@lru_cache(maxsize=64)
def _lines(mu: float) -> Floats:
    """Heights up to the first zero of R."""
    highest = min(0.999 * math.pi / mu, 30.0)
    return np.asarray(highest * np.geomspace(1e-8, 1.0, 400), dtype=np.float64)


@lru_cache(maxsize=64)
def _heights(mu: float) -> Floats:
    """Those of the lines that `_lifted` integrates on."""
    highest = min(_HIGHEST * math.pi / mu, 30.0)
    return np.concatenate([[0.0], highest * np.geomspace(0.01, 1.0, _HEIGHTS - 1)])


@lru_cache(maxsize=64)
def _lifted(part: SampledGaussianLoss, c: float) -> tuple[Floats, Floats]:
    """What ln|M(c+it)| is bounded by at t = 0, place by place on lines x + iy, and how that falls with t.

    With w = c + 1 + it, M = ∫ φ(x+iy) R(x+iy)^w dx for every y below π/μ, where R has no zeros, so that

        |M(c+it)| ≤ e^{y²/2} ∫ φ(x) |R(x+iy)|^{c+1} e^{−t·arg R(x+iy)} dx,

    and arg R lies between 0 and π: the bound falls as t grows. Source: Cauchy's theorem.
    """
    left, right = part._window(c + 1.0, c + 1.0)
    step = min(0.05, 0.2 / part.mu)
    highest = min(_HIGHEST * math.pi / part.mu, 30.0)
    # Further by the height, so that e^{y²/2} does not lift what is left out.
    x = np.arange(left - highest, right + highest, step)
    heights = _heights(part.mu)[:, None]
    turn = part.mu * heights
    # ln|1 − q + q·e^{s+i·turn}| without overflow: the larger of both is taken out.
    s = part.mu * x - 0.5 * part.mu**2 + math.log(part.rate)
    rest = math.log1p(-part.rate)
    top = np.maximum(s, rest)
    small, large = np.exp(rest - top), np.exp(s - top)
    real, imaginary = small + large * np.cos(turn), large * np.sin(turn)
    size = top + 0.5 * np.log(np.maximum(real**2 + imaginary**2, 1e-300))
    weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * x * x
    return (c + 1.0) * size + weight + 0.5 * heights**2, np.arctan2(imaginary, real)


@dataclass(frozen=True)
class SampledLaplaceLoss(_Mixture):
    """Laplace noise at distance ε, (1−rate)·Q + rate·P against Q, Q's loss having two atoms and a density.

    M(z) = E_Q[R^{z+1}], R = 1 − rate + rate·e^L: the atoms, and Gauss's rule on the density's interval.

    >>> round(SampledLaplaceLoss(1.0, 0.01).renyi(2.0)[1] * 1e5, 5)
    8.57263
    """

    epsilon: float
    rate: float

    def log_transform(self, z: Numbers) -> Numbers:
        """K(z)."""
        z = np.asarray(z)
        flat = z.reshape(-1)
        losses, weights = self._nodes(float(np.abs(flat).max(initial=1.0)))
        with np.errstate(divide="ignore"):  # the shortest panels of a steep exponential weigh nothing
            log_ratio, logs = mixed_log(losses, self.rate), np.log(weights)
        result = np.empty(flat.shape, dtype=flat.dtype if flat.dtype.kind == "c" else np.float64)
        stride = max(1, _BLOCK // losses.size)
        for start in range(0, flat.size, stride):
            part = flat[start : start + stride, None] + 1.0
            if np.abs(part.real * log_ratio).max() < 30.0:
                result[start : start + stride] = np.log1p(np.expm1(part * log_ratio) @ weights)
            else:
                exponents = part * log_ratio + logs
                top = exponents.real.max(axis=1)
                with np.errstate(divide="ignore"):
                    total = np.log(np.exp(exponents - top[:, None]).sum(axis=1))
                result[start : start + stride] = total + top
        return result.reshape(z.shape)

    def _nodes(self, reach: float) -> tuple[Floats, Floats]:
        """Losses and Q's weights: two atoms, and panels short against the oscillation and the density."""
        panels = max(1, math.ceil(self.epsilon * (reach + 1.0) / 4.0), math.ceil(self.epsilon))
        x, w = np.polynomial.legendre.leggauss(24)
        if panels <= _MOST_PANELS:
            edges = np.linspace(-self.epsilon, self.epsilon, panels + 1)
        else:
            # A steep real exponential: panels that double away from the end where it is.
            depths = 2.0 * self.epsilon * 2.0 ** -np.arange(0, math.log2(panels) + 1.0, 0.25)
            edges = np.concatenate([self.epsilon - depths, [self.epsilon]])
        half = 0.5 * np.diff(edges)
        losses = (edges[:-1, None] + half[:, None] * (x + 1.0)).reshape(-1)
        weights = (half[:, None] * w).reshape(-1) * 0.25 * np.exp(-0.5 * (self.epsilon + losses))
        ends = np.array([-self.epsilon, self.epsilon])
        return np.concatenate([losses, ends]), np.concatenate([weights, [0.5, 0.5 * math.exp(-self.epsilon)]])

    def work(self, c: float, t: float) -> float:
        """The points of Gauss's rule at c + it."""
        return 24.0 * min(self.epsilon * (math.hypot(c, t) + 2.0) / 4.0 + self.epsilon + 1.0, _MOST_PANELS)

    def error(self, z: Numbers) -> Floats:
        """Relative rounding of M."""
        reach = max(abs(v) for v in self.support())
        lost = np.abs(z.imag) * self.epsilon > _MOST_PANELS
        return np.asarray(UNIT * (48.0 + 16.0 * np.abs(z + 1.0) * reach) + lost)

    def support(self) -> tuple[float, float]:
        """The losses of the two atoms, rounded outward."""
        return self._end(-1)[0], self._end(1)[1]

    def _end(self, sign: int) -> Ends:
        return enclose(lambda d: (1 + ((d.of(self.epsilon) * sign).exp() - 1) * self.rate).log())

    def atoms(self) -> Atoms:
        """The two ends."""
        q = np.array([0.5, 0.5 * math.exp(-self.epsilon)])
        ratios = 1.0 + self.rate * np.expm1(np.array([-self.epsilon, self.epsilon]))
        return Atoms(np.array(self.support()), q * ratios, q)

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """P and Q of each cell."""
        p, q = LaplaceLoss(self.epsilon).masses(unmixed(edges, self.rate))
        return (1.0 - self.rate) * q + self.rate * p, q

    def envelope(self, c: float, t: float) -> float:
        """Both atoms in phase; the density by parts, its variation over the interval divided by t.

        ln of what varies is −3l/2 + (c + 2)·ln R(l) and a constant: convex or concave, since ln R is convex.
        With its two ends, it varies by twice its maximum at most, which lies at an end or, where it is
        concave, within half a step of one of the places looked at.
        """
        trivial = float(self.log_transform(np.array(c)))
        atoms = self.atoms()
        top = max(c * atoms.losses[0], c * atoms.losses[1])
        size = float(np.sum(atoms.p * np.exp(c * atoms.losses - top)))
        losses = np.linspace(-self.epsilon, self.epsilon, 4001)
        log_ratio = mixed_log(losses, self.rate)
        density = np.exp((c + 1.0) * log_ratio - top - 0.5 * (self.epsilon + losses)) * 0.25
        height = density * np.exp(log_ratio - losses) / self.rate
        slope = 0.0 if c + 2.0 >= 0.0 else 1.5 + abs(c + 2.0)
        variation = 2.0 * float(height.max()) * math.exp(slope * self.epsilon / (losses.size - 1))
        return min(trivial, float(top) + math.log(size + variation / t)) if t > 0.0 else trivial

    def _profile(self, digits: Digits, gamma: Interval) -> Interval:
        return laplace_hockey_stick(gamma, digits.of(self.epsilon))

    def _renyi(self, alpha: float, back: bool) -> Ends:
        if math.isinf(alpha):
            sign = -1 if back else 1
            return enclose(lambda d: (1 + ((sign * d.of(self.epsilon)).exp() - 1) * self.rate).log() * sign)
        return sampled_laplace_renyi(self.epsilon, self.rate, alpha, back)
