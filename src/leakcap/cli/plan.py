"""`leakcap plan`: the year ahead, from policy and ledger alone."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.release import LedgerUrl

if TYPE_CHECKING:
    from leakcap.ledger import Charge
    from leakcap.tables.question import PlannedTables

__all__ = ["plan"]


def plan(
    file: Annotated[
        Path, typer.Argument(help="The query file (TOML) that is asked each month.", show_default=False)
    ],
    ledger: LedgerUrl = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="The first month, as in 2027-01; past only where caps count by reference period. Without it "
            "the present one.",
            show_default=False,
        ),
    ] = None,
    months: Annotated[int, typer.Option(min=1, max=120, help="How many months.")] = 12,
    analyst: Annotated[str, typer.Option(help="Who will ask, for caps of their own.")] = "",
    json_: Json = False,
) -> None:
    """The year ahead: accuracy by month under the caps, what is left, and where it breaks.

    The queries of the file are taken to be asked anew each month, from the plan's slots where they name one,
    and its workloads beside them. It says which month would be refused and by which cap, and at which share
    of the prices the year is kept. From policy and ledger alone: no data is read, and nothing is recorded.

    Example: leakcap plan examples/hospital/release.toml --start 2027-01
    """
    from leakcap.errors import InvalidQuery
    from leakcap.ledger import Ledger
    from leakcap.release import load_policy, load_queries, open_ledger
    from leakcap.release.asking.year import year_of
    from leakcap.report.records import PlanRecord
    from leakcap.tables.charge import charge_of_tables
    from leakcap.tables.files import workloads_of

    asked = load_queries(file)
    policy = load_policy(asked.policy)
    questions = workloads_of(asked, file)

    def workloads(share: float) -> list[PlannedTables]:
        return [one.at_share(share).planned(policy) for one in questions]

    def charges(share: float) -> list[Charge]:
        return [charge_of_tables(one, analyst=analyst) for one in workloads(share)]

    first = _month(start)
    url = address(asked.ledger if ledger is None else ledger, query_file=False)
    new = _missing(url)
    with Ledger.read(url) if new is None else open_ledger("sqlite://", policy) as book:
        if book.policy_of(policy.dataset) != policy.fingerprint():
            raise InvalidQuery(
                f"The policy of `{file}` is not the one that governs the ledger `{book.url}`. Name the one "
                "that does, or let this one govern: `leakcap ledger amend`."
            )
        year = year_of(
            book, policy, asked.queries, start=first, months=months, analyst=analyst, beside=charges
        )
        even = () if year.share is None else workloads(year.share)
        record = PlanRecord.of(
            policy.dataset, year, book.slots(), new_ledger=new, workloads=(workloads(1.0), even)
        )
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.plan import print_plan

    print_plan(console(), record)


def _month(text: str | None) -> date | None:
    from leakcap.errors import InvalidQuery

    if text is None:
        return None
    found = re.fullmatch(r"(20\d\d|21\d\d)-(0[1-9]|1[0-2])", text)
    if found is None:
        raise InvalidQuery(f"`--start` must be a month, as in 2027-01. Got `{text[:20]}`.")
    return date(int(found[1]), int(found[2]), 1)


def _missing(url: str) -> str | None:
    """The file of a ledger that is not there yet; None where there is one, or a server may have it."""
    from leakcap.apart import sqlite_path
    from leakcap.ledger.database import connect

    path = sqlite_path(url)
    if path is None or Path(path).exists():
        return None
    connect(url).close()  # makes nothing, and refuses what no release could begin a ledger at
    return path
