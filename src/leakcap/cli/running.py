"""The command `running`: counts by period and their totals, one charge for a whole horizon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.certifying import Certificate
from leakcap.cli.printing import Json, print_answer
from leakcap.cli.release import LedgerUrl
from leakcap.cli.targets import require_durable
from leakcap.cli.values import ExcelTarget, line_files

__all__ = ["running"]


def running(
    file: Annotated[
        Path, typer.Argument(help="The file that asks for a running count (TOML).", show_default=False)
    ],
    through: Annotated[
        str | None,
        typer.Option(
            help="The last period that is complete, such as 2026-03; it and all before it are answered. Left "
            "out, what was answered is told again.",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    report: Annotated[
        Path | None, typer.Option(help="Where an HTML report goes.", show_default=False)
    ] = None,
    certificate: Certificate = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Where the counts and totals go as CSV, a line for each period of each series.",
            show_default=False,
        ),
    ] = None,
    excel: ExcelTarget = None,
    json_: Json = False,
) -> None:
    """Release counts by period and their running totals, one period after the other, for one charge.

    The whole horizon is paid for before the first period; each period is answered once, and repeated for
    free. Over 365 days the worst total errs by 2.944 times what one count would.

    Example: leakcap running examples/running/visits.toml --through 2026-03
    """
    from leakcap.release import PrivateTable, attach, exposure_so_far, load_policy
    from leakcap.release.opening import begun_by, unbegun
    from leakcap.report.records.running import RunningRecord
    from leakcap.report.render.running import step_lines, write_steps
    from leakcap.report.terminal.running import print_running
    from leakcap.running import release_running
    from leakcap.running.files import load_running
    from leakcap.running.reading import check_running_columns
    from leakcap.running.release import charge_of_running, require_through
    from leakcap.statement import statement_of

    asked = load_running(file)
    policy = load_policy(asked.policy)
    url = require_durable(asked.ledger if ledger is None else ledger)
    kept = [file, asked.policy, asked.data, asked.ledger, url]
    files = line_files(report, certificate, csv, excel, kept)
    planned = asked.question.planned(policy)
    files.require_room(len(planned.series) * len(planned.periods))
    if begun_by(url):
        # What is refused leaves no empty ledger behind.
        require_through(planned, through)
        unbegun(url, policy).check([charge_of_running(planned, analyst=analyst, edition=asked.edition)])
        check_running_columns(planned, attach(asked.data, table=asked.table))
    with PrivateTable(
        asked.data, policy=policy, ledger=url, table=asked.table, analyst=analyst, edition=asked.edition
    ) as table:
        unused = not table.ledger.totals().entries
        found = release_running(table, asked.question, through=through)
        total = statement_of(exposure_so_far(table.ledger.entries(), policy))
        record = RunningRecord.of(
            found,
            total,
            table.budget(),
            asked.publication,
            source=table.named,
            certificate=files.proof.make(table.ledger),
        )
    files.write(record, step_lines, write_steps)
    print_answer(
        record,
        print_running,
        began=table.ledger.url if unused else None,
        written=files.written,
        json_=json_,
    )
    files.proof.write()
