"""Linear regression from noisy moments: coefficients, intervals that cover, what it pays, and the table."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom
from sklearn.datasets import load_diabetes

from leakcap.errors import BudgetExceeded, DataError, InvalidParameter, InvalidPolicy, NotFitted
from leakcap.models import LinearRegression
from leakcap.models.least_squares import _positive, moments_frame, possible_coefficients
from leakcap.models.linear import _totals
from leakcap.models.moments import Moments
from leakcap.release import PrivateTable
from models.world import ALARM, ledger_of, policy_of
from seeded import SeededSource

TRUTH = np.array([0.5, 1.0, -0.5])


def sample(seed: int, n: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, 2))
    return X, TRUTH[0] + X @ TRUTH[1:] + generator.normal(0, 0.4, n)


def model(seed: int, ledger: Any, policy: Any, **changes: Any) -> LinearRegression:
    options: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (-3, 3), "epsilon": 1.0, **changes}
    return LinearRegression(policy=policy, ledger=ledger, source=SeededSource(seed), **options)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_much_budget_gives_least_squares(delta: float, intercept: bool) -> None:
    policy = policy_of()
    X, y = sample(1, 800)
    with ledger_of(policy) as ledger:
        fitted = model(1, ledger, policy, epsilon=1e4, delta=delta, fit_intercept=intercept).fit(X, y)
    design = np.column_stack([np.full(800, float(intercept)), X])
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    assert np.allclose([fitted.intercept_, *fitted.coef_], expected, atol=2e-3)
    assert fitted.ridge_ == 0.0
    residual, spread = y - design @ expected, y - y.mean()
    assert fitted.score(X, y) == pytest.approx(1 - (residual @ residual) / (spread @ spread), abs=1e-3)


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(1000, 1.0, 0.0), (1000, 1.0, 1e-6), (300, 0.5, 0.0)])
def test_intervals_cover(n: int, epsilon: float, delta: float) -> None:
    """60 tables: fewer than the lower 10⁻⁶/12 quantile of binomial(60, 0.95) covered is an alarm.

    Both targets, each coefficient; intervals of a third the width fall below it.
    """
    policy, runs = policy_of(), 60
    least = binom.ppf(ALARM / 12, runs, 0.95)
    population, table, narrow = np.zeros(3), np.zeros(3), np.zeros(3)
    with ledger_of(policy) as ledger:
        for seed in range(runs):
            X, y = sample(seed, n)
            fitted = model(seed, ledger, policy, epsilon=epsilon, delta=delta).fit(X, y)
            design = np.column_stack([np.ones(n), X])
            own = np.linalg.lstsq(design, np.clip(y, -3, 3), rcond=None)[0]
            population += inside(fitted.population_intervals(), TRUTH)
            table += inside(fitted.table_intervals(), own)
            ends = fitted.population_intervals()
            if np.isfinite(ends).all():
                middle, half = ends.mean(axis=1), np.diff(ends)[:, 0] / 6
                narrow += inside(np.column_stack([middle - half, middle + half]), TRUTH)
    assert (population >= least).all()
    assert (table >= least).all()
    assert (narrow < least).any()


def drawn_once(plan: Moments) -> Moments:
    """The plan, whose imitations of noise, the same for every table, are drawn for the first one."""
    vars(plan)["imitations"] = functools.cache(plan.imitations)
    return plan


def drawn(kind: str, generator: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Designs that make intervals fail: correlated, narrow, rare, clipped, skewed, of unequal variance."""
    X = generator.uniform(-1, 1, (n, 2))
    error = generator.normal(0, 0.4, n)
    if kind == "correlated":
        X[:, 1] = 0.95 * X[:, 0] + 0.05 * X[:, 1]
    elif kind == "narrow":
        X *= 0.1
    elif kind == "rare":
        X = np.column_stack([np.sign(X[:, 0]), generator.uniform(size=n) < 0.05])
    elif kind == "skewed":
        error = 0.4 * (generator.exponential(size=n) - 1)
    elif kind == "unequal":
        error *= 4 * X[:, 0] ** 4
    y = TRUTH[0] + X @ TRUTH[1:] + error
    factor_x, factor_y = {"clipped x": (3, 1), "clipped y": (1, 4)}.get(kind, (1, 1))
    return np.clip(factor_x * X, -1, 1), np.clip(factor_y * y, -3, 3)


KINDS = ("correlated", "narrow", "rare", "skewed", "unequal", "clipped x", "clipped y")
NOISES = [(0.3, 0.0), (1.0, 1e-6), (10.0, 0.0), (40.0, 0.0)]


