"""When one policy may continue the accounts of another, and how what was spent before counts then.

A spend says how far one unit of privacy is told apart from its neighbours. It stays a valid charge where the
new policy protects the same unit, in the same sense: the same `unit`, the same owners of joined `tables`.

- `max_rows`, `max_groups` and `row` of a unit with an id are no part of it. Neighbours differ in all rows of
  a person, however many; an answer uses a limited number of them, chosen by the person's own rows and the
  ledger's seed alone, and its noise covered that. Other rows chosen later are another question about the
  same person, and ε adds up for every seed.
- An order of Rényi divergence that is looked at alone (`caps.order`) was named before anything was asked.
- A plan (`[[plan]]`) was paid for as it is; others may be added.
- Bounds, keys, fills, columns, and the public number of units do not change what answers of before told.
- From add/remove-one to replace-one: two tables that differ in one unit's contents are each one step from the
  table without the unit, so that (ε, δ) becomes (2ε, (1 + e^ε)δ), query by query. Nats about a person were
  of all contents, absence among them, so that fewer contents cannot raise them.
- Another level α: a Rényi divergence does not fall as its order rises, so what was counted at a higher order
  stands. What was counted at none or at a lower one follows from ε: contents of one unit are at most 2ε
  apart, hence D_α ≤ min(2ε, α(2ε)²/2). So are tables two steps apart, which makes curves of the same form,
  and ρ min(2ε, 2ε²).

Everything else is refused. Sources: Dwork & Roth 2014, theorem 2.2 (groups); van Erven & Harremoës 2014,
theorem 3 (order); Bun & Steinke 2016, proposition 3.3 (ε-DP is ε²/2-zCDP).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from leakcap.errors import LedgerError
from leakcap.ledger.chain import text_hash
from leakcap.ledger.curve import ORDERS, two_steps
from leakcap.ledger.ticks import LARGEST, TICKS_PER_UNIT, Ticks

__all__ = [
    "ChargeTerms",
    "alike",
    "counts_now",
    "document_of",
    "meaning",
    "require_continuing",
    "require_same_owners",
    "same_questions",
    "terms_of",
]

_REPLACE = "replace-one"
# Beyond it (1 + e^ε)δ is above 1 for every δ of a tick.
_STEEP = 40 * TICKS_PER_UNIT
_ABOVE = Decimal(f"1.{'0' * 54}1")
_KEEP = "Keep the policy's {}; what the ledger records stays spent."


@dataclass(frozen=True)
class ChargeTerms:
    """In which sense a spend was charged: the neighbouring relation, and the order of its level."""

    neighbours: str
    alpha: float | None


def document_of(text: str, fingerprint: str) -> dict[str, Any] | None:
    """A policy's public text, read; None where it is not the text of this fingerprint.

    >>> document_of('{"dataset":"ward"}', "00" * 32) is None
    True
    """
    if text_hash(text) != fingerprint:
        return None
    content = json.loads(text)
    return content if isinstance(content, dict) else None


def terms_of(document: Mapping[str, Any], alpha: float | None) -> ChargeTerms:
    """The terms of what is charged under a policy.

    >>> terms_of({"neighbours": "replace-one"}, 2.0)
    ChargeTerms(neighbours='replace-one', alpha=2.0)
    """
    return ChargeTerms(str(document.get("neighbours")), alpha)


def require_continuing(earlier: Sequence[Mapping[str, Any]], new: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, naming the change, unless the new policy can continue the accounts of all earlier.

    >>> require_continuing([{"unit": "row"}], {"unit": {"id": "person", "max_rows": 3}})
    Traceback (most recent call last):
    leakcap.errors.LedgerError: `unit` may not change from row to `person`: earlier answers used any ...
    """
    for old in earlier:
        if old.get("dataset") != new.get("dataset"):
            raise LedgerError(
                f"`dataset` may not change from `{old.get('dataset')}` to `{new.get('dataset')}`: a ledger "
                f"belongs to one data set. {_KEEP.format('`dataset`')}"
            )
        _require_same_unit(old.get("unit"), new.get("unit"))
        if old.get("neighbours") == _REPLACE != new.get("neighbours"):
            raise LedgerError(
                "`neighbours` may not change from replace-one to add-remove-one: earlier answers took the "
                "number of units as public, and bounded nothing of what they told about who is in the table. "
                + _KEEP.format("`neighbours`")
            )
        _require_same_people(old, new)
        _require_same_orders(old, new)
        _require_same_plans(old, new)
        require_same_owners(old.get("tables", {}), new.get("tables", {}))


