"""How much `max_rows` cuts, by hand; and intervals that claim to hold the table's figure, which do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

import leakcap.release.planning.bounding as bounding_room
import leakcap.release.results.covering as covering_room
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, Release, attach, covering
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import in_order, read_totals
from leakcap.release.planning.statements import select_of
from leakcap.release.statistics import statistic_of
from release.world import answers, planned, policy_of, table
from seeded import ALARM, SeededSource

MONTHS = 24
UP_TO = 60


def cut_by_hand(sizes: Sequence[int], most: int, up_to: int) -> list[int]:
    """People over the limit, and their rows beyond it among the first `up_to`."""
    return [sum(n > most for n in sizes), sum(max(0, min(n, up_to) - most) for n in sizes)]


def of_sizes(sizes: Sequence[int]) -> pyarrow.Table:
    """So many rows of each person, and two of nobody; a third of the rows are `f`."""
    ids = [id_ for id_, n in enumerate(sizes) for _ in range(n)]
    rows = [{"id": id_, "x": float(i % 5), "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 3 == 0} for i, id_ in enumerate(ids)]  # fmt: skip # noqa: E501
    return table([*rows, {"id": None, "x": 1.0, "f": True}, {"id": None, "x": 1.0, "f": True}])


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("up_to", [6, 9])
def test_people_and_rows_beyond_the_limit_are_those_by_hand(most: int, up_to: int) -> None:
    plan = planned(policy_of(unit={"id": "id", "max_rows": most}), statistic="rows_cut", up_to=up_to)
    for sizes in ([], [1], [7], [30], [1, 2, 3, 4, 5, 6, 7, 8, 9, 30], [most] * 9, [most + 1] * 9):
        assert [one for (one,) in answers(plan, of_sizes(sizes))] == cut_by_hand(sizes, most, up_to)


def test_a_condition_comes_first_and_groups_are_those_of_a_count() -> None:
    sizes = [1, 4, 9, 30]
    policy, data = policy_of(unit={"id": "id", "max_rows": 2}), of_sizes(sizes)
    flags = [row["f"] for row in data.to_pylist() if row["id"] is not None]
    ids = [row["id"] for row in data.to_pylist() if row["id"] is not None]
    met = [sum(f for f, id_ in zip(flags, ids, strict=True) if id_ == one) for one in range(4)]
    where = planned(policy, statistic="rows_cut", up_to=50, where="f")
    assert [one for (one,) in answers(where, data)] == cut_by_hand(met, 2, 50)
    for by in ("d", "k"):
        _, rows = answers(planned(policy, statistic="rows_cut", up_to=50, by=(by,)), data)
        (kept,) = answers(planned(policy, statistic="count", by=(by,)), data)
        whole = policy_of(unit={"id": "id", "max_rows": 1000})
        (all_,) = answers(planned(whole, statistic="count", by=(by,)), data)
        assert [a + b for a, b in zip(kept, rows, strict=True)] == all_


@pytest.mark.parametrize("unit", [{"max_rows": 3}, {"max_rows": 3, "max_groups": 2}])
@pytest.mark.parametrize("by", [(), ("d",), ("d", "k")])
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_nobody_moves_it_further_than_is_priced(unit: dict[str, int], by: Any, relation: str) -> None:
    units = {"rows": 4} if relation == "replace-one" else {}
    policy = policy_of(unit={"id": "id", **unit}, neighbours=relation, **units)
    plan = planned(policy, statistic="rows_cut", up_to=6, by=by)
    found = [np.array(answers(plan, of_sizes([2, 5, 4, n]))) for n in (0, 1, 3, 4, 6, 7, 11, 40)]
    moved = 0
    for one in found if relation == "replace-one" else found[:1]:
        for other in found[relation == "replace-one" :]:
            far = np.abs(one - other).sum(axis=1).tolist()
            steps = [part.sensitivity for part in noisy_of(plan.parts)]
            assert all(a <= b for a, b in zip(far, steps, strict=True)), (far, steps)
            moved += far[1] > 0
    assert moved


def test_rows_without_a_bound_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: all rows that are cut, however many a person has."""
    right = bounding_room._beyond
    monkeypatch.setattr(bounding_room, "_beyond", lambda most, *rest: right(10**6, *rest))
    with pytest.raises(AssertionError):
        test_nobody_moves_it_further_than_is_priced({"max_rows": 3}, (), "add-remove-one")


