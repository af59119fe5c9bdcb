"""The owner's check says the same on every engine, and what counting the rows one by one says."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import polars
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.owner import DataFault, check
from leakcap.policy import load_policy
from ledger.server import execute

Row = tuple[str | None, str | None, float | None, int | None]

POLICY = load_policy({
    "dataset": "t", "neighbours": "replace-one", "rows": 40, "caps": {"epsilon": 1.0},
    "unit": {"id": "id", "max_rows": 2},
    "columns": {
        "d": {"keys": ["Ward A", "B", "never"]}, "x": {"bounds": [0.0, 1.0]}, "k": {"keys": [1, 2]},
    },
})  # fmt: skip


def rows_of(seed: int) -> list[Row]:
    source = random.Random(seed)
    people = [*(f"p{i}" for i in range(30)), "P1", "p2 ", None]
    wards = ["Ward A", "ward a", "B", "B ", "nobody's", "", None]
    numbers = [0.0, 0.5, 1.0, -0.5, 1.5, 7.0, float("inf"), float("nan"), None]
    return [
        (source.choice(people), source.choice(wards), source.choice(numbers), source.choice([1, 2, 3, None]))
        for _ in range(80)
    ]


def told(rows: list[Row]) -> dict[str, list[str]]:
    """What has to be in the findings, counted in Python."""
    ids = Counter(row[0] for row in rows if row[0] is not None)
    over = [many for many in ids.values() if many > 2]
    folded = {one.strip().lower() for one in ids}
    wards = [row[1] for row in rows if row[1] is not None]
    strange = Counter(ward for ward in wards if ward not in ("Ward A", "B"))
    numbers = [row[2] for row in rows if row[2] is not None and row[2] == row[2]]
    below, above = sum(x < 0.0 for x in numbers), sum(x > 1.0 for x in numbers)
    codes = [row[3] for row in rows if row[3] is not None]
    assert all((strange["ward a"], strange["B "], below, above))
    return {
        "id": [
            f"{sum(row[0] is None for row in rows)} of 80 rows have no id",
            f"{len(over)} people have more than the 2 rows of `unit.max_rows` (one has {max(over)});",
            f"about all rows {sum(over) - 2 * len(over)} rows beyond that are not used",
            f"{len(ids) - len(folded)} of {len(ids)} ids differ",
            f"the policy says 40 people (`rows`), and there are {len(ids)}.",
        ],
        "d": [
            f"{sum(strange.values())} of {len(wards)} rows have a key that the policy does not list",
            f'"ward a" ({strange["ward a"]} rows; did you mean `Ward A`?)',
            f'"B " ({strange["B "]} rows; did you mean `B`?)',
            "no row has the key `never`",
        ],
        "x": [f"of {len(numbers)} values {below} below 0 and {above} above 1, outside the bounds"],
        "k": [f'{codes.count(3)} of {len(codes)} rows have a key', f'"3" ({codes.count(3)} rows)'],
    }  # fmt: skip


def kept(found: tuple[DataFault, ...], rows: list[Row]) -> None:
    said = {place: " ".join(f.text for f in found if f.place == place) for place in {f.place for f in found}}
    expected = told(rows)
    assert set(said) == set(expected)
    missing = [text for place, texts in expected.items() for text in texts if text not in said[place]]
    assert missing == [], said


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(("id", "d", "x", "k"))}


@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_table(seed: int, tmp_path: Path) -> None:
    rows = rows_of(seed)
    table = pyarrow.table(columns(rows))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    frame = pandas.DataFrame(columns(rows)).astype({"d": "category"})
    for data in (table, tmp_path / "t.parquet", frame, polars.DataFrame(columns(rows), strict=False)):
        kept(check(data, POLICY), rows)


@pytest.mark.parametrize("seed", range(2))
def test_postgresql(seed: int, server: str) -> None:
    rows = rows_of(seed)
    execute(server, "DROP TABLE IF EXISTS checked")
    execute(server, "CREATE TABLE checked (id text, d text, x float8, k int8)")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.cursor().executemany("INSERT INTO checked VALUES (%s, %s, %s, %s)", rows)
    kept(check(server, POLICY, table="checked"), rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_spark(seed: int, spark: Any) -> None:
    rows = rows_of(seed)
    kept(check(spark.createDataFrame(rows, "id string, d string, x double, k bigint"), POLICY), rows)


def test_joined_tables(tmp_path: Path) -> None:
    policy = load_policy({
        "dataset": "visits", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        "unit": {"id": "person", "max_rows": 3}, "columns": {"ward": {"keys": ["A", "B"]}},
        "tables": {
            "people": {"id": "person", "columns": {"sex": {"keys": ["F", "M"]}}},
            "wards": {
                "public": True, "key": "code", "on": "ward", "columns": {"beds": {"bounds": [0.0, 99.0]}},
            },
        },
    })  # fmt: skip
    (tmp_path / "visits.csv").write_text("person,ward\n1,A\n2,B\n")
    (tmp_path / "people.csv").write_text("person,sex\n1,F\n1,M\n,M\n2,m\n")
    (tmp_path / "wards.csv").write_text("code,beds\nA,12\nB,12 beds\n")
    places = {"people": tmp_path / "people.csv", "wards": tmp_path / "wards.csv"}
    found = [(f.place, f.grade, f.text[:40]) for f in check(tmp_path / "visits.csv", policy, tables=places)]
    assert found == [
        ("people.person", "problem", "1 of 4 rows has no id: it belongs to nob"),
        ("people.person", "note", "1 key has several rows; the one that sor"),
        ("people.sex", "problem", "1 of 4 rows has a key that the policy do"),
        ("wards.beds", "problem", "1 of 2 rows cannot be read as a number a"),
    ]
    (tmp_path / "people.csv").write_text("person;sex\n1;F\n")
    assert [f.place for f in check(tmp_path / "visits.csv", policy, tables=places)] == [
        "people.csv",
        "wards.beds",
    ]
