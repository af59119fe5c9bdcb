"""A second route for mechanisms without a finite channel: their noise law, by panels of Gauss–Legendre nodes.

The laws of `test_mechanism_laws.py` compare with these; they share no code with the mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import gamma, norm

from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.mechanism import DiscreteGaussian, Gaussian, Laplace, Mechanism, PlanarLaplace, Staircase
from leakcap.sampling import ByteSource

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Reference:
    """Two secrets at the full distance: log densities at nodes with weights, in units of the noise."""

    log_p: Array
    log_q: Array
    weights: Array
    largest_order: float
    cells: Callable[[], Channel]
    probabilities: Callable[[], Array]
    bins: Callable[[Array], Array]
    start: Any
    hockey_stick: Callable[[float], float] | None = None
    """For rulers with a kink that does not lie between panels."""

    def diameter(self, ruler: Divergence) -> float | None:
        """The divergence by quadrature; None where the nodes do not reach far enough."""
        p, q = self.weights * np.exp(self.log_p), self.weights * np.exp(self.log_q)
        match ruler:
            case HockeyStick(gamma_) if self.hockey_stick:
                return self.hockey_stick(gamma_)
            case TotalVariation() if self.hockey_stick:
                return self.hockey_stick(1.0)
            case HockeyStick(gamma_):
                return float(np.maximum(p - gamma_ * q, 0.0).sum())
            case TotalVariation():
                return float(np.abs(p - q).sum() / 2)
            case Renyi(alpha) if abs(alpha - 1.0) < 1e-6:
                return float((p * (self.log_p - self.log_q) - p + q).sum()) if alpha == 1.0 else None
            case Renyi(alpha) if alpha <= self.largest_order:
                terms = alpha * self.log_p + (1 - alpha) * self.log_q + np.log(self.weights)
                return float(logsumexp(terms) / (alpha - 1))
        return None

    def counts(self, mechanism: Mechanism, size: int, source: ByteSource) -> Array:
        """How many of `size` draws at the first secret fall into each cell."""
        drawn = mechanism.sample(np.array([self.start] * size), source)
        return np.bincount(self.bins(drawn), minlength=len(self.probabilities()))


@lru_cache(maxsize=64)
def of(mechanism: Mechanism) -> Reference:
    """The reference of a mechanism's class: one must be written for each unbounded mechanism."""
    match mechanism:
        case Laplace():
            return _line(lambda z: np.exp(-np.abs(z)) / 2, mechanism.scale, mechanism.sensitivity, 1e6)
        case Gaussian():
            return _line(norm.pdf, mechanism.sigma, mechanism.sensitivity, 8.0)
        case Staircase():
            return _staircase(mechanism)
        case PlanarLaplace():
            return _plane(mechanism)
        case DiscreteGaussian():
            return _integers(mechanism)
    raise AssertionError(f"no reference for {type(mechanism).__name__}: write its noise law here")


def panels(edges: Array, order: int = 12) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges) / 2
    y = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return y.ravel(), (half[:, None] * weights).ravel()


def _line(density: Callable[[Array], Array], scale: float, reach: float, largest: float) -> Reference:
    """Noise of unit scale at 0 and d = sensitivity/scale; the kinks of all rulers are among the edges."""
    d = reach / scale
    far = 60.0 if largest > 8.0 else 12.0 + 8.0 * d
    kinks = [0.0, d, d / 2]
    for ruler in HockeyStick.examples():
        t = math.log(ruler.exp_epsilon)
        # Where ln p/q = t: (d − t)/2 for Laplace noise, d/2 − t/d for Gaussian.
        kinks += [(d - t) / 2, d / 2 - t / d]
    base = np.linspace(-far, d + far, 801)
    edges = np.unique(np.concatenate([base, [k for k in kinks if -far < k < d + far]]))
    y, weights = panels(edges)
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(density(y)), np.log(density(y - d))
    seen = np.isfinite(log_p) & np.isfinite(log_q)
    cells = np.linspace(-3.0, d + 3.0, 42)

    def row(x: float) -> Array:
        inside = [
            float((density(a - x) * w).sum())
            for a, w in (panels(np.linspace(u, v, 9)) for u, v in _gaps(cells))
        ]
        y, w = panels(np.linspace(-60.0, cells[0], 600))
        below = float((density(y - x) * w).sum())
        return np.array([below, *inside, 1.0 - below - sum(inside)])

    return Reference(
        log_p[seen],
        log_q[seen],
        weights[seen],
        largest,
        lambda: Channel([row(x) for x in np.linspace(0.0, d, 9)]),
        lambda: row(0.0),
        lambda drawn: np.searchsorted(cells, drawn / scale),
        0.0,
    )


