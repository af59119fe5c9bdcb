"""What one query costs in mutual information, and why it is not more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leakcap.adversary import AllPriors
from leakcap.capacities import HasExact, capacity
from leakcap.channel import Channel
from leakcap.definition import MIDP, PureDP, convert
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.rounding import sum_up

__all__ = ["InformationPrice", "information_price", "information_total"]


@dataclass(frozen=True)
class InformationPrice:
    """Nats that a query tells at most about one record, and which bound said so."""

    nats: float
    reason: str


def information_price(
    query: Channel | HasExact | PureDP, *, values: float = math.inf, outputs: float = math.inf
) -> InformationPrice:
    """The least of the mechanism's exact capacity, the tight bound for its ε, and what the alphabets allow.

    `values` is the number of values of a record (2 under add/remove-one), `outputs` that of answers.

    >>> from leakcap.mechanism import Laplace
    >>> information_price(Laplace(1.0)).reason
    "the mechanism's own capacity"
    >>> information_price(PureDP(1.0), values=2).nats < information_price(PureDP(1.0)).nats
    True
    """
    for name, size in (("values", values), ("outputs", outputs)):
        require(size >= 1, name, "information_price", "be at least 1", size)
    bounds = []
    if isinstance(query, PureDP):
        bounds.append(_of_epsilon(query, values, outputs))
    elif isinstance(query, Channel | HasExact):
        bounds.append(InformationPrice(_own_capacity(query), "the mechanism's own capacity"))
        claim = getattr(query, "claim", None)
        epsilon = float(claim()) if callable(claim) else math.inf
        if math.isfinite(epsilon):
            bounds.append(_of_epsilon(PureDP(epsilon), values, outputs))
    else:
        raise InvalidParameter(f"`query` must be a mechanism, a channel or PureDP. Got {query!r}.")
    smaller = min(values, outputs)
    if math.isfinite(smaller):
        which = "values of the record" if values <= outputs else "answers"
        bounds.append(InformationPrice(math.log(smaller), f"the number of {which}"))
    return min(bounds, key=lambda bound: bound.nats)


def _own_capacity(query: Channel | HasExact) -> float:
    try:
        return capacity(query, Renyi(1.0), AllPriors()).upper
    except InvalidParameter:
        return math.inf


def _of_epsilon(guarantee: PureDP, values: float, outputs: float) -> InformationPrice:
    size = min(values, outputs)
    free = {"values": int(size)} if math.isfinite(size) and size >= 2 else {}
    nats = convert(PureDP(guarantee.epsilon), MIDP, **free).nats
    return InformationPrice(nats, "the tight bound for ε" + (f" and {int(size)} values" if free else ""))


def information_total(prices: Sequence[InformationPrice], *, values: float = math.inf) -> InformationPrice:
    """The sum of the prices, and never more than ln(number of values of the record).

    >>> information_total([InformationPrice(0.5, "a"), InformationPrice(0.5, "b")], values=2).reason
    'the number of values of the record'
    """
    require(values >= 1, "values", "information_total", "be at least 1", values)
    total = sum_up(price.nats for price in prices)
    most = math.log(values) if math.isfinite(values) else math.inf
    if most < total:
        return InformationPrice(most, "the number of values of the record")
    return InformationPrice(total, "the sum over the queries")
