"""What a third review found: each test failed before its mend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from leakcap.release import PrivateTable, attach
from leakcap.release.measurements.one_hot import one_hot_capacity
from leakcap.release.measurements.trees import TreeMeasurement
from release.world import exact, planned, policy_of, table
from seeded import SeededSource

GROUPS = {"x": {"bounds": [-1.0, 1.0]}, "y": {"bounds": [-1.0, 1.0]}, "g": {"keys": list(range(1000))}}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("columns", [("x", "y")])
def test_the_count_of_a_grouped_matrix_is_worth_what_a_grouped_count_is(
    columns: tuple[str, ...], epsilon: float
) -> None:
    """Its share of the joint ε is less than its own: nats by the share were too few, by more than half."""
    plan = planned(
        policy_of(columns=GROUPS), statistic="covariance", columns=columns, by=("g",), epsilon=epsilon
    )
    count = plan.parts[0]
    assert count.role == "count"
    assert count.capacity().upper >= one_hot_capacity(1000, float(1 / count.scale)).lower


def test_a_matrix_over_a_join_pays_for_its_count() -> None:
    """Whoever has no row in the joined table is left out: the number of rows that count is not public."""
    columns = {name: {"bounds": [0.0, 2.0], "fill": 1.0} for name in ("x", "y")}
    people = {"people": {"id": "id", "columns": {"x": {"bounds": [0.0, 1.0]}}}}
    kept: dict[str, Any] = {"unit": {"id": "id", "max_rows": 1}, "tables": people}
    policy = policy_of(neighbours="replace-one", rows=4, columns=columns, **kept)
    rows = [{"id": i, "x": 2.0 * (i % 2), "y": 2.0 * (i % 2)} for i in range(4)]
    data, half = table(rows), table([{"id": 0, "x": 0.5}, {"id": 1, "x": 0.5}])
    given: dict[str, Any] = {"tables": {"people": half}, "ledger": "sqlite://", "source": SeededSource(1)}
    visits = PrivateTable(data, policy=policy, **given)
    asked = visits.join("people").ask("covariance", columns=("x", "y"))
    both = asked.release(epsilon=90.0).rows[1]
    assert abs(both.value - 1.0) < 0.3


def test_no_node_of_a_tree_is_beyond_what_all_units_add_up_to() -> None:
    """Sums of clamped bins were not clamped themselves, and told more of a table beyond its policy."""
    policy = policy_of(max_rows=5)
    (part,) = planned(policy, statistic="cumulative", column="x", bins=1024, epsilon=400.0).parts
    assert isinstance(part, TreeMeasurement)
    assert part.levels > 1
    drawn = part.draw(np.full(1024, 5), SeededSource(2))
    assert max(drawn) <= 5 + 2


def _visits(ids: list[str]) -> pandas.DataFrame:
    """Two rows a person, one in each group; the ids as a data frame keeps texts that repeat."""
    both = [id_ for id_ in ids for _ in range(2)]
    return pandas.DataFrame({"id": pandas.Categorical(both), "d": ["a", "b"] * len(ids)})


def test_one_person_more_does_not_choose_anew_among_the_rows_of_others() -> None:
    """The hash of a categorical id was that of its place among all ids, which one more person moves."""
    policy = policy_of(columns={"d": {"keys": ["a", "b"]}}, unit={"id": "id", "max_rows": 1})
    plan = planned(policy, statistic="count", by=("d",))
    others = [f"m{number}" for number in range(500)]
    # A shift by one place moves choices between neighbours in the list: every second one has both rows in a.
    tables = [_visits(ids) for ids in (others, ["first", *others])]
    for visits in tables:
        visits.loc[visits["id"].isin(others[::2]), "d"] = "a"
    (without,), (with_,) = (exact(plan, attach(visits)) for visits in tables)
    assert sum(abs(x - y) for x, y in zip(without, with_, strict=True)) == 1


def test_whether_two_tables_have_the_same_ids_is_not_told_by_a_refusal() -> None:
    """Categories are read off the rows: types that list them were the same only where the people were."""
    people = {"people": {"id": "id", "columns": {"u": {"keys": ["f"]}}}}
    policy = policy_of(columns={"d": {"keys": ["a", "b"]}}, unit={"id": "id", "max_rows": 1}, tables=people)
    for known in (["p", "q"], ["q", "r", "s"]):
        theirs = pandas.DataFrame({"id": pandas.Categorical(known), "u": "f"})
        visits = PrivateTable(
            _visits(["p", "q"]), policy=policy, ledger="sqlite://", tables={"people": theirs}
        )
        count = visits.join("people").count().release(epsilon=90.0)
        assert abs(int(str(count.value)) - len({"p", "q"} & set(known))) <= 1
