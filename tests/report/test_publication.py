"""A publication's title, reference period, version and contact: in every rendering and in the record."""

from __future__ import annotations

import html
import json
from pathlib import Path

import openpyxl
import pyarrow
import pytest

from command_line import leakcap
from leakcap.ledger import Edition
from leakcap.release import PrivateTable
from leakcap.report import write_report

POLICY = """dataset = "stays"
neighbours = "add-remove-one"
caps = { epsilon = 9.0 }
columns.x = { keys = ["a"] }
"""
ASKED = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
{}
[[query]]
name = "n"
statistic = "count"
epsilon = 0.5
"""
NAMED = (
    'publication = {{ title = "{}", period = "March 2024", version = "1.1", contact = "stats@example.org" }}'
)
TITLE = "Stays <b> & wards"


def released(folder: Path, publication: str) -> Path:
    (folder / "policy.toml").write_text(POLICY)
    (folder / "t.csv").write_text("x\na\na\n")
    (folder / "q.toml").write_text(ASKED.format(publication))
    return folder


def test_every_rendering_says_it(tmp_path: Path) -> None:
    desk = released(tmp_path, NAMED.format(TITLE))
    done = leakcap("release", "q.toml", "--report", "r.html", "--excel", "r.xlsx", cwd=desk)
    assert (done.returncode, done.stderr) == (0, "")
    told = leakcap("release", "q.toml", "--json", cwd=desk).stdout
    (desk / "r.json").write_text(told)
    made = leakcap("report", "r.json", "--for", "board", "--output", "b.md", "--output", "b.html", cwd=desk)
    assert made.returncode == 0
    book = openpyxl.load_workbook(desk / "r.xlsx")["Summary"]
    texts = {
        "terminal": " ".join(done.stdout.split()),
        "html": html.unescape((desk / "r.html").read_text()),
        "board": html.unescape((desk / "b.html").read_text()),
        "markdown": html.unescape((desk / "b.md").read_text()).replace("\\", ""),
        "workbook": " ".join(str(book.cell(row, 1).value) for row in (1, 2)),
    }
    for way, text in texts.items():
        assert TITLE in text, way
        assert "stays. Reference period: March 2024. Version 1.1. Contact: stats@example.org" in text, way
    assert json.loads(told)["publication"] == {
        "title": TITLE,
        "period": "March 2024",
        "version": "1.1",
        "contact": "stats@example.org",
    }


def test_sql_says_it_too(tmp_path: Path) -> None:
    """Terminal, record, pages and summary: it is recorded with the answer, so it is told."""
    desk = released(tmp_path, NAMED.format(TITLE))
    words = ["sql", "SELECT COUNT(*) FROM stays", "--epsilon", "0.5", "--in", "q.toml"]
    shown = leakcap(*words, cwd=desk)
    assert (shown.returncode, shown.stderr) == (0, "")
    line = "Reference period: March 2024. Version 1.1. Contact: stats@example.org"
    assert all(part in shown.stdout for part in (TITLE, line))
    printed = leakcap(*words, "--json", cwd=desk).stdout
    record = json.loads(printed)
    assert record["publication"] == {
        "title": TITLE,
        "period": "March 2024",
        "version": "1.1",
        "contact": "stats@example.org",
    }
    (desk / "r.json").write_text(printed)
    assert leakcap("report", "r.json", "--output", "r.html", cwd=desk).returncode == 0
    assert html.escape(TITLE) in (desk / "r.html").read_text()


def test_a_page_from_python_says_what_its_table_publishes(tmp_path: Path) -> None:
    rows = pyarrow.table({"x": ["a"]})
    policy = {
        "dataset": "stays", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
        "columns": {"x": {"keys": ["a"]}},
    }  # fmt: skip
    for edition, told in (
        (Edition(TITLE, "2024-03", "1.1"), [f"# {TITLE}", "Reference period: 2024-03. Version 1.1"]),
        (Edition(TITLE), [f"# {TITLE}"]),
        (Edition("", "2024-03"), ["# stays"]),
        (Edition(" ", " "), ["# stays"]),
        (None, ["# stays"]),
    ):
        table = PrivateTable(rows, policy=policy, ledger="sqlite://", edition=edition)
        write_report(table, table.count(epsilon=0.5), tmp_path / "t.md")
        page = html.unescape((tmp_path / "t.md").read_text().replace("\\", ""))
        assert all(one in page for one in told), edition


def test_without_one_nothing_changes(tmp_path: Path) -> None:
    done = leakcap("release", "q.toml", "--json", cwd=released(tmp_path, ""))
    assert "publication" not in json.loads(done.stdout)


@pytest.mark.parametrize(
    "given",
    ['{ period = "2024" }', '{ title = "" }', '{ title = "a\\nb" }', '{ title = "a", page = 1 }', '"a"'],
)
def test_what_no_publication_is(tmp_path: Path, given: str) -> None:
    done = leakcap("release", "q.toml", cwd=released(tmp_path, f"publication = {given}"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "`publication" in done.stderr
    assert not (tmp_path / "l.db").exists()
