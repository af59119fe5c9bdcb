"""Surveys: exact sums by a second route, every neighbour, intervals against seeded samples, refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom, norm

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.release import PrivateTable, Release, query_from
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.numbers.laws import GAUSSIAN, LAPLACE
from leakcap.release.numbers.sampled_tails import sampled_tail
from leakcap.release.planning.price import price_of
from leakcap.release.statistics import statistic_of
from release.world import COLUMNS, answers, answers_of_each, planned, policy_of, table
from seeded import ALARM, SeededSource

Floats = NDArray[np.float64]
POISSON = {"survey": {"weight": "y", "design": "poisson"}}
NAN, INF = math.nan, math.inf
HOSTILE: list[dict[str, Any]] = [
    {"x": 1.5, "y": 2.0, "k": 1},
    {"x": -0.0, "y": 8.0, "k": 2},
    {"x": None, "y": 4.0, "k": 1},
    {"x": 3.0, "y": None, "k": 1},  # the fill, 5
    {"x": NAN, "y": 3.0, "k": 2},
    {"x": 1e308, "y": 3.5, "k": 1},
    {"x": -INF, "y": 1e308, "k": 2},
    {"x": 2.0, "y": -7.0, "k": 2},
    {"x": 2.0, "y": NAN, "k": 1},
]


def by_hand(rows: list[dict[str, Any]]) -> list[tuple[Fraction, Fraction]]:
    """Weights and numbers of the rows that count, clamped: NaN is missing, a missing y is its fill."""
    found = []
    for row in rows:
        x, y = row["x"], row["y"]
        if x is None or math.isnan(x):
            continue
        y = 5.0 if y is None or math.isnan(y) else min(max(y, 2.0), 8.0)
        found.append((Fraction(y), Fraction(min(max(x, -3.0), 10.0))))
    return found


def close(part: Any, exact: int, truth: Fraction, rows: int) -> bool:
    """Within what rounding each row to the grid, and its product to a double, makes."""
    return abs(exact * part.unit - truth) <= rows * part.unit * Fraction(51, 100) + abs(truth) / 10**14


def test_the_sums_are_those_of_exact_fractions() -> None:
    """Of rows with what is missing, infinite, too large, too small and no number."""
    pairs, n = by_hand(HOSTILE), len(HOSTILE)
    spread = [w * (w - 1) for w, _ in pairs]
    total = planned(policy_of(**POISSON), statistic="weighted_total", column="x", design_weight="y")
    truths = [sum(w * x for w, x in pairs), sum(v * x * x for v, (_, x) in zip(spread, pairs, strict=True))]
    for part, (exact,), truth in zip(total.parts, answers(total, table(HOSTILE)), truths, strict=True):
        assert close(part, exact, Fraction(truth), n)
    mean = planned(policy_of(**POISSON), statistic="weighted_mean", column="x", design_weight="y")
    less = [(w, x - 4) for w, x in pairs]  # the whole number in the middle of [−3, 10], 3.5, rounded to even
    truths = [
        sum(w * x for w, x in less),
        sum(w for w, _ in less),
        sum(v * x * x for v, (_, x) in zip(spread, less, strict=True)),
        sum(v * x for v, (_, x) in zip(spread, less, strict=True)),
        sum(spread),
    ]
    for part, (exact,), truth in zip(mean.parts, answers(mean, table(HOSTILE)), truths, strict=True):
        assert close(part, exact, Fraction(truth), n), part.role
    size = planned(policy_of(), statistic="weighted_total", design_weight="y")
    ((exact,),) = answers(size, table(HOSTILE))
    weights = [5.0 if row["y"] is None or math.isnan(row["y"]) else row["y"] for row in HOSTILE]
    truth = sum(Fraction(min(max(w, 2.0), 8.0)) for w in weights)
    assert close(size.parts[0], exact, truth, n)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("statistic", ["weighted_mean", "weighted_total"])
@pytest.mark.parametrize("by", [(), ("k",)])
def test_no_row_moves_the_sums_further_than_is_charged(
    relation: str, statistic: str, by: tuple[str, ...]
) -> None:
    """Every neighbour of the empty table, or every two rows, and their loss against the price."""
    size = {"rows": 1} if relation == "replace-one" else {}
    policy = policy_of(neighbours=relation, **POISSON, **size)
    plan = planned(policy, statistic=statistic, column="x", design_weight="y", by=by)
    corners = [{"x": x, "y": y, "k": k} for x in (-3.0, 4.0, 10.0) for y in (2.0, 8.0) for k in (1, 2)]
    nothing, *found = answers_of_each(plan, [[], *([row] for row in HOSTILE + corners)])
    assert found[::4] == [answers(plan, table([row])) for row in (HOSTILE + corners)[::4]]
    against = found if relation == "replace-one" else [nothing]
    worst = max(
        sum(
            Fraction(sum(abs(a - b) for a, b in zip(mine, theirs, strict=True))) / part.scale
            for part, mine, theirs in zip(noisy_of(plan.parts), one, other, strict=True)
        )
        for one in found
        for other in against
    )
    assert 0.2 < worst <= Fraction(repr(price_of(plan).epsilon)) <= 1


@pytest.mark.parametrize("scale", [(40.0, 30.0), (400.0, 1.0), (3.0, 800.0)])
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_noise_and_sampling_together_go_no_further_than_is_said(law: Any, scale: tuple[float, float]) -> None:
    """Against the integral over the normal variable of the exact law of the noise."""
    width, deviation = scale
    integers = np.arange(-60.0 * width - 60, 60.0 * width + 61)
    weights = -np.abs(integers) / width if law is LAPLACE else -(integers**2) / (2 * width**2)
    chances = np.exp(weights) / np.exp(weights).sum()
    size = math.hypot(width, deviation)
    for at in (0.5 * size, 2.0 * size, 3.0 * size):
        tails = norm.sf((at - integers) / deviation) + norm.cdf((-at - integers) / deviation)
        truth = float(tails @ chances)
        said = float(sampled_tail(law, [(1.0, width)], deviation, at))
        assert truth <= said <= 1.2 * truth + 2e-5
    assert quad(norm.pdf, -1, 1)[0] == pytest.approx(1 - 2 * norm.sf(1))


@pytest.mark.parametrize("places", [1, 7, 300])
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_many_places_are_looked_at_as_each_alone(law: Any, places: int) -> None:
    """However many bins one look takes, and whichever of weight, deviation and distance vary."""
    draw = np.random.default_rng(11)
    weights, at = draw.uniform(0.1, 1.0, (2, places)), draw.uniform(-5.0, 900.0, (2, places))
    deviation = draw.uniform(0.0, 300.0, places)
    found = sampled_tail(law, [(weights, 3.0), (-0.7, 50.0)], deviation, at)
    assert found.shape == at.shape
    for one in list(np.ndindex(at.shape))[:: max(1, places // 10)]:
        alone = sampled_tail(law, [(weights[one], 3.0), (-0.7, 50.0)], deviation[one[1]], at[one])
        assert float(alone) == pytest.approx(float(found[one]), rel=1e-12)


RUNS, PEOPLE = 500, 600
SAMPLE, ERROR, POPULATION = range(3)


def sampled(design: str, seed: int) -> tuple[pyarrow.Table, Floats]:
    """So many samples of one population, with their weights and the number of the run, and the population."""
    chance = np.random.default_rng(seed)
    x = np.clip(chance.gamma(2.0, 1.5, PEOPLE) - 2.0, -3.0, 10.0)
    stratum = (x + chance.normal(size=PEOPLE) > 1.0).astype(int)
    runs, taken = [], []
    for run in range(RUNS):
        if design == "poisson":
            mine = np.flatnonzero(chance.random(PEOPLE) < np.where(stratum == 1, 0.5, 0.25))
        else:
            mine = np.concatenate([
                chance.choice(one, len(one) // most, replace=False)
                for one, most in ((np.flatnonzero(stratum == 1), 2), (np.flatnonzero(stratum == 0), 4))
            ])  # fmt: skip
        runs.append(np.full(len(mine), run))
        taken.append(mine)
    rows, sizes = np.concatenate(taken), np.bincount(stratum)
    rate = np.where(stratum == 1, 0.5, 0.25) if design == "poisson" else None
    if rate is None:
        rate = np.where(stratum == 1, (sizes[1] // 2) / sizes[1], (sizes[0] // 4) / sizes[0])
    data = pyarrow.table({"x": x[rows], "y": (1.0 / rate)[rows], "run": np.concatenate(runs)})
    return data, x


def estimated(
    design: str, *, epsilon: float, seed: int, columns: Any = None, **query: Any
) -> tuple[Release, Floats]:
    columns = {**COLUMNS, **(columns or {}), "run": {"keys": list(range(RUNS))}}
    survey = {"survey": {"weight": "y", "design": design}}
    policy = policy_of(columns=columns, caps={"epsilon": 1e6, "delta": 1e-6}, **survey)
    data, x = sampled(design, seed)
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
    asked = {"name": "q", "by": "run", "design_weight": "y", "epsilon": epsilon, **query}
    return private.release([query_from(asked)])[0], x


def held(release: Release, row: int, truth: float, shrink: float = 1.0) -> int:
    every = release.rows.answers
    values = np.asarray(every.values, dtype=float)[row::3]
    low, high = every.lower[row::3], every.upper[row::3]
    return int(
        ((values - shrink * (values - low) <= truth) & (truth <= values + shrink * (high - values))).sum()
    )


def believed(hits: int) -> bool:
    """Whether so many of the intervals may hold by chance, where 95 % do: false alarms 10⁻⁶."""
    return bool(binom.cdf(hits, RUNS, 0.95) > ALARM)


QUERIES: list[dict[str, Any]] = [
    {"statistic": "weighted_total"},
    {"statistic": "weighted_total", "column": "x"},
    {"statistic": "weighted_mean", "column": "x"},
]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("design", ["poisson", "stratified"])
@pytest.mark.parametrize("query", QUERIES, ids=["size", "total", "mean"])
def test_intervals_hold_the_population(design: str, query: dict[str, Any], noise: str) -> None:
    release, x = estimated(design, epsilon=20.0, seed=5, noise=noise, **query)
    truth = {"weighted_mean": x.mean()}.get(query["statistic"], x.sum() if "column" in query else len(x))
    assert believed(held(release, POPULATION, float(truth)))


@pytest.mark.parametrize("query", QUERIES[1:], ids=["total", "mean"])
def test_sampling_forgotten_is_caught(query: dict[str, Any]) -> None:
    """The sample's interval is over little noise; the population lies outside it most of the time."""
    release, x = estimated("poisson", epsilon=200.0, seed=6, **query)
    truth = x.mean() if query["statistic"] == "weighted_mean" else x.sum()
    assert believed(held(release, POPULATION, float(truth)))
    assert not believed(held(release, SAMPLE, float(truth)))
    assert not believed(held(release, POPULATION, float(truth), shrink=0.6))


