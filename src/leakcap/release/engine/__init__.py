"""What runs the aggregates, one engine a file.

Engine, Statement       write a statement for a table, run it, return only aggregates
Columns                 what came back
DuckDB                  embedded: files and data frames
Lowering                how an engine says what we ask of a row
attach                  from a path, a data frame or a URL to an engine
"""

from __future__ import annotations

from leakcap.release.engine.attach import attach, is_database, is_server
from leakcap.release.engine.base import Columns, Engine, Statement
from leakcap.release.engine.duck import DuckDB, Origin
from leakcap.release.engine.duckdb_sql import Doubles, Integers
from leakcap.release.engine.lowering import Lowering

__all__ = [
    "Columns",
    "Doubles",
    "DuckDB",
    "Engine",
    "Integers",
    "Lowering",
    "Origin",
    "Statement",
    "attach",
    "is_database",
    "is_server",
]
