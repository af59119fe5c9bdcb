"""Every way in which X and y may be handed to `fit`, and tables that differ in one row that lies.

A way takes rows of Python objects and makes of them what a user would hand over. Where the library that makes
it refuses (NumPy has no doubles for text), the way is closed to that row, and nothing reaches leakcap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow

from hostile import everything

__all__ = ["STYLES", "WAYS", "Closed", "Pair", "pairs"]

Rows = list[Any]
Given = tuple[Any, Any]
Way = Callable[[Rows, list[Any]], Given]


class Closed(Exception):
    """The library that a user would convert with refuses the row."""


def _cells(rows: Rows) -> np.ndarray[Any, Any]:
    """A matrix of objects; only rows that are rows can stand in it."""
    table = np.empty((len(rows), 2), dtype=object)
    for place, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 2:
            raise Closed
        table[place, 0], table[place, 1] = row
    return table


def _vector(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


def _columns(rows: Rows) -> list[list[Any]]:
    table = _cells(rows)
    return [table[:, 0].tolist(), table[:, 1].tolist()]


def _lists(row: Callable[[Any], Any], outer: Callable[[Any], Any]) -> Way:
    def way(rows: Rows, labels: list[Any]) -> Given:
        made = [row(one) if isinstance(one, list) and len(one) == 2 else one for one in rows]
        return outer(made), outer(labels)

    return way


def _numpy(dtype: Any, *, order: Any = "C") -> Way:
    def way(rows: Rows, labels: list[Any]) -> Given:
        return _cells(rows).astype(dtype, order=order), _vector(labels).astype(dtype)

    return way


def _masked(rows: Rows, labels: list[Any]) -> Given:
    missing = [[cell is None for cell in row] for row in _cells(rows).tolist()]
    return np.ma.masked_array(_numpy(float)(rows, labels)[0], mask=missing), labels


def _rows_of_arrays(rows: Rows, labels: list[Any]) -> Given:
    return _vector([_vector(row) if isinstance(row, list) else row for row in rows]), _vector(labels)


def _pandas(dtype: Any = None) -> Way:
    def way(rows: Rows, labels: list[Any]) -> Given:
        first, second = (pandas.Series(column, dtype=dtype) for column in _columns(rows))
        return pandas.DataFrame({"a": first, "b": second}), pandas.Series(labels, dtype=dtype)

    return way


def _sparse(rows: Rows, labels: list[Any]) -> Given:
    return _pandas(pandas.SparseDtype("float64"))(rows, labels)


def _polars(dtype: Any, *, strict: bool = True) -> Way:
    def way(rows: Rows, labels: list[Any]) -> Given:
        first, second = (polars.Series(column, dtype=dtype, strict=strict) for column in _columns(rows))
        return polars.DataFrame({"a": first, "b": second}), polars.Series(labels, dtype=dtype, strict=strict)

    return way


def _arrow(dtype: Any) -> Way:
    def made(values: list[Any]) -> Any:
        return pyarrow.array(values, type=dtype)

    def way(rows: Rows, labels: list[Any]) -> Given:
        first, second = map(made, _columns(rows))
        return pyarrow.table({"a": first, "b": second}), made(labels)

    return way


def _arrow_text(kind: Any, *, dictionary: bool = False) -> Way:
    """Text of which nobody looked whether it is Unicode, as files and other languages hand it over."""

    def made(values: list[Any]) -> Any:
        stored = [one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in values]
        known = [one if isinstance(one, bytes) or one is None else str(one).encode() for one in stored]
        plain = pyarrow.array(known, type=pyarrow.binary())
        text = pyarrow.Array.from_buffers(pyarrow.string(), len(plain), plain.buffers())
        if not dictionary:
            return text.cast(kind) if kind != pyarrow.string() else text
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(range(len(text))), text)

    def way(rows: Rows, labels: list[Any]) -> Given:
        first, second = map(made, _columns(rows))
        return pyarrow.table({"a": first, "b": second}), made(labels)

    return way


def _framed(way: Way) -> Way:
    """An Arrow table as pandas holds it."""

    def framed(rows: Rows, labels: list[Any]) -> Given:
        X, y = way(rows, labels)
        return X.to_pandas(types_mapper=pandas.ArrowDtype), pandas.Series(
            pandas.arrays.ArrowExtensionArray(y)
        )

    return framed


_NUMBERS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g")
_ARROW = (
    *(None, pyarrow.bool_(), pyarrow.int8(), pyarrow.int64(), pyarrow.uint64(), pyarrow.float16()),
    *(pyarrow.float32(), pyarrow.float64(), pyarrow.decimal128(38, 9), pyarrow.decimal256(70, 20)),
    *(pyarrow.binary(), pyarrow.timestamp("us"), pyarrow.date32(), pyarrow.duration("s")),
)
_POLARS = (
    *(polars.Float32, polars.Float64, polars.Int8, polars.Int64, polars.UInt64, polars.Int128),
    *(polars.Boolean, polars.String, polars.Binary, polars.Object, polars.Decimal(38, 9), polars.Datetime),
)
_EXTENSIONS = ("Int64", "UInt8", "Float64", "boolean", "string", "category", "datetime64[ns]", "complex128")

WAYS: dict[str, Way] = {
    "lists": _lists(list, list),
    "tuples": _lists(tuple, tuple),
    "list of tuples": _lists(tuple, list),
    "list of arrays": _lists(lambda row: _vector(row), list),
    "array of rows": _rows_of_arrays,
    "array of objects": _numpy(object),
    "Fortran's order": _numpy(object, order="F"),
    "masked": _masked,
    **{f"numpy {one}": _numpy(one) for one in (*_NUMBERS, "c16", "U9", "S9", "M8[s]", "m8[s]")},
    "pandas": _pandas(),
    "pandas object": _pandas(object),
    **{f"pandas {one}": _pandas(one) for one in (*_NUMBERS[:-1], *_EXTENSIONS)},
    "pandas sparse": _sparse,
    "polars": _polars(None),
    **{f"polars {one}": _polars(one, strict=False) for one in _POLARS},
    **{f"arrow {one}": _arrow(one) for one in _ARROW},
    **{f"pandas of arrow {one}": _framed(_arrow(one)) for one in _ARROW},
    "arrow text": _arrow_text(pyarrow.string()),
    "arrow large text": _arrow_text(pyarrow.large_string()),
    "arrow text views": _arrow_text(pyarrow.string_view()),
    "arrow dictionary": _arrow_text(None, dictionary=True),
    "pandas of arrow text": _framed(_arrow_text(pyarrow.string())),
    "pandas of arrow dictionary": _framed(_arrow_text(None, dictionary=True)),
}

STYLES: dict[str, Callable[[int], Any]] = {"truth": bool, "whole": int, "float": float, "text": str}
"""As what the well-behaved rows hold their zeros and ones."""

_PLAIN = [(0, 1, 1), (1, 0, 0), (1, 1, 1), (0, 0, 0), (1, 0, 1), (0, 1, 0)]
_PLACE = 3


@dataclass(frozen=True)
class Pair:
    """A way, and what stands where in the row that lies: in a cell, as the target, or in the row's place."""

    way: str
    style: str
    where: str
    value: Any

    def given(self, *, lies: bool) -> Given:
        """The table, or its neighbour; `Closed` where the user's own library refuses it."""
        as_ = STYLES[self.style]
        rows: Rows = [[as_(a), as_(b)] for a, b, _ in _PLAIN]
        labels = [as_(label) for *_, label in _PLAIN]
        if lies:
            first, second = rows[_PLACE]
            rows[_PLACE] = {
                "first": [self.value, second],
                "second": [first, self.value],
                "target": [first, second],
                "row": self.value,
                "short": [self.value],
                "long": [self.value] * 3,
            }[self.where]
            if self.where == "target":
                labels[_PLACE] = self.value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return WAYS[self.way](rows, labels)
            except BaseException as refusal:
                # Polars panics where it meets a decimal that is no number.
                if isinstance(refusal, Exception) or type(refusal).__name__ == "PanicException":
                    raise Closed from refusal
                raise


def _deep(value: Any) -> bool:
    """What libraries in C would follow to the end of the stack."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list) and bool(value[0])


def _panics(value: Any) -> bool:
    """At what Polars' own constructors panic, before leakcap sees anything."""
    if isinstance(value, Decimal):
        return not (value.is_finite() and abs(value.adjusted()) < 50)
    return type(value).__module__ == "hostile" or (isinstance(value, int) and abs(value) > 10**400)


def pairs() -> Iterator[Pair]:
    """All of them."""
    for way in WAYS:
        listed = way in ("lists", "tuples", "list of tuples", "list of arrays", "array of rows")
        places = ("first", "second", "target", *(("row", "short", "long") if listed else ()))
        for value in everything():
            if (_deep(value) and not listed) or (way.startswith("polars") and _panics(value)):
                continue
            for style in STYLES:
                for where in places:
                    yield Pair(way, style, where, value)