def test_noise_forgotten_and_weights_squared_wrong_are_caught() -> None:
    """1.96 standard errors around a noisy total hold too seldom, as does a variance of Σ (w − 1)x²."""
    release, x = estimated("poisson", epsilon=1.0, seed=7, statistic="weighted_total", column="x")
    values = np.asarray(release.rows.answers.values, dtype=float)
    totals = values[SAMPLE::3]
    data, _ = sampled("poisson", 7)
    w, number, run = (data[name].to_numpy() for name in ("y", "x", "run"))
    right, wrong = (
        np.sqrt(np.bincount(run, spread * number**2, minlength=RUNS)) for spread in (w * (w - 1), w - 1)
    )
    truth = float(x.sum())
    assert believed(held(release, POPULATION, truth))
    assert not believed(int((np.abs(totals - truth) <= 1.96 * right).sum()))
    exact = np.bincount(run, w * number, minlength=RUNS)
    assert believed(int((np.abs(exact - truth) <= 1.96 * right).sum()))
    assert not believed(int((np.abs(exact - truth) <= 1.96 * wrong).sum()))


def test_the_standard_error_is_that_of_the_rows() -> None:
    """At hardly any noise, against the formula in doubles."""
    data, _ = sampled("poisson", 8)
    w, number, run = (data[name].to_numpy() for name in ("y", "x", "run"))
    sums = [np.bincount(run, one, minlength=RUNS) for one in (w, w * number)]
    mean = sums[1] / sums[0]
    spread = np.bincount(run, w * (w - 1) * (number - mean[run]) ** 2, minlength=RUNS)
    release, _ = estimated("poisson", epsilon=1e6, seed=8, statistic="weighted_mean", column="x")
    every = release.rows.answers
    errors = np.asarray(every.values, dtype=float)[ERROR::3]
    assert errors == pytest.approx(np.sqrt(spread) / sums[0], rel=1e-4)
    assert (every.lower[ERROR::3] <= errors).all()
    assert (errors <= every.upper[ERROR::3]).all()


