"""Variance and standard deviation: sensitivity by enumeration, ε and coverage by seeded releases.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, dry_run, preview, query_from
from leakcap.release.columns.variance import SPREADS, square_reach, variance_grid, variance_value
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.plan import Plan
from leakcap.release.planning.price import price_of
from leakcap.release.sql.select import sql_queries
from leakcap.release.statistics import statistic_of
from leakcap.sampling import discrete_laplace
from release.claims import Bits, beaten, covers, noisy_numbers, released
from release.test_sensitivity import ROWS, distance, vectors, widest
from release.world import answers, planned, policy_of
from release.world import table as arrow
from seeded import SeededSource

QUERIES: list[dict[str, Any]] = [
    {"statistic": "variance", "column": "x"},
    {"statistic": "variance", "column": "y"},
    {"statistic": "standard_deviation", "column": "x", "where": "f"},
    {"statistic": "variance", "column": "y", "where": "f"},
    {"statistic": "variance", "column": "x", "by": ("d",)},
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_one_row_reaches_every_sensitivity_and_passes_none(relation: str, query: dict[str, Any]) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    plan = planned(policy_of(neighbours=relation, **units), **query)
    # The middle of the bounds is where the shifted square is smallest.
    middle = [{"x": 3.5, "y": 5.0, "d": d, "k": 1, "f": True} for d in ("a", "b")]
    found = vectors(plan, [[], *([row] for row in [*ROWS, *middle])])
    for index, part in enumerate(plan.parts):
        reached = widest(found, index, absent=relation == "add-remove-one")
        assert reached <= part.sensitivity
        # A shifted square is never exactly at its lower end where the middle is between two steps.
        assert reached >= part.sensitivity - (part.role == "squares") * len(found)
        largest = max(distance(a[index], b[index]) for a, b in itertools.combinations(found, 2))
        assert largest <= part.contribution.diameter


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.slow
def test_units_with_many_rows(relation: str) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    policy = policy_of(neighbours=relation, unit={"id": "id", "max_rows": 2}, **units)
    for query in QUERIES:
        plan = planned(policy, **query)
        edge = [row for row in ROWS if row["x"] in (-7.0, 10.0)]
        contents = [[], [edge[0]], edge, edge * 3, *map(list, itertools.product(edge, repeat=2))]
        found = vectors(plan, contents)
        for index, part in enumerate(plan.parts):
            assert widest(found, index, absent=relation == "add-remove-one") <= part.sensitivity


def test_the_integers_are_those_of_the_definition() -> None:
    values = [-3.0, 10.0, 3.25, 99.0, 0.1, math.nan]
    plan = planned(policy_of(), statistic="variance", column="x")
    assert plan.grid is not None
    step = plan.grid.step
    rows = [round(Fraction(max(-3.0, min(10.0, v))) / step) - plan.centre for v in values if v == v]
    half = max(plan.grid.high - plan.centre, plan.centre - plan.grid.low) ** 2 // 2
    expected = [[sum(rows)], [sum(v * v - half for v in rows)], [len(rows)]]
    assert answers(plan, arrow([{"x": v} for v in values])) == expected


@pytest.mark.parametrize("statistic", SPREADS)
def test_without_noise_the_answer_is_that_of_the_statistics_module(statistic: str) -> None:
    values = [-3.0, 10.0, 3.25, 99.0, 0.1]
    plan = planned(policy_of(), statistic=statistic, column="x")
    (total,), (squares,), (rows,) = answers(plan, arrow([{"x": v} for v in values]))
    assert plan.grid is not None
    found = variance_value(statistic, plan.grid, rows, (total, squares))
    clamped = [max(-3.0, min(10.0, v)) for v in values]
    wanted = statistics.pvariance(clamped) if statistic == "variance" else statistics.pstdev(clamped)
    assert found == pytest.approx(wanted, rel=1e-6)


def test_epsilon_is_what_was_asked_for_and_the_squares_are_not_called_attained() -> None:
    for epsilon in (0.001, 0.1, 1.0, 30.0):
        price = price_of(planned(policy_of(max_rows=10), statistic="variance", column="x", epsilon=epsilon))
        assert price.epsilon == epsilon
        assert price.epsilon_contents <= 2 * epsilon
        assert 0.0 <= price.nats_person.lower <= price.nats_person.upper < math.inf
        assert math.isfinite(price.nats_table)


def test_grids_from_wide_to_narrow_leave_room_for_the_noise() -> None:
    for epsilon, rows in itertools.product((1e-3, 1.0, 50.0), (1, 1000)):
        for bounds in ((-1e90, 1e90), (0.0, 1e-80), (1e9, 1e9 + 1e-6)):
            policy = policy_of(columns={"x": {"bounds": list(bounds)}}, unit={"id": "id", "max_rows": rows})
            plan = planned(policy, statistic="variance", column="x", epsilon=epsilon)
            assert sum(Fraction(p.sensitivity) / p.scale for p in plan.parts) <= Fraction(str(epsilon))
    with pytest.raises(InvalidQuery):
        planned(policy_of(), statistic="variance", column="x", epsilon=1e-300)
    assert variance_grid((0.0, 1.0), rows=1, epsilon=Fraction(1)).high < 2**25


def drawn(
    plan: Plan, values: list[int], runs: int, seed: int, widen: float = 1.0
) -> tuple[float, float, float]:
    """How often intervals hold the variance of these grid values, and their mean width over the least one."""
    assert plan.grid is not None
    middle = (plan.grid.low + plan.grid.high) // 2
    centred = [value - middle for value in values]
    less, _ = square_reach((plan.grid.low - middle, plan.grid.high - middle))
    sums = [sum(centred), sum(v * v - less for v in centred), len(centred)][: len(plan.parts)]
    source = SeededSource(seed)
    noises = [discrete_laplace(part.scale * Fraction(widen), runs, source) for part in plan.parts]
    truth = float(plan.grid.step) ** 2 * statistics.pvariance(centred)
    noisy = [exact_integers(noise.astype(object) + total) for noise, total in zip(noises, sums, strict=True)]
    found = statistic_of(plan.query).answers(plan, noisy)
    held = (found.lower <= truth) & (truth <= found.upper)
    off = np.sort(np.abs(found.values - truth))
    least = 2.0 * float(off[math.ceil(0.95 * runs) - 1])
    return float(held.mean()), float((found.upper - found.lower).mean()), least


SHAPES = {
    "even": lambda u: u,
    "low": lambda u: u**6,
    "two ends": lambda u: float(u > 0.5),
    "narrow": lambda u: 0.5 + 0.05 * u,
}
DRAWS = 1_000
# Below 0.95 − 4·√(0.95·0.05/1000), or above 0.97 + 4·√(0.97·0.03/1000), by chance once in 15,000 tries.
LEAST, LARGEST = 0.9224, 0.9916


PUBLIC: dict[str, Any] = {"x": {"bounds": [-3.0, 10.0], "fill": 0.0}}
COUNTS: dict[str, dict[str, Any]] = {
    "noisy count": {},
    "noisy count, one row for another": {"neighbours": "replace-one"},
    "public count": {"neighbours": "replace-one", "columns": PUBLIC},
}


def check_cover(rows: int, shape: str, counted: str) -> None:
    changed = COUNTS[counted] | ({"rows": rows} if COUNTS[counted] else {})
    plan = planned(policy_of(**changed), statistic="variance", column="x", epsilon=1.0)
    assert plan.grid is not None
    assert (plan.exact_count is not None) == (counted == "public count")
    reach = plan.grid.high - plan.grid.low
    values = [plan.grid.low + int(SHAPES[shape]((i + 0.5) / rows) * reach) for i in range(rows)]
    share, width, least = drawn(plan, values, DRAWS, seed=rows)
    assert share >= LEAST, share
    # The variance of two ends is the most that the bounds allow: only the lower end can miss it.
    assert share <= LARGEST or shape == "two ends", share
    # Of few rows the square of the mean's error matters. Where their number is not public only how far that
    # goes is used: 1.35 of the least width, as measured for even values, so that twice the noise is noticed.
    few = rows == 400 and counted == "noisy count, one row for another"
    assert width <= (1.35 if few else 1.3) * least, (share, width / least)
    # Where no end is what the bounds allow, half as much noise again is noticed.
    if shape in ("even", "low"):
        assert drawn(plan, values, DRAWS, seed=rows + 1, widen=2.0 if few else 1.5)[0] < LEAST


def test_a_variance_covers_as_often_as_it_says_and_is_no_wider() -> None:
    check_cover(1_000, "even", "noisy count")


@pytest.mark.slow
@pytest.mark.parametrize("counted", COUNTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [400, 5_000])
def test_variances_of_every_shape_cover_as_often_as_they_say(rows: int, shape: str, counted: str) -> None:
    check_cover(rows, shape, counted)


def test_a_variance_of_few_rows_whose_number_is_public_is_nominal_too() -> None:
    """At 400 rows the mean's error counts with its square; a bound on how far that goes took 1.17."""
    plan = planned(
        policy_of(neighbours="replace-one", rows=400, columns=PUBLIC), statistic="variance", column="x"
    )
    assert plan.grid is not None
    reach = plan.grid.high - plan.grid.low
    values = [plan.grid.low + int((i + 0.5) / 400 * reach) for i in range(400)]
    share, width, least = drawn(plan, values, 4_000, seed=400)
    assert 0.9362 <= share <= 0.9809  # 0.95 − 4·√(0.95·0.05/4000), 0.97 + 4·√(0.97·0.03/4000)
    assert width <= 1.1 * least, (share, width / least)


