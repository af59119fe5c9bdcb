"""The privacy loss of a pair of neighbouring secrets, as a value that adds up over queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from numpy.typing import ArrayLike

from leakcap.accounting.contour import (
    chernoff,
    log_mean,
    make_contour,
    saddle_for_delta,
    saddle_for_epsilon,
)
from leakcap.accounting.convolve import bracket_around
from leakcap.accounting.exact import Enumeration, enumerate_losses
from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.lattice import Lattice, common_lattice
from leakcap.accounting.pairs import loss_of
from leakcap.accounting.part import Ends, Part
from leakcap.accounting.sampled import sampled
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.rounding import down, up

__all__ = ["Curve", "PrivacyLoss", "curve_near"]

_WIDE = 1e-8
_FINE = 1e-9
_ROUGH = 1e-6
_FALLBACK = 1 << 17
_CONTOUR = "saddle-point contour"
_GRID = "FFT on a grid"


class _Enclosure(Protocol):
    def delta(self, epsilon: float) -> tuple[float, float]: ...


@dataclass(frozen=True)
class PrivacyLoss:
    """L = ln P(outputs)/Q(outputs) over all queries, with outputs from P: everything two secrets show.

    A sum of independent parts, each with a count; an adaptive choice of queries is covered as long as
    each is dominated by its part. It is directed: P is the secret that holds, Q the one it is told
    from; `reverse` swaps them. (ε, δ)-DP for a neighbouring relation needs both, `epsilon_both`.

        a & b       both queries             a ** 1000    the same query a thousand times
        PrivacyLoss.of({a: 3, b: 2})         counts by kind

    Source: Dwork & Rothblum 2016; Sommer, Meiser & Mohammadi 2019; Zhu, Dong & Wang 2022 for domination.

    >>> from leakcap.mechanism import Laplace
    >>> (PrivacyLoss.of_mechanism(Laplace(10.0)) ** 1000).epsilon(1e-6)
    Bound(lower=18.95028736..., upper=18.95028736..., ...)
    """

    parts: tuple[tuple[Part, int], ...]

    def __post_init__(self) -> None:
        for _, count in self.parts:
            require(count >= 1, "count", "PrivacyLoss", "be at least 1", count)

    @staticmethod
    def of_rows(p: ArrayLike, q: ArrayLike) -> PrivacyLoss:
        """The loss of the row `p` against the row `q`, over the same outcomes.

        >>> round(PrivacyLoss.of_rows([0.9, 0.1], [0.1, 0.9]).total_variation().upper, 9)
        0.8
        """
        return PrivacyLoss(((finite_loss(p, q), 1),))

    @staticmethod
    def of_channel(channel: Channel, first: Hashable, second: Hashable) -> PrivacyLoss:
        """The loss between two inputs of a channel, by label: `first` holds.

        >>> PrivacyLoss.of_channel(Channel([[1.0, 0.0], [0.5, 0.5]]), 0, 1).reverse.infinite
        0.5
        """
        rows = channel.restricted([first, second]).matrix
        return PrivacyLoss.of_rows(rows[0], rows[1])

    @staticmethod
    def of_mechanism(mechanism: object) -> PrivacyLoss:
        """The loss of the pair of secrets that dominates all others, at the mechanism's sensitivity.

        Raises `InvalidParameter` for a mechanism without such a pair: give two rows instead.

        >>> from leakcap.mechanism import Gaussian
        >>> PrivacyLoss.of_mechanism(Gaussian(2.0)).renyi(4.0).upper
        0.5
        """
        return PrivacyLoss(((loss_of(mechanism), 1),))

    @staticmethod
    def of(losses: Mapping[PrivacyLoss, int] | Iterable[PrivacyLoss]) -> PrivacyLoss:
        """All queries together: losses, or a count for each loss.

        >>> coin = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
        >>> PrivacyLoss.of({coin: 3}) == PrivacyLoss.of([coin, coin, coin])
        True
        """
        items = losses.items() if isinstance(losses, Mapping) else ((loss, 1) for loss in losses)
        counted: dict[Part, int] = {}
        for loss, times in items:
            whole = isinstance(times, int) and not isinstance(times, bool) and times >= 1
            require(whole, "count", "PrivacyLoss", "be an integer of at least 1", times)
            for part, count in loss.parts:
                counted[part] = counted.get(part, 0) + count * times
        return PrivacyLoss(tuple(counted.items()))

    def __and__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Both queries, with fresh noise."""
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return PrivacyLoss.of([self, other])

    def __pow__(self, times: int) -> PrivacyLoss:
        """The same `times` over, with fresh noise each time."""
        return PrivacyLoss.of({self: times})

    def __repr__(self) -> str:
        """How many queries of how many kinds."""
        return f"<PrivacyLoss of {self.queries} queries of {len(self.parts)} kinds>"

    @property
    def queries(self) -> int:
        """How many parts, counted."""
        return sum(count for _, count in self.parts)

    @property
    def reverse(self) -> PrivacyLoss:
        """The other direction: Q holds, and is told from P."""
        return PrivacyLoss(tuple((part.reverse, count) for part, count in self.parts))

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions are the same distribution."""
        return set(self.reverse.parts) == set(self.parts)

    @property
    def infinite(self) -> float:
        """P's mass on outputs impossible under Q: δ never falls below it."""
        if any(part.infinite >= 1.0 for part, _ in self.parts):
            return 1.0
        return -math.expm1(sum(count * math.log1p(-part.infinite) for part, count in self.parts))

    def sampled(self, rate: float) -> PrivacyLoss:
        """One query on a Poisson sample: each person is in it with probability `rate`, unseen.

        For add/remove-one: the side of removal, (1−rate)Q + rate·P against Q; `.reverse` is that of
        adding when the loss is symmetric (for another, take `loss.reverse.sampled(rate).reverse`).
        Compose the sampled loss: a sample is drawn anew for each query.
        Source: Zhu, Dong & Wang 2022, theorem 11.
        """
        return PrivacyLoss(((sampled(self._single("sampled"), rate), 1),))

    def sampled_fixed(self, rate: float) -> PrivacyLoss:
        """One query on a sample of fixed size, the fraction `rate` of a table of public size.

        For replace-one, both directions at once: above ε = 0 the profile is that of (1−rate)Q + rate·P
        against Q, below it that of P against (1−rate)P + rate·Q. For finite losses.
        Source: Zhu, Dong & Wang 2022, theorem 11; Balle, Barthe & Gaboardi 2018.
        """
        from leakcap.accounting.fixed_size import fixed_size

        return PrivacyLoss(((fixed_size(self._single("sampled_fixed"), rate), 1),))

    def _single(self, verb: str) -> Part:
        if self.queries != 1:
            raise InvalidParameter(
                f"`{verb}` takes the loss of one query. Got {self!r}. Sample each query, then compose; "
                "queries on one shared sample are one query: give its rows."
            )
        return self.parts[0][0]

    def delta(self, epsilon: float) -> Bound:
        """δ(ε) = sup over events of P − e^ε Q: the hockey-stick divergence, of any real ε.

        By the contour; by every combination of outcomes where they are few, by the grid where the transform
        does not fall off. The interval holds aliases, truncation and rounding.
        """
        require(math.isfinite(epsilon), "epsilon", "PrivacyLoss.delta", "be finite", epsilon)
        curve = curve_near(self, epsilon)
        return _probability(*curve.delta(epsilon), curve.method)

    def delta_by_grid(self, epsilon: float, *, width: float = 2e-4, points: int = 1 << 20) -> Bound:
        """δ(ε) by the FFT alone, a certified bracket; `width` in ε is what the step is chosen for."""
        low, high = bracket_around(self.parts, epsilon=epsilon, width=width, points=points).delta(epsilon)
        return _probability(low, high, _GRID)

    def epsilon(self, delta: float) -> Bound:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, in nats; ∞ where there is none."""
        edge = self._edge(delta)
        if edge is not None:
            return edge
        if self.queries == 1 and self.parts[0][0].hockey_stick(0.0) is not None:
            return self._closed_epsilon(delta)
        start = max(saddle_for_delta(self.parts, delta - self.infinite)[1], 0.0)
        near = min(start, self.largest - 1e-6 * abs(self.largest)) if math.isfinite(self.largest) else start
        found = _inverse(curve_near(self, near), delta, start, self._pure()[1])
        for _ in range(2):
            if found.width <= _WIDE * min(1.0, found.upper):
                break
            better = _inverse(curve_near(self, found.midpoint), delta, start, self._pure()[1])
            found = _meet(found, better)
        return found

    def _closed_epsilon(self, delta: float) -> Bound:
        """Of one query with a closed form, which needs no saddle: its support, or a doubled ε, is enough."""
        curve, start, pure = (
            Curve(_Closed(self.parts[0][0]), "closed form", self.infinite),
            1.0,
            self._pure()[1],
        )
        while start < pure and curve.delta(start)[1] > delta:
            start *= 2.0
        return _inverse(curve, delta, min(start, pure), pure)

    def epsilon_by_grid(self, delta: float, *, width: float = 2e-4, points: int = 1 << 20) -> Bound:
        """ε(δ) by the FFT alone, a certified bracket."""
        edge = self._edge(delta)
        if edge is not None:
            return edge
        bracket = bracket_around(self.parts, delta=delta - self.infinite, width=width, points=points)
        start = max(saddle_for_delta(self.parts, delta - self.infinite)[1], 0.0)
        return _inverse(Curve(bracket, _GRID), delta, start, self._pure()[1])

    @property
    def largest(self) -> float:
        """The largest finite total loss, ∞ for noise without bounds."""
        return sum(count * part.support()[1] for part, count in self.parts)

    def _pure(self) -> Ends:
        """The largest finite total loss where it is positive, enclosed."""
        if self.infinite == 0.0:
            found = self.renyi(math.inf)
            return found.lower, found.upper
        return max(down(self.largest, 16), 0.0), max(up(self.largest, 16), 0.0)

    def _edge(self, delta: float) -> Bound | None:
        """Answers that need no integral: pure ε at δ = 0, ∞ below the infinite mass, 0 for a large δ."""
        require(0 <= delta <= 1, "delta", "PrivacyLoss", "be a probability in [0, 1]", delta)
        if self.infinite >= delta and (self.infinite > 0.0 or delta == 0.0):
            pure = self._pure() if self.infinite == delta else (math.inf, math.inf)
            return Bound.enclosed(pure, method="support of the loss")
        if delta >= 1.0:
            return Bound.exact(0.0, method="support of the loss")
        return None

    def delta_both(self, epsilon: float) -> Bound:
        """The larger of both directions' δ(ε): what (ε, δ)-DP means."""
        mine = self.delta(epsilon)
        return mine if self.is_symmetric else _larger(mine, self.reverse.delta(epsilon))

    def epsilon_both(self, delta: float) -> Bound:
        """The larger of both directions' ε(δ)."""
        mine = self.epsilon(delta)
        return mine if self.is_symmetric else _larger(mine, self.reverse.epsilon(delta))

    def total_variation(self) -> Bound:
        """δ(0): the advantage of the best test."""
        return self.delta(0.0)

    def renyi(self, alpha: float) -> Bound:
        """D_α(P‖Q) of all queries, the sum of the parts', in nats; α ∈ (0, ∞]."""
        require(alpha > 0 and not math.isnan(alpha), "alpha", "PrivacyLoss.renyi", "be positive", alpha)
        ends = [(part.renyi(alpha), count) for part, count in self.parts]
        low, high = (math.fsum(count * end[side] for end, count in ends) for side in (0, 1))
        if self.queries > 1:
            low, high = down(low, 2), up(high, 2)
        return Bound.enclosed((low, high), method="sum over the queries")

    def kullback_leibler(self) -> Bound:
        """KL(P‖Q) in nats, the mean of L; a cap on the mutual information about which of the two holds."""
        return self.renyi(1.0)

    def chernoff(self, epsilon: float) -> float:
        """The least bound on δ(ε) that one Rényi order gives: what an accountant of moments reports."""
        c = saddle_for_epsilon(self.parts, epsilon)
        return min(self.infinite + math.exp(min(chernoff(self.parts, epsilon, c), 0.0)), 1.0)

    def log_transform(self, z: float) -> float:
        """K(z) = ln E[e^{zL}; L finite] for real z."""
        return log_mean(self.parts, z)