def test_without_a_design_only_the_noise_is_said() -> None:
    for survey in ({}, {"survey": {"weight": "y"}}, {"survey": {"weight": "w", "design": "poisson"}}):
        columns = {**COLUMNS, "w": {"bounds": [1.0, 9.0]}}
        plan = planned(
            policy_of(columns=columns, **survey), statistic="weighted_total", column="x", design_weight="y"
        )
        assert statistic_of(plan.query).labels(plan)["figure"].tolist() == ["sample"]
        assert plan.coverage.about.endswith("over the noise alone.")
        assert len(plan.parts) == 1


@pytest.mark.parametrize("query", QUERIES, ids=["size", "total", "mean"])
def test_what_the_population_s_interval_rests_on_is_said(query: dict[str, Any]) -> None:
    about = planned(policy_of(**POISSON), design_weight="y", **query).coverage.about
    assert "one over probabilities, all within their bounds." in about
    assert "it is 0 where the noise hides it, and the upper end says what it may be" in about


def test_weights_beyond_their_bounds_are_caught() -> None:
    """What the page on surveys warns of: weights of 2 and 4, counted as 2 and 3."""
    asked: dict[str, Any] = {"epsilon": 50.0, "seed": 9, "statistic": "weighted_total"}
    right, x = estimated("poisson", **asked)
    wrong, _ = estimated("poisson", columns={"y": {"bounds": [2.0, 3.0]}}, **asked)
    assert believed(held(right, POPULATION, len(x)))
    assert not believed(held(wrong, POPULATION, len(x)))


