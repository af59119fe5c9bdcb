"""Keys within keys: cells are the listed pairs, for every statistic that groups, and nothing else is."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.owner import check
from leakcap.policy import load_policy
from leakcap.release import PrivateTable, Query
from leakcap.release.planning.plan import cells_of, plan_query
from leakcap.release.planning.scan import scans_of
from release.nested import CHAIN, LAND, PAIRS, POLICY, exact, hostile_rows, plan_pairs


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


def test_order_of_the_table_does_not_matter_and_other_policies_keep_their_text() -> None:
    """The fingerprint binds a ledger: it is that of the list of pairs, and flat columns have none."""
    other = {"West": LAND["West"], "North": LAND["North"], "South": LAND["South"]}
    turned = {**POLICY, "columns": POLICY["columns"] | {"district": {"within": "region", "keys": other}}}
    assert load_policy(turned).fingerprint() == load_policy(POLICY).fingerprint()
    assert "within" not in json.loads(load_policy(POLICY).text())["columns"]["sex"]


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
