"""A file of few rows is read by one thread, which is done before another would have begun."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from leakcap.errors import DataError
from leakcap.release import attach
from leakcap.release.engine import duck


def written(folder: Path, name: str, rows: int) -> Path:
    file = folder / f"{name}.parquet"
    duckdb.execute(f"COPY (SELECT range AS id FROM range({rows})) TO '{file}' (FORMAT parquet)")
    return file


def threads(data: object, **more: object) -> int:
    engine = attach(data, **more)  # type: ignore[arg-type]
    ((found,),) = engine._fetch("SELECT current_setting('threads')")  # type: ignore[union-attr]
    return int(found)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """What a table may have, and how many threads there are otherwise: two, however many processors."""
    monkeypatch.setattr(duck, "_SMALL", 10)
    monkeypatch.setitem(duck._SETTINGS, "threads", 2)
    return 10


def test_a_file_of_few_rows_has_one_thread(tmp_path: Path, small: int) -> None:
    assert threads(written(tmp_path, "a", small)) == 1
    assert threads(written(tmp_path, "b", small + 1)) == 2


def test_joined_tables_count_together(tmp_path: Path, small: int) -> None:
    few, more = written(tmp_path, "a", small // 2), written(tmp_path, "b", small // 2 + 1)
    assert threads(few, tables={"other": few}) == 1
    assert threads(few, tables={"other": more}) == 2


def test_a_stored_table_counts_as_a_file_does(tmp_path: Path, small: int) -> None:
    file = tmp_path / "d.duckdb"
    with duckdb.connect(str(file)) as connection:
        for name, rows in (("few", small), ("many", small + 1)):
            connection.execute(f"CREATE TABLE {name} AS SELECT range AS id FROM range({rows})")
    assert (threads(file, table="few"), threads(file, table="many")) == (1, 2)


def test_where_rows_cannot_be_counted_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    fetch = duck.DuckDB._fetch

    def failing(self: duck.DuckDB, statement: str, *more: str) -> object:
        if "COUNT(*)" in statement:
            raise DataError("damaged")
        return fetch(self, statement, *more)

    monkeypatch.setattr(duck.DuckDB, "_fetch", failing)
    assert threads(written(tmp_path, "a", small)) == 2
