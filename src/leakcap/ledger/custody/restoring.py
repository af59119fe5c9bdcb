"""Put a ledger back from its backup, without a way to get budget back.

What was spent after the backup was made is spent. So whoever restores says what the ledger held last, by an
anchor, or there is a ledger at the address still; and where the backup lacks any of it, only an explicit act
restores, which books what is lost, or closes the ledger where nobody can say how much that is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from leakcap.errors import LedgerError, require
from leakcap.ledger.anchors import Anchor
from leakcap.ledger.care import amount_lost
from leakcap.ledger.chain import require_text
from leakcap.ledger.closed import closing_row
from leakcap.ledger.custody.copying import copied, emptied, require_ledger_name, standing
from leakcap.ledger.custody.losses import BackedLedger, Lacking, backed_ledger, lacking_of, require_gone
from leakcap.ledger.database import connect
from leakcap.ledger.events import entries_query, entry_of, mark_row, note_row, stamp
from leakcap.ledger.schema import EVENT, create, require_version
from leakcap.ledger.state import State, append, load_state, replace_state
from leakcap.ledger.ticks import total
from leakcap.ledger.transfers import Restored
from leakcap.ledger.values import Entry
from leakcap.ledger.verification import proven_sums

__all__ = ["restore"]

_NOTE = "the ledger was restored from a backup"
_HOW = "Bring a later backup, or book what is lost: `--book-lost` with a `--reason`."


def restore(
    backup: str,
    target: str,
    *,
    anchor: Anchor | str | None = None,
    book_lost: bool = False,
    gone: bool = False,
    reason: str = "",
    by: str = "",
    preview: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Restored:
    """Put a ledger back at `target` from a backup, in one transaction.

    `anchor` is the newest that is known: a head's hash, or an `Anchor`, which also says what was spent until
    then. Without one a ledger has to stand at `target` still. Raises `LedgerError` where the backup lacks
    anything that either shows, and says what. With `book_lost` it is restored nevertheless: what was spent
    since is booked, as far as the anchor says. Where it does not, or where analysts, periods or people have
    accounts of their own, or a plan has slots, the ledger is closed, and can only be read. Answers that had
    not left may not leave any more. All this stands in the chain.

    A ledger that may still stand at its own address is not restored elsewhere. `gone` is your word that a
    server which cannot be reached is gone for good.

    >>> import tempfile
    >>> from leakcap.ledger import Caps, Ledger, backup
    >>> folder = tempfile.mkdtemp()
    >>> Ledger.open(f"sqlite:///{folder}/a.db", dataset="d", policy="ab12cd34", caps=Caps(0.9)).close()
    >>> made = backup(f"sqlite:///{folder}/a.db", f"{folder}/a.backup")
    >>> restored = restore(f"sqlite:///{folder}/a.backup", f"sqlite:///{folder}/a.db", anchor=made.anchor)
    >>> restored.lost, restored.closed
    (0, False)
    """
    for name, text in (("reason", reason), ("by", by)):
        require_text(text, name, "restore")
    for act, rule in (
        (book_lost, "say why a history that lacks spends is restored"),
        (gone, "say what became of the server that is gone"),
    ):
        require(bool(reason.strip()) or not act, "reason", "restore", rule, reason)
    require_ledger_name(target, "A ledger")
    known = Anchor.read(anchor) if isinstance(anchor, str) else anchor
    with (
        closing(connect(backup, read_only=True)) as kept,
        kept.reading() as there,
        closing(connect(target)) as new,
    ):
        if new.in_memory:
            raise LedgerError("A ledger is not restored into memory, which forgets it. Name a file.")
        backed = backed_ledger(there, kept.label)
        require_gone(backed, new.whereabouts(), said=gone)
        with standing(target) as here:
            loss = lacking_of(there, here, backed, known, new.label)
        _require_allowed(loss, book_lost)
        if preview:
            return _said(backed, new.label, backed.state, loss, _open_entries(there))
        with new.writing() as here:
            if not create(here):
                require_version(here, new.label)
                # What was spent while this was being decided counts too.
                loss = lacking_of(there, here, backed, known, new.label)
                _require_allowed(loss, book_lost)
            time = stamp(clock, backed.made, backed.label)
            open_ = _copied_back(there, here, backed)
            _recorded(here, backed, loss, open_, time=time, reason=reason, by=by)
            state = proven_sums(here, new.label)[0]
        new.use_wal()
        return _said(backed, new.label, state, loss, open_)


def _require_allowed(loss: Lacking | None, book_lost: bool) -> None:
    if loss is not None and not book_lost:
        raise LedgerError(f"{loss.words} {_HOW}")


def _copied_back(there: Connection, here: Connection, backed: BackedLedger) -> list[Entry]:
    """Everything but the row that makes it a backup; what was paid for and had not left."""
    emptied(here)
    copied(there, here)
    last = closing_row(here, backed.state.rows + 1)
    here.execute(EVENT.delete().where(EVENT.c.seq == last["seq"]))
    replace_state(here, replace(backed.state, rows=last["seq"], head=last["hash"]), backed.state)
    return _open_entries(here)


def _open_entries(connection: Connection) -> list[Entry]:
    found = map(entry_of, connection.execute(entries_query()).mappings())
    return [entry for entry in found if entry.state == "reserved"]


def _recorded(
    here: Connection,
    backed: BackedLedger,
    loss: Lacking | None,
    open_: list[Entry],
    *,
    time: str,
    reason: str,
    by: str,
) -> None:
    """The rows that say what was done. An answer may have left after the backup was made: so none that had
    not left by then may leave, or go on, from what was paid for before."""
    told = {"backup": backed.made, "reason": reason, "lost": "" if loss is None else loss.words}
    append(here, backed.state, [mark_row(backed.state, "restore", time, told, by=by)])
    for entry in open_:
        state = load_state(here, backed.label)
        place = (state.rows + 1, state.head)
        note = {"note": _NOTE}
        append(here, state, [note_row("acknowledge", place, time, entry, analyst=by, details=note)])
    state = load_state(here, backed.label)
    if loss is not None and loss.ticks is not None:
        row = mark_row(state, "lost", time, {"entries": loss.entries or 0}, by=by, lost=loss.ticks)
        append(here, state, [row], spent=total([state.spent, loss.ticks]))
    elif loss is not None:
        append(here, state, [mark_row(state, "close", time, {"reason": reason}, by=by)])


def _said(
    backed: BackedLedger, target: str, state: State, loss: Lacking | None, open_: list[Entry]
) -> Restored:
    anchor = Anchor.of(state.dataset, state.policy, state.rows, state.head, state.spent)
    lost = 0 if loss is None else loss.entries
    closed = loss is not None and loss.ticks is None
    unreleased = tuple(entry.id for entry in open_)
    booked = "" if loss is None or loss.ticks is None else amount_lost(loss.ticks)
    return Restored(state.dataset, backed.label, target, anchor, unreleased, lost, closed, booked)
