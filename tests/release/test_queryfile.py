"""Query files whose queries share a budget, or whose table is joined with others."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from leakcap.cli.main import app
from leakcap.errors import InvalidQuery
from leakcap.release import load_queries

POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
unit = { id = "person", max_rows = 2 }
[caps]
epsilon = 2.0
[columns.stay]
bounds = [0.0, 60.0]
[tables.people]
id = "pid"
columns.sex = { keys = ["f", "m"] }
"""
HEAD = 'policy = "policy.toml"\ndata = "v.parquet"\nledger = "l.db"\n'
TABLES = 'tables = { people = "p.parquet" }\n'
COUNT = '[[query]]\nname = "n"\nstatistic = "count"\n'
SUM = '[[query]]\nname = "s"\nstatistic = "sum"\ncolumn = "stay"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    pyarrow.parquet.write_table(pyarrow.table({"person": [1, 2], "stay": [3.0, 4.0]}), tmp_path / "v.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"pid": [1, 2], "sex": ["f", "m"]}), tmp_path / "p.parquet")
    return tmp_path


def file(folder: Path, text: str) -> Path:
    path = folder / "release.toml"
    path.write_text(text)
    return path


def test_a_budget_is_shared_by_weights(folder: Path) -> None:
    found = load_queries(file(folder, HEAD + "budget = { epsilon = 1.0 }\n" + COUNT + "weight = 2\n" + SUM))
    assert [query.epsilon for query in found.queries] == [0.666666666666, 0.333333333333]


def test_a_budget_for_errors_and_for_the_least_total(folder: Path) -> None:
    text = HEAD + 'budget = { epsilon = 1.0, for = "least total error" }\n' + COUNT + "error = 30\n" + SUM
    first, second = load_queries(file(folder, text)).queries
    # Two rows a person: noise of twice the scale of a count of rows, so twice its ε = 0.098….
    assert 0.19 < first.epsilon < 0.2
    assert Decimal(repr(first.epsilon)) + Decimal(repr(second.epsilon)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COUNT + "weight = 2\nepsilon = 1.0\n", "`weight` of `.*query 1` must be left out"),
        ("budget = { epsilon = 1.0 }\n" + COUNT + "epsilon = 1.0\n", "`epsilon` of .* must be left out"),
        ("budget = { epsilon = 1.0 }\n" + COUNT + "weight = 0\n", "`weight` of query `n` must be a positive"),
        ("budget = { epsilon = 1.0 }\n" + COUNT + "weight = 1\nerror = 3\n", "not both"),
        ("budget = { epsilon = 1.0, luck = 1 }\n" + COUNT, "not a known field"),
        ('budget = { epsilon = 1.0, for = "luck" }\n' + COUNT, "`budget.for`"),
        ("budget = {}\n" + COUNT, "`epsilon` of the budget is missing"),
        (
            "budget = { epsilon = 1.0 }\n" + COUNT + "weigth = 2\n",
            "`weigth` of `query n` is not a known field",
        ),
    ],
)
def test_what_a_file_may_not_say(folder: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        load_queries(file(folder, HEAD + text))


def test_the_commands(folder: Path) -> None:
    join = 'join = "people"\nby = "people.sex"\n'
    path = file(folder, HEAD + TABLES + "budget = { epsilon = 1.0 }\n" + COUNT + join + SUM + join)
    run = CliRunner()
    shown = run.invoke(app, ["preview", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    assert not (folder / "l.db").exists()
    released = run.invoke(app, ["release", str(path), "--json"])
    assert released.exit_code == 0, released.output
    assert len(json.loads(released.output)["releases"]) == 2
    text = "SELECT p.sex, COUNT(*), SUM(stay) FROM visits v JOIN people p ON v.person = p.pid GROUP BY p.sex"
    aims = ["--epsilon", "0.5", "--in", str(path), "--json", "--for"]
    for aim, code in (("least total error", 0), ("luck", 2)):
        found = run.invoke(app, ["sql", text, *aims, aim])
        assert (found.exit_code == 0) == (code == 0), found.output
