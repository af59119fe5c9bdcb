"""Cumulative counts: trees by hand, the choice of branching by brute force, sensitivity, ε, coverage.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, dry_run, preview, query_from
from leakcap.release.measurements.trees import (
    TreeMeasurement,
    branching_for,
    digits,
    levels_of,
    monotone,
    nodes_of,
    prefixes,
)
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.plan import Plan
from leakcap.sampling import discrete_laplace
from release.claims import beaten, covers, released
from release.test_sensitivity import ROWS, distance, vectors
from release.world import planned, policy_of
from release.world import table as arrow

QUERY: dict[str, Any] = {"statistic": "cumulative", "column": "x", "bins": 16}


@given(st.lists(st.integers(0, 50), min_size=2, max_size=40), st.integers(2, 45))
def test_prefixes_of_a_tree_are_prefix_sums(counts: list[int], branching: int) -> None:
    bins, branching = len(counts), min(branching, len(counts))
    nodes = nodes_of(exact_integers(counts + counts), bins, branching).tolist()
    expected = list(itertools.accumulate(counts))
    half = len(nodes) // 2
    assert prefixes(nodes[:half], bins, branching) == prefixes(nodes[half:], bins, branching) == expected
    # Each digit is a number of nodes, and its width times it adds up to the place.
    for place in range(1, bins + 1):
        widths = levels_of(bins, branching)
        assert sum(w * d for w, d in zip(widths, digits(place, bins, branching), strict=True)) == place


@pytest.mark.parametrize("bins", [2, 3, 7, 16, 60, 128, 365])
def test_the_branching_is_the_best_of_all(bins: int) -> None:
    def error(branching: int) -> Fraction:
        terms = sum(sum(digits(place, bins, branching)) for place in range(1, bins + 1))
        return Fraction(len(levels_of(bins, branching)) ** 2 * terms)

    assert error(branching_for(bins)) == min(map(error, range(2, bins + 1)))


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_the_monotone_fit_is_the_nearest(values: list[int]) -> None:
    weights = [Fraction(1, 1 + i % 3) for i in range(len(values))]
    fitted = monotone(values, weights)
    assert fitted == sorted(fitted)
    assert monotone(fitted, weights) == fitted
    sixths = [int(6 * weight) for weight in weights]

    def cost(sequence: Any) -> Any:
        """Six times the weighted squares: an integer where all numbers are."""
        return sum(w * (v - x) ** 2 for w, v, x in zip(sixths, values, sequence, strict=True))

    # Rounding moves each value by half at most; nothing rising among whole numbers is nearer by more.
    best = min(map(cost, itertools.combinations_with_replacement(range(10), len(values))))
    nearest = cost(fitted)
    assert nearest <= best + 6 * Fraction(len(values), 4)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_reaches_the_sensitivity_of_the_tree(relation: str, most: int) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    policy = policy_of(neighbours=relation, unit={"id": "id", "max_rows": most}, **units)
    plan = planned(policy, **{**QUERY, "bins": 60})
    (part,) = plan.parts
    assert isinstance(part, TreeMeasurement)
    assert part.levels > 1
    contents = [[], *(list(c) for n in (1, 2) for c in itertools.combinations_with_replacement(ROWS[::3], n))]
    trees = [
        nodes_of(exact_integers(found[0]), part.bins, part.branching).tolist()
        for found in vectors(plan, contents)
    ]
    nothing, *present = trees
    if units:
        reached = max(distance(a, b) for a, b in itertools.combinations(present, 2))
    else:
        reached = max(distance(nothing, other) for other in present)
    assert reached == part.sensitivity
    assert max(distance(a, b) for a, b in itertools.combinations(trees, 2)) == part.loss_contents * part.scale


SOME: list[dict[str, Any]] = [{"x": x, "id": i} for i, x in enumerate((-2.9, 0.0, 3.0, 4.0, 9.0, 99.0, None))]
TRUTH = [sum(x < -3 + 13 * k / 16 for x in (-2.9, 0.0, 3.0, 4.0, 9.0, 9.9)) for k in range(1, 16)] + [6]
RUNS, EPSILON = 3_000, 1.0


def events(rows: list[dict[str, Any]], seed: int) -> list[Any]:
    found = released(rows, runs=RUNS, seed=seed, epsilon=EPSILON, **QUERY).rows
    array = np.array([row.value for row in found]).reshape(RUNS, -1)
    ends = np.array([row.interval[1] for row in found]).reshape(RUNS, -1)
    return [
        *(array[:, p] <= t for p in (0, 4, 9, 15) for t in (0, 2, 5, 8)),
        *(ends.sum(axis=1) <= t for t in (100.0, 200.0, 300.0)),
    ]


def proofs(seed: int) -> list[int]:
    return beaten(events(SOME, seed), events([*SOME, {"x": -3.0, "id": 9}], seed + 1), EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_a_level_that_is_not_paid_for_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 3, n, source),
    )
    assert proofs(3)


def hits(seed: int) -> list[int]:
    found = released(SOME, runs=RUNS, seed=seed, epsilon=EPSILON, **QUERY).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in found)
    inside = [row.interval[0] <= t <= row.interval[1] for row, t in zip(found, TRUTH * RUNS, strict=True)]
    return [int(n) for n in np.array(inside).reshape(RUNS, -1).sum(axis=0)]


def test_each_interval_covers() -> None:
    assert all(covers(n, RUNS) for n in hits(5))


def test_intervals_of_one_noise_would_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakcap.mechanism.geometric.laplace_sum_error", lambda b, n, *, beyond: round(3 * b))
    assert not all(covers(n, RUNS) for n in hits(7))


def test_labels_repeats_previews_and_refusals() -> None:
    private = PrivateTable(arrow(SOME), policy=policy_of(), ledger="sqlite://")
    release = private.cumulative("x", edges=[-3, 0, 5, 10], by="f", epsilon=3.0)
    assert [row.keys["x"] for row in release.rows] == ["< 0", "< 5", "all"] * 2
    assert release.post_processing == "made rising and not negative"
    assert private.cumulative("x", edges=[-3, 0, 5, 10], by="f", epsilon=3.0).rows == release.rows
    for bad in ({"bins": 1}, {"bins": None}, {"bins": 5000}, {"column": "d"}):
        with pytest.raises(InvalidQuery):
            planned(policy_of(), **{**QUERY, **bad})
    query = query_from({"name": "q", **QUERY, "bins": 365, "epsilon": 1.0})
    (shown,) = preview([query], policy=policy_of())
    # Far below 365 noises summed up.
    assert shown.error < 100
    (run,) = dry_run([query], policy_of())
    assert abs(run.rows[182].value - 500) < 120


def test_people_with_rows_in_several_bins() -> None:
    policy = policy_of(unit={"id": "id", "max_rows": 3})
    plan: Plan = planned(policy, **QUERY)
    (part,) = plan.parts
    assert part.sensitivity == 3 * len(levels_of(16, branching_for(16)))
    assert part.loss == 1
