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


MANY = load_policy({
    "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    "unit": {"id": "id", "row": "stay", "max_rows": 9},
    "columns": {
        "d": {"keys": ["it's", *(f"Ward {i}" for i in range(2400))]}, "k": {"keys": [*range(0, 4800, 2)]},
    },
})  # fmt: skip
"""More keys than go as literals, and a column that tells a person's rows apart."""

STAYS = [
    ("a", "1", "Ward 7", 8), ("a", "1", "ward 7", 9), ("a", "2", "it's", None), ("a", None, None, 8),
    ("b", "1", "Ward 2400", -2), ("b", "3", "Ward 7", 9), (None, None, "Ward 7", 4798), (None, "3", "?", 0),
]  # fmt: skip


def kept_of_stays(found: tuple[DataFault, ...]) -> None:
    told = [(one.place, one.text) for one in found if one.place != "id"]
    assert [place for place, _ in told] == ["stay", "d", "d", "k", "k"]
    expected = [
        "1 row has no key and 2 rows have a key that another row of the same person has. ",
        "3 of 7 rows have a key that the policy does not list, and no group counts them: ",
        # Two are there, and a third is what `Ward 2400` may stand for.
        f" and {2401 - 3 - 5:,} more. Is each spelt as in the data?",
        '3 of 7 rows have a key that the policy does not list, and no group counts them: "9" (2 rows) and '
        '"-2" (1 row). ',
        f" and {2400 - 3 - 5:,} more. Is each spelt as in the data?",
    ]
    assert [words for words, (_, text) in zip(expected, told, strict=True) if words not in text] == [], told
    assert '"ward 7" (1 row; did you mean `Ward 7`?)' in told[1][1]


def test_many_keys_and_a_row_key(tmp_path: Path) -> None:
    names = ("id", "stay", "d", "k")
    table = pyarrow.table({name: [row[place] for row in STAYS] for place, name in enumerate(names)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet", polars.DataFrame(table)):
        kept_of_stays(check(data, MANY))


def test_many_keys_and_a_row_key_in_postgresql(server: str) -> None:
    execute(server, "DROP TABLE IF EXISTS stays")
    execute(server, "CREATE TABLE stays (id text, stay text, d text, k int8)")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.cursor().executemany("INSERT INTO stays VALUES (%s, %s, %s, %s)", STAYS)
    kept_of_stays(check(server, MANY, table="stays"))


@pytest.mark.slow
def test_many_keys_and_a_row_key_in_spark(spark: Any) -> None:
    kept_of_stays(check(spark.createDataFrame(STAYS, "id string, stay string, d string, k bigint"), MANY))
