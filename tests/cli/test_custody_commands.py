"""`leakcap ledger move`, `backup`, `restore` and `admit`: what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.ledger import Caps, Charge, Ledger, Slot, SlotPlan, Spend

CAPS = Caps(epsilon=4.0, delta=1e-6, delta_of_answers=1e-6)
LOST = ("--anchor", "anchor.json", "--book-lost", "--reason", "the disk broke")


def run(folder: Path, *words: str) -> str:
    done = leakcap(*words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


def spend(folder: Path, *names: str) -> None:
    url = f"sqlite:///{folder / 'ward.db'}"
    with Ledger.open(url, dataset="ward", policy="0" * 8, caps=CAPS) as ledger:
        ledger.reserve([Charge(name, name, Spend(epsilon=0.25)) for name in names], data="1")


def plan(folder: Path) -> None:
    url = f"sqlite:///{folder / 'ward.db'}"
    with Ledger.open(url, dataset="ward", policy="0" * 8, caps=CAPS) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 2, epsilon=0.5)], delta=1e-6))


def lose(folder: Path) -> None:
    """What the ledger held last is on paper, and the disk is gone."""
    (folder / "anchor.json").write_text(leakcap("ledger", "verify", "ward.db", "--json", cwd=folder).stdout)
    for file in folder.glob("ward.db*"):
        file.unlink()


@pytest.mark.parametrize(
    ("lost", "refused", "said"),
    [
        (
            ("b",),
            "lacks 1 row that the anchor knows, entry 2 among them: ε 0.25 in all.",
            "It lacks 1 spend, which",
        ),
        (
            ("b", "c"),
            "lacks 2 rows that the anchor knows, entries 2 to 3 among them",
            "It lacks 2 spends, which",
        ),
    ],
)
def test_lost_spends_are_counted_and_said_to_be_booked(
    tmp_path: Path, lost: tuple[str, ...], refused: str, said: str
) -> None:
    spend(tmp_path, "a")
    assert "ward.backup: 2 rows, 1 spend. head" in run(tmp_path, "ledger", "backup", "ward.db", "ward.backup")
    spend(tmp_path, *lost)
    lose(tmp_path)
    words = ("ledger", "restore", "ward.backup", "ward.db")
    assert refused in leakcap(*words, "--anchor", "anchor.json", cwd=tmp_path).stderr
    epsilon = 0.25 * len(lost)
    would = run(tmp_path, *words, *LOST, "--preview")
    assert "would be restored: 2 rows, 1 spend. " in would
    assert f"{said} would be booked: ε {epsilon} in all." in would
    verb = "is" if len(lost) == 1 else "are"
    assert f"{said} {verb} booked: ε {epsilon} in all." in run(tmp_path, *words, *LOST)


def test_the_price_of_a_lost_plan_is_said_too(tmp_path: Path) -> None:
    """It is no spend of an answer, and takes from what is left all the same."""
    spend(tmp_path, "a")
    run(tmp_path, "ledger", "backup", "ward.db", "ward.backup")
    plan(tmp_path)
    lose(tmp_path)
    words = ("ledger", "restore", "ward.backup", "ward.db")
    refused = leakcap(*words, "--anchor", "anchor.json", cwd=tmp_path).stderr
    assert "no spend among them: ε" in " ".join(refused.split())
    assert "It lacks costs that the anchor knows, which would be booked: ε" in run(
        tmp_path, *words, *LOST, "--preview"
    )
    assert "It lacks costs that the anchor knows, which are booked: ε" in run(tmp_path, *words, *LOST)


def test_where_nothing_can_be_booked_it_says_so(tmp_path: Path) -> None:
    """An anchor may say what the spends came to: with a plan they still cannot be told apart."""
    plan(tmp_path)
    spend(tmp_path, "a")
    run(tmp_path, "ledger", "backup", "ward.db", "ward.backup")
    spend(tmp_path, "b")
    lose(tmp_path)
    words = ("ledger", "restore", "ward.backup", "ward.db", *LOST)
    assert "What it lacks cannot be booked: it would be only a record." in run(tmp_path, *words, "--preview")
    assert "What it lacks cannot be booked: it is only a record." in run(tmp_path, *words)


def test_a_move_counts_too(tmp_path: Path) -> None:
    spend(tmp_path, "a")
    assert "2 rows, 1 spend. The chain holds" in run(
        tmp_path, "ledger", "move", "ward.db", "two.db", "--preview"
    )


def test_no_ledger_is_put_where_a_query_file_would_be(tmp_path: Path) -> None:
    spend(tmp_path, "a")
    run(tmp_path, "ledger", "backup", "ward.db", "ward.backup")
    before = sorted(tmp_path.iterdir())
    for words in (("move", "ward.db", "q.toml"), ("restore", "ward.backup", "q.toml")):
        for preview in ((), ("--preview",)):
            done = leakcap("ledger", *words, *preview, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (2, "")
            assert "`q.toml` is the name of a query file, not of a ledger." in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    refused = leakcap("ledger", "backup", "ward.db", "ward.db", cwd=tmp_path).stderr
    assert "The backup may not replace `ward.db`" in refused


POLICY = """dataset = "{}"
neighbours = "add-remove-one"
unit = {{ id = "p", max_rows = 1 }}
caps = {{ epsilon = 1.0 }}
columns.x = {{ bounds = [0.0, 10.0] }}
"""
ASKED = """policy = "{}.toml"
data = "t.csv"
ledger = "l.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.1
"""


def test_a_data_set_is_admitted_by_its_query_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("p,x\n1,1.0\n")
    for name in ("stays", "visits"):
        (tmp_path / f"{name}.toml").write_text(POLICY.format(name))
        (tmp_path / f"ask-{name}.toml").write_text(ASKED.format(name))
    run(tmp_path, "release", "ask-stays.toml")
    words = ("ledger", "admit", "ask-visits.toml", "--ledger", "ask-stays.toml")
    silent = leakcap(*words, cwd=tmp_path)
    assert silent.returncode == 2
    assert "`reason` of `admit` must say why, in one line" in silent.stderr
    assert "visits could pay from sqlite:///" in run(tmp_path, *words, "--preview")
    assert "visits pays from sqlite:///" in run(tmp_path, *words, "--reason", "the same patients")
    run(tmp_path, "release", "ask-visits.toml")
