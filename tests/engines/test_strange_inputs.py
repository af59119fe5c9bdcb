"""What a library would stop at in the middle: text that is no Unicode, and tables still to be computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import DataError
from leakcap.release import PrivateTable, attach
from release.world import exact, planned, policy_of


def undecodable() -> pyarrow.Table:
    """Keys a, ��, b, c, the second of them bytes that are no UTF-8."""
    offsets = pyarrow.py_buffer(np.array([0, 1, 3, 4, 5], dtype=np.int32).tobytes())
    words = pyarrow.Array.from_buffers(
        pyarrow.string(), 4, [None, offsets, pyarrow.py_buffer(b"a\xff\xfebc")]
    )
    return pyarrow.table({"d": words, "x": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize("asked", [{"by": "d"}, {"where": "d = 'a'"}])
def test_a_parquet_file_with_bytes_that_are_no_text_is_refused_before_anything_is_spent(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    path = tmp_path / "bad.parquet"
    pyarrow.parquet.write_table(undecodable(), path)
    table = PrivateTable(path, policy=policy_of(), ledger="sqlite://")
    for _ in range(2):
        with pytest.raises(
            DataError, match=r"Column `d` of the file cannot be read.*Nothing was spent"
        ) as caught:
            table.count(epsilon=1.0, **asked)
        assert "xff" not in str(caught.value).lower()
        assert caught.value.__context__ is None
        assert table.budget()[0].spent == 0.0
    # Other columns are as good as ever.
    assert exact(planned(policy_of(), statistic="count"), attach(path)) == [[4]]


def test_in_an_arrow_table_such_bytes_are_no_key_and_nothing_stops() -> None:
    plan = planned(policy_of(), statistic="count", by=("d",))
    assert exact(plan, attach(undecodable())) == [[1, 1, 1]]


def test_a_parquet_file_with_text_from_everywhere_is_read(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"d": ["a", "ü€𝄞", None, ""]}), tmp_path / "good.parquet")
    plan = planned(policy_of(columns={"d": {"keys": ["ü€𝄞", ""]}}), statistic="count", by=("d",))
    assert exact(plan, attach(tmp_path / "good.parquet")) == [[1, 1]]


def test_a_lazy_table_of_polars_is_read() -> None:
    lazy = polars.LazyFrame({"x": [1.0, 2.0, None], "d": ["a", "b", "a"]}).filter(polars.col("d") == "a")
    assert attach(lazy).columns() == {"x": "DOUBLE", "d": "VARCHAR"}
    assert exact(planned(policy_of(), statistic="count", by=("d",)), attach(lazy)) == [[2, 0, 0]]


def test_a_lazy_table_that_stops_at_a_row_stops_at_opening_without_its_words() -> None:
    lazy = polars.LazyFrame({"x": ["1", "a secret"]}).with_columns(polars.col("x").cast(polars.Int64))
    with pytest.raises(DataError, match="could not be handed to the engine") as caught:
        attach(lazy)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
