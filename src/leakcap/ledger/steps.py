"""Steps of Gaussian noise among the events of charges, and the ε of a charge that has a δ.

    {"name": "SelfComposedDpEvent", "count": 1000, "event": {"name": "PoissonSampledDpEvent",
        "sampling_probability": "1/100", "event": {"name": "GaussianDpEvent", "noise_multiplier": "1"}}}

is a gradient descent between presence and absence; inside a `ReplacedDpEvent` it is one between two contents
of a person, by way of absence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from leakcap.ledger.curve import ORDERS

if TYPE_CHECKING:
    from leakcap.accounting import SampledSteps

__all__ = ["Form", "form_of", "proven_epsilon", "steps_of"]

_MOST = 10**12


class Form(NamedTuple):
    """Noise, sampling rate and number of steps, and whether they tell two contents apart."""

    noise: Fraction
    rate: Fraction
    steps: int
    replaced: bool


def form_of(event: Mapping[str, Any]) -> Form | None:
    """What steps of Gaussian noise an event stands for; None where it is something else. Its fields have been
    checked.

    >>> form_of({"name": "GaussianDpEvent", "noise_multiplier": "5/2"})
    Form(noise=Fraction(5, 2), rate=Fraction(1, 1), steps=1, replaced=False)
    """
    replaced, count, rate = False, 1, Fraction(1)
    if event["name"] == "ReplacedDpEvent":
        replaced, event = True, event["event"]
    while event["name"] == "SelfComposedDpEvent":
        count, event = count * int(event["count"]), event["event"]
    if event["name"] == "PoissonSampledDpEvent":
        rate, event = Fraction(str(event["sampling_probability"])), event["event"]
    if event["name"] != "GaussianDpEvent" or not 1 <= count <= _MOST:
        return None
    return Form(Fraction(str(event["noise_multiplier"])), rate, count, replaced)


@lru_cache(maxsize=1024)
def steps_of(form: Form) -> SampledSteps:
    """The steps, as the accountant composes them."""
    from leakcap.accounting import SampledSteps

    return SampledSteps(form.noise, form.rate, form.steps, form.replaced)


def proven_epsilon(curve: Sequence[float], delta: float) -> float:
    """The ε that a curve at the ledger's orders proves for this δ.

    Source: Canonne, Kamath & Steinke 2020, proposition 12.

    >>> round(proven_epsilon([order / 50 for order in ORDERS], 1e-6), 4)
    0.8999
    """
    return min(
        max(0.0, nats + (math.log1p(-1 / order) * (order - 1) - math.log(order * delta)) / (order - 1))
        for order, nats in zip(ORDERS, curve, strict=True)
        if order > 1
    )
