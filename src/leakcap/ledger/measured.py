"""What follows from an event, canonical JSON that says what a charge was for: an auditor computes it again.

    {"name": "DiscreteLaplaceDpEvent", "noise_parameter": "1/10", "sensitivity": 1}

Names and fields are those of dp-accounting's `DpEvent`s where it has one. Numbers that are not whole stand as
exact fractions. Of an event follow its ε, its δ, its ρ, and its Rényi curve between neighbours, in both
directions; and of noise that has no ε without a δ, the ε at a charge's δ.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from leakcap.ledger.curve import ORDERS, rho_beside_delta
from leakcap.ledger.dp_events import Event, Guarantee, fraction, guaranteed, read_event, rho, summed
from leakcap.ledger.foreign_events import loss_in
from leakcap.ledger.lattice_gaussian import narrowed
from leakcap.ledger.profiles import delta_at, epsilon_of_points, points_of
from leakcap.ledger.steps import GaussianSteps, accounted, steps_in
from leakcap.ledger.ticks import TICKS_PER_UNIT, Ticks, units
from leakcap.numeric import float_up

__all__ = [
    "charge_covers",
    "event_epsilon",
    "gaussian_distance",
    "guarantee",
    "laplace_distance",
    "priced_by_checker",
    "required",
    "rho_of",
    "steps_of",
]

_KNOWN = (
    "EpsilonDelta",
    "DiscreteLaplace",
    "Laplace",
    "ZC",
    "Gaussian",
    "DiscreteGaussian",
    "RandomizedResponse",
)
_PRICED = frozenset(f"{name}DpEvent" for name in _KNOWN)
"""The events whose curve `leakcap_verify` computes, alone and composed; Gaussian noise also on a sample."""
_MOST_TIMES = 10**12

_FRACTION = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?", re.ASCII)

_NEARLY = 1e-5
"""Of an ε that was searched for: how near to it the search ends."""
_COMPOSED = 1000.0
"""The mean loss, in nats, up to which losses are composed exactly: beyond it the curve says enough."""
_TICK = Fraction(1, TICKS_PER_UNIT)
_ANOTHER_PROCESSOR = 1e-9
"""The most by which an exactly composed ε may differ between two processors."""


def priced_by_checker(event: Event, order: float = math.inf) -> bool:
    """Whether `leakcap_verify` computes what an event tells, at an order: it knows these kinds, and reads
    exact fractions. Of some it has no Kullback–Leibler divergence, of order 1.

    >>> priced_by_checker({"name": "ZCDpEvent", "rho": "2/25"}), priced_by_checker({"name": "NoOpDpEvent"})
    (True, False)
    """
    if event["name"] == "ComposedDpEvent":
        return all(priced_by_checker(one, order) for one in event["events"])
    if event["name"] == "SelfComposedDpEvent":
        return event["count"] <= _MOST_TIMES and priced_by_checker(event["event"], order)
    own = {name: one for name, one in event.items() if name not in ("name", "event")}
    if not all(_FRACTION.fullmatch(str(one)) for one in own.values()):
        return False
    if event["name"] == "BoundedDpEvent":
        return order != 1 and priced_by_checker(event["event"], order)
    if event["name"] == "PoissonSampledDpEvent":
        inner = event["event"]["name"]
        return order != 1 and inner == "GaussianDpEvent" and priced_by_checker(event["event"])
    return event["name"] in _PRICED and (order != 1 or event["name"] != "RandomizedResponseDpEvent")


@lru_cache(maxsize=4096)
def guarantee(text: str) -> Guarantee:
    """What follows from an event. Raises `InvalidParameter` for one that cannot be computed, by its name.

    >>> guarantee('{"delta":"0","epsilon":"1/10","name":"EpsilonDeltaDpEvent"}').epsilon
    Fraction(1, 10)
    >>> guarantee('{"name":"TreeDpEvent"}')
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: Event `TreeDpEvent` of a charge cannot be computed again. Those that ...
    """
    return guaranteed(read_event(text))


@lru_cache(maxsize=4096)
def required(text: str) -> None:
    """Raise `InvalidParameter` for an event whose name or fields are not known; computes no curve."""
    read_event(text)


@lru_cache(maxsize=4096)
def rho_of(text: str) -> Fraction:
    """The ρ of zero-concentrated privacy that follows from an event, rounded up where it is no fraction.

    >>> rho_of('{"name":"ZCDpEvent","rho":"2/25"}')
    Fraction(2, 25)
    """
    return rho(read_event(text))


def charge_covers(text: str, charged: Ticks) -> bool:
    """Whether a charge covers its event: ε, δ, ρ and the curve, each but for a last digit.

    >>> from leakcap.ledger.values import Spend, event_text, pure_event
    >>> event = event_text(pure_event(Fraction(1, 10)))
    >>> charge_covers(event, Spend(0.1).ticks(None)), charge_covers(event, Spend(0.09).ticks(None))
    (True, False)
    """
    found = guarantee(text)
    if len(charged.curve) != len(found.curve):
        return False  # sums take no curve for nothing told
    if charged.delta is not None and found.delta * TICKS_PER_UNIT > charged.delta + 1:
        return False
    if charged.epsilon is not None and not _enough(text, charged.epsilon, charged.delta or 0):
        return False
    if charged.rho is not None:
        least = found.rho
        if charged.delta and charged.epsilon is not None:
            least = rho_beside_delta(found.curve, least, units(charged.epsilon))
        if least * TICKS_PER_UNIT * (1 - Fraction(1, 10**9)) > charged.rho + 1:
            return False
    most = math.inf if charged.epsilon is None else charged.epsilon
    return all(
        ticks is None or ticks + 1 >= min(nats * TICKS_PER_UNIT, most) * (1 - 1e-9)
        for ticks, nats in zip(charged.curve, found.curve, strict=True)
    )


@lru_cache(maxsize=4096)
def _enough(text: str, epsilon: int, delta: int) -> bool:
    """Whether an event is (ε, δ)-DP, both in ticks, each up to a last digit.

    The δ that parts of the event have of their own is taken off first; the curve gets what is left.
    """
    found, most = guarantee(text), Fraction(epsilon + 1, TICKS_PER_UNIT)
    left = Fraction(delta, TICKS_PER_UNIT) - found.delta
    if found.epsilon is not None and found.epsilon <= most and left >= -_TICK:
        return True
    event, at = read_event(text), float(left)
    if event["name"] == "ProfileDpEvent":
        return delta_at(points_of(event), most) <= Fraction(delta, TICKS_PER_UNIT)
    if left <= 0:
        return False
    steps, loss = (steps_in(event), loss_in(event)) if found.curve[0] <= _COMPOSED else (None, None)
    if steps is not None:
        return accounted(steps).keeps(float(most) * (1 + _ANOTHER_PROCESSOR), at)
    if loss is not None and loss.keeps(float(most) * (1 + _ANOTHER_PROCESSOR), at):
        return True
    from leakcap.definition import ApproxDP, ZeroConcentratedDP, convert
    from leakcap.definition.theorems.renyi import epsilon_of_curve

    if event["name"] == "ZCDpEvent":
        level = ZeroConcentratedDP(float_up(fraction(event, "rho")))
        proven = convert(level, ApproxDP, delta=at).epsilon
    else:
        proven = epsilon_of_curve(dict(zip(ORDERS, found.curve, strict=True)), at)
    return Fraction(proven * (1 - _NEARLY)) <= most


def event_epsilon(text: str, delta: Fraction) -> float:
    """The least ε that is known to hold of an event at this δ, in nats, rounded up; ∞ where none is.

    >>> round(event_epsilon('{"name":"GaussianDpEvent","noise_multiplier":"1"}', Fraction(1, 10**5)), 4)
    4.3772
    """
    found, event = guarantee(text), read_event(text)
    known = [math.inf]
    if found.epsilon is not None and found.delta <= delta:
        known.append(float_up(found.epsilon))
    if event["name"] == "ProfileDpEvent":
        best = epsilon_of_points(points_of(event), delta)
        return min(known + ([] if best is None else [best]))
    left = float(delta - found.delta) * (1 - 2.0**-50)
    if left <= 0:
        return min(known)
    steps, loss = (steps_in(event), loss_in(event)) if found.curve[0] <= _COMPOSED else (None, None)
    if steps is not None:
        known.append(accounted(steps).epsilon(left).upper)
    elif loss is not None:
        known.append(loss.epsilon_both(left, _NEARLY).upper)
    else:
        from leakcap.definition.theorems.renyi import epsilon_of_curve

        finite = {at: nats for at, nats in zip(ORDERS, found.curve, strict=True) if nats < math.inf}
        known += [epsilon_of_curve(finite, left)] if finite else []
    return min(known)


def steps_of(text: str) -> GaussianSteps | None:
    """The steps of Gaussian noise that an event stands for; None where it is something else.

    >>> steps_of('{"name":"GaussianDpEvent","noise_multiplier":"5/2"}').count
    1
    """
    return steps_in(read_event(text))


def laplace_distance(text: str) -> Fraction | None:
    """The distance, in scales, of a Laplace law that dominates the event; None for one that is no discrete
    Laplace noise.

    Σ over its parts of ε + ε²/4d, where d steps make ε: see `docs/ledger.md`.

    >>> laplace_distance('{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}')
    Fraction(41, 400)
    """
    return summed(read_event(text), _laplace_distance)


def gaussian_distance(text: str) -> Fraction | None:
    """The ρ of the Gaussian noise that the event's answer is a function of, up to a negligible δ; None for
    one that is no discrete Gaussian noise, or too narrow. See `leakcap.ledger.lattice_gaussian`.

    >>> gaussian_distance('{"name":"DiscreteGaussianDpEvent","squared_sensitivity":"1","variance":"254"}')
    Fraction(1, 500)
    """
    return summed(read_event(text), _narrowed)


def _laplace_distance(event: Event) -> Fraction | None:
    if event["name"] != "DiscreteLaplaceDpEvent":
        return None
    steps = int(event["sensitivity"])
    epsilon = fraction(event, "noise_parameter") * steps
    return epsilon + epsilon**2 / (4 * steps) if steps else Fraction(0)


def _narrowed(event: Event) -> Fraction | None:
    if event["name"] != "DiscreteGaussianDpEvent":
        return None
    return narrowed(fraction(event, "variance"), fraction(event, "squared_sensitivity"))
