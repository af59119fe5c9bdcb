"""Engines: all inputs agree, no CSV line changes how another is read, and nothing of the rows gets out."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.errors import DataError
from leakcap.release import attach
from release.world import exact, planned, policy_of

VALUES: dict[str, list[Any]] = {
    "id": [1, 2, 2, 3, 4, 5],
    "x": [1.5, None, -1e300, 9.999, 0.1, 2.0],
    "y": [2.0, 3.0, None, 7.5, 100.0, -1.0],
    "d": ["a", "b", "z", None, 'it\'s, "odd"', "a"],
    "k": [1, 2, 1, None, 9, 2],
    "f": [True, False, None, True, False, True],
}
QUERIES: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "where": "d <> 'a' AND x < 5", "by": ("k",)},
    {"statistic": "sum", "column": "x", "by": ("d",)},
    {"statistic": "mean", "column": "y", "where": "NOT f OR k = 2"},
    {"statistic": "histogram", "column": "x", "bins": 7},
]


def arrow() -> pyarrow.Table:
    return pyarrow.table(VALUES)


def as_csv(folder: Path) -> Path:
    lines = ["id,x,y,d,k,f"]
    for row in zip(*VALUES.values(), strict=True):
        cells = ["" if cell is None else str(cell) for cell in row]
        lines.append(",".join('"' + c.replace('"', '""') + '"' if set(c) & {",", '"'} else c for c in cells))
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


def as_parquet(folder: Path) -> Path:
    pyarrow.parquet.write_table(arrow(), folder / "t.parquet")
    return folder / "t.parquet"


def as_duckdb(folder: Path) -> Path:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", arrow())
        connection.execute('CREATE TABLE "the table" AS SELECT * FROM given')
        connection.execute("CREATE VIEW trap AS SELECT 1")
        connection.execute("CREATE TABLE computed (x DOUBLE, d AS (1 / x))")
        connection.execute("CREATE TABLE collated (x DOUBLE, id VARCHAR COLLATE NOCASE)")
    return folder / "t.duckdb"


def test_all_inputs_give_the_same_integers(tmp_path: Path) -> None:
    objects = pandas.DataFrame({name: pandas.Series(v, dtype=object) for name, v in VALUES.items()})
    engines = {
        "arrow": attach(arrow()),
        "pandas": attach(arrow().to_pandas()),
        "pandas objects": attach(objects),
        "polars": attach(polars.DataFrame(VALUES)),
        "parquet": attach(as_parquet(tmp_path)),
        "csv": attach(as_csv(tmp_path)),
        "duckdb": attach(as_duckdb(tmp_path), table="the table"),
    }
    for unit in ("row", {"id": "id", "max_rows": 1}):
        for query in QUERIES:
            plan = planned(policy_of(unit=unit), **query)
            answers = {name: exact(plan, engine) for name, engine in engines.items()}
            if unit != "row":  # an id that is text is hashed as text, so that other rows of a person are kept
                textual = [str(answers.pop(name)) for name in ("pandas", "pandas objects", "csv")]
                assert len(set(textual)) == 1, textual
            assert len({str(answer) for answer in answers.values()}) == 1, answers
            assert any(any(part) for part in answers["arrow"])


line = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b""))
usual = st.sampled_from(
    [b"1.5,a", b'2.5,"b"', b'"3",a', b",", b"9,c,more", b'"open,a', b'a"b,c', b"nan,\xff", b"4"]
)
lines = st.lists(st.one_of(line, usual), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=lines, after=lines, odd=st.one_of(line, usual))
def test_no_csv_line_changes_how_another_is_read(
    tmp_path_factory: Any, before: list[bytes], after: list[bytes], odd: bytes
) -> None:
    """The rows of a file are the rows of its lines read each alone, in order."""

    def rows(content: list[bytes]) -> list[tuple[Any, ...]]:
        path = tmp_path_factory.getbasetemp() / "lines.csv"
        path.write_bytes(b"\n".join([b"x,d", *content]))
        return attach(path).aggregate("SELECT list(x), list(d) FROM leakcap_source")

    def together(parts: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        columns = zip(*(part[0] for part in parts), strict=True)
        joined = [[value for column in columns_ for value in column or []] for columns_ in columns]
        return [tuple(column or None for column in joined)]

    assert rows([*before, odd, *after]) == together([rows([one]) for one in [*before, odd, *after]])


def test_csv_as_written_by_others(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(
        b'\xef\xbb\xbfx,"odd, name"\r\n1.5,"say ""hi"""\r\n,\r\n"2",plain\r\n\r\n3,"a,b",too many\r\n'
    )
    found = attach(path).aggregate('SELECT list(x), list("odd, name") FROM leakcap_source')
    assert found == [(["1.5", None, "2", "3"], ['say "hi"', None, "plain", "a,b"])]
    path = tmp_path / "t.tsv"
    path.write_text("x\td\n1,5\t'a'\n")
    assert attach(path).aggregate("SELECT x, d FROM leakcap_source") == [("1,5", "'a'")]


@pytest.mark.parametrize("header", ["", "x,x", "x,X", "x,,d", 'x,"d'])
def test_csv_needs_a_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(header + "\n1,2\n")
    with pytest.raises(DataError, match="column names"):
        attach(path)