@dataclass(frozen=True)
class Curve:
    """δ(ε) enclosed, infinite losses included; losses are uncertain by `slack`."""

    finite: _Enclosure
    method: str
    infinite: float = 0.0
    slack: float = 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of δ(ε)."""
        if self.slack == 0.0:
            low, high = self.finite.delta(epsilon)
        else:
            low, high = self.finite.delta(epsilon + self.slack)[0], self.finite.delta(epsilon - self.slack)[1]
        return min(low + self.infinite, 1.0), min(high + self.infinite, 1.0)


@dataclass(frozen=True)
class _Closed:
    """A single query's closed form."""

    part: Part

    def delta(self, epsilon: float) -> tuple[float, float]:
        return self.part.hockey_stick(epsilon) or (0.0, 1.0)


@dataclass(frozen=True)
class _Above:
    """Zero from the largest loss on, unknown below."""

    top: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        return (0.0, 0.0) if epsilon >= self.top else (0.0, 1.0)


@dataclass(frozen=True)
class _Nothing:
    """No finite loss at all."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        return 0.0, 0.0


def curve_near(loss: PrivacyLoss, epsilon: float) -> Curve:
    """The narrowest enclosure of δ near one ε; valid for all.

    >>> curve_near(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]), 0.0).method
    'every combination of outcomes'
    """
    lattice, few = _structure(loss)
    if few is not None:
        return Curve(few, "every combination of outcomes", loss.infinite)
    if any(isinstance(part, FiniteLoss) and not part.losses for part, _ in loss.parts):
        return Curve(_Nothing(), "no finite loss", loss.infinite)
    if loss.queries == 1 and loss.parts[0][0].hockey_stick(epsilon) is not None:
        return Curve(_Closed(loss.parts[0][0]), "closed form", loss.infinite)
    top = loss.largest
    if epsilon >= top + 1e-12 * abs(top):
        # Beyond the support the contour has no saddle; a curve made there says zero for larger ε only.
        return Curve(_Above(top), "support of the loss", loss.infinite)
    c = saddle_for_epsilon(loss.parts, epsilon)
    contour = make_contour(loss.parts, c, epsilon, lattice)
    curve = Curve(contour, _CONTOUR, loss.infinite, lattice.slack if lattice is not None else 0.0)
    low, high = curve.delta(epsilon)
    if high - low <= _ROUGH * high:
        return curve
    grid = bracket_around(loss.parts, epsilon=epsilon, width=_FINE, points=_FALLBACK)
    grid_low, grid_high = grid.delta(epsilon)
    return curve if grid_high - grid_low > high - low else Curve(grid, _GRID)


@lru_cache(maxsize=512)
def _structure(loss: PrivacyLoss) -> tuple[Lattice | None, Enumeration | None]:
    return common_lattice(loss.parts), enumerate_losses(loss.parts)


def _probability(low: float, high: float, method: str) -> Bound:
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return Bound(min(low, high), high, method, unit="probability")


def _larger(a: Bound, b: Bound) -> Bound:
    return replace(a, lower=max(a.lower, b.lower), upper=max(a.upper, b.upper))


def _meet(a: Bound, b: Bound) -> Bound:
    best = a if a.width <= b.width else b
    return replace(best, lower=max(a.lower, b.lower), upper=min(a.upper, b.upper))


def _inverse(curve: Curve, delta: float, start: float, pure: float) -> Bound:
    """Both ends of ε(δ): `start` is known to be large enough."""
    upper = _crossing(lambda e: curve.delta(e)[1], delta, start, upward=True)
    lower = _crossing(lambda e: curve.delta(e)[0], delta, start, upward=False)
    return Bound(min(lower, upper, start, pure), min(upper, start, pure), curve.method)


def _crossing(value: Callable[[float], float], delta: float, start: float, *, upward: bool) -> float:
    """Where a falling function of ε ≥ 0 passes `delta`, from above; the safe end of the last bracket."""
    high, at_high = start, _log(value(start) / delta)
    if at_high > 0.0:
        return math.inf if upward else start
    width = 1e-11 * max(start, 1e-3)
    low, at_low = _lower_end(value, delta, start, width)
    if at_low <= 0.0:
        return 0.0
    for turn in range(200):
        share = at_low / (at_low - at_high) if turn % 3 < 2 and math.isfinite(at_high - at_low) else 0.5
        margin = 2.0 ** -min(turn + 2, 40)
        middle = low + (high - low) * min(max(share, margin), 1.0 - margin)
        if not low < middle < high or high - low <= 1e-13 * high:
            break
        at_middle = _log(value(middle) / delta)
        if at_middle > 0.0:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    return high if upward else low


def _lower_end(
    value: Callable[[float], float], delta: float, start: float, width: float
) -> tuple[float, float]:
    """The first of start − width·2^k at which the function is above `delta`, or zero."""
    while True:
        low = max(start - width, 0.0)
        at_low = _log(value(low) / delta)
        if at_low > 0.0 or low == 0.0:
            return low, at_low
        width *= 4.0


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf
