"""What keys within keys cannot mean, in a policy or in a question, is refused in one line."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.policy import load_policy
from leakcap.release import PrivateTable, Query
from leakcap.release.planning.plan import cells_of, plan_query
from leakcap.running import RunningQuestion
from leakcap.running.reading import running_counts, running_statement
from leakcap.tables import TablesQuestion
from release.nested import LAND, PAIRS, POLICY, hostile_rows


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (
            {"statistic": "contingency", "columns": ("sex", "district"), "by": ("region",)},
            "must not have both",
        ),
        ({"statistic": "top", "column": "district", "top": 4, "by": ("region",)}, "be at most 3, the most"),
    ],
)
def test_what_needs_a_whole_product_is_refused(asked: dict[str, Any], rule: str) -> None:
    """In one line, and nothing is planned, so that nothing is spent."""
    with pytest.raises(InvalidQuery, match=rule) as caught:
        plan_query(Query(name="q", epsilon=1.0, **asked), load_policy(POLICY))
    assert "\n" not in str(caught.value)


def test_private_keys_and_cuts_beside_nested_ones_are_refused() -> None:
    """Groups of pairs that are not listed could appear; bins are no keys."""
    columns = POLICY["columns"] | {
        "code": {"keys": "private"},
        "year": {"keys": [1, 2], "bounds": [1, 2], "type": "integer"},
        "term": {"within": "year", "keys": {"1": [1], "2": [2]}},
    }
    policy = load_policy({**POLICY, "columns": columns})
    with pytest.raises(InvalidQuery, match="must not have private keys beside a column within another"):
        plan_query(
            Query(name="q", statistic="count", by=("region", "district", "code"), epsilon=1.0, delta=1e-9),
            policy,
        )
    with pytest.raises(InvalidQuery, match="must not cut `year` beside `term`"):
        cells_of(
            Query(
                name="q",
                statistic="count",
                by=("year", "term"),
                cut=(("year", (1.0, 1.5, 2.0)),),
                epsilon=1.0,
            ),
            policy,
        )


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ({"keys": LAND}, "`keys` as a table go with `within`"),
        ({"within": "region", "keys": ["a"]}, "`within` goes with `keys` as a table"),
        ({"within": "regoin", "keys": LAND}, "within `regoin`, which is no column. Did you mean `region`"),
        ({"within": "age", "keys": LAND}, "within `age`, which has no public `keys`"),
        ({"within": "district", "keys": LAND}, "lies within itself"),
        ({"within": "region", "keys": LAND | {"East": ["x"]}}, "name `East`, no key of `region`"),
        (
            {"within": "region", "keys": {"North": ["a"], "South": ["b"]}},
            "must list one key or more within `West`",
        ),
        ({"within": "region", "keys": LAND | {"West": []}}, "must list one key or more within `West`"),
        ({"within": "region", "keys": LAND | {"West": ["a", "a"]}}, "must not repeat a key within `West`"),
        (
            {"within": "region", "keys": LAND | {"West": [1]}},
            "must be all text, all integers or all true/false",
        ),
        ({"within": "region", "keys": LAND | {"West": {"x": ["a"]}}}, "must have lists at one depth"),
        ({"within": "region", "keys": LAND | {"West": [1.5]}}, "must be text, integers or true/false"),
        ({"within": "region", "keys": "private"}, "`within` goes with `keys` as a table"),
        ({"within": "region", "keys": LAND, "places": 2}, "`within` goes with `keys` of text"),
    ],
)
def test_a_policy_that_cannot_mean_it_is_refused(column: dict[str, Any], rule: str) -> None:
    """Each with its rule."""
    with pytest.raises(InvalidPolicy) as caught:
        load_policy({**POLICY, "columns": POLICY["columns"] | {"district": column}})
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "paths"),
    [
        (["a"], [["North", 2**70], ["South", 5], ["West", 6]]),
        ([2**70, 5, 6], [["North", 2**70], ["South", 5], ["West", 6]]),
        ([1, "x"], [["North", 1], ["South", "x"], ["West", 1]]),
        (["a\0", "x"], [["North", "a\0"], ["South", "x"], ["West", "x"]]),
        ([True, 7], [["North", True], ["North", 1], ["South", 7], ["West", 7]]),
        ([True], [["North", True], ["South", 1], ["West", 1]]),
        ([1], [["North", True], ["South", True], ["West", True]]),
        (["a", "1", 1], [["North", "a"], ["South", "1"], ["South", 1], ["West", 1]]),
        (["a", "b"], [["North", "a"], ["South", "a"], ["West", "a"]]),
        ("private", [["North", "a"], ["South", "a"], ["West", "a"]]),
        (None, [["North", "a"], ["South", "a"], ["West", "a"]]),
        (LAND, [["North", "a"], ["South", "a"], ["West", "a"]]),
        (["a"], [["North", "a"], ["South", "a"], ["West", "x", "a"]]),
        (["a"], [["North", "a"], ["North", "a"], ["South", "a"], ["West", "a"]]),
        (["North"], [["North"], ["South"], ["West"]]),
        (["a"], [["North", 1.5, "a"], ["South", 1.5, "a"], ["West", 1.5, "a"]]),
        (["a"], [["North", ["a"]], ["South", "a"], ["West", "a"]]),
        ([["a"]], [["North", "a"], ["South", "a"], ["West", "a"]]),
        (["a"], "North"),
        ([], []),
    ],
)
def test_paths_that_are_no_policy_of_its_own_are_refused(keys: object, paths: object) -> None:
    """Only the text that a policy has itself holds them: keys of other kinds would fail after the spend."""
    district = {"within": "region", "keys": keys, "paths": paths}
    with pytest.raises(InvalidPolicy, match=r"`paths` follow from|`keys`"):
        load_policy({**POLICY, "columns": POLICY["columns"] | {"district": district}})
    prefix = {"from": "place", "prefix": 9, **district}
    with pytest.raises(InvalidPolicy, match=r"`paths` follow from|`keys`"):
        load_policy(
            {**POLICY, "columns": POLICY["columns"] | {"place": {"keys": "private"}, "district": prefix}}
        )


def test_workloads_and_running_counts_have_a_cell_or_a_series_for_each_pair() -> None:
    """What is said in two ways is refused before anything is spent."""
    policy = load_policy(POLICY)
    with pytest.raises(
        InvalidQuery, match="must name `region` beside `district`: `Newton` lies within two keys"
    ):
        TablesQuestion(columns=("sex", "district"), ways=1, rho=0.1).planned(policy)
    once = load_policy(
        {
            **POLICY,
            "columns": POLICY["columns"]
            | {"district": {"within": "region", "keys": LAND | {"South": ["P"]}}},
        }
    )
    assert TablesQuestion(columns=("region", "district"), ways=2, rho=0.1).planned(once).nested
    asked = RunningQuestion(
        name="s", period="month", first="2026-01", steps=3, by=("region", "district"), rho=0.1
    )
    planned, rows = asked.planned(policy), hostile_rows(4)
    assert list(planned.series) == PAIRS
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        counts = running_counts(planned, running_statement(planned, table._engine, 3), 3, table._engine)
    seen = Counter(zip(rows["region"], rows["district"], rows["day"], strict=True))
    own = [[seen[(*pair, f"2026-0{month}-03")] for month in (1, 2, 3)] for pair in planned.series]
    assert counts.tolist() == own
    with pytest.raises(InvalidQuery, match="`by` of stream `s` must name `region` beside `district`"):
        asked.model_copy(update={"by": ("district",)}).planned(policy)


def test_too_many_groups_are_refused_before_they_are_listed() -> None:
    """Two columns of 2,000 keys in one region have 4 million pairs; a list of them takes 32 MB."""
    own = {one: {"within": "r", "keys": {"A": [f"{one}{i}" for i in range(2_000)]}} for one in "xy"}
    policy = load_policy({**POLICY, "columns": {"r": {"keys": ["A"]}, **own}})
    query = Query(name="q", statistic="count", by=("r", "x", "y"), epsilon=1.0)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidQuery, match="are 4,000,000; at most 1,000,000 are allowed"):
            plan_query(query, policy)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()
