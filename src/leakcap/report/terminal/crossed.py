"""Values in rows and columns for the terminal (Rich), as many as it has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from leakcap.plain import plain
from leakcap.release.results.pivot import FLAG
from leakcap.report.terminal.plain_tables import ACCENT, SOFT, plain_table
from leakcap.report.words.crossed import CrossedTable, crossed_table
from leakcap.report.words.wording import to_its_noise

if TYPE_CHECKING:
    from leakcap.report.records import ReleasedRecord, RowRecord

__all__ = ["MOST_ROWS", "crossed_in", "value_cells"]

MOST_ROWS = 20
_MOST_ACROSS = 4


def value_cells(row: RowRecord, places: int | None) -> tuple[Text, str]:
    """The value, or, where its noise drowns it, the value in grey with the flag; and its interval."""
    shown, low, high = to_its_noise(row.value, *row.interval, places)
    value = Text(f"{shown} {FLAG}", style=SOFT) if row.drowned else Text(shown, style="bold " + ACCENT)
    return value, f"{low} to {high}"


def crossed_in(release: ReleasedRecord, room: int) -> RenderableType | None:
    """The table that is shown in place of one line per value.

    None if it does not fit in `room`, unless whoever asked laid it out: then as much of it is shown as fits,
    and a line says how much that is.
    """
    found = crossed_table(release, _MOST_ACROSS)
    if found is None:
        return None
    lines = [_texts(keys, cells, release.places) for keys, cells in found.rows[:MOST_ROWS]]
    titles = [*found.corner, *found.heads]
    widths = [
        max(Text(plain(title)).cell_len, *(line[place].cell_len for line in lines)) + 2
        for place, title in enumerate(titles)
    ]
    columns = _fitting(widths, room, len(found.corner))
    whole = columns == len(titles) and len(found.rows) <= MOST_ROWS
    if not whole and release.layout is None:
        return None
    table = plain_table(*map(plain, titles[:columns]))
    for place in range(1, len(found.corner)):
        table.columns[place].justify = "left"
    table.title, table.title_justify, table.title_style = Text(plain(release.name)), "left", "bold"
    for line in lines:
        table.add_row(*line[:columns])
    return table if whole else Group(table, _cut(found, columns - len(found.corner), len(lines)))


def _texts(keys: Sequence[str], cells: Sequence[RowRecord | None], places: int | None) -> list[Text]:
    texts = [Text(plain(key)) for key in keys]
    for row in cells:
        if row is None:
            texts.append(Text())
        else:
            value, between = value_cells(row, places)
            texts.append(Text.assemble(value, f" ({between})"))
    return texts


def _fitting(widths: Sequence[int], room: int, least: int) -> int:
    """How many columns fit; those of keys and one of values are shown in any case."""
    columns, taken = 0, 0
    for width in widths:
        if taken + width > room and columns > least:
            break
        columns, taken = columns + 1, taken + width
    return columns


def _cut(found: CrossedTable, columns: int, lines: int) -> Text:
    """What is not shown, in words."""
    shown = (
        f"{columns:,} of {len(found.heads):,} columns and {lines:,} of {len(found.rows):,} lines are shown"
    )
    return Text(f"… {shown}; the others are in the report, --csv and --json", style=SOFT)
