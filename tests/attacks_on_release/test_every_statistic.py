"""Every statistic that there is, under every policy, against all pairs of contents of one unit.

A statistic is enrolled by being in `release/statistics/`. What is compared are the laws of what its parts
draw, part by part, from the integers that the engine returned: their losses together are the ε that is
charged, or less.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from sqlglot import exp

import leakcap.release.columns.joins as joins_room
import leakcap.release.planning.bounding as bounding_room
import leakcap.release.planning.statements as statements_room
import leakcap.release.statistics.cumulative as cumulative_room
import leakcap.release.statistics.matrices as matrices_room
import leakcap.release.statistics.quantiles as ranks_room
import leakcap.release.statistics.ranges as ranges_room
from attacks_on_release.enumerated import (
    SHAPES,
    WORLDS,
    Totals,
    World,
    aligned,
    contents,
    part_loss,
    queries,
    totals,
)
from leakcap.release.columns.typed import aliased, column, identifier, joined_source
from leakcap.release.measurements.measurement import Offer
from leakcap.release.measurements.permute_and_flip import TopMeasurement
from leakcap.release.measurements.quantiles import QuantileMeasurement
from leakcap.release.measurements.sensitivity import Contribution, Presence
from leakcap.release.measurements.thresholds import ThresholdMeasurement
from leakcap.release.measurements.trees import TreeMeasurement, tree_of
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import text_of
from leakcap.release.planning.price import price_of
from leakcap.release.statistics import statistics


def _unbounded(plan: Plan, read: Any, met_of: Any, seed: str) -> Any:
    return joins_room.joined_tree(plan.policy, plan.query.join, read)


def _all(policy: Any, table: Any, name: str) -> Any:
    """Every row of the table, under the names that its columns have beside the data."""
    names = dict.fromkeys((table.key_column, *table.columns))
    renamed = [aliased(column(one), f"{name}.{one}") for one in names]
    return exp.Select(expressions=renamed).from_(exp.Table(this=identifier(joined_source(name))))


@pytest.fixture(autouse=True)
def few_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 726 bins three, and of 256 two, whose coins can be written out; trees of two levels."""
    monkeypatch.setattr(cumulative_room, "branching_for", lambda bins: 2)
    monkeypatch.setattr(ranks_room, "BINS", 2)
    monkeypatch.setattr(ranges_room, "EDGES", (-4.0, 0.0, 1.0, 4.0))


def worst(plan: Plan, found: list[Totals], pairs: Any, laws: dict[Any, Any]) -> float:
    """The largest loss of all parts together; the laws of parts that were written out are in `laws`."""
    most, seen = 0.0, set()
    written = [tuple(sorted(totals.items(), key=repr)) for totals in found]
    numbers = {totals: number for number, totals in enumerate(written)}
    same = [numbers[totals] for totals in written]
    for i, j in pairs:
        key = (same[i], same[j])
        if key in seen:
            continue
        seen.add(key)
        most = max(
            most,
            sum(part_loss(part, one, other, laws) for part, one, other in aligned(plan, found[i], found[j])),
        )
    return most


def alone(plan: Plan, found: list[Totals], pairs: Any) -> int:
    """In how many groups a unit is alone at most; in each of them it is one person."""
    most = 0
    place = next(i for i, part in enumerate(plan.parts) if isinstance(part, ThresholdMeasurement))
    for i, j in pairs:
        own = [
            found[a][cell][place] for a, b in ((i, j), (j, i)) for cell in found[a].keys() - found[b].keys()
        ]
        assert set(own) <= {1}
        most = max(most, *(len(found[a].keys() - found[b].keys()) for a, b in ((i, j), (j, i))))
    return most


def check(world: World, plan: Plan, laws: dict[Any, Any]) -> float:
    """Asserts the claims of one plan; returns which part of the ε that is charged is lost at worst."""
    listed = contents(world, joined=bool(plan.query.join))
    found = totals(plan, listed, named=world.most is not None)
    price = price_of(plan)
    every = list(itertools.combinations(range(len(listed)), 2))
    neighbours = every if world.relation == "replace-one" else [(0, j) for j in range(1, len(listed))]
    lost = worst(plan, found, neighbours, laws)
    assert lost <= price.epsilon * (1 + 1e-12), f"{text_of(plan)}: {lost} is lost, {price.epsilon} charged"
    if neighbours is not every:
        assert worst(plan, found, every, laws) <= price.epsilon_contents * (1 + 1e-12), text_of(plan)
    if plan.cells.open:
        assert alone(plan, found, neighbours) <= plan.policy.groups_per_unit
    return lost / price.epsilon


