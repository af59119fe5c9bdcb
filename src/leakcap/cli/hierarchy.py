"""The command `hierarchy`: counts at every level of a public tree, for one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.asking import table_to_ask
from leakcap.cli.certifying import Certificate
from leakcap.cli.consent import Fresh, Yes
from leakcap.cli.printing import Json, print_answer
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.targets import require_durable
from leakcap.cli.values import ExcelTarget, line_files

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
    from leakcap.report.render.hierarchies import node_lines, write_nodes
    from leakcap.report.terminal.hierarchies import print_hierarchy
    from leakcap.statement import statement_of
    from leakcap.tables import release_hierarchy
    from leakcap.tables.hierarchies.files import load_hierarchy
    from leakcap.tables.hierarchies.release import charge_of_hierarchy

    asked = load_hierarchy(file)
    policy = load_policy(asked.policy)
    url = require_durable(asked.ledger if ledger is None else ledger)
    kept = [file, asked.policy, asked.data, asked.ledger, url, *([asked.tree] if asked.tree else [])]
    files = line_files(report, certificate, csv, excel, kept)
    planned = asked.question.planned(policy)
    files.require_room(planned.hierarchy.nodes)
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
            certificate=files.proof.make(table.ledger),
        )
    files.write(record, node_lines, write_nodes)
    print_answer(
        record,
        print_hierarchy,
        began=table.ledger.url if unused else None,
        written=files.written,
        json_=json_,
    )
    files.proof.write()
