"""`[regression]` in a file for `leakcap synthesize`: its record, its page, its price, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap, tables_example

RADIUS = ("10 to under 12", "12 to under 14", "14 to under 17", "17 and over")
FILE = """
policy = "examples/tables/policy.toml"
data = "examples/hospital/patients.parquet"
ledger = "own.db"
rho = 0.1
rows = 400

[[tables]]
columns = ["diagnosis", "radius", "texture"]
ways = 2

[regression]
target = "diagnosis"
features = ["radius"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tables_example(tmp_path)
    (found / "rows.toml").write_text(FILE)
    return found


def made(place: Path, *words: str) -> dict[str, Any]:
    done = leakcap("synthesize", *words, "--seed", "1", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def least_squares(path: Path) -> np.ndarray:
    """Of the file itself: how often a tumour is malignant, by radius."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    design = [[1.0, *(float(line["radius"] == key) for key in RADIUS)] for line in lines]
    return np.linalg.lstsq(
        np.array(design), [line["diagnosis"] == "malignant" for line in lines], rcond=None
    )[0]


def test_without_a_price_it_costs_nothing_and_stands_in_record_page_and_terminal(place: Path) -> None:
    record = made(place, "rows.toml", "--output", "a.csv", "--report", "a.html", "--tables", "t.json")
    told = record["regression"]
    assert (told["target"], told["target_key"]) == ("diagnosis", "malignant")
    assert [one["column"] for one in told["coefficients"]] == ["", *["radius"] * 4]
    assert [one["key"] for one in told["coefficients"][1:]] == list(RADIUS)
    of_file = [one["file"] for one in told["coefficients"]]
    assert of_file == pytest.approx(least_squares(place / "a.csv"), abs=1e-9)
    assert (told["priced"], told["rho"], told["nats_person"], told["entry"]) == (False, 0.0, 0.0, 1)
    assert record["so_far"]["queries"] == 1
    page = " ".join(re.sub(r"<[^>]+>", " ", (place / "a.html").read_text()).split())
    for words in ("A regression in the file", "radius = 17 and over", "It costs nothing more"):
        assert words in page
    text = " ".join(leakcap("synthesize", "rows.toml", "--output", "a.csv", cwd=place).stdout.split())
    assert "Least squares of diagnosis = malignant on radius" in text
    # The record of the tables alone tells the same.
    again = made(place, "rows.toml", "--from", "t.json", "--output", "b.csv")
    assert again["regression"]["coefficients"] == told["coefficients"]


def test_with_a_price_it_is_a_charge_of_its_own_that_is_known_afterwards(place: Path) -> None:
    (place / "rows.toml").write_text(FILE + "rho = 0.05\n")
    record = made(place, "rows.toml", "--output", "a.csv")
    told = record["regression"]
    assert (told["priced"], told["entry"], told["repeated"]) == (True, 2, False)
    assert told["rho"] == pytest.approx(0.05, abs=1e-3)
    assert record["rho"] == pytest.approx(0.1, abs=1e-3)
    assert record["statement"]["queries"] == 1
    assert record["so_far"]["queries"] == 2
    assert record["so_far"]["exposure"]["nats_person"]["upper"] == pytest.approx(0.15, abs=2e-3)
    again = made(place, "rows.toml", "--output", "b.csv", "--report", "b.html")
    assert (again["regression"]["repeated"], again["repeated"]) == (True, True)
    assert again["so_far"] == record["so_far"]
    page = " ".join(re.sub(r"<[^>]+>", " ", (place / "b.html").read_text()).split())
    assert "entry 2, some time ago: tables were released for it." in page
    assert "that have a listed key in each of diagnosis, radius" in page


def test_what_the_file_asks_too_is_paid_once_and_told_so(place: Path) -> None:
    same = FILE.replace('"radius", "texture"]', '"radius"]')
    (place / "rows.toml").write_text(same + "rho = 0.1\n")
    record = made(place, "rows.toml", "--output", "a.csv", "--report", "a.html")
    told = record["regression"]
    assert (record["so_far"]["queries"], record["entry"], told["entry"]) == (1, 1, 1)
    assert (told["priced"], told["rho"], told["nats_person"]) == (False, 0.0, 0.0)
    assert "It costs nothing more" in " ".join((place / "a.html").read_text().split())


def test_beside_a_choice_it_needs_a_price_and_has_one_in_the_same_commit(place: Path) -> None:
    chosen = FILE.replace("rows = 400", "choose = 1")
    (place / "rows.toml").write_text(chosen)
    done = leakcap("synthesize", "rows.toml", "--output", "a.csv", cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "beside `choose` needs a `rho` or an `epsilon` of its own" in done.stderr
    assert not (place / "own.db").exists()
    (place / "rows.toml").write_text(chosen + "rho = 0.05\n")
    record = made(place, "rows.toml", "--output", "a.csv")
    assert record["choice"]["among"] == 3
    assert record["regression"]["entry"] == 2
    assert len(record["regression"]["coefficients"]) == 5


@pytest.mark.parametrize(
    ("edit", "words", "message"),
    [
        (("rho = 0.1", "rho = 0.0001"), ["rows.toml"], ""),
        (('["radius"]', '["age"]'), ["rows.toml"], "must be columns of the tables"),
        (('["radius"]', "[]"), ["rows.toml"], "regression.features"),
        (('target = "diagnosis"', 'target = "radius"'), ["rows.toml"], "each once"),
        (("ways = 2", "ways = 1"), ["rows.toml"], "Not released: diagnosis × radius"),
        # With `--from` no price is heard of, so that it is no remedy there.
        (("ways = 2", "ways = 1"), ["rows.toml"], "where a ledger is asked, a `rho` or an `epsilon`"),
        (
            ('["radius"]', '["radius"]\nrho = 0.1\nepsilon = 0.1'),
            ["rows.toml"],
            "`rho` or `epsilon`, not both",
        ),
        (('["radius"]', '["radius"]\nrho = 0.1'), ["rows.toml", "--from", "t.json"], "`[regression]` of"),
        (('["radius"]', '["radius"]\nrho = 90.0'), ["rows.toml"], "would be exceeded"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_paid(
    place: Path, edit: tuple[str, str], words: list[str], message: str
) -> None:
    (place / "rows.toml").write_text(FILE.replace(*edit))
    done = leakcap("synthesize", *words, "--output", "a.csv", cwd=place)
    if not message:  # so much noise hides what there is to compare, and the file is made
        assert done.returncode == 0
        assert "hidden by the noise" in done.stdout
        return
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not (place / "own.db").exists()
    assert not (place / "a.csv").exists()
