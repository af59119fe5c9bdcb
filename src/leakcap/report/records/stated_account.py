"""Whether the account that a record states, what was spent and what that tells, can hold its own answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leakcap.ledger import Charge
from leakcap.policy.document import Policy
from leakcap.release.results.exposure import balances_of_plan, capped_of_policy, exposure_of_plan
from leakcap.report.records.base import CapRecord
from leakcap.statement.covering import shortfall
from leakcap.statement.exposure import Exposure
from leakcap.statement.record import LineRecord, StatementRecord
from leakcap.statement.restated import restated

__all__ = ["account_fault", "nearly_same", "statement_fault"]

_ROUNDED = 1e-9
_PROVED_TOGETHER = {"epsilon", "delta"}
"""What is spent of these hangs on the caps, where all answers are proved together."""
_SAME = 1e-3
"""Relative: lines are made anew from sums that a record rounds, and their sentences show three digits."""


def account_fault(so_far: StatementRecord, caps: Sequence[CapRecord], policy: Policy, charge: Charge) -> str:
    """What is wrong with an account on which `charge` was booked; empty where nothing is.

    Everything so far tells at least what the answer tells alone, in each number that is stated, and each line
    of it follows from these; the caps that it names are the policy's. Of each cap at least the answer's price
    was spent, what is left is the rest, and of nats no more was spent than everything so far tells. What else
    was booked, and what the caps of the ledger are, is the word of whoever hands the record over.
    Raises `InvalidParameter` where the sentences of `so_far` do not follow from its numbers.
    """
    if fault := statement_fault(so_far, exposure_of_plan((), (), policy, [charge]), "so_far", "tables alone"):
        return fault
    whole = restated(so_far).exposure
    if whole.capped is not None and whole.capped != capped_of_policy(policy):
        return "`so_far` names other caps than its policy has"
    told = {one.cap: one for one in caps}
    own = {one.name: one for one in balances_of_plan((), policy, [charge])}
    if len(told) < len(caps) or any(name not in told for name in own):
        return "`caps` are not those of a ledger under its policy"
    alike = all(told[name].limit == own[name].cap for name in _PROVED_TOGETHER)
    for name, one in told.items():
        if one.limit is not None and one.limit < 0.0:
            return f"`caps` have a limit below 0 of `{name}`"
        if name in own and one.unit != own[name].unit:
            return f"`caps` have another unit of `{name}`"
        if _left(one) != one.left and not _near(_left(one), one.left):
            return f"`caps` do not add up in `{name}`"
        mine = own.get(name)
        compared = mine is not None and (alike or name not in _PROVED_TOGETHER)
        if mine is not None and compared and _number(one.spent) < mine.spent * (1.0 - _ROUNDED):
            return f"`caps` say that less was spent of `{name}` than the tables cost"
    stated = {"nats_person": whole.nats.upper, "nats_table": whole.table_nats}
    for name, nats in stated.items():
        if _number(told[name].spent) > nats * (1.0 + _ROUNDED):
            return f"`caps` say that more was spent of `{name}` than `so_far` tells"
    return ""


def statement_fault(told: StatementRecord, least: Exposure, name: str, what: str) -> str:
    """What is wrong with a statement: a line that does not follow from its numbers, or a number below what
    `least` has, which is told by `what`; empty where nothing is.
    Raises `InvalidParameter` where its sentences do not follow from its numbers.
    """
    anew = restated(told)
    if (line := _other_line(told.lines, anew.record().lines)) is not None:
        return f"line `{line}` of `{name}` does not follow from its numbers"
    if number := shortfall(anew.exposure, least):
        return f"`{name}` says less than the {what} tell, in `{number}`"
    return ""


def _other_line(told: Sequence[LineRecord], made: Sequence[LineRecord]) -> str | None:
    """The key of the first line that says something else than the one that is made anew, the sentence aside,
    which `restated` has compared; None where all say the same."""
    known = {line.key: line for line in made}
    for line in told:
        own = known.pop(line.key, None)
        if own is None or not nearly_same(_facts(line), _facts(own)):
            return line.key
    return None


def _facts(line: LineRecord) -> dict[str, Any]:
    return line.model_dump(mode="json", exclude={"sentence"})


def nearly_same(one: Any, other: Any, within: float = _SAME) -> bool:
    """Whether two parts of a record, as JSON has them, are the same but for the rounding of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            nearly_same(own, other[name], within) for name, own in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(lambda a, b: nearly_same(a, b, within), one, other))
    if type(one) in (int, float) and type(other) in (int, float):
        return math.isclose(one, other, rel_tol=within, abs_tol=1e-12)
    return bool(one == other)


def _left(one: CapRecord) -> float | None:
    """What is left of a cap when so much was spent; null where nothing is capped, or no bound is known."""
    return None if one.limit is None or one.spent is None else max(0.0, one.limit - one.spent)


def _near(one: float | None, other: float | None) -> bool:
    """But for the rounding of doubles to a tick, 10⁻¹²."""
    return one is not None and other is not None and abs(one - other) <= 4e-12 + 1e-15 * abs(one)


def _number(spent: float | None) -> float:
    return math.inf if spent is None else spent
