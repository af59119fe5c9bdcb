"""Channels on disk. The ending of the name says the format: .csv, .parquet or .json.

- **CSV, Parquet, wide**: a first row (column names) of output labels and a first column of input labels; the
  corner is ignored (written as `input`). A CSV whose corner is a number is a bare matrix without labels.
- **CSV, Parquet, long**: the columns `input`, `output`, `probability`, one row an entry, missing ones zero;
  read into (and written from) a sparse channel. Labels in order of first appearance.
- **JSON**: `{"inputs": […], "outputs": […], "matrix": [[…]]}`, labels optional, lists in labels read as
  tuples; or the nested list alone. A sparse channel is written with `"entries": [[row, column, p], …]`.

Entries are decimals, or fractions such as "1/3": with a fraction in it, a file is read exactly. Labels are
read as integers where all labels of that side are whole numbers, else all as text. Inputs that are all
written as `(0, 1, …)`, with equally many parts, are databases: tuples with one entry a record. In CSV
an apostrophe stands before a label that a spreadsheet would take for a formula, and is taken off by the
reader. An entry has at most 1,000 characters and an exponent from −400 to 400: 1e999999999 as a fraction
would have a billion digits.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from leakcap.channel.entries import scipy_sparse
from leakcap.errors import InvalidChannel, LeakcapError
from leakcap.plain import csv_text, json_text, label_of_cell, plain

__all__ = ["load", "save"]

_LONG = ["input", "output", "probability"]
_MOST_CELL, _MOST_POWER = 1000, 400
_MOST_DIGITS = 1000  # Python reads integers of up to 4,300
_POWER = re.compile(r"[eE][+-]?0*([0-9_]+)")


Made = TypeVar("Made")


class Contents(NamedTuple):
    """What a file says: entries, and the labels of both sides, where it has any."""

    entries: Any
    inputs: Sequence[Hashable] | None = None
    outputs: Sequence[Hashable] | None = None


class Writable(Protocol):
    """What a channel's file is written from."""

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The labels of the rows."""

    @property
    def outputs(self) -> Sequence[Hashable]:
        """The labels of the columns."""

    @property
    def matrix(self) -> Any:
        """The entries as doubles."""

    @property
    def sparse(self) -> Any:
        """The entries of a sparse channel, or None."""

    @property
    def exact(self) -> Any:
        """The entries of an exact channel as fractions, or None."""


def load(path: str | PathLike[str], make: Callable[..., Made]) -> Made:
    """What `make(entries, inputs=…, outputs=…)` makes of a file; errors are `InvalidChannel`."""
    file = Path(path)
    reader = _format(file)[0]
    if not file.is_file():
        raise InvalidChannel(
            f"`path` of `Channel.load` must be a file. Got {file.name!r}, which is not there."
        )
    if file.stat().st_size == 0:
        raise InvalidChannel(f"{file.name!r} must hold a matrix. Got an empty file.")
    try:
        found = reader(file)
        return make(found.entries, inputs=found.inputs, outputs=found.outputs)
    except LeakcapError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InvalidChannel(
            f"{file.name!r} must hold a matrix. Got something else. Correct the file."
        ) from None


def save(channel: Writable, path: str | PathLike[str]) -> None:
    """Write a channel; errors are `InvalidChannel`."""
    file = Path(path)
    _format(file)[1](channel, file)


def _format(file: Path) -> tuple[Callable[[Path], Contents], Callable[[Writable, Path], None]]:
    pair = _FORMATS.get(file.suffix.lower())
    if pair is None:
        raise InvalidChannel(
            f"the name of a channel's file must end in {', '.join(_FORMATS)}. "
            f"Got {file.name!r}. Rename or convert it."
        )
    return pair


def _load_csv(file: Path) -> Contents:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            lines = [[cell.strip() for cell in line] for line in csv.reader(stream) if line]
    except (csv.Error, UnicodeDecodeError):
        raise InvalidChannel(f"{file.name!r} must be CSV in UTF-8. Got something else.") from None
    if not lines:
        raise InvalidChannel(f"{file.name!r} must hold a matrix. Got blank lines only.")
    width = len(lines[0])
    for number, line in enumerate(lines, start=1):
        if len(line) != width:
            raise InvalidChannel(
                f"lines of {file.name!r} must have equal lengths. Got "
                f"{len(line)} cells in line {number}, not {width}."
            )
    if lines[0] == _LONG:
        return _from_long([(label_of_cell(a), label_of_cell(b), _number(p)) for a, b, p in lines[1:]])
    if _is_number(lines[0][0]):
        return Contents(_numbers(lines))
    inputs, outputs = [label_of_cell(line[0]) for line in lines[1:]], map(label_of_cell, lines[0][1:])
    return _labelled(inputs, list(outputs), _numbers([line[1:] for line in lines[1:]]))


def _load_parquet(file: Path) -> Contents:
    import duckdb

    with duckdb.connect() as connection:
        try:
            columns = connection.execute("SELECT * FROM read_parquet(?)", [str(file)]).fetchnumpy()
        except duckdb.Error:
            raise InvalidChannel(f"{file.name!r} must be a Parquet file. Got something else.") from None
    names = list(columns)
    lists = [[None if np.ma.is_masked(v) else v for v in columns[name]] for name in names]
    if any(value is None for column in lists for value in column):
        raise InvalidChannel(f"{file.name!r} must have no missing values. Got a null.")
    if names == _LONG:
        return _from_long([(a, b, _number(p)) for a, b, p in zip(*lists, strict=True)])
    matrix = [[_number(v) for v in row] for row in zip(*lists[1:], strict=True)]
    return _labelled([str(v).strip() for v in lists[0]], [name.strip() for name in names[1:]], matrix)


def _load_json(file: Path) -> Contents:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InvalidChannel(f"{file.name!r} must be JSON in UTF-8. Got something else.") from None
    if isinstance(content, list):
        content = {"matrix": content}
    if not isinstance(content, dict) or not ({"matrix", "entries"} & set(content)):
        raise InvalidChannel(f"{file.name!r} must hold a matrix. Write it under the key `matrix`.")
    inputs, outputs = (_tuples(content.get(key)) for key in ("inputs", "outputs"))
    if "matrix" in content:
        rows = content["matrix"]
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise InvalidChannel(f"`matrix` in {file.name!r} must be a list of rows. Got something else.")
        return Contents(_numbers(rows), inputs=inputs, outputs=outputs)
    if inputs is None or outputs is None:
        raise InvalidChannel(f"`entries` in {file.name!r} must come with `inputs` and `outputs`. Add both.")
    try:
        rows, columns, values = zip(*content["entries"], strict=True)
        table = scipy_sparse().csr_array((values, (rows, columns)), shape=(len(inputs), len(outputs)))
    except (TypeError, ValueError):
        raise InvalidChannel(f"`entries` in {file.name!r} must be [row, column, probability] each.") from None
    return Contents(table, inputs=inputs, outputs=outputs)


def _labelled(inputs: Sequence[str], outputs: Sequence[str], matrix: list[list[Any]]) -> Contents:
    if not matrix or not outputs:
        raise InvalidChannel(
            "a labelled channel must have output labels in the "
            "first row and input labels in the first column, "
            "and at least one entry. Got no entries. Start the file with a number if it has no labels."
        )
    return Contents(matrix, inputs=_labels(inputs), outputs=_labels(outputs))


def _from_long(entries: list[tuple[Any, Any, Any]]) -> Contents:
    rows = {x: i for i, x in enumerate(dict.fromkeys(str(x) for x, _, _ in entries))}
    columns = {y: i for i, y in enumerate(dict.fromkeys(str(y) for _, y, _ in entries))}
    place = [rows[str(x)] for x, _, _ in entries], [columns[str(y)] for _, y, _ in entries]
    if len(set(zip(*place, strict=True))) != len(entries):
        raise InvalidChannel("a long table must name each entry once. Got an input and output twice.")
    values = np.array([float(p) for _, _, p in entries])
    table = scipy_sparse().csr_array((values, place), shape=(len(rows), len(columns)))
    return Contents(table, inputs=_labels(list(rows)), outputs=_labels(list(columns)))


def _labels(texts: Sequence[str]) -> list[Hashable]:
    """Labels of one side: databases, else integers where all are, else text."""
    records = [_records(text) for text in texts]
    first = records[0] if records else None
    if first is not None and all(parts is not None and len(parts) == len(first) for parts in records):
        columns = [_plain_labels(column) for column in zip(*(parts or () for parts in records), strict=True)]
        return list(zip(*columns, strict=True))
    return _plain_labels(texts)


def _records(text: str) -> list[str] | None:
    """The parts of `(a, b, …)`; None for anything else."""
    if not (text.startswith("(") and text.endswith(")")) or "," not in text:
        return None
    parts = [part.strip() for part in text[1:-1].removesuffix(",").split(",")]
    return parts if all(part and not set("()") & set(part) for part in parts) else None


def _plain_labels(texts: Sequence[str]) -> list[Hashable]:
    return [int(text) for text in texts] if all(map(_is_integer, texts)) else list(texts)


def _is_integer(text: str) -> bool:
    """Whether a whole number is written as Python writes it: 07 and -0 are text."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and str(int(text)) == text