def _require_same_unit(old: Any, new: Any) -> None:
    before, after = (unit.get("id") if isinstance(unit, Mapping) else None for unit in (old, new))
    if before == after:
        return
    says = [f"`{name}`" if name is not None else "row" for name in (before, after)]
    if before is None:
        why = "earlier answers used any number of rows of a person, so that no multiple of their ε is proven"
    elif after is None:
        why = "a row may move between people, who were each protected alone"
    else:
        why = "earlier answers used any number of rows with one id of the new column"
    remedy = _KEEP.format("`unit`")
    raise LedgerError(f"`unit` may not change from {says[0]} to {says[1]}: {why}. {remedy}")


def _require_same_people(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Nothing may change of that under which people set caps of their own."""
    (was, before), (is_, after) = _own_caps(old), _own_caps(new)
    if not alike(before, after):
        raise LedgerError(
            f"`caps.each_person` may not change from {before} to {after}: what was spent is counted for "
            f"people by these levels. {_KEEP.format('`caps.each_person`')}"
        )
    if before and was != is_:
        raise LedgerError(
            f"`unit.caps` may not change from `{was}` to `{is_}`: what was spent was counted for people by "
            f"the caps in that column. {_KEEP.format('`unit.caps`')}"
        )
    if before and old.get("neighbours") != new.get("neighbours"):
        raise LedgerError(
            "`neighbours` may not change where people have caps of their own (`caps.each_person`): whoever "
            f"is replaced may bring another cap. {_KEEP.format('`neighbours`')}"
        )


def _require_same_orders(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """An order that is looked at alone is named before anything is asked, or never."""
    before, after = dict(_orders(old.get("caps", {}))), dict(_orders(new.get("caps", {})))
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was != now:
            says = [f"{one:g}" if one is not None else "none" for one in (was, now)]
            raise LedgerError(
                f"`{name}` may not change from {says[0]} to {says[1]}: which order needs least may hang on "
                f"what was answered, so that it has to be named beforehand. {_KEEP.format(f'`{name}`')}"
            )


def _require_same_plans(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """What was paid for beforehand stays as it is."""
    slots = [slot for plan in old.get("plan", ()) for slot in plan.get("slots", ())]
    if old.get("neighbours") != new.get("neighbours") and any(slot.get("descent") for slot in slots):
        raise LedgerError(
            "`neighbours` may not change where a `plan` has a `descent`: it was composed for the "
            f"neighbours that were declared. {_KEEP.format('`neighbours`')}"
        )
    now = {plan["name"]: plan for plan in new.get("plan", ())}
    for plan in old.get("plan", ()):
        if not alike(plan, now.get(plan["name"])):
            fate = "change" if plan["name"] in now else "be removed"
            raise LedgerError(
                f"Plan `{plan['name']}` may not {fate}: it was paid for as one charge, and answers may have "
                "been given from it. Keep it as it is; add a plan of another name."
            )


def _orders(caps: Mapping[str, Any], place: str = "caps") -> Iterator[tuple[str, float]]:
    """Every order that is named, by its field."""
    for name, value in caps.items():
        if name == "order" and value is not None:
            yield f"{place}.order", value
        elif isinstance(value, Mapping):
            yield from _orders(value, f"{place}.{name}")


def _own_caps(document: Mapping[str, Any]) -> tuple[str, list[float]]:
    """The column of people's own caps and its levels."""
    unit = document.get("unit")
    column = unit.get("caps") if isinstance(unit, Mapping) else None
    return str(column), document.get("caps", {}).get("each_person") or []


def require_same_owners(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where a joined table of two policies is not the same people's."""
    before = {name.lower(): table.get("id") for name, table in old.items()}
    for name, table in new.items():
        was, now = before.get(name.lower(), table.get("id")), table.get("id")
        if was == now:
            continue
        says = [f"the people of `{id_}`" if id_ is not None else "nobody" for id_ in (was, now)]
        raise LedgerError(
            f"`tables.{name}` may not change whose it is, from {says[0]} to {says[1]}: what earlier answers "
            "told about its rows was bounded for others, or not at all. Declare another table under another "
            "name, or keep this one."
        )


def counts_now(ticks: Ticks, then: ChargeTerms, now: ChargeTerms) -> Ticks:
    """What a spend that was charged on the terms of then counts for on those of now.

    >>> tenth = Ticks(100_000_000_000, 0, 5, 7, None, 5 * 10**9, 1)
    >>> counts_now(tenth, ChargeTerms("add-remove-one", None), ChargeTerms("replace-one", 2.0)).numbers
    (200000000000, 0, 5, 7, 40000000000, 20000000000, 1)
    """
    level = _level(ticks, then, now)
    if then.neighbours == now.neighbours:
        return ticks._replace(nats_level=level)
    epsilon, delta = ticks.epsilon, ticks.delta
    assert delta is not None
    if epsilon is None:
        raise LedgerError(
            "An earlier spend has no finite ε (its noise is Gaussian), and what it tells between tables two "
            "steps apart was not charged. Keep the policy's `neighbours`."
        )
    if 2 * epsilon > LARGEST * TICKS_PER_UNIT:
        raise LedgerError(
            "An earlier spend of ε is too large to count twice. Keep the policy's `neighbours`."
        )
    curve = tuple(two_steps(epsilon, order) for order in ORDERS)
    # The divergence of order 1 that ε-DP allows is the ρ that it allows.
    rho = two_steps(epsilon, 1.0)
    return ticks._replace(
        epsilon=2 * epsilon, delta=_two_steps(epsilon, delta), nats_level=level, rho=rho, curve=curve
    )


def _two_steps(epsilon: int, delta: int) -> int:
    """(1 + e^ε)δ in ticks, rounded up, at most 1: the same on every machine, for `verify` repeats it."""
    if delta == 0:
        return 0
    if epsilon > _STEEP:
        return TICKS_PER_UNIT
    precise = Context(prec=60)
    # Correctly rounded at 60 digits: the factor covers the last of them.
    power = precise.exp(precise.divide(Decimal(epsilon), TICKS_PER_UNIT))
    above = precise.multiply(precise.add(1, power), _ABOVE)
    ticks = int(precise.multiply(delta, above).to_integral_value(ROUND_CEILING))
    return min(ticks, TICKS_PER_UNIT)


def _level(ticks: Ticks, then: ChargeTerms, now: ChargeTerms) -> int | None:
    if now.alpha is None:
        return None
    if then.alpha is not None and now.alpha <= then.alpha and ticks.nats_level is not None:
        return ticks.nats_level
    if ticks.delta or ticks.epsilon is None:
        return None
    return two_steps(ticks.epsilon, now.alpha)


def meaning(document: Mapping[str, Any]) -> dict[str, Any]:
    """All of a policy but its caps and plans: what says what a query means.

    >>> meaning({"dataset": "ward", "caps": {"epsilon": 1.0}})
    {'dataset': 'ward'}
    """
    return {name: value for name, value in document.items() if name not in ("caps", "plan")}


def alike(one: Any, other: Any) -> bool:
    """Whether two parts of policies say the same. As Python has it, 1 is true, and 0 false.

    >>> alike([0, 1], [0, 1]), alike([0, 1], [False, True])
    (True, False)
    """
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def same_questions(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether whatever could be asked under the old policy means the same under the new: only columns and
    tables were added, and caps changed.

    >>> same_questions({"columns": {"age": 1}}, {"columns": {"age": 1, "sex": 2}})
    True
    >>> same_questions({"columns": {"age": 1}}, {"columns": {"age": 2}})
    False
    """
    before, after = meaning(old), meaning(new)
    for grown in ("columns", "tables"):
        known, now = before.pop(grown, {}), after.pop(grown, {})
        if not alike(known, {name: now[name] for name in known if name in now}):
            return False
    return alike(before, after)
