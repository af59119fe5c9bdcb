"""δ(ε) as one contour integral through the saddle point, with a bound on every error.

For c > 0,  δ_finite(ε) = (1/2πi) ∫_{c−i∞}^{c+i∞} e^{K(z) − zε} / (z(z+1)) dz,  because 1/(z(z+1)) is the
Laplace transform of (1 − e^{−x})₊. With nodes c + ikh the trapezoid rule computes, by Poisson's formula,

    Σ_n e^{−cTn} E[(1 − e^{−(L−ε+nT)})₊],   T = 2π/h,

exactly: δ and aliases that are all non-negative, at most e^{−cT}/(1−e^{−cT}) together for n > 0, and for
n < 0 bounded by Chernoff. Losses on a lattice need one period only.
Source: Lugannani & Rice 1980; Trefethen & Weideman 2014 for the rule; the alias bounds are derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakcap.accounting.lattice import Lattice
from leakcap.accounting.part import UNIT, LossComponent, Numbers, total_transform
from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import maximise

__all__ = [
    "MOST_WORK",
    "Contour",
    "chernoff",
    "chernoff_for",
    "log_kernel_peak",
    "log_mean",
    "make_contour",
    "saddle_for_delta",
    "saddle_for_epsilon",
    "saddle_of",
]

Parts = Sequence[tuple[LossComponent, int]]
Mean = Callable[[float], float]

_TOLERANCE = math.log(1e-12)
_LOOSE = math.log(1e-9)
_FORGIVEN = math.log(1e3)
_MANY_NODES = 1 << 10
_FEW_NODES = 1 << 6
_MOST_NODES = 1 << 16
_FEWEST_NODES = 8
_MOST_VALUES = 3 << 20
MOST_WORK = 3 << 22
"""Values of the transforms' integrands that one contour may cost."""
_BLOCK = 1 << 18
_BACK = (1.0, 0.95, 0.85, 0.7, 0.5)
_GIVEN_UP = math.log(100.0)
"""What moving the line off the saddle may cost in relative accuracy."""
_LOG_C = (math.log(1e-7), math.log(1e7))


def log_kernel_peak(s: float) -> float:
    """ln max over x > 0 of (1 − e^{−x})e^{−sx} = ln s^s/(1+s)^{1+s}.

    >>> round(log_kernel_peak(1.0), 12)
    -1.38629436112
    """
    return -s * math.log1p(1.0 / s) - math.log1p(s) if s > 0.0 else 0.0


