"""The kinds of event that a charge may have: their fields, and what follows from each.

Names and fields are those of dp-accounting's `DpEvent`s where it has one. `KINDS` lists all of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakcap.errors import InvalidParameter
from leakcap.ledger import foreign_events, profiles, selection
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.event_kinds import (
    ABOVE_ZERO,
    LARGEST,
    NO_RHO,
    WHOLE,
    Event,
    Guarantee,
    Kind,
    fraction,
    whole_number,
)
from leakcap.ledger.implied import rho_of_pure
from leakcap.ledger.steps import accounted, steps_in
from leakcap.numeric import float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = [
    "KINDS",
    "LARGEST",
    "Event",
    "Guarantee",
    "checked",
    "fraction",
    "guaranteed",
    "read_event",
    "rho",
    "summed",
]

_DEEPEST = 4
_STEEPEST = 700
"""The ε of Laplace noise of which a loss is computed at most."""
_PLAIN = 50.0
"""The mean loss, in nats, from which on a δ is said to be that of nothing hidden."""


def read_event(text: str) -> dict[str, Any]:
    """An event from its canonical JSON, checked. Raises `InvalidParameter`."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidParameter("`event` of `Charge` must be JSON.") from None
    checked(event)
    return dict(event)


def checked(event: Any, deep: int = 0) -> None:
    """Raise `InvalidParameter` unless names and fields are known, those of the events inside too."""
    name = str(event.get("name", "")) if isinstance(event, dict) else ""
    if name not in KINDS or deep > _DEEPEST:
        shown = f"`{name[:60]}`" if name else "without a name"
        raise InvalidParameter(
            f"Event {shown} of a charge cannot be computed again. Those that can: {', '.join(KINDS)}."
        )
    fields = KINDS[name].fields
    if event.keys() != {"name", *fields}:
        raise InvalidParameter(f"`{name}` of a charge must have the fields {', '.join(fields)}.")
    for field in fields:
        if field == "event":
            checked(event[field], deep + 1)
        elif field == "events":
            if not isinstance(event[field], list) or not event[field]:
                raise InvalidParameter(f"`events` of `{name}` must be a list of events.")
            for one in event[field]:
                checked(one, deep + 1)
        elif field in WHOLE:
            whole_number(event, field)
        elif field == "points":
            profiles.points_of(event)
        elif field == "orders":
            foreign_events.orders_of(event)
        elif field == "shape":
            selection.shape_of(event)
        elif fraction(event, field) == 0 and field in ABOVE_ZERO:
            raise InvalidParameter(f"`{field}` of `{name}` must be above 0.")
        elif field == "sampling_probability" and fraction(event, field) > 1:
            raise InvalidParameter(f"`{field}` of `{name}` must be at most 1.")
    KINDS[name].check(event)


def rho(event: Event) -> Fraction:
    """The ρ of zero-concentrated privacy that follows from an event."""
    return KINDS[event["name"]].rho(event)


def guaranteed(event: Event) -> Guarantee:
    """All that follows from an event."""
    return KINDS[event["name"]].guarantee(event)


def summed(event: Event, leaf: Callable[[Event], Fraction | None]) -> Fraction | None:
    """The sum of `leaf` over the events that an event is composed of; None if `leaf` gives None for any.

    >>> twice = {"name": "SelfComposedDpEvent", "count": 2, "event": {"name": "ZCDpEvent", "rho": "1/3"}}
    >>> summed(twice, rho)
    Fraction(2, 3)
    """
    if event["name"] == "ComposedDpEvent":
        each = [summed(one, leaf) for one in event["events"]]
        known = [one for one in each if one is not None]
        return sum(known, Fraction(0)) if len(known) == len(each) else None
    if event["name"] == "SelfComposedDpEvent":
        alone = summed(event["event"], leaf)
        return None if alone is None else int(event["count"]) * alone
    return leaf(event)


def _pure(event: Event) -> Guarantee:
    epsilon = fraction(event, "epsilon")
    return Guarantee(epsilon, fraction(event, "delta"), curve_of_pure(float_up(epsilon)), rho(event))


def _pure_rho(event: Event) -> Fraction:
    return Fraction(rho_of_pure(float_up(fraction(event, "epsilon"))))


