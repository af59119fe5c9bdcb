"""What a charge was for, as an auditor can compute it again: an event in canonical JSON.

    {"name": "DiscreteLaplaceDpEvent", "noise_parameter": "1/10", "sensitivity": 1}

Names and fields are those of dp-accounting's `DpEvent`s where it has one. Numbers that are not whole stand as
exact fractions. Of an event follow its ε, its δ, its ρ, and its Rényi curve between neighbours, in both
directions; and of noise that has no ε without a δ, the ε at a charge's δ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from leakcap.errors import InvalidParameter
from leakcap.ledger.curve import ORDERS, curve_of_pure, rho_beside_delta
from leakcap.ledger.implied import rho_of_pure
from leakcap.ledger.lattice_gaussian import narrowed
from leakcap.ledger.steps import form_of, proven_epsilon, steps_of
from leakcap.ledger.ticks import TICKS_PER_UNIT, Ticks, units
from leakcap.numeric import float_up, up

__all__ = [
    "composed",
    "covered",
    "event_text",
    "gaussian_distance",
    "guarantee",
    "laplace_distance",
    "pure_event",
    "required",
    "rho_of",
]

_LARGEST, _FARTHEST = Fraction(10**6), Fraction(10**60)
_QUIETEST = Fraction(10**12)
_NEARLY = 1e-5
"""Of an ε that was searched for: how near to it the search ends."""
_DEEPEST = 4
_ABOVE_ZERO = ("noise_multiplier", "sampling_probability", "variance")
_LONGEST_EXPONENT = 4
"""Digits of a power of ten: what is written out of a longer one takes hours."""


class Guarantee(NamedTuple):
    """What follows from an event: ε (None where none holds without a δ), δ, and the curve in nats; ρ of
    zero-concentrated privacy, but for the δ."""

    epsilon: Fraction | None
    delta: Fraction
    curve: tuple[float, ...]
    rho: Fraction


def event_text(content: Mapping[str, Any]) -> str:
    """An event as canonical JSON, fractions written out.

    >>> event_text({"name": "EpsilonDeltaDpEvent", "epsilon": Fraction(1, 10), "delta": Fraction(0)})
    '{"delta":"0","epsilon":"1/10","name":"EpsilonDeltaDpEvent"}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)


def pure_event(epsilon: Fraction, delta: Fraction = Fraction(0)) -> dict[str, Any]:
    """Of an answer of which no more is known than ε and δ."""
    return {"name": "EpsilonDeltaDpEvent", "epsilon": epsilon, "delta": delta}


