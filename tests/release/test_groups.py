"""At most so many rows of a person in at most so many groups: never more, whichever the seed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from leakcap.release import PrivateTable, attach, load_policy
from leakcap.release.columns.typed import SOURCE, column
from leakcap.release.engine import Integers
from leakcap.release.engine.lowering import cast
from leakcap.release.plan import Plan
from leakcap.release.planning import bounding
from leakcap.release.planning.scan import in_order, read_totals
from leakcap.release.planning.statements import select_of
from release.world import _engine, planned, policy_of, table

OTHERS: list[dict[str, Any]] = [{"id": 8, "x": 1.0, "d": "a"}, {"id": 9, "x": 99.0, "d": "b"}]
QUERIES: tuple[dict[str, Any], ...] = (
    {"statistic": "count", "by": ("d",)},
    {"statistic": "distinct", "by": ("d",)},
    {"statistic": "distinct", "by": ("d", "k")},
    {"statistic": "sum", "column": "x", "by": ("d",)},
    {"statistic": "mean", "column": "x", "by": ("d",)},
    {"statistic": "count", "by": ("d",), "where": "x > 0"},
    {"statistic": "histogram", "column": "x", "bins": 3, "by": ("d",)},
)
ROW = st.fixed_dictionaries(
    {
        "x": st.sampled_from([-9.0, -0.0, 0.0, 3.5, 99.0, None]),
        "d": st.sampled_from(["a", "b", "c", "zzz", None]),
        "k": st.sampled_from([1, 2, None]),
    }
)
ROWS = st.lists(ROW, max_size=7)
SEEDS = st.sampled_from(["", "5eed", "00ff"])


def people(relation: str, rows: int, groups: int | None) -> Any:
    units = {"rows": 3} if relation == "replace-one" else {}
    return policy_of(neighbours=relation, unit={"id": "id", "max_rows": rows, "max_groups": groups}, **units)


def totals(plan: Plan, rows: list[dict[str, Any]], seed: str, ids: str | None = None) -> list[list[int]]:
    """By the statement that DuckDB runs; of ids that are cast to the type `ids`, where one is given."""
    return totals_of_each(plan, [rows], seed, ids)[0]


def totals_of_each(
    plan: Plan, tables: Sequence[list[dict[str, Any]]], seed: str, ids: str | None = None
) -> list[list[list[int]]]:
    """The same of several tables of one schema, by one statement that is written once."""
    engine, statement, found = _engine(), None, []
    for rows in tables:
        engine._connection.register(SOURCE, _data(rows, ids))
        if statement is None:
            engine._types = None
            statement = engine.write(select_of([plan], seed))
        told = in_order(plan, engine.run(statement))
        found.append([column.tolist() for column in read_totals(plan, told)])
    return found


def _data(rows: list[dict[str, Any]], ids: str | None) -> pyarrow.Table:
    data = table([*OTHERS, *({**row, "id": 1} for row in rows)])
    if ids is not None:
        place = data.column_names.index("id")
        data = data.set_column(place, "id", data["id"].cast(ids))
    return data


def moved(before: list[int], after: list[int]) -> int:
    return sum(abs(a - b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@settings(max_examples=60, deadline=None)
@given(
    one=ROWS, other=ROWS, seed=SEEDS, most=st.sampled_from([(3, 2), (3, 1), (2, None), (5, 3)]),
    query=st.sampled_from(QUERIES),
)  # fmt: skip
def test_no_person_moves_the_integers_by_more(
    relation: str, one: list[Any], other: list[Any], seed: str, most: Any, query: dict[str, Any]
) -> None:
    plan = planned(people(relation, *most), **query)
    other = [] if relation == "add-remove-one" else other
    before, after = totals_of_each(plan, [one, other], seed)
    for part, a, b in zip(plan.parts, before, after, strict=True):
        assert moved(a, b) <= part.sensitivity


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, seed=SEEDS, most=st.sampled_from([(1, 1), (3, 2), (3, 1), (5, 3)]))
def test_rows_and_groups_are_both_bounded_and_both_used(rows: list[Any], seed: str, most: Any) -> None:
    """By hand: the groups that are kept are full up to the bound on rows, and as many as may be."""
    policy = people("add-remove-one", *most)
    counted = totals(planned(policy, statistic="count", by=("d",)), rows, seed)[0]
    mine = [n - others for n, others in zip(counted, (1, 1, 0), strict=True)]
    given_ = Counter(row["d"] for row in rows)
    assert all(kept <= given_[key] for kept, key in zip(mine, "abc", strict=True))
    assert sum(mine) <= most[0]
    assert sum(kept > 0 for kept in mine) <= most[1]
    if set(given_) <= set("abc") and len(given_) <= most[1]:
        assert sum(mine) == min(len(rows), most[0])


def test_the_order_of_the_rows_does_not_matter() -> None:
    assert same_whatever_the_order()


def same_whatever_the_order() -> bool:
    plan = planned(people("add-remove-one", 3, 2), statistic="sum", column="x", by=("d",))
    rows = [{"x": float(i), "d": d} for i, d in enumerate("abcab")]
    orders = [list(order) for order in itertools.permutations(rows)]
    return len({str(found) for found in totals_of_each(plan, orders, "5eed")}) == 1


def one_number(*given: Any) -> exp.Expression:
    """A hash in which all that is hashed meets."""
    return cast(exp.Parameter(this=exp.Var(this="seed")), "BIGINT")


def dice(*given: Any) -> exp.Expression:
    """No hash at all: a new number for each row."""
    return exp.Anonymous(this="HASH", expressions=[one_number(), exp.Anonymous(this="RANDOM")])


def test_a_hash_in_which_all_rows_meet_changes_nothing_but_the_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever can make rows collide gains nothing: the contents decide then. Without them order would."""
    monkeypatch.setattr(Integers, "hashed", one_number)
    assert same_whatever_the_order()
    monkeypatch.setattr(bounding, "_content", lambda name, policy: exp.Null())
    assert not same_whatever_the_order()


