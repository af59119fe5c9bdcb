"""What a planned query is to an auditor: the event of each of its noisy vectors, see `ledger/measured.py`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakcap.ledger.measured import composed, event_text, pure_event
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement, noisy_of

if TYPE_CHECKING:
    from leakcap.release.planning.plan import Plan

__all__ = ["event_of"]


def event_of(plan: Plan) -> str:
    """The event of a query, as canonical JSON.

    >>> from leakcap.release import Query, load_policy
    >>> from leakcap.release.planning.plan import plan_query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> event_of(plan_query(Query(name="n", statistic="count", epsilon=0.1), policy))
    '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}'
    """
    parts = composed([_event(part) for part in plan.parts])
    noisy = noisy_of(plan)
    losses = [part.noise.loss(steps=part.steps, squared=part.squared, most=part.most) for part in noisy]
    alone = sum((loss or Fraction(0) for loss in losses), Fraction(0))
    together = sum((part.loss or Fraction(0) for part in noisy), Fraction(0))
    # A row may be unable to move all vectors as far as it can move each.
    bounded = together < alone and len(noisy) == len(plan.parts)
    return event_text({"name": "BoundedDpEvent", "event": parts, "epsilon": together} if bounded else parts)


def _event(part: Measurement) -> dict[str, Any]:
    """That of its noise, or what its ε, with a δ, allows."""
    known = part.event if isinstance(part, NoisyMeasurement) and part.delta == 0 else None
    if known is not None:
        return known
    assert part.loss is not None  # `plan_query` refuses noise that has neither
    return pure_event(part.loss, part.delta)
