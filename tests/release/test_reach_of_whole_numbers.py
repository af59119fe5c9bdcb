"""What a column of whole numbers cannot hold is not claimed to be told: by brute force over the numbers."""

from __future__ import annotations

import bisect
import math
import random
from typing import Any

import pytest

from leakcap.release import Policy
from leakcap.release.conditions.where import parse_where
from leakcap.release.planning import attainability
from leakcap.release.planning.attainability import every_content_occurs, possible, truth_of
from leakcap.release.planning.price import price_of
from release.world import planned, policy_of

# Whole by its type, or by its keys: the numbers beyond the bounds are whole as well.
KINDS: tuple[dict[str, Any], ...] = ({"type": "integer"}, {"keys": [1, 2]})


def _policy(bounds: list[float], kind: dict[str, Any], **more: Any) -> Policy:
    policy: Policy = policy_of(columns={"n": {"bounds": bounds, **kind}, "x": {"bounds": bounds}, **more})
    return policy


def test_the_truth_values_of_conditions_on_whole_numbers() -> None:
    """A whole number between two marks is one that there is; 2,000 conditions."""
    source = random.Random(7)
    policy, told = _policy([0, 9], KINDS[0]), 0
    for _ in range(2000):
        marks = [source.choice([source.randint(-2, 11), round(source.uniform(-2, 11), 1)]) for _ in range(3)]
        a, b, c = map(repr, marks)
        text = source.choice(
            [
                f"n > {a} AND n < {b}",
                f"NOT (n <= {a}) AND n <> {b} AND n < {c}",
                f"n BETWEEN {a} AND {b}",
                f"n IN ({a}, {b}) OR n = {c}",
                f"n < {a} OR n >= {b} OR n = {c}",
                f"NOT (n BETWEEN {a} AND {b}) AND n > {c}",
            ]
        )
        condition = parse_where(text, policy)
        worked = {truth_of(condition, {"n": one}) for one in (None, *map(float, range(-5, 16)))}
        assert possible(condition, policy) == worked, text
        told += True in worked
    assert 500 < told < 1900


@pytest.mark.parametrize("where", ["n > 0.2 AND n < 0.8", "n = 0.5", "NOT (n < 3.2 OR n > 3.9)"])
def test_a_count_that_no_whole_number_enters_tells_nothing(where: str) -> None:
    policy = _policy([0, 9], KINDS[0])
    assert price_of(planned(policy, statistic="count", where=where, epsilon=3.0)).nats_person.lower == 0.0
    told = price_of(planned(policy, statistic="count", where=where.replace("n ", "x "), epsilon=3.0))
    assert told.nats_person.lower > 0.1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_bins_and_bands_are_counted_on_only_where_each_has_a_whole_number(kind: dict[str, Any]) -> None:
    source, found = random.Random(8), {True: 0, False: 0}
    for _ in range(300):
        low = source.randint(-3, 3)
        high = low + source.randint(1, 6)
        inner = sorted(
            {round(source.uniform(low + 0.05, high - 0.05), 1) for _ in range(source.randint(1, 3))}
        )
        bins = source.randint(1, 9)
        even = [low + (high - low) * (place / bins) for place in range(1, bins)]
        policy = _policy([low, high], kind, b={"from": "n", "cuts": inner})
        for edges, asked in (
            (inner, {"statistic": "count", "by": ("b",)}),
            (inner, {"statistic": "histogram", "column": "n", "edges": (low, *inner, high)}),
            (even, {"statistic": "histogram", "column": "n", "bins": bins}),
        ):
            plan = planned(policy, **asked)
            met = {bisect.bisect_right(edges, one) for one in range(low - 2, high + 3)}
            expected = len(met) == len(edges) + 1
            assert every_content_occurs(plan, plan.parts[0]) is expected, (low, high, edges)
            found[expected] += 1
    assert min(found.values()) > 200


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("most", [1, 2, 9])
def test_a_sum_tells_no_more_than_which_whole_number_it_is(most: int, kind: dict[str, Any]) -> None:
    """k + 1 numbers are told apart by ln(k + 1) nats at most; two ends far apart alone come close to ln 2."""
    policy = _policy([0, most], kind)
    lowers = [
        price_of(planned(policy, statistic=statistic, column="n", epsilon=epsilon)).nats_person.lower
        for epsilon in (1.0, 3.0, 10.0, 30.0, 300.0)
        for statistic in ("sum", "mean")
    ]
    assert max(lowers) <= math.log(most + 1)
    assert min(lowers[:2]) > 0.02
    # Other numbers fill the grid.
    real = price_of(planned(policy, statistic="sum", column="x", epsilon=300.0)).nats_person
    assert real.lower > math.log(most + 1)


def test_no_case_is_tried_once_all_truth_values_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition of hundreds of numbers has thousands of cases; there are three truth values."""
    columns = {"age": {"bounds": [0.0, 255.0]}, "person": {"keys": list(range(20))}}
    policy = policy_of(columns=columns)
    condition = parse_where(f"person = 3 AND age IN ({', '.join(map(str, range(0, 256, 2)))})", policy)
    tried = []
    monkeypatch.setattr(attainability, "truth_of", lambda *asked: tried.append(asked) or truth_of(*asked))
    assert possible(condition, policy) == {True, False, None}
    assert len(tried) < 100
