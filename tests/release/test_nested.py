"""Keys within keys: cells are the listed pairs, for every statistic that groups, and nothing else is."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.owner import check
from leakcap.policy import load_policy
from leakcap.release import PrivateTable, Query
from leakcap.release.dummy import dummy_engine
from leakcap.release.planning.plan import cells_of, plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.results.margins import with_margins
from leakcap.running import RunningQuestion
from leakcap.running.reading import running_counts, running_statement
from leakcap.tables import TablesQuestion
from seeded import SeededSource

LAND = {"North": ["Ashby", "Newton"], "South": ["Newton", "Overton", "Poole"], "West": ["Ryde"]}
POLICY: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1e6, "delta": 1e-6},
    "columns": {
        "region": {"keys": list(LAND)},
        "district": {"within": "region", "keys": LAND},
        "sex": {"keys": ["f", "m"]},
        "age": {"bounds": [0, 100]},
        "day": {"bounds": ["2026-01-01", "2026-12-31"]},
        "month": {"from": "day", "truncate": "month"},
    },
}
PAIRS = [(region, one) for region, own in LAND.items() for one in own]
CHAIN: dict[str, Any] = {
    **POLICY,
    "columns": {
        "state": {"keys": [1, 2]},
        "region": {"within": "state", "keys": {"1": ["north", "south"], "2": ["north"]}},
        "town": {
            "within": "region",
            "keys": {"1": {"north": ["a", "b"], "south": ["a"]}, "2": {"north": ["c", "a"]}},
        },
        "sex": {"keys": ["f", "m"]},
    },
}


def hostile_rows(seed: int = 0) -> dict[str, list[Any]]:
    """Listed pairs, pairs that are not, strange words and missing values."""
    draw = np.random.default_rng(seed)
    regions = [*LAND, None, "north", "", "North "]
    districts = ["Ashby", "Newton", "Overton", "Poole", "Ryde", None, "ashby", "'; --"]
    size = 400
    return {
        "region": [regions[one] for one in draw.integers(len(regions), size=size)],
        "district": [districts[one] for one in draw.integers(len(districts), size=size)],
        "sex": [["f", "m", None][one] for one in draw.integers(3, size=size)],
        "age": [float(one) for one in draw.integers(100, size=size)],
        "day": [f"2026-{one:02d}-03" for one in draw.integers(1, 13, size=size)],
    }


def exact(query: Query, policy: dict[str, Any], rows: dict[str, list[Any]]) -> dict[tuple[Any, ...], int]:
    """The exact count of each cell, as the engine is asked for it."""
    with PrivateTable(pyarrow.table(rows), policy=policy, ledger="sqlite://") as table:
        plan = plan_query(query, table.policy)
        (scan,) = scans_of([plan], table._engine)
        (total,) = scan.run(table._engine)[0].totals
    labels = plan.cells.labels()
    keys = list(zip(*(words.tolist() for words in labels.values()), strict=True))
    assert len(keys) == plan.cells.size == len(set(keys))
    return dict(zip(keys, total.tolist(), strict=True))


@pytest.mark.parametrize(
    "by", [*itertools.permutations(["region", "district", "sex"]), ("region", "district")]
)
def test_cells_are_the_listed_pairs_of_the_product(by: tuple[str, ...]) -> None:
    """Against plain Python, and against the product of keys of a policy that knows of no nesting."""
    rows, query = hostile_rows(), Query(name="q", statistic="count", by=by, epsilon=1.0)
    found = exact(query, POLICY, rows)
    counted = Counter(zip(*(rows[name] for name in by), strict=True))
    words = {
        "region": list(LAND),
        "district": ["Ashby", "Newton", "Overton", "Poole", "Ryde"],
        "sex": ["f", "m"],
    }
    product = itertools.product(*(words[name] for name in by))
    at = by.index("region"), by.index("district")
    assert found == {key: counted[key] for key in product if (key[at[0]], key[at[1]]) in PAIRS}
    assert list(found) == sorted(
        found, key=lambda key: [words[n].index(k) for n, k in zip(by, key, strict=True)]
    )
    flat = {**POLICY, "columns": POLICY["columns"] | {"district": {"keys": words["district"]}}}
    whole = exact(query, flat, rows)
    assert found.items() <= whole.items()
    assert len(whole) > len(found)
    assert exact(Query(name="q", statistic="count", by=("region",), epsilon=1.0), POLICY, rows) == {
        (region,): rows["region"].count(region) for region in LAND
    }


def test_one_row_changes_one_cell_by_one() -> None:
    """Every row that could be added, listed or not: the cells move by one at most, as is paid for."""
    query = Query(name="q", statistic="count", by=("region", "district"), epsilon=1.0)
    rows = hostile_rows(1)
    before = exact(query, POLICY, rows)
    others = itertools.product([*LAND, None, "x"], ["Ashby", "Newton", "Ryde", None, "x"])
    for region, district in others:
        new = {"region": region, "district": district, "sex": "f", "age": 1.0, "day": "2026-01-03"}
        after = exact(query, POLICY, {name: [*column, new[name]] for name, column in rows.items()})
        moved = {key: after[key] - before[key] for key in before if after[key] != before[key]}
        assert moved == ({(region, district): 1} if (region, district) in PAIRS else {})


def test_statistics_by_pairs_agree_with_a_query_of_each_pair() -> None:
    """At so large an ε that noise is nothing: a mean and a sum by pairs are those of each pair alone."""
    rows = hostile_rows(2)
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        plan = plan_query(
            Query(name="s", statistic="sum", column="age", by=("region", "district"), epsilon=1.0),
            table.policy,
        )
        (scan,) = scans_of([plan], table._engine)
        (total,) = scan.run(table._engine)[0].totals
        assert plan.grid is not None
        sums = [float(one * plan.parts[0].unit) for one in total.tolist()]  # type: ignore[attr-defined]
        own = [
            sum(
                a
                for r, d, a in zip(rows["region"], rows["district"], rows["age"], strict=True)
                if (r, d) == pair
            )
            for pair in plan_pairs(plan)
        ]
        assert sums == pytest.approx(own, abs=1e-3)
        median = table.median("age", by=["region", "district"], epsilon=1.0)
        assert [tuple(row.keys.values()) for row in median.rows] == plan_pairs(plan)


def plan_pairs(plan: Any) -> list[tuple[Any, ...]]:
    """The keys of each cell."""
    return list(zip(*(words.tolist() for words in plan.cells.labels().values()), strict=True))


def test_margins_are_sums_over_the_districts_of_each_region() -> None:
    """Regions have different numbers of districts: each sum has the law of as many noises as it is of."""
    rows = hostile_rows(3)
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        release = table.count(by=["region", "district", "sex"], epsilon=0.1)
        found = with_margins(release, table.policy)
        noise = release.drawn.parts[0].noise  # type: ignore[union-attr]
        values = {tuple(row.keys.values()): (row.value, row.interval) for row in found.rows}
        raw = {tuple(row.keys.values()): row.value for row in release.rows}
    kept = {tuple(word != "total" for word in key) for key in values}
    assert kept == {
        *itertools.product([True], [True], [True, False]),
        *itertools.product([True, False], [False], [True, False]),
    }
    for key, (value, (low, high)) in values.items():
        cells = [cell for cell in raw if all(w in ("total", c) for w, c in zip(key, cell, strict=True))]
        assert value == sum(raw[cell] for cell in cells)
        off = noise.error_of_sum(len(cells), 0.05) if len(cells) > 1 else noise.error(0.05)
        assert high - value == pytest.approx(off), (key, len(cells))
        assert low == pytest.approx(max(0, value - off)) or low == pytest.approx(value - off)
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        mean = with_margins(table.mean("age", by=["region", "district"], epsilon=1e4), table.policy)
        told = {tuple(row.keys.values()): row.value for row in mean.rows}
        for region, own in LAND.items():
            ages = [
                age
                for r, d, age in zip(rows["region"], rows["district"], rows["age"], strict=True)
                if r == region and d in own
            ]
            # Wider than the noise of 2·10⁻³ by far: a mean of more than ten rows at ε = 10⁴.
            assert told[region, "total"] == pytest.approx(np.mean(ages), abs=0.5)
        with pytest.raises(InvalidQuery, match="must not keep `district` without `region`"):
            with_margins(table.count(by=["region", "district"], epsilon=0.1), table.policy, [["district"]])


@pytest.mark.parametrize("by", list(itertools.permutations(["district", "sex", "region"])))
@pytest.mark.parametrize("kept", [None, [["region"], []], [["sex", "region"]]])
def test_margins_in_any_order_of_the_columns(by: tuple[str, ...], kept: list[list[str]] | None) -> None:
    """Each is the sum of its own noisy cells, and no other margin stands there."""
    with PrivateTable(pyarrow.table(hostile_rows(4)), policy=POLICY, ledger="sqlite://") as table:
        release = table.count(by=list(by), epsilon=0.1)
        found = with_margins(release, table.policy, kept)
    raw = {tuple(row.keys.values()): row.value for row in release.rows}
    margins = {tuple(row.keys[name] for name in by): row.value for row in found.rows[len(raw) :]}
    labels = {"region": list(LAND), "district": ["total"], "sex": ["f", "m"]}
    wanted = [{"region", "sex"}, {"region"}, {"sex"}, set()] if kept is None else [set(one) for one in kept]
    summed = set()
    for names in wanted:
        summed |= set(itertools.product(*(labels[name] if name in names else ["total"] for name in by)))
    of_pairs = {key for key in margins if key[by.index("district")] != "total"}
    assert margins.keys() - of_pairs == summed
    # The pairs summed over `sex` alone are the only margin that has districts.
    assert len(of_pairs) == (len(PAIRS) if kept is None else 0)
    for key, value in margins.items():
        parts = [raw[c] for c in raw if all(w in ("total", x) for w, x in zip(key, c, strict=True))]
        assert value == sum(parts)


def test_keys_taken_from_a_nested_column_name_no_two_of_its_keys() -> None:
    """One group would hold both Newtons."""
    for merged in (
        {"from": "district", "keys": ["Ashby", "Newton"]},
        {"from": "district", "groups": {"A": ["Ashby"], "N": ["Newton"]}},
    ):
        with pytest.raises(InvalidPolicy, match="`Newton`, which lies within 2 keys of `region`"):
            load_policy({**POLICY, "columns": POLICY["columns"] | {"some": merged}})
    for apart in (
        {"from": "district", "keys": ["Ashby", "Poole"]},
        {"from": "district", "groups": {"A": ["Ashby"], "P": ["Poole", "Ryde"]}},
        {"from": "district", "prefix": 1, "keys": ["A", "N"]},
        {"from": "district", "keys": "private"},
    ):
        load_policy({**POLICY, "columns": POLICY["columns"] | {"some": apart}})


def test_a_name_within_two_parents_is_asked_with_them() -> None:
    """`Newton` alone would be two districts in one cell."""
    for field in ({"by": ("district",)}, {"by": ("district", "sex")}):
        with pytest.raises(InvalidQuery, match=r"must name `region` beside `district`: `Newton` lies within"):
            cells_of(Query(name="q", statistic="count", epsilon=1.0, **field), load_policy(POLICY))
    with pytest.raises(InvalidQuery, match="The choice of the largest categories of query `q` must name"):
        cells_of(Query(name="q", statistic="top", column="district", top=1, epsilon=1.0), load_policy(POLICY))
    once = {
        **POLICY,
        "columns": POLICY["columns"] | {"district": {"within": "region", "keys": LAND | {"South": ["P"]}}},
    }
    found = exact(Query(name="q", statistic="count", by=("district",), epsilon=1.0), once, hostile_rows())
    assert list(found) == [("Ashby",), ("Newton",), ("P",), ("Ryde",)]


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


def test_three_levels_and_the_middle_left_out() -> None:
    """Paths where names repeat; without the middle column a name that is then two is refused."""
    policy = load_policy(CHAIN)
    query = Query(name="q", statistic="count", by=("state", "region", "town"), epsilon=1.0)
    found = plan_pairs(plan_query(query, policy))
    assert found == [
        (1, "north", "a"), (1, "north", "b"), (1, "south", "a"), (2, "north", "a"), (2, "north", "c"),
    ]  # fmt: skip
    with pytest.raises(InvalidQuery, match="must name `region` beside `town`: `a` lies within"):
        cells_of(Query(name="q", statistic="count", by=("state", "town"), epsilon=1.0), policy)
    with pytest.raises(InvalidQuery, match="must name `state` beside `region`"):
        cells_of(Query(name="q", statistic="count", by=("region", "town"), epsilon=1.0), policy)
    assert load_policy(json.loads(policy.text())).text() == policy.text()
    by_parent = {"north": ["a"], "south": ["b"]}
    columns = CHAIN["columns"] | {"town": {"within": "region", "keys": by_parent}}
    with pytest.raises(InvalidPolicy, match="name `north`, which `region` has more than once"):
        load_policy({**CHAIN, "columns": columns})


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


def test_order_of_the_table_does_not_matter_and_other_policies_keep_their_text() -> None:
    """The fingerprint binds a ledger: it is that of the list of pairs, and flat columns have none."""
    other = {"West": LAND["West"], "North": LAND["North"], "South": LAND["South"]}
    turned = {**POLICY, "columns": POLICY["columns"] | {"district": {"within": "region", "keys": other}}}
    assert load_policy(turned).fingerprint() == load_policy(POLICY).fingerprint()
    assert "within" not in json.loads(load_policy(POLICY).text())["columns"]["sex"]


def test_workloads_refuse_and_running_counts_have_a_series_for_each_pair() -> None:
    """Before anything is spent."""
    policy = load_policy(POLICY)
    with pytest.raises(InvalidQuery, match="must not name `district`: `Newton` lies within two keys"):
        TablesQuestion(columns=("sex", "district"), ways=1, rho=0.1).planned(policy)
    once = load_policy(
        {
            **POLICY,
            "columns": POLICY["columns"]
            | {"district": {"within": "region", "keys": LAND | {"South": ["P"]}}},
        }
    )
    with pytest.raises(InvalidQuery, match="must not have both `region` and `district`"):
        TablesQuestion(columns=("region", "district"), ways=2, rho=0.1).planned(once)
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


def test_people_with_many_rows_change_no_more_than_is_paid_for() -> None:
    """Adding one person's rows, of any pairs, moves the cells by `max_rows` in all, in `max_groups` cells."""
    policy = {**POLICY, "unit": {"id": "person", "max_rows": 3, "max_groups": 2}}
    query = Query(name="q", statistic="count", by=("region", "district"), epsilon=1.0)
    rows = {**hostile_rows(5), "person": list(range(400))}
    before = exact(query, policy, rows)
    draw = np.random.default_rng(6)
    regions, districts = [*LAND, None], ["Ashby", "Newton", "Poole", "Ryde", "?"]
    for _ in range(20):
        size = int(draw.integers(1, 9))
        new = {
            "region": [regions[one] for one in draw.integers(4, size=size)],
            "district": [districts[one] for one in draw.integers(5, size=size)],
            "sex": ["f"] * size, "age": [1.0] * size, "day": ["2026-01-03"] * size, "person": [999] * size,
        }  # fmt: skip
        after = exact(query, policy, {name: [*column, *new[name]] for name, column in rows.items()})
        moved = [after[key] - before[key] for key in before if after[key] != before[key]]
        assert sum(map(abs, moved)) <= 3
        assert len(moved) <= 2


