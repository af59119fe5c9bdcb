"""A ledger that was moved here takes spends from the moment at which its predecessor takes none.

Two databases share no transaction. So the copy that arrives is closed, by the same last row as its
predecessor will be, and holds a key of which that row has the SHA-256. The predecessor's commit of that
row is the one moment at which the right to spend passes: before it the copy refuses, after it the
predecessor does. Whoever opens the copy looks at the predecessor, and where it is closed by this very
row, writes that the ledger goes on here. A copy of the predecessor's closed file has no key, and stays
closed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from leakcap.errors import LedgerError
from leakcap.ledger.chain import text_hash
from leakcap.ledger.closed import closing_row, refuse_closed
from leakcap.ledger.database import Database, connect
from leakcap.ledger.events import mark_row, stamp
from leakcap.ledger.schema import SECRET, require_version
from leakcap.ledger.state import State, append, load_state

__all__ = ["KEY", "arriving", "head_of", "settled"]

KEY = 2
"""Where the key stands among the secrets; the seed has 1."""


def arriving(connection: Connection, state: State) -> bool:
    """Whether this is the copy that a move makes, and not what it leaves."""
    key = _key(connection)
    return state.closed and key is not None and text_hash(key) == _lock(connection, state)


def settled(
    connection: Connection,
    label: str,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    head: Callable[[str], str] | None = None,
) -> State:
    """The state of a ledger that takes spends, in a writer's transaction.

    One that arrived is opened where its predecessor is closed in its favour; `head` tells the last hash at
    the predecessor's address. Raises `LedgerError` where the ledger is closed, or the move is not finished.
    """
    state = load_state(connection, label)
    if not state.closed:
        return state
    if not arriving(connection, state):
        refuse_closed(connection, state.rows, label)
    source = closing_row(connection, state.rows)["details"]["from"]
    if (head or _head_at)(source) != state.head:
        raise LedgerError(
            f"The move of the ledger `{source}` to `{label}` is not finished, and spends still go to "
            "the first. Use that one, or move it again: `leakcap ledger move`."
        )
    time = stamp(clock, state.time, label)
    append(connection, state, [mark_row(state, "continue", time, {"key": _key(connection)})])
    connection.execute(SECRET.delete().where(SECRET.c.id == KEY))
    return load_state(connection, label)


def _head_at(address: str) -> str:
    """The last hash of the ledger at an address, which is only looked at."""
    try:
        database = connect(address, read_only=True)
        try:
            return head_of(database)
        finally:
            database.close()
    except LedgerError as error:
        raise LedgerError(
            f"This ledger arrived from `{address}`, and whether that one is closed cannot be seen: {error} "
            "Finish it where both can be reached: `leakcap ledger move`."
        ) from None


def head_of(database: Database) -> str:
    """The last hash of a ledger."""
    with database.reading() as connection:
        require_version(connection, database.label)
        return load_state(connection, database.label).head


def _key(connection: Connection) -> str | None:
    found = connection.execute(select(SECRET.c.seed).where(SECRET.c.id == KEY)).scalar()
    return None if found is None else str(found)


def _lock(connection: Connection, state: State) -> str:
    return str(closing_row(connection, state.rows)["details"].get("lock"))