def _tuples(labels: Any) -> Any:
    return None if labels is None else [_tuple(v) for v in labels]


def _tuple(value: Any) -> Any:
    return tuple(_tuple(v) for v in value) if isinstance(value, list) else value


def _require_sound(cell: str) -> None:
    """Raise `InvalidChannel` for what no reader should turn into a number: it would never end."""
    shown = cell if len(cell) <= 40 else f"{cell[:40]}…"
    if len(cell) > _MOST_CELL:
        raise InvalidChannel(
            f"entries of a channel must have at most {_MOST_CELL:,} characters. Got {shown!r}. Round it."
        )
    power = _POWER.search(cell)
    if power is not None and (len(power[1]) > 6 or int(power[1].replace("_", "") or 0) > _MOST_POWER):
        raise InvalidChannel(
            f"exponents of a channel's entries must lie between −{_MOST_POWER} and {_MOST_POWER}. "
            f"Got {shown!r}. Write 0 for what is as small."
        )


def _is_number(cell: str) -> bool:
    if cell[:1] in "+-.0123456789":
        _require_sound(cell)
    try:
        Fraction(cell)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _number(cell: Any) -> Any:
    """A fraction, kept as one until it is known whether the file is exact."""
    if isinstance(cell, str):
        _require_sound(cell)
        try:
            return Fraction(cell) if "/" in cell else float(cell)
        except (ValueError, ZeroDivisionError):
            raise InvalidChannel(
                "entries of a channel must be numbers such as 0.25 "
                f"or 1/4. Got {cell!r}. Correct it in the file."
            ) from None
    if isinstance(cell, bool) or not isinstance(cell, (int, float, np.number)):
        raise InvalidChannel(
            f"entries of a channel must be numbers. Got {type(cell).__name__}. Correct the file."
        )
    return float(cell)


