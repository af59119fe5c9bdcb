"""What the command `sql` prints before anything is paid for, of data at hand or of a curator's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakcap.cli.printing import console, print_record
from leakcap.cli.release import print_previewed

if TYPE_CHECKING:
    from leakcap.release import Policy, Release
    from leakcap.release.sql.select import SelectStatement

__all__ = ["print_dry_run", "print_statement_previewed"]


def print_statement_previewed(statement: SelectStatement, policy: Policy, json_: bool) -> None:
    """Accuracy and price of a statement's answers."""
    print_previewed(policy, statement.previews(policy), json_)
    if statement.margins and statement.finest and not json_:
        console().print("Margins are sums of these groups: one over k of them carries k noises.")


def print_dry_run(releases: Sequence[Release], json_: bool) -> None:
    """What a dummy table answers."""
    from leakcap.report.records import DryRunRecord
    from leakcap.report.terminal.tables import print_values

    if json_:
        print_record(DryRunRecord.of(releases))
        return
    out = console()
    out.print("A dry run on a dummy table: these numbers say nothing about the data, and cost nothing.\n")
    print_values(out, [release.record for release in releases])
