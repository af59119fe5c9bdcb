"""Data frames made safe for the engine: no row may make reading fail, or change how the others are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from leakcap.release.engine.arrows import texts, valid
from leakcap.release.engine.readings import cells

__all__ = ["Readable", "is_frame", "readable"]


class Readable(NamedTuple):
    """A table for the engine; and of a pandas table, each column's name and SQL over that table."""

    table: Any
    columns: list[tuple[str, str]] | None = None


def is_frame(data: object) -> bool:
    """Whether this is a pandas, Polars (lazy or not) or Arrow table.

    >>> is_frame([1, 2])
    False
    """
    library = type(data).__module__.partition(".")[0]
    # Asked of the class: a lazy table would have to be worked out to say its own.
    return library in {"pandas", "polars", "pyarrow"} and hasattr(type(data), "columns")


def readable(data: Any, wanted: Collection[str] | None = None) -> Readable:
    """The table as the engine can read it; of a pandas table only the columns in `wanted`, where given.

    A lazy table is worked out here, once: its own computations may stop at a row, and must not do so in the
    middle of a release.
    """
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return _of_pandas(data, wanted)
    if library == "pyarrow":
        return Readable(valid(data))
    return Readable(data.collect() if type(data).__name__ == "LazyFrame" else data)


def _of_pandas(data: Any, wanted: Collection[str] | None) -> Readable:
    """For each column one of numbers, of texts, of true and false, or, where cells are objects, two.

    Of every dtype that pandas chooses by what the rows hold, the same cells become the same. Integers become
    doubles, because one missing value among them would have made them so.
    """
    import pandas

    # Without a column the rows could not be counted.
    held: dict[str, Any] = {"rows": np.zeros(len(data))}
    columns = []
    for place, name in enumerate(_names(data)):
        if wanted is not None and name not in wanted:
            continue
        one, number, text = data.iloc[:, place], f"n{place}", f"t{place}"
        simple = _simple(one)
        if simple is None:
            held[number], words = _cells(one)
            # As objects, or pandas would look at all of them to choose a type.
            held[text] = pandas.Series(words, dtype=object, copy=False)
            columns.append((name, f"struct_pack(number := {number}, text := {text})"))
        else:
            held[number] = simple
            columns.append((name, number))
    return Readable(pandas.DataFrame(held, copy=False), columns)


def _names(data: Any) -> list[str]:
    """The columns' names as text, each of which is there once, whatever its case."""
    names: list[str] = []
    taken = set[str]()
    for label in map(str, data.columns):
        name, number = label, 0
        while name.lower() in taken:
            number += 1
            name = f"{label}_{number}"
        names.append(name)
        taken.add(name.lower())
    return names


def _simple(one: Any) -> Any:
    """The column as one of doubles, of true and false, of exact integers or of text; None where it is none.

    Integers stay exact where the type has a place for missing ones: pandas' nullable types, and Arrow's.
    """
    type_ = one.dtype
    kind = _kind(type_)
    if kind == "b":
        return one.astype("boolean").array
    if kind == "f" or (kind in ("i", "u") and isinstance(type_, np.dtype)):
        with np.errstate(all="ignore"):
            return one.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind in ("i", "u"):
        return one.astype("UInt64" if kind == "u" else "Int64").array
    arrow = _arrow(one)
    found = None if arrow is None else texts(arrow)
    if found is None:
        return None
    from pandas.arrays import ArrowStringArray

    return ArrowStringArray(found)


def _kind(type_: Any) -> str:
    """NumPy's letter for what the type holds, O where that is nothing simple."""
    if isinstance(type_, np.dtype):
        return type_.kind
    # Nullable types and Arrow's; sparse ones, intervals and categories are read cell by cell.
    held = getattr(type_, "numpy_dtype", None)
    return "O" if held is None else np.dtype(held).kind


def _arrow(one: Any) -> Any:
    """What Arrow holds of the column; None where pandas holds it itself."""
    return getattr(one.array, "_pa_array", None)


def _one_by_one(values: Any) -> list[Any]:
    """What each place holds; None where Python has no such value, like a date after the year 9999."""

    def at(place: int) -> Any:
        try:
            return values[place]
        except Exception:  # whatever Arrow says of one cell, the others must not be told of it
            return None

    return [at(place) for place in range(len(values))]


def _cells(one: Any) -> tuple[Any, Any]:
    categories = getattr(one.dtype, "categories", None)
    if categories is None:
        return cells(one.to_numpy(dtype=object) if _arrow(one) is None else _one_by_one(one.array))
    numbers, words = cells(categories.to_numpy(dtype=object))
    codes = one.cat.codes.to_numpy()
    # Those of missing values are −1, the last place.
    none = np.array([None], dtype=object)
    return np.append(numbers, np.nan)[codes], np.concatenate((words, none))[codes]
