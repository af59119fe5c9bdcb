"""Which keys follow from which, by the policy alone, against what an engine finds in rows."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, attach, load_policy
from leakcap.release.columns.cells import key_axis
from leakcap.release.columns.typed import aliased
from leakcap.release.conditions.declared import with_cases
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import rows_of
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.nested.following import roots_of, that_follow

FIRST, LAST = datetime.date(2023, 11, 20), datetime.date(2025, 2, 9)
COLUMNS: dict[str, Any] = {
    "d": {"bounds": [FIRST, LAST]},
    "age": {"bounds": [0, 100]},
    "code": {"keys": ["C18", "C34", "I10", "J18", "Z99"]},
    "day": {"from": "d", "truncate": "day"},
    "week": {"from": "d", "truncate": "week"},
    "month": {"from": "d", "truncate": "month"},
    "quarter": {"from": "d", "truncate": "quarter"},
    "year": {"from": "d", "truncate": "year"},
    "month_of_year": {"from": "d", "part": "month"},
    "quarter_of_year": {"from": "d", "part": "quarter"},
    "weekday": {"from": "d", "part": "weekday"},
    "season": {"from": "month_of_year", "groups": {"winter": [12, 1, 2], "summer": [6, 7, 8]}},
    "weekend": {"from": "weekday", "groups": {"yes": [6, 7], "no": [1, 2, 3, 4, 5]}},
    "halves": {"from": "d", "cuts": [datetime.date(2024, 7, 1)]},
    "ten": {"from": "age", "cuts": [30, 50], "keys": ["young", "middle", "old"]},
    "five": {"from": "age", "cuts": [10, 30, 50, 70]},
    "odd": {"from": "age", "cuts": [20, 40]},
    "wide": {"from": "ten", "groups": {"under 50": ["young", "middle"], "over": ["old"]}},
    "chapter": {"from": "code", "prefix": 1, "groups": {"Tumours": ["C"], "Heart": ["I"], "Empty": ["X"]}},
    "older": {"case": "CASE WHEN age > 50 THEN 'y' ELSE 'n' END"},
}  # fmt: skip


def policy_of(**more: Any) -> Any:
    caps = {"epsilon": 1e6, "delta": 1e-6}
    return load_policy(
        {"dataset": "t", "neighbours": "add-remove-one", "caps": caps, "columns": COLUMNS | more}
    )


POLICY = policy_of()
KEYED = [name for name, own in POLICY.columns.items() if own.keys is not None]


def data() -> pyarrow.Table:
    """Every day within the bounds and a few beyond, every age, every code."""
    days = [FIRST + datetime.timedelta(one) for one in range(-3, (LAST - FIRST).days + 4)]
    codes = COLUMNS["code"]["keys"]
    return pyarrow.table({
        "d": days,
        "age": [one % 101 / 1.0 for one in range(len(days))],
        "code": [codes[one % len(codes)] for one in range(len(days))],
    })  # fmt: skip


def rows_read() -> dict[str, list[Any]]:
    """The key of each row in every column, as the engine has it; None where it has none."""
    query = Query(name="q", statistic="count", epsilon=1.0)
    axes = [key_axis(name, with_cases(POLICY), query) for name in KEYED]
    engine = attach(data())
    chosen = [aliased(axis.tree.copy(), f"k{place}") for place, axis in enumerate(axes)]
    found = engine.run(engine.write(rows_of(plan_query(query, POLICY), chosen, "")))
    return {
        axis.column: [axis.labels.get(code) for code in codes.tolist()]
        for axis, codes in zip(axes, found.arrays, strict=True)
    }


def test_what_follows_is_what_rows_have() -> None:
    """Each pair of columns, both ways: where one follows, rows have just these pairs."""
    read, found = rows_read(), set()
    for fine, coarse in itertools.permutations(KEYED, 2):
        follow = None
        if roots_of(fine, POLICY) & roots_of(coarse, POLICY):
            follow = that_follow(coarse, fine, POLICY)
        if follow is None:
            continue
        found.add((fine, coarse))
        pairs = {pair for pair in zip(read[fine], read[coarse], strict=True) if pair[0] is not None}
        assert pairs == {(key, follow.get(key)) for key in POLICY.columns[fine].keys or ()}
    assert {
        ("day", "week"), ("day", "weekday"), ("day", "month"), ("day", "halves"), ("month", "quarter"),
        ("month", "year"), ("quarter", "year"), ("month", "month_of_year"), ("month_of_year", "season"),
        ("month", "season"), ("weekday", "weekend"), ("month_of_year", "quarter_of_year"),
        ("code", "chapter"), ("five", "ten"), ("ten", "wide"), ("five", "wide"),
        ("quarter", "halves"), ("day", "weekend"),
    } <= found  # fmt: skip
    never = {("week", "month"), ("week", "year"), ("ten", "odd"), ("odd", "ten"), ("month_of_year", "month")}
    assert not never & found


def test_only_keys_that_can_occur_are_cells() -> None:
    """`Empty` has no code, and J18 and Z99 are in no chapter."""
    asked = TablesQuestion(columns=("chapter", "code", "weekday"), ways=2, rho=1.0)
    with PrivateTable(data(), policy=POLICY, ledger="sqlite://") as table:
        found = release_tables(table, asked)
    keys = [keys for keys, _ in found.table("code").cells]
    assert keys == [("Tumours", "C18"), ("Tumours", "C34"), ("Heart", "I10")]
    assert found.table("chapter").keys == (("Tumours", "Heart"),)
    assert found.table("code", "weekday").values.shape == (3, 7)
    assert abs(found.table("chapter", "weekday").values.sum() - found.table().values) < 1e-9


def test_a_column_in_two_chains_is_in_the_longer_one_and_crosses_the_other() -> None:
    """Days lie within months within quarters; and in weeks, which no month holds."""
    asked = TablesQuestion(columns=("week", "quarter", "day", "month"), ways=1, rho=1.0)
    planned = asked.planned(POLICY)
    assert planned.plan.workload.within.keys() == {"day", "month"}
    assert planned.nested["day"].columns == ("quarter", "month", "day")
    other = TablesQuestion(columns=("day", "month", "quarter", "week"), ways=1, rho=1.0).planned(POLICY)
    assert other.text == planned.text


def test_columns_that_say_the_same_lie_within_each_other_once() -> None:
    policy = policy_of(again={"from": "d", "truncate": "month"})
    for names in (("again", "month"), ("month", "again")):
        planned = TablesQuestion(columns=names, ways=1, rho=1.0).planned(policy)
        assert set(planned.plan.workload.within) == {"month"}
        assert planned.plan.workload.cells_of((1,)) == 16


def test_columns_without_a_key_in_common_are_refused() -> None:
    policy = policy_of(none={"from": "code", "prefix": 1, "groups": {"X": ["X"]}})
    planned = TablesQuestion(columns=("none", "code"), ways=1, rho=1.0).planned(policy)
    # Nothing follows, so that they are crossed as any others are.
    assert not planned.nested
    with pytest.raises(InvalidQuery):
        TablesQuestion(columns=("none", "nobody"), ways=1, rho=1.0).planned(policy)
