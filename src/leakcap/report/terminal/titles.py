"""What stands at the head of an answer on the terminal (Rich)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.release.results.publication import Publication
from leakcap.report.terminal.plain_tables import SOFT
from leakcap.report.words.publication import headings

__all__ = ["print_title"]


def print_title(console: Console, dataset: str, named: Publication | None, name: str = "") -> None:
    """What is published, with the answer's `name` where it has one; of which data set, period and version."""
    title, below = headings(dataset, named)
    if name:
        title = name if named is None else f"{title}: {name}"
    console.print(Text(plain(title), style="bold"))
    if below:
        console.print(Text(plain(below), style=SOFT))
