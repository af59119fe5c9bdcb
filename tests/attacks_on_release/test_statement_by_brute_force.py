"""Every number of a statement against the exact laws of the real pipeline on tables small enough to list.

What one person may have is listed in full, the engine answers for each, and the law of the noisy answer is
written down cell by cell. Beyond the largest and the smallest total of a cell all likelihood ratios are
constant, so that the two tails count as one outcome each: the matrices are finite and nothing is lost.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.release import exposure_of
from leakcap.release.plan import Plan
from leakcap.release.planning.price import price_of
from leakcap.statement import statement_of
from release.world import answers, planned, policy_of, table

Matrix = NDArray[np.float64]
Vector = tuple[int, ...]

# What a row may say: in bounds, beyond them, missing; a public key, an unknown one, none.
ROWS: list[dict[str, Any]] = [
    {"x": x, "d": d} for x in (-9.0, 99.0, math.nan, None) for d in ("a", "b", "zzz", None)
]
OTHERS: list[dict[str, Any]] = [{"id": 8, "x": 1.0, "d": "a"}, {"id": 9, "x": 99.0, "d": "b"}]
QUERIES: dict[str, dict[str, Any]] = {
    "count": {"statistic": "count"},
    "where": {"statistic": "count", "where": "x > 0 OR d = 'b'"},
    "by": {"statistic": "count", "by": ("d",)},
    "bins": {"statistic": "histogram", "column": "x", "bins": 2},
}
WORLDS: list[tuple[str, str, int]] = [
    (relation, unit, most)
    for relation in ("replace-one", "add-remove-one")
    for unit, most in (("row", 1), ("id", 1), ("id", 2))
]


def world(relation: str, unit: str, most: int, units: int) -> Any:
    """A policy of two public keys and one bounded number."""
    size = {"rows": units} if relation == "replace-one" else {"max_rows": units}
    columns = {"x": {"bounds": [-3.0, 10.0]}, "d": {"keys": ["a", "b"]}}
    kept = {"id": "id", "max_rows": most} if unit == "id" else "row"
    return policy_of(neighbours=relation, columns=columns, unit=kept, **size)


def contents(unit: str, most: int, *, absent: bool) -> list[list[dict[str, Any]]]:
    """All that one unit's rows may be; an id may have one row more than counts."""
    rows = range(1, most + 2) if unit == "id" else (1,)
    few = ROWS if unit == "row" else [ROWS[index] for index in (0, 4, 5, 6, 9, 11)]
    listed = [list(c) for n in rows for c in itertools.combinations_with_replacement(few, n)]
    return ([[]] if absent else []) + listed


def exact_answers(plan: Plan, tables: list[list[dict[str, Any]]]) -> list[Vector]:
    """The distinct answers, before noise, in the order in which they first appear."""
    seen = (tuple(v for part in answers(plan, table(rows)) for v in part) for rows in tables)
    return list(dict.fromkeys(seen))


def law(vectors: list[Vector], decay: float) -> Matrix:
    """Row c: the law of the noisy answer on a table whose exact answer is c."""
    s = math.exp(-decay)
    rows = []
    ranges = [(min(cell), max(cell)) for cell in zip(*vectors, strict=True)]
    for vector in vectors:
        row = np.ones(1)
        for total, (low, high) in zip(vector, ranges, strict=True):
            inner = [(1 - s) / (1 + s) * s ** abs(y - total) for y in range(low + 1, high)]
            ends = [s ** (total - low) / (1 + s), s ** (high - total) / (1 + s)]
            row = np.kron(row, [ends[0], *inner, ends[1]] if low < high else [1.0])
        rows.append(row)
    matrix = np.array(rows)
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    return matrix


def capacity(matrix: Matrix) -> tuple[float, float]:
    """Blahut–Arimoto from scratch: I(π) ≤ C ≤ max D(row‖πC)."""
    prior = np.full(len(matrix), 1.0 / len(matrix))
    for _ in range(4000):
        mixed = prior @ matrix
        distances = (matrix * np.log(matrix / mixed)).sum(axis=1)
        value, top = float(prior @ distances), float(distances.max())
        if top - value < 1e-10:
            break
        prior = prior * np.exp(distances - top)
        prior /= prior.sum()
    return value, top


def best_guess(matrix: Matrix, k: int) -> float:
    """The best chance to tell k equally likely contents apart, over all choices of k."""
    subsets = itertools.islice(itertools.combinations(range(len(matrix)), k), 3000)
    return max(float(matrix[list(rows)].max(axis=0).sum()) / k for rows in subsets)


@dataclass(frozen=True)
class Truth:
    """What an attacker gets in fact."""

    epsilon: float
    contents: float
    nats: tuple[float, float]
    variation: float
    guesses: dict[int, float]


