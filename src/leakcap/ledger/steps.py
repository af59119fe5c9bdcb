"""Steps of Gaussian noise among the events of charges.

    {"name": "SelfComposedDpEvent", "count": 1000, "event": {"name": "PoissonSampledDpEvent",
        "sampling_probability": "1/100", "event": {"name": "GaussianDpEvent", "noise_multiplier": "1"}}}

is a gradient descent between presence and absence; inside a `ReplacedDpEvent` it is one between two contents
of a person, by way of absence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakcap.accounting import SampledSteps

__all__ = ["GaussianSteps", "accounted", "sampling_rate", "steps_in"]

_MOST, _MOST_DENOMINATOR = 10**12, 10**6


@dataclass(frozen=True)
class GaussianSteps:
    """Noise multiplier, sampling rate and number of steps, and whether they tell two contents apart."""

    noise: Fraction
    rate: Fraction
    count: int
    replaced: bool

    @property
    def event(self) -> dict[str, Any]:
        """As an event: where everybody is in every step, two contents are half the noise apart directly.

        >>> GaussianSteps(Fraction(5), Fraction(1), 1, replaced=True).event
        {'name': 'GaussianDpEvent', 'noise_multiplier': Fraction(5, 2)}
        """
        direct = self.replaced and self.rate == 1
        noise = self.noise / 2 if direct else self.noise
        event: dict[str, Any] = {"name": "GaussianDpEvent", "noise_multiplier": noise}
        if self.rate < 1:
            event = {"name": "PoissonSampledDpEvent", "sampling_probability": self.rate, "event": event}
        if self.count > 1:
            event = {"name": "SelfComposedDpEvent", "event": event, "count": self.count}
        return {"name": "ReplacedDpEvent", "event": event} if self.replaced and not direct else event


def sampling_rate(value: Any) -> Fraction:
    """The rate of a descent as it is sampled: the nearest fraction with a denominator of a million at most.

    >>> sampling_rate(0.1), sampling_rate("256/50000")
    (Fraction(1, 10), Fraction(16, 3125))
    """
    return Fraction(value).limit_denominator(_MOST_DENOMINATOR)


def steps_in(event: Mapping[str, Any]) -> GaussianSteps | None:
    """What steps of Gaussian noise an event stands for; None where it is something else. Its fields have been
    checked.

    >>> steps_in({"name": "GaussianDpEvent", "noise_multiplier": "5/2"})
    GaussianSteps(noise=Fraction(5, 2), rate=Fraction(1, 1), count=1, replaced=False)
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
    return GaussianSteps(Fraction(str(event["noise_multiplier"])), rate, count, replaced)


@lru_cache(maxsize=1024)
def accounted(steps: GaussianSteps) -> SampledSteps:
    """The steps, as the accountant composes them."""
    from leakcap.accounting import SampledSteps

    return SampledSteps(steps.noise, steps.rate, steps.count, steps.replaced)
