"""What other software spent, as events that a ledger can charge.

    outside_event(thing)     an event of dp-accounting, an accountant or a history of Opacus, a table of
                             losses, a measurement of OpenDP
    profile_event(...)       an accountant’s ε at some δ
    trade_off_event(...)     points of a trade-off curve
    as_dp_event(event)       the other way: an object of dp-accounting

None of these libraries is needed to read what it made. Only the numbers are read: nothing is unpickled and
nothing of theirs is called but an OpenDP measurement's own map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Rational, Real
from typing import Any

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.dp_events import KINDS, checked
from leakcap.ledger.event_kinds import WHOLE
from leakcap.ledger.profiles import falling_hull, profile_of
from leakcap.ledger.selection import POISSON

__all__ = ["as_dp_event", "outside_event", "profile_event", "trade_off_event"]

_DEEPEST = 4
_MOST_EPSILON = 700
"""Of which a double holds the exponential; beyond it an event is said to hide nothing."""
_MOST_EVENTS = 10_000
_NAMES = ("name", "class_name")
_DROPPED = {"module_name"}
_NOTHING_HIDDEN = ("NonPrivateDpEvent", "UnsupportedDpEvent")
_ELSEWHERE = ("MixtureOfGaussiansDpEvent", *_NOTHING_HIDDEN)


def outside_event(thing: Any, *, d_in: float | None = None, adding: Any = None) -> dict[str, Any]:
    """An event of leakcap's ledger for what other software did, checked.

    Read are events of dp-accounting, as objects or as JSON; Opacus' accountants and their `history` of
    (noise multiplier, sampling probability, steps); tables of privacy losses (`LossTable`, dp-accounting's
    privacy-loss distributions) and leakcap's `PrivacyLoss`; and OpenDP measurements, whose map is asked at
    `d_in`. A table speaks of one direction; `adding` is that of the other, without which it is reversed,
    which may cost a δ. A mixture of Gaussians becomes its farthest one, as often as it moves at all, which
    tells no less.
    Raises `InvalidParameter` for anything else, by its name.

    >>> outside_event([(1.1, 0.01, 200)])["count"]
    200
    >>> outside_event({"class_name": "GaussianDpEvent", "noise_multiplier": 2.5})
    {'name': 'GaussianDpEvent', 'noise_multiplier': '5/2'}
    """
    event = _of_losses(thing, adding) if adding is not None else _read(thing, d_in, 0)
    checked(event)
    return event


def profile_event(epsilon: Callable[[float], float], deltas: Iterable[float]) -> dict[str, Any]:
    """An event from somebody's ε(δ), asked at some δ; an accountant's upper bounds, not its estimates.

    Between the points the profile is taken as convex and no less private than they say.

    >>> profile_event(lambda delta: 1.0, [1e-6])["points"]
    [['1', '1/1000000']]
    """
    found = [(_exact(epsilon(delta), "epsilon"), _exact(delta, "delta")) for delta in deltas]
    event = {"name": "ProfileDpEvent", "points": [[str(a), str(b)] for a, b in found]}
    checked(event)
    return event


def trade_off_event(points: Iterable[tuple[float, float]]) -> dict[str, Any]:
    """An event from points of a trade-off curve: false positives α, and false negatives β that every test of
    that α has at the least, as riskcal's curves say.

    Between points β is taken as that of the next α: what a coarse curve leaves open near α = 0 counts as a δ,
    so that a table of losses (`outside_event`) says more. Source: Dong, Roth & Su 2022.

    >>> curve = [(a / 1000, max(1 - 2 * a / 1000, (1 - a / 1000) / 2)) for a in range(1001)]
    >>> event = trade_off_event(curve)
    >>> [round(float(x), 3) for x in event["points"][-1]]
    [0.693, 0.002]
    """
    from leakcap.accounting import PrivacyLoss

    given = sorted((_exact(a, "alpha"), _exact(b, "beta")) for a, b in points)
    if not 2 <= len(given) <= _MOST_EVENTS or any(max(pair) > 1 for pair in given):
        raise InvalidParameter(
            f"A trade-off curve must have 2 to {_MOST_EVENTS:,} points, of α and β from 0 to 1."
        )
    known = [(alpha, min(beta for _, beta in given[: k + 1])) for k, (alpha, beta) in enumerate(given)]
    p, q = _masses(_below(known))
    return profile_of(PrivacyLoss.of_rows(p, q))


def _below(known: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Points that lie below a curve that falls through these: each α with the next one's β."""
    alphas = [Fraction(0), *(alpha for alpha, _ in known), Fraction(1)]
    betas = [*(beta for _, beta in known), Fraction(0), Fraction(0)]
    return list(zip(alphas, betas, strict=True))


