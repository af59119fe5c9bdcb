"""`Release.to_dict` is what the command line prints; data frames hold the same numbers. Every statistic."""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from command_line import leakcap
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.release import PrivateTable, Query, Release, Rows, preview
from leakcap.release.numbers.answers import Row
from leakcap.release.results.record import ReleasedRecord
from release.asked import contents
from release.world import COLUMNS, policy_of
from release.world import table as rows_table

POLICY = {
    "dataset": "tests",
    "neighbours": "add-remove-one",
    "unit": {"id": "id", "max_rows": 1, "max_groups": 1},
    "caps": {"epsilon": 10_000.0, "delta": 1e-3},
    "columns": COLUMNS | {"private": {"keys": "private"}, "value": {"keys": ["low", "high"]}},
}
ROWS = [{"id": i, "x": i % 9 - 2.5, "y": 2.0 + i % 6, "d": "abc"[i % 3], "k": 1 + i % 2} for i in range(200)]


def toml(fields: dict[str, Any]) -> str:
    """Numbers, texts and lists are written in TOML as in JSON."""
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items() if value is not None)


def queries() -> list[dict[str, Any]]:
    """Each kind of each statistic, plain and by a key; a count by private keys, one by a column `value`."""
    by = [{}, {"by": ("f",)}]
    found = [content | more | {"epsilon": 2.0} for content in contents() for more in by]
    found += [{"statistic": "count", "by": ("private",), "epsilon": 2.0, "delta": 1e-6}]
    found += [{"statistic": "count", "by": ("value",), "epsilon": 2.0}]
    kept = []
    for place, content in enumerate(found):
        fields = content | {"name": f"q{place}"}
        try:
            preview([Query(**fields)], policy=policy_of(**POLICY))
        except InvalidQuery:
            continue
        kept.append(fields)
    assert {one["statistic"] for one in kept} == {one["statistic"] for one in found}
    assert {one.get("by") for one in kept} == {None, ("f",), ("private",), ("value",)}
    return kept


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Release]]:
    """What the command line printed, and the same asked in Python of the same ledger."""
    folder, asked = tmp_path_factory.mktemp("both"), queries()
    data = rows_table(ROWS)
    data = data.append_column("private", pyarrow.array(["north"] * 150 + ["alone"] * 50))
    data = data.append_column("value", pyarrow.array(["low", "high"] * 100))
    pyarrow.parquet.write_table(data, folder / "t.parquet")
    heads = {name: value for name, value in POLICY.items() if isinstance(value, str)}
    tables = {"caps": POLICY["caps"], "unit": POLICY["unit"]} | {
        f"columns.{name}": one for name, one in POLICY["columns"].items()
    }  # type: ignore[attr-defined]
    parts = [toml(heads), *(f"[{name}]\n{toml(one)}" for name, one in tables.items())]  # type: ignore[arg-type]
    (folder / "policy.toml").write_text("\n".join(parts), encoding="utf-8")
    files = {"policy": "policy.toml", "data": "t.parquet", "ledger": "l.db"}
    text = "\n".join([toml(files), *(f"[[query]]\n{toml(one)}" for one in asked)])
    (folder / "ask.toml").write_text(text, encoding="utf-8")
    done = leakcap("release", "ask.toml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    table = PrivateTable(folder / "t.parquet", policy=folder / "policy.toml", ledger=folder / "l.db")
    before = table.budget()
    releases = table.release([Query(**one) for one in asked])
    assert table.budget() == before
    return list(zip(json.loads(done.stdout)["releases"], releases, strict=True))


def test_the_dictionary_is_what_the_command_line_prints(both: list[tuple[dict[str, Any], Release]]) -> None:
    for printed, release in both:
        mine = release.to_dict()
        assert json.loads(json.dumps(mine, allow_nan=False)) == printed | {"repeated": True}
        ReleasedRecord.model_validate(mine)


def test_frames_hold_the_same_numbers(both: list[tuple[dict[str, Any], Release]]) -> None:
    grouped = 0
    for printed, release in both:
        frame, table, polars = release.to_pandas(), release.to_arrow(), release.to_polars()
        assert frame.columns.tolist() == table.column_names == polars.columns
        assert polars.to_dicts() == table.to_pylist()
        grouped += len(frame.columns) > 4
        names = frame.columns.tolist()
        for held, word in ((frame.to_dict("records"), lambda key: key), (table.to_pylist(), str)):
            # Arrow's columns have one type: of keys of several, text.
            told = [
                {"keys": {name: word(row[name]) for name in names[:-4]}}
                | {"value": row[names[-4]], "interval": [row[name] for name in names[-3:-1]]}
                | ({"drowned": True} if row[names[-1]] == "u" else {})
                for row in held
            ]
            said = [
                row | {"keys": {n: word(k) for n, k in row.get("keys", {}).items()}}
                for row in printed["values"]
            ]
            assert told == said
            assert {row[names[-1]] for row in held} <= {"", "u"}
        assert frame.dtypes.iloc[-3:-1].tolist() == ["float64", "float64"]
    assert grouped > len(both) / 3


def test_a_key_called_value_keeps_its_name(both: list[tuple[dict[str, Any], Release]]) -> None:
    frame = both[-1][1].to_pandas()
    assert frame.columns.tolist() == ["value", "value_", "lower", "upper", "flag"]
    assert frame["value"].tolist() == ["low", "high"]


def told(rows: list[Row], like: Release) -> Release:
    return Release("q", like.query, "count", Rows.of(rows), 1.0, like.price)


def test_frames_of_no_groups_and_of_large_integers(both: list[tuple[dict[str, Any], Release]]) -> None:
    like = both[0][1]
    none = told([], like)
    assert none.to_pandas().dtypes["lower"] == "float64"
    assert none.to_arrow().schema.field("lower").type == pyarrow.float64()
    assert none.to_arrow().schema.field("flag").type == pyarrow.string()
    assert str(none.to_polars().schema["flag"]) == "String"
    assert (len(none.to_pandas()), none.to_arrow().num_rows) == (0, 0)
    rows = [Row({"k": 2**70, "m": "a"}, 2**70, (0.0, 1.0)), Row({"k": 2, "m": 3}, -1, (0.0, 1.0))]
    large = told(rows, like)
    assert large.to_pandas()["value"].tolist() == [2**70, -1]
    held = large.to_arrow().to_pydict()
    assert held["value"] == [2.0**70, -1.0]
    assert held["m"] == ["a", "3"]
    assert held["k"] == [str(2**70), "2"]
    assert large.to_polars().to_dict(as_series=False) == held | {"k": [2**70, 2]}


def test_a_frame_is_a_copy(both: list[tuple[dict[str, Any], Release]]) -> None:
    release = both[0][1]
    frame = release.to_pandas()
    frame.loc[0, "value"] = frame.loc[0, "lower"] = 10**6
    assert release.to_pandas().loc[0, "value"] == release.rows[0].value != 10**6
    assert release.to_pandas().loc[0, "lower"] == release.rows[0].interval[0]


@pytest.mark.parametrize(
    ("method", "library"),
    [("to_pandas", "pandas"), ("to_arrow", "pyarrow"), ("to_polars", "polars")],
)
def test_a_library_that_is_not_there_is_one_line(
    both: list[tuple[dict[str, Any], Release]], monkeypatch: pytest.MonkeyPatch, method: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        InvalidParameter, match=rf"`{method}` of `Release` needs {library}.*pip install {library}"
    ):
        getattr(both[0][1], method)()
