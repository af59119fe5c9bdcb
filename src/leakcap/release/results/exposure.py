"""From prices and ledger entries to what a statement is made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from leakcap.bound import Bound
from leakcap.ledger import Balance, Charge, Entry, OdometerReading, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.details import EPSILON_CONTENTS, EVENT_CONTENTS, EXACT_TOTALS
from leakcap.ledger.limits import balances
from leakcap.ledger.odometer import added, odometer
from leakcap.ledger.rules import excess, rules_of
from leakcap.ledger.ticks import NOTHING, total
from leakcap.numeric.rounding import up
from leakcap.policy.document import Policy
from leakcap.release.measurements.rho import epsilon_of_rho
from leakcap.release.planning.price import SAID_DELTA, Price
from leakcap.release.results.tallies import composed_of
from leakcap.statement import Exposure, compose
from leakcap.statement.capped import Capped
from leakcap.statement.risks import ProvenRecord
from leakcap.statement.tally import Composed, Tally

__all__ = [
    "balances_of_plan",
    "delta_said",
    "exposure_of",
    "exposure_of_entry",
    "exposure_of_plan",
    "exposure_so_far",
    "proven_of_spend",
    "proven_so_far",
]

_READ = (EPSILON_CONTENTS, EVENT_CONTENTS, EXACT_TOTALS, "nats_lower")
"""The details of an entry that an exposure hangs on, but for a plan's."""
_TOLD = Tally(curve=(0.0,) * len(ORDERS))
"""An answer from a slot of a plan."""
_DELTAS = (1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
"""The δ at which games read the composed curves. Fixed in advance: no answer can influence the choice."""


def delta_said(policy: Policy) -> float:
    """The δ at which ε is said of what has none without one: that which the caps leave to adding up, or their
    own where none is on ε, or 10⁻¹²."""
    return max(policy.caps.ledger_caps().delta_together or policy.caps.delta or 0.0, SAID_DELTA)


def exposure_of(price: Price, title: str) -> Exposure:
    """What one query, answered once, shows."""
    return Exposure(
        title=title,
        epsilon=price.epsilon,
        epsilon_contents=max(price.epsilon, price.epsilon_contents),
        nats=price.nats_person,
        table_nats=price.nats_table,
        relation=price.relation,
        unit=price.unit,
        units=price.units,
        delta=price.delta,
        delta_contents=_contents(price.delta, price.epsilon, price.relation),
        composed=composed_of(price.spend, _details(price), price.relation),
    )


def _details(price: Price) -> dict[str, Any]:
    """What a charge says of two contents."""
    return {EPSILON_CONTENTS: price.epsilon_contents, EVENT_CONTENTS: price.event_contents}


def exposure_of_plan(
    prices: Sequence[Price], each: Sequence[Exposure], policy: Policy, beside: Sequence[Charge] = ()
) -> Exposure:
    """What all queries of a plan show together, each answered once, with what is asked `beside` them."""
    others = [_of_spend(one.query, one.spend, one.details, policy) for one in beside]
    spends = [*(price.spend for price in prices), *(one.spend for one in beside)]
    return _together([*each, *others], spends, policy, "this plan", at_once=True)


def balances_of_plan(prices: Sequence[Price], policy: Policy, beside: Sequence[Charge] = ()) -> list[Balance]:
    """What a plan would take of the policy's caps on everything, were nothing spent before."""
    rules = rules_of(policy.caps.ledger_caps())
    spends = [*(price.spend for price in prices), *(one.spend for one in beside)]
    spent = total([NOTHING, *(spend.ticks(rules.alpha) for spend in spends)])
    return balances(spent, rules.whole, rules.alpha)


def exposure_of_entry(entry: Entry, policy: Policy) -> Exposure:
    """What an entry tells by itself, whatever else was published.

    An answer from a plan's slot costs nothing beside its plan, and by itself tells what it would have cost.
    """
    if entry.slot:
        own = entry.own
        if entry.details.get("neighbours") != policy.neighbours:
            own = replace(own, event="")  # of other neighbours, or nobody says of which
        entry = replace(entry, spend=own, slot="")
    return exposure_so_far([entry], policy)


def exposure_so_far(entries: Sequence[Entry], policy: Policy) -> Exposure:
    """What every query in the ledger shows together, those that were paid for and never released included.

    By their curves at `delta_said`, if some answer has no finite ε, or if the policy caps all answers
    together and that is less than half of ε added up. Caps that an amendment changed after the first answer
    were not fixed beforehand, and nothing is stated of them.
    """
    each = _of_entries(entries, policy)
    title = f"everything from `{policy.dataset}` so far"
    spends = [entry.spend for entry in entries]
    together = _together(each, spends, policy, title, at_once=_asked_at_once(entries))
    fixed = all(entry.under_these_caps for entry in entries)
    return replace(together, capped=_capped(spends, policy) if fixed else None)


def _capped(spends: Sequence[Spend], policy: Policy) -> Capped | None:
    """The policy's caps on everything; None where what was spent is above them, so that they came later."""
    caps = policy.caps.ledger_caps()
    alike = Counter(map(id, spends))
    once = {id(spend): spend for spend in spends}
    spent = total(once[which].ticks(caps.alpha).times(n) for which, n in alike.items())
    limits = rules_of(caps).whole._replace(nats_table=None, nats_level=None, queries=None)
    if excess(NOTHING, spent, limits, "everything"):
        return None
    return capped_of_policy(policy)


def capped_of_policy(policy: Policy) -> Capped:
    """The policy's caps on everything, whatever was spent."""
    caps = policy.caps.ledger_caps()
    return Capped(caps.epsilon, caps.delta or 0.0, caps.rho, caps.nats_person)


def _asked_at_once(entries: Sequence[Entry]) -> bool:
    """Whether all of it was one batch, or plans that were paid for before any answer and answers from their
    slots, and so was fixed before any answer was seen."""
    if len({entry.batch for entry in entries}) == 1 and all(entry.id for entry in entries):
        return True
    planned = [entry.state == "planned" for entry in entries]
    answers = entries[sum(planned) :]
    return any(planned) and not any(planned[sum(planned) :]) and all(entry.slot for entry in answers)


def proven_so_far(entries: Sequence[Entry], policy: Policy) -> tuple[ProvenRecord, ...]:
    """The same publications at several δ: losses added up first, then what the composed curves prove.

    Each holds by itself. The first is what parts of the publications add up to; a game about all of them
    takes the one that says most.
    """
    each = _of_entries(entries, policy)
    title = f"everything from `{policy.dataset}` so far"
    spends = [entry.spend for entry in entries]
    return _proven(each, spends, policy, title, at_once=_asked_at_once(entries))


def proven_of_spend(title: str, spend: Spend, policy: Policy) -> tuple[ProvenRecord, ...]:
    """The same of one publication, whatever else was published."""
    return _proven([_of_spend(title, spend, {}, policy)], [spend], policy, title, at_once=True)


def _proven(
    each: Sequence[Exposure], spends: Sequence[Spend], policy: Policy, title: str, *, at_once: bool
) -> tuple[ProvenRecord, ...]:
    together, spent = compose(each, title, at_once=at_once), added(spends)
    found = [odometer(spent, delta) for delta in _DELTAS]
    readings = (_read_at(one, together, policy) for one in found if math.isfinite(one.epsilon))
    exposures = (together, _together(each, spends, policy, title, at_once=at_once), *readings)
    names = tuple(ProvenRecord.model_fields)
    told = [ProvenRecord(**{name: getattr(one, name) for name in names}) for one in exposures]
    return (*told, *_of_curves(together))


def _of_curves(together: Exposure) -> list[ProvenRecord]:
    """The pairs that the composed curves prove, those between contents beside those between neighbours."""
    between, contents = sorted(together.pairs[1:]), sorted(together.pairs_contents[1:])
    if len(contents) > len(between):
        # Of two routes to the pairs between contents the corners of the lower one.
        contents = _lower(contents)
    longest = max(len(between), len(contents))
    padded = [[*pairs, *[pairs[-1]] * (longest - len(pairs))] for pairs in (between, contents) if pairs]
    return [
        ProvenRecord(epsilon=one[0], delta=one[1], epsilon_contents=other[0], delta_contents=other[1])
        for one, other in zip(*padded, strict=True)
    ]


def _lower(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other pair makes needless, by ε."""
    kept: list[tuple[float, float]] = []
    for pair in pairs:
        if not kept or pair[1] < kept[-1][1]:
            kept.append(pair)
    return kept


def _together(
    each: Sequence[Exposure], spends: Sequence[Spend], policy: Policy, title: str, *, at_once: bool
) -> Exposure:
    """All of it: by ε added up, or by the curves added up, at the δ at which that is said."""
    together = compose(each, title, at_once=at_once)
    pure = all(math.isfinite(spend.epsilon) for spend in spends)
    if len(each) < 2 or (pure and policy.caps.ledger_caps().delta_together < SAID_DELTA):
        return together
    found = odometer(added(spends), delta_said(policy))
    # With a δ sentences about odds speak of e^2ε: it is worth having where ε is less than half. Where answers
    # have none but at a δ, as with Gaussian noise, the curves' one δ is in place of one for each.
    if pure and 2.0 * found.epsilon >= together.epsilon:
        return together
    return _read_at(found, together, policy)


def _read_at(found: OdometerReading, together: Exposure, policy: Policy) -> Exposure:
    """The same publications with the ε that their curves prove at a δ.

    Losses added up hold as well, at a δ of their own: between two contents they are in place of 2ε only where
    that δ is not above the one that is said.
    """
    steps = 1 if policy.neighbours == "replace-one" else 2
    contents = steps * found.epsilon
    delta_contents = max(found.delta, _contents(found.delta, found.epsilon, policy.neighbours))
    if together.delta_contents <= delta_contents:
        contents = min(contents, max(together.epsilon_contents, found.epsilon))
    return replace(
        together,
        epsilon=found.epsilon,
        epsilon_contents=contents,
        delta=found.delta,
        delta_contents=delta_contents,
    )


def _of_entries(entries: Sequence[Entry], policy: Policy) -> list[Exposure]:
    """Each of them; many entries of a ledger say the same, whatever their queries are called."""
    known: dict[tuple[object, ...], Exposure] = {}
    found = []
    for entry in entries:
        told = entry.details
        same = (id(entry.spend), entry.state == "planned", bool(entry.slot), *map(told.get, _READ))
        if entry.state == "planned" or same not in known:
            known[same] = _of_entry(entry, policy)
        found.append(known[same])
    return found


def _of_entry(entry: Entry, policy: Policy) -> Exposure:
    if entry.slot:
        # What it is, the plan has said; beside the plan it tells nothing more.
        return replace(_of_spend(entry.query, entry.spend, {}, policy), composed=Composed(_TOLD, _TOLD))
    return _of_spend(entry.query, entry.spend, entry.details, policy)


def _of_spend(title: str, spend: Spend, details: Mapping[str, Any], policy: Policy) -> Exposure:
    steps = 1 if policy.neighbours == "replace-one" else 2
    recorded = details.get(EPSILON_CONTENTS)
    composed = composed_of(spend, details, policy.neighbours)
    if math.isinf(spend.epsilon):
        # What was recorded is of the δ of its price, and not of the one at which ε is read here.
        spend, recorded = _at_a_delta(spend, policy), None
    contents = steps * spend.epsilon if recorded is None else float(recorded)
    lower = min(float(details.get("nats_lower", 0.0)), spend.nats_person)
    return Exposure(
        title=title,
        epsilon=spend.epsilon,
        epsilon_contents=min(max(contents, spend.epsilon), 2 * spend.epsilon),
        nats=Bound(lower, spend.nats_person, method="ledger"),
        table_nats=spend.nats_table if policy.units is not None else math.inf,
        relation=policy.neighbours,
        unit=policy.id_column or "row",
        units=policy.units,
        delta=spend.delta,
        delta_contents=_contents(spend.delta, spend.epsilon, policy.neighbours),
        exact_totals=bool(details.get(EXACT_TOTALS)),
        composed=composed,
    )


def _at_a_delta(spend: Spend, policy: Policy) -> Spend:
    """A spend without a finite ε, as Gaussian noise's: what its curve or its ρ proves at the policy's δ.

    Of one answer's ρ the best of all orders is known beforehand. Of many, asked one after another, it is not,
    and the odometer pays for a choice among its own.
    """
    epsilon, delta = _said_at(spend.epsilon, spend.delta, spend.curve, spend.rho, delta_said(policy))
    return replace(spend, epsilon=epsilon, delta=delta)


@lru_cache(maxsize=4096)
def _said_at(
    epsilon: float, own: float, curve: tuple[float, ...] | None, rho: float, delta: float
) -> tuple[float, float]:
    kept = odometer(added([Spend(epsilon, own, rho=rho, curve=curve)]), delta)
    return (kept.epsilon if math.isinf(rho) else min(kept.epsilon, epsilon_of_rho(rho, delta))), kept.delta


def _contents(delta: float, epsilon: float, relation: str) -> float:
    """The slack between any two contents: (1 + e^ε)δ where they are two steps apart (group privacy)."""
    if delta == 0.0 or relation == "replace-one":
        return delta
    return min(up(delta * (1.0 + math.exp(min(epsilon, 700.0))), 8), 1.0)
