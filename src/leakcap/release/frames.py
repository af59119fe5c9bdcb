"""Data frames made safe for the engine: no single object in a column may make reading fail."""

from __future__ import annotations

from typing import Any

__all__ = ["is_frame", "readable"]


def is_frame(data: object) -> bool:
    """Whether this is a pandas, Polars (lazy or not) or Arrow table.

    >>> is_frame([1, 2])
    False
    """
    library = type(data).__module__.partition(".")[0]
    # Asked of the class: a lazy table would have to be worked out to say its own.
    return library in {"pandas", "polars", "pyarrow"} and hasattr(type(data), "columns")


def readable(data: Any) -> Any:
    """The table, with the Python objects of a pandas table as text that can be stored.

    A pandas column may hold any object. One that has no text, or text that is no Unicode, would stop the
    engine, and that stop would tell that somebody's row has it; so it is missing, or has marks in its place.
    A lazy table is worked out here, once: its own computations may stop at a row, and must not do so in the
    middle of a release.
    """
    if type(data).__name__ == "LazyFrame":
        return data.collect()
    if not type(data).__module__.startswith("pandas"):
        return data
    loose = [index for index, type_ in enumerate(data.dtypes) if _holds_objects(type_)]
    if not loose:
        return data
    safe = data.copy(deep=False)
    for index in loose:
        safe.isetitem(index, data.iloc[:, index].map(_text, na_action="ignore").astype(object))
    return safe


def _holds_objects(type_: Any) -> bool:
    if type_.kind != "O":
        return False
    # A category's own values may be objects as well.
    values = getattr(getattr(type_, "categories", None), "dtype", type_)
    return bool(values == "object" or getattr(values, "storage", "") == "python")


def _text(value: object) -> str | None:
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # whatever a person's own object raises, its row must not be told from others
        return None
