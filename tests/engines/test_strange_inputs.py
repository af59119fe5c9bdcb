"""What a library would stop at in the middle: text that is no Unicode, and tables still to be computed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import DataError
from leakcap.models.examples import of_table
from leakcap.release import PrivateTable, attach
from leakcap.release.engine.readings import decoded
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


RAW = [b"a", b"\xff", b"b", b"\xfe", b"a\x81", b"\xed\xa0\x80", None, b"c"]


def arrow(texts: list[bytes | None], type_: Any) -> pyarrow.Array:
    """Text of any bytes, as a library that does not look at them hands it over."""
    pairs = {
        pyarrow.string(): pyarrow.binary(),
        pyarrow.large_string(): pyarrow.large_binary(),
        pyarrow.string_view(): pyarrow.binary_view(),
    }
    raw = pyarrow.array(texts, pairs[type_])
    return pyarrow.Array.from_buffers(type_, len(raw), raw.buffers())


def named(texts: list[bytes | None], type_: Any) -> pyarrow.Array:
    """The same as a dictionary."""
    words = list(dict.fromkeys(one for one in texts if one is not None))
    places = pyarrow.array([None if one is None else words.index(one) for one in texts], pyarrow.int8())
    return pyarrow.DictionaryArray.from_arrays(places, arrow(words, type_))


def pandas_of(array: pyarrow.Array) -> pandas.Series:
    return pandas.Series(pandas.array(array, dtype=pandas.ArrowDtype(array.type)))


TEXTS: dict[str, Any] = {
    "string": lambda texts: arrow(texts, pyarrow.string()),
    "large_string": lambda texts: arrow(texts, pyarrow.large_string()),
    "string_view": lambda texts: arrow(texts, pyarrow.string_view()),
    "dictionary": lambda texts: named(texts, pyarrow.string()),
    "dictionary of views": lambda texts: named(texts, pyarrow.string_view()),
    "ArrowDtype": lambda texts: pandas_of(arrow(texts, pyarrow.string())),
    "ArrowDtype dictionary": lambda texts: pandas_of(named(texts, pyarrow.large_string())),
}
WAYS = [*TEXTS, "RecordBatch", "CSV"]


def table_of(way: str, texts: list[bytes | None], folder: Path) -> Any:
    """A table with the texts as id, as words and as labels, and what `attach` needs to find it."""
    numbers = {"x": [1.0] * len(texts), "copied": [n % 2 for n in range(len(texts))]}
    if way == "CSV":
        lines = [
            b"id,d,x,copied",
            *(b"%s,%s,1.0,%d" % (t or b"", t or b"", n % 2) for n, t in enumerate(texts)),
        ]
        (folder / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
        return folder / "t.csv"
    made = TEXTS.get(way, TEXTS["string"])(texts)
    if isinstance(made, pandas.Series):
        return pandas.DataFrame({"id": made, "d": made, **numbers})
    table = pyarrow.table({"id": made, "d": made, **numbers})
    if way == "RecordBatch":
        return table.to_batches()[0]
    return table


def opened(way: str, texts: list[bytes | None], folder: Path, policy: Any) -> PrivateTable:
    return PrivateTable(table_of(way, texts, folder), policy=policy, ledger="sqlite://")


@pytest.mark.parametrize("way", WAYS)
def test_such_bytes_are_no_key_and_nothing_stops(way: str, tmp_path: Path) -> None:
    table = opened(way, RAW, tmp_path, policy_of())
    assert exact(planned(policy_of(), statistic="count", by=("d",)), table.engine) == [[1, 1, 1]]
    others = planned(policy_of(), statistic="count", where="d <> 'a'")
    assert exact(others, table.engine) == [[6]]


@pytest.mark.parametrize("way", WAYS)
def test_a_group_that_is_called_so_does_not_stop_the_release(way: str, tmp_path: Path) -> None:
    """It stopped when the row was among those that were asked for, which said that it is."""
    policy = policy_of(
        columns={"d": {"keys": "private"}, "copied": {"keys": [0, 1]}}, caps={"epsilon": 1e4, "delta": 0.5}
    )
    table = opened(way, RAW * 20, tmp_path, policy)
    release = table.count(by="d", where="copied = 1 OR copied = 0", epsilon=1e3, delta=0.1)
    names = [row.keys["d"] for row in release.rows]
    assert len(names) == 7
    assert names[:3] == ["a", "a" + names[1][1:], "b"]


@pytest.mark.parametrize("way", WAYS)
def test_two_people_with_such_ids_stay_two(way: str, tmp_path: Path) -> None:
    policy = policy_of(
        unit={"id": "id", "max_rows": 2},
        columns={"x": {"bounds": [0.0, 2.0]}, "d": {"keys": ["a", "b"]}},
    )
    table = opened(way, RAW + RAW, tmp_path, policy)
    assert exact(planned(policy, statistic="distinct"), table.engine) == [[7]]
    people = of_table(table, ["x"], "d", None, classes=True, centred=True).read()
    assert people[2] is not None
    assert sorted(np.bincount(people[2]).tolist()) == [2] * 7
    assert sorted(label for label in people[1].tolist() if label in ("a", "b")) == ["a", "a", "b", "b"]


def test_a_duckdb_file_holds_no_such_text_but_in_an_enum_which_is_refused_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.register("given", pyarrow.table({"d": arrow(RAW, pyarrow.string())}))
        with pytest.raises(duckdb.InvalidInputException, match="unicode"):
            made.execute("CREATE TABLE t AS SELECT d FROM given")
        made.execute("CREATE TYPE words AS ENUM (SELECT DISTINCT d FROM given WHERE d IS NOT NULL)")
        made.execute("CREATE TABLE t (d words)")
        made.execute("INSERT INTO t VALUES ('a')")
    with pytest.raises(DataError, match="an ENUM in it has a value that is no Unicode") as caught:
        attach(path, table="t")
    assert caught.value.__context__ is None


def test_bytes_are_written_out_so_that_no_two_texts_become_one() -> None:
    raw = [bytes(one) for size in (1, 2) for one in itertools.product(range(0x7F, 0x100), repeat=size)]
    raw += [b"\xe2\x82\xac", b"M\xfcller", b"M\xf6ller", "Müller".encode()]
    assert len({decoded(one) for one in raw}) == len(raw)


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
