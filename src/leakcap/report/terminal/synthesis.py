"""Microdata on the terminal (Rich): what the file is, how far off, what it tells."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import counted, plain
from leakcap.release.results.record import figure_held
from leakcap.report.records.synthesis import RegressionRecord, SynthesisRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.terminal.certified import print_certificate
from leakcap.report.terminal.spending import caps_table
from leakcap.report.terminal.tables import print_statement
from leakcap.report.terminal.titles import print_title
from leakcap.report.words.files import (
    ERRORS,
    coefficient_cells,
    coefficient_name,
    file_rows,
    paid_for_file,
    regression_told,
)
from leakcap.report.words.margined import chosen_told
from leakcap.report.words.promises import protects
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["print_synthesis"]

_SOFT, _MOST = "dim", 30


def print_synthesis(console: Console, record: SynthesisRecord) -> None:
    """The file, the errors of its tables, what it tells, and what is left."""
    console.print()
    print_title(console, record.dataset, record.publication, record.name)
    console.print(Text(plain(protects(record.policy)), style=_SOFT))
    console.print()
    columns = ", ".join(f"{one.name} ({one.type}, {counted(one.keys, 'key')})" for one in record.columns)
    weighted = ", weight" if record.weights else ""
    console.print(Text(plain(f"{file_rows(record)}. Columns: {columns}{weighted}.")))
    if record.choice is not None:
        console.print(Text(plain(chosen_told(record.choice))))
    console.print()
    console.print(_errors(record))
    if len(record.tables) > _MOST:
        console.print(Text(f"… and {len(record.tables) - _MOST:,} more tables, in --json.", style=_SOFT))
    console.print(Text(ERRORS, style=_SOFT))
    if record.regression is not None:
        console.print()
        console.print(_regression(record.regression))
        console.print(Text(plain(regression_told(record.regression)), style=_SOFT))
    held = f"The bounds are about the figure that {figure_held(record.covers)}. "
    told = f"{'' if record.covers == 'table' else held}{record.about}"
    if told:
        console.print(Text(plain(told), style=_SOFT))
    console.print(f"\n{_paid(record)}", markup=False, highlight=False, soft_wrap=True)
    console.print()
    print_statement(console, restated(record.statement), record.caps, every="--json")
    console.print()
    console.print(caps_table(record.caps))
    if record.same_as is not None:
        console.print(Text(plain(same_as_line(record.same_as, record.source)), style=_SOFT))
    print_certificate(console, record.certificate)


def _paid(record: SynthesisRecord) -> str:
    """What was paid, and how to make the file again."""
    again = f"The same command with --rows {record.rows} --seed {record.seed} makes this one again"
    until = "" if record.from_record else ", until --fresh buys the tables anew"
    return f"{plain(paid_for_file(record))} {again}{until}."


def _regression(record: RegressionRecord) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    shown.add_column("coefficient of")
    for head in ("in the file", "in the released tables", "of the exact rows"):
        shown.add_column(head, justify="right")
    for one in record.coefficients:
        shown.add_row(Text(plain(coefficient_name(one) or "the constant")), *coefficient_cells(one))
    return shown


def _errors(record: SynthesisRecord) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    shown.add_column("table of the file")
    for head in ("cells in their interval", "from the released table", "from the exact one, at most"):
        shown.add_column(head, justify="right")
    for one in record.tables[:_MOST]:
        columns = Text(plain(" × ".join(one.columns) or "total"))
        shown.add_row(columns, f"{100 * one.inside:.0f} %", sum_text(one.distance, 3), sum_text(one.bound, 3))
    return shown