def _gaps(edges: Array) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def _staircase(mechanism: Staircase) -> Reference:
    step = 1 / (1 + math.exp(mechanism.epsilon / 2)) if mechanism.gamma is None else mechanism.gamma
    s = math.exp(-mechanism.epsilon)

    def density(z: Array) -> Array:
        whole = np.floor(np.abs(z))
        low = (np.abs(z) - whole >= step).astype(float)
        return s ** (whole + low) * (1 - s) / (2 * (step + s * (1 - step)))

    steps = math.ceil(40 / mechanism.epsilon) + 2
    grid = np.arange(-steps, steps + 1.0)
    # The corners of both densities: whole steps and steps ± gamma.
    edges = np.unique(np.concatenate([grid, grid + step, grid - step]).round(14))
    y, weights = panels(edges, 2)
    reference = _line(density, mechanism.sensitivity, mechanism.sensitivity, 1e6)
    cells = np.unique(
        np.concatenate([np.arange(-3, 4.0), np.arange(-3, 4.0) + step, np.arange(-3, 4.0) - step])
    )

    def row(x: float) -> Array:
        corners = np.unique(np.concatenate([edges, edges + x, cells]).round(13))
        corners = corners[np.append(True, np.diff(corners) > 1e-11)]
        y, w = panels(corners, 1)
        mass = np.bincount(np.searchsorted(cells, y), weights=density(y - x) * w, minlength=len(cells) + 1)
        return mass / mass.sum()

    return Reference(
        np.log(density(y)),
        np.log(density(y - 1.0)),
        weights,
        reference.largest_order,
        lambda: Channel([row(x) for x in np.linspace(0.0, 1.0, 9)]),
        lambda: row(0.0),
        lambda drawn: np.searchsorted(cells, drawn / mechanism.sensitivity),
        0.0,
    )


def _plane(mechanism: PlanarLaplace) -> Reference:
    """Polar nodes about the first secret, dense towards both: rate 1, secrets at (0, 0) and (d, 0)."""
    d = mechanism.epsilon * mechanism.sensitivity
    radial = np.unique(
        np.concatenate([np.geomspace(1e-7, 1.0, 22) * d, d + np.linspace(0.0, 60.0, 60), [0.0]])
    )
    radial = np.unique(
        np.concatenate([radial, d - np.geomspace(1e-7, 1.0, 22) * d, d + np.geomspace(1e-7, 1.0, 22)])
    )
    radial = radial[np.append(True, np.diff(radial) > 1e-12)]
    r, wr = panels(radial, 10)
    angles = np.concatenate([[0.0], np.geomspace(1e-6, np.pi, 32)])
    theta, wt = panels(angles, 10)
    rr, tt = np.meshgrid(r, theta, indexing="ij")
    other = np.hypot(rr * np.cos(tt) - d, rr * np.sin(tt))
    weights = 2 * rr * wr[:, None] * wt / (2 * np.pi)

    def beyond(h: float) -> float:
        # P(z₁ > h) for h > 0: the radius has law Gamma(2), the angle is uniform.
        angle, w = panels(np.linspace(0.0, np.pi / 2, 65), 8)
        far = h / np.cos(angle)
        return float((w * (1 + far) * np.exp(-far)).sum() / np.pi)

    def cells() -> Channel:
        cuts = d / 2 + np.array([-2.0, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 2.0])
        above = [beyond(c) if c > 0 else 1 - beyond(-c) for c in cuts]
        row = -np.diff([1.0, *above, 0.0])
        return Channel([row, row[::-1]])

    rings = gamma.ppf(np.arange(1, 12) / 12, 2)

    def bins(drawn: Array) -> Array:
        ring = np.searchsorted(rings, np.hypot(drawn[:, 0], drawn[:, 1]) * mechanism.epsilon)
        turn = np.floor((np.arctan2(drawn[:, 1], drawn[:, 0]) / (2 * np.pi) % 1.0) * 8).astype(int) % 8
        return np.asarray(ring * 8 + turn)

    return Reference(
        -rr.ravel(),
        -other.ravel(),
        weights.ravel(),
        8.0,
        cells,
        lambda: np.full(96, 1 / 96),
        bins,
        (0.0, 0.0),
        lambda gamma_: _plane_hockey_stick(gamma_, d),
    )


def _plane_hockey_stick(gamma_: float, d: float) -> float:
    """In direction θ from the first secret the loss ρ − r exceeds t up to r = (d²−t²)/(2(t + d cos θ))."""
    t = math.log(gamma_)
    if abs(t) >= d:
        return max(1.0 - gamma_, 0.0)
    limit = math.acos(-t / d)
    theta, wt = panels(np.concatenate([np.linspace(0.0, limit, 40), np.linspace(limit, np.pi, 20)[1:]]), 12)
    ends = np.where(theta < limit, (d * d - t * t) / np.maximum(2 * (t + d * np.cos(theta)), 1e-300), np.inf)
    unit, wr = panels(np.linspace(0.0, 1.0, 40), 12)
    r = np.minimum(ends, 60.0)[:, None] * unit
    rho = np.hypot(r * np.cos(theta)[:, None] - d, r * np.sin(theta)[:, None])
    inner = (np.exp(-r) - gamma_ * np.exp(-rho)) * r
    return float((wt * np.minimum(ends, 60.0)) @ (inner @ wr) / np.pi)


def _integers(mechanism: DiscreteGaussian) -> Reference:
    """All integers within 40σ of any tilted mean up to order 8."""
    sigma, n = float(mechanism.sigma), mechanism.sensitivity
    far = math.ceil(12 * sigma) + 8 * n
    y = np.arange(-far, far + n + 1)
    raw = -((y / sigma) ** 2) / 2
    total = logsumexp(raw)

    def row(x: float) -> Array:
        law = np.exp(-(((y - x) / sigma) ** 2) / 2)
        return law / law.sum()

    return Reference(
        raw - total,
        -(((y - n) / sigma) ** 2) / 2 - total,
        np.ones(len(y)),
        8.0,
        lambda: Channel([row(x) for x in range(n + 1)]),
        lambda: row(0),
        lambda drawn: drawn + far,
        0,
    )
