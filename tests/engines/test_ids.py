"""Ids of every type: rows of one person are chosen by one number, in whatever way the id is written."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from leakcap.release import Engine, Query, attach, load_policy
from leakcap.release.engine.duckdb_sql import Integers
from leakcap.release.engine.lowering import INTEGERS
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

MOST, EACH, PEOPLE = 3, 8, 25
SEEDS = ["", "5eed", "00ff"]
POLICY = load_policy({
    "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
    "unit": {"id": "id", "max_rows": MOST},
    "columns": {"x": {"bounds": [0.0, 256.0]}, "d": {"keys": ["a", "b"]}},
})  # fmt: skip
ASKED = [
    Query(name="rows", statistic="count", epsilon=1.0),
    Query(name="total", statistic="sum", column="x", by=("d",), epsilon=1.0),
]
ONE_WAY = [*sorted(INTEGERS), "VARCHAR"]
TWO_WAYS = ["DOUBLE", "FLOAT", "HUGEINT", "UBIGINT", "DECIMAL(9, 2)", "DATE"]


def holding(type_: str) -> Engine:
    """People with as many rows each, whose ids have this type."""
    id_ = "DATE '2025-01-01' + CAST(p AS INTEGER)" if type_ == "DATE" else f"CAST(p AS {type_})"
    rows = f"SELECT {id_} AS id, CAST(1 << r AS DOUBLE) AS x, CASE WHEN r % 3 = 0 THEN 'a' ELSE 'b' END AS d"
    with duckdb.connect() as connection:
        made = connection.sql(f"{rows} FROM range({PEOPLE}) AS n (p), range({EACH}) AS m (r)")
        return attach(made.to_arrow_table())


def totals(engine: Engine) -> list[list[int]]:
    plans = [plan_query(one, POLICY) for one in ASKED]
    scans = [scan for seed in SEEDS for plan in plans for scan in scans_of([plan], engine, seed)]
    return [scan.run(engine)[0].totals[0].tolist() for scan in scans]


@pytest.mark.parametrize("type_", [*ONE_WAY, *TWO_WAYS])
def test_the_shorter_way_chooses_the_same_rows(type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = holding(type_)
    found = totals(engine)
    assert found[0] == found[2] == found[4] == [MOST * PEOPLE]
    assert len({tuple(one) for one in found[1::2]}) == len(SEEDS)
    monkeypatch.setattr(Integers, "of_unit", lambda self, node: node.this)
    assert totals(engine) == found


@pytest.mark.parametrize("type_", [*ONE_WAY, *TWO_WAYS])
def test_a_units_number_is_sought_only_where_equal_ids_may_be_written_in_two_ways(type_: str) -> None:
    """To seek the least of a person's numbers took a fifth of all that a choice of rows takes."""
    engine: Any = holding(type_)
    written = engine.write(select_of([plan_query(ASKED[1], POLICY)], "5eed"))
    ((_, explained),) = engine.aggregate(f"EXPLAIN (FORMAT json) {written.text}", written.seed)
    assert "row_number()" in explained.lower()
    assert ("min(" in explained.lower()) == (type_ in TWO_WAYS)
