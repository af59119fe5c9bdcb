"""Plans as Google's dp-accounting writes them: its `DpEvent` in and out, by the events' own names.

dp-accounting is not needed to read an event; to write one it must be installed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import Part, Reversed
from leakcap.accounting.sampled import SampledGaussianLoss, SampledLaplaceLoss
from leakcap.errors import InvalidParameter, LeakcapError, NoRoute
from leakcap.mechanism import TwoSidedGeometric

__all__ = ["from_event", "to_event"]


def from_event(event: object) -> PrivacyLoss:
    """The privacy loss of an event of dp-accounting: the side of removing a record; `.reverse` is adding.

    `loss.epsilon_both(delta)` is what its PLD accountant reports. Raises `NoRoute` for an event that has no
    one privacy loss (a zCDP statement, a tree), naming it.

    >>> class GaussianDpEvent:
    ...     noise_multiplier = 2.0
    >>> from_event(GaussianDpEvent()).renyi(4.0).upper
    0.5
    """
    reader = _READERS.get(type(event).__name__)
    if reader is None:
        raise NoRoute(
            f"`{type(event).__name__}` has no one privacy loss that leakcap knows. Those it reads: "
            f"{', '.join(sorted(_READERS))}."
        )
    return reader(event)


def _one(part: Part) -> PrivacyLoss:
    return PrivacyLoss(((part, 1),))


def _randomised(event: Any) -> PrivacyLoss:
    noise, size = float(event.noise_parameter), int(event.num_buckets)
    p = [1.0 - noise + noise / size, noise / size, (size - 2) * noise / size]
    return PrivacyLoss.of_rows(p, [p[1], p[0], p[2]])


def _sampled(event: Any) -> PrivacyLoss:
    return from_event(event.event).sampled(float(event.sampling_probability))


def _sampled_fixed(event: Any) -> PrivacyLoss:
    return from_event(event.event).sampled_fixed(event.sample_size / event.source_dataset_size)


_READERS: Mapping[str, Callable[[Any], PrivacyLoss]] = {
    "NoOpDpEvent": lambda event: _one(finite_loss([1.0], [1.0])),
    "NonPrivateDpEvent": lambda event: _one(finite_loss([1.0, 0.0], [0.0, 1.0])),
    "GaussianDpEvent": lambda event: _one(GaussianLoss(1.0 / event.noise_multiplier)),
    "LaplaceDpEvent": lambda event: _one(LaplaceLoss(1.0 / event.noise_multiplier)),
    "DiscreteLaplaceDpEvent": lambda event: PrivacyLoss.of_mechanism(
        TwoSidedGeometric(1.0 / event.noise_parameter, int(event.sensitivity))
    ),
    "RandomizedResponseDpEvent": _randomised,
    "PoissonSampledDpEvent": _sampled,
    "SampledWithoutReplacementDpEvent": _sampled_fixed,
    "SelfComposedDpEvent": lambda event: from_event(event.event) ** int(event.count),
    "ComposedDpEvent": lambda event: PrivacyLoss.of([from_event(each) for each in event.events]),
}


def to_event(loss: PrivacyLoss, *, events: Any = None) -> Any:
    """The event of dp-accounting with this privacy loss, or its reverse: an event stands for both.

    `events` is a module with dp-accounting's classes, its own `dp_event` when left out. Raises
    `LeakcapError` when that is not installed, `InvalidParameter` for rows that no event describes.

    >>> from types import SimpleNamespace
    >>> classes = SimpleNamespace(GaussianDpEvent=lambda sigma: ("normal", sigma))
    >>> to_event(_one(GaussianLoss(0.5)), events=classes)
    ('normal', 2.0)
    """
    if events is None:
        try:
            events = importlib.import_module("dp_accounting.dp_event")
        except ImportError:
            raise LeakcapError(
                "an event of dp-accounting needs that library, which is not installed. Run: "
                "pip install dp-accounting"
            ) from None
    written = [_repeated(_write(part, events), count, events) for part, count in loss.parts]
    return written[0] if len(written) == 1 else events.ComposedDpEvent(written)


def _repeated(event: Any, count: int, events: Any) -> Any:
    return event if count == 1 else events.SelfComposedDpEvent(event, count)


@singledispatch
def _write(part: object, events: Any) -> Any:
    raise InvalidParameter(f"no event of dp-accounting describes {part!r}.")


@_write.register
def _(part: Reversed, events: Any) -> Any:
    return _write(part.part, events)


@_write.register
def _(part: GaussianLoss, events: Any) -> Any:
    return events.GaussianDpEvent(1.0 / part.mu)


@_write.register
def _(part: LaplaceLoss, events: Any) -> Any:
    return events.LaplaceDpEvent(1.0 / part.epsilon)


@_write.register
def _(part: SampledGaussianLoss, events: Any) -> Any:
    return events.PoissonSampledDpEvent(part.rate, events.GaussianDpEvent(1.0 / part.mu))


@_write.register
def _(part: SampledLaplaceLoss, events: Any) -> Any:
    return events.PoissonSampledDpEvent(part.rate, events.LaplaceDpEvent(1.0 / part.epsilon))


@_write.register
def _(part: FiniteLoss, events: Any) -> Any:
    if part.losses == (0.0,) and part.infinite == 0.0:
        return events.NoOpDpEvent()
    if part.infinite == 1.0:
        return events.NonPrivateDpEvent()
    noise = part.p[0]
    size = round(1.0 + (1.0 - part.p[-1]) / noise)
    as_expected = _randomised(_Answer(noise * size, size)).parts[0][0]
    if not _alike(part, as_expected):
        raise InvalidParameter(
            f"no event of dp-accounting describes a loss of {len(part.losses)} values that is not randomised "
            "response. Give that mechanism to dp-accounting as a privacy-loss distribution."
        )
    return events.RandomizedResponseDpEvent(noise * size, size)


class _Answer:
    def __init__(self, noise_parameter: float, num_buckets: int) -> None:
        self.noise_parameter, self.num_buckets = noise_parameter, num_buckets


def _alike(a: FiniteLoss, b: Part) -> bool:
    if not isinstance(b, FiniteLoss) or len(a.losses) != len(b.losses) or a.infinite or a.lost:
        return False
    pairs = [*zip(a.losses, b.losses, strict=True), *zip(a.p, b.p, strict=True)]
    return all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) for x, y in pairs)
