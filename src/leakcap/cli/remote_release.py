"""`leakcap --server URL release`: a query file that a curator answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from leakcap.cli.fitting import require_fit
from leakcap.cli.remote import Server, agreed_to_pay, awaited, connection_to, record_of, remote_table
from leakcap.cli.targets import require_target
from leakcap.cli.values import require_values

if TYPE_CHECKING:
    from leakcap.report.records import ReleaseRecord
    from leakcap.statement import Statement

__all__ = ["release_of_curator"]


def release_of_curator(
    server: Server,
    file: Path,
    targets: tuple[Path | None, Path | None, Path | None],
    stated: Callable[[Statement], Statement],
    *,
    fresh: bool,
    yes: bool,
    json_: bool,
) -> tuple[ReleaseRecord, Path | None]:
    """What was released, and where the report goes, which the file may say; `targets` are those that the
    command line says: report, values, workbook."""
    from leakcap.release import agreeing, covered, load_queries, with_all_margins, with_layouts

    report, csv, excel = targets
    with connection_to(server.url) as connection:
        table = remote_table(connection, server)
        queries, policy = load_queries(file, table.policy), table.policy
        target = report or queries.report
        if target is not None:
            require_target(target, "The report", (".html", ".htm"), [file])
        require_values(csv, excel, [file, *([target] if target else [])])
        require_fit(queries, policy)
        agreed_to_pay(table, queries.queries, fresh=fresh, yes=yes, json_=json_)
        with awaited(server):
            answered = table.release(queries.queries, fresh=fresh)
        releases = agreeing(answered, queries.consistent)
        releases = covered(with_all_margins(releases, queries.margins, policy), queries.cover, policy)
        releases = with_layouts(releases, queries.pivots, policy)
        return record_of(table, releases, stated, None if target is None else str(target)), target
