"""The commands of a release: `release`, `preview`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.certifying import Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes, ask_to_pay_for, asked_before_it_begins
from leakcap.cli.fitting import require_fit
from leakcap.cli.printing import Json, console, print_answer, print_record
from leakcap.cli.remote import asked_server, connection_to, refuse_at_hand, remote_table
from leakcap.cli.targets import files_of, require_durable, require_target
from leakcap.cli.values import CsvTarget, ExcelTarget, require_sheets, require_values, write_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from leakcap.release import Policy, Preview, Query, RowLimit
    from leakcap.release.results.record import ReleasedRecord
    from leakcap.report.records import ReleaseRecord
    from leakcap.statement import Statement
    from leakcap.tables.question import PlannedTables

__all__ = ["LedgerUrl", "SameAs", "preview", "print_previewed", "release"]

MOST = 1_000_000
"""The largest family, number of guesses or of further releases that a statement speaks of."""

QueryPath = Annotated[Path, typer.Argument(help="The query file (TOML).", show_default=False)]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger", help="A ledger's URL or path, in place of the query file's.", show_default=False
    ),
]
SameAs = Annotated[
    int | None,
    typer.Option(
        help="The owner's word that the table is the one that the ledger calls version N.",
        metavar="N",
        show_default=False,
    ),
]


def release(
    file: QueryPath,
    ledger: LedgerUrl = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Where an HTML report goes. Without it, where the query file's `report` says; else nowhere.",
            show_default=False,
        ),
    ] = None,
    certificate: Certificate = None,
    csv: CsvTarget = None,
    excel: ExcelTarget = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    family: Annotated[
        int, typer.Option(min=2, max=MOST, help="How many people's records may move together.")
    ] = 5,
    guesses: Annotated[
        int, typer.Option(min=2, max=MOST, help="Equally likely possibilities of the one-in-k guess.")
    ] = 10,
    more: Annotated[
        int, typer.Option(min=1, max=MOST, help="How many further releases the outlook assumes.")
    ] = 100,
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every line of the statement, with formula and source.")
    ] = False,
    json_: Json = False,
) -> None:
    """Release the statistics of a query file, and state what they leak.

    A query that was answered before, at the same price and about the same table, gets the recorded answer for
    free, unless --fresh asks for new noise, which is paid for.

    Example: leakcap release examples/hospital/release.toml --explain
    """
    if (server := asked_server()) is not None:
        refuse_at_hand(ledger=ledger, analyst=analyst, same_as=same_as, certificate=certificate)
        from leakcap.cli.remote_release import release_of_curator

        def stated(total: Statement) -> Statement:
            from leakcap.statement import statement_of

            return statement_of(total.exposure, family=family, guesses=guesses, more=more)

        given = (report, csv, excel)
        record, report = release_of_curator(server, file, given, stated, fresh=fresh, yes=yes, json_=json_)
        repeated = [one.repeated for one in record.releases]
        _written_and_printed(record, repeated, (report, csv, excel), None, explain=explain, json_=json_)
        return
    from leakcap.release import (
        PrivateTable,
        agreeing,
        attach,
        covered,
        exposure_so_far,
        load_policy,
        load_queries,
        with_all_margins,
        with_layouts,
    )
    from leakcap.release.opening import begun_by
    from leakcap.report.records import ReleaseRecord
    from leakcap.statement import statement_of
    from leakcap.tables.charge import charge_of_tables
    from leakcap.tables.files import workloads_of
    from leakcap.tables.reading import check_columns
    from leakcap.tables.release import release_workloads

    queries = load_queries(file)
    policy = load_policy(queries.policy)
    asked = workloads_of(queries, file)
    planned = [one.planned(policy) for one in asked]
    target = report or queries.report
    url = require_durable(queries.ledger if ledger is None else ledger)
    kept = [file, *files_of(queries, url)]
    if target is not None:
        require_target(target, "The report", (".html", ".htm"), kept)
    proof = asked_certificate(certificate, target, kept)
    require_values(csv, excel, [*kept, *([target] if target else []), *proof.files])
    require_fit(queries, policy)
    if excel is not None:
        for one in planned:
            require_sheets(one)
    if begun_by(url):
        # What is refused leaves no empty ledger behind.
        for one in planned:
            check_columns(one, attach(queries.data, table=queries.table))
    beside = [charge_of_tables(one, analyst=analyst, edition=queries.edition) for one in planned]
    ask = fresh and not asked_before_it_begins(url, policy, queries.queries, beside, yes=yes, json_=json_)
    with PrivateTable(
        queries.data,
        policy=policy,
        ledger=url,
        table=queries.table,
        tables=queries.tables,
        analyst=analyst,
        same_as=same_as,
        edition=queries.edition,
        asked=queries.queries,
        beside=beside,
        fresh=fresh,
    ) as table:
        unused = not table.ledger.totals().entries
        if ask:
            ask_to_pay_for(table, queries.queries, beside, yes=yes, json_=json_)
        answered, workloads = release_workloads(table, queries.queries, asked, fresh=fresh)
        releases = agreeing(answered, queries.consistent)
        releases = covered(with_all_margins(releases, queries.margins, policy), queries.cover, policy)
        releases = with_layouts(releases, queries.pivots, policy)
        exposure = exposure_so_far(table.ledger.entries(), policy)
        total = statement_of(exposure, family=family, guesses=guesses, more=more)
        named = None if target is None else str(target)
        told = (policy, releases, total, table.budget(), table.ledger.amendments())
        revisions = table.ledger.revisions()
        record = ReleaseRecord.of(
            *told,
            publication=queries.publication,
            revisions=revisions,
            source=table.named,
            same_as=table.same_as,
            workloads=workloads,
            certificate=proof.make(table.ledger, releases),
            report=named,
        )
    repeated = [one.repeated for one in releases] + [one.repeated for one in workloads]
    began = table.ledger.url if unused else None
    _written_and_printed(record, repeated, (target, csv, excel), began, explain=explain, json_=json_)
    proof.write()


def _written_and_printed(
    record: ReleaseRecord,
    repeated: Sequence[bool],
    targets: tuple[Path | None, Path | None, Path | None],
    began: str | None,
    *,
    explain: bool,
    json_: bool,
) -> None:
    """The files (report, values, workbook), then the terminal; `began` is the ledger that is a new one."""
    target, csv, excel = targets
    if target is not None:
        from leakcap.report.render.html import write_html
        from leakcap.report.sources import page_of

        write_html(page_of(record, "reviewer"), target)
    values = list(write_given(record, csv, excel))

    def show(out: Console, record: ReleaseRecord) -> None:
        from leakcap.report.terminal.tables import print_release

        print_release(out, record, explain=explain)
        if any(repeated):
            out.print(
                f"\n{sum(repeated)} of {len(repeated)} answers were repeated from the ledger, for free."
            )

    written = [("report is", target), *(("values are", path) for path in values)]
    print_answer(record, show, began=began, written=written, json_=json_)


def preview(
    file: QueryPath,
    max_rows: Annotated[
        str | None,
        typer.Option(
            help="Values of `max_rows` to compare, with commas between: 1,2,5.",
            metavar="N,N,…",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="What `leakcap release --json` printed: answers to `rows_cut` and `rows_per_person` say how "
            "much each value would cut, counts how many rows there are.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="How many rows to assume in each group, where an error depends on that.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """The accuracy and the price of each query, without touching data or ledger.

    Example: leakcap preview examples/hospital/release.toml
    """
    from leakcap.release import load_policy, load_queries
    from leakcap.release import preview as preview_queries

    if (server := asked_server()) is not None:
        with connection_to(server.url) as connection:
            policy = remote_table(connection, server).policy
        queries = load_queries(file, policy)
    else:
        queries = load_queries(file)
        policy = load_policy(queries.policy)
    told = [] if known is None else _released(known)
    limits = _limits(queries.queries, policy, max_rows, told, rows)
    planned = preview_queries(queries.queries, policy=policy, rows=rows, known=told)
    workloads = []
    if queries.workloads:
        from leakcap.tables.files import workloads_of

        workloads = [one.planned(policy) for one in workloads_of(queries, file)]
    print_previewed(policy, planned, json_, limits, workloads)


def _limits(
    queries: Sequence[Query],
    policy: Policy,
    wanted: str | None,
    known: Sequence[tuple[Policy, ReleasedRecord]],
    rows: int | None,
) -> tuple[RowLimit, ...]:
    """The values of `max_rows` that are asked for, with what released answers say of them."""
    if wanted is None:
        return ()
    if not re.fullmatch(r"[0-9]{1,7}(,[0-9]{1,7})*", wanted):
        raise typer.BadParameter(f"`--max-rows` must be whole numbers with commas between. Got {wanted!r}.")
    from leakcap.release import row_limits

    return row_limits(queries, policy, map(int, wanted.split(",")), known, rows=rows)


def _released(known: Path) -> list[tuple[Policy, ReleasedRecord]]:
    """The answers in a file, each with the policy it was released under."""
    from leakcap.report import ReleaseRecord, read_record

    record = read_record(known)
    if not isinstance(record, ReleaseRecord):
        raise typer.BadParameter(f"`{known}` must be what `leakcap release --json` printed.")
    return [(record.policy, one) for one in record.releases]


def print_previewed(
    policy: Policy,
    previews: Sequence[Preview],
    json_: bool,
    limits: Sequence[RowLimit] = (),
    workloads: Sequence[PlannedTables] = (),
) -> None:
    """What queries would cost and how far off they would be, as a table or as JSON."""
    from leakcap.report.records import PreviewRecord
    from leakcap.report.terminal.previews import print_preview

    record = PreviewRecord.of(policy, previews, limits, workloads)
    if json_:
        print_record(record)
        return
    print_preview(console(), record)
    if limits:
        from leakcap.report.terminal.limits import print_limits

        print_limits(console(), record)
