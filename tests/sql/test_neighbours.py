"""No pair of neighbouring tables moves what SQL counts by more than is claimed, and paid for."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from leakcap.errors import InvalidQuery
from leakcap.release.measurements.sensitivity import Contribution
from sql.neighbours import check_pairs, pairs_of, plans_of, random_policy, random_statement

SEEDS = ("", "5eed")
WORDS = (
    "CASE",
    "FILTER",
    "SUM(CASE",
    "COALESCE",
    " / 4",
    "DISTINCT CASE",
    "WITH u",
    "JOIN",
    "(SELECT",
    "ORDER BY",
    "WHERE",
    "GROUP BY",
)
MOST = 4_000
"""Cells of a plan; the tables of a pair are many."""

EXCESS = "^(L0|L1|L2|Linf|rank|price)"


def walk(seed: int, pairs: int, **options: Any) -> tuple[int, int, Counter[str]]:
    """So many pairs: how many there were, how many vectors moved as far as they may, and what was asked."""
    draw, counted, tight = random.Random(seed), 0, 0
    seen: Counter[str] = Counter()
    while counted < pairs:
        policy, text = random_policy(draw), random_statement(draw)
        noise = draw.choice(["laplace", "laplace", "gaussian"])
        try:
            plans = plans_of(text, policy, noise)
        except InvalidQuery:
            continue  # by the policy alone: there is no row yet
        if any(not plan.cells.open and plan.cells.size > MOST for plan in plans):
            continue
        found = check_pairs(plans, pairs_of(policy, draw).engines(), draw.choice(SEEDS), **options)
        counted, tight = counted + found[0], tight + found[1]
        seen.update(plan.query.statistic for plan in plans)
        seen.update([policy.neighbours, noise, *(word for word in WORDS if word in text)])
        seen.update(["private"] if any(plan.cells.open for plan in plans) else [])
    return counted, tight, seen


def test_two_thousand_pairs_without_one_excess() -> None:
    counted, tight, _ = walk(1, 2_000)
    assert counted >= 2_000
    assert tight > 100  # the claims are reached, so that a smaller one would be exceeded


@pytest.mark.slow
def test_a_hundred_thousand_pairs_without_one_excess() -> None:
    counted, tight, seen = walk(2, 100_000)
    assert counted >= 100_000
    assert tight > 5_000
    statistics = {"count", "distinct", "sum", "mean", "ratio", "median", "quantiles", "variance"}
    more = {"standard_deviation", "covariance", "correlation", "private", "laplace", "gaussian"}
    wanted = statistics | more | {"add-remove-one", "replace-one", *WORDS}
    assert min(seen[one] for one in wanted) > 3, seen


def test_a_sensitivity_that_is_halved_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Contribution.sensitivity
    monkeypatch.setattr(
        Contribution, "sensitivity", lambda own, *, replace: (plain(own, replace=replace) + 1) // 2
    )
    with pytest.raises(AssertionError, match=EXCESS):
        walk(3, 2_000)


def test_rows_that_are_not_bounded_are_caught() -> None:
    with pytest.raises(AssertionError, match=EXCESS):
        walk(4, 2_000, bounded=False)