EPSILON, RUNS = 1.5, 6_000
SOME: list[dict[str, Any]] = [{"x": x, "id": i} for i, x in enumerate((0.0, 3.0, 4.0, 9.0))]
POLICY = policy_of(caps={"epsilon": 1e5})


def events(array: Any, centre: list[int], scales: list[float]) -> list[Bits]:
    """Orthants: all three integers at most, or at least, so many scales from where they belong."""
    shifts = [np.array(centre) + t * np.array(scales) for t in (-0.5, 0.0, 0.5, 1.0)]
    return [(array <= s).all(axis=1) for s in shifts] + [(array >= s).all(axis=1) for s in shifts]


def proofs(seed: int) -> list[int]:
    plan = planned(POLICY, statistic="variance", column="x", epsilon=EPSILON)
    centre = [part[0] for part in answers(plan, arrow(SOME))]
    scales = [float(part.scale) for part in plan.parts]
    asked: dict[str, Any] = {"runs": RUNS, "epsilon": EPSILON, "statistic": "variance", "column": "x"}
    more = [*SOME, {"x": 99.0, "id": 77}]
    both = [noisy_numbers(rows, seed=seed + i, **asked) for i, rows in enumerate((SOME, more))]
    left, right = (events(seen, centre, scales) for seen in both)
    return beaten(left, right, EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(10) == []


def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda scale, size, source: discrete_laplace(scale / 2, size, source),
    )
    assert proofs(20)