def test_the_owner_is_told_of_pairs_that_are_not_listed() -> None:
    """On the owner's terminal alone; keys that are not listed at all are told of by their column."""
    rows = {
        "region": ["North", "North", "South", "West", None, "North"],
        "district": ["Ashby", "Poole", "Newton", "Poole", "Ryde", "nowhere"],
        "sex": ["f"] * 6, "age": [1.0] * 6, "day": ["2026-01-03"] * 6,
    }  # fmt: skip
    found = [one for one in check(pyarrow.table(rows), load_policy(POLICY)) if "together" in one.text]
    (fault,) = found
    assert (fault.place, fault.grade) == ("district", "problem")
    assert fault.text.startswith(
        "2 of 4 rows with listed keys have keys that the policy does not list together"
    )
    assert '"Poole" within "North" (1 row)' in fault.text
    assert '"Poole" within "West" (1 row)' in fault.text
    good = {name: own[:1] for name, own in rows.items()}
    assert not [one for one in check(pyarrow.table(good), load_policy(POLICY)) if "together" in one.text]


PARENTS: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
    ({"p": {"case": "CASE WHEN age < 18 THEN 'y' ELSE 'o' END"}}, {"y": ["a"], "o": ["a", "b"]}),
    ({"p": {"from": "age", "cuts": [18], "keys": ["y", "o"]}}, {"y": ["a"], "o": ["a", "b"]}),
    ({"p": {"from": "day", "truncate": "month"}}, {"2026-01": ["a"], "2026-02": ["a", "b"]}),
    ({"p": {"from": "day", "part": "month"}}, {"1": ["a"], "2": ["a", "b"]}),
    ({"p": {"from": ["age", "other"], "compare": "<"}}, {"true": ["a"], "false": ["a", "b"]}),
    ({"p": {"type": "integer", "keys": [1, 2], "bounds": [1, 5]}}, {"1": ["a"], "2": ["a", "b"]}),
    ({"p": {"type": "decimal", "places": 1, "keys": ["0.5", "1.0"]}}, {"0.5": ["a"], "1.0": ["a", "b"]}),
    ({"p": {"keys": [True, False]}}, {"true": ["a"], "false": ["a", "b"]}),
]
OTHER_PARENTS = {
    "age": {"bounds": [0, 100]},
    "other": {"bounds": [0, 100]},
    "day": {"bounds": ["2026-01-01", "2026-02-28"]},
}


