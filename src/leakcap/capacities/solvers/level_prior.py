"""D_α(P_XY ‖ P_X × P_Y) as a function of the prior: its value, a certified lower end, and an ascent."""

from __future__ import annotations

from leakcap.arrays import np
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
        self.seen = rows > 0
        self.known = np.log(np.where(self.seen, rows, 1.0))
        depth = float(np.max(np.abs(self.known)))
        residue = float(np.max(np.abs(rows.sum(axis=1) - 1.0))) + rows.shape[1] * _UNIT
        self.tilt = (8.0 * (1.0 + depth) + len(rows)) * _UNIT + 4.0 * residue
        self.fuzz = (sum(rows.shape) + 60.0) * _UNIT + self.tilt

    def lower(self, prior: Floats) -> float:
        """A number that is not above the leakage under this prior (scaled to sum to one)."""
        return max(float(self._values((prior / prior.sum())[None], outward=-1.0)[0]), 0.0)

    def ascend(self, starts: Floats, steps: int) -> Floats:
        """From each prior in `starts` (starts, secrets), side by side: what multiplicative steps along the
        gradient reach, lengthened while they rise and cut when they fall.
        """
        reached: Floats = np.maximum(starts, 0.0)
        reached = reached / reached.sum(axis=1, keepdims=True)
        going = np.arange(len(reached))
        prior, value, ahead = reached, self._values(reached), self._ahead(reached)
        length = np.ones(len(reached))
        for _ in range(steps):
            moved = prior * np.exp(length[:, None] * ahead)
            moved /= moved.sum(axis=1, keepdims=True)
            there = self._values(moved)
            rises = there > value
            gain = there - value
            length = np.where(rises, np.minimum(1.7 * length, 1e9), length / 4.0)
            prior = np.where(rises[:, None], moved, prior)
            value = np.where(rises, there, value)
            reached[going] = prior
            lasting = np.where(rises, gain >= 1e-15 * (1.0 + np.abs(value)), length >= 1e-12)
            if not lasting.all():
                if not lasting.any():
                    break
                going, rises = going[lasting], rises[lasting]
                prior, value = prior[lasting], value[lasting]
                length, ahead = length[lasting], ahead[lasting]
            if rises.any():
                ahead[rises] = self._ahead(prior[rises])
        return reached

    def _ratios(self, priors: Floats) -> tuple[Floats, Floats]:
        """ln(C/q) where both are positive, and the joint laws: (priors, secrets, outputs)."""
        centres = priors @ self.rows
        depths = np.log(np.where(centres > 0, centres, 1.0))[:, None, :]
        ratios = np.where(self.seen & (centres > 0)[:, None, :], self.known - depths, 0.0)
        return ratios, priors[:, :, None] * self.rows

    def _values(self, priors: Floats, *, outward: float = 0.0) -> Floats:
        ratios, joints = self._ratios(priors)
        exponents = np.where(joints > 0, self.t * ratios, 0.0)
        tops = exponents.max(axis=(1, 2))
        steep = np.maximum(tops, -exponents.min(axis=(1, 2))) > _STEEP
        found = np.empty(len(priors))
        if steep.any():
            shifted = np.exp(exponents[steep] - tops[steep, None, None])
            totals = np.log(np.sum(joints[steep] * shifted, axis=(1, 2))) + tops[steep]
            found[steep] = (totals + outward * (self.fuzz + abs(self.t) * self.tilt)) / self.t
        if not steep.all():
            flat = ~steep
            means = np.sum(joints[flat] * np.expm1(exponents[flat]), axis=(1, 2)) / self.t
            means += outward * self.fuzz * (1.0 + np.abs(means) + np.abs(1.0 + self.t * means))
            found[flat] = np.log1p(self.t * means) / self.t + outward * self.fuzz
        return found

    def _ahead(self, priors: Floats) -> Floats:
        """The gradients over the secrets that may be, less each one's largest entry; none is above zero."""
        slopes = self._slopes(priors)
        most = np.where(priors > 0, slopes, -np.inf).max(axis=1, keepdims=True)
        return np.asarray(np.minimum(slopes - most, 0.0))

    def _slopes(self, priors: Floats) -> Floats:
        """The gradients, up to a constant: ∂ ln G/∂π_x over t, G = Σ π C (C/q)^t."""
        ratios, joints = self._ratios(priors)
        exponents = self.t * ratios
        tops = np.max(exponents + safe_log(joints), axis=(1, 2), keepdims=True)
        scaled = np.exp(np.clip(exponents - tops, -690.0, 690.0))
        joints *= scaled
        totals = np.sum(joints, axis=(1, 2))[:, None]
        centres = priors @ self.rows
        # A direction is all that is wanted: what overflows is cut off, the ascent checks every step.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pulls = np.where(centres > 0, np.sum(joints, axis=1) / centres, 0.0)
            own = np.sum(self.rows * scaled, axis=2) - self.t * (pulls @ self.rows.T)
            slopes = (own - np.sum(priors * own, axis=1, keepdims=True)) / (totals * self.t)
        return np.asarray(np.clip(np.nan_to_num(slopes), -1e9, 1e9))
