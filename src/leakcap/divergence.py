"""Rulers: divergences that post-processing cannot lengthen."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import require, require_number
from leakcap.numeric.logspace import Floats, logsumexp, safe_log

__all__ = ["Divergence", "HockeyStick", "Renyi", "TotalVariation"]

_NEAR = 1e-2
"""Below this the Taylor series of e^x − 1 − x to x⁶ is exact to rounding, the closed form is not."""


@dataclass(frozen=True)
class Divergence(ABC):
    """D(P‖Q) between distributions over the same outcomes; in nats unless it is a probability.

    The law each keeps: D(PK‖QK) ≤ D(P‖Q) for every channel K (data processing).
    """

    @abstractmethod
    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """D(P‖Q) along the last axis; the other axes broadcast."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Rulers on which the laws are tested."""

    @property
    def unit(self) -> str:
        """`nats` or `probability`."""
        return "nats"


@dataclass(frozen=True)
class Renyi(Divergence):
    """Rényi divergence of order α ∈ (0, ∞]: (1/(α−1)) ln Σ P^α Q^(1−α).

    α = 1 is Kullback–Leibler, α = ∞ the max-divergence ln max P/Q. Zero where P = Q; +∞ for α ≥ 1 where
    P has mass and Q none. Source: Rényi 1961; van Erven & Harremoës 2014.

    >>> round(float(Renyi(1).between([0.5, 0.5], [0.25, 0.75])), 12)
    0.143841036226
    """

    alpha: float

    def __post_init__(self) -> None:
        alpha = self.alpha
        require_number("alpha", "Renyi", alpha)
        require(alpha > 0 and not math.isnan(alpha), "alpha", "Renyi", "be positive, ∞ allowed", alpha)

    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """D_α(P‖Q) along the last axis, computed in logarithms."""
        p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
        log_ratio = _log_ratio(p, q)
        if math.isinf(self.alpha):
            return np.asarray(np.max(np.where(p > 0, log_ratio, -np.inf), axis=-1))
        if self.alpha == 1.0:
            return np.asarray(np.sum(_excess(p, q, log_ratio), axis=-1))
        return _power_mean(p, q, log_ratio, self.alpha - 1.0)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Orders below, at, near and far above one."""
        return tuple(cls(a) for a in (0.3, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1.5, 2.0, 8.0, 1e6, math.inf))


def _log_ratio(p: Floats, q: Floats) -> Floats:
    """ln P/Q where P has mass (0 elsewhere); accurate where P and Q nearly agree."""
    safe_p, safe_q = np.where(p > 0, p, 1.0), np.where((p > 0) & (q > 0), q, 1.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        near = np.log1p(np.where(p > 0, (safe_p - safe_q) / safe_q, 0.0))
    far = np.log(safe_p) - np.log(safe_q)
    ratio = np.where(np.isfinite(near) & (np.abs(near) < 0.5), near, far)
    return np.where((p > 0) & (q <= 0), np.inf, np.where(p > 0, ratio, 0.0))


def _excess(p: Floats, q: Floats, log_ratio: Floats) -> Floats:
    """The terms P·L − P + Q of Kullback–Leibler: none is negative, so nothing cancels when P is near Q."""
    finite = np.where(np.isfinite(log_ratio), log_ratio, 0.0)
    near = p * _exp_rest(-np.clip(finite, -_NEAR, _NEAR))
    far = p * log_ratio + (q - p)
    return np.where(p > 0, np.where(np.abs(log_ratio) < _NEAR, near, np.maximum(far, 0.0)), q)


def _power_mean(p: Floats, q: Floats, log_ratio: Floats, t: float) -> Floats:
    """(1/t) ln E_P[e^{tL}], which is D_{1+t}; −1 < t, t ≠ 0.

    Where no |tL| reaches one, E_P[e^{tL}] − 1 = Σ P(e^{tL} − 1 − tL) + t Σ (P·L − P + Q): all terms of second
    order and, for t > 0, of one sign, so that order 1 ± 10⁻¹² is as precise as order one.
    """
    exponent = np.where(p > 0, t * log_ratio, -np.inf)
    gentle = np.max(np.where(p > 0, np.abs(exponent), 0.0), axis=-1) < 1.0
    calm = np.where(gentle[..., None], log_ratio, 0.0)
    rest = np.sum(p * _exp_rest(t * calm) + t * _excess(p, q, calm), axis=-1)
    steep = logsumexp(safe_log(p) + exponent, axis=-1)
    value = np.where(gentle, np.log1p(np.where(gentle, rest, 0.0)), steep) / t
    return np.asarray(np.maximum(value, 0.0))


def _exp_rest(x: Floats) -> Floats:
    """e^x − 1 − x, precise near zero."""
    small = np.where(np.abs(x) < _NEAR, x, 0.0)
    series = small**2 * (0.5 + small / 6 + small**2 / 24 + small**3 / 120 + small**4 / 720)
    return np.where(np.abs(x) < _NEAR, series, np.expm1(x) - x)


@dataclass(frozen=True)
class HockeyStick(Divergence):
    """Hockey-stick divergence Σ (P − γQ)₊ with γ = e^ε ≥ 0; γ = 1 is total variation. A probability.

    (ε, δ)-closeness is HockeyStick(e^ε) ≤ δ in both directions.
    Source: Sason & Verdú 2016; Barthe & Olmedo 2013.

    >>> round(float(HockeyStick(2.0).between([0.9, 0.1], [0.3, 0.7])), 12)
    0.3
    """

    exp_epsilon: float

    def __post_init__(self) -> None:
        require_number("exp_epsilon", "HockeyStick", self.exp_epsilon)
        ok = self.exp_epsilon >= 0 and math.isfinite(self.exp_epsilon)
        require(ok, "exp_epsilon", "HockeyStick", "be a finite number ≥ 0 (it is e^ε)", self.exp_epsilon)

    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Σ (P − γQ)₊ along the last axis."""
        p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        return np.asarray(np.sum(np.maximum(p - self.exp_epsilon * q, 0.0), axis=-1))

    @property
    def unit(self) -> str:
        """A probability."""
        return "probability"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """ε = 0, ½, 1, 4 and a γ below one."""
        return tuple(cls(g) for g in (0.5, 1.0, math.exp(0.5), math.e, math.exp(4.0)))


@dataclass(frozen=True)
class TotalVariation(Divergence):
    """Total variation distance ½ Σ |P − Q|: the advantage of the best test between two secrets.

    >>> float(TotalVariation().between([1.0, 0.0], [0.5, 0.5]))
    0.5
    """

    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """½ Σ |P − Q| along the last axis."""
        p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        return np.asarray(0.5 * np.sum(np.abs(p - q), axis=-1))

    @property
    def unit(self) -> str:
        """A probability."""
        return "probability"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The only one."""
        return (cls(),)
