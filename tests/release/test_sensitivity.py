"""Sensitivities against brute force: one unit's every possible data, all pairs of neighbouring tables.

For m = 1 the claimed number must be reached exactly; it may never be passed. A unit's data are drawn from
rows that sit on every edge: at and beyond the bounds, missing, NaN, infinite, unknown keys, excluded.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.release import attach
from leakcap.release.measurements.sensitivity import Contribution
from release.world import COLUMNS, answers, answers_of_each, planned, policy_of, table

VALUES = (None, math.nan, -math.inf, -7.0, -3.0, 0.0, 10.0, 1e300)
ROWS: list[dict[str, Any]] = [
    {"x": x, "y": x, "d": d, "k": 1, "f": f}
    for x in VALUES
    for d, f in (("a", True), ("b", True), ("z", False))
]
OTHERS: list[dict[str, Any]] = [
    {"id": 900, "x": 4.0, "y": 4.0, "d": "a", "k": 1, "f": True},
    {"id": 901, "x": None, "y": None, "d": "c", "k": 9, "f": None},
]
CUT = (("x", (-3.0, 0.0, 5.0, 10.0)),)
UNGROUPED: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "where": "f"},
    {"statistic": "sum", "column": "x"},
    {"statistic": "sum", "column": "y"},
    {"statistic": "sum", "column": "y", "where": "f"},
    {"statistic": "mean", "column": "x"},
    {"statistic": "mean", "column": "y"},
]
GROUPED: list[dict[str, Any]] = [
    {"statistic": "count", "by": ("d",)},
    {"statistic": "count", "by": ("d", "k"), "where": "f"},
    {"statistic": "sum", "column": "x", "by": ("d",)},
    {"statistic": "mean", "column": "x", "by": ("d",)},
    {"statistic": "histogram", "column": "x", "bins": 4},
    {"statistic": "histogram", "column": "d"},
    {"statistic": "count", "by": ("x", "d"), "cut": CUT},
    {"statistic": "mean", "column": "y", "by": ("x",), "cut": CUT},
    {"statistic": "contingency", "columns": ("x", "y"), "cut": (*CUT, ("y", (2.0, 2.5, 8.0)))},
]


def vectors(plan: Any, contents: list[list[dict[str, Any]]]) -> list[list[list[int]]]:
    """The answer for each possible data of one unit, everything else fixed: all by one statement, which is
    compared with what the plan's own says of nothing and of the first row."""
    tables = [[*OTHERS, *({**row, "id": 1} for row in rows)] for rows in contents]
    found = answers_of_each(plan, tables)
    assert found[:2] == [answers(plan, table(rows)) for rows in tables[:2]]
    return found


def distance(left: list[int], right: list[int]) -> int:
    return sum(abs(a - b) for a, b in zip(left, right, strict=True))


def widest(answers_: list[list[list[int]]], part: int, *, absent: bool) -> int:
    """The largest distance between neighbours; the first answer is the one without the unit."""
    nothing, *present = answers_
    if absent:
        return max(distance(nothing[part], other[part]) for other in present)
    return max(distance(a[part], b[part]) for a, b in itertools.combinations(present, 2))


@pytest.mark.parametrize("query", UNGROUPED + GROUPED, ids=str)
def test_one_row_units_reach_their_sensitivity_and_never_pass_it(query: dict[str, Any]) -> None:
    contents: list[list[dict[str, Any]]] = [[], *([row] for row in ROWS)]
    for relation, units in (("add-remove-one", {}), ("replace-one", {"rows": 3})):
        # rows = 3 would clamp the table without the unit, which replace-one does not compare anyway.
        plan = planned(policy_of(neighbours=relation, **units), **query)
        found = vectors(plan, contents)
        for index, part in enumerate(plan.parts):
            reached = widest(found, index, absent=relation == "add-remove-one")
            public_count = relation == "replace-one" and part.role == "count" and query == UNGROUPED[0]
            # n is public under replace-one, so a count of everybody cannot move; it pays as if it could.
            assert reached == (0 if public_count else part.sensitivity)


@pytest.mark.parametrize("query", UNGROUPED + GROUPED, ids=str)
def test_any_two_contents_stay_within_the_diameter(query: dict[str, Any]) -> None:
    plan = planned(policy_of(), **query)
    found = vectors(plan, [[], *([row] for row in ROWS)])
    for index, part in enumerate(plan.parts):
        largest = max(distance(a[index], b[index]) for a, b in itertools.combinations(found, 2))
        assert largest == part.contribution.diameter


@pytest.mark.parametrize("query", UNGROUPED + GROUPED, ids=str)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_units_with_many_rows_are_cut_to_their_quota(relation: str, query: dict[str, Any]) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    policy = policy_of(neighbours=relation, unit={"id": "id", "max_rows": 2}, **units)
    plan = planned(policy, **query)
    edge = [row for row in ROWS if row["x"] in (-7.0, 10.0) and row["d"] != "z"]
    pairs = [list(pair) for pair in itertools.combinations_with_replacement(edge, 2)]
    contents = [[], [edge[0]], *pairs, edge, edge * 3, list(reversed(edge * 3))]
    found = vectors(plan, contents)
    for index, part in enumerate(plan.parts):
        reached = widest(found, index, absent=relation == "add-remove-one")
        assert reached <= part.sensitivity
        # With two rows that stay in and at least one public fact less than `rows`, the bound is met.
        missing_zero = relation == "replace-one" and query.get("column") and not query.get("by")
        if not missing_zero and not (
            relation == "replace-one" and part.role == "count" and not query.get("by")
        ):
            assert reached == part.sensitivity


