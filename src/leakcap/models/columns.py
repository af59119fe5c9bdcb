"""Columns of pandas, Polars and Arrow tables as vectors: numbers as they are, anything else object by object.

The type of such a column may follow from its values: a text among truth values makes a pandas column one of
objects, a missing one among integers makes it one of floats. So no type that values can bring about is
refused here, and none changes what another value is read as. What holds neither numbers nor labels is
missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidInput
from leakcap.models.values import objects_of

__all__ = ["column_cells", "columns_of", "is_column", "library_of"]

_LIBRARIES = ("pandas", "polars", "pyarrow")
_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_POLARS_NUMBERS = ("Float32", "Float64", *_WHOLE)
_POLARS_OTHERS = ("Boolean", "String", "Categorical", "Enum", "Binary", "Object")


def library_of(data: object) -> str | None:
    """Which library's table or column this is; None where it is none.

    >>> library_of([1, 2]) is None
    True
    """
    name = type(data).__module__.partition(".")[0]
    return name if name in _LIBRARIES else None


def is_column(data: Any) -> bool:
    """Whether it is one column rather than a table."""
    # Asked of the class: a lazy table would have to be worked out to say its own.
    return not hasattr(type(data), "columns")


def columns_of(table: Any, owner: str) -> list[Any]:
    """The columns of a table. A lazy one is refused: its computations may stop at a row."""
    library = library_of(table)
    if library == "pandas" and not is_column(table):
        return [table.iloc[:, place] for place in range(table.shape[1])]
    if library == "polars" and hasattr(table, "get_columns"):
        return list(table.get_columns())
    if library == "pyarrow" and hasattr(table, "num_columns"):
        return list(table.columns)
    kind = type(table).__name__
    raise InvalidInput(
        f"`{owner}` reads no `{kind}`. Give a table that is worked out, with a column for each feature."
    )


def column_cells(column: Any, owner: str) -> NDArray[Any]:
    """The column as a vector of numbers or of objects."""
    library = library_of(column)
    if library == "pandas":
        return _of_pandas(column, owner)
    return _of_polars(column) if library == "polars" else _of_arrow(column)


def _missing(count: int) -> NDArray[Any]:
    return np.full(count, None, dtype=object)


def _of_pandas(column: Any, owner: str) -> NDArray[Any]:
    values, dtype = getattr(column, "array", column), column.dtype
    if isinstance(dtype, np.dtype):
        raw = column.to_numpy()
        return raw if dtype.kind in "biufO" else _real_part(raw)
    kind = type(dtype).__name__
    if kind == "ArrowDtype" or "pyarrow" in str(getattr(dtype, "storage", "")):
        return _of_arrow(values.__arrow_array__())
    if kind == "CategoricalDtype":
        # The codes of missing values are -1, which is the place of the last.
        known = column_cells(dtype.categories.to_series(), owner).tolist()
        return np.asarray(objects_of([*known, None])[values.codes])
    if kind == "SparseDtype":
        return _of_pandas(type(column)(values.to_dense()), owner)
    if kind == "StringDtype" or hasattr(dtype, "numpy_dtype"):
        return np.asarray(column.to_numpy(dtype=object, na_value=None))
    if dtype.kind in "mMO" or kind in ("PeriodDtype", "IntervalDtype"):
        return _missing(len(column))
    raise InvalidInput(f"`{owner}` reads no column of `{dtype}`. Give numbers or labels.")


def _real_part(raw: NDArray[Any]) -> NDArray[Any]:
    """Complex numbers that are real: one that is not makes the whole column complex."""
    if raw.dtype.kind != "c":
        return _missing(len(raw))
    return np.where(raw.imag == 0, raw.real, np.nan)


def _of_polars(column: Any) -> NDArray[Any]:
    kind = column.dtype.base_type().__name__
    if kind in _POLARS_NUMBERS and not column.null_count():
        return np.asarray(column.to_numpy())
    if column.dtype.is_numeric() or kind in _POLARS_OTHERS:
        return objects_of(column.to_list())
    return _missing(len(column))


def _of_arrow(column: Any) -> NDArray[Any]:
    """Of an Arrow array, in one piece or several."""
    pieces = column.chunks if hasattr(column, "chunks") else [column]
    found = [_of_piece(piece) for piece in pieces]
    return found[0] if len(found) == 1 else objects_of([cell for part in found for cell in part.tolist()])


def _of_piece(piece: Any) -> NDArray[Any]:
    import pyarrow
    from pyarrow import types

    kind = piece.type
    if types.is_dictionary(kind):
        return _of_piece(piece.dictionary_decode())
    if isinstance(piece, pyarrow.ExtensionArray):
        return _of_piece(piece.storage)
    if (types.is_integer(kind) or types.is_floating(kind)) and not piece.null_count:
        return np.asarray(piece.to_numpy(zero_copy_only=False))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return objects_of(piece.to_pylist())
    for text, as_bytes in (
        (types.is_string, pyarrow.binary()),
        (types.is_large_string, pyarrow.large_binary()),
        (types.is_string_view, pyarrow.binary_view()),
    ):
        if text(kind):  # nobody looked whether it is Unicode, and to read it all as text would stop at one
            return objects_of([_text(one) for one in piece.cast(as_bytes).to_pylist()])
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    binary = binary or types.is_fixed_size_binary(kind)
    return objects_of(piece.to_pylist()) if binary else _missing(len(piece))


def _text(stored: bytes | None) -> str | None:
    try:
        return None if stored is None else stored.decode()
    except UnicodeDecodeError:
        return None
