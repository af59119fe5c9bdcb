"""Plans as Google's dp-accounting writes them: its `DpEvent` in and out, by the events' own names.

dp-accounting is not needed to read an event; to write one it must be installed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

from leakcap.accounting.batches import TruncatedLoss
from leakcap.accounting.concentrated import ConcentratedLoss, concentrated
from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.fixed_size import FixedSizeLoss, ReplacementLoss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import LossComponent, Reversed
from leakcap.accounting.sampled import SampledGaussianLoss, SampledLaplaceLoss
from leakcap.errors import InvalidParameter, LeakcapError, NoRoute
from leakcap.mechanism import Gaussian, Laplace, TwoSidedGeometric
from leakcap.numeric.rounding import up

__all__ = ["from_event", "to_event"]

_LARGEST = 10**9
"""The most people that a fraction of them is written with."""


def from_event(event: object) -> PrivacyLoss:
    """The privacy loss of an event of dp-accounting: the side of removing a record; `.reverse` is adding.

    `loss.epsilon_both(delta)` is what its PLD accountant reports. Samples of fixed size are for
    replace-one, with replacement or without, and a tree for replacing a record by nothing, as there. zCDP
    statements of one plan are added up, then dominated by one pair. Raises `NoRoute` for an event that has
    no one privacy loss, naming it.

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


def _one(part: LossComponent) -> PrivacyLoss:
    return PrivacyLoss(((part, 1),))


def _randomised(event: Any) -> PrivacyLoss:
    noise, size = float(event.noise_parameter), int(event.num_buckets)
    p = [1.0 - noise + noise / size, noise / size, (size - 2) * noise / size]
    return PrivacyLoss.of_rows(p, [p[1], p[0], p[2]])


def _sampled(event: Any) -> PrivacyLoss:
    return from_event(event.event).sampled(float(event.sampling_probability))


def _sampled_fixed(event: Any) -> PrivacyLoss:
    return from_event(event.event).sampled_fixed(event.sample_size / event.source_dataset_size)


def _with_replacement(event: Any) -> PrivacyLoss:
    return from_event(event.event).sampled_with_replacement(
        int(event.sample_size), int(event.source_dataset_size)
    )


def _truncated(event: Any) -> PrivacyLoss:
    noise = PrivacyLoss.of_mechanism(Gaussian(float(event.noise_multiplier)))
    people, most = int(event.dataset_size), int(event.truncated_batch_size)
    return noise.sampled_truncated(float(event.sampling_probability), people=people, most=most)


def _tree(event: Any) -> PrivacyLoss:
    """A record is in one leaf, and in as many nodes as the highest tree has levels, each with its own noise.

    Source: Kairouz, McMahan, Song, Thakkar, Thakurta & Xu 2021, appendix D.
    """
    counts = event.step_counts
    steps = max([counts] if isinstance(counts, int) else [int(each) for each in counts], default=0)
    if steps < 1:
        raise InvalidParameter(f"`step_counts` of a tree must have a count of at least 1. Got {counts!r}.")
    return PrivacyLoss.of_mechanism(Gaussian(float(event.noise_multiplier))) ** steps.bit_length()


def _gathered(loss: PrivacyLoss) -> PrivacyLoss:
    """zCDP statements added up: ρ and ξ compose, and pairs of sums are smaller than sums of pairs."""
    several = [(part, count) for part, count in loss.parts if isinstance(part, ConcentratedLoss)]
    if sum(count for _, count in several) < 2:
        return loss
    rho, xi = (
        up(math.fsum(getattr(part, name) * count for part, count in several), 2) for name in ("rho", "xi")
    )
    rest = tuple((part, count) for part, count in loss.parts if not isinstance(part, ConcentratedLoss))
    return PrivacyLoss((*rest, (concentrated(rho, xi if xi > 1e-300 else 0.0), 1)))


