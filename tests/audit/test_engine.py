"""leakcap's own release path, audited: honest answers keep their claims, planted bugs are found."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from leakcap import PrivateTable
from leakcap.audit import Audit, Batched, Verdict, audit
from leakcap.definition import PureDP
from leakcap.release import DuckDB, Query, table
from leakcap.release.plan import Plan
from leakcap.sampling import discrete_laplace
from seeded import SeededSource

EPSILON = 1.0
FIRST = {"x": [1.0, 4.0, 9.0, 0.0], "d": ["a", "a", "b", "b"]}
ADDED = {"x": [1.0, 4.0, 9.0, 0.0, 10.0], "d": ["a", "a", "b", "b", "a"]}
REPLACED = {"x": [1.0, 4.0, 9.0, 10.0], "d": ["a", "a", "b", "a"]}
QUERIES: dict[str, dict[str, Any]] = {
    "count": {"statistic": "count"},
    "sum": {"statistic": "sum", "column": "x"},
    "mean": {"statistic": "mean", "column": "x"},
    "histogram": {"statistic": "histogram", "column": "x", "bins": 2},
    "grouped count": {"statistic": "count", "by": ("d",)},
}
CONFIDENCE = 0.9999
"""A right engine fails one of these audits with probability 10⁻⁴ at most over the choice of the seed."""
MANY = 1500


@pytest.fixture(autouse=True)
def _one_statement_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables do not change, so that the same statement has the same integers: it runs once."""
    aggregate, seen = DuckDB.aggregate, {}

    def once(engine: DuckDB, statement: str, seed: int | None) -> Any:
        key = (id(engine), statement, seed)
        if key not in seen:
            seen[key] = (engine, aggregate(engine, statement, seed))
        return seen[key][1]

    monkeypatch.setattr(DuckDB, "aggregate", once)


def policy(relation: str) -> dict[str, Any]:
    rows = {"rows": 4} if relation == "replace-one" else {}
    return {
        "dataset": "audited",
        "neighbours": relation,
        "caps": {"epsilon": 1e6},
        "columns": {"x": {"bounds": [0.0, 10.0]}, "d": {"keys": ["a", "b"]}},
        **rows,
    }


def audited(relation: str, query: dict[str, Any], samples: int, confidence: float = CONFIDENCE) -> Audit:
    """Many releases from two neighbouring tables, through plan, price, ledger, engine and noise."""
    second = ADDED if relation == "add-remove-one" else REPLACED
    tables = [
        PrivateTable(
            pyarrow.table(columns), policy=policy(relation), ledger="sqlite://", source=SeededSource(seed)
        )
        for seed, columns in enumerate((FIRST, second))
    ]

    def run(which: int, runs: int) -> list[Any]:
        queries = [Query(**{"name": "q", "epsilon": EPSILON, **query})] * runs
        releases = tables[which].release(queries, fresh=True)
        return [[float(row.value) for row in release.rows] for release in releases]

    return audit(
        Batched(run),
        0,
        1,
        samples=samples,
        claim=PureDP(EPSILON),
        confidence=confidence,
        early=False,
        seed=1,
    )


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("count", "add-remove-one"),
        ("sum", "replace-one"),
        ("mean", "add-remove-one"),
        ("histogram", "replace-one"),
        ("grouped count", "replace-one"),
    ],
)
def test_the_engine_keeps_its_claim(relation: str, name: str) -> None:
    assert audited(relation, QUERIES[name], 120).verdict is not Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_keeps_its_claim_over_many_runs(relation: str, name: str) -> None:
    """As many runs as find noise of half the scale, below."""
    assert audited(relation, QUERIES[name], MANY).verdict is not Verdict.VIOLATED


def test_the_audit_is_near_what_was_paid_for() -> None:
    found = audited("add-remove-one", QUERIES["count"], 500, confidence=0.99)
    assert 0.4 < found.epsilon.lower <= EPSILON


def test_noise_of_a_third_of_the_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def weak(scale: Any, size: int, source: Any) -> Any:
        return discrete_laplace(scale / 3, size, source)

    monkeypatch.setattr("leakcap.mechanism.geometric.discrete_laplace", weak)
    assert audited("add-remove-one", QUERIES["count"], 200).verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_noise_of_half_the_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def weak(scale: Any, size: int, source: Any) -> Any:
        return discrete_laplace(scale / 2, size, source)

    monkeypatch.setattr("leakcap.mechanism.geometric.discrete_laplace", weak)
    assert audited("replace-one", QUERIES["sum"], MANY).verdict is Verdict.VIOLATED


def test_a_grouped_count_under_replace_one_with_sensitivity_one_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A record that leaves one group enters another: who forgets it has half the noise that it takes."""
    plan_query = table.plan_query

    def forgetful(query: Query, rules: Any) -> Plan:
        other = rules.model_copy(update={"neighbours": "add-remove-one", "rows": None})
        return plan_query(query, other if query.by else rules)

    monkeypatch.setattr(table, "plan_query", forgetful)
    assert audited("replace-one", QUERIES["grouped count"], 350).verdict is Verdict.VIOLATED