@pytest.mark.parametrize("most", [(1, 1), (3, 2), (3, None), (5, 3)])
def test_whatever_the_hash_says_nobody_has_a_row_or_a_group_too_many(
    most: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is what the price rests on. Ids that one value can be written as in two ways, doubles, may
    have two hashes: dice stand for those. It holds whatever the statement is that DuckDB runs.
    """
    plan = planned(people("add-remove-one", *most), statistic="count", by=("d",))
    rows = [{"x": float(n % 3), "d": "abc"[n % 3]} for n in range(14)]
    for hashed in (one_number, dice):
        monkeypatch.setattr(Integers, "hashed", hashed)
        ids = "double" if hashed is dice else None
        for (counted,) in totals_of_each(plan, [rows] * 20, "5eed", ids):
            mine = [a - b for a, b in zip(counted, (1, 1, 0), strict=True)]
            assert sum(mine) <= most[0]
            assert sum(kept > 0 for kept in mine) <= (most[1] or most[0])


@pytest.mark.parametrize(("ids", "holds"), [(None, False), ("string", False), ("double", True)])
def test_of_which_ids_the_bound_hangs_on_their_hash(
    ids: str | None, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By design it does where equal ids are written in one way, whole numbers and text: DuckDB tells these
    apart by this very hash. So dice break the bound there, and the test above can fail."""
    plan = planned(people("add-remove-one", 1, 1), statistic="count", by=("d",))
    rows = [{"x": float(n % 3), "d": "abc"[n % 3]} for n in range(14)]
    monkeypatch.setattr(Integers, "hashed", dice)
    # DuckDB's dice have no seed. One throw in four breaks the bound (72 and 56 of 200 did): 100 in a row
    # fail to but once in 10¹².
    kept_ = (sum(totals(plan, rows, "5eed", ids)[0]) - len(OTHERS) for _ in range(20 if holds else 100))
    assert all(kept <= 1 for kept in kept_) == holds


def shares(size: int, quota: int) -> list[set[int]]:
    """For each start which of `size` rows are kept, by the expression that the statement has."""
    places = ", ".join(f"({place})" for place in range(1, size + 1))
    number = exp.Literal.number
    found = []
    for start in (*range(size), 2**62 - 1):
        kept_ = bounding._spread(column("p"), number(size), number(quota), number(start)).sql("duckdb")
        rows = duckdb.sql(f"SELECT p FROM (VALUES {places}) AS t (p) WHERE {kept_}").fetchall()
        found.append({place for (place,) in rows})
    return found


@pytest.mark.parametrize("quota", [1, 2, 3, 5, 8, 13, 10**6])
def test_kept_rows_are_so_many_and_evenly_spread(quota: int) -> None:
    """By brute force: exactly min(r, n) rows, all equally often, and k·r/n of k neighbours, or one off."""
    for size in (1, 2, 3, 5, 6, 7, 12):
        found, most = shares(size, quota), min(quota, size)
        assert all(len(one) == most for one in found)
        assert {sum(place in one for one in found[:-1]) for place in range(1, size + 1)} == {most}
        for first, last in itertools.combinations(range(1, size + 2), 2):
            fair = Fraction((last - first) * most, size)
            mine = {len(one & set(range(first, last))) for one in found}
            assert mine <= {math.floor(fair), math.ceil(fair)}


def test_one_window_chooses() -> None:
    """A second one, which numbered equal rows, took as long as all the rest."""
    data = pyarrow.table({"id": [1, 1, 2], "x": [1.0, 2.0, 3.0], "d": ["a", "a", "b"]})
    engine = attach(data)
    for most in ((1, None), (3, 2)):
        plan = planned(people("add-remove-one", *most), statistic="sum", column="x", by=("d",))
        statement = engine.write(select_of([plan], "5eed"))
        ((_, explained),) = engine.aggregate(f"EXPLAIN (FORMAT json) {statement.quick}", statement.seed)
        assert explained.count('"WINDOW"') == 1


def kept(seed: str, people_: int = 400, **unit: Any) -> list[str]:
    """Everybody has one row in each group, and may keep one."""
    data = {
        "id": [i for i in range(people_) for _ in range(4)],
        "d": [d for _ in range(people_) for d in "abcd"],
    }
    policy = load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        "unit": {"id": "id", "max_rows": 1, **unit}, "columns": {"d": {"keys": list("abcd")}},
    })  # fmt: skip
    plan = planned(policy, statistic="count", by=("d",))
    engine = attach(pyarrow.table(data))
    return read_totals(plan, engine.run(engine.write(select_of([plan], seed))))[0].tolist()


