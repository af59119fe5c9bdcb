"""Margins of grouped answers: which there are, what is refused, and that they are sums of the cells."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from leakcap.errors import InvalidQuery
from leakcap.mechanism import DiscreteGaussian
from leakcap.release import PrivateTable, Release, consistent, covering, load_policy, query_from, with_margins
from leakcap.release.results.margins import MarginRelease, margins_fit
from leakcap.release.statistics import statistic_of
from release.margined import FIVE, ROWS, table_of
from release.world import COLUMNS, policy_of
from release.world import table as arrow
from seeded import SeededSource


@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_all_margins_of_so_many_columns_are_the_sums_of_their_cells(columns: int) -> None:
    names = list(FIVE)[:columns]
    table = table_of()
    plain = table.count(by=names, epsilon=1.0)
    found = with_margins(plain, table.policy)
    cells = {tuple(row.keys.values()): row.value for row in plain.rows}
    words = [found.totals[name] for name in names]
    assert found.totals["d"] == "total"
    assert found.totals.get("g", "(total)") == "(total)"  # a key is called total
    expected = {}
    for choice in itertools.product(
        *([*FIVE[name]["keys"], word] for name, word in zip(names, words, strict=True))
    ):
        expected[choice] = sum(
            value
            for key, value in cells.items()
            if all(want in (own, word) for want, own, word in zip(choice, key, words, strict=True))
        )
    got = [(tuple(row.keys.values()), row.value) for row in found.rows]
    assert dict(got) == expected
    assert len(got) == len(expected)
    assert found.rows[: len(plain.rows)] == plain.rows == found.raw
    assert (found.price, found.drawn) == (plain.price, plain.drawn)
    assert found.record.totals == found.totals


def test_a_count_with_margins_is_the_contingency_table_of_its_columns() -> None:
    """Two ways to one table: the same noise, values and intervals."""
    one, other = table_of(5), table_of(5)
    crossed = one.contingency(["d", "k", "f"], epsilon=1.0)
    counted = with_margins(other.count(by=["d", "k", "f"], epsilon=1.0), other.policy)
    assert counted.rows == crossed.rows
    assert counted.totals == crossed.totals == crossed.record.totals
    assert one.contingency(["d", "k", "f"], epsilon=1.0).totals == crossed.totals


def test_a_mean_of_a_margin_is_the_sum_over_the_count() -> None:
    table = table_of()
    plain = table.mean("x", by=["d", "k"], epsilon=5.0)
    assert plain.drawn is not None
    sums, counts = (part.numbers for part in plain.drawn.parts)
    step = float(plain.drawn.parts[0].unit)
    everything = (sum(sums) / sum(counts) + plain.drawn.centre) * step
    assert with_margins(plain, table.policy, [[]]).rows[-1].value == pytest.approx(everything, rel=1e-12)


def test_gaussian_noise_of_a_margin_has_the_law_of_its_sum() -> None:
    table = table_of(caps={"epsilon": 9.0, "delta": 1e-6})
    plain = table.count(by=["d", "k"], epsilon=1.0, noise="gaussian")
    assert plain.drawn is not None
    noise = plain.drawn.parts[0].noise
    assert isinstance(noise, DiscreteGaussian)
    for row in with_margins(plain, table.policy).rows[6:]:
        cells = {("a", "total"): 2, ("total", 1): 3, ("total", "total"): 6}
        key = tuple(row.keys.values())
        if key in cells:
            assert row.interval[1] - row.value == noise.error_of_sum(cells[key], 0.05)


def test_a_repeat_has_its_margins_for_free() -> None:
    table = table_of()
    first = with_margins(table.sum("x", by=["d", "k"], epsilon=1.0), table.policy)
    again = table.sum("x", by=["d", "k"], epsilon=1.0)
    assert again.repeated
    assert with_margins(again, table.policy).rows == first.rows


def refused(release: Release, policy: Any, kept: Any = None) -> str:
    with pytest.raises(InvalidQuery) as error:
        with_margins(release, policy, kept)
    return str(error.value)


@pytest.mark.parametrize("kept", [[["d", "k"]], [["zz"]], [["d", "d"]], [["total"]]])
def test_margins_keep_some_of_the_columns(kept: Any) -> None:
    table = table_of()
    said = refused(table.count(by=["d", "k"], epsilon=1.0), table.policy, kept)
    assert "must each keep some of the columns d, k" in said


@pytest.mark.parametrize(("kept", "got"), [(["d"], "['d']"), ("d", "'d'"), ([["k"], "d"], "[['k'], 'd']")])
def test_margins_are_lists_of_columns_not_names(kept: Any, got: str) -> None:
    table = table_of()
    said = refused(table.count(by=["d", "k"], epsilon=1.0), table.policy, kept)
    assert said == (
        f'`margins` of query `count` must be a list of lists of columns, as [["d"], []]. Got {got}.'
    )


def test_named_margins_stand_once_in_an_order_of_their_own() -> None:
    table = table_of()
    plain = table.count(by=["d", "k"], epsilon=1.0)
    found = with_margins(plain, table.policy, [[], ["k"], []])
    assert [tuple(row.keys.values()) for row in found.rows[6:]] == [
        ("total", 1),
        ("total", 2),
        ("total", "total"),
    ]
    assert with_margins(plain, table.policy, []).rows == plain.rows


def test_what_does_not_add_up_is_refused_by_name_before_anything_is_paid() -> None:
    unit = {"id": "id", "max_rows": 2, "max_groups": 2}
    policy = policy_of(unit=unit)
    asked = {
        "distinct": {},
        "median": {"column": "x", "bins": 4},
    }
    for name, fields in asked.items():
        query = query_from({"name": "q", "statistic": name, "by": ["d", "k"], "epsilon": 1.0, **fields})
        label = statistic_of(query).label
        with pytest.raises(InvalidQuery, match=f"groups of a {label} are not added up. Margins go with "):
            margins_fit(query, policy)
    crossed = query_from({"name": "q", "statistic": "contingency", "columns": ["d", "k"], "epsilon": 1.0})
    with pytest.raises(InvalidQuery, match="has its margins already"):
        margins_fit(crossed, policy)
    with pytest.raises(InvalidQuery, match="it has one number"):
        margins_fit(query_from({"name": "q", "statistic": "count", "epsilon": 1.0}), policy)
    private = {**COLUMNS, "z": {"keys": "private", "type": "text"}}
    open_ = query_from({"name": "q", "statistic": "count", "by": ["z", "d"], "epsilon": 1.0, "delta": 1e-6})
    with pytest.raises(InvalidQuery, match="where keys are private"):
        margins_fit(open_, policy_of(columns=private, caps={"epsilon": 9.0, "delta": 1e-5}, unit=unit))


def test_too_many_margins_have_to_be_named() -> None:
    columns = {f"c{i}": {"keys": [0]} for i in range(12)} | {"wide": {"keys": list(range(999_990))}}
    policy = policy_of(columns=columns)
    query = query_from(
        {"name": "q", "statistic": "count", "by": [f"c{i}" for i in range(12)], "epsilon": 1.0}
    )
    with pytest.raises(InvalidQuery, match="of 12 columns there are 4,095"):
        margins_fit(query, policy)
    margins_fit(query, policy, [["c0"], []])
    wide = query_from({"name": "q", "statistic": "count", "by": ["wide", "c0", "c1"], "epsilon": 1.0})
    with pytest.raises(InvalidQuery, match="at most 1,000,000 are allowed"):
        margins_fit(wide, policy)


def test_answers_that_were_changed_have_no_margins() -> None:
    table = table_of()
    plain = table.count(by=["d", "k"], epsilon=1.0)
    fitted = consistent([table.count(epsilon=1.0), plain])[1]
    with_all = with_margins(plain, table.policy)
    (ordered,) = table.sql("SELECT d, k, COUNT(*) AS n FROM tests GROUP BY d, k ORDER BY n", epsilon=1.0)
    for release in (fitted, with_all, ordered, plain.at(d="a", k=1)):
        assert "must be a whole answer as it was given" in refused(release, table.policy)


def test_margins_are_no_news_to_a_fit() -> None:
    table = table_of()
    all_, plain = table.count(epsilon=0.1), table.count(by=["d", "k"], epsilon=1.0)
    raw = consistent([all_, plain])
    fitted = consistent([all_, with_margins(plain, table.policy)])
    assert fitted[0].rows[0].value == raw[0].rows[0].value
    assert [row.value for row in fitted[1].rows[:6]] == [row.value for row in raw[1].rows]
    assert fitted[1].rows[-1].value == fitted[0].rows[0].value


def test_rows_that_were_cut_are_not_added_to_margins() -> None:
    policy = load_policy(
        {
            "dataset": "tests",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 100.0},
            "columns": COLUMNS,
            "unit": {"id": "id", "max_rows": 2},
        }
    )
    data = arrow([{**row, "id": i // 5} for i, row in enumerate(ROWS)])
    table = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(1))
    found = with_margins(table.count(by=["d", "k"], epsilon=1.0), policy)
    assert covering([found], table.rows_cut(up_to=9, epsilon=1.0), policy) == [found]
    assert found.coverage.covers == "rows kept"


def test_a_margin_says_what_it_is_of() -> None:
    table = table_of()
    for plain, words in (
        (table.count(by="d", epsilon=1.0), "margins are sums of the noisy cells"),
        (table.mean("x", by="d", epsilon=1.0), "margins are of sums of the noisy cells"),
    ):
        found = with_margins(plain, table.policy)
        assert isinstance(found, MarginRelease)
        assert words in found.post_processing
        assert found.record.post_processed == found.post_processing