def plans_of(name: str, world: World) -> list[Plan]:
    """All plans of one statistic."""
    policy = world.policy()
    shapes = [shape for shape in SHAPES.values() if set(shape.get("join", ())) <= policy.tables.keys()]
    return [plan for shape in shapes for plan in queries(statistics()[name], shape, policy)]


def every_plan_holds(name: str, world: World, plans: list[Plan]) -> None:
    """All claims hold, and at least one of them is not far off: a pair attains a good part of ε."""
    alone_is_no_person = statistics()[name].of_people and world.most is None
    assert plans or alone_is_no_person, "No query of this statistic is tried: give its fields a candidate."
    laws: dict[Any, Any] = {}
    lost = [check(world, plan, laws) for plan in plans]
    assert alone_is_no_person or max(lost) > 0.25


@pytest.mark.parametrize("world", [World("add-remove-one", 2, 1), World("replace-one", 1)], ids=str)
@pytest.mark.parametrize("name", statistics())
def test_no_pair_of_contents_is_further_apart_than_is_charged(name: str, world: World) -> None:
    plans = plans_of(name, world)
    every_plan_holds(name, world, plans[:: 1 + len(plans) // 6])


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize("name", statistics())
def test_no_pair_under_any_policy_and_any_query(name: str, world: World) -> None:
    every_plan_holds(name, world, plans_of(name, world))


def _halved(kind: type[Any], name: str) -> tuple[Any, str, Any]:
    claimed = getattr(kind, name)
    return kind, name, lambda self, **given: max(1, claimed(self, **given) // 2)


def _same_noise(role: type[Any]) -> tuple[Any, str, Any]:
    drawn = role.draw
    return role, "draw", lambda self, exact, source: drawn(replace(self, scale=self.scale / 4), exact, source)


def without_levels(contribution: Contribution, bins: int, branching: int, offer: Offer) -> TreeMeasurement:
    """A tree with the noise of a histogram."""
    steps = contribution.sensitivity(replace=offer.replace)
    noise = offer.noise(steps, Fraction(contribution.squared(replace=offer.replace)))
    return replace(tree_of(contribution, bins, branching, offer), noise=noise, steps=steps)


BUGS: dict[str, tuple[str, World, dict[str, Any], tuple[Any, str, Any]]] = {
    "rows": ("count", World("replace-one", 2), {"by": ("k",)}, _halved(Contribution, "sensitivity")),
    "people": ("distinct", World("replace-one", 2), {"by": ("k",)}, _halved(Presence, "sensitivity")),
    "unbounded": ("sum", World("add-remove-one", 2), {}, (statements_room, "chosen_rows", _unbounded)),
    "groups": (
        "distinct",
        World("add-remove-one", 2, 1),
        {"by": ("k",)},
        (bounding_room, "_groups", lambda plan: []),
    ),
    "levels": ("cumulative", World("add-remove-one", 1), {}, (cumulative_room, "tree_of", without_levels)),
    "rounds": ("top", World("add-remove-one", 1), {}, _same_noise(TopMeasurement)),
    "ranks": ("median", World("add-remove-one", 1), {}, _same_noise(QuantileMeasurement)),
    "joint": (
        "covariance",
        World("add-remove-one", 1),
        {},
        (matrices_room, "joint_norm", lambda d, m, *, counted: d),
    ),
    "duplicates": (
        "count",
        World("add-remove-one", None),
        {"join": ("wards",)},
        (joins_room, "_one_each", _all),
    ),
    "threshold": ("mean", World("add-remove-one", 2), SHAPES["private"], _halved(Presence, "sensitivity")),
}


@pytest.mark.parametrize(("name", "world", "shape", "bug"), BUGS.values(), ids=BUGS.keys())
def test_a_planted_bug_of_each_family_is_found(
    name: str, world: World, shape: dict[str, Any], bug: tuple[Any, str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*bug)
    plans = list(queries(statistics()[name], shape, world.policy()))
    assert plans
    with pytest.raises(AssertionError, match="charged"):
        every_plan_holds(name, world, plans)
