"""Quantiles of whole numbers are whole, and their intervals hold every value that may be called so."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.release import PrivateTable, Query
from leakcap.release.columns.whole import even_bins
from leakcap.release.measurements.quantiles import quantile_answers
from leakcap.release.numbers.answers import Answers
from leakcap.release.planning.plan import text_of
from leakcap.release.statistics import statistics
from leakcap.release.statistics.quantiles import QuantileStatistic
from release.asked import contents
from release.world import answers, planned, policy_of, table
from seeded import ALARM, SeededSource

BOUNDS = [(0, 120), (-3, 10), (0, 1), (0, 255), (0, 256), (-1000, 5000), (-(2**53), 2**53)]


def whole(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"x": {"bounds": [low, high], "type": "integer", **more}}


def asked() -> list[dict[str, Any]]:
    """Every question that the catalogue's quantiles take of the column `x`, with all of their fields."""
    kinds = {name for name, kind in statistics().items() if isinstance(kind, QuantileStatistic)}
    found = [one for one in contents() if one["statistic"] in kinds and one.get("column", "x") == "x"]
    assert {one["statistic"] for one in found} == kinds
    return [one for one in found if "column" in one]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_every_quantile_of_whole_numbers_is_one(bounds: tuple[int, int]) -> None:
    """With even bins, as many as there are or fewer than the numbers, and with edges between them."""
    low, high = bounds
    chance = np.random.default_rng(1)
    values = chance.integers(low, high, 50, endpoint=True)
    policy = policy_of(columns=whole(low, high), caps={"epsilon": 1e6})
    private = PrivateTable(pyarrow.table({"x": values}), policy=policy, ledger="sqlite://")
    walked = 0
    for fields in asked():
        if fields.get("edges") is not None and not (low <= 2 and high >= 6):
            continue
        for row in private.release([Query(name="q", epsilon=0.5, **fields)])[0].rows:
            assert type(row.value) is int, fields
            assert all(end.is_integer() for end in row.interval), fields
            assert row.interval[0] <= row.value <= row.interval[1]
            walked += 1
    assert walked >= 8


def test_numbers_of_other_columns_stay_what_they_are() -> None:
    """Whether a middle of a bin happens to be whole says nothing of the column."""
    policy = policy_of(columns={"x": {"bounds": [0.0, 512.0]}}, caps={"epsilon": 1e6})
    private = PrivateTable(pyarrow.table({"x": [7.0] * 50}), policy=policy, ledger="sqlite://")
    value = private.median("x", epsilon=100.0).rows[0].value
    assert (value, type(value)) == (7.0, float)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 256])
def test_even_bins_hold_each_number_once_and_are_even(count: int) -> None:
    for first, many in itertools.product((-5, 0, 1), (1, 2, 6, 7, 50)):
        bins = even_bins(first, first + many - 1, count)
        held = [number for low, high in bins for number in range(low, high + 1)]
        assert held == list(range(first, first + many))
        sizes = {high - low for low, high in bins}
        assert len(bins) == min(count, many)
        assert max(sizes) - min(sizes) <= 1


def called_so(values: list[int], rank: Fraction) -> list[Fraction]:
    """The least and the largest number that may be called this quantile: at most q·n below, q·n up to it."""
    ordered, wanted = sorted(values), rank * len(values)
    halves = [Fraction(n, 2) for n in range(2 * ordered[0], 2 * ordered[-1] + 1)]
    return [v for v in halves if sum(x < v for x in values) <= wanted <= sum(x <= v for x in values)]


