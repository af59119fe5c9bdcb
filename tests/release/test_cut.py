"""Number columns in `by` and `columns`, each cut at edges of its own."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, consistent, covering, load_policy, query_from, with_margins
from leakcap.release.planning.plan import text_of
from leakcap.web.releasing.asking import asked_query
from release.world import COLUMNS, planned, policy_of, table
from seeded import SeededSource

CUT = {"x": [-3, 0, 10], "y": [2.0, 5.0, 8.0]}
ROWS: list[dict[str, Any]] = [
    {
        "x": -3 + 13 * i / 400,
        "y": 2 + 6 * (i * 7 % 400) / 400,
        "d": "abc"[i % 3],
        "k": 1,
        "f": True,
        "id": i // 5,
    }
    for i in range(400)
]


def private(**more: Any) -> PrivateTable:
    return PrivateTable(table(ROWS), policy=policy_of(**more), ledger="sqlite://", source=SeededSource(1))


def test_a_table_by_two_numbers_has_bins_of_their_own_edges() -> None:
    answer = private().count(by=["x", "d", "y"], cut=CUT, epsilon=20.0)
    assert [tuple(row.keys.values()) for row in answer.rows[:3]] == [
        ("[-3, 0)", "a", "[2, 5)"),
        ("[-3, 0)", "a", "[5, 8]"),
        ("[-3, 0)", "b", "[2, 5)"),
    ]
    for row in answer.rows:
        x, d, y = row.keys.values()
        true = sum(
            1
            for one in ROWS
            if (one["x"] < 0) == (x == "[-3, 0)") and one["d"] == d and (one["y"] < 5) == (y == "[2, 5)")
        )
        assert abs(row.value - true) <= 1  # ε = 20
    everything = with_margins(answer, policy_of()).rows[-1]
    assert everything.value == sum(row.value for row in answer.rows)


def test_groups_of_every_other_kind_of_answer() -> None:
    own = private()
    means = own.mean("y", by="x", cut={"x": [-3.0, 0.0, 10.0]}, epsilon=20.0)
    low = [row["y"] for row in ROWS if row["x"] < 0]
    assert means.rows[0].value == pytest.approx(sum(low) / len(low), abs=0.05)
    medians = own.median("y", by="x", bins=60, cut={"x": [-3.0, 0.0, 10.0]}, epsilon=20.0)
    assert medians.rows[0].value == pytest.approx(sorted(low)[len(low) // 2], abs=0.2)
    two = own.histogram("y", edges=[2, 3, 8], by="x", cut={"x": [-3.0, 0.0, 10.0]}, epsilon=20.0)
    assert len(two.rows) == 4
    crossed = own.contingency(["x", "y"], cut=CUT, epsilon=20.0)
    assert len(crossed.rows) == 9
    mixed = own.contingency(["x", "y"], bins=3, cut={"x": [-3, 0, 10]}, epsilon=20.0)
    assert len(mixed.rows) == 3 * 4


def test_the_ledger_tells_questions_with_other_edges_apart() -> None:
    own = private()
    one, other = ({"x": [-3.0, end, 10.0]} for end in (0.0, 5.0))
    assert not own.count(by="x", cut=one, epsilon=1.0).repeated
    assert own.count(by="x", cut=one, epsilon=1.0).repeated
    assert not own.count(by="x", cut=other, epsilon=1.0).repeated
    fields = {"name": "q", "statistic": "contingency", "columns": ["x", "y"], "epsilon": 1.0}
    texts = {
        text_of(
            planned(policy_of(), **{name: getattr(query, name) for name in ("statistic", "columns", "cut")})
        )
        for query in (
            query_from({**fields, "cut": CUT}),
            query_from({**fields, "cut": dict(reversed(CUT.items()))}),
        )
    }
    assert texts == {"contingency of x, y cut x at [-3.0, 0.0, 10.0] cut y at [2.0, 5.0, 8.0]"}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"cut": {"x": [0.0, 1.0]}}, "name columns of `by` or `columns`, each once; `x` is none"),
    ({"by": ["x"], "cut": {"x": [1.0, 0.0]}}, "have for `x` at least two finite numbers in rising order"),
    ({"by": ["x"], "cut": {"x": [1.0]}}, "have for `x` at least two"),
    ({"by": ["x"], "cut": {"x": [0.0, float("nan")]}}, "have for `x` at least two"),
    ({"by": ["x"], "cut": {"x": [0.0, float("inf")]}}, "have for `x` at least two"),
    ({"by": ["x"], "cut": {"x": [0.0, 99.0]}}, "must keep the edges of `x` within its bounds"),
    ({"by": ["d"], "cut": {"d": [0.0, 1.0]}}, "no column of the policy with `bounds`. Only numbers are cut"),
    ({"by": ["x", "zz"], "cut": {"zz": [0.0, 1.0]}}, "has no `keys` in the policy. Give it edges, in `cut`."),
    ({"by": ["zz"], "cut": {"zz": [0.0, 1.0]}}, "no column of the policy with `bounds`"),
    ({"by": ["x"]}, "has no `keys` in the policy. Give it edges, in `cut`."),
    ({"statistic": "contingency", "columns": ["x", "y"], "edges": [2.0, 3.0]}, "Give `cut`, edges for each"),
    ({"by": ["x"], "cut": {"x": 3.0}}, "cut"),
    ({"by": ["x"], "cut": {"x": ["a", "b"]}}, "cut"),
    ({"by": ["x"], "cut": [1.0]}, "cut"),
]


def asked(fields: dict[str, Any]) -> None:
    """A query of these fields, planned."""
    query = query_from({"name": "q", "statistic": "count", "epsilon": 1.0, **fields})
    named = ("statistic", "by", "columns", "edges", "cut")
    planned(policy_of(), **{name: getattr(query, name) for name in named})


@pytest.mark.parametrize(("fields", "said"), BAD)
def test_what_is_not_cut_is_refused_by_name(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidQuery) as error:
        asked(fields)
    assert said in str(error.value)
    assert "`q`" in str(error.value)


@pytest.mark.parametrize("cut", [(("x", [0.0, 1.0]),), (("x",),), [("x", (0.0, 1.0))], (("x", ("a", "b")),)])
def test_a_query_that_python_makes_is_checked_too(cut: Any) -> None:
    with pytest.raises(InvalidQuery, match="`cut` of query `q` must"):
        Query(name="q", statistic="count", epsilon=1.0, by=("x",), cut=cut)


SLIPS: list[Any] = [
    *({"x": ["a", "b"]}, {"x": ["0", "5"]}, {"x": 5}, {"x": "05"}, {"x": None}, {"x": {"low": 0, "high": 5}}),
    *({"x": [True, 5]}, {"x": [0, 10**400]}, {"x": [0, None]}, {5: [0, 5]}, ["x"], [("x", [0, 5])], "x"),
]


@pytest.mark.parametrize("cut", SLIPS, ids=lambda one: repr(one)[:30])
def test_what_are_no_edges_is_refused_alike_in_python_and_of_a_file(cut: Any) -> None:
    said = set()
    for ask in (
        lambda: private().count(by="x", cut=cut, epsilon=1.0, name="q"),
        lambda: private().by("x").count().named("q").cut(cut).release(epsilon=1.0),
        lambda: query_from({"name": "q", "statistic": "count", "by": ["x"], "epsilon": 1.0, "cut": cut}),
    ):
        with pytest.raises(InvalidQuery, match="`cut` of query `q` must ") as error:
            ask()
        said.add(str(error.value))
    assert len(said) == 1


@pytest.mark.parametrize("field", ["edges", "quantiles", "range"])
@pytest.mark.parametrize("given", [["a", "b"], ["0", "5"], 5, [True, 5], {"low": 0}])
def test_text_is_no_number_in_other_fields_either(field: str, given: Any) -> None:
    ask: dict[str, Any] = {
        "edges": lambda own: own.histogram("x", edges=given),
        "quantiles": lambda own: own.quantiles("x", given),
        "range": lambda own: own.formula_sum("x", range=given),
    }
    own = private()
    with pytest.raises(InvalidQuery, match=f"`{field}"):
        ask[field](own.where("x > 0")).release(epsilon=1.0)


def test_numbers_of_numpy_are_numbers() -> None:
    """One question, whatever its numbers are: so the second is repeated for free."""
    own = private()
    plain = own.count(by="x", cut={"x": [-3, 0, 10]}, epsilon=1.0)
    given: list[Any] = [np.array([-3, 0, 10]), np.array([-3.0, 0.0, 10.0], np.float32), range(-3, 11, 13)]
    for edges in given[:2]:
        assert own.count(by="x", cut={"x": edges}, epsilon=1.0).text == plain.text
    assert own.count(by="x", cut={"x": given[2]}, epsilon=1.0).text.endswith("cut x at [-3.0, 10.0]")
    assert plain.rows
    halves = own.where("x > 0").histogram("x", edges=[Fraction(-5, 2), Decimal("0.5")])
    assert halves.release(epsilon=1.0).text == "histogram of x with edges [-2.5, 0.5] where x > 0.0"


def test_bins_at_other_edges_are_not_made_to_agree() -> None:
    """Overlapping bins were fitted as if they were disjoint: a total became the sum of both tables."""
    own = private()
    total = own.count(epsilon=1.0)
    coarse, fine = (own.histogram("x", bins=bins, epsilon=1.0) for bins in (2, 8))
    cut = own.count(by="x", cut={"x": [-3.0, 1.0, 10.0]}, epsilon=1.0)
    for several in ([total, coarse, fine], [coarse, fine], [total, coarse, cut]):
        with pytest.raises(InvalidQuery, match="must have the same groups of `x`"):
            consistent(several)
    all_, parts = consistent([total, fine])
    assert all_.value == sum(row.value for row in parts.rows)


def test_rows_cut_of_other_edges_are_not_added() -> None:
    policy = load_policy(
        {
            "dataset": "tests",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 100.0},
            "columns": COLUMNS,
            "unit": {"id": "id", "max_rows": 2},
        }
    )
    own = PrivateTable(table(ROWS), policy=policy, ledger="sqlite://", source=SeededSource(1))
    one, other = ({"x": [-3.0, end, 10.0]} for end in (0.0, 5.0))
    count = own.count(by="x", cut=one, epsilon=1.0)
    same, unlike = (own.rows_cut(up_to=9, by="x", cut=edges, epsilon=1.0) for edges in (one, other))
    assert covering([count], same, policy)[0].coverage.covers == "table"
    assert covering([count], unlike, policy) == [count]


def test_the_web_form_reads_edges_for_each_column() -> None:
    fields = {"statistic": "count", "epsilon": "1", "by": "x, d, y", "cut": "x: -3, 0, 10; y: 2, 5, 8"}
    assert asked_query(fields).cut == (("x", (-3.0, 0.0, 10.0)), ("y", (2.0, 5.0, 8.0)))


def test_a_query_file_cuts_columns(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        'dataset = "tests"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9.0 }\n'
        "[columns]\nx = { bounds = [-3.0, 10.0] }\ny = { bounds = [2.0, 8.0] }\n"
    )
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{row['x']},{row['y']}\n" for row in ROWS))
    (tmp_path / "release.toml").write_text(
        'policy = "policy.toml"\ndata = "data.csv"\nledger = "ledger.db"\nmargins = { ages = "all" }\n'
        '[[query]]\nname = "ages"\nstatistic = "count"\nby = ["x", "y"]\nepsilon = 1.0\n'
        "cut = { x = [-3, 0, 10], y = [2, 5, 8] }\n"
    )
    (ages,) = json.loads(leakcap("release", tmp_path / "release.toml", "--json").stdout)["releases"]
    assert [tuple(row["keys"].values()) for row in ages["values"]][-3:] == [
        ("total", "[2, 5)"),
        ("total", "[5, 8]"),
        ("total", "total"),
    ]
