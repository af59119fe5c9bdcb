"""Moves, restorations and admissions are listed; backups and ledgers do not take another file's name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from leakcap.errors import LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Slot, SlotPlan, Spend, backup, export, move, restore
from leakcap.release import admit
from leakcap.report.pages.budget import budget_page
from leakcap.report.records import BudgetRecord, CustodyRecord, RestoreRecord, custody_lines
from leakcap.report.render.markdown import render_markdown
from ledger.test_datasets import VISITS, WARD, ask

CAPS = Caps(epsilon=4.0, delta=1e-6, delta_of_answers=1e-6)


def at(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / name}"


def spend(url: str, *names: str) -> None:
    with Ledger.open(url, dataset="ward", policy="ab12cd34", caps=CAPS) as ledger:
        ledger.reserve([Charge(name, name, Spend(epsilon=0.25)) for name in names], data="1")


def test_all_that_was_done_with_a_ledger_is_listed(tmp_path: Path) -> None:
    """Backed up, lost with a spend and a plan, put back, moved."""
    first, second = at(tmp_path, "a.db"), at(tmp_path, "b.db")
    spend(first, "n")
    backup(first, tmp_path / "a.backup", by="ada")
    with Ledger.open(first, dataset="ward", policy="ab12cd34", caps=CAPS) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 2, epsilon=0.5)], delta=1e-6))
    spend(first, "m")
    with Ledger.read(first) as ledger:
        anchor = ledger.anchor()
    for file in tmp_path.glob("a.db*"):
        file.unlink()
    from_backup = at(tmp_path, "a.backup")
    put_back = restore(from_backup, first, anchor=anchor, book_lost=True, reason="the disk broke", by="ada")
    move(first, second, by="bo")
    with Ledger.read(second) as ledger:
        ledger.verify()
        events, text = ledger.custody(), export(ledger.entries(), "json", custody=ledger.custody())
        record = BudgetRecord.of(ledger.dataset, ledger.accounts(), ledger.entries(), custody=events)
    assert [one.kind for one in events] == ["restored", "lost", "moved", "arrived"]
    assert [one.by for one in events[:3]] == ["ada", "ada", "bo"]
    assert events[0].reason == "the disk broke"
    said = r"put back from the backup of \d{4}-\d\d-\d\dT[\d:]{8} UTC\. The backup lacks 2 rows"
    assert re.match(said, events[0].what)
    assert events[1].what == f"booked for 1 spend that it lacks: {put_back.booked}"
    assert "a.db` to `" in events[2].what
    assert [row["state"] for row in json.loads(text) if row["id"] is None] == ["restored", "moved", "arrived"]
    (lost,) = [row for row in json.loads(text) if row["state"] == "lost"]  # once, with what it costs
    assert (lost["epsilon"], lost["analyst"]) == (float(put_back.booked.split()[1]), "ada")
    told = custody_lines(tuple(map(CustodyRecord.of, events)))
    page = render_markdown(budget_page(record, "reviewer"))
    assert "The ledger itself" in page
    assert "the disk broke" in page
    assert len(told) == 4
    with Ledger.read(from_backup) as kept:
        assert [one.kind for one in kept.custody()] == ["backup"]
    with Ledger.read(first) as closed:
        assert [one.kind for one in closed.custody()] == ["restored", "lost", "moved"]


def test_an_admission_is_listed(tmp_path: Path) -> None:
    url = at(tmp_path, "a.db")
    ask(WARD, url, 0.1)
    admit(VISITS, url, reason="the same patients", by="ada")
    with Ledger.read(url) as ledger:
        (found,) = ledger.custody()
    assert (found.kind, found.by, found.reason) == ("admitted", "ada", "the same patients")
    assert found.what.startswith("data set `visits` pays from it, under policy ")


def test_the_key_of_a_move_is_told_to_nobody(tmp_path: Path) -> None:
    first, second = at(tmp_path, "a.db"), at(tmp_path, "b.db")
    spend(first, "n")
    move(first, second)
    with Ledger.read(second) as ledger:
        (found,) = [one for one in ledger.custody() if one.kind == "arrived"]
    assert (found.what, found.reason) == ("goes on where it was moved to", "")


def test_what_a_restoration_booked_is_in_the_record(tmp_path: Path) -> None:
    url = at(tmp_path, "a.db")
    spend(url, "n")
    backup(url, tmp_path / "a.backup")
    spend(url, "m")
    with Ledger.read(url) as ledger:
        anchor = ledger.anchor()
    for file in tmp_path.glob("a.db*"):
        file.unlink()
    found = restore(at(tmp_path, "a.backup"), url, anchor=anchor, book_lost=True, reason="lost")
    assert RestoreRecord.of(found, preview=False).to_dict()["booked"] == "ε 0.25 in all" == found.booked


def test_the_page_of_a_ledger_with_a_plan_and_lost_spends_is_drawn(tmp_path: Path) -> None:
    url = at(tmp_path, "a.db")
    with Ledger.open(url, dataset="ward", policy="ab12cd34", caps=CAPS) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 2, epsilon=0.5)], delta=1e-6))
        record = BudgetRecord.of(ledger.dataset, ledger.accounts(), ledger.entries())
    assert "a plan, paid beforehand" in render_markdown(budget_page(record, "reviewer"))


NAMES = ["p.toml", "d.csv", "d.TSV", "d.parquet", "r.json", "r.html", "w.xlsx", "w.duckdb", "q.sql", "a.md"]
TAKERS: dict[str, Callable[[Path, str], object]] = {
    "backup": lambda folder, name: backup(at(folder, "a.db"), folder / name),
    "move": lambda folder, name: move(at(folder, "a.db"), at(folder, name)),
    "restore": lambda folder, name: restore(at(folder, "a.backup"), at(folder, name), anchor="0" * 64),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_no_ledger_takes_the_name_of_another_kind_of_file(taker: str, tmp_path: Path) -> None:
    spend(at(tmp_path, "a.db"), "n")
    backup(at(tmp_path, "a.db"), tmp_path / "a.backup")
    before = {file.name for file in tmp_path.iterdir()}
    for name in NAMES:
        with pytest.raises(LedgerError, match=r"may not end in `\.\w+`, as other files than ledgers do"):
            TAKERS[taker](tmp_path, name)
    assert {file.name for file in tmp_path.iterdir()} == before
    if taker == "backup":
        for name in ("a", "a.db.2026", "b.sqlite"):
            backup(at(tmp_path, "a.db"), tmp_path / name)
