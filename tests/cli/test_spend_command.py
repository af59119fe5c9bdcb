"""`leakcap spend`: previewed, charged, repeated, and refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import ROOT, leakcap
from leakcap.ledger import Ledger
from leakcap.release import load_policy, open_ledger

EVENTS = ROOT / "examples" / "outside" / "events.json"


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'ward.db'}"
    open_ledger(url, load_policy(ROOT / "examples" / "outside" / "policy.toml")).close()
    return url


def spent(ledger: str) -> int:
    with Ledger.read(ledger) as book:
        book.verify()
        return book.totals().entries


def test_a_file_is_previewed_charged_and_repeated(ledger: str) -> None:
    previewed = leakcap("spend", EVENTS, "--ledger", ledger, "--preview", "--json")
    assert json.loads(previewed.stdout)["preview"] is True
    assert spent(ledger) == 0
    charged = json.loads(leakcap("spend", EVENTS, "--ledger", ledger, "--json").stdout)
    assert [one["name"] for one in charged["spends"]] == ["readmission model", "length of stay"]
    assert charged["spends"][1]["epsilon"] == 0.1
    assert (charged["repeated"], spent(ledger)) == (False, 2)
    again = leakcap("spend", EVENTS, "--ledger", ledger)
    assert "had been charged under this key before" in again.stdout
    assert spent(ledger) == 2
    assert "readmission model" in leakcap("budget", "--ledger", ledger).stdout


def test_what_is_no_file_of_events_is_refused_in_a_line(ledger: str, tmp_path: Path) -> None:
    wrong = tmp_path / "events.json"
    for text, says in (
        ("{}", "leakcap/events/1"),
        (EVENTS.read_text().replace("Laplace", "Made"), "`MadeDpEvent`"),
    ):
        wrong.write_text(text)
        ran = leakcap("spend", wrong, "--ledger", ledger)
        assert ran.returncode == 2
        assert says in ran.stderr.replace("\n", " ")
    assert spent(ledger) == 0
