"""Answers as tables of pandas, Arrow and Polars, none of which leakcap needs itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidParameter
from leakcap.release.numbers.answers import Rows, own_heads
from leakcap.release.numbers.exact_integers import doubles
from leakcap.release.results.pivot import FLAG, PARTS, Layout, wide_columns

__all__ = ["arrow_of", "pandas_of", "polars_of"]

Marked: TypeAlias = "Sequence[bool] | NDArray[np.bool_]"
"""For each row whether its noise drowns the value."""


def pandas_of(rows: Rows, marked: Marked, layout: Layout | None = None) -> Any:
    """A `pandas.DataFrame` of the columns that `Rows.columns` has and `flag`, or those of a pivot
    (`wide_columns`). `flag` is u for the rows that are `marked`, and empty text for the others.

    Integers beyond 64 bits stay Python's own.

    >>> from leakcap.release.numbers.answers import Row
    >>> rows = Rows.of([Row({"ward": "a"}, 5, (-4.0, 14.0)), Row({"ward": "b"}, 90, (81.0, 99.0))])
    >>> pandas_of(rows, [True, False]).to_dict("list")
    {'ward': ['a', 'b'], 'value': [5, 90], 'lower': [-4.0, 81.0], 'upper': [14.0, 99.0], 'flag': ['u', '']}
    """
    pandas = _library("pandas", "to_pandas")
    if layout is not None:
        return pandas.DataFrame(_wide(rows, marked, layout))
    numbers = _numbers(rows, marked)
    columns = {name: column for name, column in rows.columns().items() if name not in numbers}
    return pandas.DataFrame(columns | numbers, copy=True)


def arrow_of(rows: Rows, marked: Marked, layout: Layout | None = None) -> Any:
    """A `pyarrow.Table` of the columns of `pandas_of`.

    Arrow has no integers beyond 64 bits: values with one among them are doubles. Keys of several types are
    text.

    >>> arrow_of(Rows.of([]), []).column_names
    ['value', 'lower', 'upper', 'flag']
    """
    pyarrow = _library("pyarrow", "to_arrow")
    return pyarrow.table(_typed(rows, marked, layout, pyarrow.array))


def polars_of(rows: Rows, marked: Marked, layout: Layout | None = None) -> Any:
    """A `polars.DataFrame` of the columns of `pandas_of`, with values and keys as Arrow gets them.

    >>> polars_of(Rows.of([]), []).columns
    ['value', 'lower', 'upper', 'flag']
    """
    polars = _library("polars", "to_polars")
    return polars.DataFrame(_typed(rows, marked, layout, lambda column: polars.Series(values=column)))


def _wide(rows: Rows, marked: Marked, layout: Layout) -> dict[str, list[Any]]:
    heads, lines = wide_columns(rows, layout, _flags(marked).tolist())
    found = list(lines)
    return {head: [line[place] for line in found] for place, head in enumerate(heads)}


def _typed(
    rows: Rows, marked: Marked, layout: Layout | None, column_of: Callable[[Any], Any]
) -> dict[str, Any]:
    """The columns for a library that has no Python objects."""
    if layout is not None:
        keys = len(layout.down)
        wide = _wide(rows, marked, layout)
        return {
            name: _keys(column_of, column) if place < keys else _cells(column_of, column)
            for place, (name, column) in enumerate(wide.items())
        }
    numbers = _numbers(rows, marked)
    columns = rows.columns().items()
    found = {name: _keys(column_of, column) for name, column in columns if name not in numbers}
    return found | {
        name: column_of(doubles(own) if own.dtype == object else own) for name, own in numbers.items()
    }


def _numbers(rows: Rows, marked: Marked) -> dict[str, NDArray[Any]]:
    """The last four columns as vectors, whose types do not hang on how many rows there are."""
    found = rows.answers
    columns = (found.values, found.lower, found.upper, _flags(marked))
    return dict(zip(own_heads(rows.labels, PARTS), columns, strict=True))


def _flags(marked: Marked) -> NDArray[np.str_]:
    return np.where(np.asarray(marked, dtype=bool), FLAG, "")


def _cells(column_of: Callable[[Any], Any], column: list[Any]) -> Any:
    """Numbers, doubles where an integer has more than 64 bits; nothing in empty cells."""
    try:
        return column_of(column)
    except OverflowError:
        return column_of([None if one is None else float(one) for one in column])


def _keys(column_of: Callable[[Any], Any], column: list[Any]) -> Any:
    if len(set(map(type, column))) > 1:
        return column_of(list(map(str, column)))
    try:
        return column_of(column)
    except OverflowError:
        return column_of(list(map(str, column)))


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        pass
    raise InvalidParameter(
        f"`{method}` of `Release` needs {name}, which is not installed. Run `pip install {name}`."
    )
