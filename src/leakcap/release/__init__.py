"""Private statistics of a table: policy, queries, plan, price, engine, noise.

    Policy, Query           the owner's public facts and caps; the analyst's statistic and ε
    PrivateTable            plan → price → check → commit → aggregate → noise, in this order
    preview                 accuracy and price without data
    Release, Rows, Row      what comes back, and its Price
    amend                   another policy for the same accounts
    admit                   another data set about the same people, under the same caps

Importing this room imports sqlglot and Pydantic. DuckDB and SQLAlchemy come with what needs them, when it is
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.policy.caps import PolicyCaps
    from leakcap.policy.declared import Column
    from leakcap.policy.document import IdUnit, Policy, load_policy
    from leakcap.release.amending import admit, amend, amendment
    from leakcap.release.asking.accuracy import Preview, preview
    from leakcap.release.asking.batch import Batch
    from leakcap.release.asking.limits import RowLimit, row_limits
    from leakcap.release.asking.queryfile import QueryFile, load_queries
    from leakcap.release.asking.selection import Question, Selection
    from leakcap.release.engine import DuckDB, attach
    from leakcap.release.engine.base import Engine
    from leakcap.release.planning.price import Price
    from leakcap.release.planning.queries import Query, query_from
    from leakcap.release.results.comparing import Comparison, difference, ratio_of
    from leakcap.release.results.consistent import agreeing, consistent
    from leakcap.release.results.covering import covered, covering
    from leakcap.release.results.exposure import exposure_of, exposure_so_far
    from leakcap.release.results.layouts import layout_of_query, with_layouts
    from leakcap.release.results.margins import margins_fit, with_all_margins, with_margins
    from leakcap.release.results.noisy_totals import Covariances
    from leakcap.release.results.record import ReleasedRecord
    from leakcap.release.results.result import Release, Row, Rows
    from leakcap.release.sql.select import sql_queries
    from leakcap.release.table import PrivateTable, dry_run, open_ledger

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
    "ReleasedRecord",
    "Row",
    "RowLimit",
    "Rows",
    "Selection",
    "admit",
    "agreeing",
    "amend",
    "amendment",
    "attach",
    "consistent",
    "covered",
    "covering",
    "difference",
    "dry_run",
    "exposure_of",
    "exposure_so_far",
    "layout_of_query",
    "load_policy",
    "load_queries",
    "margins_fit",
    "open_ledger",
    "preview",
    "query_from",
    "ratio_of",
    "row_limits",
    "sql_queries",
    "with_all_margins",
    "with_layouts",
    "with_margins",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.policy.caps": ("PolicyCaps",),
        "leakcap.policy.declared": ("Column",),
        "leakcap.policy.document": ("IdUnit", "Policy", "load_policy"),
        "leakcap.release.asking.accuracy": ("Preview", "preview"),
        "leakcap.release.asking.batch": ("Batch",),
        "leakcap.release.asking.limits": ("RowLimit", "row_limits"),
        "leakcap.release.asking.queryfile": ("QueryFile", "load_queries"),
        "leakcap.release.asking.selection": ("Question", "Selection"),
        "leakcap.release.engine.base": ("Engine",),
        "leakcap.release.planning.price": ("Price",),
        "leakcap.release.planning.queries": ("Query", "query_from"),
        "leakcap.release.results.comparing": ("Comparison", "difference", "ratio_of"),
        "leakcap.release.results.consistent": ("agreeing", "consistent"),
        "leakcap.release.results.covering": ("covered", "covering"),
        "leakcap.release.results.exposure": ("exposure_of", "exposure_so_far"),
        "leakcap.release.results.layouts": ("layout_of_query", "with_layouts"),
        "leakcap.release.results.margins": ("margins_fit", "with_all_margins", "with_margins"),
        "leakcap.release.results.noisy_totals": ("Covariances",),
        "leakcap.release.results.record": ("ReleasedRecord",),
        "leakcap.release.results.result": ("Release", "Row", "Rows"),
        "leakcap.release.amending": ("admit", "amend", "amendment"),
        "leakcap.release.engine": ("DuckDB", "attach"),
        "leakcap.release.sql.select": ("sql_queries",),
        "leakcap.release.table": ("PrivateTable", "dry_run", "open_ledger"),
    },
)
