"""Two columns that a condition writes are two on every engine, whoever reads the rows.

DuckDB holds names for one that differ in case alone, and PostgreSQL cuts them after 63 bytes.
"""

from __future__ import annotations

import random

import pyarrow

from leakcap.models.moment_query import MomentQuery, bounded_rows
from leakcap.models.moments import Moments
from leakcap.release import Engine, attach, load_policy
from leakcap.release.columns.typed import aliased, number_column
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.tables import TablesQuestion
from leakcap.tables.reading import counts_of, statements_of_tables
from ledger.server import execute
from release.world import exact, planned

UNIT = {"id": "p", "max_rows": 20}
LONG = " AND ".join(f"net > -{n}" for n in range(1, 9))


def written(ward: str) -> str:
    """The net where the ward is this one, else 50: a name of more than 63 bytes."""
    return f"\"CASE WHEN ({LONG} AND w = '{ward}') THEN net ELSE 50.0 END\""


WHERE = f"{written('a')} < 5 AND {written('A')} > 5"
ROWS = [
    (draw.randrange(30), draw.choice(("a", "A", "b")), float(draw.randrange(10)))
    for draw in [random.Random(5)]
    for _ in range(200)
]
# Whose ward is `a` and whose net is below 5: then the other one is 50.
EXPECTED = sum(w == "a" and net < 5 for _, w, net in ROWS)


def counted(engine: Engine, *, persons: bool) -> dict[str, int]:
    """How many rows each reader finds."""
    policy = load_policy(
        {
            **{"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0, "delta": 1e-6}},
            "columns": {"net": {"bounds": [0, 100]}, "w": {"keys": ["a", "A", "b"]}},
            **({"unit": UNIT} if persons else {}),
        }
    )
    found = {"count": exact(planned(policy, statistic="count", where=WHERE), engine)[0][0]}
    asked = TablesQuestion(columns=("w",), ways=1, rho=0.1, where=WHERE).planned(policy)
    found["tables"] = int(counts_of(asked, statements_of_tables(asked, engine), engine)[(0,)].sum())
    query = MomentQuery(policy, ["net"], WHERE)
    moments = Moments.plan(query.bounds, policy, epsilon=1.0, delta=0.0)
    found["moments"] = query.run(query.statement(moments, engine), engine)[0]
    value = aliased(number_column("net"), "v0")
    rows = engine.run(engine.write(bounded_rows(policy, WHERE, [value], "")[0]))
    found["examples"] = len(rows.arrays[0])
    if persons:
        per_person = exact(planned(policy, statistic="rows_per_person", up_to=40, where=WHERE), engine)[0]
        found["persons"] = sum(n * people for n, people in enumerate(per_person, 1))
    return found


def check(engine: Engine) -> None:
    found = [counted(engine, persons=persons) for persons in (False, True)]
    assert [len(one) for one in found] == [4, 5]
    assert all(set(one.values()) == {EXPECTED} for one in found), (EXPECTED, found)


def test_duckdb() -> None:
    p, w, net = (list(one) for one in zip(*ROWS, strict=True))
    check(attach(pyarrow.table({"p": p, "w": w, "net": net})))


def test_postgresql(server: str) -> None:
    execute(
        server,
        "DROP TABLE IF EXISTS written_names",
        "CREATE TABLE written_names (p bigint, w text, net float8)",
        *(f"INSERT INTO written_names VALUES ({p}, '{w}', {net})" for p, w, net in ROWS),
    )
    check(PostgreSQL(server, table="written_names"))
