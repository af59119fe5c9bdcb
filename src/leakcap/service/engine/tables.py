"""The data sets of a curator, opened under the policies that govern their ledgers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TypeVar

from sqlalchemy import inspect

from leakcap.errors import LeakcapError, LedgerError, LedgerUnavailable
from leakcap.ledger import Ledger
from leakcap.ledger.database import connect
from leakcap.ledger.schema import SCHEMA
from leakcap.policy import Policy, load_policy
from leakcap.release import PrivateTable
from leakcap.release.engine.base import TextChecked
from leakcap.release.opening import begun_by
from leakcap.service.configuration import DataSource

__all__ = ["OpenTables", "governing", "stands"]

_log = logging.getLogger(__name__)

T = TypeVar("T")


def governing(source: DataSource) -> Policy:
    """The policy under which a data set is asked: the one that governs its ledger, which an amendment may
    have put in place of the file's. Raises `LedgerError` where the file was edited and nobody amended."""
    written = load_policy(source.policy)
    if not stands(source.ledger):
        return written
    with Ledger.read(source.ledger) as book:
        amendments = book.amendments()
        begun = book.totals().entries or amendments
        if book.policy == written.fingerprint() or not book.policy_text or not begun:
            return written
        known = {one.before for one in amendments} | {one.policy for one in amendments}
        if written.fingerprint() in known:
            return load_policy(json.loads(book.policy_text))
    raise LedgerError(
        f"The policy `{source.policy}` was edited after its ledger was begun under another. Amend the "
        "ledger, with a reason, before the curator runs: `leakcap ledger amend`."
    )


def stands(ledger: str) -> bool:
    """Whether there is a ledger: a file, or on a server a database that has one."""
    if begun_by(ledger):
        return False
    with closing(connect(ledger, read_only=True)) as database, database.reading() as connection:
        return inspect(connection).has_table(SCHEMA.name)


class OpenTables:
    """Each data set's table, opened when it is first asked for, in this process alone."""

    def __init__(self, data: Mapping[str, DataSource]) -> None:
        self._data = dict(data)
        self._open: dict[str, PrivateTable] = {}

    def of(self, dataset: str, analyst: str) -> PrivateTable:
        """The table as this analyst asks it."""
        if dataset not in self._open:
            self._open[dataset] = self._opened(dataset)
        return self._open[dataset].asked_by(analyst)

    def asked(self, dataset: str, analyst: str, ask: Callable[[PrivateTable], T]) -> T:
        """What somebody asks of a table; once more where the policy was amended meanwhile, for under the old
        one nothing is spent any more."""
        table = self._of(dataset, analyst)
        try:
            return ask(table)
        except LedgerError as error:
            if error.committed or isinstance(error, LedgerUnavailable):
                raise
            if table.ledger.policy == table.policy.fingerprint():
                raise
        self.forget(dataset)
        return ask(self._of(dataset, analyst))

    def _of(self, dataset: str, analyst: str) -> PrivateTable:
        """As `of`; nobody who asks can mend where data and ledger are, nor needs to know."""
        try:
            return self.of(dataset, analyst)
        except LeakcapError as error:
            _log.error("data set %a: %a", dataset, str(error))
            told = "The data set cannot be opened. Its owner finds the reason in the curator's log."
            raise error.saying(told) from None

    def forget(self, dataset: str) -> None:
        """Open it anew when it is next asked for."""
        table = self._open.pop(dataset, None)
        if table is not None:
            table.close()

    def close(self) -> None:
        """Let go of all."""
        for dataset in list(self._open):
            self.forget(dataset)

    def _opened(self, dataset: str) -> PrivateTable:
        source = self._data[dataset]
        try:
            found = PrivateTable(
                source.source,
                policy=governing(source),
                ledger=source.ledger,
                table=source.table,
                tables=source.tables,
            )
        except LeakcapError as error:
            raise error.saying(f"The data set cannot be opened: {error}") from None
        if isinstance(found.engine, TextChecked):
            # Else the first question about a column would, before it spends: the ledger keeps when that was.
            found.engine.check_text(name for name in found.engine.columns() if _is_named(name, found.policy))
        return found


def _is_named(column: str, policy: Policy) -> bool:
    """Whether the policy lets a stored column be asked for, that of a table of its own included."""
    return column in policy.columns or "." in column
