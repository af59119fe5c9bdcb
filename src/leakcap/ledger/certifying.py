"""The certificate of a whole ledger: its chain as far as it is shown, and the ε that all charges come to.

`leakcap_verify` computes the hashes, the sums, the ε and every cap again, and with the kind `filter` each
charge from its event. The kind `filter-as-charged` takes the charges as they stand, where some cannot be
computed there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from leakcap.certificate import Proof, certificate_of
from leakcap.errors import LedgerError
from leakcap.ledger.chain import certified_text
from leakcap.ledger.measured import priced_by_checker
from leakcap.ledger.odometer import odometer
from leakcap.ledger.rules import CapsInTicks
from leakcap.ledger.schema import EVENT
from leakcap.ledger.ticks import AMOUNTS
from leakcap.ledger.verification import proven_sums

__all__ = ["checkable", "ledger_certificate"]

_MOST_ROWS = 40_000
_SOURCE = "Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023"


def ledger_certificate(connection: Connection, label: str, delta: float) -> dict[str, Any]:
    """What `LedgerReader.certificate` says; the whole chain is verified first."""
    state, sums = proven_sums(connection, label)
    if state.rows > _MOST_ROWS:
        raise LedgerError(
            f"Ledger `{label}` has {state.rows:,} rows, and a certificate holds {_MOST_ROWS:,} at most. Give "
            "its head and its export instead."
        )
    found, own = odometer(state.spent, delta), state.spent.delta
    if own is None:
        raise LedgerError(
            f"Ledger `{label}` has a spend whose δ has no bound, so that no certificate says anything."
        )
    texts, priced, lost = [], True, False
    for row in map(dict, connection.execute(select(EVENT).order_by(EVENT.c.seq)).mappings()):
        texts.append(certified_text(row))
        priced, lost = priced and checkable(row), lost or row["kind"] == "lost"
    given = {
        "head": state.head,
        "delta": Fraction(repr(float(delta))),
        "delta_of_answers": Fraction(own, 10**12),
        "accounts": "everything" if lost or len(sums.regimes) > 1 or _unshown(state.rules) else "all",
    }
    proof = Proof("filter" if priced else "filter-as-charged", given, {"rows": texts})
    return certificate_of(proof, (0.0, found.epsilon), unit="nats", method="", source=_SOURCE)


def checkable(row: Mapping[str, Any]) -> bool:
    """Whether the checker can compute a row's charge from its event; what charges nothing is none.

    >>> free = dict.fromkeys(AMOUNTS, 0) | {"kind": "release", "curve": "", "slot": "", "event": ""}
    >>> checkable(free), checkable(free | {"kind": "plan", "epsilon": 5})
    (True, False)
    """
    charges = row["kind"] == "reserve" or any(row[name] != 0 for name in AMOUNTS)
    if row["kind"] in ("open", "amend") or not charges:
        # Under another relation a charge may be doubled: no event shows that.
        return bool(row["kind"] != "amend")
    if row["slot"] or not row["event"] or row["kind"] != "reserve":
        return False
    event = json.loads(row["event"])
    # Noise that has no ε without a δ is charged one where it has a δ: that is computed another way.
    return priced_by_checker(event) and (row["epsilon"] is None or _pure(event))


def _pure(event: Any) -> bool:
    """Whether an event has an ε."""
    if event["name"] == "ComposedDpEvent":
        return all(map(_pure, event["events"]))
    if event["name"] == "SelfComposedDpEvent":
        return _pure(event["event"])
    return event["name"] in ("EpsilonDeltaDpEvent", "DiscreteLaplaceDpEvent")


def _unshown(rules: CapsInTicks) -> bool:
    """Whether caps are on accounts that no row shows: levels of people's own caps, reference periods."""
    return bool(rules.each_person) or rules.by_reference
