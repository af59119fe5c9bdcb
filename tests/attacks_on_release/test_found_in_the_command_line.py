"""Attacks on the command line that once worked: a spend without an answer, an answer without a spend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from leakcap.cli import main
from leakcap.ledger import Ledger, certifying

POLICY = """dataset = "{dataset}"
neighbours = "add-remove-one"
[caps]
epsilon = 1.0
[columns.x]
bounds = [0.0, 10.0]
[columns.d]
keys = ["a", "b"]
"""
QUERIES = """policy = "policy.toml"
data = "t.parquet"
ledger = "{ledger}"
report = "{report}"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.6
{more}
"""


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0] * 9, "d": ["a"] * 9}), tmp_path / "t.parquet")
    return tmp_path


def write(*, dataset: str = "ward", ledger: str = "l.db", report: str = "r.html", more: str = "") -> None:
    Path("policy.toml").write_text(POLICY.format(dataset=dataset))
    Path("q.toml").write_text(QUERIES.format(ledger=ledger, report=report, more=more))


def leakcap(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code, through the very entry point."""
    monkeypatch.setattr("sys.argv", ["leakcap", *words])
    try:
        main.run()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def spent(path: str = "l.db") -> float:
    if not Path(path).exists():
        return 0.0
    with Ledger.read(f"sqlite:///{path}") as ledger:
        return ledger.totals().epsilon


def test_json_says_null_where_the_table_has_no_bound(
    at: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    assert leakcap(monkeypatch, "release", "q.toml", "--json") == 0
    seen: Any = json.loads(capsys.readouterr().out)
    assert [cap["spent"] for cap in seen["caps"] if cap["cap"] == "nats_table"] == [None]


@pytest.mark.parametrize("report", ["l.db", "l.db-wal", "l.db-shm", "t.parquet", "policy.toml", "q.toml"])
def test_the_report_never_overwrites_what_the_release_rests_on(
    at: Path, report: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Least of all the ledger: a report written over its log took the spend back."""
    write(report=report)
    kept = {path.name: path.read_bytes() for path in at.iterdir()}
    assert leakcap(monkeypatch, "release", "q.toml") == 2
    assert {name: (at / name).read_bytes() for name in kept} == kept
    assert spent() == 0.0


@pytest.mark.parametrize("ledger", ["", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_command_does_not_spend_from_a_ledger_that_forgets(
    at: Path, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run would start from nothing spent."""
    write(ledger=ledger)
    assert leakcap(monkeypatch, "release", "q.toml") == 2


@pytest.mark.parametrize("name", ["ward [/b]", "ward [bold]x", "[link=file:///x]ward"])
def test_names_are_no_markup(
    at: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(dataset=name, report="[x].html")
    assert leakcap(monkeypatch, "release", "q.toml") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"everything from `{name}` so far" in printed
    assert "[x].html" in printed


def test_a_report_may_be_called_like_a_closing_tag(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(report="[/x].html")
    assert leakcap(monkeypatch, "release", "q.toml") == 0


@pytest.mark.parametrize("option", ["--more", "--guesses", "--family"])
def test_what_the_statement_cannot_say_is_refused_before_the_spend(
    at: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    assert leakcap(monkeypatch, "release", "q.toml", option, "1" + "0" * 400) == 2
    assert spent() == 0.0


def test_an_analyst_cannot_steer_the_owners_terminal(
    at: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an analyst wrote is shown to the owner by `budget`: escape sequences could hide or forge lines."""
    write(more="where = \"d > '\\u001b[8mhidden'\"")
    leakcap(monkeypatch, "release", "q.toml", "--analyst", "\x1b[2Jnobody\x07\x9b2J")
    capsys.readouterr()
    leakcap(monkeypatch, "budget", "--ledger", "l.db")
    printed = capsys.readouterr().out
    assert not set(printed) & {"\x1b", "\x07", "\x9b"}


@pytest.mark.parametrize("asked", [(), ("--certificate", "c.json")])
def test_an_answer_leaves_though_its_certificate_cannot_be_made(
    at: Path, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was paid for. Whoever asked for the certificate by name is told why there is none."""
    write()
    monkeypatch.setattr(certifying, "_MOST_ROWS", 1)
    assert leakcap(monkeypatch, "release", "q.toml", *asked, "--json") == (2 if asked else 0)
    told = capsys.readouterr()
    (answer,) = json.loads(told.out)["releases"]
    assert answer["name"] == "n"
    assert "certificate" not in json.loads(told.out)
    assert ("rows, and a certificate holds 1 at most" in told.err) == bool(asked)
    assert Path("r.html").exists()
    assert not [path for path in at.iterdir() if path.name in ("c.json", "r.html.certificate.json")]
    assert spent() == 0.6