@pytest.mark.parametrize(("parent", "keys"), PARENTS)
@pytest.mark.parametrize("joined", [False, True])
def test_the_owner_is_told_where_the_parent_is_derived_or_no_text(
    parent: dict[str, Any], keys: dict[str, list[str]], joined: bool
) -> None:
    """The first of each parent has `a` alone, so that its row with `b` is told of, and no other."""
    columns = {**OTHER_PARENTS, **parent, "c": {"within": "p", "keys": keys}}
    stored = parent["p"].get("keys", []) if "from" not in parent["p"] and "case" not in parent["p"] else []
    rows = {
        "age": [3.0, 3.0, 50.0, 50.0],
        "other": [10.0] * 4,
        "day": ["2026-01-03", "2026-01-03", "2026-02-03", "2026-02-03"],
        "c": ["a", "b", "a", "b"],
    } | ({"p": [stored[0], stored[0], stored[1], stored[1]]} if stored else {})
    rest = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}}
    if joined:
        policy = {**rest, "unit": {"id": "id"}, "columns": {"s": {"keys": ["f"]}}}
        policy["tables"] = {"people": {"id": "person", "columns": columns}}
        data = pyarrow.table({"id": [1, 2, 3, 4], "s": ["f"] * 4})
        theirs = pyarrow.table({"person": [1, 2, 3, 4], **rows})
        faults = check(data, load_policy(policy), tables={"people": theirs})
    else:
        faults = check(pyarrow.table(rows), load_policy({**rest, "columns": columns}))
    (fault,) = faults
    assert fault.place == ("people.c" if joined else "c")
    assert fault.text.startswith("1 of 4 rows with listed keys has keys that the policy does not list")


