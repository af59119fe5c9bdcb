"""What the release tests share: a policy, tables, and the exact answers before noise."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow

from leakcap.release import DuckDB, Engine, Query, attach, load_policy
from leakcap.release.plan import Plan, in_order, plan_query, read_totals
from leakcap.release.typed import SOURCE

COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-3.0, 10.0]},
    "y": {"bounds": [2.0, 8.0], "fill": 5.0},
    "d": {"keys": ["a", "b", "c"]},
    "k": {"keys": [1, 2]},
    "f": {"keys": [True, False]},
}


def policy_of(**changes: Any) -> Any:
    """Add/remove-one without a bound on rows, unless changed."""
    base: dict[str, Any] = {
        "dataset": "tests",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 100.0},
        "columns": COLUMNS,
    }
    return load_policy({**base, **changes})


def table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """Rows as an Arrow table with one schema whatever the rows are."""
    types = {
        "id": pyarrow.int64(),
        "x": pyarrow.float64(),
        "y": pyarrow.float64(),
        "d": pyarrow.string(),
        "k": pyarrow.int64(),
        "f": pyarrow.bool_(),
    }
    columns = {name: pyarrow.array([row.get(name) for row in rows], type) for name, type in types.items()}
    return pyarrow.table(columns)


def planned(policy: Any, **fields: Any) -> Plan:
    """The plan of one query."""
    return plan_query(Query(**{"name": "q", "epsilon": 1.0, **fields}), policy)


def exact(plan: Plan, engine: Engine) -> list[list[int]]:
    """The exact integers of every part, as they are before noise."""
    found = in_order(plan, engine.run(engine.write(plan.logical())))
    return [one.tolist() for one in read_totals(plan, found)]


def answers(plan: Plan, data: Any) -> list[list[int]]:
    """The exact answer on an Arrow table; one engine is kept and shown table after table, for speed."""
    engine = _engine()
    engine._connection.register(SOURCE, data)
    engine._types = None
    return exact(plan, engine)


@functools.cache
def _engine() -> DuckDB:
    return attach(table([]))
