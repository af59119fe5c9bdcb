"""The curve that a query is charged with: against sums of the noise's own law, over ways to share a
sensitivity, and under a cap on all answers together.
"""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded
from leakcap.ledger import Charge, Ledger, Spend
from leakcap.ledger.curve import FILTER_ORDERS, ORDERS, curve_of_pure
from leakcap.mechanism import TwoSidedGeometric
from leakcap.release import PrivateTable, Query, exposure_so_far, load_policy
from leakcap.release.planning.price import price_of
from leakcap.release.results.exposure import balances_of_plan, exposure_of, exposure_of_plan
from leakcap.release.statistics import statistics
from leakcap.statement import statement_of
from release.test_coverage import CASES
from release.world import planned, policy_of


def geometric_curve(scale: Fraction, distance: int) -> tuple[float, ...]:
    noise = TwoSidedGeometric(scale)
    return tuple(noise.apart(order, steps=distance, squared=Fraction(distance**2)) for order in ORDERS)


def divergence(scale: Fraction, distance: int, order: float) -> mpmath.mpf:
    """By adding up the law of discrete Laplace noise, outcome by outcome."""
    with mpmath.workdps(40):
        s = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        a, reach = mpmath.mpf(str(order)), 60 * math.ceil(scale) + distance
        one, total = (1 - s) / (1 + s), mpmath.mpf(0)
        for z in range(-reach, reach + 1):
            p, q = one * s ** abs(z), one * s ** abs(z - distance)
            total += p * mpmath.log(p / q) if a == 1 else p**a * q ** (1 - a)
        return total if a == 1 else mpmath.log(total) / (a - 1)


@pytest.mark.parametrize(("scale", "distance"), [(Fraction(1, 2), 1), (Fraction(3), 2), (Fraction(7, 3), 5)])
def test_the_curve_of_noise_is_its_divergence(scale: Fraction, distance: int) -> None:
    for order, nats in zip(ORDERS, geometric_curve(scale, distance), strict=True):
        exact = divergence(scale, distance, order)
        assert exact * (1 - mpmath.mpf(10) ** -15) <= nats <= exact * (1 + mpmath.mpf(10) ** -12)


def test_cells_that_share_a_sensitivity_show_less_than_one_that_has_it_all() -> None:
    scale, whole = Fraction(5, 2), 6
    alone = geometric_curve(scale, whole)
    for count in (2, 3):
        for shares in itertools.combinations_with_replacement(range(1, whole), count):
            if sum(shares) != whole:
                continue
            for *parts, most in zip(*(geometric_curve(scale, share) for share in shares), alone, strict=True):
                assert sum(parts) <= most * (1 + 1e-12)


@pytest.mark.parametrize("name", sorted(statistics()))
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_every_statistic_has_a_curve_that_its_epsilon_allows(name: str, relation: str) -> None:
    changed: dict[str, Any] = {"neighbours": relation} | ({"rows": 50} if relation == "replace-one" else {})
    for case in CASES[name]:
        plan = planned(policy_of(**(case.policy | changed)), statistic=name, epsilon=0.5, **case.query)
        price = price_of(plan)
        assert len(price.curve) == len(ORDERS)
        for nats, most in zip(price.curve, curve_of_pure(price.epsilon), strict=True):
            assert 0.0 < nats <= most * (1 + 1e-9)
        assert list(price.curve) == sorted(price.curve)
        charged = price.spend.ticks(None).curve
        assert charged == tuple(math.ceil(Fraction(repr(nats)) * 10**12) for nats in price.curve)


def test_noise_without_room_for_a_curve_counts_as_its_epsilon() -> None:
    assert set(geometric_curve(Fraction(1, 1000), 1)) == {1000.0}
    assert set(geometric_curve(Fraction(5), 0)) == {0.0}


def test_many_counts_under_a_cap_on_all_answers_together(tmp_path: Path) -> None:
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "columns": {"x": {"bounds": [0.0, 1.0]}},
        "caps": {"epsilon": 3.0, "delta": 1e-6},
    }
    rows = pyarrow.table({"x": [0.25, 0.5]})
    table = PrivateTable(rows, policy=policy, ledger=tmp_path / "d.db")
    for _ in range(60):
        table.count(epsilon=0.05, fresh=True)
    before = table.ledger.balances()[0]
    assert table.ledger.totals().epsilon == pytest.approx(3.0)
    table.count(epsilon=0.05, fresh=True)
    after = table.ledger.balances()[0]
    assert before.spent < after.spent < 3.0
    with pytest.raises(BudgetExceeded, match="all answers together"):
        table.count(epsilon=3.0, fresh=True)
    table.ledger.verify()


