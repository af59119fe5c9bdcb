"""One record of a database under every limit of its class: dependence, entropies of single records, a floor.

Let a = P(x_i = v), P₀ and P₁ the laws of the database where x_i = v and where not, and r the others' records.
At a fixed a the limits are linear or concave: P₀(r) ≤ e^d P(r) and P₁(r) ≤ e^d P(r), which
I_∞(X_i; X_{−i}) ≤ d implies; H(X_j) ≥ t, where H(X_j) ≤ −E ln q_j(X_j) for every law q_j; H(X) ≥ b. Any
multipliers θ, θ', κ, λ ≥ 0 give an upper bound D(a) of A(1−La) − L(1−a)B over the class: perspectives of
convex functions of a, and (λ + κ_i)h(a), which lies below its tangents. As in `record_floor`, an interval of
a on which D is negative holds no belief of lift L. The multipliers come from a smooth convex problem in which
the dependence is solved for each r by itself: they only have to be good, the bound holds for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from leakcap.capacities.records.floor import FloorQuestion, binary_entropies
from leakcap.numeric.logspace import Floats
from leakcap.numeric.quasi_newton import minimum

__all__ = ["KnowledgeLimits", "Multipliers", "RecordDual"]

_UNIT = 2.0**-53
_TINY = 1e-300
_STEPS = 80


@dataclass(frozen=True)
class KnowledgeLimits:
    """H(X) ≥ floor, I_∞(X_i; X_{−i}) ≤ extent, H(X_j) ≥ least for each j in `uncertain` (0 is the record)."""

    floor: float
    extent: float
    least: float = 0.0
    uncertain: tuple[int, ...] = ()


@dataclass(frozen=True)
class Multipliers:
    """One for every limit, at one a and one lift, and the belief that goes with them."""

    slope: float
    inside: Floats
    outside: Floats
    weights: dict[int, float] = field(default_factory=dict)
    references: dict[int, Floats] = field(default_factory=dict)
    belief: Floats = field(default_factory=lambda: np.zeros(0))


class RecordDual:
    """Likelihoods of shape (values of the record, values of the second, …), the value asked for first."""

    def __init__(self, table: Floats, limits: KnowledgeLimits) -> None:
        self.table, self.limits = table, limits
        self.shape = table.shape
        flat = table.reshape(table.shape[0], -1)
        self.f0, self.f1 = flat[0], flat[1:]
        self.scale = float(flat.max())
        self.others = np.indices(table.shape[1:]).reshape(table.ndim - 1, self.f0.size)
        self.relaxed = FloorQuestion(self.f0, self.f1.ravel(), limits.floor)

    def multipliers(self, share: float, lift: float, blur: float) -> Multipliers:
        """The multipliers at one a, by a quasi-Newton method from those of the entropy floor alone.

        λ is kept so large that it costs a part `blur` of the likelihoods, which keeps the problem smooth.
        """
        return _Inner(self, share, lift, blur).solve()

    def excess(self, low: float, high: float, middle: float, lift: float, m: Multipliers) -> float:
        """A number that D does not exceed on [low, high]; negative: no belief of this lift there."""
        own = m.weights.get(0, 0.0)
        spread = self._spread(m)
        start, bend = (
            float(binary_entropies(np.array(middle))),
            math.log1p(-middle) - math.log(middle),
        )
        constant = m.slope * self.limits.floor + sum(m.weights.values()) * self.limits.least
        return max(
            self._at(share, lift, m, spread)
            + (m.slope + own) * (start + bend * (share - middle))
            - constant
            + self._noise(lift, m, constant)
            for share in (low, high)
        )

    def _spread(self, m: Multipliers) -> Floats:
        """Σ κ_j (−ln q_j(r_j)) for every value of the others' records."""
        total = np.zeros(self.f0.shape)
        for j, weight in m.weights.items():
            if j:
                total -= weight * np.log(m.references[j])[self.others[j - 1]]
        return total

    def _at(self, share: float, lift: float, m: Multipliers, spread: Floats) -> float:
        rest, reach = 1.0 - share, math.exp(min(self.limits.extent, 700.0))
        if math.isinf(self.limits.extent):
            push0, push1 = np.zeros_like(self.f0), np.zeros_like(self.f0)
        else:
            push0 = m.inside * (reach * share - 1.0) + m.outside * reach * share
            push1 = m.inside * reach * rest + m.outside * (reach * rest - 1.0)
        first = self.f0 * (1.0 - lift * share) + push0 + share * spread
        second = -lift * rest * self.f1 + (push1 + rest * spread)[None, :]
        if 0 in m.weights and len(self.f1) > 1:
            own = m.references[0][1:] / m.references[0][1:].sum()
            second = second - rest * m.weights[0] * np.log(own)[:, None]
        return _soft(first, m.slope * share) + _soft(second, m.slope * rest)

    def _noise(self, lift: float, m: Multipliers, constant: float) -> float:
        reach = math.exp(self.limits.extent) if math.isfinite(self.limits.extent) else 0.0
        pushed = float(m.inside.max(initial=0.0) + m.outside.max(initial=0.0)) * (1.0 + reach)
        logs = sum(w * float(-np.log(m.references[j]).min()) for j, w in m.weights.items())
        size = lift * self.scale + pushed + logs + constant + m.slope * (2.0 + math.log(self.table.size))
        return (16.0 * self.table.size + 256.0) * _UNIT * size


