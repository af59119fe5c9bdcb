"""The policies that governed a ledger: their texts, one after the other, and what their queries mean."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import fingerprint
from leakcap.ledger.continuing import ChargeTerms, alike, counts_now, meaning, same_questions
from leakcap.ledger.events import entry_of, regime_of, spend_of, ticks_of
from leakcap.ledger.schema import EVENT, POLICY
from leakcap.ledger.sharing import admitted_policies
from leakcap.ledger.state import State, amounts_row
from leakcap.ledger.sums import documents_of, terms_of_all
from leakcap.ledger.values import Entry

__all__ = [
    "Counting",
    "amend_rows",
    "counting_of",
    "keep_text",
    "meanings_of",
    "regime_rows",
    "require_governing",
    "texts_of_all",
]

_NOT_OF_ONE = {"nats_table", "nats_level", "queries"}
"""Caps on everything by which nothing is stated of what is told about one person."""


@cache
def _amended() -> Select[Any]:
    return select(EVENT).where(EVENT.c.kind == "amend").order_by(EVENT.c.seq)


def amend_rows(connection: Connection) -> list[dict[str, Any]]:
    """The rows that say that another policy governs from there on, oldest first."""
    return [dict(row) for row in connection.execute(_amended()).mappings()]


def regime_rows(connection: Connection) -> list[dict[str, Any]]:
    """The rows from which on a policy governs, the ledger's own first; nothing where none was amended."""
    later = amend_rows(connection)
    if not later:
        return []
    return [dict(connection.execute(select(EVENT).where(EVENT.c.seq == 1)).mappings().one()), *later]


def texts_of_all(connection: Connection) -> dict[str, str]:
    """The public texts that are kept, by fingerprint. Unproven: see `documents_of`."""
    return {row.fingerprint: row.text for row in connection.execute(select(POLICY))}


def keep_text(connection: Connection, policy: str, text: str) -> None:
    """Keep a policy's text, once."""
    known = connection.execute(select(POLICY.c.text).where(POLICY.c.fingerprint == policy)).scalar()
    if known is None:
        connection.execute(POLICY.insert(), {"fingerprint": policy, "text": text})
    elif known != text:
        raise LedgerError("A policy's text in the ledger was edited. Restore the ledger from a backup.")


def require_governing(
    connection: Connection, state: State, policy: str, label: str, dataset: str = ""
) -> None:
    """Raise `LedgerError` where another policy governs the ledger than the one of its user, saying since
    when; `dataset` is one beside the ledger's own."""
    if dataset:
        known = admitted_policies(connection).get(dataset)
        if known is None or known[-1] != policy:
            raise LedgerError(
                f"The ledger `{label}` has another policy of data set `{dataset}` than this one. Bring that "
                "policy back, or admit this one: `leakcap ledger admit`."
            )
        return
    if state.policy == policy:
        return
    replaced = [row for row in amend_rows(connection) if json.loads(row["details"])["before"] == policy]
    if replaced:
        raise LedgerError(
            f"The policy of ledger `{label}` was amended at {replaced[-1]['time'][:19]} UTC, from "
            f"{policy[:12]} to another; {state.policy[:12]} governs now. Open the ledger with the new policy."
        )
    raise LedgerError(
        f"The ledger `{label}` was made for another policy ({state.policy[:12]}, this one is {policy[:12]}). "
        "Bring that policy back, or amend it: `leakcap ledger amend`. What it records stays spent; name "
        "another ledger only for other data."
    )


@dataclass(frozen=True)
class Counting:
    """From what was charged under each policy to what it counts for now."""

    starts: tuple[int, ...] = ()
    terms: tuple[ChargeTerms, ...] = ()
    caps: tuple[Mapping[str, Any], ...] = ()
    """Under each policy the caps on everything that bound what is told about one person."""

    def entry(self, found: RowMapping) -> Entry:
        """The entry of a reserved row, with what its spend counts for now."""
        row = dict(found)
        if not self.terms:
            return entry_of(row)
        place = bisect_right(self.starts, row["seq"]) - 1
        then, now = self.terms[place], self.terms[-1]
        same = self.caps[place] == self.caps[-1] and then.neighbours == now.neighbours
        if then == now:
            return replace(entry_of(row), under_these_caps=same)
        counted = counts_now(ticks_of(row), then, now)
        entry = replace(entry_of(row | amounts_row(counted)), under_these_caps=same)
        if then.neighbours == now.neighbours:
            return entry
        # An event between presence and absence says less than what it counts for; and what an answer tells at
        # least was of contents that are no longer all possible.
        spend = entry.spend if entry.slot else spend_of(counted, "")
        details = {name: value for name, value in entry.details.items() if name != "nats_lower"}
        return replace(entry, spend=spend, details=details)


def counting_of(connection: Connection) -> Counting:
    """How this ledger's spends count; without an amendment as they were charged."""
    rows = regime_rows(connection)
    if not rows:
        return Counting()
    regimes = [regime_of(row)[1] for row in rows]
    terms = terms_of_all(regimes, texts_of_all(connection))
    caps = [
        {name: cap for name, cap in regime.rules.everything.items() if name not in _NOT_OF_ONE}
        for regime in regimes
    ]
    return Counting(tuple(row["seq"] for row in rows), tuple(terms), tuple(caps))


def meanings_of(connection: Connection, dataset: str = "") -> tuple[str, ...]:
    """What answers are remembered under: the present policy's tag, then those of earlier policies of which
    every question means the same now. Empty is the tag of the first policy. `dataset` is one beside the
    ledger's own, whose questions are never those about another.
    """
    if dataset:
        own = documents_of(admitted_policies(connection)[dataset], texts_of_all(connection))
        same = [fingerprint(meaning(one)) for one in own if same_questions(one, own[-1])]
        return tuple(dict.fromkeys(reversed(same)))
    rows = regime_rows(connection)
    if not rows:
        return ("",)
    policies = [regime_of(row)[1].policy for row in rows]
    documents = documents_of(policies, texts_of_all(connection))
    tags = [_tag(document, documents[0]) for document in documents]
    alike = [t for t, d in zip(tags, documents, strict=True) if same_questions(d, documents[-1])]
    return tuple(dict.fromkeys([tags[-1], *reversed(alike)]))


def _tag(document: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    return "" if alike(meaning(document), meaning(first)) else fingerprint(meaning(document))