@pytest.mark.parametrize(("parent", "keys"), PARENTS[-3:])
def test_a_dry_run_has_parents_that_are_no_text(parent: dict[str, Any], keys: dict[str, list[str]]) -> None:
    """It failed where a parent has bounds beside its keys, or keys that are decimals."""
    columns = {**parent, "c": {"within": "p", "keys": keys}}
    policy = load_policy({**POLICY, "columns": columns})
    engine, query = dummy_engine(policy), Query(name="q", statistic="count", by=("p", "c"), epsilon=1.0)
    (scan,) = scans_of([plan_query(query, policy)], engine)
    (total,) = scan.run(engine)[0].totals
    assert sum(total.tolist()) == 1_000
    assert min(total.tolist()) > 0


def test_a_dry_run_has_listed_pairs_alone_and_every_one() -> None:
    """So that no cell of a preview by dummy data is empty for want of a pair."""
    engine = dummy_engine(load_policy(POLICY))
    plan = plan_query(
        Query(name="q", statistic="count", by=("region", "district"), epsilon=1.0), load_policy(POLICY)
    )
    (scan,) = scans_of([plan], engine)
    (total,) = scan.run(engine)[0].totals
    assert sum(total.tolist()) == 1_000
    assert min(total.tolist()) > 0


def test_recorded_answers_come_back_for_free() -> None:
    """The same numbers under the same pairs."""
    with PrivateTable(pyarrow.table(hostile_rows(7)), policy=POLICY, ledger="sqlite://") as table:
        first = table.count(by=["region", "district"], epsilon=0.5)
        again = table.count(by=["region", "district"], epsilon=0.5)
        assert again.repeated
        assert list(again.rows) == list(first.rows)
        sql = table.sql(
            "SELECT region, district, COUNT(*) FROM stays GROUP BY ROLLUP (region, district)", epsilon=0.5
        )[0]
        assert len(sql.rows) == len(PAIRS) + len(LAND) + 1
        with pytest.raises(InvalidQuery, match="write ROLLUP"):
            table.sql(
                "SELECT region, district, COUNT(*) FROM stays GROUP BY CUBE (region, district)", epsilon=1
            )