def test_it_says_what_more_rows_of_a_person_count_as() -> None:
    plan = planned(policy_of(unit={"id": "id", "max_rows": 3}), statistic="rows_cut", up_to=1200)
    assert plan.coverage.about == "A person with more than 1,200 rows counts as having 1,200."


def test_what_does_not_fit_is_refused() -> None:
    people = policy_of(unit={"id": "id", "max_rows": 3})
    with pytest.raises(InvalidQuery, match="`up_to` of query `q` must be more than the 3 rows of a person"):
        planned(people, statistic="rows_cut", up_to=3)
    with pytest.raises(InvalidQuery, match="`up_to` of query `q` must be from 2 to 1,000,000"):
        Query(name="q", statistic="rows_cut", epsilon=1.0)
    with pytest.raises(InvalidQuery, match="the policy's unit is a row: none is"):
        planned(policy_of(), statistic="rows_cut", up_to=9)
    count = PrivateTable(of_sizes([1]), policy=people, ledger="sqlite://").count(epsilon=1.0, name="n")
    with pytest.raises(InvalidQuery, match="must be an answer to `rows_cut`"):
        covering([count], count, people)


def stays() -> tuple[pyarrow.Table, list[int]]:
    """Stays of 4,000 patients, a few of whom have very many, by month; and how many there are each month."""
    chance = np.random.default_rng(20261123)
    sizes = np.minimum(1 + chance.geometric(0.35, 4_000) + 20 * (chance.uniform(size=4_000) < 0.05), UP_TO)
    ids = np.repeat(np.arange(4_000), sizes)
    month = chance.integers(1, MONTHS + 1, len(ids))
    frame = {"id": ids, "month": month, "nights": chance.uniform(0.0, 9.0, len(ids))}
    return pyarrow.table(frame), np.bincount(month, minlength=MONTHS + 1)[1:].tolist()


POLICY = policy_of(
    unit={"id": "id", "max_rows": 2},
    caps={"epsilon": 1e6},
    columns={"month": {"keys": list(range(1, MONTHS + 1))}, "nights": {"bounds": [0.0, 9.0]}},
)
PUBLICATIONS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "by month": ({"by": ("month",)}, [{"statistic": "count", "by": ("month",)}]),
    "each month": ({}, [{"statistic": "count", "where": f"month = {m}"} for m in range(1, MONTHS + 1)]),
    "histogram": ({}, [{"statistic": "histogram", "column": "month"}]),
    "months of a half": (
        {"where": "month <= 12"},
        [{"statistic": "count", "where": f"month <= 12 AND month = {m}"} for m in range(1, 13)],
    ),
}
RUNS = {"by month": 12, "each month": 4, "histogram": 12, "months of a half": 6}


def published(private: PrivateTable, name: str) -> tuple[list[Release], list[Release]]:
    """A publication with the rows cut, as it is noisy, and as it is made to hold the table's figures."""
    about, asked = PUBLICATIONS[name]
    queries = [Query(name=f"q{i}", epsilon=4.0, **fields) for i, fields in enumerate(asked)]
    cut = Query(name="cut", statistic="rows_cut", up_to=UP_TO, epsilon=2.0, **about)
    *found, left_out = private.release([*queries, cut], fresh=True)
    return found, covering(found, left_out, POLICY)


def held(releases: Sequence[Release], truth: Sequence[int]) -> int:
    rows = [row for release in releases for row in release.rows]
    return sum(row.interval[0] <= true <= row.interval[1] for row, true in zip(rows, truth, strict=True))


def held_often(name: str) -> tuple[int, int, int]:
    """Of so many intervals: how many hold the table's figure as they are, and with the rows cut."""
    data, truth = stays()
    private = PrivateTable(data, policy=POLICY, ledger="sqlite://", source=SeededSource(5))
    before = after = count = 0
    for _ in range(RUNS[name]):
        raw, covered = published(private, name)
        assert {one.coverage.covers for one in raw} == {"rows kept"}
        assert {one.coverage.covers for one in covered} == {"table"}
        mine = truth[: sum(len(one.rows) for one in raw)]
        before, after, count = before + held(raw, mine), after + held(covered, mine), count + len(mine)
    return before, after, count


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_intervals_that_claim_to_hold_the_table_s_figure_do(name: str) -> None:
    """False alarms: 10⁻⁶ for each publication."""
    before, after, count = held_often(name)
    assert binom.cdf(after, count, 0.95) > ALARM, (after, count)
    if name in ("by month", "histogram"):
        assert before == 0


