"""Apache Spark, over a DataFrame, or a table of the catalog or a Parquet path by the URL of a cluster.

What is given must only read: a DataFrame's own computations (a division, a Python function) run with every
statement, and where they stop at a row, that stop would tell. Nothing but the cells of an answer comes to the
driver.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeGuard

from sqlglot import exp

from leakcap.credentials import shown_url
from leakcap.errors import DataError
from leakcap.release.columns.typed import SOURCE, identifier, joined_source
from leakcap.release.engine.base import (
    READING,
    Cell,
    Columns,
    SqlStatement,
    handed,
    plain_cells,
    redact_library_errors,
)
from leakcap.release.engine.doubles import quick_or_sure, written
from leakcap.release.engine.spark_sql import SparkDoubles, SparkSQL

__all__ = ["Spark", "is_spark_frame", "local_session", "spark_table"]

_LIBRARIES = ("pyspark", "py4j", "grpc", "google")
_TYPES = {
    **{"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "date": "DATE"},
    **{"float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "TEXT"},
    **{"timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE"},
}
_ARITHMETIC = """
SELECT CAST(RINT(x) AS BIGINT), ABS(x - CAST('NaN' AS DOUBLE)) > 2D
FROM VALUES (0.5D), (1.5D), (2.5D), (-0.5D), (-1.5D) AS given (x)
"""
_numbers = itertools.count(1)


class Spark:
    """A Spark DataFrame, classic or of Spark Connect. Raises `DataError` where it cannot be used safely."""

    dialect = "spark"

    def __init__(self, frame: Any, *, tables: Mapping[str, Any] | None = None) -> None:
        self._frame = frame
        self._session = frame.sparkSession
        # Each engine has its own name for its table, so that two of them can share a session.
        self._frames = {"": frame, **(tables or {})}
        self._names = {prefix: f"leakcap_source_{next(_numbers)}" for prefix in self._frames}
        for prefix, name in self._names.items():
            self._show(self._frames[prefix], name)
        if self.aggregate(_ARITHMETIC) != [(whole, True) for whole in (0, 2, 2, 0, -2)]:
            raise DataError("This Spark computes in a way that leakcap's proofs do not cover.")
        backslash = exp.Length(this=exp.Literal.string("\\")).sql(self.dialect)
        if self.aggregate(f"SELECT {backslash}") != [(1,)]:
            raise DataError("Spark must run with spark.sql.parser.escapedStringLiterals = false.")

    def columns(self) -> dict[str, str]:
        """Column names and types as DuckDB calls them; text is TEXT, which is read as text only."""
        types = {}
        for prefix, frame in self._frames.items():
            for name, type_ in _pairs(frame):
                types[f"{prefix}.{name}" if prefix else name] = _type(type_)
        return types

    def _show(self, frame: Any, name: str) -> None:
        redact_library_errors(
            lambda: frame.createOrReplaceTempView(name), _LIBRARIES, "Spark cannot be reached."
        )

    def write(self, tree: exp.Expression) -> SqlStatement:
        """The statement for this DataFrame."""
        sources: dict[str, exp.Expression] = {
            joined_source(prefix) if prefix else SOURCE: exp.Table(this=identifier(name))
            for prefix, name in self._names.items()
        }
        types = self.columns()
        return written(tree, SparkSQL(types, sources), lambda: (SparkDoubles(types, sources),))

    def run(self, statement: SqlStatement) -> Columns:
        """The result of an aggregate, with integers for whole decimals."""
        return quick_or_sure(
            statement, lambda text, seed: Columns.of(self.aggregate(text, seed), statement.width)
        )

    def hand(self, statement: SqlStatement, take: Callable[[Columns], None]) -> None:
        """Some rows at a time: the driver holds those of one partition of Spark's, not all."""
        found = redact_library_errors(
            lambda: self._frame_of(statement.text, statement.seed).toLocalIterator(), _LIBRARIES
        )

        def rows(most: int) -> list[Cell]:
            return plain_cells(
                redact_library_errors(lambda: [tuple(row) for row in islice(found, most)], _LIBRARIES)
            )

        handed(rows, statement.width, take)

    def aggregate(self, statement: str, seed: int | None = None) -> list[Cell]:
        """Run a statement; raises `DataError` without Spark's words."""
        return plain_cells(
            redact_library_errors(
                lambda: [tuple(row) for row in self._frame_of(statement, seed).collect()], _LIBRARIES
            )
        )

    def _frame_of(self, statement: str, seed: int | None) -> Any:
        return self._session.sql(statement, None if seed is None else {"seed": seed})


def _pairs(frame: Any) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = redact_library_errors(lambda: list(frame.dtypes), _LIBRARIES)
    if len({name.lower() for name, _ in pairs}) < len(pairs):
        raise DataError("Two columns of the DataFrame differ only in upper and lower case.")
    return pairs


def _type(name: str) -> str:
    return (
        f"DECIMAL{name.removeprefix('decimal')}"
        if name.startswith("decimal(")
        else _TYPES.get(name, name.upper())
    )


def is_spark_frame(data: object) -> TypeGuard[Any]:
    """Whether this is a DataFrame of Spark, classic or Connect.

    >>> is_spark_frame([1, 2])
    False
    """
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "createOrReplaceTempView")


def spark_table(url: str, table: str | None, tables: Mapping[str, str] | None = None) -> Spark:
    """The engine over `table` of a cluster: a table of the catalog, or the path of a Parquet file or folder.

    Raises `DataError` where PySpark is not installed, the cluster not reached, or the table a view.
    """
    if table is None:
        raise DataError("`table` is missing: a table of Spark's catalog, or the path of a Parquet file.")
    session = redact_library_errors(lambda: _session(url), _LIBRARIES, _unreachable(url))
    others = {name: _frame(session, other) for name, other in (tables or {}).items()}
    return Spark(_frame(session, table), tables=others)


def _frame(session: Any, table: str) -> Any:
    if table.endswith((".parquet", ".pq")) or "://" in table or table.startswith("/"):
        return redact_library_errors(
            lambda: session.read.parquet(table), _LIBRARIES, f"`{table}` is no Parquet that Spark can read."
        )
    kind = redact_library_errors(
        lambda: str(session.catalog.getTable(table).tableType), _LIBRARIES, f"Spark has no table `{table}`."
    )
    if kind not in ("MANAGED", "EXTERNAL"):
        raise DataError(f"`{table}` is a view; only stored tables are read.")
    return redact_library_errors(lambda: session.table(table), _LIBRARIES, READING)


def _unreachable(url: str) -> str:
    where = shown_url(url)
    return f"Spark at `{where}` cannot be used. Is it running, and is pip install 'leakcap[spark]' done?"


def local_session(cores: int) -> Any:
    """A Spark of this process alone, without its web page.

    Raises `ImportError` where PySpark is not installed.
    """
    return _built(lambda builder: _forgetful(builder.master(f"local[{cores}]")))


def _session(url: str) -> Any:
    if url.startswith("sc://"):
        return _built(lambda builder: builder.remote(url))
    return _built(lambda builder: _forgetful(builder.master(url)))


def _forgetful(builder: Any) -> Any:
    """A session that keeps nothing of what it ran; Spark keeps a thousand statements' plans for its page."""
    for kept in ("spark.sql.ui.retainedExecutions", "spark.ui.retainedJobs", "spark.ui.retainedStages"):
        builder = builder.config(kept, "1")
    return builder


def _built(place: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        # PySpark warns of the versions of libraries that leakcap does not use with it.
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        return place(
            SparkSession.builder.appName("leakcap").config("spark.ui.enabled", "false")
        ).getOrCreate()