def coverage(kind: str, n: int, epsilon: float, delta: float, runs: int) -> dict[str, Any]:
    """How often each coefficient was covered in `runs` tables, the ledger aside."""
    plan = drawn_once(Moments.plan([(-1, 1), (-1, 1), (-3, 3)], policy_of(), epsilon=epsilon, delta=delta))
    frame, many = moments_frame(plan, fit_intercept=True), drawn(kind, np.random.default_rng(99), 400_000)
    truth = np.linalg.lstsq(np.column_stack([np.ones(400_000), many[0]]), many[1], rcond=None)[0]
    counts = {"table": np.zeros(3), "any_variance": np.zeros(3), "population": np.zeros(3)}
    for seed in range(runs):
        X, y = drawn(kind, np.random.default_rng(1000 + seed), n)
        found = possible_coefficients(
            plan.noisy(_totals(plan, np.column_stack([X, y])), SeededSource(seed)), plan, frame
        )
        own = np.linalg.lstsq(np.column_stack([np.ones(n), X]), y, rcond=None)[0]
        for which in counts:
            ends = found.of(getattr(found, which), 0.95) + np.array([-1e-6, 1e-6])  # the grid's rounding
            counts[which] += inside(ends, own if which == "table" else truth)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_on_hard_designs(kind: str) -> None:
    """30 to 3000 rows, ε from 0.3 to 40, 150 tables each; false alarm 10⁻⁶ over the 72 counts of a design."""
    runs = 150
    least = binom.ppf(ALARM / 72, runs, 0.95)
    for n in (30, 300, 3000):
        for epsilon, delta in NOISES:
            counts = coverage(kind, n, epsilon, delta, runs)
            assert (counts["table"] >= least).all(), (n, epsilon)
            assert (counts["any_variance"] >= least).all(), (n, epsilon)


@pytest.mark.parametrize("rows", [1, 4])
def test_rows_of_a_person_that_are_alike_are_covered(rows: int) -> None:
    """300 people with so many rows, all alike; 200 tables. False alarm: 10⁻⁶.

    Planted: a policy that takes the four for people of their own, whose intervals hold too seldom, which 100
    tables show. One row a person is the same by either policy, so that one table tells.
    """
    units: list[Any] = [{"id": "person", "max_rows": rows}, "row"]
    plans = [
        Moments.plan([(-1, 1), (-1, 1), (-3, 3)], policy_of(unit=one), epsilon=40.0 * 4, delta=0.0)
        for one in units
    ]
    drawn_once(plans[0]), drawn_once(plans[1])
    frame, runs, planted = moments_frame(plans[0], fit_intercept=True), 200, 100 if rows > 1 else 1
    held = np.zeros((len(plans), 3))
    for seed in range(runs):
        X, y = sample(5000 + seed, 300)
        data = np.repeat(np.column_stack([X, np.clip(y, -3, 3)]), rows, axis=0)
        ends = []
        for place, plan in enumerate(plans if seed < planted else plans[:1]):
            found = possible_coefficients(plan.noisy(_totals(plan, data), SeededSource(seed)), plan, frame)
            ends.append(found.of(found.population, 0.95))
            held[place] += inside(ends[place], TRUTH)
        if len(ends) == 2:
            assert np.array_equal(*ends) == (rows == 1)
    assert (held[0] >= binom.ppf(ALARM / 6, runs, 0.95)).all()
    assert rows == 1 or (held[1] < binom.ppf(ALARM / 6, planted, 0.95)).any()


def skewed_rows(seed: int, people: int) -> Any:
    """Most people have one row or two, a few have ten."""
    return np.minimum(np.ceil(np.random.default_rng(seed).pareto(1.0, people)), 10).astype(int)


def covered(people: int, most: int, sizes: Any, runs: int, plan_rows: int | None = None) -> dict[str, Any]:
    """How often each coefficient was covered where a person's rows are alike; hardly any noise."""
    unit = {"id": "person", "max_rows": plan_rows or most}
    plan = drawn_once(
        Moments.plan([(-1, 1), (-1, 1), (-3, 3)], policy_of(unit=unit), epsilon=4000.0, delta=0.0)
    )
    frame, held = (
        moments_frame(plan, fit_intercept=True),
        {"population": np.zeros(3), "any_variance": np.zeros(3)},
    )
    for seed in range(runs):
        X, y = sample(9000 + seed, people)
        data = np.repeat(np.column_stack([X, np.clip(y, -3, 3)]), sizes(seed, people), axis=0)
        found = possible_coefficients(plan.noisy(_totals(plan, data), SeededSource(seed)), plan, frame)
        for which in held:
            held[which] += inside(found.of(getattr(found, which), 0.95), TRUTH)
    return held