@pytest.mark.parametrize("rank", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_whole_ends_hold_all_that_the_bins_held(rank: Fraction) -> None:
    """By hand: whichever bin starts at or below the quantile by its counts, and whichever ends above it."""
    chance, tried = np.random.default_rng(5), 0
    for _ in range(400):
        bins = even_bins(-2, 9, int(chance.integers(1, 13)))
        values = chance.integers(-2, 10, int(chance.integers(1, 9))).tolist()
        wanted = rank * len(values)
        below = [sum(x < low for x in values) for low, _ in bins]
        upto = [sum(x <= high for x in values) for _, high in bins]
        starts = [i for i, n in enumerate(below) if n < wanted or i == 0]
        ends = [i for i, n in enumerate(upto) if n > wanted or i == len(bins) - 1]
        for start, end in itertools.product(starts, ends):
            ((value, (low, high)),) = quantile_answers("median", bins, [start, start, end])
            assert isinstance(value, int)
            for v in called_so(values, rank):
                assert low <= v <= high, (values, bins, start, end)
            tried += 1
    assert tried > 1000


def held(name: str, epsilon: float = 0.5, *, real: bool = False, **fields: Any) -> tuple[int, int]:
    """How many intervals of a skewed column hold the statistic of the table; `real` where the policy does not
    say that its numbers are whole.
    """
    chance = np.random.default_rng(20261123)
    values = np.minimum(np.ceil(chance.pareto(1.2, 2_000)).astype(int), 200)
    truth = [float(np.quantile(values, q, method="inverted_cdf")) for q in (0.25, 0.5, 0.75)]
    right = truth[2] - truth[0] if name == "interquartile_range" else truth[1]
    columns = {"x": {"bounds": [0, 200]}} if real else whole(0, 200)
    policy = policy_of(columns=columns, caps={"epsilon": 1e6})
    private = PrivateTable(
        pyarrow.table({"x": values}), policy=policy, ledger="sqlite://", source=SeededSource(9)
    )
    query = Query(name="q", statistic=name, column="x", epsilon=epsilon, **fields)
    # One batch reads the table once, and draws and pays for each by itself.
    rows = [release.rows[0] for release in private.release([query] * 100, fresh=True)]
    return sum(row.interval[0] <= right <= row.interval[1] for row in rows), len(rows)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("median", {}),
        ("median", {"bins": 11}),
        ("median", {"edges": (0, 0.5, 1.5, 3, 200)}),
        ("quantiles", {"quantiles": (0.5,)}),
        ("interquartile_range", {}),
        # Nearly all values lie below the edges, and are counted in the first bin; or above them, in the last.
        ("median", {"edges": (50, 60, 70)}),
        ("quantiles", {"quantiles": (0.5,), "edges": (50.5, 60, 70)}),
        ("interquartile_range", {"edges": (0, 0.5, 1)}),
    ],
)
@pytest.mark.parametrize("real", [False, True], ids=["whole", "real"])
def test_intervals_hold_on_a_skewed_column(name: str, fields: dict[str, Any], real: bool) -> None:
    """False alarms: 10⁻⁶ each."""
    if not real and fields.get("edges") == (0, 0.5, 1):
        fields = {"edges": (0, 1, 1.5)}  # a whole number in each bin
    hits, runs = held(name, real=real, **fields)
    assert binom.cdf(hits, runs, 0.95) > ALARM


