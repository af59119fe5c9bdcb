"""Whether a CSV file is one that leakcap reads: UTF-8, a line a row, the separator that its name promises.

`release/engine/csvlines.py` reads any file without a complaint, because a complaint would tell of rows: what
it cannot make out is missing. So it is said here, to the owner.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from leakcap.errors import DataError
from leakcap.owner.finding import DataFault, listed
from leakcap.release.engine import csvlines

__all__ = ["form_of"]

_OTHER_KINDS = (
    (b"PAR1", "a Parquet file", "Rename it to end in .parquet."),
    (b"PK\x03\x04", "an Excel workbook or a ZIP archive", "Save the table as CSV."),
    (b"\x1f\x8b", "compressed", "Unpack it first."),
)
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SAMPLE = 1 << 16


def form_of(path: Path) -> list[DataFault]:
    """Faults in the lines of a CSV file; empty if there are none.

    Raises `OSError` where the file cannot be opened.
    """
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("rb") as file:
        start = file.read(_SAMPLE)
    told = _kind(start) or _header(start, delimiter)
    if told is not None:
        return [DataFault(path.name, "problem", told)]
    try:
        lines = _Lines(delimiter, len(csvlines.header(path, delimiter)))
    except DataError as error:
        return [DataFault(path.name, "problem", str(error))]
    with path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file, start=2):
            lines.add(number, line)
    return [DataFault(path.name, "problem", text) for text in lines.told()]


def _kind(start: bytes) -> str | None:
    """What is said of a file that is no text, or text that is no UTF-8 from the first byte on."""
    for mark, what, remedy in _OTHER_KINDS:
        if start.startswith(mark):
            return f"the file is {what}, not CSV. {remedy}"
    if start.startswith(_WIDE) or _is_wide(start):
        return (
            "the file is not UTF-8; it looks like UTF-16, which Excel calls Unicode text. Save it as UTF-8."
        )
    if b"\0" in start:
        line = start[: start.index(b"\0")].count(b"\n") + 1
        return f"line {line:,} has a null byte. Text has none: was the file damaged? Save it as UTF-8."
    if not start.strip():
        return "the file is empty. Its first line must name the columns."
    if b"\n" not in start and b"\r" in start:
        return "lines end in a carriage return alone, so that all rows are one line. Save it with line feeds."
    return None


def _header(start: bytes, delimiter: str) -> str | None:
    """What is said of a first line that does not name the columns."""
    line = start.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r")
    counts = {sign: line.count(sign) for sign in _SEPARATORS}
    most = max(counts, key=lambda sign: counts[sign])
    if not counts[delimiter] and counts[most]:
        ending = " or name the file .tsv" if most == "\t" else ""
        return (
            f"values are separated by {_SEPARATORS[most]}, and leakcap reads {_SEPARATORS[delimiter]}. "
            f"Save it with {_SEPARATORS[delimiter]}{ending}; decimals have a point."
        )
    names = next(csv.reader([line], delimiter=delimiter), [])
    if "" in names:
        return f"column {names.index('') + 1} has no name in the first line. Each column needs one."
    twice = {name: times for name, times in Counter(map(str.lower, names)).items() if times > 1}
    if twice:
        told = [f"{'two' if n == 2 else n} columns are called `{one}`" for one, n in sorted(twice.items())]
        return f"{listed(told)}. Each name may be there once, whatever its case."
    return None


def _is_wide(start: bytes) -> bool:
    """Whether it looks like UTF-16 without a mark: every other byte is null in the signs of a table."""
    if start.count(0) * 4 >= len(start) > 0:
        return True
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        # The sample may end amid a sign.
        return b"\0" in start and error.start < len(start) - 3
    return False


@dataclass
class _Odd:
    """How many lines are odd in one way, and which is the first."""

    many: int = 0
    first: int = 0

    def add(self, number: int) -> None:
        self.many, self.first = self.many + 1, self.first or number

    def said(self, one: str, several: str) -> str:
        """Subject and verb."""
        if self.many == 1:
            return f"line {self.first:,} {one}"
        return f"{self.many:,} lines (the first is line {self.first:,}) {several}"


@dataclass
class _Lines:
    """What is found line by line."""

    delimiter: str
    columns: int
    foreign: _Odd = field(default_factory=_Odd)
    open: _Odd = field(default_factory=_Odd)
    more: _Odd = field(default_factory=_Odd)
    fewer: _Odd = field(default_factory=_Odd)

    def __post_init__(self) -> None:
        self._field = re.compile(csvlines.pattern(self.delimiter))
        self._sign = self.delimiter.encode()

    def add(self, number: int, line: bytes) -> None:
        """One line below the header; empty ones are no rows."""
        body = line.removesuffix(b"\n").removesuffix(b"\r")
        if not body:
            return
        if not _is_utf8(body):
            self.foreign.add(number)
        if b'"' not in body:
            width = body.count(self._sign) + 1
        elif body.count(b'"') % 2:
            self.open.add(number)
            return
        else:
            width = len(self._field.findall(self.delimiter + body.decode("utf-8", "replace")))
        if width != self.columns:
            (self.more if width > self.columns else self.fewer).add(number)

    def told(self) -> Iterator[str]:
        """The first kind of fault found: later ones may follow from it."""
        named = _SEPARATORS[self.delimiter]
        if self.foreign.many:
            yield (
                f"{self.foreign.said('is', 'are')} not UTF-8; the file looks like Windows-1252 or Latin-1. "
                "Save it as UTF-8."
            )
        elif self.open.many:
            yield (
                f"{self.open.said('has', 'have')} an odd number of quotation marks: a value has a line break "
                "in it, or a mark that is not doubled. leakcap reads each line as a row: take line breaks "
                "out of values, or use Parquet."
            )
        elif self.more.many:
            yield (
                f"{self.more.said('has', 'have')} more values than the first line has names "
                f"({self.columns}). Put values with {named} in them into quotation marks, and write decimals "
                "with a point."
            )
        elif self.fewer.many:
            yield (
                f"{self.fewer.said('has', 'have')} fewer values than the first line has names "
                f"({self.columns}); what is not there counts as missing. Fill the lines up."
            )


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