def truth(plan: Plan, unit: str, most: int, *, slack: float = 1.0) -> Truth:
    """By listing; `slack` multiplies the decay of the noise, to plant a sampler that draws too little."""
    replace = plan.policy.neighbours == "replace-one"
    tables = [
        [*OTHERS, *({"id": 1, **row} for row in rows)] for rows in contents(unit, most, absent=not replace)
    ]
    vectors = exact_answers(plan, tables)
    matrix = law(vectors, slack * float(1 / plan.parts[0].scale))
    logs = np.log(matrix)
    ratios = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    variation = 0.5 * np.abs(matrix[:, None, :] - matrix[None, :, :]).sum(axis=2).max()
    guesses = {k: best_guess(matrix, k) for k in (2, 3) if k <= len(matrix)}
    neighbours = ratios if replace else ratios[0]  # the first content is: not there
    return Truth(float(neighbours.max()), float(ratios.max()), capacity(matrix), float(variation), guesses)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize(("relation", "unit", "most"), WORLDS)
def test_what_is_said_about_one_person_is_true_and_tight(
    relation: str, unit: str, most: int, query: dict[str, Any]
) -> None:
    plan = planned(world(relation, unit, most, 3), **query, epsilon=1.3)
    price, found = price_of(plan), truth(plan, unit, most)
    statement = statement_of(exposure_of(price, "q"), guesses=3)
    assert found.epsilon <= price.epsilon * (1 + 1e-12)
    assert found.contents <= price.epsilon_contents * (1 + 1e-12)
    assert found.nats[0] <= price.nats_person.upper * (1 + 1e-9)
    assert found.variation <= statement["total_variation"].upper + 1e-12
    assert (1 + found.variation) / 2 <= statement["coin_flip"].upper + 1e-12
    assert found.guesses.get(2, 0.0) <= statement["coin_flip"].upper + 1e-12
    assert found.guesses.get(3, 0.0) <= statement["one_in_k"].upper + 1e-12
    assert found.contents <= math.log(statement["odds"].upper) + 1e-12
    if query == QUERIES["count"] and relation == "replace-one":
        return  # nobody can be left out of this count: it is charged for more than it tells
    assert found.epsilon == pytest.approx(price.epsilon, rel=1e-9)
    assert found.contents == pytest.approx(price.epsilon_contents, rel=1e-9)
    assert price.nats_person.lower <= found.nats[1] * (1 + 1e-9)
    if plan.cells.size == 1 or (unit, most) != ("id", 2):  # else any mechanism's bound stands in
        assert found.nats[1] == pytest.approx(price.nats_person.upper, rel=1e-6)


@pytest.mark.parametrize("query", [QUERIES["where"], QUERIES["by"], QUERIES["bins"]])
def test_a_sampler_that_draws_too_little_is_found(query: dict[str, Any]) -> None:
    plan = planned(world("replace-one", "row", 1, 3), **query, epsilon=1.3)
    price, found = price_of(plan), truth(plan, "row", 1, slack=1.01)
    assert found.epsilon > price.epsilon * 1.005
    assert found.nats[0] > price.nats_person.upper * 1.005


@pytest.mark.parametrize("epsilon", [pytest.param(0.3, marks=pytest.mark.slow), 2.0])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("relation", ["replace-one", "add-remove-one"])
def test_what_is_said_about_the_whole_table_is_an_upper_bound(
    relation: str, query: dict[str, Any], epsilon: float
) -> None:
    """All tables of up to three units, and the capacity from the whole table to the answer."""
    plan = planned(world(relation, "row", 1, 3), **query, epsilon=epsilon)
    sizes = (3,) if relation == "replace-one" else range(4)
    kinds = ROWS[:2] + ROWS[4:7]
    tables = [list(c) for n in sizes for c in itertools.combinations_with_replacement(kinds, n)]
    matrix = law(exact_answers(plan, tables), float(1 / plan.parts[0].scale))
    low, _ = capacity(matrix)
    nats = price_of(plan).nats_table
    assert low <= nats * (1 + 1e-9)
    if query == QUERIES["where"]:
        assert nats == pytest.approx(low, rel=1e-6)


@pytest.mark.parametrize(("relation", "unit", "most"), [w for w in WORLDS if w[1:] != ("id", 1)])
@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize(
    "extra",
    [pytest.param({}, marks=pytest.mark.slow), {"by": ("d",)}, {"where": "x <> 5"}],
    ids=["all", "by", "where"],
)
def test_the_odds_after_a_sum_or_a_mean(
    relation: str, unit: str, most: int, statistic: str, extra: dict[str, Any]
) -> None:
    """The largest log-ratio of integer Laplace noise is the L1 distance over the scale, part by part."""
    plan = planned(world(relation, unit, most, 3), statistic=statistic, column="x", epsilon=0.7, **extra)
    replace = relation == "replace-one"
    tables = [
        [*OTHERS, *({"id": 1, **row} for row in rows)] for rows in contents(unit, most, absent=not replace)
    ]
    seen = [answers(plan, table(rows)) for rows in tables]

    def loss(one: list[list[int]], other: list[list[int]]) -> float:
        return sum(
            sum(abs(a - b) for a, b in zip(x, y, strict=True)) / float(part.scale)
            for part, x, y in zip(plan.parts, one, other, strict=True)
        )

    price = price_of(plan)
    pairs = itertools.product(seen, seen) if replace else itertools.product(seen[:1], seen)
    assert max(itertools.starmap(loss, pairs)) <= price.epsilon * (1 + 1e-12)
    assert max(itertools.starmap(loss, itertools.combinations(seen, 2))) <= price.epsilon_contents * (
        1 + 1e-12
    )
