"""Privacy amplification: a query on a random sample of the people, and the loss of being in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss, normal_cells
from leakcap.accounting.part import UNIT, Atoms, Ends, Numbers, Part
from leakcap.accounting.sampled_renyi import sampled_gaussian_renyi, sampled_laplace_renyi
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.enclosure import enclose
from leakcap.numeric.logspace import Floats

__all__ = ["SampledGaussianLoss", "SampledLaplaceLoss", "sampled"]

_BLOCK = 1 << 20
_LOG_PRECISION = 42.0
_MOST_PANELS = 2048


def sampled(part: Part, rate: float) -> Part:
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


def mixed_log(loss: Floats, rate: float) -> Floats:
    """ln(1 − rate + rate·e^loss).

    >>> float(mixed_log(np.array(0.0), 0.3))
    0.0
    """
    small = np.log1p(rate * np.expm1(np.minimum(loss, 30.0)))
    return np.where(loss > 30.0, loss + np.log(rate + (1.0 - rate) * np.exp(-np.maximum(loss, 30.0))), small)


def unmixed(loss: Floats, rate: float) -> Floats:
    """The inverse of `mixed_log`; −∞ at and below ln(1−rate)."""
    floor = math.log1p(-rate)
    above = np.maximum(loss - floor, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        inner = np.log(np.expm1(np.minimum(above, 700.0)))
    return np.where(above > 700.0, above, inner) + floor - math.log(rate)


@dataclass(frozen=True)
class SampledGaussianLoss(Part):
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
        """Beyond it the integrand is below e^{−42}: R ≤ e^{μu−μ²/2} to the right of μ/2, R ≥ 1−rate."""
        base = math.sqrt(2.0 * _LOG_PRECISION + 8.0)
        right = max(high, 0.0) * self.mu + base
        grow = max(-low, 0.0) * -math.log1p(-self.rate)
        return -math.sqrt(base * base + 2.0 * grow), max(right, math.sqrt(base * base + 2.0 * grow))

    def _step(self, low: float, high: float, t: float) -> float:
        """The largest step for which `_aliasing` is below e^{−42}, by halving in the frequency."""
        frequency = 8.0
        while self._aliasing(frequency, low, t) > -_LOG_PRECISION:
            frequency *= 1.1
        return 2.0 * math.pi / frequency

    def _aliasing(self, frequency: float, low: float, t: float) -> float:
        """ln of the error relative to M(Re z): |R(u+id)^w| ≤ R(u)^{Re w}·e^{t·dμ}, and e^{d²/2}."""
        best = math.inf
        for d in np.linspace(0.05, min(0.999 * math.pi / self.mu, max(frequency, 0.1)), 40).tolist():
            angle = d * self.mu
            shrink = max(-low, 0.0) * -math.log(max(math.cos(angle / 2), 1e-300))
            best = min(best, 0.7 + t * angle + d * d / 2 + shrink - frequency * d)
        return best

    def error(self, z: Numbers) -> Floats:
        """Rounding of each term, and the tails and aliases left out."""
        tilt = np.abs(self.mu * (np.abs(z.real + 1.0) + 1.0)) * self.mu + self.rate
        return np.asarray(UNIT * (32.0 + 8.0 * np.abs(z + 1.0) * tilt))

    def support(self) -> tuple[float, float]:
        """Least and largest finite loss."""
        return math.log1p(-self.rate), math.inf

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """The Gaussian's cells behind it, mixed."""
        u = (unmixed(edges, self.rate) + 0.5 * self.mu**2) / self.mu
        q, p = normal_cells(u), normal_cells(u - self.mu)
        return (1.0 - self.rate) * q + self.rate * p, q

    def renyi(self, alpha: float) -> Ends:
        """D_α in nats."""
        return (math.inf, math.inf) if math.isinf(alpha) else self._renyi(alpha, False)

    def renyi_back(self, alpha: float) -> Ends:
        """D_α of the pure Gaussian against the mixture: −ln(1 − rate) at order ∞."""
        if math.isinf(alpha):
            return enclose(lambda d: -(1 - d.of(self.rate)).log())
        return self._renyi(alpha, True)

    def _renyi(self, alpha: float, back: bool) -> Ends:
        return sampled_gaussian_renyi(self.mu, self.rate, alpha, back)

    def envelope(self, c: float, t: float) -> float:
        """A scan with steps that the loss's spread allows, then an integration by parts."""
        times, levels = _scan(self, c)
        index = int(np.searchsorted(times, t, side="right")) - 1
        if index < len(times) - 1:
            return levels[max(index, 0)]
        head, slope = _flat_left(self, c)
        return min(levels[-1], math.log(head + math.exp(slope) / t))


def _grid(left: float, right: float, step: float) -> Floats:
    return np.asarray(
        np.arange(math.floor(left / step), math.ceil(right / step) + 1) * step, dtype=np.float64
    )


