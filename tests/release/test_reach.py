"""The lower end of what is told about one unit stands only where a unit's data can reach every content."""

from __future__ import annotations

from typing import Any

import pytest

from leakcap.release.conditions.where import parse_where
from leakcap.release.planning.attainability import possible
from leakcap.release.planning.price import price_of
from release.world import planned, policy_of

TRUTHS: dict[str, set[bool | None]] = {
    "x > 5": {True, False, None},
    "x > 5 AND x < 3": {False, None},
    "x > 3 AND x < 5": {True, False, None},
    "x IS NULL OR x = 1 OR x <> 1": {True},
    "NOT (d = 'a' AND d = 'b')": {True, None},
    "d IN ('a', 'b') OR d IS NULL": {True, False},
    "x BETWEEN 4 AND 2": {False, None},
    "x IS NULL": {True, False},
    "x >= 2 AND x <= 2": {True, False, None},
    "bit_count(k & 6) % 2 = 1": {True, False, None},
    "bit_count(k & 0) % 2 = 1": {False, None},
    "bit_count(k & 2) % 2 = 1 AND NOT (bit_count(k & 2) % 2 = 1)": {False, None},
    "(bit_count(k & 2) + bit_count(k & 2)) % 2 = 1": {False, None},
}


@pytest.mark.parametrize("text", TRUTHS)
def test_the_truth_values_of_a_condition(text: str) -> None:
    """By hand: which truth values can a row of any table give?"""
    assert possible(parse_where(text, policy_of()), policy_of()) == TRUTHS[text]


@pytest.mark.parametrize(
    ("neighbours", "query", "told"),
    [
        ("replace-one", {"statistic": "count"}, False),
        ("replace-one", {"statistic": "count", "where": "x > 5"}, True),
        ("replace-one", {"statistic": "count", "where": "x > 5 AND x < 3"}, False),
        ("replace-one", {"statistic": "sum", "column": "x"}, True),
        ("replace-one", {"statistic": "sum", "column": "x", "where": "x < 1"}, False),
        ("replace-one", {"statistic": "sum", "column": "x", "where": "d = 'a'"}, True),
        ("replace-one", {"statistic": "count", "by": ("d",)}, True),
        ("add-remove-one", {"statistic": "count"}, True),
        ("add-remove-one", {"statistic": "count", "where": "x IS NULL AND x > 1"}, False),
    ],
)
def test_nothing_is_claimed_to_be_told_that_is_not(
    neighbours: str, query: dict[str, Any], told: bool
) -> None:
    rows = {"rows": 3} if neighbours == "replace-one" else {}
    price = price_of(planned(policy_of(neighbours=neighbours, **rows), **query))
    assert (price.nats_person.lower > 0) == told
    assert price.nats_person.upper > 0
