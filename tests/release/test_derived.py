"""Derived columns as a policy declares them; they may not cost more, tell more, or hang on the data."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import tomllib
from typing import Any

import pyarrow
import pytest

from engines.words import COLUMNS, COMPUTED, DERIVED, POLICY
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, attach, load_policy, query_from
from leakcap.release.asking.budget import divided
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.columns.typed import Bin, Quantize, ReadColumn
from leakcap.release.conditions.condition import to_tree
from leakcap.release.dummy import dummy_engine
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.planning.attainability import every_content_occurs
from leakcap.release.planning.plan import plan_query, used_columns
from leakcap.release.planning.statements import select_of
from leakcap.report.words.promises import policy_rows
from release.world import answers, answers_of_each, exact, planned, policy_of, table

FIRST = """
dataset = "stays"
neighbours = "add-remove-one"
caps = { epsilon = 9.0 }
[columns]
age = { bounds = [0, 120] }
admitted = { bounds = [2024-01-01, 2024-12-31] }
seen = { bounds = [2024-01-01T00:00:00Z, 2024-12-31T23:59:59Z] }
icd = { keys = "private" }
ward = { keys = [1, 2] }
band = { from = "age", cuts = [65] }
"""

FIRST_POLICY: dict[str, Any] = tomllib.loads(FIRST)


def test_what_came_later_does_not_change_an_older_policy() -> None:
    """The fingerprint binds a ledger to its policy."""
    tables = {"people": {"id": "id", "columns": {"sex": {"keys": ["f", "m"]}}}}
    policy = policy_of(unit={"id": "id"}, tables=tables)
    words = set(json.loads(policy.text())["columns"]["x"])
    assert words == {"bounds", "fill", "keys"}
    theirs = json.loads(policy.text())["tables"]["people"]["columns"]["sex"]
    assert set(theirs) == {"bounds", "fill", "keys", "private", "unknown"}


def test_another_derivation_is_another_policy() -> None:
    """And the same one has the same fingerprint, however often it is loaded."""
    texts, content = set(), tomllib.loads(FIRST)
    for cut in (18, 65, 65):
        content["columns"]["band"] = {"from": "age", "cuts": [cut], "keys": ["low", "high"]}
        texts.add(load_policy(content).fingerprint())
    assert len(texts) == 2
    for one, other in itertools.pairwise(["year", "quarter", "month", "week", "day"]):
        named = [{**content["columns"], "x": {"from": "admitted", "truncate": unit}} for unit in (one, other)]
        first, second = (load_policy({**content, "columns": columns}).fingerprint() for columns in named)
        assert first != second


@pytest.mark.parametrize("neighbours", [{}, {"neighbours": "replace-one", "rows": 3}])
def test_a_derived_key_costs_what_a_stored_one_costs(neighbours: dict[str, Any]) -> None:
    """Price and sensitivity are those of a column with as many stored keys."""
    tested = 0
    for name in DERIVED:
        keys = POLICY.columns[name].keys or ()
        policy = policy_of(columns={**COLUMNS, "stored": {"keys": list(keys)}}, **neighbours)
        asked = [planned(policy, statistic="count", by=(by,)).parts[0] for by in (name, "stored")]
        assert asked[0].contribution == asked[1].contribution
        assert asked[0].loss == asked[1].loss
        tested += 1
    assert tested == len(DERIVED)


def test_no_neighbour_moves_an_answer_by_more_than_is_priced() -> None:
    """Every table of two rows of a person beside one of another's, with each value that matters."""
    policy = policy_of(
        unit={"id": "id", "max_rows": 2, "max_groups": 1},
        columns={
            "x": {"bounds": [0.0, 10.0]},
            "d": {"keys": "private"},
            "high": {"from": "x", "cuts": [5], "keys": ["low", "high"]},
            "group": {"from": "d", "prefix": 1, "groups": {"A": ["a"], "B": ["b", "c"]}},
        },
    )
    values = [(None, "a"), (5.0, "b"), (4.0, "cx"), (7.0, None)]
    tested = 0
    for by in ("high", "group"):
        plan = planned(policy, statistic="sum", column="x", by=(by,))
        most = plan.parts[0].contribution.sensitivity(replace=False)
        for rows in itertools.product(values, repeat=3):
            told = [{"id": one, "x": x, "d": d} for one, (x, d) in zip((1, 1, 2), rows, strict=True)]
            types = {"id": pyarrow.int64(), "x": pyarrow.float64(), "d": pyarrow.string()}
            tables = [pyarrow.Table.from_pylist(kept, pyarrow.schema(types)) for kept in (told, told[2:])]
            one, other = (answers(plan, table)[0] for table in tables)
            assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= most
            tested += 1
    assert tested == 2 * 4**3


