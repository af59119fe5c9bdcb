"""Intervals of every statistic on a table of people with very unlike numbers of rows hold what they say.

Whose figure an interval holds is what the answer itself says. Where nobody has more rows than are used it is
the table's, by another route (`test_coverage.CASES`); where rows are cut, "rows kept" is said.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leakcap.release.statistics import statistic_of, statistics
from release.grouped import of_groups
from release.test_coverage import CASES, Case, Columns
from release.world import answers, planned, policy_of, table
from seeded import ALARM, SeededSource

PEOPLE, MOST, RUNS = 600, 40, 300


@functools.cache
def columns() -> Columns:
    """Most people have one row or two, a few have forty; a person's rows are alike in part."""
    chance = np.random.default_rng(20261123)
    sizes = np.minimum(np.ceil(chance.pareto(0.9, PEOPLE)).astype(int), MOST)
    ids = np.repeat(np.arange(PEOPLE), sizes)
    own = np.repeat(chance.uniform(size=PEOPLE), sizes)
    each = chance.uniform(size=len(ids))
    x = -3.0 + 13.0 * (0.7 * own + 0.3 * each) ** 2
    y = 2.0 + 6.0 * (0.5 * own + 0.5 * each)
    d, k = np.array(["a", "b", "c"])[(3 * own**2).astype(int)], 1 + (each < 0.3)
    return {"x": x, "y": y, "k": k, "d": d, "id": ids, "f": k == 1}


@functools.cache
def rows() -> Any:
    found = columns()
    return table([dict(zip(found, row, strict=True)) for row in zip(*(c.tolist() for c in found.values()), strict=True)])  # fmt: skip # noqa: E501


def sizes(c: Columns) -> Any:
    return np.unique(c["id"], return_counts=True)[1]


# Those that count people say their own limits.
OF_PEOPLE = {
    "rows_cut": Case(
        {"up_to": 20},
        lambda c: [(sizes(c) > 3).sum(), (np.minimum(sizes(c), 20) - 3).clip(0).sum()],
        {"unit": {"id": "id", "max_rows": 3}},
    ),
    "rows_per_person": Case(
        {"up_to": 30, "quantiles": (0.5, 0.95)},
        lambda c: np.quantile(np.minimum(sizes(c), 30), (0.5, 0.95), method="inverted_cdf"),
        {"unit": {"id": "id", "max_rows": 3}},
    ),
    "distinct": Case({}, lambda c: [PEOPLE], {"unit": {"id": "id", "max_rows": 3}}),
}
ALL = {"unit": {"id": "id", "max_rows": MOST}}


def held(name: str, shrink: float = 1.0) -> list[int]:
    """For each row of the answer, how many of so many intervals hold the table's figure."""
    case = OF_PEOPLE.get(name) or CASES[name][0]
    epsilon = 1.0 if name in OF_PEOPLE else 20.0
    plan = planned(policy_of(**(case.policy or ALL)), statistic=name, epsilon=epsilon, **case.query)
    assert name not in OF_PEOPLE or plan.coverage.covers == "table"
    source, statistic = SeededSource(8), statistic_of(plan.query)
    exact = [np.array(one) for one in answers(plan, rows())]
    plan = of_groups(plan, RUNS) if case.told else plan
    noisy = [part.draw(np.tile(one, RUNS), source) for part, one in zip(plan.parts, exact, strict=True)]
    found, truth = statistic.answers(plan, noisy), case.truth(columns())
    low, high = (np.asarray(one, dtype=float).reshape(RUNS, -1) for one in (found.lower, found.upper))
    if case.told:
        names = statistic.labelled(plan, noisy)[plan.query.column or ""]
        right = np.array([truth[one] for one in names], dtype=float).reshape(RUNS, -1)
    else:
        right = np.tile(np.asarray(truth, dtype=float), (RUNS, 1))
    assert low.shape == right.shape
    middle, half = (low + high) / 2, (high - low) / 2 * shrink
    hits: list[int] = (np.abs(right - middle) <= half + 1e-9 * np.abs(right)).sum(axis=0).tolist()
    return hits


@pytest.mark.parametrize("name", sorted(statistics()))
def test_intervals_hold_where_people_have_unlike_numbers_of_rows(name: str) -> None:
    """False alarms: 10⁻⁶ for each row of each answer."""
    counts = held(name)
    assert counts
    assert all(binom.cdf(one, RUNS, 0.95) > ALARM for one in counts), counts


@pytest.mark.parametrize("name", ["count", "sum", "mean", "variance", "distinct", "rows_cut"])
def test_intervals_half_as_wide_are_caught(name: str) -> None:
    assert any(binom.cdf(one, RUNS, 0.95) < ALARM for one in held(name, shrink=0.5))


@pytest.mark.parametrize("name", sorted(set(statistics()) - set(OF_PEOPLE)))
def test_where_rows_are_cut_no_answer_claims_the_table(name: str) -> None:
    """The same question at three rows of a person: other integers, and the answer says "rows kept"."""
    case = CASES[name][0]
    cut = planned(policy_of(unit={"id": "id", "max_rows": 3}), statistic=name, epsilon=20.0, **case.query)
    assert cut.coverage.covers == "rows kept"
    whole = planned(policy_of(**ALL), statistic=name, epsilon=20.0, **case.query)
    assert answers(cut, rows()) != answers(whole, rows())