def test_keys_in_a_file_are_those_of_a_table(tmp_path: Path) -> None:
    """A row for each key; whole numbers, three levels, and a column that lies within no other."""
    head = 'dataset = "d"\nneighbours = "add-remove-one"\ncaps = { epsilon = 1.0 }\n[columns]\n'
    state, region = "state = { keys = [1, 2] }\n", 'region = { within = "state", keys = "regions.csv" }\n'
    town = 'town = { within = "region", keys = "towns.csv", type = "integer" }\n'
    (tmp_path / "p.toml").write_text(f'{head}{state}{region}{town}sex = {{ keys = "sex.csv" }}\n')
    (tmp_path / "regions.csv").write_text("state,region\n1,north\n1,south\n2,north\n", encoding="utf-8-sig")
    towns = "state,region,town\n1,north,7\n2,north,7\n\n1,south,-3\n2,north,8\n"
    (tmp_path / "towns.csv").write_text(towns)
    (tmp_path / "sex.csv").write_text('sex\nf\n"m, or so"\n')
    inline: dict[str, Any] = {
        "state": {"keys": [1, 2]},
        "region": {"within": "state", "keys": {"1": ["north", "south"], "2": ["north"]}},
        "town": {"within": "region", "keys": {"1": {"north": [7], "south": [-3]}, "2": {"north": [7, 8]}}},
        "sex": {"keys": ["f", "m, or so"]},
    }
    rest = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}}
    assert load_policy(tmp_path / "p.toml").text() == load_policy({**rest, "columns": inline}).text()
    for content, rule in (
        ("region,state,town\n1,north,7\n", "must have the columns state, region, town, in this order"),
        ("state,region,town\n1,north\n", "must have 3 cells in each line, none empty. See line 2"),
        ("state,region,town\n1,north,07\n", "must have whole numbers as keys. See line 2"),
        ("state,region,town\n", "must have a line of names and one key or more"),
        (towns + "2,north,8\n", "must not repeat a key within `2 > north`"),
        ('state,region,town\n1,north,"7\n', "is not valid CSV"),
        (None, "`towns.csv` cannot be read"),
    ):
        (tmp_path / "towns.csv").unlink()
        if content is not None:
            (tmp_path / "towns.csv").write_text(content)
        with pytest.raises(InvalidPolicy) as caught:
            load_policy(tmp_path / "p.toml")
        assert rule in str(caught.value)


