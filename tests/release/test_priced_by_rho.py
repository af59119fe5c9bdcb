"""A price in ρ buys all of that ρ, of Laplace noise too, whatever an answer is made of."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from leakcap.errors import InvalidQuery
from leakcap.ledger.measured import rho_of
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.planning.queries import Query
from leakcap.release.statistics import statistics
from release.asked import contents
from release.world import policy_of

RHOS = (0.002, 0.2, 2.0)


UNITS: tuple[dict[str, Any], ...] = ({}, {"unit": {"id": "id", "max_rows": 3, "max_groups": 2}})


def planned(*, unit: dict[str, Any] | None = None, **asked: Any) -> Any:
    return plan_query(Query(name="q", **asked), policy_of(**(unit or {})))


@pytest.mark.parametrize("rho", RHOS)
def test_nothing_of_a_rho_is_left_over_and_nothing_more_is_taken(rho: float) -> None:
    seen = set()
    for content, unit in itertools.product(contents(), UNITS):
        try:
            plan = planned(unit=unit, rho=rho, **content)
        except InvalidQuery:
            continue
        price = price_of(plan)
        # From the event alone, as an auditor computes it.
        assert rho_of(price.event) <= rho * (1 + 1e-12), content
        assert 0.99 * rho < price.rho <= rho, content
        seen.add(content["statistic"])
    assert seen == set(statistics())


def test_two_numbers_for_half_of_epsilon_each_keep_the_rho_by_hand() -> None:
    """Two answers of ε each have at most 2·ε·tanh(ε/2): at ρ = 0.02 that is all reached by ε = 0.14173…"""
    (low, high) = (0.1, 0.2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * middle * math.tanh(middle / 2) <= 0.02 else (low, middle)
    plan = planned(statistic="mean", column="x", rho=0.02)
    assert float(plan.query_epsilon) >= 2 * low * 0.998


def test_what_a_slot_admits_is_left_as_it_was() -> None:
    """A slot admits by ε: the same ρ from a slot keeps the ε all of whose mechanisms keep ρ."""
    alone, slotted = (
        planned(statistic="mean", column="x", rho=0.02, slot=slot) for slot in (None, "monthly")
    )
    assert slotted.query_epsilon < alone.query_epsilon
    assert float(slotted.query_epsilon) * math.tanh(float(slotted.query_epsilon) / 2) <= 0.02
