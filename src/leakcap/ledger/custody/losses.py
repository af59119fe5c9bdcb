"""What a backup lacks: of the newest anchor that is known, and of the ledger that still stands."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from leakcap.errors import LedgerError
from leakcap.ledger.anchors import Anchor, lost_between
from leakcap.ledger.closed import closing_row, refuse_closed
from leakcap.ledger.custody.copying import knows, standing
from leakcap.ledger.database import connect
from leakcap.ledger.schema import EVENT, require_version
from leakcap.ledger.state import State
from leakcap.ledger.sums import RunningSums
from leakcap.ledger.ticks import Ticks, decimal
from leakcap.ledger.verification import proven_sums
from leakcap.plain import counted

__all__ = ["BackedLedger", "Lacking", "backed_ledger", "lacking_of", "require_gone"]

_LISTED = 20
_FIRST = select(EVENT.c.hash).where(EVENT.c.seq == 1)


@dataclass(frozen=True)
class BackedLedger:
    """The ledger that a backup is of: as it was, the sums that follow from its chain, its first row, when the
    backup was made, and where the ledger was then."""

    label: str
    state: State
    sums: RunningSums
    first: str
    made: str
    address: str


@dataclass(frozen=True)
class Lacking:
    """What a backup lacks: in words, how many spends, and what they came to; None where nobody can say."""

    words: str
    entries: int | None = None
    ticks: Ticks | None = None


def backed_ledger(there: Connection, label: str) -> BackedLedger:
    """Read a backup, its whole chain. Raises `LedgerError` for anything else."""
    require_version(there, label)
    state, sums = proven_sums(there, label)
    last = closing_row(there, state.rows)
    if last["kind"] != "backup":
        raise LedgerError(
            f"`{label}` is a ledger, not a backup. Restore from what `leakcap ledger backup` wrote; to have "
            "it elsewhere, move it."
        )
    before = dict(there.execute(select(EVENT).where(EVENT.c.seq == state.rows - 1)).mappings().one())
    was = replace(state, rows=before["seq"], head=before["hash"], time=before["time"], closed=False)
    first = there.execute(_FIRST).scalar_one()
    return BackedLedger(label, was, sums, first, last["time"], last["details"]["of"])


def require_gone(backed: BackedLedger, target: str, *, said: bool = False) -> None:
    """Raise `LedgerError` where the ledger itself stands elsewhere than at the target, or may: restored
    there, its budget would be there twice. With `said` a server that cannot be reached is gone."""
    where = _last_known(backed, target, said)
    if where not in (None, target):
        raise LedgerError(
            f"The ledger of this backup is at `{where}`. Restored elsewhere, its budget would be there "
            "twice. Use that one; to have it elsewhere, move it."
        )


def _last_known(backed: BackedLedger, target: str, said: bool) -> str | None:
    """Where the ledger itself is, from its own address on to where it was moved, and no further than to the
    target; None where it is gone from its own address."""
    address, seen = backed.address, set[str]()
    while address != target and address not in seen:
        seen.add(address)
        if said and address == backed.address and _silent(address):
            return None
        told = _told_at(address, backed.first)
        if told is None:
            return None if address == backed.address else address
        address = told
    return address


def _told_at(address: str, first: str) -> str | None:
    """Where the ledger at an address says that it is: there, or where it was moved; None where it is gone.

    Raises `LedgerError` where that cannot be seen: what is there may be damaged and take spends for all that.
    """
    try:
        with standing(address) as here:
            if here is None:
                return None
            state = proven_sums(here, address)[0]
            if here.execute(_FIRST).scalar() != first:
                return None
            told = closing_row(here, state.rows)["details"] if state.closed else {}
            return str(told.get("to", address))
    except (LedgerError, OSError) as error:
        remedy = "Put what is there aside, or restore there."
        if not address.startswith("sqlite:"):
            remedy = (
                "Restore there, or where the server can be reached. If it is gone for good, say so: `--gone` "
                "with a `--reason`."
            )
        raise LedgerError(
            f"Whether the ledger of this backup is gone from `{address}` cannot be seen: {error} {remedy}"
        ) from None


def _silent(address: str) -> bool:
    """Whether an address is a server's that cannot be reached."""
    if address.startswith("sqlite:"):
        return False
    try:
        with closing(connect(address, read_only=True)) as server, server.reading():
            return False
    except LedgerError:
        return True


