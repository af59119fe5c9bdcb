"""Rulers: divergences that post-processing cannot lengthen."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

from leakcap.arrays import ArrayLike, np
from leakcap.errors import require, require_number
from leakcap.numeric.enclosure import INFINITE, Interval
from leakcap.numeric.logspace import Floats, exp_rest, logsumexp, safe_log

__all__ = ["Divergence", "HockeyStick", "Renyi", "TotalVariation"]

_NEAR = 0.1
"""Below this the Taylor series of e^x − 1 − x to x¹⁰ is exact to rounding, the closed form is not."""
_UNIT = 2.0**-53
_QUOTIENTS = 1e-290
"""Masses from here on have a quotient that neither overflows nor vanishes."""
_ADDED = 1 << 16
"""Masses whose sums are found exactly; those of more are taken in doubles, and their roundings added."""


@dataclass(frozen=True)
class Divergence(ABC):
    """D(P‖Q) between distributions over the same outcomes; in nats unless it is a probability.

    The law each keeps: D(PK‖QK) ≤ D(P‖Q) for every channel K (data processing).
    """

    @abstractmethod
    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """D(P‖Q) along the last axis; the other axes broadcast."""

    @abstractmethod
    def error(self, p: ArrayLike, q: ArrayLike, units: float = 0.0) -> Floats:
        """How far `between(p, q)` can be from D of the same rows divided by their sums, along the last axis.

        Roundings, and rows that do not sum to exactly one. `units` is how many halves of a last place each
        mass may itself be off by.
        """

    @abstractmethod
    def enclosed(self, p: Sequence[Interval], q: Sequence[Interval]) -> Interval:
        """D(P‖Q) of two laws over the same outcomes, each mass an interval; zeros are exact."""

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
        if type(alpha) is float and alpha > 0.0:  # the usual, and asked a million times in a search
            return
        require_number("alpha", "Renyi", alpha)
        require(alpha > 0 and not math.isnan(alpha), "alpha", "Renyi", "be positive, ∞ allowed", alpha)

    def between(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """D_α(P‖Q) along the last axis, computed in logarithms."""
        p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
        return self._of_losses(p, q, log_ratio(p, q))

    def _of_losses(self, p: Floats, q: Floats, loss: Floats) -> Floats:
        if math.isinf(self.alpha):
            return np.asarray(np.max(np.where(p > 0, loss, -np.inf), axis=-1))
        if self.alpha == 1.0:
            return np.asarray(np.sum(_excess(p, q, loss), axis=-1))
        return _power_mean(p, q, loss, self.alpha - 1.0)

    def error(self, p: ArrayLike, q: ArrayLike, units: float = 0.0) -> Floats:
        """Relative where `between` sums terms of one sign, absolute where it takes the logarithm of a sum.

        A logarithm of a quotient errs by ten halves of a last place, a term e^x − 1 − x by four hundred. Of
        rows that sum to 1 + r and 1 + s the sum of P·L − P + Q differs in second order only.
        """
        p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
        signed = log_ratio(p, q)
        value, missing = self._of_losses(p, q, signed), _missing(p) + _missing(q)
        value = np.where(np.isfinite(value), value, 0.0)
        if math.isinf(self.alpha):
            return np.asarray(_UNIT * (12.0 * np.abs(value) + 2.0 * units) + 1.01 * missing)
        loss = np.abs(signed)
        loss = np.where(np.isfinite(loss), loss, 0.0)
        t, size = abs(self.alpha - 1.0), p.shape[-1]
        moved = units * _UNIT * np.sum(p * loss + np.abs(q - p), axis=-1)
        blunt = 1.0 + 2.0 / min(self.alpha, 1.0)
        relative = (size + (450 if self.alpha < 1.0 else 950)) * _UNIT * blunt + 4.0 * (1.0 + t) * missing
        gentle = relative * value + 3.0 * max(self.alpha, 1.0) * moved + 8.0 * (1.0 + t) * missing**2
        if t == 0.0:
            return np.asarray(gentle)
        reach = np.max(loss, axis=-1)
        # An exponent errs by its size; what it does to the sum is its term's share of it.
        mass = np.where(p > 0, safe_log(np.where(p > 0, p, 1.0)), -np.inf)
        exponent = np.where(p > 0, mass + (self.alpha - 1.0) * np.where(q > 0, signed, 0.0), -np.inf)
        share = np.exp(exponent - np.max(exponent, axis=-1, keepdims=True, initial=-700.0))
        sizes = np.where(p > 0, 4.0 * np.abs(mass) + 12.0 * t * loss, 0.0)
        total = np.maximum(np.sum(share, axis=-1), 1e-300)
        steep = _UNIT * (np.sum(share * sizes, axis=-1) / total + size + 16.0) / t
        steep = steep + (1.01 * missing + units * _UNIT) * (self.alpha + t) / t
        return np.asarray(np.where(t * reach < _calm(self.alpha - 1.0), gentle, steep))

    def enclosed(self, p: Sequence[Interval], q: Sequence[Interval]) -> Interval:
        """ln Σ e^(ln P + (α−1) ln P/Q), over α − 1; the limits at 1 and ∞."""
        seen = [(a, b) for a, b in zip(p, q, strict=True) if not a.is_zero]
        both = [(a, b) for a, b in seen if not b.is_zero]
        digits = p[0].digits
        if not both or (len(both) < len(seen) and self.alpha >= 1.0):
            return Interval(INFINITE, INFINITE, digits)
        losses = [(a.log(), digits.of(0) if a is b else (a / b).log()) for a, b in both]
        if math.isinf(self.alpha):
            return reduce(Interval.or_more, (loss for _, loss in losses))
        if self.alpha == 1.0:
            return digits.sum(a * loss for (a, _), (_, loss) in zip(both, losses, strict=True))
        t = digits.of(self.alpha) - 1
        return digits.log_sum(mass + t * loss for mass, loss in losses) / t

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Orders below, at, near and far above one."""
        return tuple(cls(a) for a in (0.3, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1.5, 2.0, 8.0, 1e6, math.inf))


