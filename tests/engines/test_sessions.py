"""A table that DuckDB need not open itself takes no database of its own, and shares nothing with others."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import DataError
from leakcap.release import attach
from leakcap.release.engine import attaching

_COUNT = "SELECT COUNT(*) FROM leakcap_source"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each database that was started."""
    found: list[int] = []
    plain = attaching.fresh_database

    def counted() -> duckdb.DuckDBPyConnection:
        found.append(1)
        return plain()

    monkeypatch.setattr(attaching, "fresh_database", counted)
    return found


def _written(folder: Path, name: str, rows: int) -> Path:
    sign = "\t" if name.endswith("tsv") else ","
    path = folder / name
    path.write_text("\n".join([f"id{sign}x", *(f"{row}{sign}1.5" for row in range(rows))]) + "\n")
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "A.CSV"])
def test_lines_are_handed_to_a_session(tmp_path: Path, started: list[int], name: str) -> None:
    """Of a CSV file beside others, and beside a data frame that it is joined with."""
    first = attach(_written(tmp_path, name, 3))
    other = attach(_written(tmp_path, f"other-{name}", 5))
    beside = attach(pyarrow.table({"id": [1]}), tables={"people": _written(tmp_path, f"third-{name}", 7)})
    assert [engine.aggregate(_COUNT) for engine in (first, other, beside)] == [[(3,)], [(5,)], [(1,)]]
    assert beside.aggregate("SELECT COUNT(*) FROM leakcap_joined_people") == [(7,)]
    assert not started


def test_what_duckdb_opens_itself_has_a_database(tmp_path: Path, started: list[int]) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), path)
    assert attach(path).aggregate(_COUNT) == [(2,)]
    joined = attach(_written(tmp_path, "a.csv", 3), tables={"people": path})
    assert joined.aggregate(_COUNT) == [(3,)]
    assert len(started) == 2


def test_the_session_of_a_csv_file_is_locked(tmp_path: Path) -> None:
    """No other file, not even its own, and no setting."""
    path = _written(tmp_path, "a.csv", 3)
    engine = attach(path)
    for refused in (
        f"SELECT COUNT(*) FROM read_csv('{path}')",
        f"SELECT COUNT(*) FROM read_text('{path}')",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
    ):
        with pytest.raises(DataError):
            engine.aggregate(refused)
    assert engine.aggregate(_COUNT) == [(3,)]
