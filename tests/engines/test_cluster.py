"""Spark by URL: a standalone cluster (`spark://`) and Spark Connect (`sc://`) return DuckDB's integers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from engines.adversarial import arrow_table, random_rows
from engines.cluster import asked, connect_server, standalone

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("place", [standalone, connect_server])
def test_a_cluster_agrees_with_duckdb(place: object, tmp_path: Path) -> None:
    assert callable(place)
    path = tmp_path / "odd.parquet"
    pyarrow.parquet.write_table(arrow_table(random_rows(5, 60)), path)
    with place(tmp_path) as url:
        found = asked(url, path)
    assert found == asked("duckdb", path)
    assert any(any(any(cells) for cells in part) for part in found)
