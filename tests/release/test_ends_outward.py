"""A value lies in its interval, and the ends of an interval lie outside what they stand for."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.planning.plan import text_of
from leakcap.release.statistics import statistic_of
from release.world import planned, policy_of


def test_a_share_in_a_margin_lies_in_its_interval() -> None:
    """Also where noise takes hits and misses to where no share of theirs is."""
    plan = planned(policy_of(), statistic="ratio", when="x > 1", epsilon=0.5)
    (part,) = plan.parts
    pairs = list(itertools.product(range(-90, 91, 6), repeat=2))
    noisy = exact_integers([number for pair in pairs for number in pair])
    margin = replace(plan, parts=(replace(part, added=9),))
    found = statistic_of(plan.query).answers(margin, [noisy])
    assert len(found.values) == len(pairs)
    assert ((found.lower <= found.values) & (found.values <= found.upper)).all()
    assert (found.lower > 0.5).any()
    assert (found.upper < 0.5).any()


@pytest.mark.parametrize("places", [2, None])
def test_the_ends_of_a_sum_of_any_size_lie_outside(places: int | None) -> None:
    """Beyond 2⁵³ steps doubles are sparser than steps."""
    column: dict[str, Any] = {"bounds": [0.0, 1e9]}
    column |= {} if places is None else {"places": places, "type": "decimal"}
    plan = planned(policy_of(columns={"x": column}), statistic="sum", column="x", epsilon=1.0)
    assert plan.grid is not None
    assert plan.grid.places == places
    totals = [
        sign * (2**power + more)
        for power in (20, 52, 53, 56, 60)
        for more in (1, 7, 12345)
        for sign in (1, -1)
    ]
    found = statistic_of(plan.query).answers(plan, [exact_integers(totals)])
    for total, value, low, high in zip(totals, found.values, found.lower, found.upper, strict=True):
        ends = [(total + off) * plan.grid.step for off in (-plan.errors[0], plan.errors[0])]
        # Before that the ends of decimals are decimals: the doubles that stand for them.
        if places is None or abs(ends[0]) >= 2**53 * plan.grid.step:
            assert Fraction(float(low)) <= ends[0]
        if places is None or abs(ends[1]) >= 2**53 * plan.grid.step:
            assert ends[1] <= Fraction(float(high))
        assert low <= value <= high
        # And not by more than two of the doubles there.
        assert float(ends[0]) - float(low) <= 2 * abs(float(ends[0])) * 2**-52
        assert float(high) - float(ends[1]) <= 2 * abs(float(ends[1])) * 2**-52


def test_edges_are_spelled_one_way() -> None:
    """Whole numbers and their doubles make one question; a whole number that is no double stays."""
    policy = policy_of(columns={"x": {"bounds": [0.0, 1e18]}})
    whole, doubles = (0, 10, 20), (0.0, 10.0, 20.0)
    for words in (
        lambda edges: {"statistic": "count", "by": ("x",), "cut": (("x", edges),)},
        lambda edges: {"statistic": "histogram", "column": "x", "edges": edges},
    ):
        texts = {text_of(planned(policy, **words(edges))) for edges in (whole, doubles)}
        assert len(texts) == 1
        near = {text_of(planned(policy, **words((0, 2**53 + more)))) for more in (0, 1, 2)}
        assert len(near) == 3
