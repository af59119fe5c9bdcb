"""A year of the same publication: how accurate it is, what it spends, and in which month a cap refuses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Charge, Edition
from leakcap.ledger.reading import LedgerReader
from leakcap.ledger.rehearsal import Rehearsed
from leakcap.numeric.rounding import short_down
from leakcap.policy.document import Policy
from leakcap.release.asking.accuracy import Preview, preview_of
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.planning.price import price_of
from leakcap.release.planning.queries import Query

__all__ = ["MOST_MONTHS", "Year", "query_charge", "scaled", "year_of"]

MOST_MONTHS = 120
_PARTS = 1000


@dataclass(frozen=True)
class Year:
    """A publication asked anew each month. `months` say what the ledger would answer, in order.

    `share` is the largest share of each query's price, in thousandths, at which no month is refused: 1 where
    none is, None where none is small enough. `even` are the previews at that share. `slots` name, for each
    query, the slot of a plan that pays for it; empty where it pays for itself.
    """

    previews: tuple[Preview, ...]
    months: tuple[Rehearsed, ...]
    share: float | None
    even: tuple[Preview, ...]
    slots: tuple[str, ...]

    @property
    def breaks(self) -> Rehearsed | None:
        """The first month that is refused."""
        return next((month for month in self.months if month.refused), None)


def year_of(
    book: LedgerReader,
    policy: Policy,
    queries: Sequence[Query],
    *,
    start: date | None = None,
    months: int = 12,
    analyst: str = "",
    beside: Callable[[float], Sequence[Charge]] = lambda _: (),
) -> Year:
    """What would become of these queries, asked once a month from `start` on, each time for new noise.

    `beside` are the charges of what is asked with them each month, at a share of its prices.

    Without `start` from the present month on; no month before it can be asked any more. Where the caps of
    periods count by reference the months are those that answers are about, and may be past. From policy and
    ledger alone: no data is read, and nothing is recorded.

    >>> from leakcap.policy import load_policy
    >>> from leakcap.release import open_ledger
    >>> policy = load_policy({"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> monthly = [Query(name="n", statistic="count", epsilon=0.3)]
    >>> with open_ledger("sqlite://", policy) as book:
    ...     found = year_of(book, policy, monthly, start=date(2101, 1, 1))
    >>> found.breaks.moment.month, found.share, found.even[0].price.epsilon
    (4, 0.277, 0.0831)
    """
    whole = isinstance(months, int) and not isinstance(months, bool)
    rule = f"be a whole number from 1 to {MOST_MONTHS}"
    require(whole and 1 <= months <= MOST_MONTHS, "months", "year_of", rule, months)
    present = book.present().date().replace(day=1)
    first = present if start is None else start.replace(day=1)
    by_reference = policy.caps.each_period is not None and policy.caps.each_period.by == "reference"
    if first < present and not by_reference:
        raise InvalidParameter(
            f"`start` must be the present month of the ledger, {present:%Y-%m}, or later. Got {first:%Y-%m}."
        )
    moments = [_month(first, number) for number in range(months)]

    def asked(share: int) -> list[Rehearsed]:
        wanted = [query_charge(query, policy, analyst) for query in scaled(queries, share)]
        wanted += beside(share / _PARTS)
        batches = [
            (moment, [replace(one, edition=Edition(period=f"{moment:%Y-%m}")) for one in wanted])
            for moment in moments
        ]
        told = book.rehearse(batches)
        if not by_reference:
            return told
        # What is about a month of before is asked now, and is listed as that month's.
        return [replace(one, moment=moment) for one, moment in zip(told, moments, strict=True)]

    previews, slots = tuple(_previews(queries, policy)), tuple(one.slot or "" for one in queries)
    found = tuple(asked(_PARTS))
    if not any(month.refused for month in found):
        return Year(previews, found, 1.0, previews, slots)
    low, high = 0, _PARTS
    while high - low > 1:
        middle = (low + high) // 2
        fits = not any(month.refused for month in asked(middle))
        low, high = (middle, high) if fits else (low, middle)
    if low == 0:
        return Year(previews, found, None, (), slots)
    return Year(previews, found, low / _PARTS, tuple(_previews(scaled(queries, low), policy)), slots)


def _previews(queries: Sequence[Query], policy: Policy) -> list[Preview]:
    return [preview_of(plan_query(query, policy)) for query in queries]


def _month(start: date, number: int) -> datetime:
    years, month = divmod(start.month - 1 + number, 12)
    return datetime(start.year + years, month + 1, 1, tzinfo=UTC)


def scaled(queries: Sequence[Query], share: int) -> list[Query]:
    """The queries at this share, in thousandths, of their prices; what a slot has paid for stays as it is."""

    def part(price: float | None) -> float | None:
        return None if price is None else short_down(float(price) * share / _PARTS)

    if share == _PARTS:
        return list(queries)
    return [
        one if one.slot else replace(one, epsilon=part(one.epsilon), rho=part(one.rho)) for one in queries
    ]


def query_charge(query: Query, policy: Policy, analyst: str, period: str = "") -> Charge:
    """What the query would be charged, asked for a reference period; without the details that a release
    keeps beside it."""
    plan = plan_query(query, policy)
    return Charge(
        query.name,
        text_of(plan),
        price_of(plan).spend,
        analyst,
        asked=plan.asked,
        counts_by_cap=policy.caps_column is not None,
        slot=query.slot or "",
        edition=Edition(period=period),
    )
