"""Columns of decimals: what a policy may say of them, exact answers, and what one row moves."""

from __future__ import annotations

import itertools
import json
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.policy.decimals import MOST_STEPS
from leakcap.policy.document import load_policy
from leakcap.release import PrivateTable, Query, attach, with_margins
from leakcap.release.columns.grid import grid_for
from leakcap.release.planning.attainability import every_content_occurs
from leakcap.release.planning.plan import text_of
from leakcap.release.table import dry_run
from leakcap.tables import TablesQuestion, release_tables
from release.world import answers, exact, planned, policy_of

PRICE = {"type": "decimal", "places": 2, "bounds": ["-1.00", "3.00"]}


def policy(**columns: Any) -> Any:
    return policy_of(columns={"x": PRICE, **columns})


def prices(*values: str | None) -> pyarrow.Table:
    found = [None if one is None else Decimal(one) for one in values]
    return pyarrow.table({"x": pyarrow.array(found, pyarrow.decimal128(38, 6))})


def test_a_policy_is_read_again_from_its_own_text() -> None:
    columns = {
        "net": {"type": "decimal", "places": 2, "bounds": ["0.00", "99.99"], "fill": "0.10"},
        "pieces": {"type": "integer", "bounds": [0, 9]},
        "total": {"from": ["net", "pieces"], "compute": "*"},
        "gross": {"from": ["total", 1.19], "compute": "*"},
        "billed": {"from": ["gross", 0.1], "compute": "+", "type": "decimal", "places": 2},
        "each": {"from": ["net", 3], "compute": "/"},
        "large": {"from": ["gross", 1e12], "compute": "*"},
    }
    found = policy_of(columns=columns)
    assert {name: one.places for name, one in found.columns.items()} == {
        **{"net": 2, "pieces": None, "total": 2, "gross": 4, "billed": 2, "each": None, "large": None}
    }
    # 9 · 99.99 · 1.19 = 1070.8929, and 1070.9929 rounded.
    assert found.columns["gross"].bounds == (0.0, 1070.8929)
    assert found.columns["billed"].bounds == (0.1, 1070.99)
    again = load_policy(json.loads(found.text()))
    assert again == found
    assert again.fingerprint() == found.fingerprint()


def test_bounds_as_numbers_and_as_texts_are_one_policy() -> None:
    texts = policy_of(columns={"x": {"type": "decimal", "places": 2, "bounds": ["0.10", "1e"[:1] + "00.20"]}})
    numbers = policy_of(columns={"x": {"type": "decimal", "places": 2, "bounds": [0.1, 100.2]}})
    assert texts.text() == numbers.text()


