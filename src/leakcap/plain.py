"""Text that somebody else wrote, on its way out: to a terminal, into JSON, into a CSV file.

A name may hold what steers a terminal, turns a line around, or opens in a spreadsheet as a formula. All that
leakcap prints or writes for another program goes through here, so that each way out is safe for every text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["counted", "csv_text", "json_text", "label_of_cell", "plain"]

# Control characters, formats that reorder a line, surrogates, and breaks of lines that few programs know;
# and two code points that no XML may hold, hence no workbook.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NO_XML = frozenset("\ufffe\uffff")
_UNUSUAL = re.compile(r"[^\n -~]")
_FORMULA = frozenset("=+-@\N{MINUS SIGN}")


def counted(many: int, what: str) -> str:
    """So many of something.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{many:,} {what}{'' if many == 1 else 's'}"


def plain(text: str, *, keep: str = "\n\t") -> str:
    """`text` with every control character written out, so that it cannot steer the reader's terminal.

    >>> plain("ward\\x1b[2J")
    'ward\\\\x1b[2J'
    """
    return "".join(c if c in keep or not _hidden(c) else _escaped(c) for c in text)


def json_text(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Strict JSON in which every control character is an escape; read back, it is the same value.

    >>> json_text({"ward": "A\\x9b2J", "beds": 3})
    '{"ward": "A\\\\u009b2J", "beds": 3}'
    """
    text = json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    return _UNUSUAL.sub(lambda found: _in_json(found[0]), text)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """CSV with every cell in quotes, and no text that a spreadsheet would run.

    Control characters, line breaks too, are written out. An apostrophe stands before what would begin a
    formula: =, +, - or @, their wide, small and raised forms, and the minus sign. A semicolon counts as the
    start of a cell, because it is one where the comma is the decimal sign.

    >>> print(csv_text([["=1+1", -5, "a;=2", "\\r=3"]]), end="")
    "'=1+1","-5","a;'=2","\\r=3"
    """
    sheet = io.StringIO()
    writer = csv.writer(sheet, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([_cell(value) if isinstance(value, str) else value for value in row] for row in rows)
    return sheet.getvalue()


def label_of_cell(text: str) -> str:
    """What stood in a cell before `csv_text` put apostrophes into it.

    >>> label_of_cell("'=1+1"), label_of_cell("'tis")
    ('=1+1', "'tis")
    """
    cut = {index - 1 for index in _formulas(text) if text[index - 1 : index] == "'"}
    return "".join(c for index, c in enumerate(text) if index not in cut)


def _cell(text: str) -> str:
    shown = plain(text, keep="")
    marked = set(_formulas(shown))
    return "".join(f"'{c}" if index in marked else c for index, c in enumerate(shown))


def _formulas(text: str) -> Iterator[int]:
    """Where something begins that a spreadsheet might run."""
    start = True
    for index, c in enumerate(text):
        if start and unicodedata.normalize("NFKC", c) in _FORMULA:
            yield index
        start = c == ";" or (start and (c.isspace() or c in "\"'"))


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _NO_XML


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _in_json(character: str) -> str:
    if not _hidden(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))