def _discrete_laplace(event: Event) -> Guarantee:
    from leakcap.divergence import Renyi
    from leakcap.mechanism.geometric import TwoSidedGeometric

    rate, steps = fraction(event, "noise_parameter"), int(event["sensitivity"])
    epsilon = rate * steps
    if not epsilon or rate > 600:
        return Guarantee(epsilon, Fraction(0), curve_of_pure(float_up(epsilon)), rho(event))
    noise = TwoSidedGeometric(1 / rate, steps)
    curve = tuple(up(noise.diameter(Renyi(order)).upper) for order in ORDERS)
    return Guarantee(epsilon, Fraction(0), curve, rho(event))


def _discrete_laplace_rho(event: Event) -> Fraction:
    """Its Kullback–Leibler divergence: D_α/α is nowhere larger, see `docs/ledger.md`."""
    from leakcap.mechanism.geometric import TwoSidedGeometric

    rate, steps = fraction(event, "noise_parameter"), int(event["sensitivity"])
    if not rate * steps or rate > 600:
        return Fraction(rho_of_pure(float_up(rate * steps)))
    return Fraction(TwoSidedGeometric(1 / rate).apart(1.0, steps=steps, squared=Fraction(steps) ** 2))


def _laplace(event: Event) -> Guarantee:
    loss = _laplace_loss(event)
    curve = tuple(loss.renyi(order).upper for order in ORDERS)
    return Guarantee(1 / fraction(event, "noise_multiplier"), Fraction(0), curve, rho(event))


def _laplace_rho(event: Event) -> Fraction:
    """Its Kullback–Leibler divergence, ε + e^(−ε) − 1, for the same reason."""
    return Fraction(_laplace_loss(event).renyi(1.0).upper)


def _laplace_loss(event: Event) -> PrivacyLoss:
    from leakcap.accounting import PrivacyLoss
    from leakcap.mechanism import Laplace

    epsilon = up(float_up(1 / fraction(event, "noise_multiplier")), 2)
    if epsilon > _STEEPEST:
        raise InvalidParameter(f"`noise_multiplier` of `{event['name']}` must be above 1/{_STEEPEST}.")
    return PrivacyLoss.of_mechanism(Laplace(1 / epsilon))


def _gaussian_rho(event: Event) -> Fraction:
    return 1 / (2 * fraction(event, "noise_multiplier") ** 2)


def _linear(event: Event) -> Guarantee:
    """A curve of αρ: that of Gaussian noise, and of discrete Gaussian noise at most."""
    slope = rho(event)
    curve = tuple(float_up(Fraction(str(order)) * slope) for order in ORDERS)
    return Guarantee(Fraction(0) if slope == 0 else None, Fraction(0), curve, slope)


def _check_steps(event: Event) -> None:
    if steps_in(event) is None:
        raise InvalidParameter(f"`event` of `{event['name']}` must be steps of Gaussian noise.")


def _check_sampled(event: Event) -> None:
    if steps_in(event) is None:
        foreign_events.check_sampled(event)


def _of_steps(event: Event) -> Guarantee:
    steps = steps_in(event)
    if steps is None:  # of other noise, on a sample
        return foreign_events.of_loss(event, rho(event))
    return Guarantee(None, Fraction(0), tuple(map(accounted(steps).renyi, ORDERS)), rho(event))


def _rho_of_steps(event: Event) -> Fraction:
    """The ρ of the same steps with everybody in each, since sampling hides nothing at high orders.

    Between two contents four times that: by way of absence they are at no order further apart than at twice
    the distance.
    """
    steps = steps_in(event)
    if steps is None:
        return rho(event["event"])
    return (4 if steps.replaced else 1) * steps.count / (2 * steps.noise**2)


def _discrete_gaussian_rho(event: Event) -> Fraction:
    return fraction(event, "squared_sensitivity") / (2 * fraction(event, "variance"))


def _drawn(times: Callable[[Event], int]) -> Callable[[Event], Fraction]:
    """The ρ of noise whose sample moves it by so many times its sensitivity at most: divergences are
    quasi-convex, and no sample is further apart."""
    return lambda event: times(event) ** 2 * rho(event["event"])


def _foreign(fields: tuple[str, ...], rho_of: Callable[[Event], Fraction], check: Any) -> Kind:
    return Kind(fields, lambda event: foreign_events.of_loss(event, rho_of(event)), rho_of, check)


def _all(event: Event) -> Guarantee:
    return _together([(guaranteed(one), 1) for one in event["events"]])


def _bounded(event: Event) -> Guarantee:
    """From parts whose joint sensitivity is below the sum of theirs, and from the ε of all together."""
    found, epsilon = guaranteed(event["event"]), fraction(event, "epsilon")
    curve = tuple(map(min, found.curve, curve_of_pure(float_up(epsilon))))
    return Guarantee(min(epsilon, found.epsilon or epsilon), found.delta, curve, rho(event))


