"""D_α(P_XY ‖ P_X × P_Y) as a function of the prior: its value, a certified lower end, and an ascent."""

from __future__ import annotations

import math

import numpy as np

from leakcap.numeric.logspace import Floats, safe_log

__all__ = ["LevelObjective"]

_UNIT = 2.0**-53
_STEEP = 30.0


class LevelObjective:
    """(1/(α−1)) ln Σ_xy π_x C_xy (C_xy/q_y)^{α−1}, q = πC, for a finite α ≠ 1.

    >>> round(LevelObjective(np.eye(2), 2.0).lower(np.array([0.5, 0.5])), 9)
    0.693147181
    """

    def __init__(self, rows: Floats, alpha: float) -> None:
        self.rows, self.alpha, self.t = rows, alpha, alpha - 1.0
        self.logs = safe_log(rows)
        depth = float(np.max(np.abs(self.logs[rows > 0])))
        residue = float(np.max(np.abs(rows.sum(axis=1) - 1.0))) + rows.shape[1] * _UNIT
        self.tilt = (8.0 * (1.0 + depth) + len(rows)) * _UNIT + 4.0 * residue
        self.fuzz = (sum(rows.shape) + 60.0) * _UNIT + self.tilt

    def lower(self, prior: Floats) -> float:
        """A number that is not above the leakage under this prior (scaled to sum to one)."""
        return max(self._value(prior / prior.sum(), outward=-1.0), 0.0)

    def ascend(self, start: Floats, steps: int) -> Floats:
        """Multiplicative steps along the gradient, lengthened while they rise and cut when they fall."""
        prior: Floats = np.maximum(start, 0.0) / np.sum(np.maximum(start, 0.0))
        value, length = self._value(prior), 1.0
        for _ in range(steps):
            slope = self._slope(prior)
            ahead = np.minimum(slope - slope[prior > 0].max(), 0.0)
            moved = prior * np.exp(length * ahead)
            moved /= moved.sum()
            there = self._value(moved)
            if there > value:
                gain, prior, value, length = there - value, moved, there, min(1.7 * length, 1e9)
                if gain < 1e-15 * (1.0 + abs(value)):
                    break
            else:
                length /= 4.0
                if length < 1e-12:
                    break
        return np.asarray(prior)

    def _ratios(self, prior: Floats) -> tuple[Floats, Floats]:
        """ln(C/q) where both are positive, and the joint law."""
        centre = prior @ self.rows
        seen = (self.rows > 0) & (centre > 0)
        ratio = np.where(seen, self.logs, 0.0) - np.where(
            seen, safe_log(np.where(centre > 0, centre, 1.0)), 0.0
        )
        return ratio, prior[:, None] * self.rows

    def _value(self, prior: Floats, *, outward: float = 0.0) -> float:
        ratio, joint = self._ratios(prior)
        exponent = np.where(joint > 0, self.t * ratio, 0.0)
        top = float(exponent.max())
        if max(top, -float(exponent.min())) > _STEEP:
            total = math.log(float(np.sum(joint * np.exp(exponent - top)))) + top
            return float((total + outward * (self.fuzz + abs(self.t) * self.tilt)) / self.t)
        mean = float(np.sum(joint * np.expm1(exponent))) / self.t
        mean += outward * self.fuzz * (1.0 + abs(mean) + abs(1.0 + self.t * mean))
        return float(math.log1p(self.t * mean) / self.t + outward * self.fuzz)

    def _slope(self, prior: Floats) -> Floats:
        """The gradient, up to a constant: ∂ ln G/∂π_x over t, G = Σ π C (C/q)^t."""
        ratio, joint = self._ratios(prior)
        exponent = self.t * ratio
        top = float(np.max(exponent + safe_log(joint)))
        scaled = np.exp(np.clip(exponent - top, -690.0, 690.0))
        total = float(np.sum(joint * scaled))
        centre = prior @ self.rows
        # A direction is all that is wanted: what overflows is cut off, the ascent checks every step.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pull = np.where(centre > 0, np.sum(joint * scaled, axis=0) / centre, 0.0)
            own = np.sum(self.rows * scaled, axis=1) - self.t * (self.rows @ pull)
            slope = (own - float(prior @ own)) / (total * self.t)
        return np.asarray(np.clip(np.nan_to_num(slope), -1e9, 1e9))
