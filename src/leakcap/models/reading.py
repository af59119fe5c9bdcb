"""X and y as they are given to `fit`: refused for what is public about them, read value by value.

Public is what type of thing they are, a NumPy array's shape and dtype, a table's columns, and how many rows
there are under replace-one. Python's lists say nothing of themselves: how long their rows are is known from
the rows alone, of which each is somebody's, so that the model must say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidInput
from leakcap.models.columns import column_cells, columns_of, is_column, library_of
from leakcap.models.values import Floats, numbers_of, objects_of, row_of

__all__ = ["doubles_of", "features_of", "targets_of"]


def features_of(X: ArrayLike, owner: str, width: int | None = None) -> Floats:
    """`X` as a matrix of doubles with a row for each example; `width` is the declared number of features.

    What is no number is NaN; NaN and ±∞ stay. Raises `InvalidInput` for what `X` is, never for a value in it.

    >>> features_of([[1, 2], [3, "a"], [4]], "RidgeRegression", 2).tolist()
    [[1.0, 2.0], [3.0, nan], [nan, nan]]
    """
    if hasattr(type(X), "tocsr"):
        raise InvalidInput(f"`{owner}` reads no sparse matrix: clamping would fill it. Give a dense one.")
    if library_of(X) is not None:
        columns = [doubles_of(column_cells(column, owner)) for column in columns_of(X, owner)]
        rows = np.column_stack(columns) if columns else np.zeros((0, 0))
    else:
        given = _given(X, "X", owner)
        rows = (
            _of_rows(given, owner, width)
            if given.dtype == object and given.ndim == 1
            else _doubled(given, owner)
        )
    if rows.shape[1] == 0:
        raise InvalidInput(
            f"Found array with 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required by "
            f"`{owner}`."
        )
    if width is not None and rows.shape[1] != width:
        raise InvalidInput(
            f"`X` of `{owner}` must have the {width} features that were declared. Got {rows.shape[1]}."
        )
    # Row after row in memory: a row is then computed alike whatever the others are.
    return np.ascontiguousarray(rows, dtype=np.float64)


def _given(data: Any, name: str, owner: str) -> NDArray[Any]:
    """An array as it is; of a sequence, a vector of its objects."""
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(object), None))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes | bytearray | memoryview):
        return objects_of(data)
    if hasattr(type(data), "__array__") or isinstance(data, memoryview):
        return np.asarray(data)
    raise InvalidInput(
        f"`{name}` of `{owner}` must be an array, a table of pandas, Polars or Arrow, or a list. "
        f"Got `{type(data).__name__}`."
    )


def _of_rows(given: NDArray[Any], owner: str, width: int | None) -> Floats:
    if width is None:
        raise InvalidInput(
            f"`X` of `{owner}` is a list, and how many features there are is known from its rows alone. Say "
            "`n_features=…` to the model, or give a NumPy array of dtype float64."
        )
    return np.array([row_of(row, width) for row in given], dtype=np.float64).reshape(len(given), width)


def _doubled(given: NDArray[Any], owner: str) -> Floats:
    _require_numbers(given, "X", owner)
    if given.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {given.ndim}D array instead in `{owner}`. Reshape your data: one row "
            "for each example."
        )
    return doubles_of(given)


def _require_numbers(given: NDArray[Any], name: str, owner: str) -> None:
    if given.dtype.kind == "c":
        raise InvalidInput(f"Complex data not supported by `{owner}`.")
    if given.dtype.kind not in "biufO":
        raise InvalidInput(
            f"`{name}` of `{owner}` must hold numbers. Got an array of {given.dtype}. Give one of dtype "
            "float64."
        )


def doubles_of(raw: NDArray[Any]) -> Floats:
    """The array in doubles of the same shape; NaN stands for what is no number.

    >>> doubles_of(np.array([2, "?"], dtype=object)).tolist()
    [2.0, nan]
    """
    if raw.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return raw.astype(np.float64)
    return numbers_of(raw.ravel().tolist(), raw.size).reshape(raw.shape)


def targets_of(y: ArrayLike | None, rows: int, owner: str, *, labels: bool = False) -> NDArray[Any]:
    """`y` as a vector of numbers or of objects, with as many entries as there are rows.

    Text may stand in an array of its own only where `labels` are wanted.

    >>> targets_of([1, [2]], 2, "RidgeRegression").tolist()
    [1, [2]]
    """
    if y is None:
        raise InvalidInput(f"`{owner}` requires y to be passed, but the target y is None.")
    targets = _vector(y, owner)
    if not (labels and targets.dtype.kind in "US"):
        _require_numbers(targets, "y", owner)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1:
        raise InvalidInput(f"y should be a 1d array, got an array of shape {targets.shape} in `{owner}`.")
    if targets.shape[0] != rows:
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples in `{owner}`: {rows} rows of X "
            f"and {targets.shape[0]} of y."
        )
    return targets


def _vector(y: Any, owner: str) -> NDArray[Any]:
    if library_of(y) is None:
        return _given(y, "y", owner)
    if is_column(y) or not hasattr(y, "columns"):
        return column_cells(y, owner)
    columns = columns_of(y, owner)
    if len(columns) != 1:
        raise InvalidInput(f"y should be one column, got {len(columns)} in `{owner}`.")
    return column_cells(columns[0], owner)
