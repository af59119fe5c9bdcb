"""Ratios of surveys: exact sums by a second route, every neighbour, intervals against seeded samples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Release, query_from
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.planning.price import price_of
from release.test_survey import ERROR, POPULATION, RUNS, SAMPLE, believed, close, held
from release.world import answers, planned, policy_of
from seeded import SeededSource

Floats = NDArray[np.float64]
NAN, INF = math.nan, math.inf
COLUMNS: dict[str, Any] = {
    "w": {"bounds": [1.0, 8.0]},
    "rent": {"bounds": [-2.0, 10.0]},
    "income": {"bounds": [0.0, 20.0], "fill": 4.0},
}
POISSON = {"survey": {"weight": "w", "design": "poisson"}}
ASKED = {"statistic": "weighted_ratio", "column": "rent", "over": "income", "design_weight": "w"}
HOSTILE = [
    (2.0, 1.5, 3.0),
    (8.0, -0.0, 0.0),
    (4.0, None, 7.0),  # no number above the line: in no sum
    (None, 3.0, 7.0),  # no weight
    (3.0, 4.0, None),  # the fill, 4
    (3.0, NAN, 5.0),
    (3.5, 1e308, 1e308),
    (1e308, -INF, 2.0),
    (-7.0, 2.0, -3.0),
    (NAN, 2.0, 2.0),
]


def table(rows: list[tuple[float | None, ...]]) -> pyarrow.Table:
    columns = zip(*rows, strict=True) if rows else [(), (), ()]
    named = zip(COLUMNS, columns, strict=True)
    return pyarrow.table({name: pyarrow.array(one, pyarrow.float64()) for name, one in named})


def by_hand() -> list[tuple[Fraction, Fraction, Fraction]]:
    """Of the rows that count, all three numbers within their bounds."""
    found = []
    for w, x, z in HOSTILE:
        z = 4.0 if z is None else z
        if w is not None and x is not None and not math.isnan(w) and not math.isnan(x):
            clamped = min(max(w, 1.0), 8.0), min(max(x, -2.0), 10.0), min(max(z, 0.0), 20.0)
            found.append(tuple(map(Fraction, clamped)))
    return found  # type: ignore[return-value]


def test_the_sums_are_those_of_exact_fractions() -> None:
    rows = by_hand()
    assert len(rows) == 6
    plan = planned(policy_of(columns=COLUMNS, **POISSON), **ASKED)
    truths = [
        sum(w * x for w, x, _ in rows),
        sum(w * z for w, _, z in rows),
        sum(w * (w - 1) * x * x for w, x, _ in rows),
        sum(w * (w - 1) * x * z for w, x, z in rows),
        sum(w * (w - 1) * z * z for w, _, z in rows),
    ]
    for part, (exact,), truth in zip(plan.parts, answers(plan, table(HOSTILE)), truths, strict=True):
        assert close(part, exact, Fraction(truth), len(rows)), part.role


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_no_row_moves_the_sums_further_than_is_charged(relation: str) -> None:
    size = {"rows": 1} if relation == "replace-one" else {}
    plan = planned(policy_of(columns=COLUMNS, neighbours=relation, **POISSON, **size), **ASKED)
    corners = [(w, x, z) for w in (1.0, 8.0) for x in (-2.0, 0.0, 10.0) for z in (0.0, 20.0)]
    found = [answers(plan, table([row])) for row in HOSTILE + corners]
    against = found if relation == "replace-one" else [answers(plan, table([]))]
    worst = max(
        sum(
            Fraction(sum(abs(a - b) for a, b in zip(mine, theirs, strict=True))) / part.scale
            for part, mine, theirs in zip(noisy_of(plan.parts), one, other, strict=True)
        )
        for one in found
        for other in against
    )
    assert 0.2 < worst <= Fraction(repr(price_of(plan).epsilon)) <= 1


def sampled(design: str, seed: int) -> tuple[pyarrow.Table, float]:
    """So many samples of one population of 600, and its ratio of rents to incomes, which are correlated."""
    chance, people = np.random.default_rng(seed), 600
    income = np.clip(chance.gamma(4.0, 2.0, people), 0.5, 20.0)
    rent = np.clip(0.3 * income + chance.normal(0.0, 0.7, people), -2.0, 10.0)
    rich = (income > 8.0).astype(int)
    runs, taken = [], []
    for run in range(RUNS):
        if design == "poisson":
            mine = np.flatnonzero(chance.random(people) < np.where(rich == 1, 0.5, 0.25))
        else:
            strata = ((np.flatnonzero(rich == 1), 2), (np.flatnonzero(rich == 0), 4))
            mine = np.concatenate([chance.choice(s, len(s) // most, replace=False) for s, most in strata])
        runs.append(np.full(len(mine), run))
        taken.append(mine)
    rows, sizes = np.concatenate(taken), np.bincount(rich)
    each = [0.25, 0.5] if design == "poisson" else [sizes[0] // 4 / sizes[0], sizes[1] // 2 / sizes[1]]
    weights = 1.0 / np.array(each)[rich]
    data = {"w": weights[rows], "rent": rent[rows], "income": income[rows], "run": np.concatenate(runs)}
    return pyarrow.table(data), float(rent.sum() / income.sum())


def estimated(design: str, *, epsilon: float, seed: int, **query: Any) -> tuple[Release, float]:
    columns = {**COLUMNS, "run": {"keys": list(range(RUNS))}}
    survey = {"survey": {"weight": "w", "design": design}}
    policy = policy_of(columns=columns, caps={"epsilon": 1e6, "delta": 1e-6}, **survey)
    data, truth = sampled(design, seed)
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
    asked = {"name": "q", "by": "run", "epsilon": epsilon, **ASKED, **query}
    return private.release([query_from(asked)])[0], truth


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("design", ["poisson", "stratified"])
def test_intervals_hold_the_population(design: str, noise: str) -> None:
    """False alarms 10⁻⁶; much noise and little."""
    release, truth = estimated(design, epsilon=40.0, seed=15, noise=noise)
    assert believed(held(release, POPULATION, truth))


def test_sampling_or_noise_forgotten_and_a_sum_left_out_are_caught() -> None:
    """The sample's interval is over little noise, and a variance of rents alone is far too large or small."""
    release, truth = estimated("poisson", epsilon=1e6, seed=16)
    assert believed(held(release, POPULATION, truth))
    assert not believed(held(release, SAMPLE, truth))
    assert not believed(held(release, POPULATION, truth, shrink=0.6))
    values = np.asarray(release.rows.answers.values, dtype=float)[SAMPLE::3]
    noisy, _ = estimated("poisson", epsilon=5.0, seed=16)
    errors = np.asarray(release.rows.answers.values, dtype=float)[ERROR::3]
    loose = np.asarray(noisy.rows.answers.values, dtype=float)[SAMPLE::3]
    assert believed(int((np.abs(values - truth) <= 2.1 * errors).sum()))
    assert not believed(int((np.abs(loose - truth) <= 2.1 * errors).sum()))
    assert believed(held(noisy, POPULATION, truth))


