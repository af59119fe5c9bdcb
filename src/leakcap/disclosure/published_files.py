"""Lines of published tables in CSV files: words of dimensions, and a count or a word for none at the end."""

from __future__ import annotations

import csv
from pathlib import Path

from leakcap.errors import InvalidInput

__all__ = ["HIDDEN", "published_count", "published_lines"]

HIDDEN = ("", "*", "x", "c", ":", "..", "suppressed")
"""Words in the place of a count that is not published."""


def published_lines(path: str | Path) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a file. Raises `InvalidInput` for what is no table."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
    except OSError:
        raise InvalidInput(f"There is no file `{path}` that can be read.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"`{path}` must be CSV in UTF-8.") from None
    width = len(rows[0]) if rows else 0
    if width < 2 or len(rows) < 2 or any(len(row) != width for row in rows):
        raise InvalidInput(
            f"`{path}` must have a head, a column for each dimension and one for the count, in every line."
        )
    return rows[0], rows[1:]


def published_count(text: str, number: int, path: str | Path) -> int | str:
    """The count at the end of a line, or the word there. Raises `InvalidInput` for anything else."""
    if text.lower() in HIDDEN:
        return text.lower()
    if not (text.isdecimal() and len(text) < 14):
        raise InvalidInput(f"Line {number} of `{path}` must end with a count, or with a word for none.")
    return int(text)
