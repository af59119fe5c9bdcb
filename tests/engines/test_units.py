"""Bounds on people and private keys on a server: the same choices as in the embedded engine."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from leakcap.release import Engine, PrivateTable, Query, attach, load_policy
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.release.plan import plan_query
from leakcap.release.scan import scans_of
from ledger.server import execute

ROWS = [(person, "abcdé"[(person * k) % 5], (person + k) % 3) for person in range(40) for k in range(1, 7)]
LONG = [(90, "z" * 201, 1), (91, None, 1)]


def policy(keys: Any = "private") -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "unit": {"id": "id", "max_rows": 4, "max_groups": 2},
        "columns": {"d": {"keys": keys}, "n": {"keys": [0, 1, 2]}},
    })  # fmt: skip


@pytest.fixture(scope="module")
def engines(server: str) -> list[Engine]:
    listed = ", ".join(f"({i}, {'NULL' if d is None else repr(d)}, {n})" for i, d, n in ROWS + LONG)
    execute(server, "DROP TABLE IF EXISTS units; CREATE TABLE units (id bigint, d text, n bigint)")
    execute(server, f"INSERT INTO units VALUES {listed}")
    columns = {name: [row[i] for row in ROWS + LONG] for i, name in enumerate(("id", "d", "n"))}
    return [attach(pyarrow.table(columns)), PostgreSQL(server, table="units")]


@pytest.mark.parametrize("seed", ["", "00ff", "5eed"])
@pytest.mark.parametrize("keys", ["private", ["a", "b", "é"]])
@pytest.mark.parametrize("statistic", ["count", "distinct"])
def test_the_same_rows_are_chosen(engines: list[Engine], keys: Any, statistic: str, seed: str) -> None:
    delta = 1e-6 if keys == "private" else None
    asked = Query(name="q", statistic=statistic, by=("d", "n"), epsilon=1.0, delta=delta)
    plan = plan_query(asked, policy(keys))
    found = [scans_of([plan], engine, seed)[0].run(engine)[0] for engine in engines]
    assert found[0] == found[1]
    assert sum(found[0].totals[0]) > 0
    assert all(len(str(code[0])) == 1 for code in found[0].codes)


def test_private_keys_of_a_server(server: str, engines: list[Engine]) -> None:
    private = PrivateTable(server, table="units", policy=policy(), ledger="sqlite://")
    release = private.distinct(by="d", epsilon=200.0, delta=1e-6)
    assert [row.keys["d"] for row in release.rows] == sorted(row.keys["d"] for row in release.rows)
    assert {row.keys["d"] for row in release.rows} <= set("abcdé")
