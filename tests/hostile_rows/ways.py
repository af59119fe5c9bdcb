"""The ways in which a table comes: each makes an engine of rows, and says what its columns can hold.

A way whose columns have declared types is a class of `Typed`, and its types are tried one by one in every
column; pandas chooses types itself, and is tried with every object there is. A new class is enrolled by
existing.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import warnings
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet

import hostile
from leakcap.release import Engine, attach

SLOTS = ("x", "d", "k", "f", "s", "id")
# Of the columns that are not tried a row has these; nobody else is called like a hostile row.
PLAIN: dict[str, Any] = {"x": 2.0, "y": 3.0, "z": 1.0, "d": "a", "k": 1, "f": True, "s": "b", "id": 7_000_009}
TYPES: dict[str, Any] = {
    **{"x": pyarrow.float64(), "y": pyarrow.float64(), "z": pyarrow.float64(), "d": pyarrow.string()},
    **{"k": pyarrow.int64(), "f": pyarrow.bool_(), "s": pyarrow.string(), "id": pyarrow.int64()},
    "copy": pyarrow.int64(),
}
RAW = (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view())
ARROW: list[Any] = [
    *(pyarrow.int8(), pyarrow.int32(), pyarrow.int64(), pyarrow.uint16(), pyarrow.uint64()),
    *(pyarrow.float32(), pyarrow.float64(), pyarrow.bool_(), *RAW, pyarrow.null()),
    *(pyarrow.decimal128(38, 9), pyarrow.decimal128(20, 0), pyarrow.date32(), pyarrow.timestamp("us")),
    *(pyarrow.binary(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
    *(pyarrow.dictionary(pyarrow.int32(), pyarrow.int64()), pyarrow.list_(pyarrow.float64())),
]
# Others of each type, so that the hostile row is never alone.
OTHERS: list[Any] = [1, 2, 2, 0, "a", "b", "1", 1.0, 2.5, True, False, Decimal(1), b"a", b"\xff", [1.0]]
OTHERS += [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)]


def arrow_array(values: Sequence[Any], type_: Any) -> pyarrow.Array:
    """The values as this type; bytes in a column of text stay what they are."""
    if pyarrow.types.is_dictionary(type_):
        held = arrow_array(values, type_.value_type)
        if type_.value_type not in RAW:
            return held.dictionary_encode()
        named = held.cast(pyarrow.binary()).dictionary_encode()
        words = arrow_array(named.dictionary.to_pylist(), type_.value_type)
        return pyarrow.DictionaryArray.from_arrays(named.indices, words)
    if type_ not in RAW:
        return pyarrow.array(values, type_)
    raw = [one.encode() if isinstance(one, str) else one for one in values]
    place = RAW.index(type_)
    held = pyarrow.array(raw, (pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view())[place])
    return pyarrow.Array.from_buffers(type_, len(held), held.buffers())


def holds(values: Sequence[Any], type_: Any) -> list[Any]:
    """Those of the values that a column of this type can hold."""
    found = []
    for value in values:
        try:
            arrow_array([value, value], type_)
            found.append(value)
        except Exception:
            continue
    return found


class Typed:
    """Columns with types that are declared: what they can hold follows from the type alone.

    `needs` says what its tables are kept in, which it is given: nothing, a folder, or a server. `takes` are
    the product's own words for what comes in this way: suffixes, libraries, kinds of URL.
    """

    name: str
    needs: str = "nothing"
    takes: tuple[str, ...] = ()
    types: Sequence[Any] = ARROW

    def __init__(self, place: Any = None) -> None:
        self._place, self._number = place, itertools.count()

    def hostile(self, type_: Any) -> list[Any]:
        """The hostile values that this type can hold, and none."""
        return [None, *_held(type_)]

    def others(self, type_: Any) -> list[Any]:
        """What other people have."""
        return holds(OTHERS, type_)

    def engine(self, rows: Sequence[dict[str, Any]], slot: str, type_: Any) -> Engine:
        """An engine over these rows, whose column `slot` has this type."""
        data, stored = self.data(rows, slot, type_)
        return attach(data, table=stored)

    def data(self, rows: Sequence[dict[str, Any]], slot: str, type_: Any) -> tuple[Any, str | None]:
        """The rows as they are handed in, and where it is one of several, the name of the stored table."""
        types = {**TYPES, slot: type_}
        table = {name: arrow_array([row[name] for row in rows], one) for name, one in types.items()}
        return self.handed(pyarrow.table(table), next(self._number))

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        """The same table as it comes in this way; by turns in each form that there is of it."""
        raise NotImplementedError

    def path(self, number: int) -> Path:
        """A new file, whose name ends in each suffix by turns."""
        return Path(self._place) / f"{type(self).__name__}{number}{self.takes[number % len(self.takes)]}"


@functools.cache
def _held(type_: Any) -> list[Any]:
    return holds([one for one in hostile.everything() if one is not None], type_)


def every(needs: Collection[str]) -> list[type[Typed]]:
    """Every way that needs one of these, by its name."""
    found, waiting = [], list(Typed.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if "name" in vars(kind) and kind.needs in needs:
            found.append(kind)
    return sorted(found, key=lambda kind: kind.name)


class Arrow(Typed):
    name, takes = "Arrow", ("Arrow",)

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        return table, None


class Batch(Typed):
    name, takes = "Arrow batch", ("Arrow",)
    types = (pyarrow.string(), pyarrow.float64())

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        return table.combine_chunks().to_batches()[0], None


class PandasOfArrow(Typed):
    """Columns of ArrowDtype; what it cannot hold is none."""

    name, takes = "pandas ArrowDtype", ("pandas",)
    types = tuple(one for one in ARROW if one not in (pyarrow.string_view(), pyarrow.null()))

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        columns = {name: pandas.Series(pandas.array(table[name], dtype=pandas.ArrowDtype(table[name].type)))
                   for name in table.column_names}  # fmt: skip
        return pandas.DataFrame(columns), None


class Valid(Typed):
    """Ways that hold Unicode alone: their writers refuse other text."""

    def hostile(self, type_: Any) -> list[Any]:
        return [one for one in super().hostile(type_) if _is_unicode(one) or type_ == pyarrow.binary()]

    def others(self, type_: Any) -> list[Any]:
        return [one for one in super().others(type_) if _is_unicode(one) or type_ == pyarrow.binary()]


def _is_unicode(value: Any) -> bool:
    try:
        return not isinstance(value, bytes | bytearray | memoryview) or bytes(value).decode() is not None
    except UnicodeDecodeError:
        return False


class Polars(Valid):
    """Lazy by turns."""

    name, takes = "Polars", ("Polars",)
    types = tuple(one for one in ARROW if not pyarrow.types.is_dictionary(one))

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        frame = polars.from_arrow(table)
        assert isinstance(frame, polars.DataFrame)
        return frame.lazy() if number % 2 else frame, None


class Parquet(Valid):
    name, needs, takes = "Parquet", "a folder", (".parquet", ".pq")

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        write_parquet(table, self.path(number))
        return self.path(number), None


def write_parquet(table: pyarrow.Table, path: Path) -> None:
    """Text is written as it is, whether it is Unicode or not."""
    views = [pyarrow.string() if one == pyarrow.string_view() else one for one in table.schema.types]
    named = pyarrow.schema(list(zip(table.column_names, views, strict=True)))
    pyarrow.parquet.write_table(table.cast(named), path)


class DuckFile(Valid):
    name, needs, takes = "DuckDB file", "a folder", (".duckdb", ".ddb", ".db")

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        with duckdb.connect(str(self.path(number))) as stored:
            stored.register("given", table)
            stored.execute("CREATE TABLE t AS SELECT * FROM given")
        return self.path(number), "t"


class Csv(Typed):
    """Every field is bytes."""

    name, needs, takes = "CSV", "a folder", (".csv", ".tsv")
    types = (pyarrow.string(),)

    def handed(self, table: pyarrow.Table, number: int) -> tuple[Any, str | None]:
        path = self.path(number)
        sign = b"\t" if path.suffix == ".tsv" else b","
        columns = [_bytes(table[name], sign) for name in table.column_names]
        header = sign.join(name.encode() for name in table.column_names)
        path.write_bytes(b"\n".join([header, *map(sign.join, zip(*columns, strict=True))]) + b"\n")
        return path, None


def _bytes(column: pyarrow.ChunkedArray, sign: bytes) -> list[bytes]:
    """As fields: what has a delimiter or a line break in it is quoted, or cut."""
    text = column.cast(pyarrow.binary() if column.type == pyarrow.string() else pyarrow.string())
    fields = [
        b"" if one is None else one if isinstance(one, bytes) else one.encode() for one in text.to_pylist()
    ]
    return [
        b'"' + one.replace(b'"', b'""') + b'"' if sign in one else one.replace(b"\n", b" ") for one in fields
    ]


# Columns of which pandas chooses the dtype, and what can be made of them without saying which.
FLAVOURS: dict[str, list[Any]] = {
    "integers": [1, 2, 2, 0, 1, 7],
    "floats": [1.0, 2.0, 2.5, 0.0, 1.0, -1.0],
    "booleans": [True, False, True, True, False, True],
    "words": ["a", "b", "1", "a", "b", "true"],
    "mixed": [1, "a", None, True, 2.0, "b"],
    "missing": [None] * 6,
    "one": [2],
    "none": [],
}
DRESSED: dict[str, Callable[[pandas.Series], pandas.Series]] = {
    "as it is": lambda column: column,
    "object": lambda column: column.astype(object),
    "category": lambda column: column.astype("category"),
    "sparse": lambda column: column.astype(pandas.SparseDtype(column.dtype)),
    "converted": lambda column: column.convert_dtypes(convert_integer=False),
}
_TAKEN = {str(one).lower() for others in FLAVOURS.values() for one in others} | {"1.0", "2.0", "0.0", "-1"}


def frames(
    slot: str, flavour: str, dressing: str, value: Any
) -> tuple[pandas.DataFrame, pandas.DataFrame] | None:
    """The table without and with the hostile row; nothing where pandas makes none, or its id is taken."""
    others = FLAVOURS[flavour]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if slot == "id" and (str(value).lower() in _TAKEN or f"{float(value):g}" in _TAKEN):
                return None
        except Exception:  # it is not called like anybody
            pass
        try:
            columns = [DRESSED[dressing](_column(one)) for one in (others, [*others, value])]
        except Exception:
            return None
    return _frame(slot, columns[0]), _frame(slot, columns[1])


def _column(values: Sequence[Any]) -> pandas.Series:
    """As pandas makes it, or as objects where it fails to."""
    try:
        found = pandas.Series(list(values))
        if len(found) == len(values):
            return found
    except Exception:
        pass
    held = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        held[place] = value
    return pandas.Series(held, dtype=object)


def _frame(slot: str, column: pandas.Series) -> pandas.DataFrame:
    size = len(column)
    plain = {name: [value] * size for name, value in PLAIN.items()}
    # Three rows of each person, of which two are used.
    ids = [7_000_000 + place // 3 for place in range(size)]
    return pandas.DataFrame({**plain, "id": ids, "copy": [0] * size, slot: column})
