"""Gaussian noise has no ε without a δ: caps on ρ or nats alone take it, caps on ε without a δ refuse it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidQuery, LeakcapError
from leakcap.ledger.measured import rho_of
from leakcap.release import PrivateTable

ROWS = pyarrow.table({"x": [1.0, 2.0, 3.0] * 30, "ward": ["a", "b", "b"] * 30})
POLICY: dict[str, Any] = {
    "dataset": "d",
    "columns": {"x": {"bounds": [0.0, 9.0]}, "ward": {"keys": ["a", "b"]}},
}
RELATIONS: dict[str, dict[str, Any]] = {
    "add-remove-one": {"neighbours": "add-remove-one", "max_rows": 100},
    "replace-one": {"neighbours": "replace-one", "rows": 90},
}
TAKING: dict[str, dict[str, Any]] = {
    "rho": {"rho": 2.0},
    "rho and delta": {"rho": 2.0, "delta": 1e-6},
    "rho and queries": {"rho": 2.0, "queries": 9},
    "nats of a person": {"nats_per_person": 2.0},
    "nats at a level": {"nats_level": 9.0, "alpha": 2.0},
    "nats of a person and of the table": {"nats_per_person": 2.0, "nats_table": 90.0},
    "epsilon with a delta": {"epsilon": 9.0, "delta": 1e-6},
    "rho and epsilon of a month with a delta": {
        "rho": 2.0,
        "each_period": {"length": "month", "epsilon": 9.0, "delta": 1e-6},
    },
}
REFUSING: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 9.0},
    "epsilon and rho": {"epsilon": 9.0, "rho": 2.0},
    "a coin flip": {"coin_flip": 0.99},
    "epsilon of a month": {"rho": 2.0, "each_period": {"length": "month", "epsilon": 9.0}},
    "epsilon of an analyst": {"rho": 2.0, "each_analyst": {"epsilon": 9.0}},
    "a delta for answers alone": {"epsilon": 9.0, "delta": 1e-6, "delta_of_answers": 1e-6},
    "people's own": {"epsilon": 9.0, "delta": 1e-6, "each_person": [1.0]},
}
PRICES: dict[str, dict[str, Any]] = {
    "rho": {"rho": 0.01, "noise": "gaussian"},
    "error": {"error": 40.0, "noise": "gaussian"},
}
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("count", {}),
    ("count", {"by": "ward"}),
    ("sum", {"column": "x"}),
    ("mean", {"column": "x"}),
)


def opened(caps: dict[str, Any], relation: str) -> PrivateTable:
    policy = POLICY | RELATIONS[relation] | {"caps": caps}
    if "each_person" in caps:
        policy |= {"unit": {"id": "id", "caps": "own"}}
    return PrivateTable(ROWS, policy=policy, ledger="sqlite://")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("caps", TAKING)
def test_it_is_charged_its_rho_and_no_epsilon_and_no_delta(caps: str, relation: str) -> None:
    seen = 0
    with opened(TAKING[caps], relation) as table:
        for (statistic, asked), price in itertools.product(ASKED, PRICES.values()):
            release = getattr(table, statistic)(**asked, **price)
            spent = table.ledger.entries()[-1].spend
            assert (spent.epsilon, spent.delta) == (math.inf, 0.0)
            # From the event alone, as an auditor computes it; the ledger rounds up to its tick.
            assert rho_of(release.price.event) <= spent.rho <= price.get("rho", math.inf)
            assert release.record.to_dict()["price"]["delta"] == release.price.delta > 0.0
            assert str(release.statement())
            seen += 1
        table.ledger.verify()
        assert str(table.statement())
    assert seen == len(ASKED) * len(PRICES)


def test_the_epsilon_that_is_said_holds_at_the_delta_that_is_said() -> None:
    """Of one count: the exact profile of Gaussian noise (Balle & Wang 2018, theorem 8), by mpmath."""
    with opened({"rho": 2.0}, "add-remove-one") as table:
        for rho in (1e-4, 0.01, 0.5):
            release = table.count(rho=rho, noise="gaussian", fresh=True)
            sigma, epsilon = mpmath.mpf(release.noise_scale), mpmath.mpf(release.price.epsilon)
            assert 1 / (2 * sigma**2) <= rho
            with mpmath.workdps(40):
                odds = mpmath.exp(epsilon) * mpmath.ncdf(-1 / (2 * sigma) - epsilon * sigma)
                assert mpmath.ncdf(1 / (2 * sigma) - epsilon * sigma) - odds <= 1e-12 == release.price.delta


@pytest.mark.parametrize("caps", REFUSING)
@pytest.mark.parametrize("price", PRICES)
def test_a_cap_on_epsilon_without_a_delta_refuses_it_in_one_line(caps: str, price: str) -> None:
    rows = ROWS.append_column("id", [list(range(90))]).append_column("own", [[1.0] * 90])
    policy = POLICY | RELATIONS["add-remove-one"] | {"caps": REFUSING[caps]}
    if "each_person" in REFUSING[caps]:
        policy = policy | {"unit": {"id": "id", "caps": "own"}}
        del policy["max_rows"]
        policy["unit"] |= {"max_rows": 1}
    with PrivateTable(rows, policy=policy, ledger="sqlite://") as table:
        with pytest.raises((InvalidQuery, BudgetExceeded)) as refused:
            table.count(**PRICES[price])
        assert "\n" not in str(refused.value)
        assert "δ" in str(refused.value) or "no bound is known" in str(refused.value)
        assert table.ledger.entries() == []
        # What is left open is Laplace noise here, which the caps take.
        assert (table.count(epsilon=0.1, noise="best").price.chosen or "").startswith("laplace")


def test_an_epsilon_without_a_delta_is_no_price_of_it() -> None:
    with opened({"rho": 2.0}, "add-remove-one") as table:
        with pytest.raises(InvalidQuery, match=r"`epsilon` of query .* without a δ.*Ask for a `rho`"):
            table.count(epsilon=0.1, noise="gaussian")
        assert table.ledger.entries() == []


def test_a_cap_on_rho_holds_to_the_last_answer() -> None:
    """Answers of ρ = 0.3 each: three of them fit under 1, and no fourth."""
    with opened({"rho": 1.0}, "add-remove-one") as table:
        for _ in range(3):
            table.count(rho=0.3, noise="gaussian", fresh=True)
        with pytest.raises(BudgetExceeded) as refused:
            table.count(rho=0.3, noise="gaussian", fresh=True)
        assert refused.value.cap == "rho"
        assert isinstance(refused.value, LeakcapError)


@pytest.mark.parametrize("caps", TAKING)
def test_an_epsilon_without_a_delta_is_a_price_of_laplace_noise_alone(caps: str) -> None:
    """What is left open stays within the ε that was offered, and pure; a ρ leaves both open."""
    with opened(TAKING[caps], "add-remove-one") as table:
        release = table.count(epsilon=0.1, noise="best")
        assert table.policy.caps.delta or (release.price.epsilon, release.price.delta) == (0.1, 0.0)
        assert table.policy.caps.delta or (release.price.chosen or "").startswith("laplace, the only one")
        both = table.count(rho=0.005, noise="best").price.chosen or ""
        assert " where the other has " in both
