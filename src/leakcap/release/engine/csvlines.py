"""CSV read so that no row can change how another row is read.

Ordinary CSV readers guess types from the rows, let an open quote swallow the lines after it, and stop at the
first line that does not fit. Each of these lets one person move the answer by more than one person's worth.
Here **a line is a row**: the file is cut at line feeds before anything else, each line is taken apart by
itself, every field is text until the policy says otherwise, a field that is not there is missing, and fields
too many are ignored. Bytes that are no UTF-8 are written out (`readings.ESCAPED`). Empty lines are no rows,
except in a file of one column, where an empty line is a row whose value is missing.
A quoted value may hold the delimiter and doubled quotes, but no line break: use Parquet for such values.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from leakcap.errors import DataError
from leakcap.release.engine.readings import ESCAPED

__all__ = ["chunks", "header", "pattern", "view"]

_CHUNK = 100_000


def header(path: Path, delimiter: str) -> list[str]:
    """The column names: the first line of the file."""
    with path.open("rb") as file:
        line = _text(file.readline()).removeprefix("\ufeff")
    try:
        names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        names = []
    lowered = [name.lower() for name in names]
    if not names or "" in names or len(set(lowered)) < len(lowered):
        raise DataError(
            f"`{path}` must start with a line of column names, each there once. `leakcap check` tells the "
            "owner what is wrong with it."
        )
    return names


def chunks(path: Path, delimiter: str) -> Iterator[list[str]]:
    """The lines below the header, with the delimiter in front of each, many at a time."""
    alone = len(header(path, delimiter)) == 1
    with path.open("rb") as file:
        file.readline()
        lines = (delimiter + text for text in map(_text, file) if text or alone)
        while chunk := list(islice(lines, _CHUNK)):
            yield chunk


def _text(line: bytes) -> str:
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", ESCAPED)


def pattern(delimiter: str) -> str:
    """The regular expression of one field of a line. It starts at a delimiter, so that empty fields count.

    >>> import re
    >>> re.findall(pattern(","), ',1,"a,b",')
    ['1', '"a,b"', '']
    """
    return f'{delimiter}("(?:[^"]|"")*"|[^"{delimiter}]*)'.replace("\t", r"\t")


def view(names: list[str], delimiter: str, lines: str) -> str:
    """The SQL that takes each line apart."""
    fields = f"regexp_extract_all(line, '{pattern(delimiter)}', 1)"
    columns = ", ".join(
        f"{_field(index)} AS {_identifier(name)}" for index, name in enumerate(names, start=1)
    )
    return f"SELECT {columns} FROM (SELECT {fields} AS fields FROM {lines})"


def _field(index: int) -> str:
    raw = f"fields[{index}]"
    inner = f"""replace({raw}[2:-2], '""', '"')"""
    return f"""CASE WHEN {raw} = '' THEN NULL WHEN {raw}[1:1] = '"' THEN {inner} ELSE {raw} END"""


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
