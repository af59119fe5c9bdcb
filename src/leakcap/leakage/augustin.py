"""Csiszár's information of order α: a minimum over output distributions, as a certified interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.leakage.information import live_rows, order_of
from leakcap.numeric.logspace import Floats, logsumexp, safe_log
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["csiszar"]

_SHARPEST = 2.0**40
"""Order that stands in for ∞ in the search; the interval is then measured at ∞ itself."""

_TARGET = 1e-15

_WIDTH = 1e-13
"""Width at which the search for order ∞ stops sharpening."""

_ON_THE_WAY = 1e-12
"""Gap at an order passed through: small enough for the next order to start from."""


def csiszar(channel: Channel, prior: ArrayLike, *, alpha: float) -> Bound:
    """Csiszár's information of order α ∈ (0, ∞]: min_Q Σ_x π_x D_α(P_{Y|x} ‖ Q), in nats.

    Mutual information at 1. There is no closed form at other orders: Newton's method on ln Q gives the
    upper end, evaluated as it stands; the lower end is a dual value. The witness is Q.
    Source: Csiszár 1995; Augustin 1978 (the fixed point); Shayevitz 2011 (the dual form for α > 1).
    Raises `InvalidParameter`, `InvalidPrior`.

    >>> csiszar(Channel([[0.9, 0.1], [0.1, 0.9]]), [0.5, 0.5], alpha=2.0).upper
    0.4946962418361...
    """
    alpha = order_of("csiszar", alpha)
    rows, weights = live_rows(channel, prior)
    seen = weights @ rows > 0
    search = _Search(rows[:, seen], weights, alpha)
    log_centre, lower, upper = search.solve()
    centre = np.zeros(rows.shape[1])
    centre[seen] = np.exp(log_centre)
    size = rows.size
    lower = max(0.0, min(down(lower, size, 1.0) if lower > 0 else 0.0, upper))
    return Bound(
        lower,
        max(up(upper, 4), lower),
        f"Csiszár information of order {alpha:g}",
        "Csiszár 1995",
        witness=centre,
    )


@dataclass(frozen=True)
class _Search:
    rows: Floats
    weights: Floats
    alpha: float

    def solve(self) -> tuple[Floats, float, float]:
        """ln Q, and the interval that it and its tilted rows certify."""
        centre = self.weights @ self.rows
        theta = np.log(centre / centre.sum())
        if self.alpha == 1.0:
            value = self._value(theta, 1.0)
            return theta, value, value
        best = (theta, *self._interval(theta, self.alpha))
        for order in tracked(self._path(), "Csiszár's information"):
            theta = self._newton(theta, order, _TARGET if order == self.alpha else _ON_THE_WAY)
            lower, upper = self._interval(theta, order)
            # Every point gives a valid interval; at ∞ the sharpest point need not give the best one.
            best = (theta if upper <= best[2] else best[0], max(lower, best[1]), min(upper, best[2]))
            if best[2] - best[1] < _WIDTH * max(1.0, best[2]):
                break
        return best

    def _path(self) -> list[float]:
        """Orders from near one to the one asked: a sharp problem starts from a smoother one's answer."""
        goal = min(self.alpha, _SHARPEST)
        steps = max(1, math.ceil(abs(math.log2(goal)) / 1.5))
        return [goal ** (k / steps) for k in range(1, steps)] + [goal]

    def _newton(self, theta: Floats, alpha: float, target: float) -> Floats:
        """Newton's method for the fixed point Q = Σ π_x R_x in ln Q, never uphill."""
        value = self._value(theta, alpha)
        # ln Q is known to about 1e-16, its tilted rows to α times that.
        target = max(target, 1e-15 * alpha)
        for _ in range(60):
            log_tilted, log_mixed = self._tilted(theta, alpha)
            missing = log_mixed - theta
            if _excess(missing) < target:
                break
            candidates = (self._direction(log_tilted, log_mixed, missing, alpha), missing / max(alpha, 1.0))
            better = self._descend(theta, value, alpha, candidates)
            if better is None:
                break
            theta, value = better
        return theta

    def _descend(
        self, theta: Floats, value: float, alpha: float, directions: tuple[Floats, Floats]
    ) -> tuple[Floats, float] | None:
        for direction in directions:
            step = 1.0
            for _ in range(16):
                trial = theta + step * direction
                trial = trial - logsumexp(trial)
                reached = self._value(trial, alpha)
                if reached < value or self._closer(trial, theta, reached - value, alpha):
                    return trial, reached
                step *= 0.5
        return None

    def _closer(self, trial: Floats, theta: Floats, change: float, alpha: float) -> bool:
        """Whether a step that the value can no longer judge halves the certificate's gap."""
        if change > _TARGET:
            return False
        gaps = [_excess(self._tilted(t, alpha)[1] - t) for t in (trial, theta)]
        return gaps[0] < 0.5 * gaps[1]

    def _direction(self, log_tilted: Floats, log_mixed: Floats, missing: Floats, alpha: float) -> Floats:
        """The derivative of ln Σ π_x R_x with respect to ln Q is (1−α)(I − P), P_yz = Σ_x p_R(x|y) R_xz."""
        shares = np.exp(np.log(self.weights)[:, None] + log_tilted - log_mixed)
        spread = shares.T @ np.exp(log_tilted)
        return np.asarray(np.linalg.solve(alpha * np.eye(len(missing)) + (1.0 - alpha) * spread, missing))

    def _tilted(self, theta: Floats, alpha: float) -> tuple[Floats, Floats]:
        """ln R_x, R_x ∝ C_x^α Q^{1−α}, and ln of their mixture under the prior."""
        exponent = alpha * (safe_log(self.rows) - theta) + theta
        log_tilted = exponent - logsumexp(exponent, axis=1)[:, None]
        return log_tilted, logsumexp(np.log(self.weights)[:, None] + log_tilted, axis=0)

    def _value(self, theta: Floats, alpha: float) -> float:
        return float(self.weights @ Renyi(alpha).between(self.rows, np.exp(theta)[None, :]))

    def _interval(self, theta: Floats, order: float) -> tuple[float, float]:
        log_tilted, log_mixed = self._tilted(theta, min(order, _SHARPEST))
        upper = self._value(theta, self.alpha)
        lower = upper - _excess(log_mixed - theta) if order == self.alpha < math.inf else 0.0
        if self.alpha > 1.0:
            lower = max(lower, self._dual(np.exp(log_tilted), np.exp(log_mixed)))
        return lower, upper

    def _dual(self, tilted: Floats, mixed: Floats) -> float:
        """I(π, R) − (α/(α−1)) Σ π_x D(R_x ‖ C_x), a lower bound for every R when α > 1."""
        ruler = Renyi(1.0)
        factor = 1.0 if math.isinf(self.alpha) else self.alpha / (self.alpha - 1.0)
        gained = float(self.weights @ ruler.between(tilted, mixed[None, :]))
        return gained - factor * float(self.weights @ ruler.between(tilted, self.rows))


def _excess(missing: Floats) -> float:
    """max_y Q_R/Q − 1: how far a linear bound at Q lies below the value (any order, by convexity)."""
    return float(np.max(np.expm1(np.clip(missing, None, 700.0))))
