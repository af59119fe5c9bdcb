"""The privacy loss of a pair of rows: finitely many atoms, and what only one of the rows shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from leakcap.accounting.part import UNIT, Atoms, Ends, LossComponent, Numbers
from leakcap.divergence import Renyi, log_ratio
from leakcap.errors import InvalidChannel
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["FiniteLoss", "finite_loss"]

_SUM = 1e-9
_BLOCK = 1 << 21


@dataclass(frozen=True)
class FiniteLoss(LossComponent):
    """Two rows over the same outcomes, outcomes of equal loss merged; make it with `finite_loss`.

    `units` is how many halves of a last place the masses can be off by.

    >>> finite_loss([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]).lost
    0.5
    """

    losses: tuple[float, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]
    at_infinity: float = 0.0
    at_minus_infinity: float = 0.0
    units: float = 0.0

    @property
    def infinite(self) -> float:
        """P's mass at +∞."""
        return self.at_infinity

    @property
    def lost(self) -> float:
        """Q's mass at −∞."""
        return self.at_minus_infinity

    def log_transform(self, z: Numbers) -> Numbers:
        """ln Σ p e^{zL}, the largest term taken out; −∞ when every loss is infinite."""
        z = np.asarray(z)
        flat = z.reshape(-1)
        losses, logs = np.array(self.losses), np.log(np.array(self.p))
        result = np.full(flat.shape, -np.inf, dtype=z.dtype if z.dtype.kind == "c" else np.float64)
        if losses.size == 0:
            return result.reshape(z.shape)
        stride = max(1, _BLOCK // losses.size)
        for start in range(0, flat.size, stride):
            piece = flat[start : start + stride]
            exponents = piece[:, None] * losses + logs
            top = exponents.real.max(axis=1)
            with np.errstate(divide="ignore"):
                result[start : start + stride] = np.log(np.exp(exponents - top[:, None]).sum(axis=1)) + top
        return result.reshape(z.shape)

    def error(self, z: Numbers) -> Floats:
        """Relative rounding of M."""
        reach = max((abs(loss) for loss in self.losses), default=0.0)
        own = (self.units + self.missing / UNIT) * (1.0 + 2.0 * np.abs(z))
        return np.asarray(UNIT * (24.0 + len(self.losses) + 8.0 * np.abs(z) * reach + own))

    def work(self, c: float, t: float) -> float:
        """How many losses there are."""
        return float(len(self.losses))

    @cached_property
    def missing(self) -> float:
        """How far both rows together are from sums of one."""
        return abs(math.fsum([*self.p, self.at_infinity, -1.0])) + abs(
            math.fsum([*self.q, self.at_minus_infinity, -1.0])
        )

    def envelope(self, c: float, t: float) -> float:
        """K(c): atoms come back in phase."""
        return float(self.log_transform(np.array(c)))

    def support(self) -> tuple[float, float]:
        """Least and largest finite loss."""
        return (self.losses[0], self.losses[-1]) if self.losses else (0.0, 0.0)

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """None outside the atoms."""
        return np.zeros(edges.size - 1), np.zeros(edges.size - 1)

    def atoms(self) -> Atoms:
        """Losses of positive probability."""
        return Atoms(np.array(self.losses), np.array(self.p), np.array(self.q))

    def renyi(self, alpha: float) -> Ends:
        """Over all outcomes, those of infinite loss included."""
        p = np.array([*self.p, self.at_infinity, 0.0])
        q = np.array([*self.q, 0.0, self.at_minus_infinity])
        value, error = float(Renyi(alpha).between(p, q)), float(Renyi(alpha).error(p, q, self.units))
        return max(down(value - error), 0.0), up(value + error)

    def renyi_back(self, alpha: float) -> Ends:
        """The other way about."""
        return self.reverse.renyi(alpha)

    @property
    def reverse(self) -> LossComponent:
        """The other direction."""
        return FiniteLoss(
            tuple(-loss for loss in self.losses[::-1]),
            self.q[::-1],
            self.p[::-1],
            self.at_minus_infinity,
            self.at_infinity,
            self.units,
        )


def finite_loss(p: ArrayLike, q: ArrayLike, *, units: float = 0.0) -> FiniteLoss:
    """The loss of the row `p` against the row `q`. Raises `InvalidChannel` unless both are distributions.

    `units` is how many halves of a last place the masses can be off by: none for rows taken as they are.

    >>> finite_loss([0.75, 0.25], [0.25, 0.75]).losses
    (-1.09861228..., 1.09861228...)
    """
    rows = [np.asarray(row, dtype=np.float64) for row in (p, q)]
    if rows[0].ndim != 1 or rows[0].shape != rows[1].shape or rows[0].size == 0:
        raise InvalidChannel(
            f"`p` and `q` of a privacy loss must be vectors over the same outcomes. Got shapes "
            f"{rows[0].shape} and {rows[1].shape}."
        )
    for row in rows:
        if not np.isfinite(row).all():
            raise InvalidChannel("`p` and `q` of a privacy loss must be finite. Got NaN or ∞.")
        if (row < 0).any():
            raise InvalidChannel(
                f"`p` and `q` of a privacy loss must not be negative. Got {float(row.min())!r}. "
                "Set what rounding has left below zero to zero."
            )
        if abs(float(row.sum()) - 1.0) > _SUM:
            raise InvalidChannel(
                f"`p` and `q` of a privacy loss must sum to 1 within {_SUM:g}. "
                f"Got a sum of {float(row.sum())!r}."
            )
    p, q = rows
    both = (p > 0) & (q > 0)
    losses = log_ratio(p[both], q[both])
    levels, place = np.unique(losses, return_inverse=True)
    at_p = np.bincount(place, weights=p[both], minlength=levels.size)
    at_q = np.bincount(place, weights=q[both], minlength=levels.size)
    return FiniteLoss(
        tuple(levels.tolist()),
        tuple(at_p.tolist()),
        tuple(at_q.tolist()),
        math.fsum(p[~both].tolist()),
        math.fsum(q[~both].tolist()),
        units + (p.size - levels.size),
    )
