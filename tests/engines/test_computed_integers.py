"""What is computed from integers: no integer of any type stops an engine, with keys beside the bounds or not.

The least integer of a type has no integer of its own size beside it: |−128| does not fit where −128 does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest

from leakcap.release import Engine, attach
from leakcap.release.engine.lowering import INTEGERS
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.release.plan import Plan
from leakcap.release.planning.scan import scans_of
from ledger.server import execute
from release.world import exact, planned, policy_of

Ends = tuple[int, int]
SIGNED: Mapping[str, Ends] = {
    name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for name, bits in {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}.items()
}
DUCKDB: Mapping[str, Ends] = {
    **SIGNED,
    **{
        f"U{name}": (0, 2**bits - 1)
        for name, bits in {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}.items()
    },
    "HUGEINT": (-(2**127), 2**127 - 1),
}
POSTGRESQL = {name: SIGNED[name] for name in ("SMALLINT", "INTEGER", "BIGINT")}
OPERATIONS: Mapping[str, tuple[list[str | float], Callable[[Fraction], Fraction]]] = {
    "twice": (["n", 2], lambda n: n * 2),
    "thrice": ([-3, "n"], lambda n: -3 * n),
    "squared": (["n", "n"], lambda n: n * n),
    "half": (["n", 2], lambda n: n / 2),
    "more": (["n", 0.5], lambda n: n + Fraction(1, 2)),
    "less": ([7, "n"], lambda n: 7 - n),
}
SIGNS = dict(zip(OPERATIONS, "***/+-", strict=True))


def _bounds(ends: Ends) -> list[tuple[float, float]]:
    """At the type's ends, within and beyond them."""
    least, most = ends
    return [(float(least), float(most)), (least // 2 - 1.0, most // 2 + 0.0), (least - 1e30, most + 1e30)]


def _rows(ends: Ends) -> list[int]:
    return sorted({*ends, ends[0] + 1, ends[1] - 1, 0, 1, 3})


def _worked(rows: list[int], bounds: tuple[float, float], asked: Plan, name: str) -> int:
    """The sum on the grid, worked out in fractions, each result rounded to the nearest double once."""
    assert asked.grid is not None
    low, high = asked.policy.columns[name].bounds or (0.0, 0.0)
    total = 0
    for row in rows:
        number = Fraction(min(max(float(row), bounds[0]), bounds[1]))
        value = min(max(float(OPERATIONS[name][1](number)), low), high)
        total += round(Fraction(value) * Fraction(2) ** asked.grid.exponent) - asked.centre
    return total


def _check(engine_of: Callable[[str, list[int]], Engine], types: Mapping[str, Ends]) -> int:
    compared = 0
    for type_, ends in types.items():
        rows = _rows(ends)
        engine = engine_of(type_, rows)
        for bounds, keys in itertools.product(_bounds(ends), ({}, {"keys": [1, 3]})):
            computed = {
                name: {"from": operands, "compute": SIGNS[name]} for name, (operands, _) in OPERATIONS.items()
            }
            policy = policy_of(columns={"n": {"bounds": list(bounds), **keys}, **computed})
            plans = [planned(policy, statistic="sum", column=name) for name in OPERATIONS]
            (scan,) = scans_of(plans, engine)  # one reading
            for place, (_, totals) in scan.run(engine).items():
                name = list(OPERATIONS)[place]
                expected = _worked(rows, bounds, plans[place], name)
                assert [one.tolist() for one in totals] == [[expected]], (type_, bounds, keys, name)
                compared += 1
    return compared


def test_duckdb_computes_with_the_ends_of_each_integer_type(tmp_path: Path) -> None:
    def stored(type_: str, rows: list[int]) -> Engine:
        path = tmp_path / f"{type_}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE d (n {type_})")
            connection.execute("INSERT INTO d VALUES " + ", ".join(f"('{row}'::{type_})" for row in rows))
        return attach(str(path), table="d")

    assert set(DUCKDB) >= INTEGERS
    assert _check(stored, DUCKDB) == len(DUCKDB) * 6 * len(OPERATIONS)


def test_postgresql_computes_with_the_ends_of_each_integer_type(server: str) -> None:
    def stored(type_: str, rows: list[int]) -> Engine:
        execute(
            server,
            "DROP TABLE IF EXISTS integers",
            f"CREATE TABLE integers (n {type_})",
            "INSERT INTO integers VALUES " + ", ".join(f"({row})" for row in rows),
        )
        return PostgreSQL(server, table="integers")

    assert _check(stored, POSTGRESQL) == len(POSTGRESQL) * 6 * len(OPERATIONS)


@pytest.mark.slow
def test_spark_computes_with_the_ends_of_each_integer_type(spark: Any) -> None:
    def stored(type_: str, rows: list[int]) -> Engine:
        return attach(
            spark.createDataFrame([(row,) for row in rows], "n BIGINT").selectExpr(f"CAST(n AS {type_}) n")
        )

    assert _check(stored, SIGNED) == len(SIGNED) * 6 * len(OPERATIONS)


def test_a_column_with_keys_is_the_number_that_it_is_without() -> None:
    """2.5 stays 2.5 where it is computed with, as where it is summed: it was cut to an integer."""
    table = pyarrow.table({"n": [2.5, -0.75]})
    columns = {"n": {"bounds": [-9, 9], "keys": [1, 2]}, "m": {"from": ["n", 4], "compute": "*"}}
    asked = planned(policy_of(columns=columns), statistic="sum", column="m")
    assert asked.grid is not None
    assert [asked.grid.value(one) for one in exact(asked, attach(table))[0]] == [7.0]
