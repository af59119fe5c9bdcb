"""Aggregates of some rows and of what is computed: CASE, FILTER and arithmetic within an aggregate."""

# ruff: noqa: E501 (statements stand on one line)

from __future__ import annotations

import datetime
import random
from typing import Any

import duckdb
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import Engine, PrivateTable, Query, attach, load_policy
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.planning.scan import scans_of
from leakcap.release.sql.select import StatementTerms, select_statement

CONTENT: dict[str, Any] = {
    "dataset": "sales",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1e6, "delta": 1e-5},
    "columns": {
        "price": {"bounds": [-4, 64]},
        "quantity": {"bounds": [0, 8], "type": "integer"},
        "rebate": {"bounds": [0, 2], "fill": 1},
        "weight": {"bounds": [1, 4]},
        "sent": {"bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]},
        "paid": {"bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]},
        "shop": {"keys": ["a", "b", "c"]},
        "open": {"keys": [True, False]},
        "total": {"from": ["price", "quantity"], "compute": "*"},
    },
}
POLICY = load_policy(CONTENT)
PEOPLE = load_policy({**CONTENT, "unit": {"id": "buyer", "max_rows": 2}})


def data(size: int = 500) -> pyarrow.Table:
    """Quarters within the bounds, so that no sum is rounded; of `rebate` nothing is missing."""
    draw = random.Random(8)

    def column(*values: Any) -> list[Any]:
        return [None if draw.random() < 0.15 else draw.choice(values) for _ in range(size)]

    days = [datetime.date(2024, 1, 1) + datetime.timedelta(draw.randrange(366)) for _ in range(40)]
    return pyarrow.table(
        {
            "buyer": [row // 3 for row in range(size)],
            "price": pyarrow.array(column(-4.0, -0.25, 0.0, 0.5, 3.75, 64.0), pyarrow.float64()),
            "quantity": pyarrow.array(column(0, 1, 2, 7, 8), pyarrow.int64()),
            "rebate": [draw.choice([0.0, 0.5, 2.0]) for _ in range(size)],
            "weight": column(1.0, 2.0, 4.0),
            "sent": column(*days),
            "paid": column(*days),
            "shop": column("a", "b", "c", "d"),
            "open": column(True, False),
        }
    )


SAME: dict[str, list[str]] = {
    "count": [
        "SELECT COUNT(*) FROM sales WHERE shop = 'a'",
        "SELECT COUNT(*) FILTER (WHERE shop = 'a') FROM sales",
        "SELECT count(1) filter (where 'a' = shop) AS n FROM sales",
        "SELECT SUM(CASE WHEN shop = 'a' THEN 1 ELSE 0 END) FROM sales",
        "SELECT SUM(CASE WHEN shop = 'a' THEN 1 END) FROM sales",
        "SELECT SUM(case shop when 'a' then 1.0 else 0.0 end) FROM sales",
        "SELECT SUM((CASE WHEN (s.shop = 'a') THEN (1) ELSE NULL END)) FROM sales s",
        "SELECT COUNT(CASE WHEN shop = 'a' THEN 1 END) FROM sales",
        "SELECT COUNT(CASE shop WHEN 'a' THEN 'yes' ELSE NULL END) FROM sales",
        "SELECT COUNT(CASE WHEN k = 'a' THEN TRUE END) FROM (SELECT shop AS k FROM sales)",
    ],
    "people": [
        "SELECT COUNT(DISTINCT buyer) FROM sales WHERE open",
        "SELECT COUNT(DISTINCT buyer) FILTER (WHERE open) FROM sales",
        "SELECT COUNT(DISTINCT CASE WHEN open THEN buyer END) FROM sales",
    ],
    "sum": [
        "SELECT SUM(price) FROM sales WHERE quantity > 1",
        "SELECT SUM(price) FILTER (WHERE quantity > 1) FROM sales",
        "SELECT SUM(CASE WHEN quantity > 1 THEN price ELSE 0 END) FROM sales",
        "SELECT SUM(CASE WHEN quantity > 1 THEN price END) FROM sales",
        "WITH s AS (SELECT price AS p, quantity AS q FROM sales) SELECT SUM(CASE WHEN s.q > 1 THEN s.p ELSE 0.0 END) FROM s",
    ],
    "mean": [
        "SELECT AVG(price) FROM sales WHERE shop = 'a' AND open",
        "SELECT AVG(CASE WHEN open THEN price END) FROM sales WHERE shop = 'a'",
        "SELECT AVG(price) FILTER (WHERE open) FROM sales WHERE shop = 'a'",
        "SELECT AVG(CASE WHEN open THEN price END) FILTER (WHERE shop = 'a') FROM sales",
    ],
    "median": [
        "SELECT MEDIAN(price) FROM sales WHERE open",
        "SELECT MEDIAN(CASE WHEN open THEN price END) FROM sales",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price) FILTER (WHERE open) FROM sales",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY CASE WHEN open THEN price END) FROM sales",
    ],
    "share": [
        "SELECT AVG(CASE WHEN shop = 'a' THEN 1 ELSE 0 END) FROM sales",
        "SELECT AVG(CASE shop WHEN 'a' THEN 1.0 ELSE 0 END) FROM sales",
    ],
    "known": [
        "SELECT COUNT(price) FROM sales WHERE open",
        "SELECT COUNT(CASE WHEN open THEN price END) FROM sales",
        "SELECT COUNT(price) FILTER (WHERE open) FROM sales",
        "SELECT COUNT(*) FROM sales WHERE open AND NOT price IS NULL",
    ],
    "the policy's own": [
        "SELECT SUM(total) FROM sales",
        "SELECT SUM(price * quantity) FROM sales",
        "SELECT SUM((s.price) * s.quantity) FROM sales AS s",
    ],
    "arithmetic": [
        "SELECT AVG(price * 2 - rebate) FROM sales",
        "SELECT AVG((price*2.0) - (rebate)) FROM sales",
        "SELECT AVG(p * (1 + 1) - r) FROM (SELECT price p, rebate r FROM sales)",
    ],
}  # fmt: skip


def asked(statement: str) -> list[Query]:
    return select_statement(statement, PEOPLE, StatementTerms(1.0)).queries


@pytest.mark.parametrize("name", SAME)
def test_all_ways_to_write_a_question_are_one_question(name: str) -> None:
    found = {text_of(plan_query(query, PEOPLE)) for text in SAME[name] for query in asked(text)}
    assert len(found) == 1, found
    assert len(SAME[name]) > 1


def test_what_a_statement_asks_can_be_asked_in_a_query_file() -> None:
    """The text of each query reads back as itself, also as a user would write it by hand."""
    tested = 0
    for query in (one for texts in SAME.values() for text in texts for one in asked(text)):
        plan = plan_query(query, PEOPLE)
        assert text_of(plan_query(plan.query, PEOPLE)) == text_of(plan)
        tested += 1
    by_hand = Query(name="q", statistic="mean", column="price * 2 - rebate", epsilon=1.0)
    (written,) = asked(SAME["arithmetic"][0])
    assert text_of(plan_query(by_hand, PEOPLE)) == text_of(plan_query(written, PEOPLE))
    over = Query(name="q", statistic="ratio", column="price * 2", over="weight * 2", epsilon=1.0)
    assert plan_query(over, PEOPLE).query.over == "(weight * 2.0)"
    assert tested > 25


COUNTED = (
    *(
        "SUM(price * quantity)",
        "SUM(price - quantity)",
        "SUM(-price)",
        "SUM(price / 4 + 1)",
        "SUM(paid - sent)",
    ),
    *("SUM((price + 1) * (quantity - 2) * 0.5)", "SUM(price / weight)", "SUM(COALESCE(price, 2))"),
    *(
        "SUM(COALESCE(price * quantity, 0) - 1)",
        "SUM(CASE WHEN shop = 'a' THEN price WHEN open THEN 1 ELSE 0 END)",
    ),
    *(
        "SUM(CASE WHEN price > 0 THEN price * quantity ELSE quantity END)",
        "SUM(CASE WHEN open THEN 5 ELSE 2 END)",
    ),
    *("SUM(CASE WHEN open THEN CASE shop WHEN 'a' THEN 3 WHEN 'b' THEN price END ELSE 1 END)",),
    *("SUM(CASE WHEN open THEN 0 ELSE 1 END)", "SUM(1.5 * CASE WHEN NOT open THEN price ELSE 0 END)"),
    *("COUNT(price * quantity)", "COUNT(CASE WHEN open THEN 1 WHEN shop = 'a' THEN NULL ELSE 2 END)"),
    *("COUNT(CASE WHEN open THEN price * quantity WHEN shop = 'b' THEN 1 END)", "COUNT(COALESCE(price, 3))"),
    *("COUNT(CASE WHEN open THEN 1 ELSE 0 END)", "SUM(price) FILTER (WHERE NOT open OR shop IN ('a', 'b'))"),
    *("COUNT(*) FILTER (WHERE price BETWEEN -1 AND 4)", "SUM(CASE WHEN open THEN rebate ELSE -2 END)"),
)


def total(query: Query, engine: Engine) -> float:
    plan = plan_query(query, POLICY)
    found = scans_of([plan], engine)[0].run(engine)[0].totals[0]
    return float(found[0] if plan.grid is None else plan.grid.value(int(found[0])))


def test_an_aggregate_is_what_duckdb_itself_makes_of_it() -> None:
    """The same texts, run as they stand, with a condition of the statement and without."""
    plain, table = duckdb.connect(), data()
    plain.register("sales", table)
    engine, tested = attach(table), 0
    for text in COUNTED:
        for more in ("", " WHERE shop <> 'c' OR open IS NULL"):
            statement = f"SELECT {text} FROM sales{more}"
            (query,) = select_statement(statement, POLICY, StatementTerms(1.0)).queries
            (row,) = plain.execute(statement).fetchall()
            assert total(query, engine) == pytest.approx(float(row[0]), abs=1e-4), statement
            tested += 1
    assert tested == 2 * len(COUNTED) > 40


def test_a_fill_stands_for_what_is_missing_in_a_case_as_in_a_sum() -> None:
    """One condition or two: the same number of the rows that have none."""
    table = pyarrow.table(
        {
            **{name: data(3)[name] for name in data(3).column_names},
            "rebate": [None, 0.5, None],
            "open": [True] * 3,
        }
    )
    for text in (
        "SUM(rebate)",
        "SUM(CASE WHEN open THEN rebate ELSE 0 END)",
        "SUM(CASE WHEN open THEN rebate WHEN NOT open THEN 2 ELSE 0 END)",
    ):
        (query,) = select_statement(f"SELECT {text} FROM sales", POLICY, StatementTerms(1.0)).queries
        assert total(query, attach(table)) == 2.5, text
    (query,) = select_statement(
        "SELECT SUM(COALESCE(rebate, 0)) FROM sales", POLICY, StatementTerms(1.0)
    ).queries
    assert total(query, attach(table)) == 0.5


def test_a_row_weighs_what_its_bounds_allow_and_no_more() -> None:
    """Interval arithmetic, by hand."""
    for text, (low, high) in {
        "price * quantity": (-32.0, 512.0),
        "price - rebate": (-6.0, 64.0),
        "price / weight": (-4.0, 64.0),
        "CASE WHEN open THEN price WHEN shop = 'a' THEN -5 END": (-5.0, 64.0),
        "CASE WHEN open THEN rebate ELSE 0.5 END": (0.0, 2.0),
        "COALESCE(price, 100)": (-4.0, 100.0),
        "-price": (-64.0, 4.0),
    }.items():
        (query,) = select_statement(f"SELECT SUM({text}) FROM sales", POLICY, StatementTerms(1.0)).queries
        plan = plan_query(query, POLICY)
        assert plan.policy.columns[plan.query.column or ""].bounds == (low, high), text
        assert plan.grid is not None
        most = plan.parts[0].contribution.sensitivity(replace=False)
        assert plan.grid.value(most) == pytest.approx(max(-low, high), rel=1e-6)


def test_conditions_that_exclude_each_other_are_paid_for_one_by_one() -> None:
    """No row meets two of them, but which ones do is not what a price may hang on: shares of ε add up."""
    sales = PrivateTable(data(), policy=CONTENT, ledger="sqlite://", version="1")
    by_shop = [f"SUM(CASE WHEN shop = '{shop}' THEN price ELSE 0 END) AS {shop}" for shop in "abc"]
    found = sales.sql(f"SELECT {', '.join(by_shop)} FROM sales", epsilon=3.0)
    assert [release.query.epsilon for release in found] == [1.0, 1.0, 1.0]
    assert sales.budget()[0].spent == 3.0
    (grouped,) = sales.sql("SELECT shop, SUM(price) FROM sales GROUP BY shop", epsilon=1.0)
    assert sales.budget()[0].spent == 4.0
    assert len(grouped.rows) == 3
    (again,) = sales.sql("SELECT SUM(price) AS x FROM sales WHERE shop = 'a'", epsilon=1.0)
    assert again.repeated
    assert again.value == found[0].value


def test_aggregates_of_different_computations_are_answered_by_one_statement() -> None:
    """Each writes columns that the others know nothing of; one reading of the table has them all."""
    table = data()
    plain = duckdb.connect()
    plain.register("sales", table)
    texts = [text for text in COUNTED if text.startswith("SUM") and "FILTER" not in text]
    statement = f"SELECT {', '.join(f'{text} AS a{place}' for place, text in enumerate(texts))} FROM sales"
    plans = [
        plan_query(query, POLICY)
        for query in select_statement(statement, POLICY, StatementTerms(1.0)).queries
    ]
    found = {
        place: one
        for scan in scans_of(plans, attach(table))
        for place, one in scan.run(attach(table)).items()
    }
    (truth,) = plain.execute(statement).fetchall()
    for place, plan in enumerate(plans):
        assert plan.grid is not None
        assert plan.grid.value(int(found[place].totals[0][0])) == pytest.approx(
            float(truth[place]), abs=1e-4
        ), plan.query
    answers = PrivateTable(table, policy=CONTENT, ledger="sqlite://", version="1").sql(statement, epsilon=5e4)
    assert [release.value for release in answers] == pytest.approx(list(truth), rel=0.01, abs=1.0)
    assert len(texts) > 12


def test_they_are_named_ordered_and_cut_like_others() -> None:
    text = (
        "SELECT shop, COUNT(*) FILTER (WHERE open), SUM(price * quantity), AVG(CASE WHEN open THEN 1 ELSE 0 END) "
        "FROM sales GROUP BY shop HAVING COUNT(*) FILTER (WHERE open) > -1e9 "
        "ORDER BY SUM(price * quantity) DESC LIMIT 2"
    )
    statement = select_statement(text, POLICY, StatementTerms(3.0))
    names = [query.name for query in statement.queries]
    assert names == ["count where open = TRUE", "sum of total", "share where open = TRUE"]
    assert [key.name for key in statement.arrangement.order] == ["sum of total"]
    with pytest.raises(InvalidQuery, match="this COUNT is not selected"):
        select_statement(
            text.replace("HAVING COUNT(*) FILTER (WHERE open)", "HAVING COUNT(*) FILTER (WHERE NOT open)"),
            POLICY,
            StatementTerms(3.0),
        )


REFUSED: dict[str, str] = {
    "SUM(price / quantity)": "column 12: `(price / quantity)` divides by what may be 0. Divide by a column whose bounds",
    "SUM(price + shop)": "column 12: `(price + shop)` computes with `shop`, which has no numbers as `bounds`. Give it",
    "SUM(price + nobody)": "column 20: A number of a row names `nobody`, which is not a column of the policy",
    "SUM(sent + 1)": "column 12: `(sent + 1.0)` computes with a date",
    "SUM(price - price * 0)": "is the same number in every row",
    "SUM(CASE WHEN open THEN 5 END)": "Add ELSE 0",
    "SUM(CASE WHEN open THEN shop END)": "`shop` has no `bounds`",
    "SUM(CASE WHEN nobody THEN 1 ELSE 0 END)": "`nobody`",
    "SUM(CASE WHEN open THEN 'x' ELSE 'y' END)": "A text is no number of a row",
    "SUM(CASE WHEN open THEN price, 1 END)": "Line 1",
    "SUM(price > 3)": "column 12: SUM takes one column, not a condition. Count rows by COUNT(*) FILTER (WHERE …)",
    "SUM(price * 1e99)": "of size 1e-90 to 1e+90",
    "SUM(price * quantity * quantity * quantity * quantity * quantity * quantity * quantity * quantity * quantity)": "nest more than",
    "SUM(price) FILTER (WHERE price > quantity)": "column 33: `where` must compare `price` with a literal",
    "COUNT(DISTINCT CASE WHEN open THEN buyer ELSE 1 END)": "COUNT(DISTINCT …) takes one column",
    "COUNT(DISTINCT price * 2)": "COUNT(DISTINCT …) takes one column",
    "COUNT(NULL)": "is 0 whatever the table is",
    "SUM(price) * 2": "not supported",
    "SUM(COALESCE(price, quantity))": "COALESCE takes a column, or what is computed, and a number",
    "SUM(COALESCE(price))": "COALESCE takes",
    "SUM(NVL(price, 0))": "Line 1",
    "SUM(price + '3')": "A text is no number of a row",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        select_statement(f"SELECT {text} FROM sales", PEOPLE, StatementTerms(1.0))
    said = str(caught.value)
    assert said.startswith("Line 1, column ")
    assert said.count("Line ") == 1
    assert "\n" not in said
    assert REFUSED[text] in said


def test_a_column_that_is_called_like_a_computation_is_not_taken_for_it() -> None:
    policy = load_policy({**CONTENT, "columns": {**CONTENT["columns"], "(price * 2.0)": {"bounds": [0, 1]}}})
    with pytest.raises(
        InvalidQuery, match="is a column of the policy, and can be read as something else too"
    ):
        select_statement("SELECT SUM(price * 2) FROM sales", policy, StatementTerms(1.0))
    (query,) = select_statement('SELECT SUM("(price * 2.0)") FROM sales', policy, StatementTerms(1.0)).queries
    assert plan_query(query, policy).policy.columns[query.column or ""].bounds == (0.0, 1.0)
