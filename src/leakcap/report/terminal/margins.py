"""What `leakcap tables` released, on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.records.tables import TablesRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.terminal.certified import print_certificate
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.terminal.titles import print_title
from leakcap.report.terminal.workloads import print_workload
from leakcap.report.words.margined import between_words
from leakcap.report.words.promises import protects
from leakcap.report.words.publication import estimated
from leakcap.statement.restated import restated

__all__ = ["print_tables"]

_SOFT = "dim"


def print_tables(console: Console, record: TablesRecord) -> None:
    """The tables that were asked for, what they cost and tell, and what is left."""
    console.print()
    print_title(console, record.dataset, record.publication, record.name)
    if record.policy is not None:
        console.print(Text(plain(protects(record.policy)), style=_SOFT))
    print_workload(console, record)
    for one in record.between:
        value, interval = estimated(one.value, (one.lower, one.upper))
        console.print(Text(plain(f"{between_words(one)}: {value}, {interval}")))
    if record.repeated:
        console.print("\nRepeated from the ledger, for free. --fresh pays for new noise.")
    console.print()
    print_statement(console, restated(record.so_far), record.caps, every="--json")
    console.print()
    console.print(caps_table(record.caps))
    if record.same_as is not None:
        console.print(Text(plain(same_as_line(record.same_as, record.source)), style=_SOFT))
    print_certificate(console, record.certificate)
