"""Certificates of a ledger: its chain as far as it is shown, and what all charges come to.

`leakcap_verify` computes the hashes, the sums, the ε and every cap again, and with the kinds `filter` and
`balance` each charge from its event. The kinds `…-as-charged` take the charges as they stand, where some
cannot be computed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Protocol, get_args

from sqlalchemy import Connection, select

from leakcap.certificate import Proof, certificate_of
from leakcap.errors import LedgerError
from leakcap.ledger.caps import Period
from leakcap.ledger.chain import certified_text
from leakcap.ledger.claims import merely_stated
from leakcap.ledger.lines import lines_of
from leakcap.ledger.rules import GROUP, CapsInTicks, period_label
from leakcap.ledger.schema import EVENT
from leakcap.ledger.shown import pseudonym
from leakcap.ledger.state import State
from leakcap.ledger.ticks import TICKS_PER_UNIT
from leakcap.ledger.verification import verify_chain
from leakcap.numeric import float_up

__all__ = ["CertifiedChain"]

_MOST_ROWS = 40_000
_SOURCE = "Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023"
_CALENDAR: tuple[Period, ...] = get_args(Period)


class _Readable(Protocol):
    """A ledger's database."""

    label: str

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that only reads."""


@dataclass(frozen=True, eq=False)
class CertifiedChain:
    """A ledger's chain up to where it stood at a reading: what certificates of that reading show.

    It is read when a certificate is asked for, and verified as a whole then. Each certificate raises
    `LedgerError` for a chain that does not hold, lacks what was read, or is too long.
    """

    database: _Readable
    state: State

    def __deepcopy__(self, memo: object) -> CertifiedChain:
        """Itself: it changes nothing, and there is one database."""
        return self

    def of_all(self, epsilon: float, delta: float) -> dict[str, Any]:
        """That all charges come to at most this ε, but with probability `delta`, and passed no cap."""
        own = self.state.spent.delta
        if own is None:
            raise LedgerError(
                f"Ledger `{self.database.label}` has a spend whose δ has no bound, so that no certificate "
                "says anything."
            )
        shown = self._shown()
        given = {
            "head": self.state.head,
            "delta": Fraction(repr(float(delta))),
            "delta_of_answers": Fraction(own, TICKS_PER_UNIT),
            "accounts": "all" if shown.all_accounts else "everything",
        }
        return shown.certificate("filter", given, epsilon, "nats")

    def of_balance(self, scope: str, name: str, currency: str, spent: float) -> dict[str, Any]:
        """That charges on an account come to at most this in a currency, as it is held against its cap.

        It is `stated` for an account that rows of a chain do not show.
        """
        shown, known = self._shown(), f"{scope} {name}"
        if scope == "everything":
            known = scope
        elif scope in ("analyst", GROUP):
            known = f"{scope} {pseudonym(self.state.seed, scope, name)}"
        elif scope in _CALENDAR:
            known = f"period {name}"
        claim = float_up(Fraction(repr(spent))) if spent < float("inf") else spent
        on_rows = scope in ("analyst", GROUP) or (scope in _CALENDAR and name in shown.periods(scope))
        if known != "everything" and not (on_rows and shown.all_accounts):
            return merely_stated(claim, currency, _SOURCE)
        given = {"head": self.state.head, "account": known, "currency": currency}
        return shown.certificate("balance", given, claim, currency)

    def _shown(self) -> _Shown:
        state, label = self.state, self.database.label
        if state.rows > _MOST_ROWS:
            raise LedgerError(
                f"Ledger `{label}` has {state.rows:,} rows, and a certificate holds {_MOST_ROWS:,} at most. "
                "Give its head and its export instead."
            )
        with self.database.reading() as connection:
            verify_chain(connection, label, state.head)
            query = select(EVENT).where(EVENT.c.seq <= state.rows).order_by(EVENT.c.seq)
            rows = [dict(row) for row in connection.execute(query).mappings()]
        kinds = {row["kind"] for row in rows}
        return _Shown(
            tuple(map(certified_text, rows)),
            frozenset(row["time"] for row in rows if row["kind"] == "reserve"),
            lines_of(rows),
            not ({"lost", "amend"} & kinds or _unshown(state.rules)),
        )


@dataclass(frozen=True)
class _Shown:
    """The rows of a chain as text, when charges were made, the lines of these (None where some are not
    computed from their events), and whether rows show all accounts."""

    rows: tuple[str, ...]
    times: frozenset[str]
    lines: Mapping[str, Any] | None
    all_accounts: bool

    def periods(self, period: Period) -> set[str]:
        """The periods in which there was a charge."""
        return {period_label(period, datetime.fromisoformat(time)) for time in self.times}

    def certificate(self, kind: str, given: Mapping[str, Any], claim: float, unit: str) -> dict[str, Any]:
        """What is claimed of them."""
        priced = self.lines is not None and not unit.startswith("nats_")
        witness = {"rows": list(self.rows), "lines": self.lines or {}}
        proof = Proof(kind if priced else f"{kind}-as-charged", given, witness)
        return certificate_of(proof, (0.0, claim), unit=unit, method="", source=_SOURCE)


def _unshown(rules: CapsInTicks) -> bool:
    """Whether caps are on accounts that no row shows: levels of people's own caps, reference periods."""
    return bool(rules.each_person) or rules.by_reference
