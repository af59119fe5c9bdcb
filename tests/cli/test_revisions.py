"""`leakcap ledger revise` and `withdraw`: from the command to every page that tells of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import leakcap

POLICY = """dataset = "stays"
neighbours = "add-remove-one"
caps = { epsilon = 9.0 }
columns.x = { keys = ["a", "b"] }
"""
ASKED = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
publication = {{ title = "Stays", period = "2026-03", version = "{}" }}
[[query]]
name = "n"
statistic = "count"
epsilon = 0.5
[[query]]
name = "by x"
statistic = "count"
by = "x"
epsilon = 0.25
"""
WHY = "A ward was counted twice."
OLD = ("--period", "2026-03", "--version", "1.0")


def run(folder: Path, *words: str) -> str:
    done = leakcap(*words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Version 1.0 was published, and 1.1 from the corrected file."""
    (tmp_path / "policy.toml").write_text(POLICY)
    for version, rows in (("1.0", "a\na\nb\nb\n"), ("1.1", "a\nb\n")):
        (tmp_path / "t.csv").write_text(f"x\n{rows}")
        (tmp_path / "q.toml").write_text(ASKED.format(version))
        run(tmp_path, "release", "q.toml")
    return tmp_path


def told_everywhere(desk: Path, said: str) -> None:
    """The line stands in the budget, the release, the annex, their pages and records, and the export."""
    words = " ".join(said.split())
    run(desk, "release", "q.toml", "--report", "r.html")
    (desk / "b.json").write_text(run(desk, "budget", "q.toml", "--json"))
    (desk / "r.json").write_text(run(desk, "release", "q.toml", "--json"))
    run(desk, "annex", "q.toml", "--output", "a.md", "--output", "a.html")
    for kind in ("b", "r"):
        for audience in ("board", "reviewer"):
            run(desk, "report", f"{kind}.json", "--for", audience, "--output", f"{kind}-{audience}.md")
    texts = {
        "budget": run(desk, "budget", "q.toml"),
        "release": run(desk, "release", "q.toml"),
        "annex": run(desk, "annex", "q.toml"),
        **{path.name: path.read_text() for path in desk.glob("*.md")},
    }
    assert len(texts) == 3 + 5
    for name, text in texts.items():
        shown = " ".join(text.replace("\\", "").split())
        assert words in shown, (name, words)
    assert "Revisions and withdrawals" in (desk / "r.html").read_text()
    for name in ("b.json", "r.json"):
        assert [one["reason"] for one in json.loads((desk / name).read_text())["revisions"]] == [WHY] * 2
    assert json.loads(run(desk, "annex", "q.toml", "--json"))["revisions"][0]["entry"] == 1


def test_a_publication_is_revised_as_a_whole(desk: Path) -> None:
    left = json.loads(run(desk, "budget", "q.toml", "--json"))["caps"]
    told = run(
        desk, "ledger", "revise", "q.toml", "--period", "2026-03", "--version", "1.0", "--by-version", "1.1",
        "--reason", WHY,
    )  # fmt: skip
    said = (
        "n (entry 1, now entry 3), by x (entry 2, now entry 4) of Stays, 2026-03, version 1.0, replaced by "
        f"Stays, 2026-03, version 1.1: {WHY}"
    )
    assert said in told
    assert "Nothing of the budget comes back." in told
    told_everywhere(desk, said)
    assert json.loads(run(desk, "budget", "q.toml", "--json"))["caps"] == left
    assert "The chain holds" in run(desk, "ledger", "verify", "l.db")
    rows = json.loads(run(desk, "ledger", "export", "l.db", "--format", "json"))
    assert [row["state"] for row in rows][-2:] == ["revised", "revised"]
    assert len(json.loads(run(desk, "ledger", "export", "l.db", "--json"))["revisions"]) == 2


def test_a_preview_records_nothing(desk: Path) -> None:
    head = run(desk, "ledger", "verify", "l.db")
    for words in (("revise", "l.db", *OLD, "--by-version", "1.1"), ("withdraw", "l.db", *OLD)):
        told = run(desk, "ledger", *words, "--reason", WHY, "--preview")
        assert "n (entry 1" in told
        assert "nothing was recorded" in told
        shown = json.loads(run(desk, "ledger", *words, "--reason", WHY, "--preview", "--json"))
        assert (shown["preview"], len(shown["revisions"])) == (True, 2)
    assert run(desk, "ledger", "verify", "l.db") == head


def test_a_publication_of_another_period_does_not_list_them(desk: Path) -> None:
    run(desk, "ledger", "revise", "l.db", "--replace", "1=3", "--replace", "2=4", "--reason", WHY)
    (desk / "q.toml").write_text(ASKED.format("1.0").replace("2026-03", "2026-04"))
    assert "revisions" not in json.loads(run(desk, "release", "q.toml", "--json"))


def test_a_withdrawn_publication_is_refused_until_it_is_paid_anew(desk: Path) -> None:
    told = json.loads(
        run(
            desk,
            "ledger",
            "withdraw",
            "q.toml",
            "--period",
            "2026-03",
            "--version",
            "1.1",
            "--reason",
            WHY,
            "--json",
        )
    )
    assert [(one["entry"], one["replaced_by"]) for one in told["revisions"]] == [(3, None), (4, None)]
    refused = leakcap("release", "q.toml", cwd=desk)
    assert refused.returncode == 2
    assert "entry 3, was withdrawn on" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert len(json.loads(run(desk, "budget", "q.toml", "--json"))["entries"]) == 4
    run(desk, "release", "q.toml", "--fresh", "--yes")
    assert "repeated from the ledger" in run(desk, "release", "q.toml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("revise", "l.db", "--reason", WHY), "either --replace OLD=NEW, or all of"),
        (("revise", "l.db", "--period", "2026-03", "--version", "1.0", "--reason", WHY), "or all of"),
        (("revise", "l.db", "--replace", "1=3"), "`reason` of `revise` must say why, in one line of"),
        (("revise", "l.db", "--replace", "1-3", "--reason", WHY), "as in 3=7. Got `1-3`"),
        (("revise", "l.db", "--replace", "3=1", "--reason", WHY), "it is not a later one"),
        (
            ("revise", "l.db", *OLD, "--by-version", "2.0", "--reason", WHY),
            "No answer of version 1.0 for 2026-03 has one of the same name in version 2.0",
        ),
        (("revise", "l.db", "--replace", "1=3", "--replace", "1=4", "--reason", WHY), "names entry 1 twice"),
        (("revise", "l.db", "--replace", "1=3", "--title", "Stays", "--reason", WHY), "`--title` says which"),
        (("withdraw", "l.db", "--entry", "1", "--title", "Stays", "--reason", WHY), "`--title` says which"),
        (("withdraw", "l.db", "--entry", "1"), "`reason` of `withdraw` must say why, in one line"),
        (("withdraw", "l.db", "--reason", WHY), "either --entry NUMBER, or both"),
        (("withdraw", "l.db", "--entry", "9", "--reason", WHY), "no entry 9"),
        (("withdraw", "l.db", "--period", "2026-03", "--version", "3", "--reason", WHY), "No valid answer"),
        (("withdraw", "l.db", *OLD, "--title", "Other", "--reason", WHY), "No valid answer"),
        (("withdraw", "gone.db", "--entry", "1", "--reason", WHY), "gone.db"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused_in_a_line(desk: Path, words: tuple[str, ...], said: str) -> None:
    head = run(desk, "ledger", "verify", "l.db")
    done = leakcap("ledger", *words, cwd=desk)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert run(desk, "ledger", "verify", "l.db") == head
