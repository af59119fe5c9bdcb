"""The least price at which an answer stays within a wanted error: bisected over previews; nothing is
spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.asking.currency import Currency
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.planning.plan import plan_query
from leakcap.release.statistics import statistic_of
from leakcap.sampling.rational import printed

__all__ = ["PriceSearch"]

# Prices are whole ticks of the ledger, 10⁻¹².
_TICKS = 12
# The largest price that is tried where no budget says so.
_MOST = 1_000
_FINE = 20


@dataclass(frozen=True)
class PriceSearch:
    """The search for the price of a query with a wanted error."""

    template: QueryTemplate
    policy: Policy
    delta: float | None
    currency: Currency
    assumed: int | None = None

    def least(self, budget: float | None) -> float:
        """The least price at which 95 % of the answers stay within the error, to six digits, rounded up.

        Raises `InvalidQuery` where the budget does not reach.
        """
        limit = Fraction(_MOST) if budget is None else printed(budget)
        high = math.floor(limit * 10**_TICKS)
        if not self._within(high, checked=True):
            name, sign = self.template.content.get("name"), self.currency.sign
            raise InvalidQuery(
                f"Query `{name}` cannot stay within {self.template.error!r} with 95 % at {sign} = "
                f"{float(limit)!r}. Allow a larger error, or more {sign}."
            )
        while high > 1 and self._within(high // 2):
            high //= 2
        low = high // 2
        while high - low > max(1, high >> _FINE):
            middle = (low + high) // 2
            low, high = (low, middle) if self._within(middle) else (middle, high)
        return _as_float(self._rounded_up(high, limit))

    def _within(self, ticks: int, *, checked: bool = False) -> bool:
        """Whether this price, in ticks, keeps the error. One that is too small to draw noise for does not."""
        try:
            query = self.template.at(delta=self.delta, **self.currency.priced(_as_float(ticks)))
            plan = replace(plan_query(query, self.policy), assumed=self.assumed)
        except InvalidQuery:
            if checked:
                raise
            return False
        assert self.template.error is not None
        return statistic_of(plan.query).expected(plan).error <= self.template.error

    def _rounded_up(self, ticks: int, limit: Fraction) -> int:
        """To six digits, where that keeps the error and the limit."""
        unit = 10 ** max(0, len(str(ticks)) - 6)
        rounded = -(-ticks // unit) * unit
        fits = Fraction(rounded, 10**_TICKS) <= limit and self._within(rounded)
        return rounded if fits else ticks


def _as_float(ticks: int) -> float:
    return float(Fraction(ticks, 10**_TICKS))
