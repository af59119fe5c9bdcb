"""One policy after another: what an amendment changes, and the transaction that makes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from leakcap.errors import LedgerError
from leakcap.ledger.caps import Caps
from leakcap.ledger.chain import require_reason, require_text, text_hash
from leakcap.ledger.continuing import document_of
from leakcap.ledger.differences import carried_words, differences
from leakcap.ledger.events import amend_row, regime_of, stamp
from leakcap.ledger.limits import Balance, balances
from leakcap.ledger.planning import due, paid
from leakcap.ledger.policies import keep_text, regime_rows, texts_of_all
from leakcap.ledger.rules import rules_of
from leakcap.ledger.schema import ACCOUNT, EVENT
from leakcap.ledger.slots import SlotPlan
from leakcap.ledger.state import State, replace_state, save_account
from leakcap.ledger.sums import Regime, RunningSums, documents_of, terms_of_all
from leakcap.ledger.told import Amendment
from leakcap.ledger.verification import proven_sums

__all__ = ["Planned", "Proposed", "amendments", "commit", "plan"]


@dataclass(frozen=True)
class Proposed:
    """What a steward wants: the new policy's text, caps and `plans`, why, and who; `before` is the text of
    the policy that governs, for a ledger that keeps only its fingerprint. `owner` is the verb that messages
    name."""

    text: str
    caps: Caps
    reason: str
    by: str = ""
    before: str = ""
    plans: Sequence[SlotPlan] = ()
    owner: str = "amend"

    def __post_init__(self) -> None:
        for name in ("text", "before"):
            require_text(getattr(self, name), name, self.owner)
        require_reason(self.reason, self.by, self.owner)

    @property
    def policy(self) -> str:
        """The new policy's fingerprint."""
        return text_hash(self.text)


@dataclass(frozen=True)
class Planned:
    """An amendment that is not yet made: what would be told of it, and what would be written."""

    amendment: Amendment
    before: list[Balance]
    after: list[Balance]
    rows: list[dict[str, Any]]
    texts: dict[str, str]
    state: State
    sums: RunningSums


def plan(connection: Connection, proposed: Proposed, clock: Callable[[], datetime], label: str) -> Planned:
    """What the amendment would do. The whole chain is verified first.

    Raises `LedgerError` where the new policy may not continue the accounts, is the one that governs, or where
    the text of the one that governs is not known, and `BudgetExceeded` where a new plan does not fit.
    """
    state, sums = proven_sums(connection, label)
    texts = _texts(connection, state, proposed, label)
    before, regime = sums.spent, Regime(proposed.policy, rules_of(proposed.caps))
    if regime.policy == state.policy:
        raise LedgerError(f"The policy governs ledger `{label}` already: there is nothing to amend.")
    earlier = tuple(sums.regimes)
    sums.amend(regime, texts)
    time = stamp(clock, state.time, label)
    row = amend_row(state, time, regime, sums.spent, by=proposed.by, reason=proposed.reason)
    old, rules = state.rules, regime.rules
    after = replace(
        state,
        policy=regime.policy,
        rules=rules,
        rows=row["seq"],
        time=time,
        head=row["hash"],
        spent=sums.spent,
    )
    rows = [row]
    for one in due(connection, rules, proposed.plans, label):
        paid_for, after = paid(after, one, time)
        rows.append(paid_for)
    return Planned(
        _told(row, earlier, texts),
        balances(before, old.whole, old.alpha),
        balances(after.spent, rules.whole, rules.alpha),
        rows,
        texts,
        after,
        sums,
    )


def commit(connection: Connection, before: State, planned: Planned) -> None:
    """Write it: the rows, the texts, and every sum, in the caller's transaction."""
    for policy, text in planned.texts.items():
        keep_text(connection, policy, text)
    connection.execute(EVENT.insert(), planned.rows)
    replace_state(connection, before, planned.state)
    connection.execute(ACCOUNT.delete())
    for (scope, name), spent in planned.sums.accounts.items():
        save_account(connection, scope, name, spent, stands=False)


def amendments(connection: Connection) -> list[Amendment]:
    """All that were made, oldest first."""
    rows = regime_rows(connection)
    texts, regimes = texts_of_all(connection), [regime_of(row)[1] for row in rows]
    return [_told(row, regimes[:place], texts) for place, row in enumerate(rows) if place]


def _texts(connection: Connection, state: State, proposed: Proposed, label: str) -> dict[str, str]:
    """Every text that the ledger needs, the two that may be new to it included."""
    texts = texts_of_all(connection) | {proposed.policy: proposed.text}
    if state.policy in texts:
        return texts
    if not proposed.before:
        raise LedgerError(
            f"The ledger `{label}` keeps only the fingerprint of its policy, {state.policy[:12]}. Give that "
            "policy too: `--from old.toml`."
        )
    if document_of(proposed.before, state.policy) is None:
        raise LedgerError(
            f"The policy given as the old one is not the one that governs ledger `{label}`, "
            f"{state.policy[:12]}. Give the file that the ledger was made for."
        )
    return texts | {state.policy: proposed.before}


def _told(row: dict[str, Any], earlier: Sequence[Regime], texts: dict[str, str]) -> Amendment:
    """What the row changed, after all earlier policies."""
    regimes = [*earlier, regime_of(row)[1]]
    before, after = documents_of([regime.policy for regime in regimes[-2:]], texts)
    terms = terms_of_all(regimes, texts)
    return Amendment(
        time=datetime.fromisoformat(row["time"]),
        by=row["analyst"],
        reason=str(json.loads(row["details"])["reason"]),
        before=earlier[-1].policy,
        policy=regimes[-1].policy,
        changes=differences(before, after),
        carried=carried_words(terms[:-1], terms[-1]),
        hash=row["hash"],
    )
