"""The ways in which a table comes: each makes an engine of rows, and says what its columns can hold.

A way whose columns have declared types is a class of `Typed`, and its types are tried one by one in every
column; pandas chooses types itself, and is tried with every object there is. A new class is enrolled by
existing.
"""

from __future__ import annotations

import datetime
import itertools
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import psycopg
import pyarrow
import pyarrow.parquet

import hostile
from leakcap.release import Engine, attach
from ledger.server import execute

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
# What PostgreSQL's types can hold, from the plainest; of text, whatever the encoding accepts.
SQL: dict[str, list[str] | None] = {
    "smallint": ["1", "2", "0", "1", "32767", "-32768"],
    "bigint": ["1", "2", "0", "7", "9223372036854775807", "-9223372036854775808", "9007199254740993"],
    "numeric": [
        "1",
        "2",
        "0.5",
        "1.0",
        *(str(one) for one in hostile.DECIMALS if one.is_finite()),
        "NaN",
        "Infinity",
    ],
    "real": ["1", "2", "0.5", "1", "NaN", "Infinity", "-Infinity", "1e-45", "3.4e38", "-0"],
    "float8": ["1", "2", "0.5", "1", *(repr(one) for one in hostile.FLOATS if one == one), "NaN"],
    "boolean": ["true", "false", "true", "true"],
    "text": None,
    "varchar": None,
    "date": ["2020-01-01", "2020-01-02", "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "timestamp": ["2020-01-01", "infinity"],
    "bytea": ["a", "b"],
}
PLAIN_SQL = {
    **dict.fromkeys(("x", "y", "z"), "float8"),
    **{"d": "text", "k": "bigint", "f": "boolean", "s": "text", "id": "bigint", "copy": "bigint"},
}
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
    """Columns with types that are declared: what they can hold follows from the type alone."""

    name: str
    types: Sequence[Any] = ARROW

    def hostile(self, type_: Any) -> list[Any]:
        """The hostile values that this type can hold, and none."""
        return [None, *holds([one for one in hostile.everything() if one is not None], type_)]

    def others(self, type_: Any) -> list[Any]:
        """What other people have."""
        return holds(OTHERS, type_)

    def engine(self, rows: Sequence[dict[str, Any]], slot: str, type_: Any) -> Engine:
        """An engine over these rows, whose column `slot` has this type."""
        types = {**TYPES, slot: type_}
        table = {name: arrow_array([row[name] for row in rows], one) for name, one in types.items()}
        return self.opened(pyarrow.table(table))

    def opened(self, table: pyarrow.Table) -> Engine:
        """An engine over the table."""
        raise NotImplementedError


class Arrow(Typed):
    name = "Arrow"

    def opened(self, table: pyarrow.Table) -> Engine:
        return attach(table)


class Batch(Typed):
    name = "Arrow batch"
    types = (pyarrow.string(), pyarrow.float64())

    def opened(self, table: pyarrow.Table) -> Engine:
        return attach(table.combine_chunks().to_batches()[0])


class PandasOfArrow(Typed):
    """Columns of ArrowDtype; what it cannot hold is none."""

    name = "pandas ArrowDtype"
    types = tuple(one for one in ARROW if one not in (pyarrow.string_view(), pyarrow.null()))

    def opened(self, table: pyarrow.Table) -> Engine:
        columns = {name: pandas.Series(pandas.array(table[name], dtype=pandas.ArrowDtype(table[name].type)))
                   for name in table.column_names}  # fmt: skip
        return attach(pandas.DataFrame(columns))


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
    name = "Polars"
    types = tuple(one for one in ARROW if not pyarrow.types.is_dictionary(one))

    def opened(self, table: pyarrow.Table) -> Engine:
        return attach(polars.from_arrow(table))


class Parquet(Valid):
    name = "Parquet"

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, itertools.count()

    def opened(self, table: pyarrow.Table) -> Engine:
        path = self._folder / f"{next(self._number)}.parquet"
        views = [pyarrow.string() if one == pyarrow.string_view() else one for one in table.schema.types]
        pyarrow.parquet.write_table(
            table.cast(pyarrow.schema(list(zip(table.column_names, views, strict=True)))), path
        )
        return attach(path)


class DuckFile(Valid):
    name = "DuckDB file"

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, itertools.count()

    def opened(self, table: pyarrow.Table) -> Engine:
        path = self._folder / f"{next(self._number)}.duckdb"
        with duckdb.connect(str(path)) as stored:
            stored.register("given", table)
            stored.execute("CREATE TABLE t AS SELECT * FROM given")
        return attach(path, table="t")


class Csv(Typed):
    """Every field is bytes."""

    name = "CSV"
    types = (pyarrow.string(),)

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, itertools.count()

    def opened(self, table: pyarrow.Table) -> Engine:
        path = self._folder / f"{next(self._number)}.csv"
        columns = [_bytes(table[name]) for name in table.column_names]
        lines = [",".join(table.column_names).encode(), *map(b",".join, zip(*columns, strict=True))]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return attach(path)


def _bytes(column: pyarrow.ChunkedArray) -> list[bytes]:
    """As fields: what has a delimiter or a line break in it is quoted, or cut."""
    text = column.cast(pyarrow.binary() if column.type == pyarrow.string() else pyarrow.string())
    fields = [
        b"" if one is None else one if isinstance(one, bytes) else one.encode() for one in text.to_pylist()
    ]
    return [
        b'"' + one.replace(b'"', b'""') + b'"' if b"," in one else one.replace(b"\n", b" ") for one in fields
    ]


class PostgreSQL(Typed):
    """A server whose encoding is this one: its text is any bytes that it accepts. Values are SQL."""

    types = tuple(SQL)

    def __init__(self, server: str, encoding: str) -> None:
        self.name, self._encoding = f"PostgreSQL {encoding}", encoding
        name = f"hostile_{encoding.lower()}"
        execute(
            server,
            f"DROP DATABASE IF EXISTS {name}",
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        )
        self._url = f"{server.removesuffix('/postgres')}/{name}"
        texts = [one.encode("utf-8", "surrogatepass") for one in hostile.TEXTS if len(one) < 1000]
        self._texts = [one for one in [*texts, *hostile.BYTES] if self._accepts(one)]

    def _accepts(self, text: bytes) -> bool:
        try:
            execute(self._url, f"SELECT length({self._literal(text)})")
        except psycopg.Error:
            return False
        return True

    def _literal(self, text: bytes) -> str:
        return f"convert_from('\\x{text.hex()}'::bytea, '{self._encoding}')"

    def hostile(self, type_: Any) -> list[Any]:
        return [None, *(self._texts if SQL[type_] is None else SQL[type_])]

    def others(self, type_: Any) -> list[Any]:
        return [b"a", b"b", b"1"] if SQL[type_] is None else SQL[type_][:4]

    def engine(self, rows: Sequence[dict[str, Any]], slot: str, type_: Any) -> Engine:
        types = {**PLAIN_SQL, slot: type_}
        tuples = [", ".join(self._sql(row[name], one) for name, one in types.items()) for row in rows]
        columns = ", ".join(f"{name} {one}" for name, one in types.items())
        execute(self._url, "DROP TABLE IF EXISTS t", f"CREATE TABLE t ({columns})")
        if tuples:
            execute(self._url, f"INSERT INTO t VALUES ({'), ('.join(tuples)})")
        return attach(self._url, table="t")

    def _sql(self, value: Any, type_: str) -> str:
        if value is None:
            return "NULL"
        text = value if isinstance(value, bytes) else str(value).encode()
        # A cast from text is a conversion that the server would have to fold into the statement's encoding.
        return f"CAST({self._literal(text)} AS {type_})"


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
