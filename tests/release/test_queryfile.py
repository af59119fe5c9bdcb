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
from leakcap.release import load_policy, load_queries

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
        ("budget = {}\n" + COUNT, "`epsilon`, or `rho`, of the budget is missing"),
        (
            "budget = { epsilon = 1.0 }\n" + COUNT + "weigth = 2\n",
            "`weigth` of query `n` is not a known field",
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
    released = run.invoke(app, ["release", str(path), "--report", str(folder / "page.html"), "--json"])
    assert released.exit_code == 0, released.output
    assert len(json.loads(released.output)["releases"]) == 2
    text = "SELECT p.sex, COUNT(*), SUM(stay) FROM visits v JOIN people p ON v.person = p.pid GROUP BY p.sex"
    objectives = ["--epsilon", "0.5", "--in", str(path), "--json", "--for"]
    for objective, code in (("least total error", 0), ("luck", 2)):
        found = run.invoke(app, ["sql", text, *objectives, objective])
        assert (found.exit_code == 0) == (code == 0), found.output


WARDS = '[[query]]\nname = "wards"\nstatistic = "count"\nby = "ward"\nepsilon = 0.4\n'
HOSPITAL = '[[query]]\nname = "all"\nstatistic = "count"\nepsilon = 0.1\n'
CROSSED = '[[query]]\nname = "t"\nstatistic = "contingency"\ncolumns = ["ward", "stay"]\nbins = 2\n'
CROSSED += "epsilon = 0.2\n"


def with_wards(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(path.read_text() + '[columns.ward]\nkeys = ["a", "b"]\n')
    rows = {"person": list(range(60)), "stay": [3.0] * 60, "ward": ["a", "b", "b"] * 20}
    pyarrow.parquet.write_table(pyarrow.table(rows), folder / "v.parquet")


def test_answers_that_have_to_agree_do_and_say_so_everywhere(folder: Path) -> None:
    with_wards(folder)
    path = file(folder, 'consistent = ["all", "wards"]\n' + HEAD + WARDS + HOSPITAL + CROSSED)
    page = folder / "page.html"
    asked = ["release", str(path), "--report", str(page)]
    made = CliRunner().invoke(app, [*asked, "--json"], env={"COLUMNS": "200"})
    assert made.exit_code == 0, made.output
    record = json.loads(made.stdout)
    wards, hospital, crossed = record["releases"]
    assert hospital["values"][0]["value"] == sum(row["value"] for row in wards["values"])
    words = "made to add up with other releases by weighted least squares"
    assert wards["post_processed"] == hospital["post_processed"] == words
    assert crossed["post_processed"] == "margins and total are sums of the noisy cells"
    assert words in page.read_text()
    again = CliRunner().invoke(app, asked, env={"COLUMNS": "200"})
    assert f"wards: {words} (post-processing, which costs nothing)" in again.output
    assert "3 of 3 answers were repeated" in again.output


def test_answers_that_cannot_agree_are_refused_before_anything_is_paid(folder: Path) -> None:
    with_wards(folder)
    path = file(folder, 'consistent = [["all", "s"]]\n' + HEAD + HOSPITAL + SUM + "epsilon = 0.1\n")
    made = CliRunner().invoke(app, ["release", str(path), "--report", str(folder / "page.html")])
    assert isinstance(made.exception, InvalidQuery)
    assert "consistent" in str(made.exception)
    assert not (folder / "l.db").exists()  # no ledger begins where there is nothing to spend
    for wrong in ('["all", "no"]', '["all"]', '["all", "all"]', '[["all", "s"], ["s", "all"]]'):
        with pytest.raises(InvalidQuery, match="consistent"):
            load_queries(file(folder, f"consistent = {wrong}\n" + HEAD + HOSPITAL + SUM + "epsilon = 0.1\n"))


def test_a_file_that_asks_a_curator_names_nothing_at_hand(folder: Path) -> None:
    policy = load_policy(folder / "policy.toml")
    found = load_queries(file(folder, "budget = { epsilon = 1.0 }\n" + COUNT + "weight = 2\n" + SUM), policy)
    assert [query.epsilon for query in found.queries] == [0.666666666666, 0.333333333333]
    assert found.ledger == ""
    for head in (HEAD, TABLES, 'ledger = "l.db"\n', 'publication = { title = "x" }\n'):
        with pytest.raises(InvalidQuery, match="must be left out where a curator is asked"):
            load_queries(file(folder, head + COUNT + "epsilon = 0.1\n"), policy)
    with pytest.raises(InvalidQuery, match="`policy` of"):
        load_queries(file(folder, COUNT + "epsilon = 0.1\n"))
