"""What an analyst derives in a query: the same tree, keys and price as a column that the policy derives."""

from __future__ import annotations

import bisect
import datetime
import random
from typing import Any

import duckdb
import pyarrow
import pytest

from engines.words import COMPARED, day_of, random_rows, table
from engines.words import POLICY as WORDS
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, attach, load_policy, query_from
from leakcap.release.conditions.worded import PARTS, UNITS
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.sql.select import sql_queries
from release.world import exact, planned

YEAR = [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]
CONTENT: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1000.0},
    "columns": {
        "admitted": {"bounds": YEAR},
        "ward": {"keys": ["a", "b"]},
        "died": {"keys": [True, False]},
        "age": {"bounds": [0, 120]},
        "The day": {"bounds": YEAR},
        "week_of_stay": {"from": "admitted", "truncate": "week"},
    },
}
POLICY = load_policy(CONTENT)


def asked(text: str) -> list[str]:
    return [text_of(plan_query(query, POLICY)) for query in sql_queries(text, POLICY, 1.0)]


def in_python(by: str) -> str:
    content = {"name": "n", "statistic": "count", "by": by, "epsilon": 1.0}
    return text_of(plan_query(query_from(content), POLICY))


@pytest.mark.parametrize("unit", UNITS)
def test_all_ways_to_write_a_period_are_one_question(unit: str) -> None:
    """The ledger repeats an answer to the same text, and charges for another."""
    ways = [
        f"SELECT date_trunc('{unit}', admitted) AS k, COUNT(*) FROM stays GROUP BY k",
        f"SELECT COUNT(*), DATE_TRUNC('{unit.upper()}', s.admitted) FROM stays AS s GROUP BY 2",
        f"SELECT COUNT(*) FROM stays GROUP BY date_trunc( '{unit.title()}' , \"admitted\" );",
    ]
    texts = {text for way in ways for text in asked(way)}
    texts |= {in_python(f"date_trunc('{unit}', admitted)"), in_python(f"DATE_TRUNC('{unit}',\"admitted\")")}
    assert len(texts) == 1
    # The owner's own column of the same derivation is the same question, too.
    assert texts == {in_python("week_of_stay")} if unit == "week" else "date_trunc" in texts.pop()


@pytest.mark.parametrize("part", PARTS)
def test_all_ways_to_write_a_part_are_one_question(part: str) -> None:
    ways = [
        f"SELECT EXTRACT({part} FROM admitted), COUNT(*) FROM stays GROUP BY 1",
        f"SELECT COUNT(*) FROM stays GROUP BY extract({part.upper()} from admitted)",
    ]
    texts = {text for way in ways for text in asked(way)} | {in_python(f"Extract({part} FROM admitted)")}
    assert len(texts) == 1


def test_names_that_are_no_plain_words() -> None:
    (text,) = asked("SELECT COUNT(*) FROM stays GROUP BY date_trunc('month', \"The day\")")
    assert text == in_python("date_trunc('month', \"The day\")")


def test_an_engine_finds_what_the_declared_column_finds() -> None:
    """On rows of all years, missing and infinite ones; `tests/engines` compares those with Python."""
    rows = random_rows(11, 300, {})
    engine, tested = attach(table(rows)), 0
    columns = {name: one for name, one in WORDS.columns.items() if one.stored}
    policy = WORDS.model_copy(update={"columns": columns})
    for name in "dtz":
        declared = {f"date_trunc('{unit}', {name})": f"{name}_{unit}" for unit in UNITS}
        declared |= {f"extract({word} FROM {name})": f"{name}_of_{part}" for word, part in PARTS.items()}
        for written, known in declared.items():
            plans = [planned(policy, statistic="count", by=(written,))]
            plans.append(planned(WORDS, statistic="count", by=(known,)))
            assert exact(plans[0], engine) == exact(plans[1], engine), written
            (labels,) = plans[0].cells.labels().values()
            assert labels.tolist() == list(WORDS.columns[known].keys or ())
            assert plans[0].parts[0].contribution == plans[1].parts[0].contribution
            tested += 1
    assert tested == 3 * (len(UNITS) + len(PARTS))