def test_intervals_that_forget_the_noise_of_the_rows_cut_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the count's own noise alone around the sum of both."""
    right = covering_room._added

    def forgetful(release: Release, cut: Release, plan: Any, about: Any) -> Any:
        made = right(release, cut, plan, about)
        values = [float(one) for one in made.rows.answers.values]
        off = plan.parts[0].error(0.05)
        ends = np.array(values) - off, np.array(values) + off
        made.rows.answers = type(made.rows.answers)(made.rows.answers.values, *ends)
        return made

    monkeypatch.setattr(covering_room, "_added", forgetful)
    _, after, count = held_often("by month")
    assert binom.cdf(after, count, 0.95) < ALARM


def test_what_the_rows_cut_say_nothing_of_stays_as_it_is() -> None:
    data, _ = stays()
    private = PrivateTable(data, policy=POLICY, ledger="sqlite://", source=SeededSource(5))
    cut = private.rows_cut(up_to=UP_TO, epsilon=1.0, where="month <= 12")
    mean, march, june = private.release([
        Query(name="mean", statistic="mean", column="nights", epsilon=1.0),
        Query(name="march", statistic="count", where="month = 3", epsilon=1.0),
        Query(name="june", statistic="count", where="month = 6 AND month <= 12", epsilon=1.0),
    ])  # fmt: skip
    same, other, covered = covering([mean, march, june], cut, POLICY)
    assert (same, other) == (mean, march)
    assert covered.coverage.covers == "table"
    assert "if no id has more than 60" in covered.coverage.about
    assert covered.record.covers == "table"
    assert covered.record.post_processed == "intervals were widened by the rows cut, `rows_cut`"


def test_sums_are_widened_by_what_the_rows_cut_can_hold() -> None:
    data, _ = stays()
    nights = np.array(data["nights"])
    private = PrivateTable(data, policy=POLICY, ledger="sqlite://", source=SeededSource(5))
    hits = 0
    for _ in range(15):
        total = private.sum("nights", epsilon=1.0, fresh=True)
        cut = private.rows_cut(up_to=UP_TO, epsilon=1.0, fresh=True)
        (covered,) = covering([total], cut, POLICY)
        (low, high), (first, _) = covered.rows[0].interval, total.rows[0].interval
        hits += low <= nights.sum() <= high
        assert low <= first <= low + 1e-6 * abs(low)
    assert binom.cdf(hits, 15, 0.95) > ALARM


def test_a_plan_of_it_says_how_far_it_is_off() -> None:
    plan = plan_query(Query(name="q", statistic="rows_cut", up_to=12, epsilon=1.0), POLICY)
    people, rows = plan.parts
    # 2 of 12 rows are used: a person moves the rows by 10, for three quarters of ε, and people by one.
    assert (float(people.noise_scale), float(rows.noise_scale)) == (4.0, pytest.approx(40 / 3))
    assert statistic_of(plan.query).expected(plan).error == rows.error(0.05)


@pytest.mark.parametrize("unit", [{}, {"row": "x"}])
def test_kept_and_cut_are_the_table_whatever_else_the_statement_reads(unit: dict[str, str]) -> None:
    """Which rows are kept hung on what other queries of the batch read, and the sum was not the table's."""
    rows = [
        (person, x, "ab"[place % 2]) for person in range(40) for place, x in enumerate((1.0, 2.0, 3.0, 4.0))
    ]
    data = pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(("id", "x", "d"))})
    policy = policy_of(unit={"id": "id", "max_rows": 2, **unit})
    asked = [
        planned(policy, statistic="count", by=("d",)),
        planned(policy, statistic="sum", column="x", by=("d",)),
        planned(policy, statistic="mean", column="x", by=("d",)),
    ]
    cut = planned(policy, statistic="rows_cut", up_to=9, by=("d",))
    engine = attach(data)
    _, more = answers(cut, data)
    for others in itertools.chain.from_iterable(itertools.combinations(asked[1:], n) for n in range(3)):
        plans = [asked[0], *others]
        found = engine.run(engine.write(select_of(plans, "")))
        (kept,) = read_totals(plans[0], in_order(plans[0], found))
        assert [a + b for a, b in zip(kept.tolist(), more, strict=True)][:2] == [80, 80], others