NUMBERS = [None, 5.0, math.inf, -math.inf, math.nan, 1e-200, -0.0, 1e308]


def test_no_neighbour_moves_what_is_computed_by_more_than_is_priced() -> None:
    """Every pair of odd numbers, in every operation, with the rows of a person limited and not."""
    tested = 0
    for unit in ("row", {"id": "id", "max_rows": 1}):
        policy = policy_of(
            unit=unit,
            columns={
                "x": {"bounds": [-2.0, 10.0]},
                "y": {"bounds": [0.5, 3.0]},
                **{f"c{place}": {"from": ["x", "y"], "compute": sign} for place, sign in enumerate("+-*/")},
                "deep": {"from": ["c0", "c3"], "compute": "*", "bounds": [-1.0, 7.0]},
            },
        )
        for name in ("c0", "c1", "c2", "c3", "deep"):
            plan = planned(policy, statistic="sum", column=name)
            most = plan.parts[0].contribution.sensitivity(replace=False)
            tables = [[{"id": 2, "x": 1.0, "y": 1.0}]]
            for x, y in itertools.product(NUMBERS, repeat=2):
                more = [{"id": 1, "x": y, "y": x}] if unit != "row" else []
                tables.append([*tables[0], {"id": 1, "x": x, "y": y}, *more])
            (other,), *found = (exact[0] for exact in answers_of_each(plan, tables))
            for (one,) in found:
                assert abs(one - other) <= most
                tested += 1
            if unit == "row":  # the plan's own statement says the same, of numbers as they come
                assert found[::5] == [answers(plan, table(rows))[0] for rows in tables[1::5]]
    assert tested == 2 * 5 * len(NUMBERS) ** 2


def test_what_is_named_twice_at_each_step_is_worked_out_once() -> None:
    """Ten doublings: 1,024 ways down to the one stored column."""
    doubled = {f"c{n + 1}": {"from": [f"c{n}", f"c{n}"], "compute": "+"} for n in range(9)}
    columns = {"c0": {"from": ["x", "x"], "compute": "+"}, **doubled, "x": {"bounds": [0.0, 10.0]}}
    plan = planned(policy_of(columns=columns), statistic="sum", column="c9", where="c9 > 0")
    assert plan.grid is not None
    assert used_columns(plan) == ("c9",)
    assert not every_content_occurs(plan, plan.parts[0])
    engine = attach(pyarrow.table({"x": [1.0, 2.0]}))
    statement = engine.write(select_of([plan]))
    assert len(statement.text) < 10_000
    assert [plan.grid.value(one) for one in exact(plan, engine)[0]] == [3.0 * 2**10]


def test_the_columns_that_a_condition_names_are_those_that_its_statement_reads() -> None:
    """By a second route: the words of the tree that is written from it, for every kind of column."""
    written = (
        "CASE WHEN x < 18 AND m > 3 THEN 'a' ELSE 'b' END = 'b'",
        "EXTRACT(YEAR FROM d) = 2024",
        "FLOOR(x / 10) = 2",
    )
    tested = 0
    for where in (
        *(f"{name} IS NULL" for name in COLUMNS),
        *written,
        "cold = 'cold' AND NOT (share > 1 OR f)",
    ):
        plan = planned(POLICY, statistic="count", where=where)
        assert plan.condition is not None
        words = to_tree(plan.condition, plan.policy).find_all(ReadColumn, Quantize, Bin)
        assert {*used_columns(plan)} == {one.this.name for one in words}, where
        tested += 1
    assert tested > 100


def test_what_is_computed_from_whole_numbers_is_whole() -> None:
    """Its median is a whole number; what is divided, or is from other numbers, need not be."""
    whole = {name for name in COMPUTED if POLICY.columns[name].whole}
    assert whole == {"nights", "t_nights", "z_nights", "b_nights", "years", "half_years"}
    columns = {
        "n": {"bounds": [0, 2**53], "type": "integer"},
        "more": {"from": ["n", 2], "compute": "*"},
        "less": {"from": ["n", 1], "compute": "-"},
        "part": {"from": ["n", 2], "compute": "*", "bounds": [0.5, 8.5]},
    }
    policy = policy_of(columns=columns)
    # Beyond 2⁵³ doubles leave whole numbers out.
    assert [policy.columns[name].whole for name in columns] == [True, False, True, False]
    assert load_policy(json.loads(policy.text())).fingerprint() == policy.fingerprint()


