"""The command `hierarchy`: counts at every level of a public tree, for one charge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asking import table_to_ask
from leakcap.cli.certifying import Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.targets import require_durable, require_target
from leakcap.cli.values import ExcelTarget, require_lines, require_values, write_lines

if TYPE_CHECKING:
    from leakcap.report.records.hierarchies import HierarchyRecord

__all__ = ["hierarchy"]


def hierarchy(
    file: Annotated[
        Path, typer.Argument(help="The file that asks for a tree of counts (TOML).", show_default=False)
    ],
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    report: Annotated[
        Path | None, typer.Option(help="Where an HTML report goes.", show_default=False)
    ] = None,
    certificate: Certificate = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Where the counts go as CSV, a line for each node.", show_default=False),
    ] = None,
    excel: ExcelTarget = None,
    json_: Json = False,
) -> None:
    """Release counts at every level of a public tree for one charge: whole numbers that add up.

    Each count has its interval. Totals that are exact by law are named in the file, and the answer says what
    they tell alone. The same question about the same data is repeated from the ledger for free, unless
    --fresh asks for new noise.

    Example: leakcap hierarchy examples/tables/hierarchy.toml
    """
    from leakcap.release import exposure_so_far, load_policy
    from leakcap.report.records.hierarchies import HierarchyRecord
    from leakcap.report.render.html import write_html
    from leakcap.report.sources import page_of
    from leakcap.statement import statement_of
    from leakcap.tables import release_hierarchy
    from leakcap.tables.hierarchies.files import load_hierarchy
    from leakcap.tables.hierarchies.release import charge_of_hierarchy

    asked = load_hierarchy(file)
    policy = load_policy(asked.policy)
    url = require_durable(asked.ledger if ledger is None else ledger)
    kept = [file, asked.policy, asked.data, asked.ledger, url, *([asked.tree] if asked.tree else [])]
    if report is not None:
        require_target(report, "`--report`", (".html", ".htm"), kept)
    proof = asked_certificate(certificate, report, kept)
    if csv is not None:
        require_target(csv, "`--csv`", (".csv",), [*kept, *proof.files])
    if excel is not None:
        written = [one for one in (report, csv, *proof.files) if one is not None]
        require_values(None, excel, [*kept, *written])
    planned = asked.question.planned(policy)
    if excel is not None:
        require_lines(planned.hierarchy.nodes)
    charge = charge_of_hierarchy(planned, analyst=analyst, edition=asked.edition)
    with table_to_ask(
        asked, policy, url, charge, planned.leaves, same_as=same_as, fresh=fresh, yes=yes, json_=json_
    ) as (table, unused):
        found = release_hierarchy(table, asked.question, fresh=fresh)
        total = statement_of(exposure_so_far(table.ledger.entries(), policy))
        record = HierarchyRecord.of(
            found,
            total,
            table.budget(),
            asked.publication,
            source=table.named,
            same_as=table.same_as,
            certificate=proof.make(table.ledger),
        )
    if report is not None:
        write_html(page_of(record, "reviewer"), report)
    if csv is not None:
        from leakcap.report.render.hierarchies import write_nodes

        write_nodes(record, csv)
    if excel is not None:
        from leakcap.report.render.hierarchies import node_lines

        write_lines(record, node_lines(record), excel)
    _print(record, table.ledger.url if unused else None, (report, csv, excel), json_)
    proof.write()


def _print(
    record: HierarchyRecord,
    began: str | None,
    targets: tuple[Path | None, Path | None, Path | None],
    json_: bool,
) -> None:
    """As JSON or for people; `began` is the ledger that is a new one, `targets` report, values, workbook."""
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.hierarchies import print_hierarchy
    from leakcap.report.terminal.tables import print_new_ledger

    out = console()
    if began is not None:
        print_new_ledger(out, began)
    print_hierarchy(out, record)
    for what, path in zip(("report is", "values are", "values are"), targets, strict=True):
        if path is not None:
            out.print(f"\nThe {what} in {path}", markup=False, soft_wrap=True)
