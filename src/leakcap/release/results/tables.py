"""Answers as tables of pandas and Arrow, neither of which leakcap needs itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from leakcap.errors import InvalidParameter
from leakcap.release.numbers.answers import Rows
from leakcap.release.numbers.exact_integers import doubles

__all__ = ["arrow_of", "pandas_of"]


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
    numbers = _numbers(rows)
    return pyarrow.table(
        {
            name: _keys(pyarrow, column)
            if name not in numbers
            else pyarrow.array(doubles(numbers[name]) if numbers[name].dtype == object else numbers[name])
            for name, column in rows.columns().items()
        }
    )


def _numbers(rows: Rows) -> dict[str, Any]:
    """The last three columns as vectors, whose types do not hang on how many rows there are."""
    names = list(rows.columns())[-3:]
    return dict(zip(names, (rows.answers.values, rows.answers.lower, rows.answers.upper), strict=True))


def _keys(pyarrow: Any, column: list[Any]) -> Any:
    if len(set(map(type, column))) > 1:
        return pyarrow.array(list(map(str, column)))
    try:
        return pyarrow.array(column)
    except OverflowError:
        return pyarrow.array(list(map(str, column)))


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        pass
    raise InvalidParameter(
        f"`{method}` of `Release` needs {name}, which is not installed. Run `pip install {name}`."
    )
