"""Caps without ε, δ beside ρ, prices that say less than they are, and plans beyond what a ledger counts."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from typer.testing import CliRunner

from leakcap import models
from leakcap.cli.main import app
from leakcap.errors import BudgetExceeded, InvalidParameter, InvalidPolicy, InvalidQuery
from leakcap.ledger import Caps, Charge, Ledger, Limits, Slot, SlotPlan, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.implied import rho_of_pure
from leakcap.release import PrivateTable, load_policy

POLICY: dict[str, Any] = {"dataset": "d", "columns": {"x": {"bounds": [0.0, 1.0]}}}
ROWS = pyarrow.table({"x": [0.5] * 20})
RELATIONS: list[dict[str, Any]] = [
    {"neighbours": "add-remove-one"},
    {"neighbours": "replace-one", "rows": 20},
]
WITHOUT_EPSILON: list[dict[str, Any]] = [
    {"rho": 0.01},
    {"rho": 0.01, "delta": 1e-6},
    {"nats_per_person": 0.01},
    {"nats_level": 0.03, "alpha": 2.0},
]


def opened(caps: Caps) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one["neighbours"])
@pytest.mark.parametrize("caps", WITHOUT_EPSILON, ids=lambda caps: "+".join(caps))
def test_another_currency_caps_in_the_place_of_epsilon(
    caps: dict[str, Any], relation: dict[str, Any]
) -> None:
    """Whatever the law of the noise, answers are given until that cap is reached, and then none."""
    table = PrivateTable(ROWS, policy=POLICY | relation | {"caps": caps}, ledger="sqlite://")
    table.count(epsilon=0.01)
    table.count(epsilon=0.01, noise="best", fresh=True)
    assert all(one.left is None for one in table.budget() if one.name == "epsilon")
    table.count(rho=0.0001, noise="gaussian")
    assert table.preview([]) == []
    assert str(table.statement())
    name = next(iter(caps)).replace("per_", "")
    with pytest.raises(BudgetExceeded) as refusal:
        until_refused(table)
    assert {one.cap for one in refusal.value.passed} == {name}
    table.ledger.verify()


MODELS = {name: one for name in models.__all__ if hasattr(one := getattr(models, name), "fit_table")}
TARGET = {"LinearRegression": {"bounds": (0.0, 1.0), "target_bounds": (0.0, 1.0)}}
X, Y = np.full((20, 1), 0.5), np.array([0, 1] * 10)


def fitted(name: str, table: PrivateTable, **price: Any) -> None:
    MODELS[name](policy=table.policy, ledger=table.ledger, **TARGET.get(name, {}), **price).fit(X, Y)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one["neighbours"])
@pytest.mark.parametrize("caps", [*WITHOUT_EPSILON, {"epsilon": 1.0}], ids=lambda caps: "+".join(caps))
def test_no_model_spends_a_delta_that_nobody_allowed(caps: dict[str, Any], relation: dict[str, Any]) -> None:
    """No `delta` in `caps` is leave for none, in a model as in a query: each was charged ε and a δ, and a cap
    on ε saw none of it, however often it was asked."""
    tried = 0
    for name, model in MODELS.items():
        price: dict[str, Any] = {"epsilon": 0.001, "delta": 1e-3}
        if name == "PrivateGradientDescent":
            price = {"delta": 0.45, "steps": 1, "noise_multiplier": 20.0, "expected_rows": 20}
        if "delta" not in inspect.signature(model).parameters:
            continue
        table = PrivateTable(ROWS, policy=POLICY | relation | {"caps": caps}, ledger="sqlite://")
        with pytest.raises((InvalidQuery, BudgetExceeded)) as refusal:
            fitted(name, table, **price)
        assert table.ledger.totals().entries == 0
        if "delta" not in caps:
            assert "no `delta` in its `caps`. Only the owner can allow one." in str(refusal.value)
        tried += 1
    assert tried == 5


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one["neighbours"])
@pytest.mark.parametrize("caps", [*WITHOUT_EPSILON, {"epsilon": 1.0}], ids=lambda caps: "+".join(caps))
def test_another_currency_stops_models_as_it_stops_queries(
    caps: dict[str, Any], relation: dict[str, Any]
) -> None:
    """Models without a δ are fitted until that cap is reached, and then none is."""
    name, stopped = next(iter(caps)).replace("per_", ""), 0
    for kind, model in MODELS.items():
        if "epsilon" not in inspect.signature(model).parameters:
            continue
        table = PrivateTable(ROWS, policy=POLICY | relation | {"caps": caps}, ledger="sqlite://")
        with pytest.raises(BudgetExceeded) as refusal:
            fitted_until_refused(kind, table)
        assert name in {one.cap for one in refusal.value.passed}, (kind, refusal.value)
        table.ledger.verify()
        stopped += 1
    assert stopped == 5


def fitted_until_refused(name: str, table: PrivateTable) -> None:
    for _ in range(200):
        fitted(name, table, epsilon=0.1)


def until_refused(table: PrivateTable) -> None:
    for _ in range(200):
        table.count(epsilon=0.05, fresh=True)


@pytest.mark.parametrize("caps", [{}, {"delta": 1e-6}, {"queries": 9}, {"nats_table": 5.0}, {"alpha": 2.0}])
def test_a_policy_promises_something_to_a_person(caps: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidPolicy, match="`epsilon` is missing; or give `rho`, `nats_per_person`"
    ) as refusal:
        load_policy(POLICY | RELATIONS[0] | {"caps": caps})
    assert "\n" not in str(refusal.value)


def test_people_own_caps_are_on_epsilon() -> None:
    with pytest.raises(InvalidPolicy, match="`each_person` needs `epsilon`"):
        load_policy(
            POLICY | RELATIONS[0] | {"unit": {"caps": "c"}, "caps": {"rho": 1.0, "each_person": [0.1, 0.2]}}
        )


def test_the_commands_take_a_policy_without_epsilon(tmp_path: Path) -> None:
    """Preview, release, budget, report, amend, verify."""
    policy = (
        'dataset = "d"\nneighbours = "add-remove-one"\n[columns.x]\nbounds = [0.0, 1.0]\n[caps]\nrho = {}\n'
    )
    (tmp_path / "p.toml").write_text(policy.format("0.02") + "delta = 1e-6\n")
    (tmp_path / "d.csv").write_text("x\n" + "0.5\n" * 20)
    (tmp_path / "r.toml").write_text(
        'policy = "p.toml"\ndata = "d.csv"\nledger = "l.db"\n'
        '[[query]]\nname = "n"\nstatistic = "count"\nrho = 0.005\nnoise = "gaussian"\n'
        '[[query]]\nname = "m"\nstatistic = "mean"\ncolumn = "x"\nepsilon = 0.05\n'
    )
    run, file, url = CliRunner(), str(tmp_path / "r.toml"), f"sqlite:///{tmp_path}/l.db"
    page = str(tmp_path / "page.html")
    for command in (
        ["preview", file],
        ["release", file],
        ["release", file, "--fresh", "--yes"],
        ["report", file, "--output", page],
        ["budget", file, "--delta", "1e-9"],
        ["ledger", "verify", url],
    ):
        found = run.invoke(app, command)
        assert found.exit_code == 0, (command, found.output)
    told = json.loads(run.invoke(app, ["budget", file, "--json"]).output)
    assert {cap["cap"]: cap["limit"] for cap in told["caps"]}["epsilon"] is None
    assert "0.02" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "caps",
    [
        Caps(rho=1.0),
        Caps(9.0, rho=1.0),
        Caps(9.0, 1e-6, each_analyst=Limits(rho=1.0)),
        Caps(9.0, 1e-6, each_period=Limits(rho=1.0), period="month"),
    ],
)
def test_what_has_a_delta_of_one_tells_everything_and_has_no_rho(caps: Caps) -> None:
    """An answer with δ = 1 may be the table itself. An owner who caps ρ and names no δ has allowed none."""
    with opened(caps) as ledger:
        for delta in (1.0, 1e-3, 1e-12):
            with pytest.raises(BudgetExceeded) as refusal:
                ledger.reserve([Charge("n", "all", Spend(0.0, delta, nats_person=0.0))])
            assert "delta" in {one.cap for one in refusal.value.passed}
        assert ledger.totals().entries == 0
    allowed = Caps(rho=1.0, delta=1e-6)
    with opened(allowed) as ledger:
        ledger.reserve([Charge("n", "keys", Spend(0.1, 1e-6))])
        with pytest.raises(BudgetExceeded, match="`delta` cap"):
            ledger.reserve([Charge("n", "keys", Spend(0.1, 1e-12))])


@pytest.mark.parametrize("epsilon", [1e-5, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_rho_below_what_epsilon_implies_is_refused_before_it_is_reserved(
    epsilon: float, delta: float
) -> None:
    """It was reserved, and the ledger did not verify from then on."""
    for little in (0.0, 0.999 * rho_of_pure(epsilon) - 1e-11):
        if little >= 0.0:
            with pytest.raises(
                InvalidParameter, match="`rho` of `Spend` must be no less than what `epsilon`"
            ):
                Spend(epsilon, delta, rho=little)
    with opened(Caps(300.0, 1e-3, rho=300.0)) as ledger:
        ledger.reserve([Charge("n", "c", Spend(epsilon, delta, rho=rho_of_pure(epsilon)))])
        ledger.reserve([Charge("n", "c", Spend(epsilon, delta, rho=3 * epsilon))])
        ledger.verify()
    # With a curve and no event the spend is only stated, and so is its ρ.
    assert Spend(1.0, curve=(1e-3,) * len(ORDERS), rho=1e-3).rho == 1e-3


@pytest.mark.parametrize(
    "plan",
    [
        SlotPlan("p", [Slot("s", 10**6, epsilon=2.0)]),
        SlotPlan("p", [Slot("s", 10**6, epsilon=99.0)], delta=1e-6),
        SlotPlan("p", [Slot("s", 10**6, rho=50.0, steps=1000)], delta=1e-6),
        SlotPlan("p", [Slot("s", 10**6, epsilon=0.1, nats_table=5.0)]),
    ],
)
def test_a_plan_beyond_what_a_ledger_counts_can_be_read_back(plan: SlotPlan) -> None:
    """Its sums are without bound then, so that only a ledger without such a cap takes it."""
    with opened(Caps(nats_table=None, queries=10**7)) as ledger:
        ledger.plan(plan)
        (entry,) = ledger.entries()
        assert math.inf in (entry.spend.epsilon, entry.spend.rho, entry.spend.nats_table)
        ledger.verify()
        assert ledger.totals().entries == 0
    with opened(Caps(1e6, nats_table=1e6, rho=1e6)) as ledger:
        with pytest.raises(BudgetExceeded, match="no bound is known for what was asked"):
            ledger.plan(plan)
        assert ledger.head().rows == 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "best"])
@pytest.mark.parametrize("rho", [10**7, 1e9, 1e300])
def test_a_query_names_its_own_parameter(rho: float, noise: str) -> None:
    caps = {"epsilon": 9.0, "delta": 1e-6}
    table = PrivateTable(ROWS, policy=POLICY | RELATIONS[0] | {"caps": caps}, ledger="sqlite://")
    for ask in (table.count, lambda **price: table.mean("x", **price)):
        with pytest.raises(InvalidQuery, match=r"`rho` of query `.*` must be at most 1,000,000"):
            ask(rho=rho, noise=noise)
    assert table.ledger.totals().entries == 0
