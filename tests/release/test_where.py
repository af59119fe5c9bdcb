"""Conditions: what is allowed is rebuilt, everything else is refused by name, and no row can make it fail."""

from __future__ import annotations

import math
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release.conditions.condition import to_text, to_tree
from leakcap.release.conditions.where import parse_where
from leakcap.release.engine import Integers
from release.world import answers, planned, policy_of

POLICY = policy_of()

REFUSED = {
    "x > (SELECT 1)": "SUBQUERY",
    "x IN (SELECT x FROM other)": "list of literals",
    "EXISTS (SELECT 1)": "EXISTS",
    "x > ALL (SELECT 1)": "ALL",
    "abs(x) > 1": "ABS",
    "random() < 0.5": "RAND",
    "read_csv('secrets.csv') = 1": "READ_CSV",
    "sum(x) OVER () > 1": "WINDOW",
    "other.x > 1": "one table",
    "x::INT > 1": "CAST",
    "CAST(x AS INT) > 1": "CAST",
    "x + 1 > 2": "ADD",
    "x / k > 2": "DIV",
    "x > 1; DROP TABLE leakcap_source": "single condition",
    "x > 1;": "single condition",
    "x > 1 -- rest": "comments",
    "/* hidden */ x > 1": "comments",
    "x > /* hidden */ 1": "comments",
    "x > 1 UNION SELECT 1": "UNION",
    "EXPLAIN SELECT 1": "single condition",
    "SELECT 1": "SELECT",
    "d LIKE 'a%'": "LIKE",
    "d ~ 'a'": "REGEXP",
    "d = 'a' COLLATE nocase": "COLLATE",
    "d = $1": "PLACEHOLDER",
    "d = ?": "PLACEHOLDER",
    "1 = 1": "two literals",
    "x = y": "another column",
    "x > k": "another column",
    "x": "not true or false",
    "TRUE": "lone literal",
    "x = NULL": "IS NULL",
    "x > 'NaN'": "number",
    "x > 1e999": "too large",
    "k = 1.5": "an integer",
    "k = '1'": "an integer",
    "d = 1": "text in quotes",
    "f = 1": "TRUE or FALSE",
    "f > TRUE": "by order",
    "d = 'elsewhere'": "not a key",
    "d IN ('a', 'elsewhere')": "not a key",
    "k = 3": "not a key",
    "k % 2 = 1": "a parity",
    "bit_count(k) % 2 = 1": "a parity",
    "bit_count(k & 3) % 3 = 1": "a parity",
    "bit_count(k & 3) % 2 > 0": "a parity",
    "bit_count(k & 3) % 2 = 2": "a parity",
    "bit_count(k & 3) % 2 = k": "a parity",
    "bit_count(k & 3) = 1": "BIT_COUNT",
    "bit_count(k & -1) % 2 = 1": "a parity",
    "bit_count(k & 1.5) % 2 = 1": "a parity",
    "bit_count(k & 9223372036854775808) % 2 = 1": "a parity",
    "bit_count(x & 3) % 2 = 1": "a parity",
    "bit_count(k & k) % 2 = 1": "another column",
    "bit_count(k & 3, 1) % 2 = 1": "a parity",
    "bit_count(nobody & 3) % 2 = 1": "not a column",
    "nobody > 1": "not a column",
    "X > 1": "not a column",
    "x BETWEEN SYMMETRIC 3 AND 1": "two literals",
    "CASE WHEN f THEN TRUE END": "CASE",
    "COLUMNS(*) > 1": "COLUMNS",
    "x[1] > 1": "BRACKET",
    "x > INTERVAL 1 DAY": "INTERVAL",
    "x >": "does not parse",
    "": "characters long",
    "f AND " * 400 + "f": "at most",
    "(" * 250 + "f" + ")" * 250: "",
    "NOT " * 40 + "f": "nest",
    "{fn f": "brace",
    "f,": "",
    "x BETWEEN 1 2": "AND",
    "f AND NOT (" * 16 + "f" + ")" * 16: "nest",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_where(text, POLICY)
    assert REFUSED[text] in str(caught.value)
    assert "\n" not in str(caught.value)


ROWS: list[dict[str, Any]] = [
    {"x": 1.0, "d": "a", "k": 1, "f": True},
    {"x": 50.0, "d": "b", "k": 2, "f": False},
    {"x": math.nan, "d": None, "k": None, "f": None},
    {"x": None, "d": "elsewhere", "k": 9, "f": True},
    {"x": -math.inf, "d": "c", "k": -1, "f": False},
]

# Which rows each condition keeps, worked out by hand with SQL's three-valued logic.
KEPT = {
    "x > 0": [0, 1],
    "0 < x": [0, 1],
    "x >= 50": [1],  # raw values: 50 lies beyond the bounds and is not clamped here
    "x <= -1e300": [4],
    "x IS NULL": [2, 3],
    "x IS NOT NULL": [0, 1, 4],
    "NOT x > 0": [4],
    "x <> 1": [1, 4],
    "x BETWEEN 0 AND 1": [0],
    "x NOT BETWEEN 0 AND 1": [1, 4],
    "d = 'a'": [0],
    "d <> 'a'": [1, 3, 4],
    "d IN ('a', 'b')": [0, 1],
    "d NOT IN ('a', 'b')": [3, 4],
    "d >= 'b'": [1, 3, 4],
    "k < 2": [0, 4],
    "k != 1": [1, 3, 4],
    "f": [0, 3],
    "NOT f": [1, 4],
    "f = FALSE": [1, 4],
    "f IS NULL": [2],
    "bit_count(k & 3) % 2 = 1": [0, 1, 3],  # of 1, 2, none, 9 = 1001b and −1 = …111b
    "BIT_COUNT((k & 9)) % 2 = 0": [1, 3, 4],
    "bit_count(k & 0) % 2 = 1": [],
    "NOT (bit_count(k & 1) % 2 = 1)": [1],
    "bit_count(k & 9223372036854775807) % 2 = 1": [0, 1, 4],
    "(bit_count(k & 1) + bit_count(k & 2)) % 2 = 0": [4],
    "f AND (bit_count(k & 8) + bit_count(k & 2) + bit_count(k & 9223372036854775807)) % 2 = 1": [0, 3],
    "f OR x IS NULL": [0, 2, 3],
    "f AND (d = 'a' OR k > 5)": [0, 3],
    "\"x\" > 0 AND NOT (d = 'b')": [0],
}


@pytest.mark.parametrize("text", KEPT)
def test_keeps_what_sql_says(text: str) -> None:
    for index, row in enumerate(ROWS):
        data = pyarrow.table({name: pyarrow.array([row[name]], kind) for name, kind in SCHEMA.items()})
        assert answers(planned(POLICY, statistic="count", where=text), data) == [[int(index in KEPT[text])]]


FIRST = {name: [value] for name, value in ROWS[0].items()}
SCHEMA = {"x": pyarrow.float64(), "d": pyarrow.string(), "k": pyarrow.int64(), "f": pyarrow.bool_()}


def test_the_same_tree_has_the_same_text() -> None:
    texts = ["x>1 and d='a'", "  (x > 1.0)  AND\n('a' = d)", "(\"x\" > 1e0 AND d == 'a')"]
    assert {to_text(parse_where(text, POLICY)) for text in texts} == {"(x > 1.0 AND d = 'a')"}


def test_the_text_parses_back_to_itself() -> None:
    for text in KEPT:
        tree = parse_where(text, POLICY)
        assert parse_where(to_text(tree), POLICY) == tree


def test_many_counts_add_up_without_an_error() -> None:
    """DuckDB counts bits in a type that ends at 127: three full masks would stop the engine at one row."""
    where = f"({' + '.join(['bit_count(k & 9223372036854775807)'] * 41)}) % 2 = 1"
    data = pyarrow.table({"k": pyarrow.array([-1, 7, 2**63 - 1, None], pyarrow.int64())})
    assert answers(planned(POLICY, statistic="count", where=where), data) == [[3]]


def test_text_cannot_leave_its_quotes() -> None:
    policy = policy_of(columns={'odd"name': {"keys": ["it's", "x' OR '1'='1", "\\", "a\nb"]}})
    column = '"odd""name"'
    for key in ("it''s", "x'' OR ''1''=''1", "\\", "a\nb"):
        tree = parse_where(f"{column} = '{key}'", policy)
        sql = Integers({}).text(to_tree(tree, policy))
        data = pyarrow.table({'odd"name': [key.replace("''", "'"), "other"]})
        assert answers(planned(policy, statistic="count", where=f"{column} = '{key}'"), data) == [[1]]
        assert sql.count("=") == 1 + key.count("=")


def test_long_chains_run() -> None:
    where = " OR ".join(["x > 0", "k = 1", "f AND x < 3"] * 40)
    assert answers(planned(POLICY, statistic="count", where=where), pyarrow.table(FIRST)) == [[1]]


@pytest.mark.parametrize("value", ["not a number", "", "1e999", "nan", "0x10", "\u0661", "12 monkeys"])
def test_unreadable_values_are_missing_and_never_an_error(value: str) -> None:
    data = pyarrow.table({name: [value, "1"] for name in ("x", "d", "k", "f")})
    for where in ("x > 0", "k = 1", "f", "x = 1 OR k = 2 OR f"):
        answers(planned(POLICY, statistic="count", where=where), data)
    answers(planned(POLICY, statistic="sum", column="x", by=("k", "f")), data)
