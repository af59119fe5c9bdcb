"""The command `synthesize`: a file of rows from tables that are released for one charge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.asking import table_to_ask
from leakcap.cli.consent import Fresh, Yes
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.targets import require_durable, require_target

__all__ = ["synthesize"]


def synthesize(
    file: Annotated[
        Path, typer.Argument(help="The file that asks for tables and rows (TOML).", show_default=False)
    ],
    output: Annotated[Path, typer.Option(help="Where the rows go: .csv or .parquet.", show_default=False)],
    rows: Annotated[
        int | None, typer.Option(help="How many; as many as were released.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Makes the same file again; without it each differs.", show_default=False),
    ] = None,
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    json_: Json = False,
) -> None:
    """Write a file of rows that agrees with released tables and tells no more than they do.

    The tables are paid by one charge, or known to the ledger; the file is computed from them alone, and any
    number of further files is free. A file for `leakcap tables` will do.

    Example: leakcap synthesize examples/tables/microdata.toml --output patients.csv
    """
    from leakcap.release import exposure_so_far, load_policy
    from leakcap.report.records.synthesis import SynthesisRecord
    from leakcap.statement import statement_of
    from leakcap.synthesis import synthesize as drawn
    from leakcap.synthesis.files import load_synthesis
    from leakcap.synthesis.impossible import Impossible
    from leakcap.synthesis.microdata import ENDINGS, check_draw, require_library
    from leakcap.synthesis.targets import check_fits
    from leakcap.tables import release_tables
    from leakcap.tables.charge import charge_of_tables

    wanted = load_synthesis(file)
    asked, rows = wanted.tables, wanted.rows if rows is None else rows
    policy = load_policy(asked.policy)
    url = require_durable(asked.ledger if ledger is None else ledger)
    require_target(output, "`--output`", ENDINGS, [file, asked.policy, asked.data, asked.ledger, url])
    if output.suffix.lower() == ".parquet":
        require_library("pyarrow", "`--output` to a Parquet file")
    planned = asked.question.planned(policy)
    check_fits(planned)
    check_draw(rows, seed, len(planned.axes), Impossible.of(planned, wanted.impossible).named)
    charge = charge_of_tables(planned, analyst=analyst, edition=asked.edition)
    with table_to_ask(
        asked, policy, url, charge, planned, same_as=same_as, fresh=fresh, yes=yes, json_=json_
    ) as (table, unused):
        found = release_tables(table, asked.question, fresh=fresh)
        entries, balances = table.ledger.entries(), table.budget()
    made = drawn(found, rows=rows, seed=seed, impossible=wanted.impossible)
    made.write(output)
    of_file = exposure_so_far([entry for entry in entries if entry.id == found.entry], policy)
    record = SynthesisRecord.of(
        made,
        output.name,
        statement_of(replace(of_file, title=f"this file of `{policy.dataset}`")),
        statement_of(exposure_so_far(entries, policy)),
        balances,
        asked.publication,
        source=table.named,
        same_as=table.same_as,
    )
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.synthesis import print_synthesis
    from leakcap.report.terminal.tables import print_new_ledger

    out = console()
    if unused:
        print_new_ledger(out, table.ledger.url)
    print_synthesis(out, record)
    out.print(f"\nThe rows are in {output}", markup=False, soft_wrap=True)
