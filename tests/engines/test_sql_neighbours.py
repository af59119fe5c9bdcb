"""PostgreSQL and Spark: a slice of the random pairs of neighbours that DuckDB goes through in `tests/sql`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from engines.test_words import _POSTGRESQL, _said
from leakcap.errors import InvalidQuery
from leakcap.release import Engine, attach
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from sql.neighbours import WORLDS, Pairs, check_pairs, pairs_of, plans_of, random_policy, random_statement

MOST = 400
ROWS = {
    **{"x": "float8", "y": "float8", "d": "date", "e": "date", "t": "timestamp", "z": "timestamptz"},
    **{"s": "text", "n": "bigint", "f": "boolean", "w": "float8", "m": "bigint", "v": "float8"},
    **dict.fromkeys(("n_group_code", "id", "world", "key"), "bigint"),
}
PEOPLE = {"id": "bigint", "sex": "text", "born": "float8"}
ALIKE = {"float8": "x", "bigint": "n", "text": "s"}
"""A column of the same type, whose values are said alike."""


def walk(
    seed: int, statements: int, engines: Callable[[Pairs], Iterator[Engine]], within: Any
) -> tuple[int, int]:
    draw, counted, tight = random.Random(seed), 0, 0
    while counted < statements * WORLDS:
        policy, text = random_policy(draw), random_statement(draw)
        try:
            plans = plans_of(text, policy, "laplace")
        except InvalidQuery:
            continue
        if any(not plan.cells.open and plan.cells.size > MOST for plan in plans):
            continue
        found = check_pairs(plans, engines(pairs_of(policy, draw, within)), "5eed")
        counted, tight = counted + found[0], tight + found[1]
    return counted, tight


def test_postgresql_counts_no_neighbour_by_more(server: str) -> None:
    def engines(pairs: Pairs) -> Iterator[Engine]:
        for rows, people in (pairs.before, pairs.after):
            told = []
            for name, types, given in (("pairs", ROWS, rows), ("others", PEOPLE, people)):
                columns = ", ".join(f"{one} {type_}" for one, type_ in types.items())
                told += [f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({columns})"]
                values = [f"({', '.join(_value(one, row[one], types) for one in types)})" for row in given]
                told += [f"INSERT INTO {name} VALUES {', '.join(values)}"] if values else []
            execute(server, *told)
            yield PostgreSQL(server, table="pairs", tables={"people": "others"})

    counted, tight = walk(5, 8, engines, _POSTGRESQL)
    assert counted == 8 * WORLDS
    assert tight > 100


def _value(name: str, value: Any, types: Mapping[str, str]) -> str:
    return _said(ALIKE.get(types[name], name), value)


@pytest.mark.slow
def test_spark_counts_no_neighbour_by_more(spark: Any) -> None:
    fits = {
        **dict.fromkeys("tz", lambda moment: abs(moment) < 9 * 10**18),
        **dict.fromkeys("de", lambda day: abs(day) < 100_000_001),
    }
    names = {"float8": "double", "bigint": "bigint", "text": "string", "boolean": "boolean", "date": "int"}
    names |= {"timestamp": "bigint", "timestamptz": "bigint"}
    moment = "TIMESTAMP_NTZ'1970-01-01' + MAKE_DT_INTERVAL(0, 0, 0, CAST(t AS DECIMAL(18, 0)) / 1000000) t"
    dates = {"d": "DATE_FROM_UNIX_DATE(d) d", "e": "DATE_FROM_UNIX_DATE(e) e", "t": moment}
    dates["z"] = "TIMESTAMP_MICROS(z) z"

    def frame(types: Mapping[str, str], rows: list[dict[str, Any]]) -> Any:
        schema = ", ".join(f"{one} {names[type_]}" for one, type_ in types.items())
        made = spark.createDataFrame([tuple(row[one] for one in types) for row in rows], schema)
        return made.selectExpr(*(dates.get(one, one) for one in types))

    def engines(pairs: Pairs) -> Iterator[Engine]:
        for rows, people in (pairs.before, pairs.after):
            yield attach(frame(ROWS, rows), tables={"people": frame(PEOPLE, people)})

    counted, tight = walk(6, 5, engines, fits)
    assert counted == 5 * WORLDS
    assert tight > 50
