"""What a query costs, in every currency, before anything is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.ledger import Spend
from leakcap.ledger.curve import curve_of_pure
from leakcap.ledger.dp_events import LARGEST
from leakcap.ledger.implied import renyi_of_pure, rho_of_pure, tight_mutual_information
from leakcap.ledger.measured import required
from leakcap.ledger.ticks import countable
from leakcap.ledger.values import composed, event_text, pure_event
from leakcap.numeric import float_up, sum_up, up
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement, noisy_of
from leakcap.release.measurements.rho import epsilon_of_rho
from leakcap.release.plan import Plan
from leakcap.release.planning.attainability import every_content_occurs
from leakcap.release.statistics import statistic_of

__all__ = ["SAID_DELTA", "Price", "event_of", "price_of", "rho_of_plan"]

SAID_DELTA = 1e-12
"""At which ε is said of what has none without a δ, where the policy names no δ."""


@dataclass(frozen=True)
class Price:
    """Everything that a leakage statement needs; no number in it depends on the data.

    `epsilon` holds between neighbours of `relation`, per `unit`; `epsilon_contents` between any two possible
    contents of one unit's data, no data included where that is possible. `nats_person` is the MI-DP of the
    mechanism: the Shannon capacity from one unit's data to the answer, everything else known. `nats_table`
    bounds the information about the whole table (∞ where the number of units has no public bound).
    `noise_scales` are the scales of the noisy sums and counts, in the column's unit and in rows.
    `nats_level` is the Rényi divergence between any two contents, at the order of the policy's level cap (∞
    without such a cap), `curve` that between neighbours at each order of the ledger, `rho` the least with
    D_α ≤ αρ at every order above 1 (zCDP), but for δ. No ε holds of Gaussian noise without a δ (`pure` is
    false): it is said at the policy's δ, or at 10⁻¹² where the caps are on ρ or nats alone, and the ledger is
    charged ρ and the curve, with an ε of ∞.
    `event_contents` is the event between two contents of one unit, where these may be further apart than
    neighbours are.
    `chosen` says which noise was chosen and why, where the query left it open. `event` is what an auditor
    computes the charge from, and `parts` are the noisy vectors that it is of.
    """

    epsilon: float
    delta: float
    epsilon_contents: float
    nats_person: Bound
    nats_table: float
    relation: str
    unit: str
    rows_per_unit: int
    units: int | None
    cells: int
    mechanism: str
    noise_scales: dict[str, float]
    nats_level: float = math.inf
    rho: float = math.inf
    pure: bool = True
    chosen: str | None = None
    event: str = field(default="", repr=False)
    event_contents: str = field(default="", repr=False)
    parts: tuple[Measurement, ...] = field(default=(), repr=False, compare=False)

    def certificate(self, order: float | None = None) -> dict[str, Any]:
        """That the noise tells no more than is charged for it: `Spend.certificate`, for `leakcap-verify`."""
        return self.spend.certificate(order)

    @cached_property
    def curve(self) -> tuple[float, ...]:
        """The parts' curves added up; all that ε allows may be less, but not where a δ was left out of one.

        Computed when it is asked for, which a preview does not: it takes longer than all else of a price.
        """
        curves = [part.curve() for part in self.parts]
        added = curves[0] if len(curves) == 1 else tuple(map(sum_up, zip(*curves, strict=True)))
        return added if _slack(self.parts) else tuple(map(min, added, curve_of_pure(self.epsilon)))

    @cached_property
    def spend(self) -> Spend:
        """What the ledger is charged: the upper end of everything."""
        return Spend(
            epsilon=self.epsilon if self.pure else math.inf,
            delta=self.delta if self.pure else 0.0,
            nats_person=countable(self.nats_person.upper),
            nats_table=countable(self.nats_table),
            nats_level=countable(self.nats_level),
            rho=countable(self.rho),
            curve=self.curve,
            event=self.event,
        )


def price_of(plan: Plan) -> Price:
    """The price of a planned query: its parts' prices added up, which covers parts of the same person's data.

    >>> from leakcap.policy.document import load_policy
    >>> from leakcap.release.planning.plan import plan_query
    >>> from leakcap.release.planning.queries import Query
    >>> policy = load_policy({"dataset": "d", "neighbours": "replace-one", "rows": 569,
    ...     "caps": {"epsilon": 1.0}, "columns": {"diagnosis": {"keys": ["benign", "malignant"]}}})
    >>> query = Query(name="n", statistic="count", where="diagnosis = 'malignant'", epsilon=1.0)
    >>> price = price_of(plan_query(query, policy))
    >>> price.epsilon, round(price.nats_person.upper, 4)
    (1.0, 0.1109)
    """
    policy = plan.policy
    epsilon, delta, epsilon_contents = _epsilons(plan)
    return Price(
        epsilon=epsilon,
        delta=delta,
        epsilon_contents=epsilon_contents,
        nats_person=_person(plan, epsilon_contents),
        nats_table=_table(plan, epsilon_contents),
        relation=policy.neighbours,
        unit=policy.id_column or "row",
        rows_per_unit=policy.rows_per_unit,
        units=policy.units,
        cells=statistic_of(plan.query).groups(plan).size,
        mechanism=plan.parts[0].mechanism,
        noise_scales=_scales(plan),
        nats_level=_level(plan, epsilon_contents),
        rho=_rho(plan, epsilon),
        event=event_of(plan),
        event_contents="" if policy.neighbours == "replace-one" else _event_contents(plan),
        pure=all(part.loss is not None for part in plan.parts),
        chosen=plan.chosen,
        parts=tuple(plan.parts),
    )


def rho_of_plan(plan: Plan) -> float:
    """The price's ρ alone: a search for the ε that it allows asks for nothing else, several times."""
    return _rho(plan, _epsilons(plan)[0])