HITS = 1_000
VALUES = [float(v) for v in np.random.default_rng(5).normal(2.0, 2.0, 400)]


def hits(statistic: str, seed: int) -> int:
    clamped = [max(-3.0, min(10.0, v)) for v in VALUES]
    truth = statistics.pvariance(clamped)
    truth = truth if statistic == "variance" else math.sqrt(truth)
    data = [{"x": v} for v in VALUES]
    rows = released(data, runs=HITS, seed=seed, statistic=statistic, column="x", epsilon=1.0).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)
    return sum(row.interval[0] <= truth <= row.interval[1] for row in rows)


@pytest.mark.parametrize("statistic", SPREADS)
def test_intervals_cover(statistic: str) -> None:
    assert covers(hits(statistic, 30), HITS)


def test_three_times_the_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda scale, size, source: discrete_laplace(3 * scale, size, source),
    )
    assert not covers(hits("variance", 40), HITS)


def test_previews_sql_and_dry_runs() -> None:
    policy = policy_of()
    asked = {s: query_from({"name": s, "statistic": s, "column": "x", "epsilon": 1.0}) for s in SPREADS}
    error = {name: preview([query], policy=policy)[0].error for name, query in asked.items()}
    # Of a variance v ± e the root is off by about e/2√v.
    assert error["variance"] / (2 * 13.0 / math.sqrt(12)) == pytest.approx(
        error["standard_deviation"], rel=0.05
    )
    text = "SELECT VAR_POP(x), stddev_pop(y) FROM tests GROUP BY d"
    assert [q.statistic for q in sql_queries(text, policy, 1.0)] == list(SPREADS)
    (release,) = dry_run([Query(name="q", statistic="variance", column="x", epsilon=5.0)], policy)
    assert release.value == pytest.approx(13.0**2 / 12, rel=0.2)  # even over the bounds


def test_repeats_are_free_and_groups_have_their_own() -> None:
    private = PrivateTable(arrow(SOME), policy=POLICY, ledger="sqlite://")
    first = private.standard_deviation("x", by="d", epsilon=1.0)
    again = private.standard_deviation("x", by="d", epsilon=1.0)
    assert again.repeated
    assert again.rows == first.rows
    assert len(first.rows) == 3