def _flat_left(part: SampledGaussianLoss, c: float) -> tuple[float, float]:
    """(a, ln b) with |M(c+it)| ≤ a + b/t: the tilted mass left of a cut, and twice the density's height.

    Right of the cut ∫ G e^{itL} = ∫ (G/L') d(e^{itL})/(it) by parts, G/L' being bounded by its variation.
    """
    u = np.linspace(*part._window(c + 1.0, c + 1.0), 20001)
    log_ratio = mixed_log(part.mu * u - 0.5 * part.mu**2, part.rate)
    log_g = (c + 1.0) * log_ratio - 0.5 * u * u - 0.5 * math.log(2.0 * math.pi)
    slope = math.log(part.mu) + math.log(part.rate) + part.mu * u - 0.5 * part.mu**2 - log_ratio
    height = log_g - slope
    mass = np.cumsum(np.exp(log_g)) * (u[1] - u[0])
    cut = int(np.searchsorted(mass, 0.4 * mass[-1]))
    variation = np.abs(np.diff(np.exp(height[cut:] - height[cut:].max()))).sum()
    bound = math.exp(height[cut] - height[cut:].max()) + variation
    return float(mass[cut]) * 1.01, float(height[cut:].max() + math.log(1.02 * bound))


@lru_cache(maxsize=64)
def _scan(part: SampledGaussianLoss, c: float) -> tuple[list[float], list[float]]:
    """Times t_j and the ln of sup |M(c+it)| over t ≥ t_j, valid up to the last time and beyond it.

    |d/dt |M(c+it)|| is at most M(c) times the tilted standard deviation, so each value covers a stretch.
    """
    base = float(part.log_transform(np.array(c)))
    wing = part.log_transform(np.array([c - 1e-3, c, c + 1e-3]))
    spread = 1.05 * math.sqrt(max(float(wing[0] - 2 * wing[1] + wing[2]), 0.0) / 1e-6 + 1e-18)
    head, slope = _flat_left(part, c)
    peak = math.exp(base)
    goal = 0.5 * (peak + head)
    far = math.exp(slope - math.log(goal - head))
    times: list[float] = []
    tops: list[float] = []
    t = 1e-2 / spread
    while t < far and len(times) < 600:
        size = math.exp(min(float(part.log_transform(np.array([complex(c, t)]))[0].real) - base, 0.0))
        stride = max(0.5 * (1.0 - size), 1e-9) / spread
        times.append(t)
        tops.append(size + spread * stride)
        t += stride
    complete = t >= far
    tops.append(goal / peak if complete else 1.0)
    times.append(t)
    levels = np.maximum.accumulate(np.array(tops)[::-1])[::-1]
    levels = np.minimum(levels, 1.0)
    return [0.0, *times], [base, *(base + np.log(levels)).tolist()]


@dataclass(frozen=True)
class SampledLaplaceLoss(Part):
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

    def error(self, z: Numbers) -> Floats:
        """Relative rounding of M."""
        reach = max(abs(v) for v in self.support())
        lost = np.abs(z.imag) * self.epsilon > _MOST_PANELS
        return np.asarray(UNIT * (48.0 + 16.0 * np.abs(z + 1.0) * reach) + lost)

    def support(self) -> tuple[float, float]:
        """Least and largest finite loss."""
        ends = mixed_log(np.array([-self.epsilon, self.epsilon]), self.rate)
        return float(ends[0]), float(ends[1])

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
        """Both atoms in phase; the density by parts, its variation over the interval divided by t."""
        trivial = float(self.log_transform(np.array(c)))
        atoms = self.atoms()
        top = max(c * atoms.losses[0], c * atoms.losses[1])
        size = float(np.sum(atoms.p * np.exp(c * atoms.losses - top)))
        losses = np.linspace(-self.epsilon, self.epsilon, 4001)
        log_ratio = mixed_log(losses, self.rate)
        density = np.exp((c + 1.0) * log_ratio - top - 0.5 * (self.epsilon + losses)) * 0.25
        height = density * np.exp(log_ratio - losses) / self.rate
        variation = 1.02 * (float(height[0] + height[-1]) + float(np.abs(np.diff(height)).sum()))
        return min(trivial, float(top) + math.log(size + variation / t)) if t > 0.0 else trivial

    def renyi(self, alpha: float) -> Ends:
        """D_α in nats."""
        return self._renyi(alpha, False)

    def renyi_back(self, alpha: float) -> Ends:
        """D_α of the pure noise against the mixture."""
        return self._renyi(alpha, True)

    def _renyi(self, alpha: float, back: bool) -> Ends:
        if math.isinf(alpha):
            sign = -1 if back else 1
            return enclose(lambda d: (1 + ((sign * d.of(self.epsilon)).exp() - 1) * self.rate).log() * sign)
        return sampled_laplace_renyi(self.epsilon, self.rate, alpha, back)
