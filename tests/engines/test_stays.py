"""The tutorial's publications on every engine: the same whole numbers before noise, and those by hand.

Where a person has more rows than are used each engine hashes in its own way, and may keep other rows of
theirs. What does not hang on that is compared as it is; the rest where all rows are used, and with the rows
cut added.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leakcap.release import Engine, attach, load_policy, load_queries
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from ledger.server import execute
from stays.office import EXAMPLE, SOME, desk, make, printed, repeatable

KINDS = ["duckdb file", "csv", "postgresql", pytest.param("spark", marks=pytest.mark.slow)]
SIZES = [SOME, pytest.param(200_000, marks=pytest.mark.slow)]
CREATED = """DROP TABLE IF EXISTS stays; CREATE TABLE stays (patient bigint, stay bigint, admitted date,
discharged date, diagnosis text, age bigint, sex text, ward text, emergency boolean, nights bigint,
cost float8)"""


@contextmanager
def holding(kind: str, rows: int, folder: Path, request: Any) -> Iterator[Engine]:
    """An engine over the table of so many rows."""
    path = folder / {"duckdb file": "stays.duckdb", "csv": "stays.csv"}.get(kind, "stays.parquet")
    make.write(make.stays(rows), path)
    policy = load_policy(EXAMPLE / "policy.toml")
    wanted = {"": {"patient", "stay", *policy.columns}}
    if kind == "postgresql":
        yield PostgreSQL(stored(rows, folder, request), table="stays")
    elif kind == "spark":
        yield attach(request.getfixturevalue("spark").read.parquet(str(path)))
    else:
        yield attach(path, table="stays" if kind == "duckdb file" else None, wanted=wanted)


def stored(rows: int, folder: Path, request: Any) -> str:
    """The URL of a server that has the table."""
    server: str = request.getfixturevalue("server")
    execute(server, CREATED)
    make.write(make.stays(rows), folder / "stays.csv")
    with (
        psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection,
        connection.cursor().copy("COPY stays FROM STDIN (FORMAT csv, HEADER)") as copy,
    ):
        copy.write((folder / "stays.csv").read_bytes())
    return server


Found = dict[str, list[list[int]]]
"""By publication and query: the whole numbers of each part, cell by cell."""


def totals(engine: Engine, most: int = 5, names: tuple[str, ...] = ("march.toml", "year.toml")) -> Found:
    """Of both publications, where so many rows of a person are used."""
    found = {}
    for name in names:
        queries = load_queries(EXAMPLE / name)
        given = load_policy(queries.policy)
        unit = given.unit.model_copy(update={"max_rows": most})  # type: ignore[union-attr]
        policy = given.model_copy(update={"unit": unit})
        asked = [one for one in queries.queries if one.statistic != "rows_cut" or one.up_to > most]  # type: ignore[operator]
        plans = [plan_query(one, policy) for one in asked]
        for scan in scans_of(plans, engine, "5eed"):
            for place, totals_ in scan.run(engine).items():
                said = [[int(one) for one in part.tolist()] for part in totals_.totals]
                found[f"{name}: {plans[place].query.name}"] = said
    return found


def figures(found: Found) -> list[int]:
    """The table's own counts by month and sex: the rows kept and the rows cut."""
    (kept,), (_, cut) = found["year.toml: stays by month and sex"], found["year.toml: cut"]
    return [a + b for a, b in zip(kept, cut, strict=True)]


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_has_the_same_whole_numbers(kind: str, rows: int, tmp_path: Path, request: Any) -> None:
    make.write(make.stays(rows), tmp_path / "reference.parquet")
    plain = attach(tmp_path / "reference.parquet")
    whole, march, year = totals(plain, 60), totals(plain, names=("march.toml",)), figures(totals(plain))
    assert (len(whole), len(march), len(year)) == (8, 4, 24)
    with holding(kind, rows, tmp_path, request) as engine:
        assert totals(engine, 60) == whole
        assert totals(engine, names=("march.toml",)) == march
        assert figures(totals(engine)) == year


@pytest.mark.parametrize("rows", SIZES)
def test_the_numbers_are_those_by_hand(rows: int, tmp_path: Path) -> None:
    """In Python, without an engine: what does not hang on which rows of a person are kept."""
    table = make.stays(rows)
    make.write(table, tmp_path / "stays.parquet")
    found = totals(attach(tmp_path / "stays.parquet"))
    march = [row for row in table.to_pylist() if row["admitted"].replace(day=1) == datetime.date(2024, 3, 1)]
    wards = Counter((row["patient"], row["ward"]) for row in march)
    most = max(Counter(row["patient"] for row in march).values())
    assert most <= 5  # nobody has more than five stays in March: the table's own figures
    by_hand = [
        sum(n for (_, ward), n in wards.items() if ward == one) for one in ("north", "south", "east", "west")
    ]
    assert found["march.toml: stays by ward"] == [by_hand]
    assert found["march.toml: patients"] == [[len({row["patient"] for row in march})]]
    assert found["march.toml: cut"] == [[0], [0]]
    sizes = Counter(table["patient"].to_pylist()).values()
    kept = sum(map(sum, found["year.toml: stays by month and sex"]))
    cut = sum(found["year.toml: cut"][1])
    assert (kept, kept + cut) == (sum(min(n, 5) for n in sizes), rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_month_from_a_file_and_in_sql_is_the_same_on_every_engine(
    kind: str, tmp_path: Path, request: Any
) -> None:
    """All of a release, with one seed of noise: digit for digit, since nobody has more rows than are used."""
    office = desk(tmp_path / "office")
    text = (office / "march.toml").read_text()
    data = {"duckdb file": "stays.duckdb", "csv": "stays.csv", "spark": "local[2]"}.get(kind, "")
    table = {"duckdb file": "stays", "spark": str(office / "stays.parquet"), "postgresql": "stays"}.get(kind)
    if kind == "postgresql":
        data = stored(SOME, tmp_path, request)
    elif kind != "spark":
        make.write(make.stays(SOME), office / data)
    named = f'data = "{data}"' + (f'\ntable = "{table}"' if table else "")
    other = text.replace('data = "stays.parquet"', named).replace("stays.db", "other.db")
    assert other.count(named) == 1
    (office / "other.toml").write_text(other)
    asked = "SELECT ward, COUNT(*) FROM stays WHERE month = '2024-02' GROUP BY ward"
    with repeatable():
        assert printed("release", "other.toml", cwd=office) == printed("release", "march.toml", cwd=office)
        found = [
            printed("sql", asked, "--epsilon", "0.1", "--in", file, cwd=office)
            for file in ("other.toml", "march.toml")
        ]
    assert found[0] == found[1]
    assert [row[0] for row in found[0]["count"]] == ["north", "south", "east", "west"]
