"""A table of counts as people read one: rows and columns, margins at their ends, the total in the corner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from leakcap.plain import counted

if TYPE_CHECKING:
    from leakcap.report.records.tables import (
        BetweenRecord,
        CellRecord,
        ChoiceRecord,
        TableRecord,
        WorkloadRecord,
    )

__all__ = [
    "MarginedTable",
    "asked_words",
    "between_words",
    "chosen_told",
    "margined_tables",
    "name_of",
    "table_name",
]

_Line: TypeAlias = frozenset[tuple[str, str, str]]
"""Keys by column, each with its kind: 1, true and "1" are told apart."""
_NOWHERE = ""
_MOST = 30


@dataclass(frozen=True)
class MarginedTable:
    """`corner` names the columns whose keys go down, and last the one that goes across, where one does.

    Each row has its keys and its cells; the last row and, where keys go across, the last column are margins.
    """

    table: TableRecord
    corner: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[CellRecord, ...]], ...]

    @property
    def shades(self) -> tuple[tuple[int, ...], ...]:
        """How strongly each cell is tinted, keys included: counts from 0 to 9 as shares of the largest,
        margins not at all, since beside them nothing else would be seen."""
        inner = [cells[: len(cells) - (len(self.heads) > 1)] for _, cells in self.rows[:-1]]
        most = max((cell.value for cells in inner for cell in cells), default=0.0)
        found = []
        for place, (keys, cells) in enumerate(self.rows):
            own = inner[place] if place < len(inner) else ()
            tints = [round(9 * max(0.0, cell.value) / most) if most > 0 else 0 for cell in own]
            found.append((*(0 for _ in keys), *tints, *(0 for _ in cells[len(own) :])))
        return tuple(found)


def chosen_told(choice: ChoiceRecord) -> str:
    """Which tables were chosen, and what that means for intervals and bounds."""
    named = ", ".join(" × ".join(columns) for columns in choice.chosen[:_MOST])
    more = len(choice.chosen) - _MOST
    told = f"{named}{f' and {more:,} more, in --json' if more > 0 else ''}"
    return (
        f"{counted(len(choice.chosen), 'table')} of {choice.among:,} chosen by a private score, in this "
        f"order: {told}. Intervals and bounds hold for all {choice.among:,} at once."
    )


def table_name(columns: Sequence[str]) -> str:
    """What a table is called.

    >>> table_name(("sex", "ward")), table_name(())
    ('sex by ward', 'total')
    """
    return " by ".join(columns) or "total"


def name_of(table: TableRecord) -> str:
    """The same of a table of a record: what is added up along columns says so.

    >>> from leakcap.report.records.tables import TableRecord
    >>> name_of(TableRecord(columns=("week",), asked=True, standard_deviation=1.0, up_to=("week",), cells=()))
    'week, cumulative'
    """
    return table_name(table.columns) + (", cumulative" if table.up_to else "")


def asked_words(record: WorkloadRecord) -> str:
    """What the error is of: a cell, or what is asked of ordered columns in its place."""
    question = record.question or {}
    kinds = [("range", question.get("ranges")), ("cumulative count", question.get("prefixes"))]
    told = [name for name, columns in kinds if columns]
    return f"{', '.join(['cell', *told[:-1]])} or {told[-1]} that was asked for" if told else "cell"


def between_words(record: BetweenRecord) -> str:
    """Which keys a count of several is of.

    >>> from leakcap.report.records.tables import BetweenRecord
    >>> between_words(BetweenRecord(keys={"week": (3, 10), "sex": ("f",)}, value=1.0, lower=0.0, upper=2.0))
    'week 3 to 10, sex f'
    """
    return ", ".join(f"{name} {' to '.join(map(str, own))}" for name, own in record.keys.items())


def margined_tables(
    record: WorkloadRecord, tables: Sequence[TableRecord], most: int
) -> tuple[MarginedTable, ...]:
    """These tables with their margins, the column with the fewest keys across where these are 2 to `most`.

    Raises `LookupError` where the record lacks a margin.
    """
    known = {frozenset(one.columns): one for one in record.tables}
    cells: dict[frozenset[str], dict[_Line, CellRecord]] = {}

    def cell_at(line: _Line) -> CellRecord:
        columns = frozenset(column for column, _, _ in line)
        if columns not in cells:
            table = known[columns]
            cells[columns] = {_line(table.columns, one): one for one in table.cells}
        return cells[columns][line]

    def one_table(table: TableRecord) -> MarginedTable:
        keys = {
            column: list(
                dict.fromkeys(
                    (type(cell.keys[place]).__name__, str(cell.keys[place])) for cell in table.cells
                )
            )
            for place, column in enumerate(table.columns)
        }
        # Not every key of a column goes with every one of another that it lies within.
        chains = [_chain(column, record.within) for column in table.columns]
        free = {column: len(keys[column]) for column in table.columns if not _tied(column, chains)}
        over = _across(free, most) if len(keys) > 1 else _NOWHERE
        down = [column for column in table.columns if column != over]
        lines = [_line(table.columns, cell) for cell in table.cells]
        lines = list(dict.fromkeys(frozenset(one for one in line if one[0] != over) for line in lines))
        across = [frozenset({(over, *key)}) for key in keys.get(over, ())]
        rows = []
        for line in [*lines, *([frozenset()] if down else [])]:
            words = {column: key for column, _, key in line}
            if not line:
                words = {down[0]: _total(key for _, key in keys[down[0]])} if down else {_NOWHERE: _total([])}
            said = tuple(words.get(column, "") for column in down or [_NOWHERE])
            rows.append((said, (*(cell_at(line | one) for one in across), cell_at(line))))
        heads = [key for _, key in keys.get(over, ())]
        corner = [*down[:-1], f"{down[-1]} by {over}" if over else down[-1]] if down else [_NOWHERE]
        return MarginedTable(
            table, tuple(corner), (*heads, _total(heads)) if over else ("count",), tuple(rows)
        )

    return tuple(map(one_table, tables))


def _line(columns: Sequence[str], cell: CellRecord) -> _Line:
    pairs = zip(columns, cell.keys, strict=True)
    return frozenset((column, type(key).__name__, str(key)) for column, key in pairs)


def _chain(column: str, within: Mapping[str, str]) -> list[str]:
    """A column, and those that it lies within."""
    found = [column]
    while found[-1] in within:
        found.append(within[found[-1]])
    return found


def _tied(column: str, chains: Sequence[Sequence[str]]) -> bool:
    """Whether it lies within another column of the table, or one of them within it."""
    mine = next(chain for chain in chains if chain[0] == column)
    return any(column in chain or chain[0] in mine for chain in chains if chain is not mine)


def _across(sizes: dict[str, int], most: int) -> str:
    """The column that goes across, with the fewest keys, of several the last; none where it is a list."""
    over = min(reversed(sizes), key=sizes.__getitem__, default=_NOWHERE)
    return over if over and 2 <= sizes[over] <= most else _NOWHERE


def _total(keys: Iterable[str]) -> str:
    """What stands in place of a key that is summed over: a word that is no key of the column."""
    taken, word = set(keys), "total"
    while word in taken:
        word = f"({word})"
    return word
