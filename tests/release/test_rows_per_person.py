"""How many rows a person has: by hand, for neighbours of all kinds, and as often right as it says."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, attach
from leakcap.release.columns.whole import even_bins
from leakcap.release.measurements.quantiles import MOST_BINS, QuantileMeasurement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import text_of
from leakcap.release.planning.price import price_of
from leakcap.release.planning.scan import in_order, read_totals
from leakcap.release.planning.statements import select_of
from release.world import answers, planned, policy_of, table
from seeded import ALARM, SeededSource

Rows = list[dict[str, Any]]
PEOPLE = {"id": "id", "max_rows": 2}


def rows_of(sizes: Sequence[int], first: int = 0) -> Rows:
    """So many rows of each person, over three groups, and three of nobody."""
    ids = [first + id_ for id_, n in enumerate(sizes) for _ in range(n)]
    rows = [{"id": id_, "x": 1.0, "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 4 == 0} for i, id_ in enumerate(ids)]  # fmt: skip # noqa: E501
    return [*rows, *({"id": None, "x": 1.0, "d": "a", "k": 1, "f": True} for _ in range(3))]


def by_hand(rows: Rows, up_to: int) -> list[int]:
    """How many people have one row, two, and so on."""
    sizes = Counter(row["id"] for row in rows if row["id"] is not None)
    found = Counter(min(n, up_to) for n in sizes.values())
    return [found[n] for n in range(1, up_to + 1)]


SIZES: list[list[int]] = [[], [1], [40], [1, 1, 2, 3, 5, 8, 13, 40], [7] * 9]


@pytest.mark.parametrize("most", [1, 2, 1000])
@pytest.mark.parametrize("sizes", SIZES)
def test_people_are_counted_by_their_rows_whatever_max_rows_is(most: int, sizes: list[int]) -> None:
    policy, rows = policy_of(unit={"id": "id", "max_rows": most}), rows_of(sizes)
    for up_to in (2, 9, 60):
        plan = planned(policy, statistic="rows_per_person", up_to=up_to)
        for found in answers(plan, table(rows)):
            assert found == by_hand(rows, up_to)
        assert plan.coverage.covers == "table"
        about = f"A person with more than {up_to} rows counts as having {up_to}."
        assert plan.coverage.about == about
    met = planned(policy, statistic="rows_per_person", up_to=9, where="f AND d <> 'b'")
    left = [row for row in rows if row["f"] and row["d"] != "b"]
    assert answers(met, table(rows))[0] == by_hand(left, 9)


def test_more_rows_than_bins_are_counted_in_even_bins() -> None:
    up_to, sizes = 5000, [1, 4, 5, 6, 999, 1000, 4999, 5000, 7000]
    plan = planned(policy_of(unit=PEOPLE), statistic="rows_per_person", up_to=up_to)
    (found, *_) = answers(plan, table(rows_of(sizes)))
    bins = even_bins(1, up_to, MOST_BINS)
    assert len(found) == len(bins) == MOST_BINS
    assert (bins[0][0], bins[-1][1]) == (1, up_to)
    assert {last - first for first, last in bins} == {3, 4}
    assert found == [sum(first <= min(n, up_to) <= last for n in sizes) for first, last in bins]


def test_ids_are_told_apart_as_they_are() -> None:
    plan = planned(policy_of(unit=PEOPLE), statistic="rows_per_person", up_to=5)
    for ids, found in (
        (["a", "A", "a ", "a", None, ""], [3, 1, 0, 0, 0]),
        ([2**53, 2**53 + 1, 2**53, None, -1], [2, 1, 0, 0, 0]),
        ([None, None], [0, 0, 0, 0, 0]),
    ):
        engine = attach(pyarrow.table({"id": ids, "leakcap_rows": [7] * len(ids), "k0": [1] * len(ids)}))
        got = engine.run(engine.write(select_of([plan])))
        assert read_totals(plan, in_order(plan, got))[0].tolist() == found


GROUPED = [
    {"max_rows": 3},
    {"max_rows": 3, "max_groups": 1},
    {"max_rows": 3, "max_groups": 2},
    {"max_rows": 9},
]
BY: list[tuple[str, ...]] = [(), ("d",), ("d", "k"), ("k",)]


def exact(plan: Plan, rows: Rows, seed: str = "5eed") -> np.ndarray[Any, Any]:
    return exact_of_each(plan, [rows], seed)[0]


def exact_of_each(plan: Plan, tables: list[Rows], seed: str = "5eed") -> list[np.ndarray[Any, Any]]:
    """By one statement, which is written once: all tables have the same columns."""
    written = attach(table([])).write(select_of([plan], seed))
    told = [in_order(plan, attach(table(rows)).run(written)) for rows in tables]
    return [np.array(read_totals(plan, one)[0]) for one in told]


def farthest(unit: dict[str, int], by: tuple[str, ...], relation: str) -> tuple[int, int]:
    """How far a person moves the counts, over all pairs, and how far they may go."""
    replace = relation == "replace-one"
    policy = policy_of(unit={"id": "id", **unit}, neighbours=relation, **({"rows": 4} if replace else {}))
    plan = planned(policy, statistic="rows_per_person", up_to=6, by=by)
    groups = plan.cells.size // 6
    others = rows_of([2, 5, 4])
    mine = [
        [
            {"id": 77, "x": 1.0, "d": d, "k": k, "f": True}
            for (d, k), n in zip(itertools.product("abc", (1, 2)), ns, strict=True)
            for _ in range(n)
        ]
        for ns in (
            [0] * 6,
            [1] * 6,
            [9] * 6,
            [2, 0, 0, 1, 0, 0],
            [0, 0, 8, 0, 0, 3],
            [3] * 6,
            [0, 1, 0, 0, 2, 1],
        )
    ]
    found = exact_of_each(plan, [[*others, *rows] for rows in mine])
    starts = found if replace else found[:1]
    moved = max(int(np.abs(one - other).sum()) for one in starts for other in found)
    part = plan.parts[0]
    assert isinstance(part, QuantileMeasurement)
    allowed = min(groups, policy.groups_per_unit)
    assert part.contribution.rows == allowed
    return moved, allowed * (2 if replace else 1)


@pytest.mark.parametrize("unit", GROUPED)
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_a_person_is_one_number_in_each_group_that_is_priced(
    unit: dict[str, int], by: Any, relation: str
) -> None:
    moved, allowed = farthest(unit, by, relation)
    assert 0 < moved <= allowed
    if relation == "add-remove-one":
        assert moved == allowed  # and no more is priced than can be


def test_people_in_all_their_groups_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the groups of a person are not limited."""
    monkeypatch.setattr(Plan, "groups_limited", False)
    moved, allowed = farthest({"max_rows": 3, "max_groups": 1}, ("d",), "add-remove-one")
    assert moved > allowed