_READERS: Mapping[str, Callable[[Any], PrivacyLoss]] = {
    "NoOpDpEvent": lambda event: _one(finite_loss([1.0], [1.0])),
    "NonPrivateDpEvent": lambda event: _one(finite_loss([1.0, 0.0], [0.0, 1.0])),
    "GaussianDpEvent": lambda event: PrivacyLoss.of_mechanism(Gaussian(float(event.noise_multiplier))),
    "LaplaceDpEvent": lambda event: PrivacyLoss.of_mechanism(Laplace(float(event.noise_multiplier))),
    "DiscreteLaplaceDpEvent": lambda event: PrivacyLoss.of_mechanism(
        TwoSidedGeometric(1.0 / event.noise_parameter, int(event.sensitivity))
    ),
    "RandomizedResponseDpEvent": _randomised,
    "PoissonSampledDpEvent": _sampled,
    "SampledWithoutReplacementDpEvent": _sampled_fixed,
    "SampledWithReplacementDpEvent": _with_replacement,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "ZCDpEvent": lambda event: _one(concentrated(float(event.rho), float(event.xi))),
    "SelfComposedDpEvent": lambda event: _gathered(from_event(event.event) ** int(event.count)),
    "ComposedDpEvent": lambda event: _gathered(PrivacyLoss.of([from_event(each) for each in event.events])),
}


def event_classes() -> Any:
    """dp-accounting's module of events. Raises `LeakcapError` where it is not installed."""
    try:
        return importlib.import_module("dp_accounting.dp_event")
    except ImportError:
        raise LeakcapError(
            "an event of dp-accounting needs that library, which is not installed. Run: "
            "pip install dp-accounting"
        ) from None


def to_event(loss: PrivacyLoss, *, events: Any = None) -> Any:
    """The event of dp-accounting with this privacy loss, or its reverse: an event stands for both.

    `events` is a module with dp-accounting's classes, its own `dp_event` when left out. Raises
    `LeakcapError` when that is not installed, `InvalidParameter` for rows that no event describes.

    >>> from types import SimpleNamespace
    >>> classes = SimpleNamespace(GaussianDpEvent=lambda sigma: ("normal", sigma))
    >>> to_event(_one(GaussianLoss(0.5)), events=classes)
    ('normal', 2.0)
    """
    events = event_classes() if events is None else events
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
def _(part: FixedSizeLoss, events: Any) -> Any:
    share = Fraction(part.sampled.rate).limit_denominator(_LARGEST)
    if share.numerator / share.denominator != part.sampled.rate:
        raise InvalidParameter(
            f"no event of dp-accounting describes a sample of the fraction {part.sampled.rate!r}: it takes "
            "whole numbers of people. Give a fraction of two."
        )
    noise = part.sampled.mu if isinstance(part.sampled, SampledGaussianLoss) else part.sampled.epsilon
    kind = GaussianLoss if isinstance(part.sampled, SampledGaussianLoss) else LaplaceLoss
    return events.SampledWithoutReplacementDpEvent(
        share.denominator, share.numerator, _write(kind(noise), events)
    )


@_write.register
def _(part: ReplacementLoss, events: Any) -> Any:
    assert part.plan is not None
    noise, size, people = part.plan
    return events.SampledWithReplacementDpEvent(people, size, _write(noise, events))


@_write.register
def _(part: TruncatedLoss, events: Any) -> Any:
    assert part.plan is not None
    noise, rate, people, most = part.plan
    if not isinstance(noise, GaussianLoss):
        raise InvalidParameter("no event of dp-accounting describes Laplace noise on a truncated sample.")
    return events.TruncatedSubsampledGaussianDpEvent(people, rate, most, 1.0 / noise.mu)


@_write.register
def _(part: ConcentratedLoss, events: Any) -> Any:
    return events.ZCDpEvent(part.rho, part.xi)


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


def _alike(a: FiniteLoss, b: LossComponent) -> bool:
    if not isinstance(b, FiniteLoss) or len(a.losses) != len(b.losses) or a.infinite or a.lost:
        return False
    pairs = [*zip(a.losses, b.losses, strict=True), *zip(a.p, b.p, strict=True)]
    return all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) for x, y in pairs)
