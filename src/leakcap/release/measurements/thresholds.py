"""Groups whose keys are not public: a group appears only where its noisy number of people is large.

Each group of the data gets Z people more, Z discrete Laplace of scale b; with s = e^(−1/b) a group of one
person reaches τ ≥ 2 with probability p = P(1 + Z ≥ τ) = s^(τ−1)/(1 + s). One without people never appears.

**δ.** One person is alone in m groups at most, m the groups that they may be in. None of j groups that are
theirs alone appears with probability (1 − p)^j. Put the event that one appears into δ. On its complement the
tables differ in common groups only, by m − j people (2m − j − j′ under replace-one), and the odds are within
(1 − p)^(±j)·e^((m−j)/b), which e^(m/b) covers as long as 1 − p ≥ s. So with ε = m/b (2m/b) exactly

    δ = 1 − (1 − p)^m

under both relations: what appears with that probability has probability 0 without the person. Sums beside the
count have noise and ε of their own, and are seen only in groups that appear.

**Nats.** The answer is what groups of others show and, independently of it given the person's data, which
groups that are the person's alone appear. The first is pure. The second names j of at most m keys, each with
probability p out of M possible ones; against everybody else's guess, m keys drawn at random that each appear
with probability p, it is worth at most (m − j)·(−ln(1 − p)) + j·p·ln M. So with M finite

    nats about a person ≤ (those of the pure noise) + m·max(p·ln M, −ln(1 − p)).

See `docs/statistics.md` for both proofs.

Source: Korolova, Kenthapadi, Mishra & Ntoulas 2009, theorem 1, for the idea; the law is that of our noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.errors import InvalidQuery
from leakcap.ledger.implied import tight_mutual_information
from leakcap.numeric import float_up, up
from leakcap.policy.document import Policy
from leakcap.release.columns.typed import ReadColumn, column
from leakcap.release.measurements.aggregates import Aggregate, People, Rows
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement, measured
from leakcap.release.measurements.sensitivity import Presence
from leakcap.release.numbers.exact_integers import ExactIntegers

if TYPE_CHECKING:
    from leakcap.release.planning.plan import Plan, QueryContext

__all__ = ["ThresholdMeasurement", "appearing", "delta_of", "plan_with_threshold", "threshold_for"]

_LARGEST_THRESHOLD = 2**62
# Below it a share of δ is no double any more.
_LEAST_DELTA = 1e-100


@dataclass(frozen=True, kw_only=True)
class ThresholdMeasurement(NoisyMeasurement):
    """The noisy number of people of each group, and from which number on a group is released."""

    threshold: int
    groups: int
    log_keys: float

    @property
    def delta(self) -> Fraction:
        """The probability that a group of one person alone appears, over all groups of a person."""
        return Fraction(delta_of(self.scale, self.threshold, self.groups))

    def curve(self) -> tuple[float, ...]:
        """What its ε allows: but for the event of probability δ it is pure, and no more is known of it."""
        return Measurement.curve(self)

    def capacity(self) -> Bound:
        """What the noise tells, and with a probability of δ together the keys that are nobody else's."""
        alone = _alone(float(1 / self.scale), self.threshold)
        own = up(self.groups * max(alone * self.log_keys, -math.log1p(-alone)), 16)
        noise = tight_mutual_information(float_up(Fraction(self.contents) / self.scale))
        method = "any noise of this ε, and own keys by erasure"
        return Bound(0.0, up(noise + own), method=method, source="Cuff & Yu 2016")

    def table_nats(self, units: int) -> float:
        """No bound worth stating: large groups name themselves, and a key may be a long text."""
        return math.inf

    def appears(self, noisy: ExactIntegers) -> NDArray[np.bool_]:
        """Whether a group of the data is released."""
        return np.asarray(noisy >= self.threshold, dtype=bool)


def delta_of(scale: Fraction, threshold: int, groups: int) -> float:
    """1 − (1 − s^(τ−1)/(1+s))^groups, s = e^(−1/scale), rounded up; for thresholds of two and more.

    >>> round(delta_of(Fraction(1), 20, 1), 12)
    4.096e-09
    """
    decay = float(1 / scale)
    found = up(-math.expm1(groups * math.log1p(-_alone(decay, threshold))), 16)
    return max(found, math.ulp(0.0))  # it may be too small for a double, and is never nothing


def threshold_for(scale: Fraction, delta: float, groups: int) -> int:
    """The smallest threshold whose δ is at most `delta`, and for which no odds are beyond ε.

    >>> threshold_for(Fraction(1), 1e-6, 1)
    15
    """
    decay = float(1 / scale)

    def keeps(threshold: int) -> bool:
        return delta_of(scale, threshold, groups) <= delta and _alone(decay, threshold) <= -math.expm1(-decay)

    alone = min(-math.expm1(math.log1p(-delta) / groups), -math.expm1(-decay))
    found = 1 + math.ceil(-(math.log(alone) + math.log1p(math.exp(-decay))) / decay)
    # Rounding moves it by a hair, which at a large scale is many thresholds: halved, not counted.
    low = max(1, found - 2)
    high = low + 1
    while not keeps(high):
        low, high = high, high + 2 * (high - low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _alone(decay: float, threshold: int) -> float:
    """P(1 + Z ≥ τ), rounded up: one person's own group appears."""
    return up(math.exp(-(threshold - 1) * decay * (1 - 1e-14)) / (1.0 + math.exp(-decay)), 16)


def plan_with_threshold(asked: QueryContext) -> Plan:
    """The plan of a statistic over groups whose keys are not public.

    Where it counts people the answer itself is held against the threshold; otherwise one more noisy number
    is, which has an equal share of ε.
    """
    query, policy, statistic = asked.query, asked.policy, asked.query.kind
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
    return Rows() if policy.id_column is None else People(place)


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
    query, policy = asked.query, asked.policy
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
    if len(asked.cells.axes) > len(query.by) or not query.kind.a_row_a_group:
        raise InvalidQuery(
            f"`by` of query `{query.name}` names `{private}`, whose keys are private: a {query.kind.label} "
            "needs groups with public `keys`."
        )
    return query.delta


def appearing(parts: Sequence[Measurement], noisy: Sequence[ExactIntegers]) -> NDArray[np.bool_]:
    """Which of the groups are released."""
    each = [part.appears(numbers) for part, numbers in zip(parts, noisy, strict=True)]
    return np.asarray(np.all(each, axis=0), dtype=bool)
