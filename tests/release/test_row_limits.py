"""Other values of `max_rows`: each error is that of a policy that has it, and the cut is what answers say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from typer.testing import CliRunner

from leakcap.cli.main import app
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.release import PrivateTable, Query, load_policy, preview, row_limits

COLUMNS = {"x": {"bounds": [0.0, 10.0]}, "w": {"keys": ["a", "b"]}}
# 60 people: 30 with one row, 20 with four, 10 with twelve.
ROWS = [1] * 30 + [4] * 20 + [12] * 10


def policy_of(most: int = 2, **unit: Any) -> Any:
    base = {"dataset": "visits", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}, "columns": COLUMNS}
    return load_policy(base | {"unit": {"id": "id", "max_rows": most, **unit}})


def visits(most: int = 2) -> PrivateTable:
    ids = [person for person, rows in enumerate(ROWS) for _ in range(rows)]
    data = pyarrow.table({"id": ids, "x": [1.0] * len(ids), "w": ["a"] * len(ids)})
    return PrivateTable(data, policy=policy_of(most), ledger="sqlite://")


QUERIES = [
    Query(name="rows", statistic="count", by=("w",), epsilon=0.5),
    Query(name="total", statistic="sum", column="x", where="x > 2", epsilon=1.0),
    Query(name="people", statistic="distinct", epsilon=0.5),
    Query(name="cut", statistic="rows_cut", up_to=5, epsilon=0.5),
]


@pytest.mark.parametrize("unit", [{}, {"max_groups": 1}])
def test_each_error_is_that_of_a_policy_that_has_the_limit(unit: dict[str, Any]) -> None:
    found = row_limits(QUERIES, policy_of(**unit), [4, 1, 2, 9, 2])
    assert [one.max_rows for one in found] == [1, 2, 4, 9]
    for one in found:
        own = policy_of(one.max_rows, **unit)
        fitting = [query for query in QUERIES if query.up_to is None or query.up_to > one.max_rows]
        assert len(fitting) == (4 if one.max_rows < 5 else 3)
        told = {each.name: each.error for each in preview(fitting, policy=own)}
        assert one.errors == {query.name: told.get(query.name) for query in QUERIES}
    assert found[0].errors["rows"] < found[-1].errors["rows"]  # type: ignore[operator]
    assert found[0].errors["people"] == found[-1].errors["people"]


@pytest.mark.parametrize("most", [2, 4])
def test_the_cut_is_bounded_by_what_was_released(most: int) -> None:
    """ε is so large that the answers are exact, but for the grid of choices."""
    table = visits(most)
    asked = [
        table.all.rows_cut(up_to=30).at(epsilon=1e4),
        table.all.rows_per_person([0.5, 0.8, 0.99], up_to=12).at(epsilon=1e4),
        # About some of the rows, or by groups: these say nothing of all.
        table.where("x > 2").rows_cut(up_to=30).at(epsilon=1e4),
        table.by("w").rows_cut(up_to=30).at(epsilon=1e4),
    ]
    known = [(table.policy, one.record) for one in table.release(asked)]
    found = {one.max_rows: one for one in row_limits(QUERIES, table.policy, [1, 2, 3, 4, 12], known)}
    for limit, one in found.items():
        exact = sum(max(rows - limit, 0) for rows in ROWS)
        share = sum(rows > limit for rows in ROWS) / len(ROWS)
        assert (one.rows_cut is None) == (limit < most)
        assert one.rows_cut is None or one.rows_cut >= exact
        assert one.share_cut is None or one.share_cut >= share - 1e-12
    assert found[most].rows_cut == sum(max(rows - most, 0) for rows in ROWS)
    # Eight in ten have four rows or fewer. Twelve is the most that is told apart, and says nothing.
    assert found[4].share_cut == found[12].share_cut == pytest.approx(0.2)


def test_what_cannot_be_compared_is_refused() -> None:
    rows = load_policy(
        {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}, "columns": COLUMNS}
    )
    with pytest.raises(InvalidQuery, match="the policy's unit is a row"):
        row_limits(QUERIES, rows, [1])
    for wrong in ([], [0], [10**6 + 1], list(range(1, 30))):
        with pytest.raises(InvalidParameter, match="`candidates` of `row_limits` must be"):
            row_limits(QUERIES, policy_of(), wrong)
    table = visits()
    record = table.rows_cut(up_to=5, epsilon=1.0).record
    other = load_policy(policy_of().model_dump(mode="json") | {"dataset": "elsewhere"})
    with pytest.raises(InvalidParameter, match="`known` of `row_limits` must be of the data set `elsewhere`"):
        row_limits(QUERIES, other, [1], [(table.policy, record)])


POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
unit = { id = "id", max_rows = 2 }
[caps]
epsilon = 1000000.0
[columns.w]
keys = ["a", "b"]
"""
FILE = """
data = "visits.csv"
policy = "policy.toml"
ledger = "visits.db"
[[query]]
name = "by_ward"
statistic = "count"
by = ["w"]
epsilon = 0.5
[[query]]
name = "cut"
statistic = "rows_cut"
up_to = 30
epsilon = 10000.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "q.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_the_command_shows_the_table_and_reads_neither_data_nor_ledger(folder: Path) -> None:
    lines = [f"{person},a" for person, rows in enumerate(ROWS) for _ in range(rows)]
    (folder / "visits.csv").write_text("\n".join(["id,w", *lines]), encoding="utf-8")
    run = CliRunner().invoke
    told = run(app, ["release", "q.toml", "--json"])
    assert told.exit_code == 0, told.output
    (folder / "told.json").write_text(told.output, encoding="utf-8")
    for file in folder.glob("visits.*"):
        file.unlink()
    asked = ["preview", "q.toml", "--max-rows", "5,1,2", "--known", "told.json"]
    shown = run(app, asked, env={"COLUMNS": "200"}).output
    # Of two rows twenty people lose two, and ten people ten.
    assert "at most 140 rows" in shown
    assert "not known" in shown
    record = json.loads(run(app, [*asked, "--json"]).output)
    assert [one["max_rows"] for one in record["row_limits"]] == [1, 2, 5]
    assert [one["rows_cut"] for one in record["row_limits"]] == [None, 140, 140]
    assert not list(folder.glob("visits.*"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--max-rows", "1;2"], "whole numbers with commas"),
        (["--max-rows", "0"], "must be whole numbers from 1"),
    ],
)
def test_the_command_refuses_in_a_line(folder: Path, more: list[str], words: str) -> None:
    assert (folder / "q.toml").is_file()
    done = CliRunner().invoke(app, ["preview", "q.toml", *more], env={"COLUMNS": "200"})
    assert done.exit_code != 0
    assert words in " ".join((done.output + str(done.exception)).split())
