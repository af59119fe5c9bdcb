"""A statement that was written before is taken again only where it would be written the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakcap.policy import load_policy
from leakcap.release import Query, attach
from leakcap.release.planning import scan
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import WrittenStatements, scans_of

pyarrow = pytest.importorskip("pyarrow")
SEED = "0123456789abcdef" * 2
TABLE = pyarrow.table(
    {"id": [1, 1, 2], "age": [31.5, 45.0, 70.25], "stay": [1.0, 2.5, 9.0], "ward": ["a", "b", "a"]}
)
POLICY = load_policy(
    {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "unit": {"id": "id", "max_rows": 3},
        "caps": {"epsilon": 100.0, "delta": 1e-6},
        "columns": {
            "age": {"bounds": [0.0, 120.0]},
            "stay": {"bounds": [0.0, 30.0]},
            "ward": {"keys": ["a", "b"]},
        },
    }
)


def queries() -> list[Query]:
    """Each kind of statistic, with and without a condition and keys, at prices and laws far apart."""
    kinds: list[dict[str, object]] = [
        {"statistic": "count"},
        {"statistic": "count", "where": "age > 40"},
        {"statistic": "count", "where": "age > 41"},
        {"statistic": "distinct"},
        {"statistic": "sum", "column": "stay"},
        {"statistic": "sum", "column": "age"},
        {"statistic": "mean", "column": "stay", "by": ("ward",)},
        {"statistic": "variance", "column": "age"},
        {"statistic": "median", "column": "age"},
        {"statistic": "histogram", "column": "age", "bins": 4},
        {"statistic": "histogram", "column": "age", "bins": 5},
        {"statistic": "contingency", "columns": ("ward", "age"), "cut": (("age", (0.0, 60.0, 120.0)),)},
        {"statistic": "correlation", "columns": ("age", "stay")},
    ]
    prices: list[dict[str, object]] = [
        {"epsilon": 0.001},
        {"epsilon": 1.0},
        {"epsilon": 50.0},
        {"rho": 0.01, "noise": "gaussian"},
    ]
    return [
        Query(name="q", **kind, **price)  # type: ignore[arg-type]
        for price in prices
        for kind in kinds
        if price.get("noise") != "gaussian" or kind["statistic"] != "median"
    ]


def differing(memory: WrittenStatements) -> list[str]:
    """Queries whose remembered statement is not what would be written."""
    engine, found = attach(TABLE), []
    for query in queries():
        plan = plan_query(query, POLICY)
        (kept,) = scans_of([plan], engine, SEED, memory)
        (fresh,) = scans_of([plan], engine, SEED)
        same = ("text", "quick", "seed")
        if any(getattr(kept.statement, name) != getattr(fresh.statement, name) for name in same):
            found.append(str(query))
    return found


def test_what_is_remembered_is_what_would_be_written() -> None:
    assert differing(WrittenStatements()) == []


def test_a_memory_by_statistic_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault."""
    monkeypatch.setattr(scan, "_asked", lambda plan: plan.query.statistic)
    assert differing(WrittenStatements())


def test_another_secret_is_another_statement() -> None:
    """Under another ledger other rows of a person are used."""
    memory, engine = WrittenStatements(), attach(TABLE)
    plan = plan_query(queries()[0], POLICY)
    (one,), (other,) = (scans_of([plan], engine, seed, memory) for seed in ("0a" * 16, "0b" * 16))
    assert one.statement.seed != other.statement.seed


def test_the_least_recently_asked_is_forgotten() -> None:
    memory, engine, written = WrittenStatements(most=2), attach(TABLE), []
    write = engine.write
    engine.write = lambda tree: written.append(1) or write(tree)  # type: ignore[method-assign,func-returns-value]
    plans = [plan_query(query, POLICY) for query in queries()[:3]]
    for plan in (plans[0], plans[1], plans[0], plans[2], plans[0], plans[1]):
        scans_of([plan], engine, "", memory)
    assert len(written) == 4


def test_the_policy_is_the_tables_own(tmp_path: Path) -> None:
    """A table has one policy for life, so that its memory needs no policy in what it is asked by."""
    from leakcap.release import PrivateTable

    table = PrivateTable(TABLE, policy=POLICY, ledger=tmp_path / "ledger.db")
    other = PrivateTable(TABLE, policy=POLICY, ledger=tmp_path / "other.db")
    assert table._written is not other._written
    assert table.asked_by("x")._written is table._written