def lacking_of(
    there: Connection, here: Connection | None, backed: BackedLedger, anchor: Anchor | None, label: str
) -> Lacking | None:
    """What the backup lacks of what is known; None where it lacks nothing.

    Raises `LedgerError` where nothing is known, or there is nothing to restore.
    """
    in_place = None if here is None else _lost_in_place(there, here, backed, label)
    if anchor is None:
        if here is None:
            raise LedgerError(
                f"There is no ledger in `{label}`, and no anchor says what it held last: the backup may "
                "forget spends. Give the newest head that is known: `--anchor`."
            )
        return in_place
    if knows(there, anchor.head):
        return in_place
    ticks, was = anchor.ticks, backed.state
    if anchor.dataset not in ("", was.dataset):
        raise LedgerError(
            f"The anchor is of data set `{anchor.dataset}`, the backup of `{was.dataset}`. Give an anchor "
            "of the backup's own ledger."
        )
    if ticks is None or anchor.policy != was.policy or anchor.rows <= was.rows:
        return Lacking(
            f"No row of the backup has the hash {anchor.head}: spends after entry {was.entries} would be "
            "forgotten, and the anchor does not say how many."
        )
    lost = lost_between(was.spent, ticks)
    if lost is None:
        raise LedgerError("The anchor is no later state of this backup's ledger. Give that ledger's own.")
    count = lost.queries or 0
    which = f"{_numbered(was.entries + 1, anchor.entries)} among them" if count else "no spend among them"
    words = f"The backup lacks {counted(anchor.rows - was.rows, 'row')} that the anchor knows, {which}"
    words += f": ε {decimal(lost.epsilon)} in all." if lost.epsilon else "."
    # A ledger that stands in place may know more than the anchor, and accounts and slots are not in it.
    bookable = in_place is None and not (_has_accounts(was) or backed.sums.slots)
    return Lacking(words, count, lost if bookable else None)


def _lost_in_place(there: Connection, here: Connection, backed: BackedLedger, label: str) -> Lacking | None:
    """What the ledger that stands at the address has and the backup lacks."""
    if here.execute(_FIRST).scalar() != backed.first:
        raise LedgerError(f"The ledger in `{label}` is another than the backup's. Restore to another place.")
    columns = [EVENT.c[name] for name in ("seq", "kind", "entry", "query", "epsilon", "hash")]
    since = select(*columns).where(EVENT.c.seq >= backed.state.rows).order_by(EVENT.c.seq)
    rows = [dict(row) for row in here.execute(since).mappings()]
    more = [row for row in rows if row["seq"] > backed.state.rows]
    try:
        state = proven_sums(here, label)[0]
    except LedgerError:
        lacks = f"what the backup lacks: {_listed(more)}" if more else "nothing that can be read beyond it"
        return Lacking(f"The ledger in `{label}` is damaged, and has {lacks}.")
    if state.closed:
        refuse_closed(here, state.rows, label)
    if knows(there, state.head):
        return None
    if rows and rows[0]["hash"] == backed.state.head:
        raise LedgerError(
            f"The ledger in `{label}` is whole, and has all that the backup has and {_listed(more)}: there "
            "is nothing to restore."
        )
    has = _listed(more) if more else "no more rows than it"
    return Lacking(f"The ledger in `{label}` went another way than the backup, and has {has}.")


def _listed(rows: Sequence[dict[str, Any]]) -> str:
    spends = [row for row in rows if row["kind"] == "reserve"]
    told = [f"entry {row['entry']} `{row['query']}`{_epsilon(row['epsilon'])}" for row in spends[:_LISTED]]
    told += [f"{len(spends) - _LISTED} more"] if len(spends) > _LISTED else []
    counts = f"{counted(len(rows), 'more row')}, {counted(len(spends), 'spend')} among them"
    return f"{counts} ({', '.join(told)})" if told else counts


def _numbered(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last}"


def _epsilon(ticks: object) -> str:
    return f" (ε {decimal(ticks)})" if isinstance(ticks, int) else ""


def _has_accounts(state: State) -> bool:
    rules = state.rules
    return rules.by_analyst or rules.period is not None or bool(rules.each_person)
