"""δ as a function of ε, enclosed: a curve holds everywhere, and is narrow near the place it was made for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from leakcap.accounting.contour import MOST_WORK, make_contour, saddle_for_epsilon
from leakcap.accounting.convolve import OffTheGrid, bracket_around
from leakcap.accounting.exact import Enumeration, enumerate_losses
from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.lattice import Lattice, common_lattice
from leakcap.accounting.part import Ends, LossComponent
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = [
    "GRID",
    "Curve",
    "cheap_curve",
    "curve_near",
    "infinite",
    "largest",
    "on_contour",
    "on_grid",
    "pure",
]

Parts = tuple[tuple[LossComponent, int], ...]

GRID = "FFT on a grid"
_CONTOUR = "saddle-point contour"
_ROUGH = 1e-6
_FINE = 1e-9
_FALLBACK = 1 << 17


class _Enclosure(Protocol):
    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Curve:
    """δ(ε) enclosed, infinite losses included; losses are uncertain by `slack`."""

    finite: _Enclosure
    method: str
    infinite: float = 0.0
    slack: float = 0.0

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """Enclosures of δ(ε)."""
        low, high = self.finite.deltas(epsilon + self.slack)
        if self.slack > 0.0:
            high = self.finite.deltas(epsilon - self.slack)[1]
        high = np.minimum(high + self.infinite, 1.0)
        return np.minimum(low + self.infinite, high), high

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of δ(ε)."""
        low, high = self.deltas(np.array([epsilon]))
        return float(low[0]), float(high[0])


@dataclass(frozen=True)
class _Closed:
    """A single query's closed form."""

    part: LossComponent

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        ends = np.array([self.part.hockey_stick(e) or (0.0, 1.0) for e in epsilon.tolist()])
        return ends[:, 0], ends[:, 1]


@dataclass(frozen=True)
class _Listed:
    """Every combination of outcomes."""

    outcomes: Enumeration

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        ends = np.array([self.outcomes.delta(e) for e in epsilon.tolist()])
        return ends[:, 0], ends[:, 1]


@dataclass(frozen=True)
class _Above:
    """Zero from the largest loss on, unknown below."""

    top: float

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        return np.zeros(epsilon.shape), np.where(epsilon >= self.top, 0.0, 1.0)


@dataclass(frozen=True)
class _Nothing:
    """No finite loss at all."""

    def deltas(self, epsilon: Floats) -> tuple[Floats, Floats]:
        return np.zeros(epsilon.shape), np.zeros(epsilon.shape)


def infinite(parts: Parts) -> float:
    """P's mass on outputs impossible under Q.

    >>> from leakcap.accounting.finite import finite_loss
    >>> infinite(((finite_loss([0.5, 0.5], [0.0, 1.0]), 2),))
    0.75
    """
    if any(part.infinite >= 1.0 for part, _ in parts):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-part.infinite) for part, count in parts))


def largest(parts: Parts) -> float:
    """The largest finite total loss, ∞ for noise without bounds.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> largest(((LaplaceLoss(0.5), 3),))
    1.5
    """
    return sum(count * part.support()[1] for part, count in parts)


def pure(parts: Parts) -> Ends:
    """The largest finite total loss where it is positive, enclosed.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> low, high = pure(((LaplaceLoss(0.5), 3),))
    >>> low <= 1.5 <= high < 1.5000001
    True
    """
    if infinite(parts) == 0.0:
        ends = [(part.renyi(math.inf), count) for part, count in parts]
        low, high = (math.fsum(count * end[side] for end, count in ends) for side in (0, 1))
        alone = len(parts) == 1 and parts[0][1] == 1
        return (low, high) if alone else (down(low, 2), up(high, 2))
    return max(down(largest(parts), 16), 0.0), max(up(largest(parts), 16), 0.0)


def cheap_curve(parts: Parts, epsilon: float) -> Curve | None:
    """δ without an integral: all outcomes where they are few, a closed form, the ends of the support.

    >>> from leakcap.accounting.finite import finite_loss
    >>> cheap_curve(((finite_loss([0.75, 0.25], [0.25, 0.75]), 3),), 0.0).method
    'every combination of outcomes'
    """
    few = _structure(parts)[1]
    mass = infinite(parts)
    if few is not None:
        return Curve(_Listed(few), "every combination of outcomes", mass)
    if any(isinstance(part, FiniteLoss) and not part.losses for part, _ in parts):
        return Curve(_Nothing(), "no finite loss", mass)
    if len(parts) == 1 and parts[0][1] == 1 and parts[0][0].hockey_stick(epsilon) is not None:
        return Curve(_Closed(parts[0][0]), "closed form", mass)
    top = largest(parts)
    if epsilon >= top + 1e-12 * abs(top):
        # Beyond the support the contour has no saddle; a curve made there says zero for larger ε only.
        return Curve(_Above(top), "support of the loss", mass)
    return None


def on_contour(parts: Parts, epsilon: float, most_work: float = MOST_WORK) -> Curve:
    """The contour through the saddle point for one ε, as far as `most_work` allows.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = on_contour(((GaussianLoss(0.5), 4),), 1.0).delta(1.0)
    >>> low <= 0.12693673750664397 <= high
    True
    """
    lattice = _structure(parts)[0]
    contour = make_contour(parts, saddle_for_epsilon(parts, epsilon), epsilon, lattice, most_work)
    return Curve(contour, _CONTOUR, infinite(parts), lattice.slack if lattice is not None else 0.0)


def on_grid(
    parts: Parts, points: int, negligible: float, *, epsilon: float | None = None, delta: float | None = None
) -> Curve:
    """The finest grid of so many points around one ε or δ, `negligible` of δ left out. Where no grid can hold
    the losses it says nothing.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = on_grid(((GaussianLoss(0.5), 4),), 1 << 12, 1e-9, epsilon=1.0).delta(1.0)
    >>> low <= 0.12693673750664397 <= high < 0.127
    True
    """
    try:
        found = bracket_around(
            parts, epsilon=epsilon, delta=delta, width=0.0, points=points, negligible=negligible
        )
    except OffTheGrid:
        return Curve(_Above(math.inf), GRID)
    return Curve(found, GRID)


def curve_near(parts: Parts, epsilon: float) -> Curve:
    """A narrow enclosure of δ near one ε; valid for all.

    >>> from leakcap.accounting.finite import finite_loss
    >>> curve_near(((finite_loss([0.75, 0.25], [0.25, 0.75]), 1),), 0.0).method
    'every combination of outcomes'
    """
    curve = cheap_curve(parts, epsilon)
    if curve is not None:
        return curve
    curve = on_contour(parts, epsilon)
    low, high = curve.delta(epsilon)
    if high - low <= _ROUGH * high:
        return curve
    try:
        grid = Curve(bracket_around(parts, epsilon=epsilon, width=_FINE, points=_FALLBACK), GRID)
    except OffTheGrid:
        return curve
    grid_low, grid_high = grid.delta(epsilon)
    return curve if grid_high - grid_low > high - low else grid


@lru_cache(maxsize=512)
def _structure(parts: Parts) -> tuple[Lattice | None, Enumeration | None]:
    return common_lattice(parts), enumerate_losses(parts)
