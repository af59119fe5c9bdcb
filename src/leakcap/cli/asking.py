"""The table that a file asks: what is refused leaves no empty ledger, and new noise is agreed to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from leakcap.cli.consent import ask_to_pay

if TYPE_CHECKING:
    from leakcap.ledger import Charge
    from leakcap.release import Policy, PrivateTable
    from leakcap.tables.files import TablesFile
    from leakcap.tables.hierarchies.files import HierarchyFile
    from leakcap.tables.question import PlannedTables

__all__ = ["table_to_ask"]


@contextlib.contextmanager
def table_to_ask(
    asked: TablesFile | HierarchyFile,
    policy: Policy,
    url: str,
    charge: Charge,
    counted: PlannedTables,
    *,
    beside: Sequence[Charge] = (),
    same_as: int | None,
    fresh: bool,
    yes: bool,
    json_: bool,
) -> Iterator[tuple[PrivateTable, bool]]:
    """The table, for as long as it is asked, and whether its ledger is unused so far.

    A ledger that is yet to begin is held to `charge` and those `beside` it, and the data to the columns of
    `counted`, before it does; with `fresh` somebody has to agree before anything is paid.
    """
    from leakcap.release import PrivateTable, attach
    from leakcap.release.opening import begun_by, unbegun
    from leakcap.tables.reading import check_columns

    if first := begun_by(url):
        # What is refused leaves no empty ledger behind.
        ledger_to_be = unbegun(url, policy)
        # What is asked twice is paid for once.
        once = {(one.text, one.asked): one for one in (charge, *beside)}.values()
        ledger_to_be.check([charge, *beside] if fresh else list(once))
        check_columns(counted, attach(asked.data, table=asked.table))
        if fresh:
            ask_to_pay(None, ledger_to_be.balances(), yes=yes, json_=json_)
    with PrivateTable(
        asked.data,
        policy=policy,
        ledger=url,
        table=asked.table,
        analyst=charge.analyst,
        same_as=same_as,
        edition=asked.edition,
    ) as table:
        unused = not table.ledger.totals().entries
        if fresh and not first:
            ask_to_pay(None, table.budget(), yes=yes, json_=json_)
        yield table, unused