def test_columns_of_a_joined_table_lie_within_each_other() -> None:
    """Under both of their names, in SQL and in the owner's check."""
    people = {"id": "person", "columns": {name: POLICY["columns"][name] for name in ("region", "district")}}
    policy = {
        "dataset": "stays",
        "unit": {"id": "id"},
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1e6},
        "columns": {"sex": {"keys": ["f", "m"]}},
        "tables": {"people": people},
    }
    data = pyarrow.table({"id": list(range(30)), "sex": ["f", "m"] * 15})
    places = ["Ashby", "Newton", "Ryde", "Newton", "Poole"] * 6
    theirs = pyarrow.table({"person": list(range(30)), "region": ["North", "South"] * 15, "district": places})
    sql = "SELECT p.region, p.district, COUNT(*) FROM stays JOIN people p ON stays.id = p.person GROUP BY {}"
    with PrivateTable(data, policy=policy, ledger="sqlite://", tables={"people": theirs}) as table:
        # At ε = 10⁴ noise is 0 but for a chance of 10⁻⁴³⁰⁰.
        (found,) = table.sql(sql.format("p.region, p.district"), epsilon=1e4)
        told = {tuple(row.keys.values()): row.value for row in found.rows}
        counted = Counter(zip(["North", "South"] * 15, places, strict=True))
        assert told == {pair: counted[pair] for pair in PAIRS}
        with pytest.raises(InvalidQuery, match=r"must name `people\.region` beside `people\.district`"):
            table.sql("SELECT people.district, COUNT(*) FROM stays JOIN people ON stays.id = people.person "
                      "GROUP BY people.district", epsilon=1.0)  # fmt: skip
    faults = check(data, load_policy(policy), tables={"people": theirs})
    assert [one.place for one in faults if "together" in one.text] == ["people.district"]