def _numbers(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    exact = any(isinstance(cell, str) and "/" in cell for row in rows for cell in row)
    if not exact:
        return [[_number(cell) for cell in row] for row in rows]
    _ = [_number(cell) for row in rows for cell in row]  # the message names the first wrong cell
    return [[Fraction(str(cell)) for cell in row] for row in rows]


def _texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels as CSV and Parquet hold them, refused where reading would not give the same ones back."""
    texts = [_text(label) for label in labels]
    if _labels([text.strip() for text in texts]) != list(labels):
        raise InvalidChannel(
            "labels in CSV and Parquet must be all whole numbers, all text (not all of it digits), or all "
            f"tuples of these. Got {len(labels)} labels that would be read as others. "
            "Use JSON, or `Channel.relabelled`."
        )
    return texts


def _cells(labels: Sequence[Hashable]) -> list[int | str]:
    """Labels as CSV holds them: whole numbers as they are, text that may need an apostrophe."""
    cells = [one if isinstance(one, int) else text for one, text in zip(labels, _texts(labels), strict=True)]
    for cell in cells:
        if plain(str(cell), keep="") != str(cell):
            raise InvalidChannel(
                f"labels must be text without control characters in CSV. Got {plain(str(cell), keep='')!r}. "
                "Use JSON, or `Channel.relabelled`."
            )
    return cells


def _text(label: Hashable) -> str:
    if isinstance(label, tuple) and label:
        return f"({', '.join(map(_text, label))}{',' if len(label) == 1 else ''})"
    if isinstance(label, bool) or not isinstance(label, (str, int)):
        raise InvalidChannel(
            "labels in CSV and Parquet must be text, whole numbers or tuples of these. "
            f"Got {type(label).__name__}. Use JSON, or `Channel.relabelled`."
        )
    return str(label)


def _plain(channel: Writable) -> list[list[Any]]:
    if channel.exact is not None:
        return [[str(v) for v in row] for row in channel.exact]
    return [[float(v) for v in row] for row in channel.matrix]


def _long(channel: Writable, written: Callable[[Sequence[Hashable]], Sequence[int | str]]) -> dict[str, Any]:
    table = channel.sparse.tocoo() if channel.sparse is not None else None
    if table is None:
        raise InvalidChannel("only a sparse channel is written in long form.")
    inputs = np.array(written(channel.inputs), dtype=object)
    outputs = np.array(written(channel.outputs), dtype=object)
    return dict(zip(_LONG, (inputs[table.coords[0]], outputs[table.coords[1]], table.data), strict=True))


def _save_csv(channel: Writable, file: Path) -> None:
    if channel.sparse is not None:
        lines = [_LONG, *zip(*(column.tolist() for column in _long(channel, _cells).values()), strict=True)]
    else:
        rows = [[x, *row] for x, row in zip(_cells(channel.inputs), _plain(channel), strict=True)]
        lines = [["input", *_cells(channel.outputs)], *rows]
    file.write_text(csv_text(lines), encoding="utf-8")


def _save_parquet(channel: Writable, file: Path) -> None:
    import duckdb

    if channel.exact is not None:
        raise InvalidChannel(
            "an exact channel must be saved as CSV or JSON: Parquet has no fractions. Got Parquet."
        )
    if channel.sparse is not None:
        columns = _long(channel, _texts)
    else:
        columns = {"input": np.array(_texts(channel.inputs), dtype=object)}
        columns |= {
            y: np.ascontiguousarray(channel.matrix[:, i]) for i, y in enumerate(_texts(channel.outputs))
        }
    target = str(file).replace("'", "''")
    with duckdb.connect() as connection:
        connection.register("entries", columns)
        connection.execute(f"COPY entries TO '{target}' (FORMAT parquet)")


def _save_json(channel: Writable, file: Path) -> None:
    content: dict[str, Any] = {"inputs": list(channel.inputs), "outputs": list(channel.outputs)}
    if channel.sparse is not None:
        table = channel.sparse.tocoo()
        parts = (table.coords[0].tolist(), table.coords[1].tolist(), table.data.tolist())
        content["entries"] = [list(entry) for entry in zip(*parts, strict=True)]
    else:
        content["matrix"] = _plain(channel)
    try:
        text = json_text(content)
    except TypeError:
        raise InvalidChannel(
            "labels must be text, numbers or tuples of them in JSON. Use `Channel.relabelled`."
        ) from None
    file.write_text(text, encoding="utf-8")


_FORMATS: dict[str, tuple[Callable[[Path], Contents], Callable[[Writable, Path], None]]] = {
    ".csv": (_load_csv, _save_csv),
    ".parquet": (_load_parquet, _save_parquet),
    ".json": (_load_json, _save_json),
}