def test_an_answer_under_another_design_is_another_answer() -> None:
    from leakcap.release.planning.plan import text_of

    asked = {"statistic": "weighted_total", "design_weight": "y"}
    texts = {
        text_of(planned(policy_of(**survey), **asked))
        for survey in ({}, POISSON, {"survey": {"weight": "y", "design": "stratified"}})
    }
    assert len(texts) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"survey": {"weight": "nobody"}}, "must name a stored column of `columns`. Got `nobody`"),
        (
            {"survey": {"weight": "d"}},
            "must name a column of numbers, with `bounds` and no `keys`. `d` is not one",
        ),
        ({"survey": {"weight": "x"}}, "a weight must be at least 0. `bounds` of `x` begin at -3"),
        (
            {"survey": {"weight": "z", "design": "poisson"}, "columns": {"z": {"bounds": [0.5, 3.0]}}},
            "a weight must be at least 1: it is one over a probability. `bounds` of `z` begin at 0.5",
        ),
        ({"survey": {"weight": "y", "design": "clusters"}}, "must be 'poisson' or 'stratified'"),
        ({"survey": {"weight": "y", "sample_rate": 0.01}}, "`sample_rate` buys nothing here"),
        ({**POISSON, "unit": {"id": "id", "max_rows": 2}}, "`survey` needs `max_rows = 1` in the unit"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        policy_of(**changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"statistic": "weighted_total"}, "`design_weight` of query `q` must name the column"),
        (
            {"statistic": "weighted_mean", "design_weight": "y"},
            "`column` of query `q` must name what the mean",
        ),
        (
            {"statistic": "weighted_total", "design_weight": "d"},
            "`d` has no `bounds` in the policy, which the weighted_total",
        ),
        ({"statistic": "weighted_total", "design_weight": "x"}, "must have bounds that are not negative"),
        ({"statistic": "weighted_total", "design_weight": "no"}, "`no`, which is not a column of the policy"),
        ({"statistic": "sum", "column": "x", "design_weight": "y"}, "must be left out of a sum"),
        (
            {"statistic": "weighted_total", "design_weight": "y", "by": ("s",), "delta": 1e-9},
            "keys are private",
        ),
    ],
)
def test_a_query_that_does_not_fit_is_refused_and_nothing_is_spent(query: dict[str, Any], said: str) -> None:
    columns = {**COLUMNS, "s": {"keys": "private"}}
    policy = policy_of(columns=columns, caps={"epsilon": 9.0, "delta": 1e-3})
    private = PrivateTable(table(HOSTILE), policy=policy, ledger="sqlite://")
    with pytest.raises(InvalidQuery) as caught:
        private.release([query_from({"name": "q", "epsilon": 1.0, **query})])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert private.budget()[0].spent == 0
