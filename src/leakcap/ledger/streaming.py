"""A ledger that knows streams: one charge for a whole horizon, whose steps are answered one by one."""

from __future__ import annotations

from sqlalchemy import Connection

from leakcap.ledger.accounts import batch_of, refusals_logged
from leakcap.ledger.details import steps_paid
from leakcap.ledger.events import entry_of
from leakcap.ledger.requesting import RequestingLedger
from leakcap.ledger.spending import log_charged
from leakcap.ledger.state import State
from leakcap.ledger.streams import find_stream, stream_key
from leakcap.ledger.values import Charge, Entry

__all__ = ["StreamingLedger"]


class StreamingLedger(RequestingLedger):
    """What a running count asks of a ledger beside; its steps are recorded by `Ledger.mark_progress`."""

    def reserve_stream(self, charge: Charge) -> tuple[Entry, bool]:
        """Commit the spend of a stream, the whole horizon at once, or find the one that was committed: its
        entry, and whether it is new.

        A stream is found by its name, the charge's `query`, whatever state its table is in by now. Raises
        `BudgetExceeded`, and `LedgerError` where the name stands for another question, with nothing spent.
        """
        batch = batch_of([charge])
        steps_paid(charge.details)
        self._require_writable()
        with refusals_logged(batch), self._database.writing() as connection:
            state = self._governed(connection, lock=True)
            known = self._stream(connection, state, charge)
            if known is not None:
                return known, False
            tag = self._tags(connection, state)[0]
            key = stream_key(charge, state, tag, self._beside)
            entries = self._booked(connection, state, batch, "", key)
        log_charged(entries)
        return entries[0], True

    def stream(self, charge: Charge) -> Entry | None:
        """The entry of a stream that was begun; None where none of its name was. Spends nothing.

        Raises `LedgerError` where the name stands for another question.
        """
        with self._database.reading() as connection:
            return self._stream(connection, self._governed(connection), charge)

    def _stream(self, connection: Connection, state: State, charge: Charge) -> Entry | None:
        tags = self._tags(connection, state)
        row = find_stream(connection, state, charge, self.url, tags, self._beside)
        return None if row is None else entry_of(row)