def test_keys_may_be_public_for_one_answer_and_private_for_another() -> None:
    """The rows are the same: those of unlisted keys are in no group of the public ones."""
    policy = policy_of(
        caps={"epsilon": 1e6, "delta": 1e-6},
        columns={
            "ward": {"keys": "private"},
            "wards": {"from": "ward", "keys": ["north", "south"]},
            "town": {"keys": ["A", "B"]},
            "towns": {"from": "town", "keys": "private"},
            "n": {"keys": [1, 2]},
            "ns": {"from": "n", "keys": "private", "type": "integer"},
        },
    )
    wards = ["north"] * 30 + ["west"] * 20 + [None]
    data = pyarrow.table({"ward": wards, "town": ["A"] * 40 + ["C"] * 11, "n": [1] * 25 + [3] * 26})
    engine = attach(data)
    assert exact(planned(policy, statistic="count", by=("wards",)), engine) == [[30, 0]]
    assert exact(planned(policy, statistic="count", where="wards IS NULL"), engine) == [[1]]
    assert load_policy(json.loads(policy.text())).fingerprint() == policy.fingerprint()
    table = PrivateTable(data, policy=policy, ledger="sqlite://")
    for column, keys in (("ward", ["north", "west"]), ("towns", ["A", "C"]), ("ns", [1, 3])):
        told = table.count(by=column, epsilon=100.0, delta=1e-7)
        assert [row.keys[column] for row in told.rows] == keys
    with pytest.raises(InvalidQuery, match="not a key of `wards`"):
        planned(policy, statistic="count", where="wards = 'west'")
    assert dict(policy_rows(policy))["wards"] == "ward, one of north, south"


