"""Groups with private keys from files on, as an analyst asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from command_line import leakcap

POLICY = """
dataset = "towns"
neighbours = "add-remove-one"
unit = { id = "id", max_rows = 3, max_groups = 2 }

[columns.town]
keys = "private"

[columns.code]
keys = "private"
type = "integer"

[columns.x]
bounds = [0.0, 10.0]

[caps]
epsilon = 500.0
delta = 1e-4
nats_per_person = 450.0
"""
QUERIES = """
policy = "policy.toml"
data = "t.parquet"
ledger = "ledger.db"

[[query]]
name = "people"
statistic = "distinct"
by = ["town", "code"]
epsilon = 50.0
delta = 1e-8

[[query]]
name = "mean"
statistic = "mean"
column = "x"
by = "town"
epsilon = 50.0
delta = 1e-8

[[query]]
name = "nobody"
statistic = "count"
where = "x > 1000"
by = "town"
epsilon = 50.0
delta = 1e-8
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ids = [*range(300), 1000]
    towns = ["north" if i % 2 else "south" for i in range(300)] + ["lonely"]
    columns = {"id": ids, "town": towns, "code": [i % 2 for i in ids], "x": [float(i % 9) for i in ids]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "ask.toml").write_text(QUERIES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def ask(*words: str, code: int = 0) -> str:
    done = leakcap(*words)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.usefixtures("folder")
def test_a_query_file() -> None:
    given: dict[str, Any] = json.loads(ask("release", "ask.toml", "--json"))
    people, mean, nobody = (release["values"] for release in given["releases"])
    assert [row["keys"] for row in people] == [{"town": "north", "code": 1}, {"town": "south", "code": 0}]
    assert all(abs(row["value"] - 150) < 5 for row in people)
    assert [row["keys"]["town"] for row in mean] == ["north", "south"]
    assert all(abs(row["value"] - 4) < 0.5 for row in mean)
    assert nobody == []
    assert all(0 < release["price"]["delta"] <= 1e-8 for release in given["releases"])
    assert all(release["price"]["nats_person"] < 101 for release in given["releases"])


def test_what_a_person_reads_of_no_groups(folder: Path) -> None:
    said = ask("release", "ask.toml", "--report", "page.html")
    assert said.count("no group had enough people to appear") == 1
    assert "lonely" not in said
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count("no group had enough people to appear") >= 1


@pytest.mark.usefixtures("folder")
def test_sql() -> None:
    text = "SELECT town, COUNT(*), AVG(x) FROM towns GROUP BY town"
    asked = ("sql", text, "--epsilon", "100", "--in", "ask.toml")
    assert "needs a δ" in ask(*asked, code=2)
    assert "Nothing was read" in ask(*asked, "--delta", "1e-8", "--preview")
    ask(*asked, "--delta", "1e-8", "--dry-run")
    given = json.loads(ask(*asked, "--delta", "1e-8", "--json"))
    assert [[row["keys"]["town"] for row in release["values"]] for release in given["releases"]] == [
        ["north", "south"]
    ] * 2
    assert sum(release["price"]["delta"] for release in given["releases"]) <= 1e-8
    assert "`delta` cap" in ask(*asked, "--delta", "1e-3", code=2)
