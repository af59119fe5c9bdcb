"""What an analyst may write: only conditions on one row get through, and no name changes a statement."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import mpmath
import pyarrow
import pytest

from leakcap.errors import DataError, InvalidQuery
from leakcap.ledger.ticks import spend_ticks
from leakcap.mechanism import TwoSidedGeometric
from leakcap.release import attach
from leakcap.release.conditions.condition import to_text
from leakcap.release.conditions.where import parse_where
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.planning.price import price_of
from release.world import answers, exact, planned, policy_of, table

ESCAPES = [
    *(
        "COLUMNS(*) > 1",
        "COLUMNS('x') > 1",
        "* > 1",
        "#1 > 1",
        "x > ?",
        "x > $1",
        "x > :a",
        "x > @a",
        "@x > 1",
    ),
    *("x.y > 1", "x[1] > 1", "leakcap_source.x > 1", "memory.main.x > 1", "rowid > 1", "filename = 'a'"),
    *("x > (SELECT 1)", "EXISTS (SELECT 1)", "x IN (SELECT 1)", "x IN x", "x = ANY([1])", "x > ALL(1)"),
    *("x > 1 UNION SELECT 1", "x > 1 LIMIT 1", "x > 1 ORDER BY x", "x > 1 QUALIFY 1", "x > 1 FROM t"),
    *("x > 1; SELECT 1", "x > 1;", "x > 1 -- c", "x > 1 /* c */", "SELECT x", "FROM x", "SET x = 1"),
    *("x = 1::INT", "TRY_CAST(x AS INT) > 1", "x > DATE '2020-01-01'", "x > INTERVAL 1 DAY", "x > 0x10"),
    *("d = 'a' COLLATE NOCASE", "d LIKE 'a'", "d ~ 'a'", "d ^@ 'a'", "d || 'a' = 'b'", "d = 'a' 'b'"),
    *("d = x'61'", "d = 'zzz'", "d IN ('zzz')", "d = ''' OR 1=1'", "x > 'a'", "x > TRUE", "x > 1e400"),
    *(
        "f -> 'a'",
        "lambda y: y",
        "CASE WHEN f THEN TRUE END",
        "{'a': 1}",
        "(x, y) = (1, 2)",
        "(x > 1) = TRUE",
    ),
    *("1 < x < 3", "x > y", "x IS DISTINCT FROM 1", "x IS NAN", "x BETWEEN y AND 2", "x > 1 AS y", "x > 1 y"),
    *(
        "X > 1",
        "\uff58 > 1",
        "\u0445 > 1",
        "x\u200b > 1",
        "x > 1\x00",
        "d > 'a\x00'",
        "k = 1.5",
        "k = 1e0",
        "",
    ),
]


@pytest.mark.parametrize("text", ESCAPES)
def test_what_is_no_condition_on_one_row_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_where(text, policy_of())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "d > 'a''b'",
        "d > '\\'",
        "d > '$$'",
        "d > '\u2028\n'",
        "d > '\"; DROP TABLE x; --'",
        "d > '\U0001f600'",
    ],
)
def test_a_literal_stays_one_literal(text: str) -> None:
    """The text that is kept reads as the same condition, and the engine compares with this very text."""
    policy = policy_of()
    assert parse_where(to_text(parse_where(text, policy)), policy) == parse_where(text, policy)
    inner = text[5:-1].replace("''", "'")
    plan = planned(policy, statistic="count", where=text)
    assert answers(plan, table([{"d": inner}, {"d": inner + "!"}, {"d": ""}])) == [[1]]


# Names that the statement itself uses, that a table could be called by, or that end a quoted name.
NAMES = [
    "v",
    "k0",
    "k1",
    "cells",
    "ranked",
    "units",
    "leakcap_source",
    'a"b',
    "*",
    "rowid",
    "select",
    "a.b",
    "ß",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_be_called_anything(name: str) -> None:
    columns = {name: {"bounds": [0.0, 10.0]}, "g": {"keys": ["a", "b"]}}
    data = pyarrow.table({"id": [1, 1, 2, 3], name: [1.0, 1.0, 2.0, 3.0], "g": ["a", "a", "b", "a"]})
    quoted = '"' + name.replace('"', '""') + '"'
    for unit, counted in (("row", 3), ({"id": "id"}, 2)):
        policy = policy_of(columns=columns, unit=unit)
        plan = planned(policy, statistic="sum", column=name, by=("g",), where=f"{quoted} < 2.5")
        assert plan.grid is not None
        found = [total * plan.grid.step for total in exact(plan, attach(data))[0]]
        assert found == [counted - 1, 2]
        swapped = policy_of(columns={"w": {"bounds": [0.0, 10.0]}, name: {"keys": ["a", "b"]}}, unit=unit)
        renamed = data.rename_columns(["id", "w", name])
        by = planned(swapped, statistic="count", by=(name,), where="w < 2.5")
        assert exact(by, attach(renamed)) == [[counted - 1, 1]]


def test_keys_are_compared_byte_by_byte() -> None:
    keys = [
        "a",
        "A",
        "a ",
        "\u00e9",
        "e\u0301",
        "it's",
        '"',
        "\\",
        "\n",
        "a" * 5000,
        "a" * 4999 + "b",
        "NULL",
        "",
    ]
    policy = policy_of(columns={"d": {"keys": keys}})
    rows = [key for index, key in enumerate(keys) for _ in range(index + 1)]
    plan = planned(policy, statistic="histogram", column="d")
    assert exact(plan, attach(pyarrow.table({"d": rows}))) == [list(range(1, len(keys) + 1))]


def test_a_file_brings_no_functions_of_its_own(tmp_path: Path) -> None:
    """A macro in the file called like a function of the statement is not the one that runs."""
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        for macro in ("isnan(a) AS true", "round(a) AS 0", "least(a, b) AS 0", "greatest(a, b) AS 10 ** 9"):
            connection.execute(f"CREATE MACRO {macro}")
        connection.execute('CREATE TABLE "t""; DROP TABLE x; --" AS SELECT 7.0 AS x')
        connection.execute("CREATE TABLE leakcap_source AS SELECT 1.0 AS x")
    plan = planned(policy_of(), statistic="sum", column="x")
    engine = attach(tmp_path / "t.duckdb", table='t"; DROP TABLE x; --')
    assert plan.grid is not None
    assert exact(plan, engine)[0][0] * plan.grid.step == 7


@pytest.mark.parametrize(
    "type_",
    ["TIMESTAMP", "TIME", "INTERVAL", "BLOB", "BIT", "DOUBLE[]", "DOUBLE[2]", "STRUCT(a INTEGER)"],
)
def test_types_that_are_no_numbers_are_refused_from_the_schema(type_: str, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (x {type_})")
    engine = attach(tmp_path / "t.duckdb", table="t")
    with pytest.raises(DataError, match="cannot be read as number"):
        check_schema(engine.columns(), ["x"], policy_of())


@pytest.mark.parametrize(("type_", "values"), [
    ("HUGEINT", [1, 2**126, -(2**126), None]),
    ("UHUGEINT", [1, 2**127]),
    ("DECIMAL(38, 0)", ["9" * 38, "1"]),
    ("DECIMAL(38, 30)", ["1.5"]),
    ("VARCHAR", ["1", "1e999", "nan", "inf", "-inf", "", "0x10", " 1 ", "1,5", "secret"]),
    ("FLOAT", [1.5, 3e38]),
])  # fmt: skip
def test_no_value_of_an_odd_type_stops_the_engine(type_: str, values: list[Any], tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (x {type_})")
        connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
    engine = attach(tmp_path / "t.duckdb", table="t")
    for query in ({"statistic": "sum"}, {"statistic": "mean"}, {"statistic": "histogram", "bins": 3}):
        plan = planned(policy_of(), column="x", **query)
        for part, totals in zip(plan.parts, exact(plan, engine), strict=True):
            assert sum(map(abs, totals)) <= len(values) * part.sensitivity
    integers = planned(policy_of(columns={"x": {"keys": [1, 2]}}), statistic="histogram", column="x")
    assert sum(exact(integers, engine)[0]) <= len(values)


@pytest.mark.parametrize("epsilon", [0.1 + 0.2, 1e-12, 1 / 3, 0.7, 1e-9, 2.5, 3.0000000000000004, 1e5])
@pytest.mark.parametrize("statistic", ["count", "sum", "mean"])
def test_noise_never_promises_more_than_is_charged(epsilon: float, statistic: str) -> None:
    """The exact ε of the noise, as a fraction, is at most the ticks that the ledger counts."""
    column = None if statistic == "count" else "x"
    if statistic == "mean" and epsilon < 1e-11:
        epsilon *= 10
    plan = planned(policy_of(), statistic=statistic, column=column, epsilon=epsilon)
    exact_epsilon = sum(Fraction(part.sensitivity) / part.scale for part in plan.parts)
    ticks = spend_ticks(price_of(plan).spend.epsilon)
    assert ticks is not None
    assert exact_epsilon * 10**12 <= ticks
    assert exact_epsilon <= Fraction(repr(epsilon))


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**30), Fraction(1, 3), 1, Fraction(10, 3), 1000, 2**31, 2**45]
)
@pytest.mark.parametrize("beyond", [0.05, 0.025])
def test_the_error_is_the_smallest_that_covers(scale: Fraction | int, beyond: float) -> None:
    """P(|Z| > a) by fifty digits: at most what is said, and a − 1 would be too few (to 10⁻¹¹ of the tail)."""

    def tail(a: int) -> mpmath.mpf:
        s = mpmath.exp(-mpmath.mpf(Fraction(scale).denominator) / Fraction(scale).numerator)
        return 2 * s ** (a + 1) / (1 + s)

    with mpmath.workdps(50):
        error = TwoSidedGeometric(Fraction(scale)).error(beyond)
        assert tail(error) <= beyond
        assert error == 0 or tail(error - 1) > mpmath.mpf(beyond) * (1 - mpmath.mpf(10) ** -11)