def test_a_statement_counts_what_duckdb_itself_counts() -> None:
    """The same text, run as it stands, on dates within the bounds."""
    draw, plain = random.Random(3), duckdb.connect()
    days = [YEAR[0] + datetime.timedelta(draw.randrange(366)) for _ in range(500)]
    data = pyarrow.table({"admitted": days, "ward": [draw.choice("ab") for _ in days]})
    plain.register("stays", data)
    engine, tested = attach(data), 0
    keys = [f"date_trunc('{unit}', admitted)" for unit in UNITS]
    keys += [f"EXTRACT({part} FROM admitted)" for part in PARTS]
    for key in keys:
        for text in (
            f"SELECT {key} AS k, COUNT(*) FROM stays GROUP BY 1",
            f"SELECT {key} k, COUNT(*) FROM stays WHERE EXTRACT(YEAR FROM admitted) >= 2024 GROUP BY {key}",
            f"SELECT {key} AS k, ward, COUNT(*) FROM stays WHERE ward = 'a' GROUP BY k, 2",
        ):
            (query,) = sql_queries(text, POLICY, 1.0)
            (found,) = exact(plan_query(query, POLICY), engine)
            theirs = plain.execute(f"{text} ORDER BY k").fetchall()
            assert [count for count in found if count] == [row[-1] for row in theirs], text
            tested += 1
    assert tested == 3 * len(keys)


def test_a_year_in_a_condition_is_a_comparison_of_dates() -> None:
    """One text with the comparison written out; and on every row what the year itself says."""
    written = "SELECT COUNT(*) FROM stays AS s WHERE {}"
    for year, dates in {
        "2024 = EXTRACT(YEAR FROM s.admitted)": "admitted BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'",
        "extract(year FROM admitted) < 2024": "admitted < DATE '2024-01-01'",
        "NOT EXTRACT(YEAR FROM admitted) <> 2024": "NOT NOT (admitted BETWEEN '2024-01-01' AND '2024-12-31')",
    }.items():
        assert asked(written.format(year)) == asked(written.format(dates))
    rows = random_rows(13, 300, {})
    engine, tested = attach(table(rows)), 0
    starts = [datetime.date(year, 1, 1).toordinal() for year in (2024, 2025)]
    for name in "dtz":
        days = [day_of(name, row[name]) for row in rows]
        places = [None if day is None else bisect.bisect_right(starts, day) - 1 for day in days]
        for word, compared in COMPARED.items():
            plan = planned(WORDS, statistic="count", where=f"EXTRACT(YEAR FROM {name}) {word} 2024")
            kept = sum(compared(place, 0) for place in places if place is not None)
            assert exact(plan, engine) == [[kept]], (name, word)
            tested += 1
    assert tested == 3 * 6


def test_one_answer_is_paid_for_once() -> None:
    data = pyarrow.table({"admitted": [datetime.date(2024, 3, 1)] * 30, "ward": ["a", "b"] * 15})
    stays = PrivateTable(data, policy=CONTENT, ledger="sqlite://", version="1")
    first = stays.count(by="date_trunc('month', admitted)", epsilon=2.0)
    (second,) = stays.sql(
        "SELECT date_trunc('month', admitted) m, COUNT(*) FROM stays GROUP BY m", epsilon=2.0
    )
    assert [row.value for row in first.rows] == [row.value for row in second.rows]
    assert stays.budget()[0].spent == 2.0
    crossed = stays.contingency(["ward", "date_trunc('quarter', admitted)"], epsilon=1.0)
    assert crossed.rows[0].keys == {"ward": "a", "date_trunc('quarter', admitted)": "2024-Q1"}


def test_the_average_of_true_and_false_is_the_share_of_true() -> None:
    """Among rows that have either: 20 of 50, where 30 more have neither."""
    data = pyarrow.table({"died": [True] * 200 + [False] * 300 + [None] * 300, "ward": ["a"] * 800})
    stays = PrivateTable(data, policy=CONTENT, ledger="sqlite://", version="1")
    (share,) = stays.sql("SELECT AVG(died) FROM stays", epsilon=100.0)
    assert share.value == pytest.approx(0.4, abs=0.01)
    low, high = share.interval
    assert low <= 0.4 <= high
    (chosen,) = sql_queries("SELECT AVG(died) AS dead FROM stays WHERE age > 3 OR ward = 'a'", POLICY, 1.0)
    assert chosen.name == "dead"
    assert chosen.where == "((age > 3.0 OR ward = 'a') AND NOT (died IS NULL))"