def test_which_rows_of_a_unit_stay_does_not_depend_on_their_order() -> None:
    policy = policy_of(unit={"id": "id", "max_rows": 1})
    rows = [
        {"id": 1, "x": x, "d": d, "f": f}
        for x, d, f in ((1.0, "a", True), (1.0, "b", None), (1.0, "b", False))
    ]
    rows += [{"id": 1, "x": None, "d": "c", "k": 1}]
    queries: list[dict[str, Any]] = [
        {"statistic": "sum", "column": "x"},
        {"statistic": "count", "by": ("d",)},
        {"statistic": "count", "where": "f"},
        {"statistic": "count", "where": "k IS NULL AND f IS NULL"},
    ]
    for query in queries:
        plan = planned(policy, **query)
        assert len({str(answers(plan, table(list(order)))) for order in itertools.permutations(rows)}) == 1


def test_rows_without_an_id_are_nobodys_and_left_out() -> None:
    plan = planned(policy_of(unit={"id": "id", "max_rows": 5}), statistic="count")
    assert answers(plan, table([{"id": None, "x": 1.0}] * 4 + [{"id": 3, "x": 1.0}])) == [[1]]


row_strategy = st.fixed_dictionaries(
    {
        "id": st.sampled_from([1, 2, 3, None]),
        "x": st.one_of(st.none(), st.floats(width=64)),
        "y": st.one_of(st.none(), st.floats(width=64)),
        "d": st.sampled_from(["a", "b", "c", "z", "", None]),
        "k": st.sampled_from([1, 2, 77, None]),
        "f": st.sampled_from([True, False, None]),
    }
)
wheres = st.sampled_from(
    [
        None,
        "f",
        "x > 2",
        "NOT (x <= 2 OR d = 'a')",
        "y BETWEEN 3 AND 7",
        "k IN (1, 2)",
        "x IS NULL",
        "d >= 'b'",
    ]
)
shapes = st.sampled_from(UNGROUPED + GROUPED)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(row_strategy, max_size=6),
    extra=st.lists(row_strategy, min_size=1, max_size=4),
    where=wheres,
    shape=shapes,
    most=st.sampled_from([1, 2, 3]),
    by_id=st.booleans(),
    cap=st.sampled_from([None, 2]),
)
def test_random_neighbours(
    rows: list[dict[str, Any]],
    extra: list[dict[str, Any]],
    where: str | None,
    shape: dict[str, Any],
    most: int,
    by_id: bool,
    cap: int | None,
) -> None:
    """Add or remove one unit from a random table; the clamp to a public maximum must not widen the step."""
    unit: Any = {"id": "id", "max_rows": most} if by_id else "row"
    more = [{**row, "id": 50} for row in extra] if by_id else extra[:1]
    policy = policy_of(unit=unit, **({} if cap is None else {"max_rows": cap}))
    plan = planned(policy, **{**shape, "where": where})
    before, after = answers(plan, table(rows)), answers(plan, table(rows + more))
    for part, a, b in zip(plan.parts, before, after, strict=True):
        assert distance(a, b) <= part.sensitivity


def test_the_textbook_maximum_over_disjoint_parts_is_wrong_for_replacements() -> None:
    """A replaced record leaves one group and enters another: two counts move, not one."""
    plan = planned(policy_of(neighbours="replace-one", rows=1), statistic="count", by=("d",))
    a, b = (answers(plan, table([{"id": 1, "x": 1.0, "d": key}])) for key in ("a", "b"))
    assert distance(a[0], b[0]) == 2 == plan.parts[0].sensitivity


@given(low=st.integers(-9, 9), width=st.integers(1, 9), rows=st.integers(1, 3), cells=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_formulas_against_enumeration(low: int, width: int, rows: int, cells: int) -> None:
    """All ways to put up to m extreme rows into the cells; the L1 norm is convex, so extremes are enough."""
    high = low + width
    choices = [None, *((cell, value) for cell in range(cells) for value in (low, high))]
    contents = set()
    for combination in itertools.product(choices, repeat=rows):
        vector = [0] * cells
        for choice in combination:
            if choice is not None:
                vector[choice[0]] += choice[1]
        contents.add(tuple(vector))
    claimed = Contribution(low, high, rows, cells)
    assert max(sum(map(abs, c)) for c in contents) == claimed.sensitivity(replace=False)
    pairs = itertools.product(contents, repeat=2)
    assert max(distance(list(a), list(b)) for a, b in pairs) == claimed.sensitivity(replace=True)


def test_other_columns_of_the_table_do_not_matter() -> None:
    data = pyarrow.table({"x": [1.0, 2.0], "note": ["[", "}"]})
    policy = policy_of(columns={"x": COLUMNS["x"]})
    assert attach(data).columns()["note"] == "VARCHAR"
    assert answers(planned(policy, statistic="count"), data) == [[2]]
