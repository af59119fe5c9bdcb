"""Plain tables for the terminal (Rich), their colours, and names that are safe in them."""

from __future__ import annotations

import textwrap

from rich.table import Table
from rich.text import Text

from leakcap.plain import plain

__all__ = ["ACCENT", "SOFT", "WARM", "name_cell", "plain_table"]

ACCENT, SOFT, WARM = "cyan", "dim", "red"
_NAME = 34


def plain_table(*titles: str) -> Table:
    """A plain table: text in the second column, numbers to the right in the others."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=SOFT)
    for index, title in enumerate(titles):
        text = index == (1 if titles[0] == "#" else 0)
        # As text: a title may be a released key, and what Rich would read as its markup is none.
        table.add_column(Text(title), justify="left" if text else "right", no_wrap=not text)
    return table


def name_cell(name: str) -> Text:
    """A name of which no line but the first could be taken for another."""
    return Text(textwrap.fill(plain(name), _NAME, subsequent_indent="      "))
