"""Plans of statistics over groups whose keys are not public."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.typed import ReadColumn, column
from leakcap.release.measurements.aggregates import Aggregate, People, RowCount
from leakcap.release.measurements.measurement import NoisyMeasurement, measured
from leakcap.release.measurements.sensitivity import Presence
from leakcap.release.measurements.thresholds import ThresholdMeasurement, threshold_for
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.statistics import statistic_of

__all__ = ["plan_with_threshold"]

_LARGEST_THRESHOLD = 2**62
# Below it a share of δ is no double any more.
_LEAST_DELTA = 1e-100


def plan_with_threshold(asked: QueryContext) -> Plan:
    """The plan of a statistic over groups whose keys are not public.

    Where it counts people the answer itself is held against the threshold; otherwise one more noisy number
    is, which has an equal share of ε.
    """
    query, policy, statistic = asked.query, asked.policy, statistic_of(asked.query)
    delta = _checked_delta(asked)
    plan = statistic.plan(asked)
    if _counts_people(plan, policy):
        (own,) = plan.parts
        assert isinstance(own, NoisyMeasurement)
        return replace(plan, parts=(_threshold_part(own, asked, delta),))
    count = len(plan.parts)
    plan = statistic.plan(replace(asked, share=Fraction(count, count + 1)))
    values, aggregate = list(plan.values), _people(policy, len(plan.values))
    if policy.id_column is not None:
        values.append(ReadColumn(this=column(policy.id_column), kind="id"))
    presence = Presence(0, 1, policy.groups_per_unit, asked.cells.size)
    people = measured("people", aggregate, presence, asked.whole_offer / (count + 1))
    parts = (*plan.parts, _threshold_part(people, asked, delta))
    return replace(plan, parts=parts, values=tuple(values), query=query)


def _people(policy: Policy, place: int) -> Aggregate:
    return RowCount() if policy.id_column is None else People(place)


def _counts_people(plan: Plan, policy: Policy) -> bool:
    role = "count" if policy.id_column is None else "people"
    return len(plan.parts) == 1 and plan.parts[0].role == role


def _threshold_part(part: NoisyMeasurement, asked: QueryContext, delta: float) -> ThresholdMeasurement:
    groups = asked.policy.groups_per_unit
    threshold = threshold_for(part.scale, delta, groups)
    if threshold > _LARGEST_THRESHOLD:
        raise InvalidQuery(
            f"`delta` of query `{asked.query.name}` is too small beside its `epsilon`: no group would ever "
            "appear. Ask for more of either."
        )
    known = {field.name: getattr(part, field.name) for field in fields(part)}
    return ThresholdMeasurement(**known, threshold=threshold, groups=groups, log_keys=asked.cells.log_keys)


def _checked_delta(asked: QueryContext) -> float:
    query, policy, statistic = asked.query, asked.policy, statistic_of(asked.query)
    private = next(axis.column for axis in asked.cells.axes if axis.open)
    if not policy.caps.delta:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{private}`, whose keys are private: that needs a δ, and "
            "the policy has no `delta` in its `caps`. Only the owner can allow one."
        )
    if query.delta is None:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{private}`, whose keys are private: that needs a δ. "
            "Add `delta`, for example 1e-9."
        )
    if query.delta < _LEAST_DELTA:
        raise InvalidQuery(f"`delta` of query `{query.name}` must be at least 1e-100. Got {query.delta!r}.")
    if len(asked.cells.axes) > len(query.by) or not statistic.a_row_a_group:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{private}`, whose keys are private: a {statistic.label} "
            "needs groups with public `keys`."
        )
    return query.delta
