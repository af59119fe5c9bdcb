"""A data set goes on with the ledger that it had: a lost one, or an older copy, would give budgets back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from leakcap.errors import LedgerError
from leakcap.ledger import CustodyEvent, Ledger
from leakcap.policy import load_policy
from leakcap.release import open_ledger
from leakcap.service.configuration import Configuration
from leakcap.service.engine.tables import stands
from leakcap.service.store.store import Store

__all__ = ["require_continued"]


def require_continued(configuration: Configuration, store: Store) -> None:
    """Note how far each ledger is, and begin those that are new.

    Raises `LedgerError` where one is missing that was served before, or has fewer rows than it had then and
    was not put back since (`leakcap curator restore` books what was lost).
    """
    for dataset, source in configuration.data.items():
        before = store.served.last(dataset)
        if not stands(source.ledger):
            if before is not None:
                raise LedgerError(
                    f"The ledger of `data.{dataset}` is gone: it was there on {before.time:%Y-%m-%d}. A new "
                    "one would give back all that was spent. Put it back: `leakcap curator restore`."
                )
            # Begun here, so that there is no moment at which it could be lost unseen.
            open_ledger(source.ledger, load_policy(source.policy)).close()
        with Ledger.read(source.ledger) as book:
            rows, custody = book.head().rows, book.custody()
        if before is not None and rows < before.rows and not _put_back(custody, before.time):
            raise LedgerError(
                f"The ledger of `data.{dataset}` has {rows} rows, and had {before.rows} on "
                f"{before.time:%Y-%m-%d}: it is an older copy, and would give back what was spent since. Put "
                "it back with `leakcap curator restore`, which books what is missing."
            )
        if before is None or rows != before.rows:
            store.served.note(dataset, rows, by="supervisor")
    store.confirmations.note_rule(configuration.second_administrator, by="supervisor")


def _put_back(custody: Sequence[CustodyEvent], since: datetime) -> bool:
    return any(one.kind == "restored" and one.time >= since for one in custody)