class _Inner:
    """The convex problem at one a: D is minimised over λ, κ, q_j; what keeps P(x_i = v) = a is a root."""

    def __init__(self, dual: RecordDual, share: float, lift: float, blur: float) -> None:
        self.dual, self.share, self.lift = dual, share, lift
        self.least = blur * float(dual.f0.max()) / math.log(dual.table.size)
        limits = dual.limits
        reach = math.exp(min(limits.extent, 700.0))
        self.top = min(1.0, reach * share)
        self.bottom = max(0.0, 1.0 - reach * (1.0 - share))
        self.uncertain = limits.uncertain
        self.sizes = [dual.shape[j] for j in self.uncertain]
        shares, lifts = np.array([share]), np.array([lift])
        self.start = max(float(dual.relaxed.slopes(shares, lifts)[0]), self.least)
        self.odds = math.log(share) - math.log1p(-share)

    def solve(self) -> Multipliers:
        count = len(self.uncertain)
        start = np.zeros(1 + count + sum(self.sizes))
        # Weights of the single entropies start where they matter little.
        start[1 : 1 + count] = math.log(0.1 * self.start)
        found = minimum(self._value, start)
        return self._read(found)

    def _parts(self, z: Floats) -> tuple[float, Floats, list[Floats]]:
        count = len(self.uncertain)
        slope = self.least + self.start * math.exp(min(float(z[0]), 40.0))
        weights = np.exp(np.clip(z[1 : 1 + count], -60.0, 40.0))
        cuts = np.cumsum(self.sizes)[:-1]
        logits = np.split(z[1 + count :], cuts) if count else []
        return slope, weights, [_softmax(part) for part in logits]

    def _belief(self, z: Floats) -> tuple[float, Floats, Floats, Floats]:
        """D, the belief over (values, others), and per r the pull A − B and the conditional share w."""
        dual = self.dual
        slope, weights, laws = self._parts(z)
        spread, own = np.zeros_like(dual.f0), np.zeros(dual.shape[0])
        for j, weight, law in zip(self.uncertain, weights, laws, strict=True):
            if j == 0:
                own = -weight * np.log(law)
            else:
                spread = spread - weight * np.log(law)[dual.others[j - 1]]
        plain = dual.f0 * (1.0 - self.lift * self.share) / self.share + spread + own[0]
        push = -self.lift * dual.f1 + spread + own[1:, None]
        tops = push.max(axis=0)
        inner = np.exp((push - tops) / slope)
        rest = tops + slope * np.log(inner.sum(axis=0))
        inner /= inner.sum(axis=0)
        # One number is added to every pull so that P(x_i = v) = a, which rises with it: Newton's method, and
        # halves of the bracket where it would leave it.
        if self.bottom == 0.0 and self.top == 1.0:
            low = high = _soft(rest, slope) - _soft(plain, slope) + slope * self.odds
        else:
            needed = rest - plain + slope * self.odds
            low, high = float(needed.min()), float(needed.max())
        mass = 0.5 * (low + high)
        value, inside, outside, held = self._split(mass, plain, rest, slope)
        resolved = 4.0 * _UNIT * max(abs(low), abs(high))
        for _ in range(_STEPS):
            if high - low <= resolved:
                break
            reached = float(inside.sum())
            low, high = (mass, high) if reached < self.share else (low, mass)
            free = (held > self.bottom) & (held < self.top)
            bend = float(np.where(free, inside, inside * held).sum()) - reached * reached
            step = slope * (self.share - reached) / bend if bend > 0.0 else math.inf
            if abs(step) <= resolved:
                break
            mass = mass + step if low < mass + step < high else 0.5 * (low + high)
            value, inside, outside, held = self._split(mass, plain, rest, slope)
        value -= mass * self.share + slope * dual.limits.floor + float(weights.sum()) * dual.limits.least
        return value, np.vstack([inside, outside * inner]), plain + mass - rest, held

    def _split(
        self, push: float, plain: Floats, rest: Floats, slope: float
    ) -> tuple[float, Floats, Floats, Floats]:
        """λ ln Σ, what each r has of the belief with the value and without, and w."""
        pull = plain + push
        odds = np.clip((pull - rest) / slope, -700.0, 700.0)
        held = np.clip(1.0 / (1.0 + np.exp(-odds)), self.bottom, self.top)
        level = held * pull + (1.0 - held) * rest + slope * binary_entropies(held)
        top = float(level.max())
        outer = np.exp((level - top) / slope)
        total = float(outer.sum())
        outer /= total
        return top + slope * math.log(total), outer * held, outer * (1.0 - held), held

    def _value(self, z: Floats) -> tuple[float, Floats]:
        dual = self.dual
        slope, weights, laws = self._parts(z)
        value, belief, *_ = self._belief(z)
        entropy = -float((belief * np.log(np.maximum(belief, _TINY))).sum())
        slant = np.zeros_like(z)
        slant[0] = (slope - self.least) * (entropy - dual.limits.floor)
        whole, place = belief.reshape(dual.shape), 1 + len(self.uncertain)
        for n, (j, weight, law) in enumerate(zip(self.uncertain, weights, laws, strict=True)):
            marginal = whole.sum(axis=tuple(axis for axis in range(whole.ndim) if axis != j))
            slant[1 + n] = weight * (-float(marginal @ np.log(law)) - dual.limits.least)
            slant[place : place + law.size] = weight * (law - marginal)
            place += law.size
        return value / dual.scale, slant / dual.scale

    def _read(self, z: Floats) -> Multipliers:
        slope, weights, laws = self._parts(z)
        _, belief, gap, held = self._belief(z)
        clipped_up = (held >= self.top) & (self.top < 1.0)
        clipped_down = (held <= self.bottom) & (self.bottom > 0.0)
        inside, outside = np.zeros_like(held), np.zeros_like(held)
        if self.top < 1.0:
            eta = gap + slope * (math.log1p(-self.top) - math.log(self.top))
            inside = np.where(clipped_up, self.share * np.maximum(eta, 0.0), 0.0)
        if self.bottom > 0.0:
            eta = gap + slope * (math.log1p(-self.bottom) - math.log(self.bottom))
            outside = np.where(clipped_down, (1.0 - self.share) * np.maximum(-eta, 0.0), 0.0)
        named = dict(zip(self.uncertain, (float(w) for w in weights), strict=True))
        return Multipliers(
            slope, inside, outside, named, dict(zip(self.uncertain, laws, strict=True)), belief
        )


def _soft(values: Floats, width: float) -> float:
    """width·ln Σ e^{v/width}; the largest value at width 0."""
    top = float(values.max())
    return top + width * math.log(float(np.exp((values - top) / width).sum())) if width > _TINY else top


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(np.clip(logits - logits.max(), -600.0, 0.0))
    return np.asarray(weights / weights.sum())
