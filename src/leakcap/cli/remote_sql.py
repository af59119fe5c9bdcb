"""`leakcap --server URL sql`: a statement that a curator answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakcap.cli.printing import console, print_record, say
from leakcap.cli.remote import Server, agreed_to_pay, awaited, connection_to, record_of, remote_table
from leakcap.cli.sql_printing import print_dry_run, print_statement_previewed
from leakcap.cli.values import write_given
from leakcap.errors import InvalidQuery

__all__ = ["sql_of_curator"]


def sql_of_curator(
    server: Server,
    text: str,
    price: Mapping[str, Any],
    job: tuple[bool, bool, bool, bool, bool],
    csv: Path | None,
    excel: Path | None,
) -> None:
    """Preview, dry-run or answer a statement; `job` says which: preview, dry run, fresh, yes, JSON."""
    from leakcap.release.sql.select import StatementTerms

    preview, dry_run, fresh, yes, json_ = job
    if (csv or excel) and (preview or dry_run):
        raise InvalidQuery("`--csv` and `--excel` go with an answer, not with `--preview` or `--dry-run`.")
    with connection_to(server.url) as connection:
        table = remote_table(connection, server)
        statement = table.statement_asked(text, StatementTerms(**price))
        if preview:
            print_statement_previewed(statement, table.policy, json_)
            return
        if dry_run:
            print_dry_run(statement.shown(table.dry_run(statement.queries), table.policy), json_)
            return
        agreed_to_pay(table, statement.queries, fresh=fresh, yes=yes, json_=json_)
        with awaited(server):
            releases = table.sql(text, **price, fresh=fresh)
        record = record_of(table, releases)
    written = list(write_given(record, csv, excel))
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.tables import print_release

    print_release(console(), record, every="--json")
    for path in written:
        say(f"The values are in {path}")
