"""Arrow's text, in which any bytes may stand: those that are no UTF-8 are written out for the engine.

An engine stops at such bytes, or its driver does where a group is called so, and the stop would tell that
somebody's row has them.
"""

from __future__ import annotations

from typing import Any

from leakcap.release.engine.readings import decoded

__all__ = ["texts", "valid"]


def valid(table: Any) -> Any:
    """The table with all text in Unicode; dictionaries of text are text."""
    import pyarrow

    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    for place, field in enumerate(table.schema):
        column = table.column(place)
        found = texts(column)
        if found is not None and found is not column:
            table = table.set_column(place, pyarrow.field(field.name, found.type), found)
    return table


def texts(column: Any) -> Any:
    """The column if it is text, each of which is Unicode; None if it holds something else."""
    import pyarrow

    named = pyarrow.types.is_dictionary(column.type)
    if not _is_text(column.type.value_type if named else column.type):
        return None
    if not named and all(map(_is_valid, column.chunks)):
        return column
    parts = [_of_dictionary(chunk) if named else _rewritten(chunk) for chunk in column.chunks]
    return pyarrow.chunked_array(parts, type=pyarrow.large_string())


def _of_dictionary(chunk: Any) -> Any:
    import pyarrow

    words = chunk.dictionary
    known = words.cast(pyarrow.large_string()) if _is_valid(words) else _rewritten(words)
    return known.take(chunk.indices)


def _rewritten(chunk: Any) -> Any:
    import pyarrow

    raw = chunk.cast(pyarrow.large_binary()).to_pylist()
    return pyarrow.array([None if one is None else decoded(one) for one in raw], pyarrow.large_string())


def _is_valid(chunk: Any) -> bool:
    import pyarrow

    try:
        chunk.validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _is_text(type_: Any) -> bool:
    import pyarrow.types as known

    return bool(known.is_string(type_) or known.is_large_string(type_) or known.is_string_view(type_))
