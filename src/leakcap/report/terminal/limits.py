"""What other values of `max_rows` would mean, for the terminal (Rich)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.words.publication import off_by
from leakcap.statement.wording import percent

if TYPE_CHECKING:
    from leakcap.report.records import PreviewRecord
    from leakcap.report.records.previews import RowLimitRecord

__all__ = ["cut_words", "print_limits"]

_SOFT = "dim"


def cut_words(limit: RowLimitRecord) -> str:
    """What released answers say of the cut.

    >>> from leakcap.report.records.previews import RowLimitRecord
    >>> cut_words(RowLimitRecord(max_rows=5, errors={}, rows_cut=1200, share_cut=0.05))
    'at most 1,200 rows; of at most 5.00 % of people'
    >>> cut_words(RowLimitRecord(max_rows=5, errors={}))
    'not known'
    """
    told = [f"at most {limit.rows_cut:,} rows"] if limit.rows_cut is not None else []
    told += [f"of at most {percent(limit.share_cut)} of people"] if limit.share_cut is not None else []
    return "; ".join(told) or "not known"


def print_limits(console: Console, record: PreviewRecord) -> None:
    """A line for each value: the 95 % error of each query, and what is known to be cut."""
    names = [one.name for one in record.statistics]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=_SOFT)
    for title in ("max_rows", *names, "rows cut"):
        table.add_column(Text(plain(title)), justify="right" if title != "rows cut" else "left")
    for limit in record.row_limits:
        errors = [limit.errors.get(name) for name in names]
        told = ["does not go with it" if error is None else off_by(error) for error in errors]
        table.add_row(f"{limit.max_rows:,}", *told, cut_words(limit))
    console.print()
    console.print(table)
    words = (
        "95 % errors by the noise alone, were `max_rows` so large at the same price. What is cut is known "
        "from released answers to `rows_cut` and `rows_per_person` about all rows, and from nothing else."
    )
    console.print(Text(words, style=_SOFT))
