"""Private statistics of a table: policy, queries, plan, price, engine, noise.

    Policy, Query           the owner's public facts and caps; the analyst's statistic and ε
    PrivateTable            plan → price → check → commit → aggregate → noise, in this order
    preview                 accuracy and price without data
    Release, Rows, Row      what comes back, and its Price
    amend                   another policy for the same accounts

Importing this room imports DuckDB, sqlglot, Pydantic and SQLAlchemy.
"""

from __future__ import annotations

from leakcap.release.accuracy import Preview
from leakcap.release.amending import amend, amendment
from leakcap.release.batch import Batch
from leakcap.release.caps import PolicyCaps
from leakcap.release.comparing import Comparison, difference, ratio_of
from leakcap.release.consistent import agreeing, consistent
from leakcap.release.declared import Column
from leakcap.release.drawn import Covariances
from leakcap.release.dummy import dry_run
from leakcap.release.engine import DuckDB, Engine, attach
from leakcap.release.exposure import exposure_of, exposure_so_far
from leakcap.release.policy import IdUnit, Policy, load_policy
from leakcap.release.price import Price
from leakcap.release.queries import Query, query_from
from leakcap.release.queryfile import QueryFile, load_queries
from leakcap.release.result import Release, Row, Rows
from leakcap.release.selection import Question, Selection
from leakcap.release.sql import sql_queries
from leakcap.release.table import PrivateTable, open_ledger, preview

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
