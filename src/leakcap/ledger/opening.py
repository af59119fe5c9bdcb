"""Whose a ledger is: its first row, and what must be the same whenever it is opened."""

from __future__ import annotations

from sqlalchemy import Connection

from leakcap.errors import LedgerError
from leakcap.ledger import events, planning
from leakcap.ledger.database import Database, connect
from leakcap.ledger.policies import require_governing
from leakcap.ledger.rules import CapsInTicks
from leakcap.ledger.schema import EVENT, POLICY, STATE, require_version
from leakcap.ledger.sharing import admitted_policies
from leakcap.ledger.state import State, insert_state, load_state, seed_of
from leakcap.ledger.succession import settled
from leakcap.ledger.ticks import NOTHING

__all__ = ["begin", "begin_anew", "existing", "require_owned", "unused"]


def existing(url: str, *, read_only: bool) -> tuple[Database, str]:
    """An existing ledger, and the policy that governs it."""
    connect(url, read_only=True).close()  # names a file that is not there, rather than making one
    database = connect(url, read_only=read_only)
    try:
        with database.reading() as connection:
            require_version(connection, database.label)
            state = load_state(connection, database.label)
            database.require_no_lost_log(state.head)
        if state.closed and not read_only:
            with database.writing() as connection:
                settled(connection, database.label)
        return database, state.policy
    except BaseException:
        database.close()
        raise


def begin(connection: Connection, dataset: str, policy: str, rules: CapsInTicks, time: str) -> None:
    """The first row: whose ledger it is, and under which caps."""
    row = events.first_row(dataset, policy, rules, time, seed_of(connection))
    connection.execute(EVENT.insert(), row)
    insert_state(connection, State(dataset, policy, rules, 1, time, row["hash"], 0, NOTHING))


def unused(connection: Connection, state: State) -> bool:
    """Whether nothing stands in the ledger but whose it is, and plans of which nothing was used."""
    if state.rows == 1 or state.entries:
        return state.rows == 1
    return state.rows == 1 + len(planning.plans_of(connection))


def begin_anew(connection: Connection, state: State, policy: str, rules: CapsInTicks) -> State:
    """An unused ledger binds nobody: the policy that comes now is its own."""
    if (state.policy, state.rules.text) == (policy, rules.text):
        return state
    for table in (EVENT, STATE, POLICY):
        connection.execute(table.delete())
    begin(connection, state.dataset, policy, rules, state.time)
    return load_state(connection, "")


def require_owned(
    connection: Connection, state: State, dataset: str, policy: str, rules: CapsInTicks, label: str
) -> None:
    """Raise `LedgerError` unless the ledger has this data set, policy and caps."""
    advice = "What it records stays spent; name another ledger only for other data."
    beside = "" if state.dataset == dataset else dataset
    if beside and beside not in admitted_policies(connection):
        raise LedgerError(
            f"The ledger `{label}` belongs to dataset `{state.dataset}`, not `{dataset}`. {advice} Data "
            "about the same people may be admitted: `leakcap ledger admit`."
        )
    require_governing(connection, state, policy, label, beside)
    if state.rules.text != rules.text:
        raise LedgerError(f"The ledger `{label}` was made with other caps. Bring those back. {advice}")