REFUSED: dict[str, str] = {
    "SELECT date_trunc('month', age), COUNT(*) FROM stays GROUP BY 1": "`age` has no dates as `bounds`",
    "SELECT date_trunc('hour', admitted), COUNT(*) FROM stays GROUP BY 1": "`hour` is no period",
    "SELECT EXTRACT(dow FROM admitted), COUNT(*) FROM stays GROUP BY 1": "`dow` is no part of a date",
    "SELECT EXTRACT(epoch FROM admitted), COUNT(*) FROM stays GROUP BY 1": "`epoch` is no part of a date",
    "SELECT date_trunc(month, admitted), COUNT(*) FROM stays GROUP BY 1": "is not supported",
    "SELECT date_trunc('month', admitted, 'UTC'), COUNT(*) FROM stays GROUP BY 1": "',' is not supported",
    "SELECT date_trunc('month', admitted + 1), COUNT(*) FROM stays GROUP BY 1": "'+' is not supported",
    "SELECT date_trunc('year', date_trunc('day', admitted)), COUNT(*) FROM stays GROUP BY 1": "not supported",
    "SELECT date_trunc('month', DATE '2024-01-01'), COUNT(*) FROM stays GROUP BY 1": "not supported",
    "SELECT EXTRACT(year FROM nobody), COUNT(*) FROM stays GROUP BY 1": "`nobody` is not a column",
    "SELECT date_trunc('month', admitted), COUNT(*) FROM stays GROUP BY ward": "not in GROUP BY",
    "SELECT COUNT(EXTRACT('year' FROM admitted)) FROM stays": "EXTRACT is no number of a row",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(month FROM admitted) = 13": "is not a key",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(hour FROM admitted) = 1": "`hour` is no part of a date",
    "SELECT COUNT(*) FROM stays WHERE date_part('month', admitted) = 1": "may not use DATE_PART",
    "SELECT COUNT(*) FROM stays WHERE timestamp_trunc(admitted, month) = '2024-02-01'": "or EXTRACT only",
    "SELECT COUNT(*) FROM stays WHERE date_trunc('month', admitted) = DATE '2024-02-02'": "day of a month",
    "SELECT COUNT(*) FROM stays WHERE date_trunc('hour', admitted) = '2024-02-01'": "`hour` is no period",
    "SELECT COUNT(*) FROM stays WHERE date_trunc('day', admitted) = DATE '9999-01-01'": "from 1 to 9998",
    "SELECT COUNT(*) FROM stays WHERE date_trunc('month', age) = DATE '2024-02-01'": "has no dates",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM age) = 2024": "has no dates as `bounds`",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted) = 2024.5": "a whole number from 1 to 9998",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted) = 9999": "a whole number from 1 to 9998",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted) = '2024'": "a whole number from 1 to 9998",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted) = NULL": "IS NULL",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted + 1) = 2024": "ADD",
    "SELECT COUNT(*) FROM stays WHERE EXTRACT(year FROM admitted) IN (2024, NULL)": "IS NULL",
    "SELECT COUNT(*) FROM stays WHERE date_trunc('year', admitted) = 2024": "with a date like",
    "SELECT TRUNC(admitted, 'month'), COUNT(*) FROM stays GROUP BY 1": "TRUNC is not supported",
    "SELECT timestamp_trunc(admitted, month), COUNT(*) FROM stays GROUP BY 1": "not supported",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 2": "no column is selected at place 2",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 9": "no column is selected at place 9",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 0": "no column is selected at place 0",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 1.0": "no column is selected at place 1.0",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 99999999999999999999": "no column is selected at place",
    "SELECT ward, COUNT(*) FROM stays GROUP BY '1'": "a column is expected",
    "SELECT ward, COUNT(*) FROM stays GROUP BY -1": "a column is expected",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 1 + 0": "not supported",
    "SELECT ward, COUNT(*) FROM stays GROUP BY 1, ward": "GROUP BY names `ward` twice",
    "SELECT SUM(died) FROM stays": "`died` has no `bounds`",
}


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        sql_queries(text, POLICY, 1.0)
    assert str(caught.value).startswith("Line 1, column ")
    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize(
    "by",
    [
        "date_trunc('month', age)",
        "date_trunc('month', admitted) -- all",
        "date_trunc('month', admitted), ward",
        "date_trunc('month' admitted)",
        "date_trunc('month', lower(admitted))",
        "date_trunc('month', (admitted))",
        "lower(ward)",
        "extract(year, admitted)",
        "extract('year' FROM admitted)",
        "date_trunc('month', 'admitted')",
        "(" * 5000,
    ],
)
def test_python_reads_no_more_than_sql_does(by: str) -> None:
    with pytest.raises(InvalidQuery):
        planned(POLICY, statistic="count", by=(by,))