def composed(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Of several with fresh noise each.

    >>> composed([pure_event(Fraction(1))])["name"]
    'EpsilonDeltaDpEvent'
    """
    return events[0] if len(events) == 1 else {"name": "ComposedDpEvent", "events": events}


@lru_cache(maxsize=4096)
def guarantee(text: str) -> Guarantee:
    """What follows from an event. Raises `InvalidParameter` for one that cannot be computed, by its name.

    >>> guarantee('{"delta":"0","epsilon":"1/10","name":"EpsilonDeltaDpEvent"}').epsilon
    Fraction(1, 10)
    >>> guarantee('{"name":"TreeDpEvent"}')
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: Event `TreeDpEvent` of a charge cannot be computed again. Those that ...
    """
    return _computed(_read(text))


@lru_cache(maxsize=4096)
def required(text: str) -> None:
    """Raise `InvalidParameter` for an event whose name or fields are not known; computes no curve."""
    _checked(_read(text), 0)


@lru_cache(maxsize=4096)
def rho_of(text: str) -> Fraction:
    """The ρ of zero-concentrated privacy that follows from an event, rounded up where it is no fraction.

    >>> rho_of('{"name":"ZCDpEvent","rho":"2/25"}')
    Fraction(2, 25)
    """
    event = _read(text)
    return _rho(event)


def covered(text: str, charged: Ticks) -> bool:
    """Whether a charge covers its event: ε, δ, ρ and the curve, each but for a last digit.

    >>> event = event_text(pure_event(Fraction(1, 10)))
    >>> from leakcap.ledger.values import Spend
    >>> covered(event, Spend(0.1).ticks(None)), covered(event, Spend(0.09).ticks(None))
    (True, False)
    """
    found = guarantee(text)
    if len(charged.curve) != len(found.curve):
        return False  # sums take no curve for nothing told
    if charged.delta is not None and found.delta * TICKS_PER_UNIT > charged.delta + 1:
        return False
    if charged.epsilon is not None:
        least = _least_epsilon(text, charged.delta or 0)
        if least is None or least * TICKS_PER_UNIT > charged.epsilon + 1:
            return False
    if charged.rho is not None:
        rho = found.rho
        if charged.delta and charged.epsilon is not None:
            rho = rho_beside_delta(found.curve, rho, units(charged.epsilon))
        if rho * TICKS_PER_UNIT * (1 - Fraction(1, 10**9)) > charged.rho + 1:
            return False
    most = math.inf if charged.epsilon is None else charged.epsilon
    return all(
        ticks is None or ticks + 1 >= min(nats * TICKS_PER_UNIT, most) * (1 - 1e-9)
        for ticks, nats in zip(charged.curve, found.curve, strict=True)
    )


@lru_cache(maxsize=4096)
def _least_epsilon(text: str, delta: int) -> Fraction | None:
    """The least ε that a charge of this event with so many ticks of δ may state; None where there is none.

    What a part of the event has of δ is spent: the curve has what is left.
    """
    found = guarantee(text)
    left = Fraction(delta, TICKS_PER_UNIT) - found.delta
    if found.epsilon is not None or left <= 0:
        return found.epsilon
    event, at = _read(text), float(left)
    form = form_of(event)
    if form is not None:
        bound = steps_of(form).epsilon(at)
        if bound.lower:
            return Fraction(bound.lower)
        proven = bound.upper  # no least ε is known: what the curve of the steps proves
    elif event["name"] == "ZCDpEvent":
        from leakcap.definition import ApproxDP, ZeroConcentratedDP, convert

        rho = float_up(_fraction(event, "rho"))
        proven = convert(ZeroConcentratedDP(rho), ApproxDP, delta=at).epsilon
    else:
        proven = proven_epsilon(found.curve, at)
    return Fraction(proven * (1 - _NEARLY))


def laplace_distance(text: str) -> Fraction | None:
    """The distance, in scales, of a Laplace law that dominates the event; None for one that is no discrete
    Laplace noise.

    Σ over its parts of ε + ε²/4d, where d steps make ε: see `docs/ledger.md`.

    >>> laplace_distance('{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}')
    Fraction(41, 400)
    """
    return _distance(_read(text))


def gaussian_distance(text: str) -> Fraction | None:
    """The ρ of Gaussian noise of which the event's answer is a function, but for next to nothing; None for
    one that is no discrete Gaussian noise, or too narrow. See `leakcap.ledger.lattice_gaussian`.

    >>> gaussian_distance('{"name":"DiscreteGaussianDpEvent","squared_sensitivity":"1","variance":"254"}')
    Fraction(1, 500)
    """
    return _narrowed(_read(text))


def _narrowed(event: Mapping[str, Any]) -> Fraction | None:
    if event["name"] == "ComposedDpEvent":
        each = [_narrowed(one) for one in event["events"]]
        known = [one for one in each if one is not None]
        return sum(known, Fraction(0)) if len(known) == len(each) else None
    if event["name"] == "SelfComposedDpEvent":
        alone = _narrowed(event["event"])
        return None if alone is None else int(event["count"]) * alone
    if event["name"] != "DiscreteGaussianDpEvent":
        return None
    return narrowed(_fraction(event, "variance"), _fraction(event, "squared_sensitivity"))


def _distance(event: Mapping[str, Any]) -> Fraction | None:
    if event["name"] == "ComposedDpEvent":
        each = [_distance(one) for one in event["events"]]
        known = [one for one in each if one is not None]
        return sum(known, Fraction(0)) if len(known) == len(each) else None
    if event["name"] == "SelfComposedDpEvent":
        alone = _distance(event["event"])
        return None if alone is None else int(event["count"]) * alone
    if event["name"] != "DiscreteLaplaceDpEvent":
        return None
    steps = int(event["sensitivity"])
    epsilon = _fraction(event, "noise_parameter") * steps
    return epsilon + epsilon**2 / (4 * steps) if steps else Fraction(0)


def _read(text: str) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidParameter("`event` of `Charge` must be JSON.") from None
    _checked(event, 0)
    return dict(event)


def _checked(event: Any, deep: int) -> None:
    """Name and fields, and those of the events inside."""
    name = str(event.get("name", "")) if isinstance(event, dict) else ""
    if name not in _KINDS or deep > _DEEPEST:
        shown = f"`{name[:60]}`" if name else "without a name"
        raise InvalidParameter(
            f"Event {shown} of a charge cannot be computed again. Those that can: {', '.join(_KINDS)}."
        )
    fields = _KINDS[name].fields
    if event.keys() != {"name", *fields}:
        raise InvalidParameter(f"`{name}` of a charge must have the fields {', '.join(fields)}.")
    for field in fields:
        if field == "event":
            _checked(event[field], deep + 1)
        elif field == "events":
            if not isinstance(event[field], list) or not event[field]:
                raise InvalidParameter(f"`events` of `{name}` must be a list of events.")
            for one in event[field]:
                _checked(one, deep + 1)
        elif field in ("count", "sensitivity"):
            whole = isinstance(event[field], int) and not isinstance(event[field], bool)
            if not whole or not 0 <= event[field] <= 10**30:
                raise InvalidParameter(f"`{field}` of `{name}` must be a whole number.")
        elif _fraction(event, field) == 0 and field in _ABOVE_ZERO:
            raise InvalidParameter(f"`{field}` of `{name}` must be above 0.")
        elif field == "sampling_probability" and _fraction(event, field) > 1:
            raise InvalidParameter(f"`{field}` of `{name}` must be at most 1.")
    if name in ("PoissonSampledDpEvent", "ReplacedDpEvent") and form_of(event) is None:
        raise InvalidParameter(f"`event` of `{name}` must be steps of Gaussian noise.")


def _fraction(event: Mapping[str, Any], field: str) -> Fraction:
    text = str(event[field])
    exponent = text.lower().partition("e")[2]
    try:
        found = Fraction(text if len(exponent) <= _LONGEST_EXPONENT else "")
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    apart = field in ("variance", "squared_sensitivity")
    largest = _FARTHEST if apart else _QUIETEST if field == "noise_multiplier" else _LARGEST
    if not 0 <= found <= largest:
        name = event["name"]
        raise InvalidParameter(f"`{field}` of `{name}` must be a number from 0 to {int(largest):,}.")
    return found


class _Kind(NamedTuple):
    fields: tuple[str, ...]
    compute: Callable[[Mapping[str, Any]], Guarantee]
    rho: Callable[[Mapping[str, Any]], Fraction]


def _rho(event: Mapping[str, Any]) -> Fraction:
    return _KINDS[event["name"]].rho(event)


def _computed(event: Mapping[str, Any]) -> Guarantee:
    return _KINDS[event["name"]].compute(event)


def _pure(event: Mapping[str, Any]) -> Guarantee:
    epsilon = _fraction(event, "epsilon")
    return Guarantee(epsilon, _fraction(event, "delta"), curve_of_pure(float_up(epsilon)), _rho(event))


def _pure_rho(event: Mapping[str, Any]) -> Fraction:
    return Fraction(rho_of_pure(float_up(_fraction(event, "epsilon"))))


def _discrete_laplace(event: Mapping[str, Any]) -> Guarantee:
    from leakcap.divergence import Renyi
    from leakcap.mechanism.geometric import TwoSidedGeometric

    rate, steps = _fraction(event, "noise_parameter"), int(event["sensitivity"])
    epsilon = rate * steps
    if not epsilon or rate > 600:
        return Guarantee(epsilon, Fraction(0), curve_of_pure(float_up(epsilon)), _rho(event))
    noise = TwoSidedGeometric(1 / rate, steps)
    curve = tuple(up(noise.diameter(Renyi(order)).upper) for order in ORDERS)
    return Guarantee(epsilon, Fraction(0), curve, _rho(event))


def _discrete_laplace_rho(event: Mapping[str, Any]) -> Fraction:
    """Its Kullback–Leibler divergence: D_α/α is nowhere larger, see `docs/ledger.md`."""
    from leakcap.mechanism.geometric import TwoSidedGeometric

    rate, steps = _fraction(event, "noise_parameter"), int(event["sensitivity"])
    if not rate * steps or rate > 600:
        return Fraction(rho_of_pure(float_up(rate * steps)))
    return Fraction(TwoSidedGeometric(1 / rate).apart(1.0, steps=steps, squared=Fraction(steps) ** 2))


def _laplace(event: Mapping[str, Any]) -> Guarantee:
    from leakcap.accounting import PrivacyLoss
    from leakcap.mechanism import Laplace

    epsilon = 1 / _fraction(event, "noise_multiplier")
    loss = PrivacyLoss.of_mechanism(Laplace(1 / up(float_up(epsilon), 2)))
    curve = tuple(loss.renyi(order).upper for order in ORDERS)
    return Guarantee(epsilon, Fraction(0), curve, _rho(event))


def _laplace_rho(event: Mapping[str, Any]) -> Fraction:
    """Its Kullback–Leibler divergence, ε + e^(−ε) − 1, for the same reason."""
    from leakcap.accounting import PrivacyLoss
    from leakcap.mechanism import Laplace

    epsilon = up(float_up(1 / _fraction(event, "noise_multiplier")), 2)
    return Fraction(PrivacyLoss.of_mechanism(Laplace(1 / epsilon)).renyi(1.0).upper)


def _concentrated(event: Mapping[str, Any]) -> Guarantee:
    return _linear(_rho(event))


def _gaussian(event: Mapping[str, Any]) -> Guarantee:
    return _linear(_rho(event))


def _gaussian_rho(event: Mapping[str, Any]) -> Fraction:
    return 1 / (2 * _fraction(event, "noise_multiplier") ** 2)


def _linear(rho: Fraction) -> Guarantee:
    """A curve of αρ: that of Gaussian noise, and of discrete Gaussian noise at most."""
    curve = tuple(float_up(Fraction(str(order)) * rho) for order in ORDERS)
    return Guarantee(Fraction(0) if rho == 0 else None, Fraction(0), curve, rho)


def _of_steps(event: Mapping[str, Any]) -> Guarantee:
    form = form_of(event)
    assert form is not None  # checked when it was read
    return Guarantee(None, Fraction(0), tuple(map(steps_of(form).renyi, ORDERS)), _rho(event))


def _rho_of_steps(event: Mapping[str, Any]) -> Fraction:
    """A sample hides nothing at high orders: the ρ of steps in which everybody is; four times it by way of
    absence, for at order α that is no more than two contents at twice the distance."""
    form = form_of(event)
    assert form is not None
    return (4 if form.replaced else 1) * form.steps / (2 * form.noise**2)


def _discrete_gaussian_rho(event: Mapping[str, Any]) -> Fraction:
    return _fraction(event, "squared_sensitivity") / (2 * _fraction(event, "variance"))


def _all(event: Mapping[str, Any]) -> Guarantee:
    return _together([(_computed(one), 1) for one in event["events"]])


def _bounded(event: Mapping[str, Any]) -> Guarantee:
    """Of parts that no unit can move as far as each alone: what they are, and the ε of all together."""
    found, epsilon = _computed(event["event"]), _fraction(event, "epsilon")
    curve = tuple(map(min, found.curve, curve_of_pure(float_up(epsilon))))
    return Guarantee(min(epsilon, found.epsilon or epsilon), found.delta, curve, _rho(event))


def _bounded_rho(event: Mapping[str, Any]) -> Fraction:
    return min(_rho(event["event"]), _pure_rho(event))


def _repeated(event: Mapping[str, Any]) -> Guarantee:
    return _together([(_computed(event["event"]), int(event["count"]))])


def _together(parts: list[tuple[Guarantee, int]]) -> Guarantee:
    epsilons = [None if one.epsilon is None else one.epsilon * count for one, count in parts]
    known = [one for one in epsilons if one is not None]
    columns = zip(*([nats * count for nats in one.curve] for one, count in parts), strict=True)
    return Guarantee(
        sum(known, Fraction(0)) if len(known) == len(epsilons) else None,
        sum((one.delta * count for one, count in parts), Fraction(0)),
        tuple(up(math.fsum(column), 2) for column in columns),
        sum((one.rho * count for one, count in parts), Fraction(0)),
    )


_KINDS: Mapping[str, _Kind] = {
    "EpsilonDeltaDpEvent": _Kind(("epsilon", "delta"), _pure, _pure_rho),
    "DiscreteLaplaceDpEvent": _Kind(
        ("noise_parameter", "sensitivity"), _discrete_laplace, _discrete_laplace_rho
    ),
    "LaplaceDpEvent": _Kind(("noise_multiplier",), _laplace, _laplace_rho),
    "GaussianDpEvent": _Kind(("noise_multiplier",), _gaussian, _gaussian_rho),
    "DiscreteGaussianDpEvent": _Kind(
        ("variance", "squared_sensitivity"), lambda event: _linear(_rho(event)), _discrete_gaussian_rho
    ),
    "ZCDpEvent": _Kind(("rho",), _concentrated, lambda event: _fraction(event, "rho")),
    "PoissonSampledDpEvent": _Kind(("sampling_probability", "event"), _of_steps, _rho_of_steps),
    "ReplacedDpEvent": _Kind(("event",), _of_steps, _rho_of_steps),
    "BoundedDpEvent": _Kind(("event", "epsilon"), _bounded, _bounded_rho),
    "SelfComposedDpEvent": _Kind(
        ("event", "count"), _repeated, lambda event: int(event["count"]) * _rho(event["event"])
    ),
    "ComposedDpEvent": _Kind(("events",), _all, lambda event: sum(map(_rho, event["events"]), Fraction(0))),
}
