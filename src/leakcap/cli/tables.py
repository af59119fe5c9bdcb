"""The command `tables`: many tables of counts for one charge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asking import table_to_ask
from leakcap.cli.certifying import Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes
from leakcap.cli.printing import Json, print_answer
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.targets import require_durable, require_target
from leakcap.cli.values import CsvTarget, ExcelTarget, require_sheets, require_values, write_given

if TYPE_CHECKING:
    pass

__all__ = ["tables"]


def tables(
    file: Annotated[Path, typer.Argument(help="The file that asks for tables (TOML).", show_default=False)],
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    report: Annotated[
        Path | None, typer.Option(help="Where an HTML report goes.", show_default=False)
    ] = None,
    between: Annotated[
        list[str] | None,
        typer.Option(
            help="A count of several keys, with its interval, for free: `week = W03..W10, sex = f`. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    certificate: Certificate = None,
    csv: CsvTarget = None,
    excel: ExcelTarget = None,
    json_: Json = False,
) -> None:
    """Release many tables of counts for one charge, with the least noise there is for all of them.

    Every cell and margin has its interval, and all of them add up. The same tables of the same data are
    repeated from the ledger for free, unless --fresh asks for new noise. Files have the margins too.

    Example: leakcap tables examples/tables/tables.toml
    """
    from leakcap.release import exposure_so_far, load_policy
    from leakcap.report.records.tables import TablesRecord
    from leakcap.report.render.html import write_html
    from leakcap.report.sources import page_of
    from leakcap.report.terminal.margins import print_tables
    from leakcap.statement import statement_of
    from leakcap.tables import release_tables
    from leakcap.tables.charge import charge_of_tables
    from leakcap.tables.files import load_tables
    from leakcap.tables.sums import cells_named

    asked = load_tables(file)
    policy = load_policy(asked.policy)
    url = require_durable(asked.ledger if ledger is None else ledger)
    kept = [file, asked.policy, asked.data, asked.ledger, url]
    if report is not None:
        require_target(report, "`--report`", (".html", ".htm"), kept)
    proof = asked_certificate(certificate, report, kept)
    require_values(csv, excel, [*kept, *([report] if report else []), *proof.files])
    planned = asked.question.planned(policy)
    if excel is not None:
        require_sheets(planned)
    sums = [cells_named(planned, words) for words in between or ()]
    charge = charge_of_tables(planned, analyst=analyst, edition=asked.edition)
    with table_to_ask(
        asked, policy, url, charge, planned, same_as=same_as, fresh=fresh, yes=yes, json_=json_
    ) as (table, unused):
        found = release_tables(table, asked.question, fresh=fresh)
        total = statement_of(exposure_so_far(table.ledger.entries(), policy))
        record = TablesRecord.of(
            found,
            total,
            table.budget(),
            asked.publication,
            source=table.named,
            same_as=table.same_as,
            between=[(cells, found.between(cells)) for cells in sums],
            certificate=proof.make(table.ledger),
        )
    if report is not None:
        write_html(page_of(record, "reviewer"), report)
    values = list(write_given(record, csv, excel))
    print_answer(
        record,
        print_tables,
        began=table.ledger.url if unused else None,
        written=[("report is", report), *(("values are", path) for path in values)],
        json_=json_,
    )
    proof.write()