@pytest.mark.parametrize(
    ("people", "most", "sizes"),
    [
        (8, 10, lambda seed, people: [10] * people),
        (8, 1, lambda seed, people: [1] * people),
        (20, 10, skewed_rows),
    ],
    ids=["eight people with ten rows", "eight people with one", "skewed"],
)
def test_few_people_are_covered(people: int, most: int, sizes: Any) -> None:
    """By both kinds of intervals, in 200 tables: 78 % were of eight people. False alarm: 10⁻⁶."""
    runs = 200
    least = binom.ppf(ALARM / 6, runs, 0.95)
    for which, held in covered(people, most, sizes, runs).items():
        assert (held >= least).all(), (which, held)


@pytest.mark.slow
def test_twenty_people_with_ten_equal_rows_are_covered() -> None:
    """In 2,000 tables, neither too seldom nor, with equal variances, more often than said."""
    runs = 2000
    held = covered(20, 10, lambda seed, people: [10] * people, runs)
    assert (held["population"] >= binom.ppf(ALARM / 6, runs, 0.95)).all()
    assert (held["population"] <= binom.ppf(1 - ALARM / 6, runs, 0.95)).all()
    assert (held["any_variance"] >= binom.ppf(ALARM / 6, runs, 0.95)).all()


def test_few_people_taken_for_many_are_caught() -> None:
    """Planted: the ten equal rows are taken for those of people with one row each."""
    held = covered(8, 10, lambda seed, people: [10] * people, 100, plan_rows=1)
    assert (held["population"] < binom.ppf(ALARM / 6, 100, 0.95)).all()


@pytest.mark.parametrize(
    ("rows", "most", "fit_intercept"),
    [
        *((29, 10, True), (3, 1, True), (2, 1, True), (1, 1, True), (0, 1, True)),
        *((19, 10, False), (2, 1, False), (1, 1, False), (0, 1, False)),
    ],
)
def test_no_more_people_than_coefficients_tell_nothing(rows: int, most: int, fit_intercept: bool) -> None:
    """Thirty rows may be those of three people, with three coefficients: every number is possible.

    Without an intercept there are two coefficients, and the intercept is 0, which nothing makes uncertain.
    """
    plan = Moments.plan(
        [(-1, 1), (-1, 1), (-3, 3)],
        policy_of(unit={"id": "person", "max_rows": most}),
        epsilon=4000.0,
        delta=0.0,
    )
    X, y = sample(4, rows)
    data = np.column_stack([X, np.clip(y, -3, 3)])
    frame = moments_frame(plan, fit_intercept=fit_intercept)
    found = possible_coefficients(plan.noisy(_totals(plan, data), SeededSource(1)), plan, frame)
    for which in (found.population, found.any_variance):
        intervals = found.of(which, 0.95)
        if not fit_intercept:
            assert intervals[0].tolist() == [0.0, 0.0]
            intervals = intervals[1:]
        assert np.isneginf(intervals[:, 0]).all()
        assert np.isposinf(intervals[:, 1]).all()
    assert rows <= 3 or np.isfinite(found.of(found.table, 0.95)).all()


def test_equal_variances_where_they_are_not_are_caught() -> None:
    """The errors' spread is as x⁴: intervals that take it to be equal cover too seldom, the others do not."""
    counts = coverage("unequal", 300, 40.0, 0.0, 200)
    least = binom.ppf(ALARM / 3, 200, 0.95)
    assert (counts["population"] < least).any()
    assert (counts["any_variance"] >= least).all()


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_positive_definite_by_pivots_is_by_eigenvalues(size: int) -> None:
    generator = np.random.default_rng(size)
    root = generator.normal(size=(1000, size, size))
    matrices = root @ np.swapaxes(root, 1, 2) + generator.normal(size=(1000, 1, 1)) * np.eye(size)
    matrices[0], matrices[1] = 0.0, np.eye(size)
    found = _positive(matrices)
    assert found[:2].tolist() == [False, True]
    assert (found == (np.linalg.eigvalsh(matrices)[:, 0] > 0.0)).all()
    assert 0.2 < found.mean() < 0.9