def _bounded_rho(event: Event) -> Fraction:
    return min(rho(event["event"]), _pure_rho(event))


def _repeated(event: Event) -> Guarantee:
    return _together([(guaranteed(event["event"]), int(event["count"]))])


def _selected(event: Event) -> Guarantee:
    run = guaranteed(event["event"])
    loss = None
    if not run.delta and run.curve[0] <= _PLAIN:
        steps = steps_in(event["event"])
        loss = foreign_events.loss_in(event["event"]) if steps is None else accounted(steps).loss
    return selection.best_run(event, run, loss)


def _together(parts: list[tuple[Guarantee, int]]) -> Guarantee:
    epsilons = [None if one.epsilon is None else one.epsilon * count for one, count in parts]
    known = [one for one in epsilons if one is not None]
    if not parts:
        return Guarantee(Fraction(0), Fraction(0), (0.0,) * len(ORDERS), Fraction(0))
    columns = zip(*([nats * count for nats in one.curve] for one, count in parts), strict=True)
    return Guarantee(
        sum(known, Fraction(0)) if len(known) == len(epsilons) else None,
        sum((one.delta * count for one, count in parts), Fraction(0)),
        tuple(up(math.fsum(column), 2) for column in columns),
        sum((one.rho * count for one, count in parts), Fraction(0)),
    )


KINDS: Mapping[str, Kind] = {
    "EpsilonDeltaDpEvent": Kind(("epsilon", "delta"), _pure, _pure_rho),
    "DiscreteLaplaceDpEvent": Kind(
        ("noise_parameter", "sensitivity"), _discrete_laplace, _discrete_laplace_rho
    ),
    "LaplaceDpEvent": Kind(("noise_multiplier",), _laplace, _laplace_rho),
    "GaussianDpEvent": Kind(("noise_multiplier",), _linear, _gaussian_rho),
    "DiscreteGaussianDpEvent": Kind(("variance", "squared_sensitivity"), _linear, _discrete_gaussian_rho),
    "ZCDpEvent": Kind(("rho",), _linear, lambda event: fraction(event, "rho")),
    "PoissonSampledDpEvent": Kind(
        ("sampling_probability", "event"), _of_steps, _rho_of_steps, _check_sampled
    ),
    "ReplacedDpEvent": Kind(("event",), _of_steps, _rho_of_steps, _check_steps),
    "BoundedDpEvent": Kind(("event", "epsilon"), _bounded, _bounded_rho),
    "SelfComposedDpEvent": Kind(
        ("event", "count"), _repeated, lambda event: int(event["count"]) * rho(event["event"])
    ),
    "ComposedDpEvent": Kind(("events",), _all, lambda event: sum(map(rho, event["events"]), Fraction(0))),
    "NoOpDpEvent": Kind((), lambda event: _together([]), lambda event: Fraction(0)),
    "RandomizedResponseDpEvent": _foreign(
        ("noise_parameter", "num_buckets"), foreign_events.rho_of_response, foreign_events.check_response
    ),
    "SampledWithoutReplacementDpEvent": _foreign(
        ("source_dataset_size", "sample_size", "event"),
        _drawn(lambda event: 1),
        foreign_events.check_drawn,
    ),
    "SampledWithReplacementDpEvent": _foreign(
        ("source_dataset_size", "sample_size", "event"),
        _drawn(lambda event: int(event["sample_size"])),
        foreign_events.check_drawn,
    ),
    "TruncatedSubsampledGaussianDpEvent": _foreign(
        ("dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"),
        lambda event: 4 * _gaussian_rho(event),
        foreign_events.check_truncated,
    ),
    "SingleEpochTreeAggregationDpEvent": _foreign(
        ("noise_multiplier", "step_counts"),
        lambda event: int(event["step_counts"]).bit_length() * _gaussian_rho(event),
        foreign_events.check_tree,
    ),
    "RenyiDpEvent": Kind(("orders",), foreign_events.guaranteed_by_orders, lambda event: NO_RHO),
    "ProfileDpEvent": Kind(("points",), profiles.guaranteed_by, profiles.rho_of_points),
    "RepeatAndSelectDpEvent": Kind(
        ("event", "mean", "shape"),
        _selected,
        lambda event: _selected(event).rho,
        selection.check_selection,
    ),
}