def test_a_count_is_randomised_response_and_a_sum_is_laplace() -> None:
    """Whole-number noise tells a count from the next one as well as a coin does; a finer grid tells less."""
    at = ORDERS.index(1)
    count = price_of(planned(policy_of(neighbours="add-remove-one"), statistic="count", epsilon=0.1))
    fine = price_of(planned(policy_of(neighbours="add-remove-one"), statistic="sum", column="x", epsilon=0.1))
    assert count.curve[at] == pytest.approx(0.1 * math.tanh(0.05), rel=1e-12)
    assert fine.curve[at] == pytest.approx(0.1 + math.exp(-0.1) - 1, rel=1e-6)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_a_statement_speaks_of_all_answers_together(tmp_path: Path, relation: str) -> None:
    """Under a cap with a δ: by the odometer, whose numbers are made here a second time."""
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": relation,
            "columns": {"x": {"bounds": [0.0, 1.0]}},
            "caps": {"epsilon": 9.0, "delta": 1e-6},
        }
        | ({"rows": 2} if relation == "replace-one" else {})
    )
    rows = pyarrow.table({"x": [0.25, 0.5]})
    table = PrivateTable(rows, policy=policy, ledger=tmp_path / "d.db")
    asked = [Query(name=f"n{i}", statistic="sum", column="x", epsilon=0.02) for i in range(300)]
    table.release(asked, fresh=True)
    shown = exposure_so_far(table.ledger.entries(), policy)
    curve = table.ledger.entries()[0].spend.curve
    assert curve is not None
    least = min(
        300 * nats + math.log(len(FILTER_ORDERS) / 5e-7) / (order - 1)
        for order, nats in zip(ORDERS, curve, strict=True)
        if order in FILTER_ORDERS
    )
    assert shown.epsilon == pytest.approx(least, rel=1e-9)
    assert shown.epsilon < 3.0 < 6.0 == pytest.approx(table.ledger.totals().epsilon)
    steps = 1 if relation == "replace-one" else 2
    assert shown.epsilon_contents == pytest.approx(min(6.0, steps * least), rel=1e-9)
    assert shown.delta == 5e-7
    assert shown.delta_contents >= shown.delta
    few = exposure_so_far(table.ledger.entries()[:3], policy)
    assert (few.epsilon, few.delta) == (pytest.approx(0.06), 0.0)
    line = next(str(line) for line in statement_of(shown).lines if "dds" in str(line))
    assert "robab" in line


def test_a_statement_about_many_spends_does_not_wait_for_their_curves() -> None:
    """Beside the same spends under a policy that adds ε up, in one process and in turns."""
    base = {"dataset": "d", "neighbours": "add-remove-one", "columns": {"x": {"keys": [1]}}}
    plain, together = (
        load_policy({**base, "caps": {"epsilon": 1e5, "delta": delta}}) for delta in (0.0, 1e-3)
    )
    spends = [Charge("n", "count", Spend(epsilon=0.001 + k / 1e6)) for k in range(2_000)]
    with Ledger.open(
        "sqlite://", dataset="d", policy=together.fingerprint(), caps=together.caps.ledger_caps()
    ) as ledger:
        ledger.reserve(spends)
        entries = ledger.entries()
    taken = {"plain": math.inf, "together": math.inf}
    for _ in range(5):
        for name, policy in (("plain", plain), ("together", together)):
            start = time.process_time()
            exposure_so_far(entries, policy)
            taken[name] = min(taken[name], time.process_time() - start)
    assert taken["together"] < 3 * taken["plain"]


def test_a_plan_says_what_the_ledger_will_say() -> None:
    """Of the caps, and of the δ of two Gaussian answers, which is one and not two."""
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 3.0, "delta": 1e-6},
            "columns": {"age": {"bounds": [0.0, 9.0]}},
        }
    )
    names = ("first", "second")
    queries = [
        Query(name=n, statistic="count", epsilon=0.5, noise="gaussian", where=w)
        for n, w in zip(names, (None, "age > 3"), strict=True)
    ]
    table = PrivateTable(pyarrow.table({"age": [1.0, 4.0, 8.0]}), policy=policy, ledger="sqlite://")
    prices = [one.price for one in table.preview(queries)]
    each = [exposure_of(price, name) for price, name in zip(prices, names, strict=True)]
    planned, taken = exposure_of_plan(prices, each, policy), balances_of_plan(prices, policy)
    assert planned.delta == pytest.approx(5e-7)
    assert planned.epsilon < sum(price.epsilon for price in prices)
    assert [(one.name, one.spent) for one in taken[:2]] == [("epsilon", taken[0].spent), ("delta", 0.0)]
    table.release(queries)
    assert taken == table.budget()
    told = table.statement().exposure
    # What is charged is rounded up to ticks, answer by answer.
    assert told.epsilon == pytest.approx(planned.epsilon, abs=1e-11)
    assert told.delta == planned.delta