def _epsilons(plan: Plan) -> tuple[float, float, float]:
    """ε between neighbours, the δ beside it, and ε between any two contents of one unit's data."""
    policy = plan.policy
    exact = _sum([part.loss for part in plan.parts])
    contents = _sum([part.loss_contents for part in plan.parts])
    if exact is None or contents is None:
        epsilon, delta = _with_a_delta(plan)
        return epsilon, delta, (1 if policy.neighbours == "replace-one" else 2) * epsilon
    assert plan.query_epsilon is not None
    # The noise keeps the ε that was asked for as a decimal, whose double may lie a hair lower.
    epsilon = min(float_up(exact), float(plan.query_epsilon))
    epsilon_contents = epsilon if contents == exact else min(float_up(contents), 2 * epsilon)
    return epsilon, float_up(sum((part.delta for part in plan.parts), Fraction(0))), epsilon_contents


def _sum(losses: Sequence[Fraction | None]) -> Fraction | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known, Fraction(0)) if len(known) == len(losses) else None


def _with_a_delta(plan: Plan) -> tuple[float, float]:
    """The ε that Gaussian noise keeps at the policy's δ, and that δ; it is only said, and not charged."""
    delta = plan.policy.caps.delta or SAID_DELTA
    kept = epsilon_of_rho(_rho(plan, math.inf), delta)
    asked = plan.query.epsilon
    return (kept if asked is None or plan.chosen is not None else min(kept, asked)), delta


def _rho(plan: Plan, epsilon: float) -> float:
    """The parts' ρ added up; all that ε allows may be less."""
    added = float_up(sum((part.rho for part in plan.parts), Fraction(0)))
    return added if _slack(plan.parts) else min(added, rho_of_pure(epsilon))


def _slack(parts: Sequence[Measurement]) -> bool:
    """Whether there is a δ: what holds of every ε alone does not hold then."""
    return any(part.delta > 0 or part.loss is None for part in parts)


def _level(plan: Plan, epsilon_contents: float) -> float:
    alpha = plan.policy.caps.alpha
    if alpha is None or any(part.delta > 0 for part in plan.parts):
        return math.inf
    if not _slack(plan.parts):
        return renyi_of_pure(epsilon_contents, alpha)
    return sum_up(part.level(alpha) for part in plan.parts if isinstance(part, NoisyMeasurement))


def _scales(plan: Plan) -> dict[str, float]:
    """By role the largest scale: quantiles may have several, in rows, at which odds fall by a factor e."""
    scales: dict[str, float] = {}
    for part in plan.parts:
        scales[part.role] = max(scales.get(part.role, 0.0), part.noise_scale)
    return scales


