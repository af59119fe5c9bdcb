"""Exact totals: what they tell alone, by an explicit channel; what the noise still promises; what is said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leakcap as lc
from leakcap.release import load_policy
from leakcap.tables.hierarchies import ExactTotals, Hierarchy, HierarchyQuestion
from leakcap.tables.hierarchies import invariants as counting
from leakcap.tables.hierarchies.invariants import Invariants
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.hierarchies.release import noisy_levels
from seeded import SeededSource
from tables.hierarchies.truth import members

TREE = Hierarchy.of(
    ["region", "town"], [("n", "a"), ("n", "b"), ("n", "c"), ("s", "d"), ("w", "e"), ("w", "f")]
)


def totals(level: str, **counts: int) -> ExactTotals:
    return ExactTotals(level=level, counts=counts, reason="census act")


GIVEN: tuple[tuple[ExactTotals, ...], ...] = (
    (),
    (totals("total", all=500),),
    (totals("region", n=100),),
    (totals("total", all=500), totals("region", n=100, s=50)),
    (totals("region", n=100, s=50, w=90),),
    (totals("town", a=20, d=30), totals("region", n=100)),
    (totals("town", a=20, b=20, c=20, d=20, e=20, f=20),),
)


def seen(
    tree: Hierarchy, exact: Sequence[Mapping[int, int]], leaf: int | None
) -> tuple[tuple[int, int], ...]:
    """What one record adds to each exact total, by walking down from the top."""
    return tuple(
        (level, place)
        for level, own in enumerate(exact)
        for place in own
        if leaf is not None and members(tree, level)[place][leaf]
    )


def channel_of(tree: Hierarchy, exact: Sequence[Mapping[int, int]]) -> lc.Channel:
    """From the content of one record, absence among them, to the exact totals."""
    told = [seen(tree, exact, leaf) for leaf in [None, *range(tree.sizes[-1])]]
    outputs = sorted(set(told))
    return lc.Channel([[float(one == output) for output in outputs] for one in told])


@pytest.mark.parametrize("given", GIVEN)
def test_what_exact_totals_tell_is_the_capacity_of_their_channel(given: tuple[ExactTotals, ...]) -> None:
    found = Invariants.of(TREE, given)
    channel = channel_of(TREE, found.counts)
    capacity = lc.capacity(channel, lc.Renyi(1.0), lc.AllPriors())
    assert capacity.lower - 1e-9 <= found.nats <= capacity.upper + 1e-9
    assert found.nats >= math.log(found.cases) or found.cases == 1
    pure = lc.capacity(channel, lc.Renyi(math.inf), lc.Neighbours())
    assert pure.lower == (math.inf if given else 0.0)
    assert ("no ε holds" in found.statement) == bool(given)


def test_totals_that_are_not_priced_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the totals of the last level are forgotten in the price."""
    real = counting._cases
    monkeypatch.setattr(counting, "_cases", lambda tree, counts: real(tree, (*counts[:-1], {})))
    found = Invariants.of(TREE, GIVEN[-1])
    capacity = lc.capacity(channel_of(TREE, found.counts), lc.Renyi(1.0), lc.AllPriors())
    assert found.nats < capacity.lower - 0.1


def test_the_noise_keeps_its_promise_whatever_the_totals_are() -> None:
    """Between any neighbours, and so between those that agree in the totals: levels that are exact are not
    drawn."""
    given = GIVEN[4]
    exact = Invariants.of(TREE, given)
    assert exact.whole_levels == ("region",)
    plan = HierarchyPlan.of(TREE, 0.1, exact=exact.whole_levels)
    matrices = [np.array(members(TREE, level)) for level in range(3)]
    heard = [(m, v) for m, v in zip(matrices, plan.variances, strict=True) if v is not None]
    far = max(
        sum((Fraction(int((m[:, leaf] ** 2).sum())) / v for m, v in heard), Fraction(0)) for leaf in range(6)
    )
    assert far / 2 == plan.rho
    noisy = noisy_levels(plan, np.array([20, 30, 50, 50, 45, 45]), SeededSource(1))
    assert [one is None for one in noisy] == [False, True, False]


def test_exact_totals_do_not_change_what_is_drawn_or_asked() -> None:
    """Another number for an exact total, or one more, is the same question to the data, repeated for free."""
    policy: Any = {
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"rho": 1.0},
        "columns": {"town": {"keys": list("abcdef")}},
    }  # fmt: skip
    texts = set()
    for given in (
        GIVEN[0],
        GIVEN[1],
        (totals("total", all=600),),
        (totals("region", n=100), totals("town", d=40)),
    ):
        planned = HierarchyQuestion(hierarchy=TREE, exact=given, rho=0.1).planned(load_policy(policy))
        silent = tuple(variance is None for variance in planned.plan.variances)
        texts.add((planned.text, silent))
    # With the only node of the top exact this level is not drawn.
    assert len(texts) == 2
    assert {silent for _, silent in texts} == {(False, False, False), (True, False, False)}


def test_limits_are_the_least_and_the_most_that_is_left() -> None:
    """Worked out by hand: one town has three people, one nobody, and the others 37."""
    given = (
        totals("total", all=40),
        ExactTotals(level="town", counts={"a": 3, "d": 0}, reason="x", minimum=1),
    )
    found = Invariants.of(TREE, given)
    assert [low.tolist() for low, _ in found.limits] == [
        [40.0],
        [3.0, 0.0, 0.0],
        [3.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]
    inf = math.inf
    assert [high.tolist() for _, high in found.limits] == [
        [40.0],
        [inf, 0.0, inf],
        [3.0, inf, inf, 0.0, inf, inf],
    ]
