"""Private statistics of a table: policy, queries, plan, price, engine, noise.

    Policy, Query           the owner's public facts and caps; the analyst's statistic and ε
    PrivateTable            plan → price → check → commit → aggregate → noise, in this order
    preview                 accuracy and price without data
    Release, Rows, Row      what comes back, and its Price
    amend                   another policy for the same accounts

Importing this room imports sqlglot and Pydantic. DuckDB and SQLAlchemy come with what needs them, when it is
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily
from leakcap.release.accuracy import Preview, preview
from leakcap.release.batch import Batch
from leakcap.release.caps import PolicyCaps
from leakcap.release.comparing import Comparison, difference, ratio_of
from leakcap.release.consistent import agreeing, consistent
from leakcap.release.declared import Column
from leakcap.release.drawn import Covariances
from leakcap.release.engine.base import Engine
from leakcap.release.exposure import exposure_of, exposure_so_far
from leakcap.release.policy import IdUnit, Policy, load_policy
from leakcap.release.price import Price
from leakcap.release.queries import Query, query_from
from leakcap.release.queryfile import QueryFile, load_queries
from leakcap.release.result import Release, Row, Rows
from leakcap.release.selection import Question, Selection

if TYPE_CHECKING:
    from leakcap.release.amending import amend, amendment
    from leakcap.release.dummy import dry_run
    from leakcap.release.engine import DuckDB, attach
    from leakcap.release.sql import sql_queries
    from leakcap.release.table import PrivateTable, open_ledger

__all__ = [
    "Batch",
    "Column",
    "Comparison",
    "Covariances",
    "DuckDB",
    "Engine",
    "IdUnit",
    "Policy",
    "PolicyCaps",
    "Preview",
    "Price",
    "PrivateTable",
    "Query",
    "QueryFile",
    "Question",
    "Release",
    "Row",
    "Rows",
    "Selection",
    "agreeing",
    "amend",
    "amendment",
    "attach",
    "consistent",
    "difference",
    "dry_run",
    "exposure_of",
    "exposure_so_far",
    "load_policy",
    "load_queries",
    "open_ledger",
    "preview",
    "query_from",
    "ratio_of",
    "sql_queries",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.release.amending": ("amend", "amendment"),
        "leakcap.release.dummy": ("dry_run",),
        "leakcap.release.engine.attaching": ("attach",),
        "leakcap.release.engine.duck": ("DuckDB",),
        "leakcap.release.sql": ("sql_queries",),
        "leakcap.release.table": ("PrivateTable", "open_ledger"),
    },
)