def _person(plan: Plan, epsilon_contents: float) -> Bound:
    """The parts' capacities add up (fresh noise each); the tight bound for ε may still be lower."""
    parts = [_attained(plan, part, part.capacity()) for part in plan.parts]
    upper = up(sum(part.upper for part in parts), len(parts))
    lower = max(part.lower for part in parts)
    ceiling = math.inf if _slack(plan.parts) else tight_mutual_information(epsilon_contents)
    if ceiling < upper:
        return Bound(
            min(lower, ceiling),
            ceiling,
            method="any mechanism of this ε",
            source="Dong, Durfee & Rogers 2020",
        )
    if len(parts) == 1:
        return parts[0]
    return Bound(lower, upper, method="sum of the parts", source="Cuff & Yu 2016, corollaries 5 and 6")


def _attained(plan: Plan, part: Measurement, capacity: Bound) -> Bound:
    """The capacity, with a lower end only where a unit's data can make every content that it speaks of."""
    if every_content_occurs(plan, part):
        return capacity
    return replace(capacity, lower=0.0, method=f"{capacity.method}, at most", witness=None)


def _table(plan: Plan, epsilon_contents: float) -> float:
    """A bound on what the answer tells about the whole table; capacities of disjoint cells add up.

    Every total is clamped to its public range before noise, so this holds whatever the table is. That n units
    differ by at most n·ε from any other table holds only where the number of units was checked (replace-one).
    """
    units = plan.policy.units
    if units is None:
        return math.inf
    bound = 0.0
    for part in plan.parts:
        bound = up(bound + part.table_nats(units))
    if plan.policy.neighbours == "replace-one" and not _slack(plan.parts):
        bound = min(bound, tight_mutual_information(up(units * epsilon_contents)))
    return bound


def event_of(plan: Plan) -> str:
    """What a query is to an auditor, as canonical JSON: the event of each of its noisy vectors.

    See `leakcap.ledger.measured`.

    >>> from leakcap.policy.document import load_policy
    >>> from leakcap.release.planning.plan import plan_query
    >>> from leakcap.release.planning.queries import Query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> event_of(plan_query(Query(name="n", statistic="count", epsilon=0.1), policy))
    '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}'
    """
    parts = composed([_event(part) for part in plan.parts])
    noisy = noisy_of(plan.parts)
    losses = [part.noise.loss(steps=part.steps, squared=part.squared, most=part.most) for part in noisy]
    alone = sum((loss or Fraction(0) for loss in losses), Fraction(0))
    together = sum((part.loss or Fraction(0) for part in noisy), Fraction(0))
    # A row may be unable to move all vectors as far as it can move each.
    bounded = together < alone and len(noisy) == len(plan.parts)
    return event_text({"name": "BoundedDpEvent", "event": parts, "epsilon": together} if bounded else parts)


def _event_contents(plan: Plan) -> str:
    """The same between two contents; empty where it is not known of some part."""
    noisy = noisy_of(plan.parts)
    if len(noisy) < len(plan.parts) or any(part.delta > 0 for part in noisy):
        return ""
    events = [part.event_contents for part in noisy]
    known = [event for event in events if event is not None]
    if len(known) < len(events):
        return ""
    together = sum((part.loss_contents or Fraction(0) for part in noisy), Fraction(0))
    if together > LARGEST:
        return ""  # two steps of what is just small enough for an event
    alone = [
        part.noise.loss(steps=part.contents, squared=part.contents_squared, most=part.contents_most)
        for part in noisy
    ]
    bounded = together < sum((loss or Fraction(0) for loss in alone), Fraction(0))
    parts = composed(known)
    text = event_text({"name": "BoundedDpEvent", "event": parts, "epsilon": together} if bounded else parts)
    try:
        required(text)
    except InvalidParameter:
        return ""  # four times a squared distance that is just small enough
    return text


def _event(part: Measurement) -> dict[str, Any]:
    """That of its noise, or what its ε, with a δ, allows."""
    known = part.event if isinstance(part, NoisyMeasurement) and part.delta == 0 else None
    if known is not None:
        return known
    assert part.loss is not None  # `plan_query` refuses noise that has neither
    return pure_event(part.loss, part.delta)
