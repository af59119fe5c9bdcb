"""Tables that share one budget, on a page: rows and columns with margins; small ones shown, others named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakcap.plain import counted
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held
from leakcap.report.records.planned_tables import PlannedWorkloadRecord
from leakcap.report.records.tables import CellRecord, TableRecord, WorkloadRecord
from leakcap.report.render.document import (
    Audience,
    Block,
    Card,
    Cards,
    Note,
    NotedNumber,
    Paragraph,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import PERSON, RHO
from leakcap.report.words.margined import (
    MarginedTable,
    asked_words,
    chosen_told,
    margined_tables,
    name_of,
    table_name,
)
from leakcap.report.words.publication import ROUNDED, off_by
from leakcap.report.words.wording import sum_text, to_its_noise

__all__ = ["not_all_shown", "planned_workload_section", "table_by_table", "workload_blocks"]

_ACROSS = 8
# Of so many cells at most are tables that a page has, and so many tables; it names the others.
_CELLS: dict[Audience, int] = {"board": 60, "reviewer": 200}
_TABLES: dict[Audience, int] = {"board": 4, "reviewer": 40}
_NAMED, _LISTED = 6, 500
_CELL = Note(
    "best linear unbiased estimate from all residuals, with discrete Gaussian noise", "docs/theory/tables.md"
)


def workload_blocks(record: WorkloadRecord, audience: Audience) -> Iterator[Block]:
    """What was paid, small tables, the names of large ones, and what the intervals hold."""
    asked = [table for table in record.tables if table.asked]
    small = _small(asked, audience)
    if audience == "reviewer":
        yield _paid(record)
    if record.choice is not None:
        yield Paragraph(chosen_told(record.choice))
    for one in margined_tables(record, small, _ACROSS):
        yield Paragraph(f"{table_name(one.table.columns)}, with margins and 95 % intervals")
        yield _laid_out(one)
    for added in record.cumulative:
        if len(added.cells) <= _CELLS[audience]:
            yield Paragraph(f"{name_of(added)}: each key of {_listed(added.up_to)} stands for all up to it")
            yield _lines_of(added)
    if large := [table for table in asked if table not in small]:
        where = "their errors are in the table of all tables" if audience == "reviewer" else _off(large)
        yield Paragraph(f"Also published, and not on this page: {_names(large)}; {where}.")
    flagged = sum(cell.drowned for table in small for cell in table.cells)
    unreliable = f" {FLAG}: unreliable, because the noise is as large as the count." if flagged else ""
    yield Paragraph(
        f"Each interval holds, with probability 95 % over the noise, the figure that "
        f"{figure_held(record.covers)}. All tables and margins add up but for the rounding of what is shown. "
        f"Counts carry noise, so a small one can come out negative. {ROUNDED}{unreliable}",
        soft=True,
    )
    if record.about:
        yield Paragraph(record.about, soft=True)


def not_all_shown(record: WorkloadRecord, audience: Audience) -> bool:
    """Whether some tables that were asked for are only named."""
    asked = [table for table in record.tables if table.asked]
    return len(_small(asked, audience)) < len(asked)


def _small(asked: Sequence[TableRecord], audience: Audience) -> list[TableRecord]:
    return [table for table in asked if len(table.cells) <= _CELLS[audience]][: _TABLES[audience]]


def _paid(record: WorkloadRecord) -> Cards:
    """What all tables cost together."""
    rho = "no bound" if record.rho is None else f"ρ = {sum_text(record.rho)}"
    nats = "no bound" if record.nats_person is None else f"{sum_text(record.nats_person)} nats"
    again = ", some time ago: they were repeated from the ledger for free" if record.repeated else ""
    looked = "" if record.choice is None else "choosing and for "
    cards = (
        Card(NotedNumber(rho, RHO), f"was paid for {looked}all of them, entry {record.entry}{again}"),
        Card(NotedNumber(nats, PERSON), "are told about one person on average by them, at most"),
    )
    if record.choice is not None:
        # Noise that had a part in the choice has no such mean.
        return Cards(cards)
    error = Card(
        NotedNumber(f"± {sum_text(record.root_mean_square, 3)}", _CELL),
        f"is the error of a {asked_words(record)} (root mean square), whose square is "
        f"{sum_text(record.excess)} "
        "times the least of any linear mechanism with Gaussian noise",
    )
    return Cards((*cards, error))


def _laid_out(one: MarginedTable) -> TextTable:
    rows = tuple((*keys, *map(_cell, cells)) for keys, cells in one.rows)
    heads = (*one.corner, *one.heads)
    return TextTable(heads, rows, tuple(range(len(one.corner), len(heads))), one.shades)


def _lines_of(table: TableRecord) -> TextTable:
    heads = (*(f"{name}, up to" if name in table.up_to else name for name in table.columns), "count")
    rows = tuple((*map(str, cell.keys), _cell(cell)) for cell in table.cells)
    return TextTable(heads, rows, (len(table.columns),))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def _cell(cell: CellRecord) -> Text:
    value, low, high = to_its_noise(cell.value, cell.lower, cell.upper)
    shown = f"{value} {FLAG}" if cell.drowned else value
    return NotedNumber(shown, _CELL), f" ({low} to {high})"


def _names(tables: Sequence[TableRecord]) -> str:
    told = [f"{table_name(table.columns)} ({counted(len(table.cells), 'cell')})" for table in tables[:_NAMED]]
    more = f" and {len(tables) - _NAMED:,} more" if len(tables) > _NAMED else ""
    return f"{', '.join(told)}{more}"


def _off(tables: Sequence[TableRecord]) -> str:
    """How far their cells are off, at most."""
    most = max(table.standard_deviation for table in tables)
    return f"the standard deviation of a cell's error is {sum_text(most, 3)} at most"


def table_by_table(record: WorkloadRecord) -> Iterator[Block]:
    """Every table and margin with its error and how many cells the noise drowns."""
    heads = ("table", "cells", "standard deviation of a cell's error", "unreliable cells")
    rows = tuple(
        (
            table_name(table.columns) if table.asked else f"{table_name(table.columns)} (margin)",
            f"{len(table.cells):,}",
            NotedNumber(sum_text(table.standard_deviation, 3), _CELL),
            f"{sum(cell.drowned for cell in table.cells):,}",
        )
        for table in record.tables[:_LISTED]
    )
    yield TextTable(heads, rows, (1, 2, 3))
    if len(record.tables) > _LISTED:
        yield Paragraph(f"And {len(record.tables) - _LISTED:,} more.", soft=True)


def planned_workload_section(planned: PlannedWorkloadRecord, *, full: bool) -> Section:
    """What tables would cost together, and the error of each, before anything is touched."""
    asked = [table for table in planned.tables if table.asked]
    shown = asked[: _LISTED if full else _NAMED]
    rows = tuple(
        (table_name(one.columns), f"{one.cells:,}", NotedNumber(off_by(one.error_95), _CELL)) for one in shown
    )
    rho = "no bound" if planned.rho is None else f"ρ = {sum_text(planned.rho)}"
    more = f" And {len(asked) - len(shown):,} tables more." if len(asked) > len(shown) else ""
    told = f" is paid for all of them and their margins, which add up.{more} {planned.about}".rstrip()
    blocks = (
        TextTable(("table", "cells", "95 % error of each cell"), rows, (1, 2)),
        Paragraph((NotedNumber(rho, RHO), told), soft=True),
    )
    return Section(f"{planned.name}: tables of counts with one budget", blocks)