def inside(intervals: Any, truth: Any) -> Any:
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def test_where_noise_hides_everything_intervals_say_so() -> None:
    policy = policy_of()
    X, y = sample(2, 5)
    with ledger_of(policy) as ledger:
        fitted = model(9, ledger, policy, epsilon=1e-3).fit(X, y)
    assert np.isfinite([fitted.intercept_, *fitted.coef_]).all()
    assert fitted.ridge_ > 0.0
    width = np.diff(fitted.coef_intervals_)
    assert (width > 6.0).all()


def test_it_is_paid_before_noise_and_refused_beyond_the_cap() -> None:
    policy = policy_of(caps={"epsilon": 1.5})
    X, y = sample(3, 50)

    def no_bytes(n: int, /) -> bytes:
        raise AssertionError("noise was drawn")

    with ledger_of(policy) as ledger:
        fitted = model(1, ledger, policy).fit(X, y)
        assert [entry.state for entry in ledger.entries()] == ["released"]
        assert fitted.entry_ == ledger.entries()[0].id
        twin = fitted.__sklearn_clone__().set_params(source=no_bytes)
        with pytest.raises(BudgetExceeded):
            twin.fit(X, y)
        assert ledger.totals().epsilon == 1.0
        with pytest.raises(NotFitted):
            twin.predict(X)


def test_prices_in_every_currency() -> None:
    """Nats about a person as in theory; about a table of 9 units at most 9ε."""
    policy = policy_of(neighbours="replace-one", rows=9, caps={"epsilon": 1.0, "alpha": 8.0})
    spend = Moments.plan([(0.0, 1.0)] * 2, policy, epsilon=1.0, delta=0.0).spend
    assert spend.nats_person == pytest.approx(0.12330156148, abs=1e-9)
    assert spend.nats_table < 9.0
    assert spend.nats_level < 1.0
    approximate = Moments.plan([(0.0, 1.0)] * 2, policy, epsilon=1.0, delta=1e-6).spend
    assert approximate.nats_person < 0.03
    assert approximate.delta == 1e-6


def test_a_table_is_fitted_in_its_engine_and_paid_by_its_ledger() -> None:
    policy = policy_of()
    X, y = sample(4, 3000)
    data = pyarrow.table({"x": X[:, 0], "z": X[:, 1], "y": y})
    with ledger_of(policy) as ledger:
        table = PrivateTable(data, policy=policy, ledger=ledger)
        here = LinearRegression(epsilon=5.0, source=SeededSource(7))
        here.fit_table(table, features=["x", "z"], target="y", where="x > -2")
        there = model(7, ledger, policy, epsilon=5.0).fit(X, y)
        assert np.array_equal(here.moments_, there.moments_)
        assert "x > -2" in ledger.entries()[0].text
        table.policy.columns["x"] = table.policy.columns["y"]
        with pytest.raises(InvalidPolicy):
            here.fit_table(table, features=["x"], target="y")
        assert [entry.spend.epsilon for entry in ledger.entries()] == [5.0, 5.0]


def test_missing_rows_are_left_out_unseen_and_wrong_tables_refused() -> None:
    policy = policy_of(neighbours="replace-one", rows=40)
    X, y = sample(5, 40)
    X[3, 0], y[5] = np.nan, np.inf
    with ledger_of(policy) as ledger:
        model(1, ledger, policy).fit(X, y)
        with pytest.raises(DataError, match="as many rows"):
            model(1, ledger, policy).fit(X[:-1], y[:-1])
        with pytest.raises(InvalidParameter, match="bounds"):
            model(1, ledger, policy, bounds=None).fit(X, y)
        with pytest.raises(InvalidParameter, match="outlive"):
            model(1, "sqlite://", policy).fit(X, y)
        assert len(ledger.entries()) == 1


def test_a_real_table_beside_its_plain_fit() -> None:
    """Scikit-learn's `diabetes`, 442 people: R² 0.518 without privacy, near it with much budget."""
    X, y = load_diabetes(return_X_y=True)
    policy = policy_of(max_rows=442)
    with ledger_of(policy) as ledger:
        public = {"bounds": (-0.2, 0.2), "target_bounds": (0.0, 350.0), "delta": 1e-5}
        rich = model(1, ledger, policy, epsilon=1e5, **public).fit(X, y)
        poor = model(2, ledger, policy, epsilon=1.0, **public).fit(X, y)
    assert rich.score(X, y) > 0.517
    assert -0.5 < poor.score(X, y) < 0.5
    assert poor.ridge_ > 1.0 > rich.ridge_