def log_mean(parts: Parts, c: float) -> float:
    """K(c) for real c; +∞ where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(total_transform(parts, np.array([c]))[0][0])
    return value if not math.isnan(value) else math.inf


def chernoff(parts: Parts, epsilon: float, c: float) -> float:
    """ln of a bound on the finite part of δ(ε): K(c) − cε + ln max (1−e^{−x})e^{−cx}.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> chernoff([(GaussianLoss(1.0), 1)], 1.0, 1.0) > math.log(0.126936737507)
    True
    """
    return log_mean(parts, c) - c * epsilon + log_kernel_peak(c)


def saddle_for_epsilon(parts: Parts, epsilon: float) -> float:
    """The abscissa c > 0 where K(c) − cε − ln c − ln(1+c), convex, is least.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> 1.0 < saddle_for_epsilon([(GaussianLoss(1.0), 1)], 1.0) < 2.0
    True
    """

    return saddle_of(partial(log_mean, parts), epsilon)


def saddle_of(means: Mean, epsilon: float) -> float:
    """The same for any ln E[e^{cL}].

    >>> 1.0 < saddle_of(lambda c: 0.5 * c * (c + 1.0), 1.0) < 2.0
    True
    """

    def height(log_c: float) -> float:
        c = math.exp(log_c)
        return -(means(c) - c * epsilon - log_c - math.log1p(c))

    return _climb(height)


def saddle_for_delta(parts: Parts, delta: float) -> tuple[float, float]:
    """(c, ε): the least ε that Chernoff's bound gives for δ, and where it is attained.

    Source: Canonne, Kamath & Steinke 2020, proposition 12 (the conversion from Rényi orders).

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> saddle_for_delta([(GaussianLoss(1.0), 1)], 1e-6)[1] > 4.377
    True
    """
    return chernoff_for(partial(log_mean, parts), delta)


def chernoff_for(means: Mean, delta: float) -> tuple[float, float]:
    """The same for any ln E[e^{cL}].

    >>> chernoff_for(lambda c: 0.5 * c * (c + 1.0), 1e-6)[1] > 4.377
    True
    """
    log_delta = math.log(delta)

    def height(log_c: float) -> float:
        c = math.exp(log_c)
        return -(means(c) + log_kernel_peak(c) - log_delta) / c

    c = _climb(height)
    return c, -height(math.log(c))


def _climb(height: Callable[[float], float]) -> float:
    """exp of the argument of a maximum, from a coarse walk and a golden section."""
    low, high = _LOG_C
    here, best, stride = 0.0, height(0.0), 1.0
    for direction in (1.0, -1.0):
        while low < here + direction * stride < high:
            ahead = height(here + direction * stride)
            if not ahead > best:
                break
            here, best = here + direction * stride, ahead
    return math.exp(maximise(height, here - stride, here + stride, steps=14))


@dataclass(frozen=True)
class Contour:
    """Nodes on Re z = c with the transform there: every ε near the one it was made for is cheap.

    `low` and `high` of `delta` enclose the finite part of δ(ε).
    """

    c: float
    step: float
    nodes: Numbers
    log_values: Numbers
    errors: Floats
    log_tail: float
    aliases: tuple[tuple[float, float], ...]
    lattice: Lattice | None

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of the finite part of δ(ε), aliases, truncation and rounding included."""
        low, high = self.deltas(np.array([epsilon]))
        return float(low[0]), float(high[0])

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """The same at many places, a block of them at a time."""
        stride = max(1, _BLOCK // self.nodes.size)
        blocks = [self._block(epsilon[k : k + stride]) for k in range(0, epsilon.size, stride)]
        return np.concatenate([low for low, _ in blocks]), np.concatenate([high for _, high in blocks])

    def _block(self, epsilon: Floats) -> tuple[Floats, Floats]:
        nodes = self.nodes[:, None]
        exponents = self.log_values[:, None] - nodes * epsilon
        far = exponents.real[0] > 600.0
        exponents = np.where(far, 0.0, exponents)
        with np.errstate(under="ignore"):
            terms = np.exp(exponents) * self._kernel(nodes, epsilon)
        weights = np.full(nodes.shape, 2.0)
        weights[0] = 1.0
        sizes = np.abs(terms) * weights
        scale = self.step / (2.0 * math.pi)
        value = scale * np.sum(terms.real * weights, axis=0)
        relative = self.errors[:, None] + UNIT * (
            16.0 + 4.0 * np.abs(exponents) + 4.0 * np.abs(nodes) * np.abs(epsilon)
        )
        noise = scale * np.sum(sizes * np.minimum(relative, 1.0), axis=0)
        noise += scale * len(sizes) * UNIT * sizes.max(axis=0)
        tail = np.exp(np.minimum(self.log_tail - self.c * epsilon, 700.0))
        low = np.maximum(value - noise - tail - self._alias(epsilon), 0.0)
        high = np.maximum(value + noise + tail, low)
        return np.where(far, 0.0, low), np.where(far, np.inf, high)

    def _kernel(self, nodes: Numbers, epsilon: Floats) -> Numbers:
        if self.lattice is None:
            return np.asarray(1.0 / (nodes * (nodes + 1.0)))
        return self.lattice.kernel(nodes, epsilon)

    def _alias(self, epsilon: Floats) -> Floats:
        period = 2.0 * math.pi / self.step
        right = math.exp(-self.c * period)
        left = np.full(epsilon.shape, np.inf)
        for s, log_mean_s in self.aliases:
            rate = (s - self.c) * period
            if rate > 1e-3:
                exponent = log_mean_s - s * epsilon + log_kernel_peak(s) - rate
                left = np.minimum(left, np.exp(np.minimum(exponent, 700.0)) / -math.expm1(-rate))
        return np.asarray(right / -math.expm1(-self.c * period) + left)


def make_contour(
    parts: Parts, c: float, epsilon: float, lattice: Lattice | None, most_work: float = MOST_WORK
) -> Contour:
    """Nodes for ε near `epsilon`, as many as the tolerance needs or the limits allow.

    `most_work` is how many values of the transforms' integrands it may cost. Where a few nodes cost more,
    the contour has one node, and its interval is of no use.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = make_contour([(GaussianLoss(1.0), 1)], 1.5, 1.0, None).delta(1.0)
    >>> low <= 0.12693673750664397 <= high
    True
    """
    estimate = _log_estimate(parts, c, epsilon)
    goal = estimate + _TOLERANCE
    c, period, others = _shortest(parts, c, epsilon, goal)
    if lattice is not None:
        return _on_lattice(parts, c, period, others, lattice, most_work)
    step = 2.0 * math.pi / period
    last = _last(parts, c, step, goal + c * epsilon, estimate + _LOOSE + c * epsilon, most_work)
    nodes = c + 1j * step * np.arange(last + 1)
    values, errors = total_transform(parts, nodes)
    log_tail = _log_tail(parts, c, step * last)
    return Contour(c, step, nodes, values, errors, log_tail, tuple(others), None)


def _on_lattice(
    parts: Parts,
    c: float,
    period: float,
    others: list[tuple[float, float]],
    lattice: Lattice,
    most_work: float,
) -> Contour:
    count = 2 * math.ceil(0.5 * min(period / lattice.step + 2.0, 4.0 * _MOST_NODES)) + 1
    step = 2.0 * math.pi / (lattice.step * count)
    # A table has as many losses as a grid has points: its own lattice serves the FFT better.
    dear = (count // 2 + 1) * sum(part.work(c, 0.0) for part, _ in parts) > most_work
    nodes = c + 1j * step * np.arange(1 if dear else count // 2 + 1)
    values, errors = total_transform(parts, nodes)
    log_tail = math.inf if dear else -math.inf
    return Contour(c, step, nodes, values, errors, log_tail, tuple(others), lattice)


def _shortest(
    parts: Parts, c: float, epsilon: float, goal: float
) -> tuple[float, float, list[tuple[float, float]]]:
    """(abscissa, period, (s, K(s)) to its right): the saddle, or a line left of it with a shorter period.

    Where K turns steep, as that of a sampled query does once single large losses prevail, the saddle lies
    at the turn; just left of it the aliases vanish sooner, and the integrand is hardly larger.
    """
    spread = 1.0 / math.sqrt(_curvature(parts, c))
    lines = [c * f for f in _BACK]
    widest = max(c, spread, 1e-9)
    rights = [c + widest * 2.0**k for k in range(-10, 6)]
    logs = _log_means(parts, [*lines, *rights])
    known = [(s, k) for s, k in zip([*lines, *rights], logs, strict=True) if math.isfinite(k)]
    sizes = [k - s * epsilon - math.log(s) - math.log1p(s) for s, k in zip(lines, logs, strict=False)]
    found = []
    for line, size in zip(lines, sizes, strict=True):
        if line < c and not size <= sizes[0] + _GIVEN_UP:
            continue
        lefts = [
            (k - s * epsilon + log_kernel_peak(s) - goal) / (s - line)
            for s, k in known
            if s - line > 1e-6 * line
        ]
        found.append((max(-goal / line, min(lefts, default=0.0), 1e-6), line))
    (period, line), at_saddle = min(found), found[0]
    if at_saddle[0] <= 2.0 * period:
        period, line = at_saddle
    return line, period, [(s, k) for s, k in known if s > line]


def _log_means(parts: Parts, places: Sequence[float]) -> list[float]:
    """K at many real places, +∞ where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = total_transform(parts, np.array(places))[0].tolist()
    return [value if not math.isnan(value) else math.inf for value in values]


def _curvature(parts: Parts, c: float) -> float:
    """K'' at c, from second differences over a gap that is small against K's own turns."""
    gaps = [0.05 * c * 4.0**-k for k in range(9)]
    around = _log_means(parts, [c, *(c - g for g in gaps), *(c + g for g in gaps)])
    rises = [low - 2.0 * around[0] + high for low, high in zip(around[1:10], around[10:], strict=True)]
    rise, gap = next(
        (pair for pair in zip(rises, gaps, strict=True) if pair[0] <= 1.0), (rises[-1], gaps[-1])
    )
    return max(rise / gap**2, 1e-30) if math.isfinite(rise) else 1e30


def _log_estimate(parts: Parts, c: float, epsilon: float) -> float:
    """The saddle-point approximation of ln δ, never above Chernoff's bound."""
    curve = _curvature(parts, c) + 1.0 / c**2 + 1.0 / (1.0 + c) ** 2
    base = log_mean(parts, c) - c * epsilon
    return base - math.log(c) - math.log1p(c) - 0.5 * math.log(2.0 * math.pi * curve)


def _log_tail(parts: Parts, c: float, t: float) -> float:
    """ln of the trapezoid sum beyond t, before the factor e^{−cε}: the envelope and ∫dt/t²."""
    if t <= 0.0:
        return math.inf
    return sum(count * part.envelope(c, t) for part, count in parts) - math.log(math.pi * t)


def _last(parts: Parts, c: float, step: float, goal: float, loose: float, most_work: float) -> int:
    """The last node: where the tail is below a goal, by doubling and bisection; few nodes if it never is."""
    most = min(_MOST_NODES, max(_MANY_NODES, _MOST_VALUES // len(parts)))
    while most * sum(part.work(c, step * most) for part, _ in parts) > most_work:
        if most <= _FEWEST_NODES:
            return 0
        most //= 2

    def enough(nodes: int, level: float) -> bool:
        return _log_tail(parts, c, step * nodes) <= level

    if not enough(most, loose):
        return most if enough(most, loose + _FORGIVEN) else min(_FEW_NODES, most)
    goal = goal if enough(min(_MANY_NODES, most), goal) else loose
    low, high = _FEWEST_NODES, min(2 * _FEWEST_NODES, most)
    while high < most and not enough(high, goal):
        low, high = high, min(2 * high, most)
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, goal) else (middle, high)
    return high
