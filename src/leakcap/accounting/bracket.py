"""Losses of which only a bracket is known: some that are attained, and some that dominate."""

from __future__ import annotations

from dataclasses import dataclass

from leakcap.accounting.loss import PrivacyLoss
from leakcap.bound import Bound

__all__ = ["LossBracket"]

_METHOD = "bracket of losses"


@dataclass(frozen=True)
class LossBracket:
    """A mechanism between losses: each of `lowers` is told by some pair of tables, none of `uppers` is
    passed.

    Lower ends of its intervals are those of the largest of `lowers`, upper ends those of the smallest of
    `uppers`. Brackets compose as losses do, with each other and with losses.

    >>> coin = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
    >>> found = (LossBracket((coin,), (coin & coin,)) ** 2).delta(0.0)
    >>> round(found.lower, 6), round(found.upper, 6)
    (0.5, 0.6875)
    """

    lowers: tuple[PrivacyLoss, ...]
    uppers: tuple[PrivacyLoss, ...]

    def __and__(self, other: LossBracket | PrivacyLoss) -> LossBracket:
        """Both, with fresh noise."""
        if isinstance(other, PrivacyLoss):
            other = LossBracket((other,), (other,))
        if not isinstance(other, LossBracket):
            return NotImplemented
        lowers = tuple(mine & theirs for mine in self.lowers for theirs in other.lowers)
        return LossBracket(lowers, tuple(mine & theirs for mine in self.uppers for theirs in other.uppers))

    def __pow__(self, times: int) -> LossBracket:
        """The same `times` over."""
        return LossBracket(
            tuple(each**times for each in self.lowers), tuple(each**times for each in self.uppers)
        )

    @property
    def reverse(self) -> LossBracket:
        """The other direction."""
        return LossBracket(
            tuple(each.reverse for each in self.lowers), tuple(each.reverse for each in self.uppers)
        )

    def delta(self, epsilon: float) -> Bound:
        """δ(ε), ε in nats: from what is attained to what is never passed."""
        low = max(each.delta(epsilon).lower for each in self.lowers)
        high = min(each.delta(epsilon).upper for each in self.uppers)
        return Bound(min(low, high), high, _METHOD, unit="probability")

    def epsilon(self, delta: float) -> Bound:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, in nats."""
        low = max(each.epsilon(delta).lower for each in self.lowers)
        high = min(each.epsilon(delta).upper for each in self.uppers)
        return Bound(min(low, high), high, _METHOD)

    def epsilon_both(self, delta: float) -> Bound:
        """The larger of both directions' ε(δ)."""
        mine, back = self.epsilon(delta), self.reverse.epsilon(delta)
        return Bound(max(mine.lower, back.lower), max(mine.upper, back.upper), _METHOD)