def test_ends_that_lose_a_number_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each bin is taken for the one above it."""
    assert held("median", 500.0) == (100, 100)
    right = quantile_answers
    monkeypatch.setattr(
        "leakcap.release.statistics.quantiles.quantile_answers",
        lambda name, bins, picks: right(name, [(low + 1, high + 1) for low, high in bins], picks),
    )
    hits, runs = held("median", 500.0)
    assert binom.cdf(hits, runs, 0.95) < ALARM


@pytest.mark.parametrize("known", [{"type": "integer"}, {}], ids=["whole", "real"])
def test_an_answer_beyond_the_edges_lies_within_the_bounds(known: dict[str, str]) -> None:
    """All values are below the edges, or above: a middle, and an interval that holds them."""
    policy = policy_of(columns={"x": {"bounds": [0, 120], **known}}, caps={"epsilon": 1e6})
    for one in (10, 100):
        private = PrivateTable(pyarrow.table({"x": [one] * 500}), policy=policy, ledger="sqlite://")
        row = private.median("x", edges=[50, 60, 70], epsilon=100.0).rows[0]
        low, high = row.interval
        assert (low <= one <= high, low <= row.value <= high) == (True, True)
        assert (low, high) in ((0, 59), (0, 60), (60, 120))


def test_an_interquartile_range_s_ends_are_rounded_outward() -> None:
    """Of whole numbers up to 2⁵³ and of doubles, beside fractions. No end is below 0."""
    chance, inexact = np.random.default_rng(3), 0
    most = 2**53
    for turn in range(400):
        if turn % 2:
            cuts = sorted({-most, most + 1, *(int(n) for n in chance.integers(-most, most, 7))})
            bins: list[Any] = [(low, high - 1) for low, high in itertools.pairwise(cuts)]
        else:
            bins = list(itertools.pairwise(sorted({*chance.normal(0, 1, 8).tolist(), 1e9, -1e-9})))
        picks = [int(n) for n in chance.integers(0, len(bins), 6)]
        ((value, ends),) = Answers.of(quantile_answers("interquartile_range", bins, picks)).pairs()
        (first, third) = (
            sorted((Fraction(bins[below][0]), Fraction(bins[above][1])))
            for below, above in (picks[1:3], picks[4:])
        )
        right = [max(one, Fraction(0)) for one in (third[0] - first[1], third[1] - first[0])]
        assert Fraction(ends[0]) <= right[0] <= right[1] <= Fraction(ends[1])
        for found, one in zip(ends, right, strict=True):
            inexact += found != one
            assert found == one or abs(Fraction(found) - one) <= Fraction(math.ulp(found))
        assert ends[0] <= value <= ends[1]
        assert type(value) is (int if turn % 2 else float)
    assert inexact > 100


def test_a_number_that_is_not_whole_counts_as_the_whole_one_below() -> None:
    policy = policy_of(columns=whole(0, 4))
    plan = planned(policy, statistic="median", column="x")
    rows = [{"x": value} for value in (0.0, 0.9, 1.0, 1.5, 3.999, 4.0, 9.5, -2.0, None, math.nan, math.inf)]
    assert answers(plan, table(rows))[0] == [3, 2, 0, 1, 3]


def test_edges_have_a_whole_number_in_each_bin() -> None:
    policy = policy_of(columns=whole(0, 10))
    for edges in ((0, 2.5, 2.9, 10), (0.5, 0.7, 10)):
        with pytest.raises(InvalidQuery, match="`edges` of query `q` must have a whole number in each bin"):
            planned(policy, statistic="median", column="x", edges=edges)
    with pytest.raises(InvalidQuery, match="`edges` of query `q` must lie within the bounds"):
        planned(policy, statistic="median", column="x", edges=(0, 5, 11))
    assert planned(policy, statistic="median", column="x", edges=(0, 5, 10)).cells.size == 2


@pytest.mark.parametrize("bad", [whole(0.5, 9), whole(0, 9, fill=2.5), whole(0, 2.0**54)])
def test_bounds_of_whole_numbers_are_whole(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicy, match='where `type = "integer"`'):
        policy_of(columns=bad)


def test_it_is_another_question_than_one_about_any_numbers() -> None:
    """An answer of before, with other bins, is not taken for one of whole numbers."""
    plain = policy_of(columns={"x": {"bounds": [0, 120]}})
    ours = policy_of(columns=whole(0, 120))
    texts = [text_of(planned(one, statistic="median", column="x")) for one in (plain, ours)]
    assert texts == ["median of x in 256 bins", "median of x in 256 bins as whole numbers"]
    assert "integers" not in plain.text()  # older policies keep their fingerprints
    assert '"integers":true' in ours.text()
    assert plain.fingerprint() != ours.fingerprint()
    joined = policy_of(unit={"id": "id"}, tables={"p": {"id": "id", "columns": {"x": {"bounds": [0, 9]}}}})
    assert "integers" not in joined.text()


def test_whole_numbers_with_keys_and_bounds_are_whole_too() -> None:
    policy = policy_of(columns={"x": {"keys": [0, 1, 2, 3], "bounds": [0, 3]}}, caps={"epsilon": 1e6})
    private = PrivateTable(pyarrow.table({"x": [0, 1, 1, 3] * 20}), policy=policy, ledger="sqlite://")
    row = private.median("x", epsilon=50.0).rows[0]
    assert (row.value, type(row.value)) == (1, int)


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        ({"x": {"keys": [0, 1, 2, 3], "bounds": [0, 3]}}, "x"),
        ({"n": {"bounds": [0, 9], "type": "integer"}, "x": {"from": ["n", 1], "compute": "-"}}, "n"),
    ],
    ids=["keys", "computed"],
)
@pytest.mark.parametrize("fill", [None, 2.0, 2.5])
def test_a_column_with_a_fill_that_is_not_whole_is_not(
    columns: dict[str, Any], kept: str, fill: float | None
) -> None:
    """Every value is missing: the median is the `fill`, and its interval holds it."""
    given = {**columns, "x": {**columns["x"], **({} if fill is None else {"fill": fill})}}
    given["twice"] = {"from": ["x", 2], "compute": "*"}
    policy = policy_of(columns=given, caps={"epsilon": 1e6})
    assert policy.columns["x"].whole == policy.columns["twice"].whole == (fill != 2.5)
    if fill is None:
        return
    empty = pyarrow.array([None] * 300, pyarrow.int64())
    private = PrivateTable(pyarrow.table({kept: empty}), policy=policy, ledger="sqlite://")
    low, high = private.median("x", epsilon=1000.0).rows[0].interval
    assert low <= fill <= high
