"""Answers as tables of pandas, Arrow and Polars, none of which leakcap needs itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from leakcap.errors import InvalidParameter
from leakcap.release.numbers.answers import Rows
from leakcap.release.numbers.exact_integers import doubles

__all__ = ["arrow_of", "pandas_of", "polars_of"]


def pandas_of(rows: Rows) -> Any:
    """A `pandas.DataFrame` of the columns that `Rows.columns` has. Integers beyond 64 bits stay Python's own.

    >>> pandas_of(Rows.of([])).columns.tolist()
    ['value', 'lower', 'upper']
    """
    pandas = _library("pandas", "to_pandas")
    numbers = _numbers(rows)
    return pandas.DataFrame(
        {name: numbers.get(name, column) for name, column in rows.columns().items()}, copy=True
    )


def arrow_of(rows: Rows) -> Any:
    """A `pyarrow.Table` of the columns that `Rows.columns` has.

    Arrow has no integers beyond 64 bits: values with one among them are doubles. Keys of several types are
    text.

    >>> arrow_of(Rows.of([])).column_names
    ['value', 'lower', 'upper']
    """
    pyarrow = _library("pyarrow", "to_arrow")
    return pyarrow.table(_typed(rows, pyarrow.array))


def polars_of(rows: Rows) -> Any:
    """A `polars.DataFrame` of the columns that `Rows.columns` has, with values and keys as Arrow gets them.

    >>> polars_of(Rows.of([])).columns
    ['value', 'lower', 'upper']
    """
    polars = _library("polars", "to_polars")
    return polars.DataFrame(_typed(rows, lambda column: polars.Series(values=column)))


def _typed(rows: Rows, column_of: Callable[[Any], Any]) -> dict[str, Any]:
    """The columns for a library that has no Python objects."""
    numbers = _numbers(rows)
    return {
        name: _keys(column_of, column)
        if name not in numbers
        else column_of(doubles(numbers[name]) if numbers[name].dtype == object else numbers[name])
        for name, column in rows.columns().items()
    }


def _numbers(rows: Rows) -> dict[str, Any]:
    """The last three columns as vectors, whose types do not hang on how many rows there are."""
    names = list(rows.columns())[-3:]
    return dict(zip(names, (rows.answers.values, rows.answers.lower, rows.answers.upper), strict=True))


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
