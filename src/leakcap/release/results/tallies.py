"""From charges to tallies: what an answer is a function of, read from its event."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from leakcap.ledger import Spend
from leakcap.ledger.details import EPSILON_CONTENTS, EVENT_CONTENTS
from leakcap.ledger.dp_events import Event, fraction, guaranteed, read_event
from leakcap.ledger.lattice_gaussian import distance_of_a_step, narrowed
from leakcap.ledger.steps import steps_in
from leakcap.numeric import float_up, up
from leakcap.statement.tally import Composed, Tally

__all__ = ["composed_of"]


def composed_of(spend: Spend, details: Mapping[str, Any], relation: str) -> Composed | None:
    """What an answer's curves are computed from; None where no more is known than an ε and a δ.

    `details` of a charge say what the answer is between two contents of one unit, where that was worked out;
    those of a plan are its slots. Neither holds of a spend without an event that was charged between other
    neighbours than those of now.

    >>> event = '{"name":"DiscreteGaussianDpEvent","squared_sensitivity":"1","variance":"254"}'
    >>> spend = Spend(math.inf, curve=(1.0,) * 31, event=event)
    >>> round(composed_of(spend, {}, "replace-one").neighbours.gaussian, 5)
    0.00394
    """
    if "slots" in details and spend.event:
        from leakcap.release.results.tallies_of_plans import of_plan

        return of_plan(json.dumps(dict(details), sort_keys=True), relation)
    if relation == "replace-one":
        neighbours = _of_spend(spend.epsilon, spend.delta, spend.curve, spend.event_text)
        return None if neighbours is None else Composed(neighbours)
    told, pure = str(details.get(EVENT_CONTENTS, "")), float(details.get(EPSILON_CONTENTS, math.inf))
    return _by_absence(spend.epsilon, spend.delta, spend.curve, spend.event_text, told, pure)


@lru_cache(maxsize=4096)
def _by_absence(
    epsilon: float, delta: float, curve: tuple[float, ...] | None, text: str, told: str, pure: float
) -> Composed | None:
    """Between presence and absence, and between two contents where that was worked out."""
    neighbours = _of_spend(epsilon, delta, curve, text)
    if neighbours is None:
        return None
    contents = _of_event(told) if told else None
    if contents is None and delta == 0.0 and math.isfinite(epsilon) and math.isfinite(pure):
        contents = Tally(pure=((pure, 1),))
    return Composed(neighbours, contents)


@lru_cache(maxsize=4096)
def _of_spend(epsilon: float, delta: float, curve: tuple[float, ...] | None, text: str) -> Tally | None:
    known = _of_event(text) if text else None
    leak = delta
    if text and (curve is None or delta > 0.0):
        # A curve that is charged beside a δ is capped by the ε, but for that δ; the event's is not.
        curve, leak = _curve_of(text), _delta_of(text)
    if known is not None and curve is not None:
        return replace(known, curve=curve, leak=leak)
    if curve is None:
        return None
    # A curve alone; and, where a finite ε is stated, that.
    pure = math.isfinite(epsilon)
    return Tally(
        pure=((epsilon, 1),) if pure and epsilon > 0.0 else (),
        delta=delta if pure else 0.0,
        usable=pure,
        curve=curve,
        leak=leak,
    )


@lru_cache(maxsize=4096)
def _curve_of(text: str) -> tuple[float, ...]:
    return guaranteed(read_event(text)).curve


@lru_cache(maxsize=4096)
def _delta_of(text: str) -> float:
    return float_up(guaranteed(read_event(text)).delta)


@lru_cache(maxsize=4096)
def _of_event(text: str) -> Tally | None:
    """The answer, but for its curve; None where it is no function of such noise."""
    return _tally(read_event(text))


def _tally(event: Event) -> Tally | None:
    each = _leaves(event, 1)
    if each is None:
        return None
    found, steps = [], defaultdict[Fraction, list[tuple[int, int]]](list)
    for leaf, count in each:
        if leaf["name"] == "DiscreteLaplaceDpEvent":
            steps[fraction(leaf, "noise_parameter")].append((int(leaf["sensitivity"]), count))
            continue
        known = _READERS[str(leaf["name"])](leaf)
        if known is None:
            return None
        found.append(known.times(count))
    found += [_moved(rate, moved) for rate, moved in steps.items() if rate]
    return Tally.total(found) if found else Tally()


def _leaves(event: Event, count: int) -> list[tuple[Event, int]] | None:
    """The events of single noisy vectors, and how often; None where one is no function of known noise."""
    name = str(event["name"])
    if name == "SelfComposedDpEvent":
        return _leaves(event["event"], count * int(event["count"])) if event["count"] else []
    if name == "ComposedDpEvent":
        each = [_leaves(one, count) for one in event["events"]]
        known = [one for one in each if one is not None]
        return [leaf for one in known for leaf in one] if len(known) == len(each) else None
    return [(event, count)] if name in _READERS else None


def _moved(rate: Fraction, moved: list[tuple[int, int]]) -> Tally:
    """Integers with discrete Laplace noise of one rate, each moved by so many steps.

    Where each is moved by one step, each is a randomised response, and no more can be moved. Where one may be
    moved farther the steps may also be shared among more, of which no sum of responses is known to say the
    most but one of all of them. As Laplace noise d steps have a distance of ε + ε²/4d scales, however many
    integers share them: see `docs/ledger.md`.
    """
    steps = sum(far * count for far, count in moved)
    epsilon = rate * steps
    alone = all(far <= 1 for far, _ in moved)
    pure = (float_up(rate), steps) if alone else (float_up(epsilon), 1)
    return Tally(pure=(pure,), laplace=float_up(epsilon + steps * rate**2 / 4)) if steps else Tally()


def _pure(event: Event) -> Tally:
    epsilon, delta = (float_up(fraction(event, name)) for name in ("epsilon", "delta"))
    return Tally(pure=((epsilon, 1),) if epsilon else (), delta=delta)


def _laplace(event: Event) -> Tally:
    epsilon = float_up(1 / fraction(event, "noise_multiplier"))
    return Tally(pure=((epsilon, 1),), laplace=epsilon)


def _sampled(event: Event) -> Tally | None:
    """One step on a Poisson sample; others are taken as often as they are."""
    steps = steps_in(event)
    return None if steps is None or steps.replaced else Tally.of_steps(steps.noise, steps.rate, steps.count)


def _gaussian(event: Event) -> Tally:
    return Tally(gaussian=float_up(1 / fraction(event, "noise_multiplier") ** 2))


def _discrete_gaussian(event: Event) -> Tally | None:
    """Of continuous noise that is a little narrower: see `leakcap.ledger.lattice_gaussian`.

    A squared distance of up to three is that of so many integers that are moved by a step.
    """
    squared, variance = fraction(event, "squared_sensitivity"), fraction(event, "variance")
    step = distance_of_a_step(variance) if squared in (1, 2, 3) else None
    if step is not None:
        return Tally(gaussian=up(int(squared) * step**2, 4))
    found = narrowed(variance, squared) if squared else Fraction(0)
    return None if found is None else Tally(gaussian=float_up(2 * found))


def _bounded(event: Event) -> Tally | None:
    """Parts whose joint ε is below the sum of theirs: one answer of that ε, or Laplace noise as the parts."""
    inner = _tally(event["event"])
    if inner is None or inner.noisy or inner.delta > 0.0:
        return None
    return Tally(pure=((float_up(fraction(event, "epsilon")), 1),), laplace=inner.laplace)


_READERS: Mapping[str, Callable[[Event], Tally | None]] = {
    "EpsilonDeltaDpEvent": _pure,
    "DiscreteLaplaceDpEvent": lambda event: None,  # taken together, by rate
    "LaplaceDpEvent": _laplace,
    "GaussianDpEvent": _gaussian,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "BoundedDpEvent": _bounded,
    "PoissonSampledDpEvent": _sampled,
}
