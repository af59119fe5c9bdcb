"""A SELECT statement, a batch and a file are priced in ρ, or by a wanted error, as Python's questions are."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from command_line import leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, load_policy, load_queries
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.sql.select import sql_queries
from leakcap.release.statistics import statistic_of
from sql.test_command import POLICY, QUERIES, STATEMENT, visits

__all__ = ["visits"]

CAPS = {"epsilon": 3.0, "delta": 1e-6, "rho": 0.1}
WARDS = load_policy(
    {
        "dataset": "visits",
        "neighbours": "add-remove-one",
        "columns": {"stay": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["a", "b"]}},
        "caps": CAPS,
    }
)


def table(tmp_path: Path) -> PrivateTable:
    rows = pyarrow.table({"stay": [3.0, 9.0] * 50, "ward": ["a", "b"] * 50})
    return PrivateTable(rows, policy=WARDS, ledger=f"sqlite:///{tmp_path}/l.db")


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "best"])
def test_a_statement_shares_rho_and_never_spends_more(tmp_path: Path, noise: str) -> None:
    queries = sql_queries(STATEMENT, WARDS, rho=0.01, weights=[1.0, 3.0], noise=noise)
    assert [(q.epsilon, q.rho, q.noise) for q in queries] == [(None, 0.0025, noise), (None, 0.0075, noise)]
    asking = table(tmp_path)
    releases = asking.sql(STATEMENT, rho=0.01, noise=noise)
    # A mean of Laplace noise has two numbers at half its ε each, which is half of the ρ that all of ε allows.
    least = 0.0095 if noise == "gaussian" else 0.007
    assert least < asking.ledger.totals().rho <= 0.01
    assert [one.query.rho for one in releases] == [0.005, 0.005]
    # The same question in Python is the same question: it is answered from the ledger.
    assert asking.count(where="stay > 1", by="ward", rho=0.005, noise=noise).repeated
    asking.ledger.verify()


def test_a_wanted_error_costs_what_it_costs_in_python(tmp_path: Path) -> None:
    asking = table(tmp_path)
    both = sql_queries(STATEMENT, WARDS, error=[40.0, 20.0])
    rows = asking.where("stay > 1").by("ward")
    assert both[0].epsilon == rows.count().at(error=40.0).epsilon
    assert both[1].epsilon == rows.mean("stay").at(error=20.0).epsilon
    for query, most in zip(both, (40.0, 20.0), strict=True):
        plan = plan_query(query, WARDS)
        assert 0.9 * most < statistic_of(plan.query).expected(plan).error <= most
    assert sql_queries(STATEMENT, WARDS, error=40.0)[0].epsilon == both[0].epsilon
    # Of a budget in ρ each price is one in ρ.
    in_rho = sql_queries(STATEMENT, WARDS, rho=0.09, error=40.0, noise="gaussian")
    assert all(q.epsilon is None and 0 < (q.rho or 0) < 0.09 for q in in_rho)
    assert sum(Fraction(repr(q.rho)) for q in in_rho) <= Fraction("0.09")
    with pytest.raises(InvalidQuery, match=r"Query `count` cannot stay within 0.01 with 95 % at ρ = 0.01"):
        sql_queries(STATEMENT, WARDS, rho=0.01, error=0.01)


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({}, "`epsilon`, or `rho`, of the budget is missing"),
        ({"epsilon": 0.1, "rho": 0.1}, "`rho` of the budget must be left out beside `epsilon`"),
        ({"rho": -1.0}, "`rho` of query `count` must be a positive finite number"),
        ({"rho": float("nan")}, "`rho` of query `count` must be a positive finite number"),
        ({"error": [1.0]}, "`error` must be one for all or for each aggregate. Got 1 for 2"),
        ({"error": 5.0, "weights": [1.0, 1.0]}, "`weights` must be left out beside `error`"),
        ({"error": 0.0}, "`error` of query `count` must be a positive finite number"),
    ],
)
def test_prices_that_are_none(price: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        sql_queries(STATEMENT, WARDS, **price)


def test_a_batch_and_a_file_share_rho_too(tmp_path: Path) -> None:
    asking = table(tmp_path)
    rows = asking.where("stay > 1")
    batch = asking.batch(rho=0.02).add(rows.count(), noise="gaussian").add(rows.mean("stay"), weight=3.0)
    assert [q.rho for q in batch.queries()] == [0.005, 0.015]
    batch.release()
    assert 0.012 < asking.ledger.totals().rho <= 0.02
    (tmp_path / "policy.toml").write_text(POLICY.replace("epsilon = 1.0", "epsilon = 1.0\nrho = 0.1"))
    head, tail = QUERIES.replace("epsilon = 0.1\n", "").split("[[query]]")
    (tmp_path / "release.toml").write_text(f"{head}[budget]\nrho = 0.03\n[[query]]{tail}")
    (query,) = load_queries(tmp_path / "release.toml").queries
    assert (query.epsilon, query.rho) == (None, 0.03)


@pytest.mark.parametrize("objective", ["least total error", "equal errors"])
def test_no_other_division_of_rho_is_better(tmp_path: Path, objective: Any) -> None:
    """Against nearby divisions, errors as a preview says them."""
    asking = table(tmp_path)
    batch = asking.batch(rho=0.05, objective=objective)
    for question in (asking.where("stay > 1").count(), asking.where("stay > 1").sum("stay")):
        batch = batch.add(question, noise="gaussian")
    found = batch.queries()

    def worth(moved: float) -> float:
        errors = []
        for query, sign in zip(found, (1, -1), strict=True):
            plan = plan_query(type(query)(**vars(query) | {"rho": (query.rho or 0) + sign * moved}), WARDS)
            errors.append(statistic_of(plan.query).expected(plan).error)
        return max(errors) if objective == "equal errors" else sum(one**2 for one in errors)

    step = 0.3 * min(query.rho or 0 for query in found)
    assert worth(0.0) <= 1.01 * min(worth(step), worth(-step))
    if objective == "equal errors":
        one, two = (plan_query(query, WARDS) for query in found)
        errors = [statistic_of(plan.query).expected(plan).error for plan in (one, two)]
        assert errors[0] == pytest.approx(errors[1], rel=0.05)


def test_the_command_takes_them(visits: Path) -> None:
    (visits / "policy.toml").write_text(
        POLICY.replace("epsilon = 1.0", "epsilon = 3.0\ndelta = 1e-6\nrho = 0.1")
    )
    done = leakcap(
        "sql", STATEMENT, "--rho", "0.01", "--noise", "gaussian", "--preview", "--json", cwd=visits
    )
    assert done.returncode == 0, done.stderr
    prices = [one["price"]["rho"] for one in json.loads(done.stdout)["statistics"]]
    assert 0.0095 < sum(prices) <= 0.01
    done = leakcap("sql", STATEMENT, "--error", "40,20", "--json", cwd=visits)
    assert done.returncode == 0, done.stderr
    spent = {cap["cap"]: cap["spent"] for cap in json.loads(done.stdout)["caps"]}
    assert 0 < spent["rho"] < 0.1
    wrong = leakcap("sql", STATEMENT, "--error", "x", cwd=visits)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "`--error` must be numbers" in wrong.stderr


def test_what_a_statement_costs_is_what_the_preview_says() -> None:
    for query in sql_queries(STATEMENT, WARDS, rho=0.01, noise="gaussian"):
        assert price_of(plan_query(query, WARDS)).rho <= 0.005
