"""What runs the aggregates, one engine a file.

Engine, SqlStatement    write a statement for a table, run it, return only aggregates
Columns                 what came back
DuckDB                  embedded: files and data frames
Lowering                how an engine says what we ask of a row
attach                  from a path, a data frame or a URL to an engine

DuckDB itself is imported with what needs it, when that is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily
from leakcap.release.engine.base import Columns, Engine, SqlStatement
from leakcap.release.engine.locations import is_database, is_server
from leakcap.release.engine.lowering import Lowering

if TYPE_CHECKING:
    from leakcap.release.engine.attaching import attach
    from leakcap.release.engine.duck import DuckDB, Origin
    from leakcap.release.engine.duckdb_sql import Doubles, Integers

__all__ = [
    "Columns",
    "Doubles",
    "DuckDB",
    "Engine",
    "Integers",
    "Lowering",
    "Origin",
    "SqlStatement",
    "attach",
    "is_database",
    "is_server",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.release.engine.attaching": ("attach",),
        "leakcap.release.engine.duck": ("DuckDB", "Origin"),
        "leakcap.release.engine.duckdb_sql": ("Doubles", "Integers"),
    },
)
