"""Which entries answer a question, in whatever state the data was: for who draws them without the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from leakcap.ledger.answer_cache import agree, require_unedited
from leakcap.ledger.details import STREAM, dataset_told
from leakcap.ledger.policies import meanings_of
from leakcap.ledger.schema import EVENT
from leakcap.ledger.sharing import admitted_policies
from leakcap.ledger.state import State
from leakcap.ledger.streams import asked_alike, keys_of_stream
from leakcap.ledger.ticks import Ticks
from leakcap.ledger.values import Charge

__all__ = ["entries_answering"]

_ASKED = (
    select(EVENT).where(EVENT.c.kind == "reserve", EVENT.c.text == bindparam("text")).order_by(EVENT.c.seq)
)


def entries_answering(
    connection: Connection, state: State, charge: Charge, label: str, dataset: str = ""
) -> tuple[int, ...]:
    """The numbers of the entries that paid for what a charge asks, at its price, under a policy that means by
    it what the present one means; oldest first, whoever asked.

    `dataset` is one beside the ledger's own. An answer about data without a name is told from others by its
    price, and only where the ledger never had another policy.
    """
    beside = "" if dataset == state.dataset else dataset
    if beside and beside not in admitted_policies(connection):
        return ()
    meanings, price = meanings_of(connection, beside), charge.spend.ticks(state.rules.alpha)
    found = []
    for row in map(dict, connection.execute(_ASKED, {"text": charge.text}).mappings().all()):
        if dataset_told(row["details"]) != beside or not _alike(row, charge, price):
            continue
        if row["memo"] in _keys(charge, row, meanings, beside) or (not row["memo"] and meanings == ("",)):
            require_unedited(row, label)
            found.append(int(row["entry"]))
    return tuple(found)


def _alike(row: dict[str, Any], charge: Charge, price: Ticks) -> bool:
    """Whether the same was asked at the same price."""
    if STREAM in charge.details:
        return asked_alike(row["details"], charge)
    return agree(row, charge, price)


def _keys(charge: Charge, row: dict[str, Any], meanings: tuple[str, ...], beside: str) -> set[str]:
    """What such an entry may be remembered under: analysts may have had accounts of their own, or not."""
    if STREAM in charge.details:
        pairs = (keys_of_stream(charge, row["analyst"], one, beside) for one in meanings)
        return {key for pair in pairs for key in pair}
    if not row["data"]:
        return set()
    theirs = replace(charge, analyst=row["analyst"])
    return {theirs.cache_key(row["data"], one, own=own) for one in meanings for own in (False, True)}
