"""A statement that is accepted means what DuckDB means by it: random conditions, counted by both."""

from __future__ import annotations

import random

import duckdb
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import Policy, attach, load_policy
from leakcap.release.engine import Engine
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.sql.select import sql_queries

STATEMENTS = 700
NUMBERS = (
    "0",
    "1",
    "2.0",
    "3.5",
    "-1",
    "1e0",
    ".5",
    "(1)",
    "- 1",
    "-(2)",
    "1_0",
    "0x1",
    "TRUE",
    "NULL",
    "1E+0",
)
TEXTS = ("'a'", "'it''s'", "E'a'", "$$a$$", "'a\\b'", "'a\\\\b'", '"a"', "'b '", "N'a'", "'a' 'b'")
TESTS = ("IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "IS TRUE", "IS NOT DISTINCT FROM 1")
TRUTHS = ("f", "NOT f", "f = TRUE", "f <> FALSE", "f IS NULL", "f = 1", "t.f", "f IN (TRUE)", "NOT NOT f")
LISTS = ("(1, 2)", "(1)", "(1, NULL)", "[1, 2]", "((1), 2)")
TAKES = (
    *("COUNT(*)", "COUNT(x)", "COUNT(i)", "COUNT(f)", "SUM(y)", "COUNT(1)", "COUNT(x + y)"),
    *("SUM(y - 3)", "SUM(y * y)", "SUM(2 * -(y - 1) + 3)", "SUM((y + 1) / 2)", "SUM(COALESCE(y, 1))"),
    *(
        "COUNT(CASE WHEN f THEN 1 END)",
        "COUNT(CASE WHEN f THEN x END)",
        "COUNT(CASE WHEN f THEN 1 ELSE 0 END)",
    ),
    *("COUNT(CASE WHEN f THEN NULL WHEN i > 1 THEN 'a' END)", "SUM(CASE WHEN f THEN 1 ELSE 0 END)"),
    *("SUM(CASE WHEN f THEN y ELSE 0 END)", "SUM(CASE i WHEN 1 THEN y WHEN 2 THEN -y ELSE 4 END)"),
    *("SUM(y) FILTER (WHERE f)", "COUNT(*) FILTER (WHERE f OR i = 1)", "COUNT(x) FILTER (WHERE NOT f)"),
    *("SUM(CASE WHEN f THEN CASE WHEN i > 1 THEN y ELSE 2 END END) FILTER (WHERE i < 3)",),
)


def atom(dice: random.Random) -> str:
    kind, column = dice.randrange(6), dice.choice(["x", "y", "t.x", '"x"', 't."y"'])
    if kind == 0:
        return f"{column} {dice.choice(['=', '<>', '<', '<=', '>', '>=', '!=', '=='])} {dice.choice(NUMBERS)}"
    if kind == 1:
        not_, way = dice.choice(["", "NOT "]), dice.choice(["", "SYMMETRIC ", "ASYMMETRIC "])
        return f"{column} {not_}BETWEEN {way}{dice.choice(NUMBERS)} AND {dice.choice(['3', '0'])}"
    if kind == 2:
        return f"{column} {dice.choice(['', 'NOT '])}IN {dice.choice(LISTS)}"
    if kind == 3:
        return f"{dice.choice('xyisf')} {dice.choice(TESTS)}"
    if kind == 4:
        return f"s {dice.choice(['=', '<>', '<', 'LIKE'])} {dice.choice(TEXTS)}"
    return dice.choice(TRUTHS)


def condition(dice: random.Random, depth: int) -> str:
    if depth == 0 or dice.random() < 0.3:
        return atom(dice)
    left, right = condition(dice, depth - 1), condition(dice, depth - 1)
    shapes = (f"{left} AND {right}", f"{left} OR {right}", f"NOT {left}", f"({left})", f"{left} = {right}")
    return dice.choices(shapes, weights=(35, 35, 10, 15, 5))[0]


def world() -> tuple[pyarrow.Table, Policy]:
    dice = random.Random(7)

    def column(*values: object) -> list[object]:
        return [None if dice.random() < 0.15 else dice.choice(values) for _ in range(400)]

    texts = ("a", "b", "A", "it's", "b ", "a\\b")
    table = pyarrow.table(
        {
            "x": pyarrow.array(column(0.0, 1.0, 2.0, 3.5, -1.0, 7.0), pyarrow.float64()),
            "y": [float(row % 9) for row in range(400)],
            "i": pyarrow.array(column(0, 1, 2, 3), pyarrow.int64()),
            "s": pyarrow.array(column(*texts), pyarrow.string()),
            "f": pyarrow.array(column(True, False), pyarrow.bool_()),
        }
    )
    columns = {"x": {"bounds": [-1.0, 7.0]}, "y": {"bounds": [0.0, 10.0]}, "i": {"keys": [0, 1, 2, 3]}}
    columns |= {"s": {"keys": [*texts]}, "f": {"keys": [True, False]}}
    caps = {"epsilon": 1.0}
    policy = {"dataset": "t", "neighbours": "add-remove-one", "caps": caps, "columns": columns}
    return table, load_policy(policy)


def ours(text: str, policy: Policy, engine: Engine) -> float:
    plan = plan_query(sql_queries(text, policy, 0.5)[0], policy)
    total = scans_of([plan], engine)[0].run(engine)[0].totals[0][0]
    return total if plan.grid is None else plan.grid.value(total)


def test_random_statements_count_the_rows_that_duckdb_counts() -> None:
    table, policy = world()
    engine, plain, dice = attach(table), duckdb.connect(), random.Random(1)
    plain.register("t", table)
    accepted = 0
    for _ in range(STATEMENTS):
        text = f"SELECT {dice.choice(TAKES)} FROM t WHERE {condition(dice, 3)}"
        try:
            found = ours(text, policy, engine)
        except InvalidQuery:
            continue
        accepted += 1
        truth = plain.execute(text).fetchall()[0][0]
        assert found == (truth or 0), text
    assert accepted > 100


def test_a_condition_that_binds_otherwise_would_be_seen() -> None:
    """AND before OR, NOT before AND: other readings of these texts give other numbers on this table."""
    table, policy = world()
    engine = attach(table)
    for one, other in (
        ("x = 1 OR f AND i = 2", "(x = 1 OR f) AND i = 2"),
        ("NOT f AND i = 2", "NOT (f AND i = 2)"),
        ("NOT x = 1", "x IS NULL OR NOT x = 1"),
    ):
        counts = [ours(f"SELECT COUNT(*) FROM t WHERE {text}", policy, engine) for text in (one, other)]
        assert counts[0] != counts[1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT i, COUNT(*) FROM t GROUP BY -1",
        "SELECT i AS s, COUNT(*) FROM t GROUP BY s",
        "SELECT COUNT(*) n FROM t WHERE n > 1",
        "SELECT AVG(DISTINCT x) FROM t",
        "SELECT SUM(ALL x) FROM t",
        "SELECT SUM(1) FROM t",
        "SELECT SUM(x) FILTER (WHERE f) OVER () FROM t",
        "SELECT SUM(x) OVER () FROM t",
        "SELECT SUM(t.x) FROM t AS u",
        "SELECT COUNT(*) FROM t AS u WHERE t.x > 1",
        "SELECT COUNT(*) FROM t GROUP BY i WITH ROLLUP",
        "SELECT COUNT(*) FROM t WHERE x > 1 LIMIT 1",
        "SELECT COUNT(*) FROM t WHERE x > --1\n 2",
        "SELECT COUNT(*) FROM t WHERE s = 'a' COLLATE NOCASE",
        "SELECT COUNT(*) FROM t WHERE x BETWEEN SYMMETRIC 3 AND 1",
        "SELECT COUNT(*) FROM t USING SAMPLE 10%",
        "FROM t SELECT COUNT(*)",
    ],
)
def test_what_would_be_answered_otherwise_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        sql_queries(text, world()[1], 0.5)
