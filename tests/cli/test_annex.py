"""`leakcap annex`: the same numbers in every form, the owner's word or its absence, and nothing spent."""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from command_line import ROOT, leakcap
from leakcap.ledger import Caps, Ledger
from leakcap.statement.wording import percent
from responses import best_guess

QUERIES = "examples/hospital/release.toml"
LAYERS = [
    "Privacy parameters",
    "Unit of privacy",
    "Algorithms",
    "Side channels",
    "Trust model",
    "Data security and access",
    "Data collection",
]
FORMS = (".md", ".html", ".json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital after its first release."""
    folder = tmp_path_factory.mktemp("annex")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html"))
    done = leakcap("release", QUERIES, "--analyst", "Ada", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def record_of(place: Path, source: str = QUERIES) -> dict[str, Any]:
    done = leakcap("annex", source, "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def forms_of(place: Path) -> dict[str, str]:
    """The annex as text in every form, the terminal's and the help included."""
    words = [word for form in FORMS for word in ("--output", f"annex{form}")]
    written = leakcap("annex", QUERIES, *words, cwd=place)
    assert (written.returncode, written.stderr) == (0, "")
    found = {form: (place / f"annex{form}").read_text(encoding="utf-8") for form in FORMS}
    found["terminal"] = leakcap("annex", QUERIES, cwd=place).stdout
    found["help"] = leakcap("annex", "--help", cwd=place).stdout
    return found


def test_the_games_are_what_the_hospital_s_losses_allow(place: Path) -> None:
    """Queries of 0.1, 0.1, 0.2, 0.5, 0.2 and 0.3 are 1.4 nats together; the odds are worked out here, and
    the guesses that their noise allows on average."""
    record = record_of(place)
    games = {game["key"]: game for game in record["games"]}
    odds, nats = math.exp(1.4), record["so_far"]["exposure"]["nats_person"]["upper"]
    assert 0.0 < nats < 1.4 * math.tanh(0.7)

    def most(values: int) -> float:
        """The s with ln k − h(s) − (1−s)·ln(k−1) = nats."""

        def short(s: float) -> float:
            told = s * math.log(s * values) + (1 - s) * math.log((1 - s) * values / (values - 1))
            return told - nats

        return float(brentq(short, 1 / values + 1e-9, 1 - 1e-9, xtol=1e-15))

    pure = record["so_far"]["exposure"]["composed"]["neighbours"]["pure"]
    assert math.fsum(epsilon * times for epsilon, times in pure) == pytest.approx(1.4, abs=1e-9)
    together = best_guess(pure)
    assert together < most(2) < odds / (1 + odds)
    wanted = {
        "membership": together,
        "register": together,
        "fact": together,
        "value": most(10),
        "isolation": odds / 1000,
        "two_parts": (1 + math.tanh(0.35) ** 2) / 2,
        "rare_fact": odds / (99 + odds),
    }
    assert {key: game["success"] for key, game in games.items()} == pytest.approx(wanted, rel=1e-9)
    assert {game["risk"] for game in games.values()} == {"singling out", "linkability", "inference"}


def test_every_form_has_every_number_layer_and_hazard(place: Path) -> None:
    record, forms = record_of(place), forms_of(place)
    assert [layer["title"] for layer in record["layers"]] == LAYERS
    said = 0
    for form in (".md", ".html", "terminal"):
        text = " ".join(html.unescape(forms[form]).replace("\\_", "_").split())
        for game in record["games"]:
            assert percent(game["success"]) in text, (form, game["key"])
            assert game["title"] in text
        for layer in record["layers"]:
            assert layer["hazards"]
            assert layer["known"]
            for words in (layer["title"], *layer["known"], *(one["hazard"] for one in layer["hazards"])):
                assert words in text, (form, words)
                said += 1
        assert record["anchor"]["head"] in text
        for words in ("Ada", "os.urandom", "discrete Laplace (6)"):
            assert words in text
    assert said > 60
    assert json.loads(forms[".json"])["games"] == record["games"]


def test_no_form_calls_what_was_published_by_the_word_that_it_is_not(place: Path) -> None:
    forms = forms_of(place)
    assert len(forms) == 5
    for form, text in forms.items():
        assert not re.search("anonym", text, re.IGNORECASE), form


def test_the_owner_s_word_is_repeated_and_its_absence_is_said(place: Path) -> None:
    layers = {layer["key"]: layer["owner"] for layer in record_of(place)["layers"]}
    assert layers["trust_model"].startswith("The hospital's statistics office")
    assert layers["collection"] is None
    record = record_of(place)
    assert record["not_stated"] == [
        "Privacy parameters",
        "Unit of privacy",
        "Algorithms",
        "Side channels",
        "Data collection",
    ]
    shown = leakcap("annex", QUERIES, cwd=place).stdout
    assert shown.count("Not stated by the owner.") == 5
    # From the ledger alone nobody has said anything; the rest is the same.
    bare = record_of(place, "examples/hospital/hospital.db")
    assert bare["not_stated"] == LAYERS
    assert (bare["games"], bare["anchor"], bare["policy"]) == (
        record["games"],
        record["anchor"],
        record["policy"],
    )


def test_the_anchor_is_the_one_that_verify_prints_and_nothing_is_spent(place: Path) -> None:
    before = json.loads(leakcap("ledger", "verify", QUERIES, "--json", cwd=place).stdout)
    anchor = record_of(place)["anchor"]
    after = json.loads(leakcap("ledger", "verify", QUERIES, "--json", cwd=place).stdout)
    found = {"rows": before["rows"], "head": before["head"]}
    target = place / "certificate.json"
    assert leakcap("budget", QUERIES, "--certificate", target, cwd=place).returncode == 0
    assert anchor == found | {"certificate": hashlib.sha256(target.read_bytes()).hexdigest()}
    assert before == after


def test_an_edited_ledger_has_no_annex(place: Path, tmp_path: Path) -> None:
    import sqlite3

    shutil.copytree(place / "examples", tmp_path / "examples")
    with sqlite3.connect(tmp_path / "examples/hospital/hospital.db") as book:
        book.execute("UPDATE leakcap_event SET epsilon = 1 WHERE seq = 3")
    done = leakcap("annex", QUERIES, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_an_annex_whose_numbers_were_edited_is_not_drawn(place: Path) -> None:
    record = record_of(place)
    (place / "sound.json").write_text(json.dumps(record))
    assert leakcap("report", "sound.json", "--output", "sound.md", cwd=place).returncode == 0
    for key in range(len(record["games"])):
        record = record_of(place)
        record["games"][key]["success"] *= 0.9
        (place / "edited.json").write_text(json.dumps(record))
        done = leakcap("report", "edited.json", "--output", "edited.md", cwd=place)
        assert (done.returncode, done.stdout) == (2, "")
        assert "its games do not follow from its bounds" in done.stderr


def test_before_the_first_spend_nothing_can_be_won(place: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/hospital", tmp_path / "h", ignore=shutil.ignore_patterns("*.db*"))
    from leakcap.release import load_policy, open_ledger

    open_ledger(f"sqlite:///{tmp_path}/h/hospital.db", load_policy(tmp_path / "h/policy.toml")).close()
    record = record_of(tmp_path, "h/release.toml")
    assert (record["spends"], record["games"], record["so_far"]) == (0, [], None)
    for form in ("a.md", "a.html"):
        assert leakcap("annex", "h/release.toml", "--output", form, cwd=tmp_path).returncode == 0
        assert "Nothing was published yet" in (tmp_path / form).read_text()


def test_what_cannot_be_said_is_refused_in_a_line(place: Path, tmp_path: Path) -> None:
    bare = f"sqlite:///{tmp_path}/bare.db"
    Ledger.open(bare, dataset="ward", policy="ab" * 32, caps=Caps(epsilon=1.0)).close()
    text = (place / QUERIES).read_text()
    for name, table in {
        "empty": '[annex]\naccess = "  "',
        "unknown": '[annex]\nacess = "x"',
        "steering": '[annex]\naccess = "\\u001b[2J"',
        "sector": '[annex]\nsector = "Cheese"',
        "nobody": "[annex]\ncurators = []",
    }.items():
        head = text[: text.index("# What only the hospital")]
        (place / f"examples/hospital/{name}.toml").write_text(head + table)
        done = leakcap("annex", f"examples/hospital/{name}.toml", cwd=place)
        assert (done.returncode, done.stdout) == (2, ""), name
        assert (done.stderr.count("\n"), "`annex." in done.stderr) == (1, True), done.stderr
        assert "\x1b" not in done.stderr
    for words in (
        ["annex", str(tmp_path / "bare.db")],
        ["annex", "none.db"],
        ["annex", "none.toml"],
        ["annex", QUERIES, "--output", "annex.txt"],
        ["annex", QUERIES, "--output", "examples/hospital/policy.toml"],
    ):
        done = leakcap(*words, cwd=place)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), words