def test_the_groups_that_count_are_those_of_a_count_and_hang_on_the_seed() -> None:
    policy = policy_of(unit={"id": "id", "max_rows": 50, "max_groups": 1})
    rows = rows_of([3] * 60)
    found = {}
    for seed in ("one", "two"):
        plan = planned(policy, statistic="rows_per_person", up_to=6, by=("d",))
        mine = exact(plan, rows, seed).reshape(3, 6).sum(axis=1)
        counts = exact(planned(policy, statistic="distinct", by=("d",)), rows, seed)
        assert mine.tolist() == counts.tolist()
        assert mine.sum() == 60
        found[seed] = mine.tolist()
        assert plan.coverage.covers == "rows kept"
        assert plan.coverage.about.startswith("About at most 1 group of each id, with all their rows there")
    assert found["one"] != found["two"]


def test_max_rows_is_no_part_of_the_price() -> None:
    prices = {
        (price.epsilon, price.noise_scales["rank"])
        for most in (1, 5, 1000)
        for price in [
            price_of(
                planned(policy_of(unit={"id": "id", "max_rows": most}), statistic="rows_per_person", up_to=40)
            )
        ]
    }
    assert len(prices) == 1


def test_intervals_hold_on_a_skewed_table() -> None:
    """People with 1 to some 200 rows; half of the intervals have a `where`. False alarms: 10⁻⁶."""
    chance = np.random.default_rng(20261123)
    sizes = np.minimum(np.ceil(chance.pareto(1.1, 3_000)).astype(int), 300)
    ids = np.repeat(np.arange(3_000), sizes)
    kinds = chance.integers(1, 3, len(ids))
    data = pyarrow.table({"id": ids, "k": kinds})
    policy = policy_of(unit=PEOPLE, caps={"epsilon": 1e6}, columns={"k": {"keys": [1, 2]}})
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(3))
    wanted, up_to, held, count = (0.5, 0.9, 0.99), 100, 0, 0
    for where in (None, "k = 1"):
        mine = ids if where is None else ids[kinds == 1]
        rows = np.minimum(np.unique(mine, return_counts=True)[1], up_to)
        truth = [float(np.quantile(rows, q, method="inverted_cdf")) for q in wanted]
        for _ in range(40):
            release = private.rows_per_person(wanted, up_to=up_to, where=where, epsilon=1.5, fresh=True)
            assert {row.keys["quantile"] for row in release.rows} == {"0.5", "0.9", "0.99"}
            for row, true in zip(release.rows, truth, strict=True):
                assert type(row.value) is int
                assert 1 <= row.interval[0] <= row.value <= row.interval[1] <= up_to
                held += row.interval[0] <= true <= row.interval[1]
                count += 1
    assert binom.cdf(held, count, 0.95) > ALARM, (held, count)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="the policy's unit is a row"):
        planned(policy_of(), statistic="rows_per_person", up_to=9)
    with pytest.raises(InvalidQuery, match="`up_to` of query `q` must be from 2 to 1,000,000"):
        Query(name="q", statistic="rows_per_person", epsilon=1.0)
    with pytest.raises(InvalidQuery, match="`quantiles` of query `q` must be from 1 to 99 different numbers"):
        Query(name="q", statistic="rows_per_person", epsilon=1.0, up_to=9, quantiles=(0.5, 1.5))


def test_a_query_that_names_no_quantile_asks_for_095_and_is_the_same_question() -> None:
    policy = policy_of(unit=PEOPLE, max_rows=100)
    plan = planned(policy, statistic="rows_per_person", up_to=9)
    named = planned(policy, statistic="rows_per_person", up_to=9, quantiles=(0.95,))
    assert text_of(plan) == text_of(named) == "rows_per_person at [0.95] up to 9"
    # Three choices among nine numbers, of everybody.
    assert price_of(plan).nats_table == pytest.approx(3 * math.log(9))
