"""What the release tests share: a policy, tables, and the exact answers before noise."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from leakcap.policy.declared import Column
from leakcap.release import DuckDB, Engine, Query, attach, load_policy
from leakcap.release.columns.axis import Axis
from leakcap.release.columns.cells import Cells
from leakcap.release.columns.derived import typed_column
from leakcap.release.columns.typed import SOURCE
from leakcap.release.engine.base import Columns, SqlStatement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import in_order, read_totals
from leakcap.release.planning.statements import select_of

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
    return totals(plan, engine.run(engine.write(select_of([plan]))))


def totals(plan: Plan, found: Columns) -> list[list[int]]:
    """The exact integers of every part, from what a statement returned."""
    return [one.tolist() for one in read_totals(plan, in_order(plan, found))]


def answers(plan: Plan, data: pyarrow.Table) -> list[list[int]]:
    """The exact answer on an Arrow table; one engine is kept and shown table after table, for speed.

    Tests by brute force put one plan to thousands of small tables, and many plans say one statement: what a
    statement found in a table is remembered, and a plan's statement is written once for a schema.
    """
    schema = data.schema.serialize().to_pybytes()
    if (id(plan), schema) not in _WRITTEN:
        _WRITTEN[id(plan), schema] = plan, _shown(data).write(select_of([plan]))
    _, statement = _WRITTEN[id(plan), schema]
    if data.num_rows > FEW:
        return totals(plan, _shown(data).run(statement))
    rows = b"".join(batch.serialize().to_pybytes() for batch in data.to_batches())
    asked = statement.quick or statement.text, statement.seed, schema, rows
    if asked not in _FOUND:
        _FOUND[asked] = _shown(data).run(statement)
    return totals(plan, _FOUND[asked])


def answers_of_each(plan: Plan, tables: list[list[dict[str, Any]]]) -> list[list[list[int]]]:
    """The exact answer on each of many small tables, by one statement: each is a copy with a number.

    People of different copies are different people. Which rows are kept of a person who has too many hangs on
    who it is, and so on the copy.
    """
    rows = [
        {**row, "copy": copy, "id": None if row.get("id") is None else 1000 * copy + row["id"]}
        for copy, told in enumerate(tables)
        for row in told
    ]
    assert all(0 <= (row.get("id") or 0) < 1000 for told in tables for row in told)
    numbers = pyarrow.array([row["copy"] for row in rows], pyarrow.int64())
    copies = tuple(range(len(tables)))
    columns = {**plan.policy.columns, "copy": Column(keys=copies)}
    policy = plan.policy.model_copy(update={"columns": columns})
    axis = Axis("copy", typed_column("copy", policy), dict(zip(copies, copies, strict=True)), "integer")
    split = replace(
        plan,
        policy=policy,
        cells=Cells((axis, *plan.cells.axes)),
        query=replace(plan.query, by=("copy", *plan.query.by)),
    )
    found = answers(split, table(rows).append_column("copy", numbers))
    return [[part.reshape(len(tables), -1)[copy].tolist() for part in map(_whole, found)] for copy in copies]


def _whole(numbers: list[int]) -> NDArray[Any]:
    return np.array(numbers, dtype=object)


FEW = 64
# A plan is told by being itself, and kept so that its id stays its own.
_WRITTEN: dict[tuple[int, bytes], tuple[Plan, SqlStatement]] = {}
_FOUND: dict[tuple[object, ...], Columns] = {}


_LAST: list[pyarrow.Table] = []


def _shown(data: pyarrow.Table) -> DuckDB:
    engine = _kept()
    if not (_LAST and _LAST[0] is data):
        engine._connection.register(SOURCE, data)
        engine._types = None
        _LAST[:] = [data]
    return engine


def _engine() -> DuckDB:
    """For whoever shows it tables by themselves: what was shown last is forgotten."""
    _LAST.clear()
    return _kept()


@functools.cache
def _kept() -> DuckDB:
    return attach(table([]))