def test_the_standard_error_is_that_of_the_rows() -> None:
    """At hardly any noise, against the formula in doubles: Σ w(w − 1)(x − r·z)² over (Σ w·z)²."""
    data, _ = sampled("poisson", 17)
    w, x, z, run = (data[name].to_numpy() for name in ("w", "rent", "income", "run"))
    above, below = (np.bincount(run, w * one, minlength=RUNS) for one in (x, z))
    ratio = above / below
    spread = np.bincount(run, w * (w - 1) * (x - ratio[run] * z) ** 2, minlength=RUNS)
    release, _ = estimated("poisson", epsilon=1e6, seed=17)
    every = release.rows.answers
    values = np.asarray(every.values, dtype=float)
    assert values[SAMPLE::3] == pytest.approx(ratio, rel=1e-4)
    assert values[ERROR::3] == pytest.approx(np.sqrt(spread) / below, rel=1e-3)
    assert (every.lower[ERROR::3] <= values[ERROR::3]).all()
    assert (values[ERROR::3] <= every.upper[ERROR::3]).all()


@pytest.mark.parametrize("below", [[0.0, 20.0], [0.5, 20.0]])
def test_nobody_at_all_gives_an_interval_that_says_so(below: list[float]) -> None:
    """Of no rows nothing is known: the interval is as wide as the bounds allow, and finite."""
    columns = {**COLUMNS, "income": {"bounds": below}}
    private = PrivateTable(
        table([]), policy=policy_of(columns=columns, **POISSON), ledger="sqlite://", source=SeededSource(1)
    )
    release = private.weighted_ratio("rent", over="income", design_weight="w", epsilon=1.0)
    (low, high), least = release.rows[0].interval, -2.0 / below[0] if below[0] else -1e6
    assert low <= least
    assert high >= (10.0 / below[0] if below[0] else 1e6)
    assert all(math.isfinite(end) for row in release.rows for end in (row.value, *row.interval))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"column": None}, "`column` of query `q` must name what is above the line"),
        ({"over": None}, "`over` of query `q` must name what is below the line"),
        ({"over": "rent"}, "must name another column than `over`"),
        ({"column": "income", "over": "rent"}, "`over` of query `q` must have bounds that are not negative"),
        ({"over": "nobody"}, "`nobody`, which is not a column of the policy"),
        ({"design_weight": None}, "must name the column of the design weights"),
        ({"when": "rent > 1"}, "`when` of query `q` must be left out of a weighted ratio"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_spent(query: dict[str, Any], said: str) -> None:
    policy = policy_of(columns=COLUMNS, **POISSON)
    private = PrivateTable(table(HOSTILE), policy=policy, ledger="sqlite://")
    with pytest.raises(InvalidQuery) as caught:
        private.release([query_from({"name": "q", "epsilon": 1.0, **ASKED, **query})])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert private.budget()[0].spent == 0
