"""Rows counted by day first are the rows that are counted: against plain Python, and each row by itself."""

from __future__ import annotations

import collections
import datetime
from typing import Any

import pytest

from engines.words import DERIVED, POLICY, random_rows, table, value_of
from leakcap.release import attach
from leakcap.release.columns.axis import Axis
from leakcap.release.planning import by_day
from leakcap.release.planning.statements import select_of
from release.world import exact, planned, policy_of

_FIRST = '(SELECT "k0", COUNT(*) AS "n0"'
DAYS: dict[str, Any] = {
    "d": {"bounds": [datetime.date(2023, 1, 15), datetime.date(2025, 2, 10)]},
    "weekday": {"from": "d", "part": "weekday"},
}
# What follows from the day of one column, by the declaration alone.
OF_A_DAY = [
    *(name for name, one in DERIVED.items() if {"truncate", "part"} & one.keys()),
    *("d_band", "t_band", "season", "cold", "months"),
]


def _text(**asked: Any) -> str:
    return attach(table([])).write(select_of([planned(POLICY, statistic="count", **asked)])).text


def test_what_follows_from_one_day_is_counted_by_it_and_nothing_else_is() -> None:
    counted = {name for name in DERIVED if POLICY.columns[name].keys and _FIRST in _text(by=(name,))}
    assert counted == set(OF_A_DAY)


def test_other_answers_and_many_groups_take_each_row_by_itself() -> None:
    """A person counts once, on however many days; 757 days of two columns are too many groups."""
    people = policy_of(unit={"id": "n", "max_rows": 2}, columns=DAYS)
    plan = planned(people, statistic="distinct", by=("weekday",))
    assert '"n0"' not in attach(table([])).write(select_of([plan], "seed")).text
    assert '"n0"' not in _text(by=("d_month", "e_month"))
    assert '"n0"' in _text(by=("d_month", "x_band"), where="f = TRUE")


@pytest.mark.parametrize("by", [("season",), ("d_of_weekday", "x_band"), ("s_chapter", "z_month")])
@pytest.mark.parametrize("where", [None, "f = TRUE AND x > 1"])
def test_the_counts_are_those_of_python(by: tuple[str, ...], where: str | None) -> None:
    """Years before 1 and after 9999, both infinities, days outside the bounds and missing ones among them."""
    rows = random_rows(11, 700, {})
    plan = planned(POLICY, statistic="count", by=by, where=where)
    kept = [row for row in rows if where is None or (row["f"] and (value_of(row, "x") or 0) > 1)]
    found = collections.Counter(tuple(value_of(row, name) for name in by) for row in kept)
    (counts,) = exact(plan, attach(table(rows)))
    labels = zip(*(plan.cells.labels()[name].tolist() for name in by), strict=True)
    assert sum(counts) > 20
    assert counts == [found[one] for one in labels]


def test_people_with_many_rows_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most two rows of each person count, whichever way these are added up."""
    policy = policy_of(
        unit={"id": "n", "max_rows": 2},
        columns=DAYS,
    )
    plan, rows = planned(policy, statistic="count", by=("weekday",)), random_rows(5, 300, {})
    first = exact(plan, attach(table(rows)))
    assert '"n0"' in attach(table(rows)).write(select_of([plan], "seed")).text
    monkeypatch.setattr(by_day, "_MOST_GROUPS", 0)
    assert exact(plan, attach(table(rows))) == first
    assert 0 < sum(first[0]) <= 2 * len({row["n"] for row in rows})


def test_a_planted_mistake_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the day after."""
    plain = Axis.of_day
    monkeypatch.setattr(Axis, "of_day", lambda own, name: plain(own, by_day.column(f"{name.name}") + 1))
    with pytest.raises(AssertionError):
        test_the_counts_are_those_of_python(("season",), None)