def _masses(points: Sequence[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    """Two laws whose trade-off curve is the lower convex hull of these points."""
    corners = falling_hull(points)
    sides = list(pairwise(corners))
    p = [Fraction(0), *(b[0] - a[0] for a, b in sides), 1 - corners[-1][0]]
    q = [1 - corners[0][1], *(a[1] - b[1] for a, b in sides), corners[-1][1]]
    kept = [(float(x), float(y)) for x, y in zip(p, q, strict=True) if x or y]
    return [x for x, _ in kept], [y for _, y in kept]


def _read(thing: Any, d_in: float | None, deep: int) -> dict[str, Any]:
    if deep > _DEEPEST:
        raise InvalidParameter(f"Events stand in one another more than {_DEEPEST} deep. Multiply counts.")
    if isinstance(thing, Mapping):
        return _of_mapping(thing, deep)
    name = type(thing).__name__
    if name in KINDS or name in _ELSEWHERE:
        fields = KINDS[name].fields if name in KINDS else _FIELDS[name]
        told = {field: getattr(thing, field) for field in fields}
        return _of_mapping({"name": name, **told, **_xi(thing)}, deep)
    if name.endswith("DpEvent"):
        raise _unknown(name)
    if isinstance(thing, list | tuple):
        return _of_history(thing)
    if hasattr(thing, "history"):
        return _of_history(thing.history)
    if hasattr(thing, "output_measure") and hasattr(thing, "map"):
        return _of_measurement(thing, d_in)
    return _of_losses(thing)


def _xi(thing: Any) -> dict[str, Any]:
    return {"xi": thing.xi} if hasattr(thing, "xi") else {}


_FIELDS = {
    "MixtureOfGaussiansDpEvent": ("standard_deviation", "sensitivities", "sampling_probs"),
    "NonPrivateDpEvent": (),
    "UnsupportedDpEvent": (),
}


def _of_mapping(told: Mapping[str, Any], deep: int) -> dict[str, Any]:
    names = [told[key] for key in _NAMES if key in told]
    name = names[0] if names and isinstance(names[0], str) else ""
    values = {key: value for key, value in told.items() if key not in _NAMES and key not in _DROPPED}
    if name in _NOTHING_HIDDEN:
        raise InvalidParameter(f"`{name}` hides nothing that can be counted. No cap holds it.")
    if name == "MixtureOfGaussiansDpEvent":
        return _of_mixture(values)
    if name == "ZCDpEvent" and "xi" in values:
        xi = _exact(values.pop("xi"), "xi")
        if xi:
            rho = _exact(values.get("rho"), "rho")
            lines = [[str(Fraction(str(at))), str(xi + Fraction(str(at)) * rho)] for at in ORDERS]
            return {"name": "RenyiDpEvent", "orders": lines}
    if name not in KINDS:
        raise _unknown(name)
    return {"name": name, **{field: _value(field, value, deep) for field, value in values.items()}}


def _value(field: str, value: Any, deep: int) -> Any:
    if field == "event":
        return _read(value, None, deep + 1)
    if field == "events":
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MOST_EVENTS:
            raise InvalidParameter(f"`events` must be a list of 1 to {_MOST_EVENTS:,} events.")
        return [_read(one, None, deep + 1) for one in value]
    if field == "step_counts" and isinstance(value, list | tuple):
        return max((_whole(one, field) for one in value), default=0)
    if field in WHOLE:
        return _whole(value, field)
    if field == "shape" and _boundless(value):
        return POISSON
    if field in ("points", "orders"):
        if not isinstance(value, list | tuple) or any(not isinstance(x, list | tuple) for x in value):
            raise InvalidParameter(f"`{field}` must be a list of pairs.")
        return [[str(_exact(one, field)) for one in pair] for pair in value]
    return str(_exact(value, field))


def _boundless(value: Any) -> bool:
    """Whether it is ∞, as a number or in words."""
    number = isinstance(value, float | Decimal) and value == math.inf
    return number or (isinstance(value, str) and value.lower() in (POISSON, "infinity"))


def _unknown(name: str) -> InvalidParameter:
    known = ", ".join(sorted({*KINDS, "MixtureOfGaussiansDpEvent"}))
    shown = f"`{name[:60]}`" if name else "without a name"
    return InvalidParameter(f"Event {shown} is none whose loss leakcap knows. Those it reads: {known}.")


def _of_mixture(values: Mapping[str, Any]) -> dict[str, Any]:
    """The likelihood ratio of Σ pᵢN(sᵢ, σ²) and N(0, σ²) grows with the outcome where no sᵢ is negative, so
    that the best tests are thresholds, which tell no less apart where each sᵢ > 0 becomes the largest."""
    if values.keys() != set(_FIELDS["MixtureOfGaussiansDpEvent"]):
        raise InvalidParameter("`MixtureOfGaussiansDpEvent` must have its three fields.")
    far, often = values["sensitivities"], values["sampling_probs"]
    if not isinstance(far, list | tuple) or not isinstance(often, list | tuple) or len(far) != len(often):
        raise InvalidParameter("`sensitivities` and `sampling_probs` must be lists of one length.")
    distances = [_exact(one, "sensitivities") for one in far]
    chances = [_exact(one, "sampling_probs") for one in often]
    moving = [(s, p) for s, p in zip(distances, chances, strict=True) if s and p]
    if not moving:
        return {"name": "NoOpDpEvent"}
    noise = _exact(values["standard_deviation"], "standard_deviation") / max(s for s, _ in moving)
    rate = min(sum((p for _, p in moving), Fraction(0)), Fraction(1))
    return _steps(noise, rate, 1)


def _steps(noise: Fraction, rate: Fraction, count: int) -> dict[str, Any]:
    event: dict[str, Any] = {"name": "GaussianDpEvent", "noise_multiplier": str(noise)}
    if rate < 1:
        event = {"name": "PoissonSampledDpEvent", "sampling_probability": str(rate), "event": event}
    return {"name": "SelfComposedDpEvent", "count": count, "event": event} if count != 1 else event


def _of_history(history: Any) -> dict[str, Any]:
    """Opacus': (noise multiplier, sampling probability, steps), one row for each stretch."""
    rows = list(history) if isinstance(history, list | tuple) else []
    threes = all(isinstance(row, list | tuple) and len(row) == 3 for row in rows)
    if not threes or not 1 <= len(rows) <= _MOST_EVENTS:
        raise InvalidParameter(
            f"A history of Opacus must be 1 to {_MOST_EVENTS:,} rows of noise multiplier, sampling "
            "probability and steps."
        )
    found: dict[tuple[Fraction, Fraction], int] = {}
    for noise, rate, count in rows:
        place = _exact(noise, "noise_multiplier"), _exact(rate, "sampling_probability")
        if not 0 < place[1] <= 1 or not place[0]:
            raise InvalidParameter(
                "A row of a history must have noise above 0, and a probability above 0 and at most 1."
            )
        found[place] = found.get(place, 0) + _whole(count, "steps")
    events = [_steps(*place, count) for place, count in found.items() if count]
    if not events:
        return {"name": "NoOpDpEvent"}
    return events[0] if len(events) == 1 else {"name": "ComposedDpEvent", "events": events}


def _of_measurement(measurement: Any, d_in: float | None) -> dict[str, Any]:
    """What OpenDP's privacy map says at `d_in`; of a curve, at some points of it."""
    if d_in is None:
        raise InvalidParameter(
            "A measurement of OpenDP needs `d_in`, how far apart neighbours are in its own metric."
        )
    measure = str(measurement.output_measure)
    said = measurement.map(d_in)
    pair = isinstance(said, tuple | list) and len(said) == 2
    if pair and "ZeroConcentrated" in measure:
        rho, delta = (_exact(one, "rho") for one in said)
        parts = [{"name": "ZCDpEvent", "rho": str(rho)}, _approximate(Fraction(0), delta)]
        return {"name": "ComposedDpEvent", "events": parts}
    if pair:
        return _approximate(*(_exact(one, "epsilon") for one in said))
    if "ZeroConcentrated" in measure:
        return {"name": "ZCDpEvent", "rho": str(_exact(said, "rho"))}
    if "Renyi" in measure and callable(said):
        lines = [[str(Fraction(str(at))), str(_exact(said(float(at)), "nats"))] for at in ORDERS if at > 1]
        return {"name": "RenyiDpEvent", "orders": lines}
    if hasattr(said, "epsilon"):
        return profile_event(said.epsilon, [10.0**-k for k in range(1, 16)])
    if measure.startswith("MaxDivergence"):
        return _approximate(_exact(said, "epsilon"), Fraction(0))
    raise InvalidParameter(f"Measure `{measure[:60]}` of an OpenDP measurement is none that leakcap reads.")


def _approximate(epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    return {"name": "EpsilonDeltaDpEvent", "epsilon": str(epsilon), "delta": str(delta)}


def _of_losses(thing: Any, adding: Any = None) -> dict[str, Any]:
    from leakcap.accounting import LossTable, PrivacyLoss, from_pld

    losses: list[Any] = []
    for one, back in ((thing, False), (adding, True)):
        if isinstance(one, PrivacyLoss) or one is None:
            losses.append(one)
            continue
        if isinstance(one, LossTable) and not one.pessimistic:
            raise InvalidParameter("An optimistic table proves nothing. Give the pessimistic one.")
        if not (isinstance(one, LossTable) or hasattr(one, "_pmf_remove")):
            raise InvalidParameter(
                f"`{type(one).__name__[:60]}` is nothing that says what was spent. Give an event, a history, "
                "a table of losses, or a measurement with its `d_in`."
            )
        losses.append(from_pld(one, adding=back))
    if adding is None and hasattr(thing, "_pmf_remove"):
        losses[1] = from_pld(thing, adding=True)
    return profile_of(losses[0], losses[1])


def _exact(value: Any, name: str) -> Fraction:
    """A number as it was written, no less than 0."""
    if hasattr(value, "item") and not isinstance(value, Real):
        value = value.item()
    good = isinstance(value, Real | Decimal | str) and not isinstance(value, bool)
    try:
        if isinstance(value, Rational):
            found = Fraction(value)
        else:
            text = str(value) if isinstance(value, str | Decimal) else repr(float(value))
            exponent = text.lower().partition("e")[2]
            found = Fraction(text if good and len(exponent) <= 4 and len(text) <= 400 else "")
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        found = Fraction(-1)
    if not good or found < 0:
        shown = repr(value)[:40] if isinstance(value, Real | Decimal) else type(value).__name__
        raise InvalidParameter(f"`{name}` of an event must be a number from 0. Got {shown}.")
    return found


def _whole(value: Any, name: str) -> int:
    if hasattr(value, "item") and not isinstance(value, Real):
        value = value.item()
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        shown = repr(value)[:40] if isinstance(value, Real | Decimal) else type(value).__name__
        raise InvalidParameter(f"`{name}` of an event must be a whole number from 0. Got {shown}.")
    return int(value)


def as_dp_event(event: Mapping[str, Any], *, events: Any = None) -> Any:
    """The object of dp-accounting for an event: its `dp_event` module, or `events` in its place.

    A discrete Gaussian, a bounded or a replaced event, and a profile have none; there a `LeakcapError` names
    it. Numbers become the nearest doubles.

    >>> from types import SimpleNamespace
    >>> module = SimpleNamespace(GaussianDpEvent=lambda noise_multiplier: noise_multiplier)
    >>> as_dp_event({"name": "GaussianDpEvent", "noise_multiplier": "5/2"}, events=module)
    2.5
    """
    if events is None:
        from leakcap.accounting.events import event_classes

        events = event_classes()
    checked(dict(event))
    return _written(event, events)


def _written(event: Mapping[str, Any], events: Any) -> Any:
    name = str(event["name"])
    made = getattr(events, name, None)
    if name == "EpsilonDeltaDpEvent" and Fraction(event["delta"]) == 0:
        epsilon = float(Fraction(event["epsilon"]))
        odds = math.exp(epsilon) if epsilon <= _MOST_EPSILON else math.inf
        return events.RandomizedResponseDpEvent(2.0 / (1.0 + odds), 2)
    if made is None:
        raise LeakcapError(f"dp-accounting has no event `{name}`. Give it ε and δ, or the curve, instead.")
    values = {}
    for field in KINDS[name].fields:
        value = event[field]
        if field == "event":
            values[field] = _written(value, events)
        elif field == "events":
            values[field] = [_written(one, events) for one in value]
        else:
            values[field] = value if field in WHOLE else _double(str(value))
    return made(**values)


def _double(text: str) -> float:
    return math.inf if text == POISSON else float(Fraction(text))
