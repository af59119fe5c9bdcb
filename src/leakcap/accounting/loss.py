"""The privacy loss of a pair of neighbouring secrets, as a value that adds up over queries."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from leakcap.accounting.batches import truncated
from leakcap.accounting.contour import chernoff, log_mean, saddle_for_epsilon
from leakcap.accounting.convolve import bracket_around
from leakcap.accounting.curve import GRID, infinite, largest
from leakcap.accounting.finite import finite_loss
from leakcap.accounting.fixed_size import fixed_size, with_replacement
from leakcap.accounting.pairs import loss_of
from leakcap.accounting.part import LossComponent
from leakcap.accounting.profile import Profile
from leakcap.accounting.routes import TOLERANCE, checked_tolerance, deltas_at, epsilon_at, epsilon_on_grid
from leakcap.accounting.sampled import sampled
from leakcap.accounting.witness import proof_of_delta, proof_of_epsilon, proof_of_renyi
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.rounding import down, up

__all__ = ["PrivacyLoss"]

_FINEST = 1e-9


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

    parts: tuple[tuple[LossComponent, int], ...]

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
        counted: dict[LossComponent, int] = {}
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
        return infinite(self.parts)

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

        For replace-one, both directions at once, and a loss of one person replaced: above ε = 0 the profile
        is that of (1−rate)Q + rate·P against Q, below it that of P against (1−rate)P + rate·Q. One query
        attains it at each ε; of several queries it is an upper bound, since no two tables attain both
        halves. Source: Zhu, Dong & Wang 2022, proposition 30; Lebeda, Regehr, Kamath & Steinke 2024 on the
        relation.

        >>> from leakcap.mechanism import Gaussian
        >>> round(PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled_fixed(0.01).epsilon(1e-6).upper, 6)
        0.363948
        """
        return PrivacyLoss(((fixed_size(self._single("sampled_fixed"), rate), 1),))

    def sampled_with_replacement(self, size: int, people: int) -> PrivacyLoss:
        """One query on `size` draws, with replacement, of `people`: for replace-one and Gaussian or Laplace
        noise.

        The loss of one person replaced who is drawn once; k times drawn, the distance is k-fold. An upper
        bound. Source: Balle, Barthe & Gaboardi 2018, theorem 10.
        """
        part = with_replacement(self._single("sampled_with_replacement"), size, people)
        return PrivacyLoss(((part, 1),))

    def sampled_truncated(self, rate: float, *, people: int, most: int) -> PrivacyLoss:
        """One query on a Poisson sample of `people`, cut to `most` at random where it is larger.

        For add/remove-one and Gaussian or Laplace noise, the side of removal. An upper bound that exceeds the
        Poisson sample's loss by what the chance of a cut allows.

        >>> from leakcap.mechanism import Gaussian
        >>> batches = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled_truncated(0.01, people=10_000, most=150)
        >>> round((batches**1000).epsilon(1e-5).upper, 3)
        1.831
        """
        part = truncated(self._single("sampled_truncated"), rate, people, most)
        return PrivacyLoss(((part, 1),))

    def _single(self, verb: str) -> LossComponent:
        if self.queries != 1:
            raise InvalidParameter(
                f"`{verb}` takes the loss of one query. Got {self!r}. Sample each query, then compose; "
                "queries on one shared sample are one query: give its rows."
            )
        return self.parts[0][0]

    def delta(self, epsilon: float, tolerance: float = TOLERANCE) -> Bound:
        """δ(ε) = sup over events of P − e^ε Q: the hockey-stick divergence, of any real ε in nats.

        ε in nats. The interval is at most `tolerance`·δ wide wherever one of the routes gets there, and much
        narrower where that is cheap.
        """
        require(math.isfinite(epsilon), "epsilon", "PrivacyLoss.delta", "be finite", epsilon)
        low, high, methods = deltas_at(self.parts, np.array([float(epsilon)]), checked_tolerance(tolerance))
        found = Bound(float(low[0]), float(high[0]), methods[0], unit="probability")
        return replace(found, proof=proof_of_delta(self.parts, float(epsilon)))

    def delta_by_grid(self, epsilon: float, *, width: float = 2e-4, points: int = 1 << 20) -> Bound:
        """δ(ε) by the FFT alone, a certified bracket; `width` in ε is what the step is chosen for."""
        low, high = bracket_around(self.parts, epsilon=epsilon, width=width, points=points).delta(epsilon)
        return Bound(low, high, GRID, unit="probability")

    def epsilon(self, delta: float, tolerance: float = TOLERANCE) -> Bound:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, in nats; ∞ where there is none.

        The interval is at most `tolerance`·ε wide wherever one of the routes gets there: a closed form, the
        list of all outcomes, the contour, the grid. The cheapest is tried first, and a finer one only where
        the interval is still too wide; it is much narrower where that is cheap.
        """
        found = epsilon_at(self.parts, delta, checked_tolerance(tolerance))
        return replace(found, proof=proof_of_epsilon(self.parts, delta))

    def epsilon_by_grid(self, delta: float, *, width: float = 2e-4, points: int = 1 << 20) -> Bound:
        """ε(δ) by the FFT alone, a certified bracket."""
        return epsilon_on_grid(self.parts, delta, width, points)

    @property
    def largest(self) -> float:
        """The largest finite total loss, ∞ for noise without bounds."""
        return largest(self.parts)

    def delta_both(self, epsilon: float, tolerance: float = TOLERANCE) -> Bound:
        """The larger of both directions' δ(ε): what (ε, δ)-DP means."""
        mine = self.delta(epsilon, tolerance)
        return mine if self.is_symmetric else _larger(mine, self.reverse.delta(epsilon, tolerance))

    def epsilon_both(self, delta: float, tolerance: float = TOLERANCE) -> Bound:
        """The larger of both directions' ε(δ)."""
        mine = self.epsilon(delta, tolerance)
        return mine if self.is_symmetric else _larger(mine, self.reverse.epsilon(delta, tolerance))

    def keeps(self, epsilon: float, delta: float, tolerance: float = TOLERANCE) -> bool:
        """Whether this is surely (ε, δ)-DP, in both directions: what an auditor asks of a charge.

        Between the ends of `epsilon_both` δ is computed at this very ε, as finely as can be.

        >>> from leakcap.mechanism import Gaussian
        >>> loss = PrivacyLoss.of_mechanism(Gaussian(1.0))
        >>> loss.keeps(1.0, 0.126936738), loss.keeps(0.9999, 0.126936738)
        (True, False)
        """
        found = self.epsilon_both(delta, tolerance)
        if not found.lower <= epsilon < found.upper:
            return epsilon >= found.upper
        return self.delta_both(epsilon, _FINEST).upper <= delta

    def profile(self, both: bool = True, tolerance: float = TOLERANCE) -> Profile:
        """The loss as curves: tests, δ(ε), true positives, reconstruction; of both directions unless told.

        >>> response = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
        >>> round(response.profile().true_positives(0.25)[0].upper, 6)
        0.75
        """
        alone = self.is_symmetric or not both
        return Profile((self,) if alone else (self, self.reverse), checked_tolerance(tolerance))

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
        found = Bound.enclosed((low, high), method="sum over the queries")
        return replace(found, proof=proof_of_renyi(self.parts, alpha))

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


def _larger(a: Bound, b: Bound) -> Bound:
    low, high = max(a.lower, b.lower), max(a.upper, b.upper)
    # What proves one of them proves the larger where both ends are its own.
    proof = next((one.proof for one in (a, b) if (one.lower, one.upper) == (low, high)), None)
    return replace(a, lower=low, upper=high, proof=proof)
