"""The level-α capacity of two secrets: one dimension, searched to the end by branch and bound.

With p the belief in the first of two secrets, rows a and b, q = pa + (1−p)b and t = α − 1, the leakage
D_α(P_XY ‖ P_X×P_Y) is ln(1 + tE(p))/t, rising in

    E(p) = Σ_y [p a ((a/q)^t − 1) + (1−p) b ((b/q)^t − 1)]/t,
    −E''(p) = Σ_y (d/q) [A (2b + (2−α)pd) − B (2b + αd + (2−α)pd)],  A = (a/q)^α, B = (b/q)^α, d = a − b.

E is concave at α = 2 but not in general. On an interval of width h it stays below the larger end plus
h²/8 times an upper bound of −E'', each term of which is linear in p times a power of q, both monotone; a
column seen under one secret only is a(p^{2−α} − p)/t, unimodal with a known peak. Intervals that cannot
hold the maximum are dropped, the others halved: what remains is a proof, not a belief in unimodality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from leakcap.arrays import np
from leakcap.numeric.logspace import Floats

__all__ = ["BinaryLevel", "binary_level"]

_UNIT = 2.0**-53
_ROUNDS = 400
_MOST = 4096
_SMALLEST = 1e-280


@dataclass(frozen=True)
class BinaryLevel:
    """lower ≤ C_α ≤ upper, and the prior that attains the lower end."""

    lower: float
    upper: float
    prior: tuple[float, float]


def binary_level(first: Floats, second: Floats, alpha: float, *, gap: float = 1e-9) -> BinaryLevel:
    """sup over beliefs in one of two secrets of D_α(P_XY ‖ P_X×P_Y), α ∈ (0, ∞), α ≠ 1.

    Infinite where α > 2 and an outcome has mass under one secret only.

    >>> half = binary_level(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 2.0)
    >>> round(half.lower, 9), half.prior
    (0.223143551, (0.5, 0.5))
    """
    lonely = (first > 0) != (second > 0)
    if alpha > 2.0 and lonely.any():
        return BinaryLevel(math.inf, math.inf, (0.0, 1.0) if (first[lonely] > 0).any() else (1.0, 0.0))
    left = _Half(first, second, alpha).solve(gap)
    # A symmetric pair: the other half is this one with its columns turned round.
    right = left if np.array_equal(first, second[::-1]) else _Half(second, first, alpha).solve(gap)
    best, flip = (left, False) if left.lower >= right.lower else (right, True)
    upper = max(left.upper, right.upper, best.lower)
    return BinaryLevel(best.lower, upper, best.prior[::-1] if flip else best.prior)


class _Half:
    """Beliefs p in [0, ½] in the first of two rows."""

    def __init__(self, first: Floats, second: Floats, alpha: float) -> None:
        both = (first > 0) & (second > 0)
        self.a, self.b = first[both], second[both]
        self.rare, self.usual = first[(first > 0) & ~both], second[(second > 0) & ~both]
        self.alpha, self.t = alpha, alpha - 1.0
        self.d = self.a - self.b
        logs = np.abs(np.log(np.concatenate([first[first > 0], second[second > 0]])))
        self.widest = float(np.max(np.abs(np.log(self.a) - np.log(self.b)), initial=0.0))
        # For large orders everything is divided by e^{shift}: no ratio exceeds e^{widest}.
        self.shift = self.t * self.widest if alpha > 2.0 and self.t * self.widest > 30.0 else 0.0
        residue = abs(float(first.sum()) - 1.0) + abs(float(second.sum()) - 1.0)
        # Each logarithm errs by a few units of its size, each sum by its length, unnormalised rows by more.
        self.tilt = 8.0 * (1.0 + float(logs.max())) * _UNIT + 4.0 * (residue + first.size * _UNIT)
        self.fuzz = (first.size + 60.0) * _UNIT + self.tilt

    def solve(self, gap: float) -> BinaryLevel:
        edges = np.concatenate([[0.0], 0.5 * 2.0 ** -np.arange(24.0, -1.0, -1.0)])
        low, high = edges[:-1], edges[1:]
        best, belief, bound = -math.inf, 0.0, math.inf
        for _ in range(_ROUNDS):
            at_low, at_high, ceiling = self._bounds(low, high)
            if self.alpha == 2.0 and self.rare.size:
                # The jump at p = 0 bounds from above, but no belief attains it.
                at_low = np.where(low > 0, at_low, -np.inf)
            ends = np.concatenate([at_low, at_high])
            top = int(np.argmax(ends))
            if ends[top] > best:
                best, belief = float(ends[top]), float(np.concatenate([low, high])[top])
            bound = max(best, float(ceiling.max(initial=-math.inf)))
            if self._leakage(bound, 1.0) - self._leakage(best, -1.0) <= gap or low.size > _MOST:
                break
            open_ = (ceiling > best) & (high > _SMALLEST)
            stuck = float(ceiling[(ceiling > best) & ~open_].max(initial=-math.inf))
            if not open_.any() or stuck >= bound:
                break
            low, high = _split(low[open_], high[open_])
        lower = max(self._leakage(best, -1.0), 0.0)
        return BinaryLevel(lower, max(self._leakage(bound, 1.0), lower), (belief, 1.0 - belief))

    def _leakage(self, scaled: float, outward: float) -> float:
        """ln(1 + tE)/t from the scaled E, pushed outward by what rounding can have moved it."""
        if self.shift:
            # Here `scaled` is (1 + tE)e^{−shift}, a sum of positive terms.
            relative = outward * (self.fuzz + self.t * self.tilt)
            return (math.log(max(scaled, 1e-300)) + self.shift + relative) / self.t
        # An exponent's error is multiplied by e^{tL}, which averages to 1 + tE.
        value = scaled + outward * self.fuzz * (1.0 + abs(scaled) + abs(1.0 + self.t * scaled))
        inside = self.t * value
        return math.inf if inside <= -1.0 else math.log1p(inside) / self.t + outward * self.fuzz

    def _bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """The objective at both ends and a number it does not exceed between."""
        at_low, at_high = self._mixed(low), self._mixed(high)
        width = high - low
        bend = np.maximum(self._concavity(low, high), 0.0) * width * width / 8.0
        rare_low, rare_high = self._rare(low), self._rare(high)
        chord = np.maximum(at_low + rare_low, at_high + rare_high) + bend + self._rare_bend(low, width)
        apart = np.maximum(at_low, at_high) + bend + self._rare_most(low, high)
        return at_low + rare_low, at_high + rare_high, np.minimum(chord, apart)

    def _mixed(self, p: Floats) -> Floats:
        """Columns with mass in both rows, and those of the second row only, which are smooth on [0, ½]."""
        p = p[:, None]
        q = self.b + p * self.d
        log_a, log_b = np.log(self.a) - np.log(q), np.log(self.b) - np.log(q)
        if self.shift:
            power_a, power_b = np.exp(self.t * (log_a - self.widest)), np.exp(self.t * (log_b - self.widest))
            return np.asarray(np.sum(p * self.a * power_a + (1 - p) * self.b * power_b, axis=1))
        near = np.where(np.abs(self.d) < 0.5 * q, self.d / q, 0.0)
        near_a = np.where(near != 0.0, np.log1p((1 - p) * near), log_a)
        near_b = np.where(near != 0.0, np.log1p(-p * near), log_b)
        terms = p * self.a * np.expm1(self.t * near_a) + (1 - p) * self.b * np.expm1(self.t * near_b)
        return np.asarray(np.sum(terms, axis=1) / self.t) + self._lonely(self.usual, 1.0 - p[:, 0])

    def _rare(self, p: Floats) -> Floats:
        """Columns of the first row only: a p (p^{−t} − 1)/t."""
        # At p = 0 the limit; for α = 2 it is a jump, counted on the side of the upper bound.
        start = float(self.rare.sum()) if self.alpha == 2.0 else 0.0
        return np.where(p > 0, self._lonely(self.rare, np.where(p > 0, p, 1.0)), start)

    def _lonely(self, column: Floats, weight: Floats) -> Floats:
        """Columns of one row only, of weight w: a w (w^{−t} − 1)/t."""
        if not column.size:
            return np.zeros_like(weight)
        return np.asarray(float(column.sum()) * weight * np.expm1(-self.t * np.log(weight)) / self.t)

    def _rare_most(self, low: Floats, high: Floats) -> Floats:
        """The largest value of those columns on each interval: p^{2−α} − p rises up to (2−α)^{1/t}."""
        peak = (2.0 - self.alpha) ** (1.0 / self.t) if self.rare.size else 0.0
        return self._rare(np.clip(peak, low, high))

    def _rare_bend(self, low: Floats, width: Floats) -> Floats:
        """h²/8 times the largest −E'' = a(2−α)p^{−α} of those columns; no bound at p = 0."""
        if not self.rare.size:
            return np.zeros_like(low)
        safe = np.where(low > 0, low, 1.0)
        bend = float(self.rare.sum()) * (2.0 - self.alpha) * safe**-self.alpha * width * width / 8.0
        return np.where(low > 0, bend, np.inf)

    def _concavity(self, low: Floats, high: Floats) -> Floats:
        """An upper bound of −E'' on each interval, from the range of q."""
        q_low, q_high = self.b + low[:, None] * self.d, self.b + high[:, None] * self.d
        least, most = np.minimum(q_low, q_high), np.maximum(q_low, q_high)
        factor = self.t if self.shift else 1.0
        sharp = np.full(q_low.shape, -np.inf)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for centre in (least, most):
                power_a, power_b = self._power(np.log(self.a), centre), self._power(np.log(self.b), centre)
                for end in (low, high):
                    slide = 2.0 * self.b + (2.0 - self.alpha) * end[:, None] * self.d
                    lifts, falls = power_a * slide, power_b * (slide + self.alpha * self.d)
                    value = self.d / centre * (lifts - falls)
                    value += 64.0 * _UNIT * np.abs(self.d) / centre * (np.abs(lifts) + np.abs(falls))
                    sharp = np.maximum(sharp, np.where(np.isnan(value), np.inf, value))
        total = np.sum(sharp, axis=1) * factor
        # (1−p)^{2−α}: −E'' = (2−α)(1−p)^{−α}, largest at the right end and negative for no α ≤ 2.
        if self.usual.size:
            total = total + float(self.usual.sum()) * (2.0 - self.alpha) * (1.0 - high) ** -self.alpha
        return np.asarray(np.where(np.isnan(total), np.inf, total))

    def _power(self, log_row: Floats, centre: Floats) -> Floats:
        """(row/q)^α, divided by e^{shift} at large orders; where it overflows there is no bound."""
        return np.asarray(np.exp(self.alpha * (log_row - np.log(centre)) - self.shift))


def _split(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Halves; one that starts at zero is cut a thousandfold lower, as the slope may be infinite."""
    middle = np.where(low == 0.0, high / 1024.0, 0.5 * (low + high))
    return np.concatenate([low, middle]), np.concatenate([middle, high])