REFUSED: dict[str, dict[str, Any]] = {
    "goes with `places`": {"bounds": [0, 1], "type": "decimal"},
    "a column needs either `bounds": {"type": "decimal", "places": 2},
    "written in digits with a point": {"keys": ["a"], "places": 2},
    "`keys` must have at most 2 decimal places": {"keys": ["0.5", 0.125], "type": "decimal", "places": 2},
    "`keys` must not repeat": {"keys": ["0.50", 0.5], "type": "decimal", "places": 2},
    "must not repeat": {"keys": [0, -0.0], "type": "decimal", "places": 2},
    "`keys` of decimals must be numbers": {"keys": [True], "type": "decimal", "places": 2},
    "of decimals must be numbers, or texts": {"keys": [float("nan")], "type": "decimal", "places": 2},
    "`keys` must have at most 15 digits": {"keys": [1e14], "type": "decimal", "places": 2},
    "must name at least one key": {"keys": [], "type": "decimal", "places": 2},
    "at most 2 decimal places": {"bounds": [0, 1.005], "type": "decimal", "places": 2},
    "at most 15 digits": {"bounds": [0, 1e14], "type": "decimal", "places": 2},
    "written in digits": {"bounds": ["0", "1,00"], "type": "decimal", "places": 2},
    "a decimal has at most 15 digits": {"bounds": ["0", "1.00000000000000000001"], "places": 2},
    "less than or equal to 15|at most 15": {"bounds": [0, 1], "type": "decimal", "places": 16},
    "at least 1": {"bounds": [0, 1], "type": "decimal", "places": 0},
    "whole numbers have no decimal places": {"bounds": [0, 1], "type": "integer", "places": 2},
    "must have at most 1": {"bounds": [0, 1], "fill": "0.05", "type": "decimal", "places": 1},
    "stands alone": {"bounds": "unknown", "type": "decimal", "places": 1},
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_is_no_decimal_is_refused(rule: str) -> None:
    with pytest.raises(InvalidPolicy, match=rule):
        policy_of(columns={"x": REFUSED[rule]})


@pytest.mark.parametrize(
    ("rule", "columns"),
    [
        ("Leave `type` and `places` out", {"y": {"from": ["x", 3], "compute": "/", "places": 2}}),
        ("Leave `type` and `places` out", {"y": {"from": ["x", "f"], "compute": "+", "places": 2}}),
        ("holds whole numbers", {"y": {"from": ["n", 2], "compute": "+", "places": 2}}),
        ("at most 2 decimal places", {"y": {"from": ["x", 1], "compute": "+", "places": 2, "fill": 1.001}}),
        ("or with `compute`", {"y": {"from": "x", "cuts": [1], "places": 2}}),
    ],
)
def test_what_cannot_be_computed_in_decimals_is_refused(rule: str, columns: dict[str, Any]) -> None:
    beside = {"f": {"bounds": [0, 1]}, "n": {"bounds": [0, 9], "type": "integer"}}
    with pytest.raises(InvalidPolicy, match=rule):
        policy(**beside, **columns)


def test_ids_are_no_decimals() -> None:
    """Rounded, two people would be one, and one of them could push out rows of the other."""
    for unit in ({"id": "x"}, {"id": "who", "row": "x"}):
        with pytest.raises(
            InvalidPolicy,
            match=r"become one\. Leave its `type` and `places` out",
        ):
            policy_of(columns={"x": PRICE}, unit=unit)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_one_row_reaches_the_sensitivity_and_never_passes_it(relation: str) -> None:
    """Every row on an edge: at the bounds, beyond them, a half of a cent away, and missing."""
    edges = [
        None,
        "-1",
        "3",
        "2.995",
        "3.005",
        "-0.995",
        "-1.005",
        "0.005",
        "-0.004999",
        "1e20",
        "-1e20",
        "0",
    ]
    units = {"rows": 2} if relation == "replace-one" else {}
    tested = 0
    for query in (
        {"statistic": "sum", "column": "x"},
        {"statistic": "mean", "column": "x"},
        {"statistic": "count", "where": "x >= 2.995"},
        {"statistic": "sum", "column": "billed"},
        {"statistic": "count", "by": ("band",)},
        {"statistic": "count", "by": ("key",)},
    ):
        # A public number of rows needs a value in place of a missing one.
        more = {
            "x": PRICE | ({"fill": "0.01"} if units else {}),
            "billed": {"from": ["x", 1.19], "compute": "*", "type": "decimal", "places": 2},
            "band": {"from": "x", "cuts": [0, 2.99]},
        }
        if query.get("by") == ("key",):
            query, more = query | {"by": ("x",)}, {"x": more["x"] | {"keys": ["-1.00", "0.01", "3.00"]}}
        plan = planned(policy_of(columns=more, neighbours=relation, **units), **query)
        contents = [answers(plan, prices("1", one)) for one in edges]
        absent = answers(plan, prices("1"))
        for place, part in enumerate(plan.parts):
            pairs = (
                itertools.combinations(contents, 2)
                if relation == "replace-one"
                else ((absent, one) for one in contents)
            )
            moved = max(
                sum(abs(a - b) for a, b in zip(one[place], other[place], strict=True)) for one, other in pairs
            )
            assert moved <= part.sensitivity
            if query["statistic"] == "sum" and query["column"] == "x":
                assert moved == part.sensitivity == (400 if relation == "replace-one" else 300)
            tested += 1
    assert tested >= 5


def test_sums_of_tenths_are_exact_and_written_so() -> None:
    """Ten times 0.1, and 10⁵ random prices: exact in cents, which no sum of doubles is."""
    assert exact(planned(policy(), statistic="sum", column="x"), attach(prices(*["0.1"] * 3))) == [[30]]
    draw = random.Random(5)
    cents = [draw.randrange(-100, 301) for _ in range(10**5)]
    found = exact(
        planned(policy(), statistic="sum", column="x"), attach(prices(*(f"{one / 100:.2f}" for one in cents)))
    )
    assert found == [[sum(cents)]]
    private = PrivateTable(
        prices(*["0.1"] * 3),
        policy=policy_of(columns={"x": PRICE}, caps={"epsilon": 1e6}),
        ledger="sqlite://",
    )
    row = private.release([Query(name="q", statistic="sum", column="x", epsilon=1e5)])[0].rows[0]
    assert row.value == 0.3
    assert repr(row.value) == "0.3"


def test_the_grid_is_that_of_the_decimals_wherever_noise_can_be_drawn_on_it() -> None:
    fine = planned(policy(), statistic="sum", column="x").grid
    assert fine is not None
    assert (fine.step, fine.low, fine.high) == (Fraction(1, 100), -100, 300)
    wide = {"type": "decimal", "places": 2, "bounds": [0, 1e13]}
    plan = planned(policy_of(columns={"x": wide}), statistic="sum", column="x", epsilon=0.001)
    assert plan.grid is not None
    assert plan.grid.places is None
    largest = grid_for((0.0, MOST_STEPS / 100), scale=Fraction(1), places=2)
    assert (largest.low, largest.high) == (0, MOST_STEPS)


@pytest.mark.parametrize(
    "text", ["x = 0.30", "x >= 0.3 AND x <= 0.3", "x IN (0.3, 7)", "x BETWEEN 0.3 AND 0.3"]
)
def test_a_tenth_and_two_tenths_are_three(text: str) -> None:
    total = {"y": {"from": ["x", "z"], "compute": "+"}, "z": PRICE}
    tables = [("0.1", "0.2"), ("0.10", "0.199"), ("0.1", "0.21")]
    data = pyarrow.table(
        {
            name: pyarrow.array([Decimal(row[n]) for row in tables], pyarrow.decimal128(20, 4))
            for n, name in enumerate("xz")
        }
    )
    found = exact(planned(policy(**total), statistic="count", where=text.replace("x", "y")), attach(data))
    assert found == [[2]]


def test_more_digits_than_a_double_tells_apart_are_refused() -> None:
    assert planned(policy(), statistic="count", where="x = -0.100000000000000")
    with pytest.raises(InvalidQuery, match="at most 15 digits"):
        planned(policy(), statistic="count", where="x = 0.1000000000000001")


@pytest.mark.parametrize(
    ("places", "high"), [(1, "12.0"), (2, "3.00"), (4, "0.0100"), (15, "0.999999999999999")]
)
def test_every_quantile_of_decimals_is_one(places: int, high: str) -> None:
    """A value on the grid of the places, its interval too, and none that is not in the column's bounds."""
    columns = {"x": {"type": "decimal", "places": places, "bounds": ["0", high]}}
    private = PrivateTable(
        pyarrow.table({"x": [float(high) * share / 40 for share in range(41)]}),
        policy=policy_of(columns=columns, caps={"epsilon": 1e6}),
        ledger="sqlite://",
    )
    asked = [{"statistic": "median"}, {"statistic": "quantiles", "quantiles": (0.1, 0.9), "bins": 7}]
    for number, fields in enumerate(asked):
        for row in private.release([Query(name=f"q{number}", column="x", epsilon=1.0, **fields)])[0].rows:
            for one in (row.value, *row.interval):
                steps = Decimal(repr(one)).scaleb(places)
                assert steps == steps.to_integral_value(), one
                assert 0 <= one <= float(high)


def test_other_places_are_another_question() -> None:
    texts = [
        text_of(planned(policy_of(columns={"x": column, "band": {"from": "x", "cuts": [1]}}), **query))
        for column in ({"bounds": [-1, 3]}, PRICE, PRICE | {"places": 3})
        for query in ({"statistic": "sum", "column": "x"}, {"statistic": "count", "by": ("band",)})
    ]
    assert len(set(texts)) == 6
    assert texts[2:4] == ["sum of x with decimals x (2)", "count with decimals x (2) by band"]


@pytest.mark.parametrize("where", [None, "people.income > 1", "people.sex = 'f'"])
def test_the_row_of_a_person_with_several_is_one_whatever_is_asked(where: str | None) -> None:
    """The one with the least income is used, as a number and not as a text, in which 10 comes before 9."""
    policy = policy_of(
        columns={"w": {"keys": ["x"]}},
        unit={"id": "p", "max_rows": 1},
        tables={
            "people": {
                "id": "p",
                "columns": {
                    "income": {"type": "decimal", "places": 2, "bounds": [0, 100]},
                    "sex": {"keys": ["f", "m"]},
                },
            }
        },
    )
    incomes: dict[Any, Any] = {
        "text": ["9", "10"],
        "number": [9.0, 10.0],
        "decimal": [Decimal("9.00"), Decimal("10.00")],
    }
    for kind, values in incomes.items():
        for order in (1, -1):
            people = pyarrow.table({"p": [1, 1], "income": values[::order], "sex": ["f", "m"][::order]})
            engine = attach(pyarrow.table({"p": [1], "w": ["x"]}), tables={"people": people})
            counted = planned(policy, statistic="count", by=("people.sex",), join=("people",), where=where)
            assert exact(counted, engine) == [[1, 0]], (kind, order)
            total = planned(policy, statistic="sum", column="people.income", join=("people",), where=where)
            assert exact(total, engine) == [[900]], (kind, order)


RATES = {"type": "decimal", "places": 2, "keys": [0.1, "0.20", -1, 3]}
SHOWN = ("0.10", "0.20", "-1.00", "3.00")


def rated(*values: str | None) -> PrivateTable:
    columns = {"x": RATES, "f": {"keys": ["a", "b"]}}
    rates = policy_of(columns=columns, caps={"epsilon": 1e6, "delta": 1e-6})
    data = prices(*values).append_column("f", pyarrow.array([["a", "b"][n % 2] for n in range(len(values))]))
    return PrivateTable(data, policy=rates, ledger="sqlite://")


def test_decimals_are_grouped_by_keys_that_have_all_their_places() -> None:
    """Counted by hand; at ε = 10⁵ a cell errs by one with a chance below e^-10⁴."""
    values = ("0.1", "0.104999", "0.105", "0.2", "-0.995", "-1.005", None, "3.0049", "3.005", "1e20")
    table = rated(*values)
    assert table.policy.columns["x"].keys == SHOWN
    assert load_policy(json.loads(table.policy.text())).fingerprint() == table.policy.fingerprint()
    count = table.count(by=["x"], epsilon=1e5)
    assert {row.keys["x"]: row.value for row in count.rows} == dict(zip(SHOWN, (2, 1, 1, 1), strict=True))
    assert count.at(x="0.10").rows[0].value == 2
    assert "with decimals x (2)" in count.text
    both = with_margins(table.count(by=["x", "f"], epsilon=1e5), table.policy)
    assert {row.keys["x"]: row.value for row in both.rows if row.keys["f"] == "total"} == {
        **dict(zip(SHOWN, (2, 1, 1, 1), strict=True)),
        "total": 5,
    }
    (asked,) = table.sql("SELECT x, COUNT(*) FROM tests WHERE x < 0.15 GROUP BY x", epsilon=1e5)
    assert [row.value for row in asked.rows] == [2, 0, 1, 0]
    wanted = TablesQuestion(columns=("x", "f"), ways=1, rho=1.0)
    assert {key for key, _ in release_tables(table, wanted).table("x").cells} == {(one,) for one in SHOWN}


def test_a_dry_run_and_a_condition_know_them() -> None:
    (count,) = dry_run([Query(name="q", statistic="count", by=("x",), epsilon=1e5)], policy=rated().policy)
    assert sum(row.value for row in count.rows) == 1000
    assert min(row.value for row in count.rows) > 100
    # A row may have any decimal, a key or not: what is between two literals is tried, too.
    asked = planned(rated().policy, statistic="count", where="x > 0.1 AND x < 0.12")
    assert every_content_occurs(asked, asked.parts[0])
    asked = planned(rated().policy, statistic="count", where="x > 0.1 AND x < 0.11")
    assert not every_content_occurs(asked, asked.parts[0])
    with pytest.raises(InvalidQuery, match="has no `bounds`"):
        rated().sum("x", epsilon=1.0)