@pytest.mark.parametrize("seed", ["", "5eed", "another"])
def test_no_value_is_preferred_and_people_choose_apart(seed: str) -> None:
    """400 people who keep one of four rows: each is kept by 100 ± 8.7 (five deviations: 3·10⁻⁶ each)."""
    assert all(abs(count - 100) < 44 for count in kept(seed))


def test_another_seed_keeps_other_rows() -> None:
    found = {str(kept(seed, 50)) for seed in ("1", "2", "3", "4")}
    assert len(found) > 1


def test_a_ledgers_own_seed_chooses_and_stays() -> None:
    data = pyarrow.table({"id": [1] * 64, "x": [float(i) for i in range(64)]})
    policy = {
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id"}, "columns": {"x": {"bounds": [0.0, 64.0]}},
    }  # fmt: skip
    seen = []
    for _ in range(3):
        private = PrivateTable(data, policy=policy, ledger="sqlite://")
        few = {round(private.sum("x", epsilon=1e4, fresh=True).value) for _ in range(3)}
        assert len(few) == 1
        seen += few
    assert len(set(seen)) > 1  # three ledgers agree with probability 1/4096


def test_a_policy_without_the_bound_keeps_its_fingerprint() -> None:
    whole, named = people("add-remove-one", 3, None), people("add-remove-one", 3, 2)
    assert "max_groups" in str(named.model_dump())
    assert whole.fingerprint() != named.fingerprint()
    assert whole.fingerprint() == "f712a0ab6cedb7a69107b0e0e28119d1104080b5386b469202094e4d05dae555"


def test_how_the_price_follows() -> None:
    policy = people("add-remove-one", 5, 3)
    (part,) = planned(policy, statistic="distinct", by=("d",)).parts
    assert part.sensitivity == 3
    (part,) = planned(policy, statistic="distinct", by=("d",), epsilon=1.0).parts
    assert part.loss == 1
    (part,) = planned(policy, statistic="count", by=("d",)).parts
    assert part.sensitivity == 5


def test_no_product_of_numbers_of_rows_is_in_32_bits() -> None:
    """Spark numbers rows in 32 bits: 50,000 kept of 60,000 overflowed, and one person's rows stopped all."""
    for unit in ({"max_rows": 50_000}, {"max_rows": 50_000, "max_groups": 2}):
        plan = planned(policy_of(unit={"id": "id", **unit}), statistic="count", by=("d",))
        products = list(select_of([plan], "5eed").find_all(exp.Mul))
        assert products
        for one in products:
            assert isinstance(one.this, exp.Cast)
            assert one.this.to.is_type("BIGINT")
