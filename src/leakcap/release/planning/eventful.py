"""What a planned query is to an auditor: the event of each of its noisy vectors, see `ledger/measured.py`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakcap.ledger.measured import composed, event_text, pure_event
from leakcap.mechanism import TwoSidedGeometric
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement

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
    pure = [part for part in plan.parts if isinstance(part, NoisyMeasurement) and _is_laplace(part)]
    alone = sum((Fraction(part.steps) / part.scale for part in pure), Fraction(0))
    together = sum((part.loss or Fraction(0) for part in pure), Fraction(0))
    # A row may be unable to move all vectors as far as it can move each.
    bounded = together < alone and len(pure) == len(plan.parts)
    return event_text({"name": "BoundedDpEvent", "event": parts, "epsilon": together} if bounded else parts)


def _is_laplace(part: Measurement) -> bool:
    return part.mechanism == TwoSidedGeometric.called and part.delta == 0


def _event(part: Measurement) -> dict[str, Any]:
    """Discrete Laplace noise by its name, Gaussian noise by its ρ; of all else what ε, with a δ, allows."""
    if isinstance(part, NoisyMeasurement) and _is_laplace(part):
        return _laplace(part, part.steps, part.steps if part.most is None else min(part.most, part.steps))
    if isinstance(part, NoisyMeasurement) and part.loss is None:
        return {"name": "ZCDpEvent", "rho": part.rho}
    assert part.loss is not None
    return pure_event(part.loss, part.delta)


def _laplace(part: NoisyMeasurement, steps: int, most: int) -> dict[str, Any]:
    """As few cells as can share the steps, each moved as far as one can be: see `TwoSidedGeometric.apart`."""

    def moved(far: int) -> dict[str, Any]:
        rate = Fraction(1) / part.scale
        return {"name": "DiscreteLaplaceDpEvent", "noise_parameter": rate, "sensitivity": far}

    if most == steps:
        return moved(steps)
    count, rest = divmod(steps, most)
    same = {"name": "SelfComposedDpEvent", "event": moved(most), "count": count}
    return composed([same, moved(rest)] if rest else [same])