@pytest.mark.parametrize(
    "columns", [*itertools.permutations(["region", "district", "sex"]), ("region", "district")]
)
@pytest.mark.parametrize("by", [(), ("month",)])
def test_a_contingency_table_is_the_count_by_its_columns_with_margins(
    columns: tuple[str, ...], by: tuple[str, ...]
) -> None:
    """The same cells as a count, whose sums by plain Python are the margins; none has districts alone."""
    rows = hostile_rows(7)
    own = ("region", "district", "sex")[: len(columns)]
    with PrivateTable(
        pyarrow.table(rows), policy=POLICY, ledger="sqlite://", source=SeededSource(11)
    ) as table:
        release = table.contingency(list(columns), by=list(by), epsilon=1.0)
        assert release.totals == dict.fromkeys(columns, "total")
        values = {tuple(row.keys[name] for name in (*by, *columns)): row for row in release.rows}
        assert len(values) == len(release.rows)
        plan = plan_query(release.query, table.policy)
        labels = plan.cells.labels()
        cells = list(zip(*(words.tolist() for words in labels.values()), strict=True))
        widths: dict[int, set[float]] = {}
        kept = [
            names
            for size in range(len(own) + 1)
            for names in itertools.combinations(own, size)
            if "district" not in names or "region" in names
        ]
        expected = set[tuple[Any, ...]]()
        for names in kept:
            sums, added = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
            for cell in cells:
                told = dict(zip((*by, *columns), cell, strict=True))
                key = tuple(told[one] if one in (*by, *names) else "total" for one in (*by, *columns))
                sums[key] += int(values[cell].value)
                added[key] += 1
            assert expected.isdisjoint(sums)
            expected |= set(sums)
            for key, total in sums.items():
                assert values[key].value == total
                low, high = values[key].interval
                widths.setdefault(added[key], set()).add(float(high - low))
        assert expected == set(values)
        assert all(len(one) == 1 for one in widths.values())
        ordered = [widths[added].copy().pop() for added in sorted(widths)]
        assert ordered == sorted(ordered)
        assert len(set(ordered)) > 1
        # A count by the same columns, with all its margins, has these intervals too.
        if not by:
            (part,) = plan.parts
            for added, (width,) in ((added, tuple(one)) for added, one in widths.items()):
                assert width == 2 * part.noise.error_of_sum(added, 0.05)  # type: ignore[attr-defined]


def test_a_contingency_table_of_pairs_counts_listed_pairs_alone() -> None:
    rows = hostile_rows(8)
    query = Query(name="q", statistic="contingency", columns=("district", "region"), epsilon=1.0)
    counted = Counter(zip(rows["district"], rows["region"], strict=True))
    found = exact(query, POLICY, rows)
    assert found == {key[::-1]: counted[key[::-1]] for key in PAIRS}
