"""The commands of a release: `release`, `preview`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.printing import Json, console, print_json
from leakcap.cli.targets import require_durable, require_report

__all__ = ["LedgerUrl", "preview", "release"]

MOST = 1_000_000
"""The largest family, number of guesses or of further releases that a statement speaks of."""

QueryPath = Annotated[Path, typer.Argument(help="The query file (TOML).", show_default=False)]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger", help="A ledger's URL or path, in place of the query file's.", show_default=False
    ),
]


def release(
    file: QueryPath,
    ledger: LedgerUrl = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Where the HTML report goes, in place of the query file's.", show_default=False),
    ] = None,
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
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Pay for new noise where the ledger remembers an answer."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Give each number's formula and source.")
    ] = False,
    json_: Json = False,
) -> None:
    """Release the statistics of a query file, and state what they leak.

    A query that was answered before, at the same price and about the same table, gets the recorded answer for
    free, unless --fresh asks for new noise.

    Example: leakcap release examples/hospital/release.toml --explain
    """
    from leakcap.release import PrivateTable, agreeing, dry_run, exposure_so_far, load_policy, load_queries
    from leakcap.report.html import write_html
    from leakcap.report.publication import Publication
    from leakcap.report.sources import page_of
    from leakcap.statement import statement_of

    queries = load_queries(file)
    policy = load_policy(queries.policy)
    target = report or queries.report or Path(f"{file.stem}.html")
    url = require_durable(queries.ledger if ledger is None else ledger)
    require_report(target, url, file, queries.policy, Path(queries.data))
    table = PrivateTable(
        queries.data, policy=policy, ledger=url, table=queries.table, tables=queries.tables, analyst=analyst
    )
    if queries.consistent:  # whether they fit is known without data, and before anything is paid
        named = {name for group in queries.consistent for name in group}
        agreeing(dry_run([q for q in queries.queries if q.name in named], policy), queries.consistent)
    releases = agreeing(table.release(queries.queries, fresh=fresh), queries.consistent)
    exposure = exposure_so_far(table.ledger.entries(), policy)
    total = statement_of(exposure, family=family, guesses=guesses, more=more)
    publication = Publication.of(policy, releases, total, table.budget(), table.ledger.amendments())
    record = publication.to_dict()
    write_html(page_of({"schema": "leakcap/release/1", **record}, "reviewer"), target)
    if json_:
        print_json("release/1", record | {"report": str(target)})
        return
    from leakcap.report.terminal import print_publication

    out = console()
    print_publication(out, publication, explain=explain)
    repeated = sum(release.repeated for release in releases)
    if repeated:
        out.print(f"\n{repeated} of {len(releases)} answers were repeated from the ledger, for free.", end="")
        out.print(" --fresh pays for new noise.")
    out.print(f"\nThe report is in {target}", markup=False, soft_wrap=True)


def preview(file: QueryPath, json_: Json = False) -> None:
    """The accuracy and the price of each query, without touching data or ledger.

    Example: leakcap preview examples/hospital/release.toml
    """
    from leakcap.release import load_policy, load_queries
    from leakcap.release import preview as preview_queries

    queries = load_queries(file)
    policy = load_policy(queries.policy)
    previews = preview_queries(queries.queries, policy=policy)
    if json_:
        from leakcap.report.publication import planned

        print_json("preview/1", planned(policy, previews))
        return
    from leakcap.report.terminal import print_preview

    print_preview(console(), previews)
