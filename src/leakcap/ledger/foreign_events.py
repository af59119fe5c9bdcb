"""Events of other software that no answer of leakcap has: what follows from their privacy loss.

Names and fields are those of dp-accounting's `DpEvent`s. Numbers that are handed to the accountant as doubles
are rounded so that they tell no less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from leakcap.errors import InvalidParameter, NoRoute
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.event_kinds import NO_RHO, Event, Guarantee, fraction
from leakcap.ledger.implied import rho_of_pure
from leakcap.ledger.profiles import guaranteed_by, profile_of
from leakcap.numeric import float_up, up
from leakcap.numeric.rounding import float_down

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = [
    "check_drawn",
    "check_response",
    "check_sampled",
    "check_tree",
    "check_truncated",
    "guaranteed_by_orders",
    "loss_in",
    "of_loss",
    "orders_of",
    "rho_of_response",
]

_MOST_PEOPLE = 10**12
_MOST_ORDERS = 1000
_LEAST_NOISE = Fraction(1, 100)
_HIDING = ("noise_multiplier", "noise_parameter", "num_buckets")
"""Of which a larger number tells less."""


def loss_in(event: Event) -> PrivacyLoss | None:
    """The privacy loss of an event whose fields were checked, the side of removal; None where no one loss is
    known that dominates it.

    >>> twice = {"name": "SelfComposedDpEvent", "count": 2,
    ...     "event": {"name": "GaussianDpEvent", "noise_multiplier": "2"}}
    >>> round(loss_in(twice).renyi(4.0).upper, 12)
    1.0
    """
    from leakcap.accounting import from_event

    told = _told(event)
    return None if told is None else from_event(told)


def _told(event: Event) -> Any:
    """The event as an object that the accountant reads."""
    name = event["name"]
    if name not in _READ:
        return None
    values: dict[str, Any] = {}
    for field in event.keys() - {"name"}:
        if field == "event":
            values[field] = _told(event[field])
        elif field == "events":
            values[field] = [_told(one) for one in event[field]]
        elif isinstance(event[field], int):
            values[field] = event[field]
        else:
            lower = field in _HIDING and name != "DiscreteLaplaceDpEvent"
            values[field] = (float_down if lower else float_up)(fraction(event, field))
    inside = values.get("events", [values["event"]] if "event" in values else [])
    if any(one is None for one in inside):
        return None
    if values.get("sampling_probability", 0.0) > 1.0:
        values["sampling_probability"] = 1.0
    return type(name, (SimpleNamespace,), {})(**values)


_READ = frozenset(
    (
        "ComposedDpEvent",
        "DiscreteLaplaceDpEvent",
        "GaussianDpEvent",
        "LaplaceDpEvent",
        "NoOpDpEvent",
        "PoissonSampledDpEvent",
        "RandomizedResponseDpEvent",
        "SampledWithReplacementDpEvent",
        "SampledWithoutReplacementDpEvent",
        "SelfComposedDpEvent",
        "SingleEpochTreeAggregationDpEvent",
        "TruncatedSubsampledGaussianDpEvent",
    )
)


@lru_cache(maxsize=256)
def _curve_of(loss: PrivacyLoss) -> tuple[float, ...]:
    back = loss.reverse
    return tuple(max(loss.renyi(order).upper, back.renyi(order).upper) for order in ORDERS)


def of_loss(event: Event, rho: Fraction) -> Guarantee:
    """What follows from the privacy loss of an event, both directions; `rho` follows from elsewhere.

    Where some outcomes are impossible under one of the two laws, its profile stands for it.
    """
    loss = loss_in(event)
    if loss is None:
        raise NoRoute(f"`{event['name']}` has no one privacy loss that leakcap knows.")
    if max(loss.infinite, loss.reverse.infinite) > 0.0:
        return guaranteed_by(profile_of(loss))
    most = max(loss.renyi(math.inf).upper, loss.reverse.renyi(math.inf).upper)
    epsilon = None if math.isinf(most) else Fraction(up(most))
    pure = None if epsilon is None else Fraction(rho_of_pure(float(epsilon)))
    return Guarantee(epsilon, Fraction(0), _curve_of(loss), rho if pure is None else min(rho, pure))


def orders_of(event: Event) -> dict[Fraction, float]:
    """The Rényi divergence that a `RenyiDpEvent` states at each order, in nats, rounded up.

    >>> orders_of({"name": "RenyiDpEvent", "orders": [["2", "1/2"]]})
    {Fraction(2, 1): 0.5}
    """
    given, name = event["orders"], event["name"]
    pairs = isinstance(given, list) and all(isinstance(one, list) and len(one) == 2 for one in given)
    if not pairs or not 1 <= len(given) <= _MOST_ORDERS:
        raise InvalidParameter(
            f"`orders` of `{name}` must be 1 to {_MOST_ORDERS} pairs of an order and nats."
        )
    found: dict[Fraction, float] = {}
    for one in given:
        order, nats = (fraction({"name": name, "orders": x}, "orders") for x in one)
        if order < 1:
            raise InvalidParameter(f"`orders` of `{name}` must be orders of 1 or more.")
        found[order] = min(float_up(nats), found.get(order, math.inf))
    return found


def guaranteed_by_orders(event: Event) -> Guarantee:
    """At each order of the ledger what the nearest stated order above it says: divergences grow with it."""
    stated = orders_of(event)
    curve = tuple(
        min((nats for at, nats in stated.items() if at >= Fraction(str(order))), default=math.inf)
        for order in ORDERS
    )
    return Guarantee(None, Fraction(0), curve, NO_RHO)


def _inside(event: Event, kinds: Mapping[str, object]) -> None:
    name = event["event"]["name"]
    if name not in kinds:
        raise InvalidParameter(
            f"`event` of `{event['name']}` is `{name}`, whose samples have no loss that leakcap knows. Those "
            f"that have: {', '.join(kinds)}."
        )
    _loud_enough(event["event"])


def _loud_enough(event: Event) -> None:
    if "noise_multiplier" in event and fraction(event, "noise_multiplier") < _LEAST_NOISE:
        raise InvalidParameter(
            f"`noise_multiplier` of `{event['name']}` must be at least {float(_LEAST_NOISE):g} to be counted."
        )


def check_sampled(event: Event) -> None:
    """That a Poisson sample is of noise whose samples have a loss."""
    _inside(event, {"LaplaceDpEvent": 1, "GaussianDpEvent": 1})


def check_drawn(event: Event) -> None:
    """That a sample of fixed size is no larger than the table, and of noise whose samples have a loss."""
    people, size = event["source_dataset_size"], event["sample_size"]
    if not 1 <= size <= people <= _MOST_PEOPLE:
        raise InvalidParameter(
            f"`sample_size` of `{event['name']}` must be from 1 to `source_dataset_size`, which is at "
            f"most {_MOST_PEOPLE:,}."
        )
    _inside(event, {"GaussianDpEvent": 1, "LaplaceDpEvent": 1})


def check_truncated(event: Event) -> None:
    """That sizes are counts of people."""
    for field in ("dataset_size", "truncated_batch_size"):
        if not 1 <= event[field] <= _MOST_PEOPLE:
            raise InvalidParameter(f"`{field}` of `{event['name']}` must lie between 1 and {_MOST_PEOPLE:,}.")
    _loud_enough(event)


def check_tree(event: Event) -> None:
    """That there is a step."""
    if event["step_counts"] < 1:
        raise InvalidParameter(f"`step_counts` of `{event['name']}` must be at least 1.")
    _loud_enough(event)


def check_response(event: Event) -> None:
    """That randomised response is a law."""
    if event["num_buckets"] < 2 or fraction(event, "noise_parameter") > 1:
        raise InvalidParameter(
            f"`{event['name']}` must have 2 `num_buckets` or more, and a `noise_parameter` of 1 at most."
        )


def rho_of_response(event: Event) -> Fraction:
    """The ρ of its ε, ln(1 + k(1 − p)/p) with k buckets of which one is drawn blindly with chance p."""
    blind, size = fraction(event, "noise_parameter"), int(event["num_buckets"])
    return Fraction(rho_of_pure(up(math.log1p(float_up(size * (1 - blind) / blind)), 4)))