def test_computed_columns_go_where_numbers_go() -> None:
    """Means, quantiles, regressions, joins and people's own caps read them like stored numbers."""
    policy = load_policy(
        {
            "dataset": "stays",
            "neighbours": "add-remove-one",
            "unit": {"id": "id", "max_rows": 2},
            "caps": {"epsilon": 1e6},
            "columns": {
                "left": {"bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]},
                "came": {"bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]},
                "rate": {"bounds": [0.0, 100.0]},
                "nights": {"from": ["left", "came"], "compute": "-", "bounds": [0, 50]},
                "cost": {"from": ["nights", "rate"], "compute": "*"},
                "long": {"from": "nights", "cuts": [3], "keys": ["short", "long"]},
            },
            "tables": {
                "people": {
                    "id": "id",
                    "columns": {
                        "net": {"bounds": [0.0, 10.0]},
                        "tax": {"from": ["net", 0.5], "compute": "*"},
                    },
                }
            },
        }
    )
    days = [datetime.date(2024, 2, 27), datetime.date(2024, 3, 1)]
    data = pyarrow.table(
        {
            "id": [1, 1, 2, 3],
            "came": [days[0]] * 4,
            "left": [days[1], days[0], days[1], None],
            "rate": [10.0] * 4,
        }
    )
    people = pyarrow.table({"id": [1, 2], "net": [4.0, 6.0]})
    table = PrivateTable(data, policy=policy, ledger="sqlite://", tables={"people": people})
    # Noise of a scale of 0.1 at most: it is off by 5 once in e⁵⁰.
    assert abs(table.sum("cost", epsilon=1e5).rows[0].value - 60) < 5
    assert abs(table.mean("nights", where="cost > 0", epsilon=1e5).rows[0].value - 3) < 0.5
    counts = table.count(by="long", where="nights IS NOT NULL", epsilon=1e3)
    assert [round(row.value) for row in counts.rows] == [1, 2]
    assert (
        abs(table.sql("SELECT SUM(cost) FROM stays WHERE nights >= 3", epsilon=1e5)[0].rows[0].value - 60) < 5
    )
    taxed = {"name": "q", "statistic": "sum", "column": "people.tax", "join": ("people",), "epsilon": 1.0}
    asked = plan_query(query_from(taxed), policy)
    assert asked.grid is not None
    engine = attach(data, tables={"people": people})
    check_schema(engine.columns(), used_columns(asked), asked.policy, tables=("people",))
    assert [asked.grid.value(one) for one in exact(asked, engine)[0]] == [7.0]


def test_a_column_of_the_table_with_the_name_of_a_derived_one_is_not_read() -> None:
    policy = policy_of(
        columns={
            "x": {"bounds": [0.0, 10.0]},
            "Twice": {"from": ["x", 2.0], "compute": "*"},
            "more": {"from": ["Twice", "Twice"], "compute": "+"},
        },
    )
    data = pyarrow.table({"x": [1.0, 3.0], "twice": ["a", "b"], "more": [7, 7]})
    pandas = pytest.importorskip("pandas")
    for engine in (
        attach(data),
        attach(data.to_pandas()),
        attach(pandas.DataFrame(data.to_pydict(), dtype=object)),
    ):
        asked = planned(policy, statistic="sum", column="more", where="Twice > 1")
        assert asked.grid is not None
        assert [asked.grid.value(one) for one in exact(asked, engine)[0]] == [16.0]


def test_a_derived_column_of_a_joined_table() -> None:
    """Of one row for each person, chosen by the stored columns alone."""
    policy = load_policy(
        {
            "dataset": "visits",
            "neighbours": "add-remove-one",
            "unit": {"id": "id", "max_rows": 3},
            "caps": {"epsilon": 9.0},
            "columns": {"stay": {"bounds": [0, 9]}},
            "tables": {
                "people": {
                    "id": "id",
                    "columns": {
                        "born": {"bounds": [datetime.date(1900, 1, 1), datetime.date(2020, 12, 31)]},
                        "died": {"bounds": [datetime.date(1900, 1, 1), datetime.date(2030, 12, 31)]},
                        "decade": {"from": "born", "cuts": [datetime.date(1980, 1, 1)], "keys": ["a", "b"]},
                        "dead": {"from": ["born", "died"], "compare": "<"},
                    },
                }
            },
        }
    )
    people = pyarrow.table(
        {
            "id": [1, 2, 3],
            "born": [datetime.date(1979, 12, 31), datetime.date(1980, 1, 1), None],
            "died": [None, datetime.date(2001, 1, 1), datetime.date(2001, 1, 1)],
        }
    )
    engine = attach(pyarrow.table({"id": [1, 2, 2, 3, 4], "stay": [1.0] * 5}), tables={"people": people})
    asked = {"name": "q", "epsilon": 1.0, "statistic": "count", "join": ("people",)}
    grouped = plan_query(query_from({**asked, "by": ("people.decade",)}), policy)
    assert exact(grouped, engine) == [[1, 2]]
    check_schema(engine.columns(), used_columns(grouped), grouped.policy, tables=("people",))
    chosen = plan_query(query_from({**asked, "where": "people.dead AND people.decade = 'b'"}), policy)
    assert exact(chosen, engine) == [[2]]


def test_an_answer_is_recalled_and_a_dry_run_costs_nothing() -> None:
    data = pyarrow.table({"admitted": [datetime.date(2024, 2, 29)] * 5, "age": [70.0] * 5})
    table = PrivateTable(data, policy=tomllib.loads(FIRST), ledger="sqlite://")
    written = ["admitted >= '2024-02-01'", "(DATE '2024-02-01') <= admitted", "admitted>=DATE'2024-02-01'"]
    told = [table.count(by="band", where=where, epsilon=1.0) for where in written]
    assert len({tuple(row.value for row in release.rows) for release in told}) == 1
    assert table.budget()[0].spent == 1.0
    dry = table.all.by("band").count().dry_run(epsilon=1.0)
    assert [row.keys["band"] for row in dry.rows] == ["under 65", "65 and over"]
    assert table.budget()[0].spent == 1.0


def test_the_dummy_table_has_every_stored_column_and_no_other() -> None:
    engine = dummy_engine(POLICY)
    assert set(engine.columns()) == set(COLUMNS) - set(DERIVED) - set(COMPUTED)
    for name in ("t_month", "z_week", "d_of_weekday", "x_band"):
        counts = exact(planned(POLICY, statistic="count", by=(name,)), engine)[0]
        assert sum(counts) == 1_000, name


def test_a_report_says_what_each_column_is() -> None:
    rows = dict(policy_rows(POLICY))
    assert rows["d"] == "from 2023-01-15 to 2025-02-10"
    assert rows["x_band"] == "the band of x: 0-17, 18-64, 65+"
    assert rows["z_month"] == "the month of z"
    assert rows["s_chapter"] == "the group of the first 1 characters of s: Neoplasms, Odd"
    assert rows["d_until"] == "whether d <= e"
    assert rows["x_tenth"] == "x * 0.10000000000000001, from 0.25 to 11.5"
    assert (
        rows["b"] == "from 2023-01-15 00:00:00 to 2025-02-10 00:00:00, by the clocks of Australia/Lord_Howe"
    )
    assert rows["nights"] == "e - d, from -757 to 757"


def test_nothing_is_promised_of_a_condition_on_what_is_grouped() -> None:
    """Below 18 nobody is in the band of 65 and over: the lower end of what is told may not count on it."""
    for where, occurs in (("x < 18", False), ("f", True)):
        plan = planned(POLICY, statistic="count", by=("x_band",), where=where)
        assert every_content_occurs(plan, plan.parts[0]) is occurs


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("x_band > '0-17'", "whose keys have no order"),
        ("x_band = '66+'", "not a key of `x_band`"),
        ("d_month >= '2030-01'", "not a key of `d_month`"),
        ("d > 3", "a date like DATE"),
        ("d = '2024-02-30'", "a day that there is not"),
        ("d = TIMESTAMP '2024-02-01 00:00:00'", "a date like DATE"),
        ("t = TIMESTAMPTZ '2024-02-01 00:00:00+00'", "a date like TIMESTAMP"),
        ("d = e", "not with another column"),
        ("d = NULL", "IS NULL"),
        ("d = CAST(x AS DATE)", "a date like DATE"),
        ("d = CAST('2024-02-01' AS DATE FORMAT 'YYYY')", "where"),
        ("d = TRY_CAST('2024-02-01' AS DATE)", "a date like DATE"),
        ("CAST(d AS TEXT) = '2024-02-01'", "CAST"),
        ("d = DATE '2024-2-1'", "a date like DATE"),
    ],
)
def test_conditions_that_are_refused(where: str, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        planned(POLICY, statistic="count", where=where)


def test_the_order_of_groups_is_a_part_of_the_policy() -> None:
    """Answers are recorded in the order of the keys: in another order they would be others' numbers."""
    one = {"Neo": ["C"], "Inj": ["S", "T"]}
    policies = []
    for names in (one.items(), reversed(one.items())):
        chapter = {"from": "icd", "prefix": 1, "groups": dict(names)}
        policies.append(load_policy({**FIRST_POLICY, "columns": {**FIRST_POLICY["columns"], "ch": chapter}}))
    assert policies[0].fingerprint() != policies[1].fingerprint()
    data = pyarrow.table({"icd": ["C1"] * 7 + ["S2", "T3"]})
    for policy in policies:
        plan = planned(policy, statistic="count", by=("ch",))
        counted = dict(zip(plan.cells.labels()["ch"].tolist(), answers(plan, data)[0], strict=True))
        assert counted == {"Neo": 7, "Inj": 2}


@pytest.mark.parametrize("name", ["", *DERIVED, *COMPUTED])
def test_a_policy_s_text_is_the_policy(name: str) -> None:
    """Its names are sorted, and its keys stand in their order: a text that is read again has the same."""
    policy = POLICY if name else load_policy(FIRST_POLICY)
    again = load_policy(json.loads(policy.text()))
    assert again.fingerprint() == policy.fingerprint()
    for column in [name] if name else policy.columns:
        assert again.columns[column].keys == policy.columns[column].keys
        assert again.columns[column].bounds == policy.columns[column].bounds


@pytest.mark.parametrize(
    ("query", "occurs"),
    [
        ({"by": ("m",)}, True),
        ({"by": ("m", "q")}, False),
        ({"by": ("same",)}, False),
        ({"statistic": "histogram", "column": "age", "bins": 10, "by": ("band",)}, False),
        ({"statistic": "histogram", "column": "age", "bins": 10, "by": ("m",)}, True),
        ({"statistic": "sum", "column": "age", "by": ("band",)}, False),
    ],
)
def test_cells_that_no_row_can_be_in_are_not_counted_on(query: dict[str, Any], occurs: bool) -> None:
    """No day of January is in the second quarter: a lower end of what is told may not use that cell."""
    more = {
        "m": {"from": "admitted", "truncate": "month"},
        "q": {"from": "admitted", "part": "quarter"},
        "same": {"from": ["ward", "ward"], "compare": "<>"},
    }
    policy = load_policy({**FIRST_POLICY, "columns": {**FIRST_POLICY["columns"], **more}})
    plan = planned(policy, **{"statistic": "count", **query})
    assert every_content_occurs(plan, plan.parts[0]) is occurs


def test_bands_that_round_alike_have_names_of_their_own() -> None:
    cuts = [1.0, 1.0000000000000002, 1.0000000000000004]
    policy = load_policy(
        {**FIRST_POLICY, "columns": {"x": {"bounds": [0, 9]}, "b": {"from": "x", "cuts": cuts}}}
    )
    keys = policy.columns["b"].keys or ()
    assert len(set(keys)) == 4
    assert keys[0] == "under 1"


def test_private_keys_may_stand_beside_a_period() -> None:
    template = QueryTemplate(
        {"name": "n", "statistic": "count", "by": ("date_trunc('month', admitted)", "icd")}
    )
    (query,) = divided([template], load_policy(FIRST_POLICY), epsilon=1.0, delta=1e-9)
    assert query.delta == 1e-9