def log_ratio(p: Floats, q: Floats) -> Floats:
    """ln P/Q where P has mass (0 elsewhere); accurate where P and Q nearly agree.

    >>> log_ratio(np.array([0.5, 0.0]), np.array([0.5, 1.0])).tolist()
    [0.0, 0.0]
    """
    safe_p, safe_q = np.where(p > 0, p, 1.0), np.where((p > 0) & (q > 0), q, 1.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        near = np.log1p(np.where(p > 0, (safe_p - safe_q) / safe_q, 0.0))
    whole = np.minimum(safe_p, safe_q) > _QUOTIENTS
    far = np.where(whole, np.log(np.where(whole, safe_p / safe_q, 1.0)), np.log(safe_p) - np.log(safe_q))
    ratio = np.where(np.isfinite(near) & (np.abs(near) < 0.5), near, far)
    return np.where((p > 0) & (q <= 0), np.inf, np.where(p > 0, ratio, 0.0))


def _excess(p: Floats, q: Floats, loss: Floats) -> Floats:
    """The terms P·L − P + Q of Kullback–Leibler: none is negative, so nothing cancels when P is near Q."""
    finite = np.where(np.isfinite(loss), loss, 0.0)
    near = p * exp_rest(-np.clip(finite, -_NEAR, _NEAR))
    far = p * loss + (q - p)
    return np.where(p > 0, np.where(np.abs(loss) < _NEAR, near, np.maximum(far, 0.0)), q)


def _power_mean(p: Floats, q: Floats, loss: Floats, t: float) -> Floats:
    """(1/t) ln E_P[e^{tL}], which is D_{1+t}; −1 < t, t ≠ 0.

    Where no |tL| is large, E_P[e^{tL}] − 1 = Σ P(e^{tL} − 1 − tL) + t Σ (P·L − P + Q): all terms of second
    order and, for t > 0, of one sign, so that order 1 ± 10⁻¹² is as precise as order one.
    """
    exponent = np.where(p > 0, t * loss, -np.inf)
    gentle = np.max(np.where(p > 0, np.abs(exponent), 0.0), axis=-1) < _calm(t)
    rest, steep = np.zeros(gentle.shape), np.zeros(gentle.shape)
    if np.any(gentle):
        calm = np.where(gentle[..., None], loss, 0.0)
        rest = np.sum(p * exp_rest(t * calm) + t * _excess(p, q, calm), axis=-1)
    if not np.all(gentle):
        steep = logsumexp(safe_log(p) + exponent, axis=-1)
    value = np.where(gentle, np.log1p(np.where(gentle, rest, 0.0)), steep) / t
    return np.asarray(np.maximum(value, 0.0))


def _calm(t: float) -> float:
    """Up to which |tL| the sum of second order is taken: below order one its terms have two signs."""
    return 30.0 if t > 0.0 else 1.0


def _missing(rows: Floats) -> Floats:
    """How far the sums along the last axis are from one."""
    if rows.size <= _ADDED:
        flat = rows.reshape(-1, rows.shape[-1])
        return np.array([abs(math.fsum([*row, -1.0])) for row in flat.tolist()]).reshape(rows.shape[:-1])
    return np.asarray(np.abs(np.sum(rows, axis=-1) - 1.0) + rows.shape[-1] * _UNIT)


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

    def error(self, p: ArrayLike, q: ArrayLike, units: float = 0.0) -> Floats:
        """Each γQ errs by a rounding. Where P is surely not above it the truth is 0 too, and nothing errs."""
        p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
        missing = _missing(p) + _missing(q)
        margin = np.asarray(2.0 * missing + (4.0 * units + 8.0) * _UNIT)[..., None]
        below = (p <= self.exp_epsilon * q * (1.0 - margin)) & (q > _QUOTIENTS) & (margin < 0.1)
        counted = np.sum(np.where(below | (p == 0.0), 0.0, p), axis=-1)
        product = 0.0 if self.exp_epsilon in (0.0, 1.0) else 2.0
        roundings = _UNIT * ((product + 2.0 * units) * counted + (p.shape[-1] + 4.0) * self.between(p, q))
        return np.asarray(1.2 * roundings + 2.4 * missing * counted)

    def enclosed(self, p: Sequence[Interval], q: Sequence[Interval]) -> Interval:
        """Σ (P − γQ)₊."""
        excess = ((a - b * self.exp_epsilon).positive_part() for a, b in zip(p, q, strict=True))
        return p[0].digits.sum(excess)

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

    def error(self, p: ArrayLike, q: ArrayLike, units: float = 0.0) -> Floats:
        """Differences are rounded once, then added."""
        p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
        roundings = _UNIT * ((p.shape[-1] + 4.0) * self.between(p, q) + units)
        return np.asarray(roundings + 0.6 * (_missing(p) + _missing(q)))

    def enclosed(self, p: Sequence[Interval], q: Sequence[Interval]) -> Interval:
        """½ Σ |P − Q|."""
        return p[0].digits.sum((a - b).size() for a, b in zip(p, q, strict=True) if a is not b) / 2

    @property
    def unit(self) -> str:
        """A probability."""
        return "probability"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The only one."""
        return (cls(),)
