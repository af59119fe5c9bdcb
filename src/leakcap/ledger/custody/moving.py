"""A ledger's whole chain from one database to another: exactly one of the two takes spends throughout."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from sqlalchemy import Connection

from leakcap.errors import LedgerError
from leakcap.ledger.chain import require_text, text_hash
from leakcap.ledger.closed import closing_row, refuse_closed
from leakcap.ledger.custody.copying import copied, emptied, knows, require_ledger_name, standing
from leakcap.ledger.database import Database, connect
from leakcap.ledger.events import mark_row, stamp
from leakcap.ledger.schema import SECRET, create, require_version
from leakcap.ledger.state import State, append, load_state
from leakcap.ledger.succession import KEY, arriving, head_of, settled
from leakcap.ledger.transfers import Moved
from leakcap.ledger.verification import proven_sums

__all__ = ["move"]

_TAKEN = "There is a ledger in `{}` already. Move to a place that has none."


def move(
    source: str,
    target: str,
    *,
    by: str = "",
    preview: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Moved:
    """Copy a ledger, its whole chain, to another database, and close it where it was.

    Nobody spends while it is copied. At every moment exactly one of the two takes spends, also where the
    process is killed: what a move left is finished by moving again, or by whoever opens the copy. A ledger
    that was moved refuses spends and names its successor, and can still be read. With `preview` nothing is
    written. Raises `LedgerError` where the chain does not verify, or the target holds anything else.

    >>> import tempfile, pathlib
    >>> from leakcap.ledger import Caps, Ledger
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> old, new = f"sqlite:///{folder}/old.db", f"sqlite:///{folder}/new.db"
    >>> Ledger.open(old, dataset="d", policy="ab12cd34", caps=Caps(0.9)).close()
    >>> move(old, new).rows
    3
    >>> Ledger.resume(old)
    Traceback (most recent call last):
    leakcap.errors.LedgerError: The ledger `sqlite:///.../old.db` was closed at ..., when it was moved to ...
    """
    require_text(by, "by", "move")
    require_ledger_name(target, "A ledger")
    connect(source, read_only=True).close()  # names a file that is not there, rather than making one
    with closing(connect(source)) as old, closing(connect(target)) as new:
        _require_durable(old, new)
        with old.reading() as there:
            require_version(there, old.label)
            state = load_state(there, old.label)
            old.require_no_lost_log(state.head)
            if preview:
                proven_sums(there, old.label)
        if state.closed:
            _left_for(target, old)
        else:
            _require_free(target, new.label)
        if preview:
            return Moved(state.dataset, old.label, new.label, state.rows, state.entries, state.head)
        if not state.closed:
            _handed_over(old, new, by, clock)
        return _arrived(old, new, target, clock)


def _handed_over(old: Database, new: Database, by: str, clock: Callable[[], datetime]) -> None:
    """The copy, closed, and then the commit at which the right to spend passes to it."""
    key = secrets.token_hex(16)
    with old.writing() as there:
        state = proven_sums(there, old.label)[0]
        old.require_no_lost_log(state.head)
        if state.closed:
            return  # by another process, since this one looked
        told = {"from": old.whereabouts(), "to": new.whereabouts(), "lock": text_hash(key)}
        row = mark_row(state, "close", stamp(clock, state.time, old.label), told, by=by)
        with new.writing() as here:
            _cleared(here, there, new.label)
            append(there, state, [row])
            copied(there, here)
            here.execute(SECRET.insert().values(id=KEY, seed=key))
            proven_sums(here, new.label)


def _arrived(old: Database, new: Database, target: str, clock: Callable[[], datetime]) -> Moved:
    """Finish a move of which the predecessor is closed."""
    head = _left_for(target, old)
    with new.writing() as here:
        state = settled(here, new.label, clock, lambda _: head)
    new.use_wal()
    return Moved(state.dataset, old.label, new.label, state.rows, state.entries, state.head)


def _left_for(target: str, old: Database) -> str:
    """The last hash of a closed ledger, which the one at the target has too.

    Raises `LedgerError` where it has not: a backup, a ledger that moved elsewhere, or a mere record.
    """
    head = head_of(old)
    with standing(target) as here:
        known = here is not None and knows(here, head)
    if not known:
        with old.reading() as there:
            refuse_closed(there, load_state(there, old.label).rows, old.label)
    return head


def _require_free(target: str, label: str) -> None:
    with standing(target) as here:
        if here is not None and not arriving(here, load_state(here, label)):
            raise LedgerError(_TAKEN.format(label))


def _cleared(here: Connection, there: Connection, label: str) -> None:
    """Make room for the copy. What an unfinished move from the same ledger left never took a spend."""
    if not create(here):
        require_version(here, label)
        state = load_state(here, label)
        if not (arriving(here, state) and _came_from(there, here, state)):
            raise LedgerError(_TAKEN.format(label))
    emptied(here)


def _came_from(there: Connection, here: Connection, state: State) -> bool:
    return knows(there, closing_row(here, state.rows)["previous"])


def _require_durable(*databases: Database) -> None:
    if any(one.in_memory for one in databases):
        raise LedgerError("A ledger in memory is gone when its process ends, and is not moved. Name a file.")