def test_files_that_are_refused(tmp_path: Path) -> None:
    database = as_duckdb(tmp_path)
    (tmp_path / "t.xlsx").touch()
    (tmp_path / "bad.parquet").write_bytes(b"secret 12345")
    (tmp_path / "glob*.parquet").touch()
    for path, table, match in (
        ("nothing.parquet", None, "no file"),
        ("t.xlsx", None, "must end in"),
        ("bad.parquet", None, "not a Parquet file"),
        ("glob*.parquet", None, "in its path"),
        (database.name, None, "`table` is missing"),
        (database.name, "elsewhere", "no table"),
        (database.name, "trap", "a view does not count"),
        (database.name, "computed", "computed columns"),
        (database.name, "collated", "collation"),
        (as_csv(tmp_path).name, "t", "DuckDB file only"),
    ):
        with pytest.raises(DataError, match=match) as caught:
            attach(tmp_path / path, table=table)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "duckdb"])
def test_the_engine_sees_nothing_else(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    hidden = pandas.DataFrame({"a": [1]})
    made: dict[str, Any] = {
        "parquet": lambda: attach(as_parquet(tmp_path)),
        "csv": lambda: attach(as_csv(tmp_path)),
        "arrow": lambda: attach(arrow()),
        "duckdb": lambda: attach(as_duckdb(tmp_path), table="the table"),
    }
    engine = made[kind]()
    assert engine.aggregate("SELECT count(*) FROM leakcap_source") == [(6,)]
    for statement in (
        f"SELECT * FROM read_csv('{other}')",
        f"SELECT * FROM '{other}'",
        f"COPY leakcap_source TO '{tmp_path / 'out.csv'}'",
        "SELECT * FROM hidden",
        "SET enable_external_access = true",
        "SET default_collation = 'nocase'",
        "INSTALL httpfs",
        f"ATTACH '{tmp_path / 'new.duckdb'}'",
    ):
        with pytest.raises(DataError):
            engine.aggregate(statement)
    assert len(hidden) == 1
    assert not (tmp_path / "out.csv").exists()


def test_data_frames_share_a_database_and_see_nothing_of_each_other() -> None:
    first, second = attach(arrow()), attach(pyarrow.table({"a": [7]}))
    third = attach(pandas.DataFrame({"a": [8, 9]}))
    counted = "SELECT count(*) FROM leakcap_source"
    assert [engine.aggregate(counted) for engine in (first, second, third)] == [[(6,)], [(1,)], [(2,)]]
    assert second.columns() == {"a": "BIGINT"}
    assert third.aggregate("SELECT sum(a) FROM leakcap_source") == [(17,)]
    views = "SELECT count(*) FROM duckdb_views() WHERE view_name = 'leakcap_source'"
    assert third.aggregate(views) == [(1,)]


def test_a_child_of_a_fork_starts_a_database_of_its_own() -> None:
    program = (
        "import os, sys, pyarrow\n"
        "from leakcap.release import attach\n"
        "ask = lambda: attach(pyarrow.table({'a': [1, 2]})).aggregate('SELECT sum(a) FROM leakcap_source')\n"
        "assert ask() == [(3,)]\n"
        "child = os.fork()\n"
        "assert ask() == [(3,)]\n"
        "sys.exit(os.waitpid(child, 0)[1] if child else 0)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


class Odd:
    """A value whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("secret")


@pytest.mark.parametrize(
    "odd", ["\ud800", Odd(), b"\xff", [1], {"a": 1}, 2**100, math.nan, pandas.NA, "a\0b"]
)
def test_no_object_in_a_pandas_column_stops_the_release(odd: object) -> None:
    frame = pandas.DataFrame({"d": pandas.Series(["a", odd, "b"], dtype=object), "x": [1.0, 2.0, 3.0]})
    for query in (
        {"statistic": "histogram", "column": "d"},
        {"statistic": "count", "where": "d >= 'a'", "by": ("d",)},
    ):
        assert exact(planned(policy_of(), **query), attach(frame)) == [[1, 1, 0]]
    numbers = pandas.DataFrame({"x": pandas.Series([1.0, odd, 2.0], dtype=object)})
    assert exact(planned(policy_of(), statistic="count", where="x <= 2"), attach(numbers)) == [[2]]


def test_the_type_of_a_pandas_column_does_not_hang_on_its_rows() -> None:
    """A reader that samples could take a column for numbers and stop at the row that is none."""
    for first in (None, 1, "1"):
        column = pandas.Series([first] * 5_000 + ["a"], dtype=object)
        engine = attach(pandas.DataFrame({"d": column}))
        assert engine.columns() == {"d": "OBJECT"}
        assert exact(planned(policy_of(), statistic="count", where="d = 'a'"), engine) == [[1]]


def test_a_collation_cannot_rename_a_group(tmp_path: Path) -> None:
    """One row `A` before the rows `a` must not make the group `a` vanish."""
    engine = attach(arrow())
    engine._connection.execute("CREATE TABLE folded (d VARCHAR COLLATE NOCASE)")
    engine._connection.execute("INSERT INTO folded VALUES ('A'), ('a'), ('a'), ('B')")
    engine._connection.unregister("leakcap_source")
    engine._connection.execute("CREATE VIEW leakcap_source AS SELECT * FROM folded")
    assert exact(planned(policy_of(), statistic="count", by=("d",)), engine) == [[2, 0, 0]]
    assert exact(planned(policy_of(), statistic="count", where="d = 'a'"), engine) == [[2]]
    assert exact(planned(policy_of(), statistic="count", where="d IN ('b') OR d > 'b'"), engine) == [[0]]


def test_float_types_and_wide_integers(tmp_path: Path) -> None:
    data = pyarrow.table(
        {
            "x": pyarrow.array(np.array([0.5, 2.5], np.float32)),
            "k": pyarrow.array([1, 2**64 - 1], pyarrow.uint64()),
        }
    )
    plan = planned(policy_of(), statistic="sum", column="x")
    assert plan.grid is not None
    assert plan.grid.step * exact(plan, attach(data))[0][0] == 3
    assert exact(planned(policy_of(), statistic="count", by=("k",)), attach(data)) == [[1, 0]]
