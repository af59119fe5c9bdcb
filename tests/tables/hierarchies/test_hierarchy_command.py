"""`leakcap hierarchy`: the same numbers as in Python, what it draws, what it costs, and what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap, record_told, tables_example
from leakcap.release import PrivateTable, load_policy
from leakcap.tables import release_hierarchy
from leakcap.tables.hierarchies.files import load_hierarchy

FILE = "examples/tables/hierarchy.toml"
EXACT = """
[[exact]]
level = "total"
counts = { all = 569 }
reason = "the register publishes how many patients it has"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tables_example(tmp_path)


def told(place: Path, *words: str) -> dict[str, Any]:
    return record_told("hierarchy", FILE, *words, place=place)


def test_file_command_and_python_give_the_same_numbers_for_one_charge(place: Path) -> None:
    first, again = told(place, "--csv", "out/nodes.csv"), told(place)
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["levels"] == again["levels"]
    asked = load_hierarchy(place / FILE)
    with PrivateTable(asked.data, policy=load_policy(asked.policy), ledger=asked.ledger) as table:
        found = release_hierarchy(table, asked.question)
        assert found.repeated
        assert len(table.ledger.entries()) == 1
        table.ledger.verify()
    assert [one["level"] for one in first["levels"]] == ["total", "width", "radius"]
    for one, own in zip(first["levels"], found.levels, strict=True):
        assert one["keys"] == list(own.labels)
        for name in ("values", "lower", "upper", "estimates"):
            assert one[name] == getattr(own, name).tolist()
    for above, below in zip(first["levels"], first["levels"][1:], strict=False):
        sums = [0] * len(above["keys"])
        for parent, value in zip(below["parents"], below["values"], strict=True):
            sums[parent] += value
        assert sums == above["values"]
    with (place / "out/nodes.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    numbers = [(line["level"], int(line["value"]), int(line["lower"]), int(line["upper"])) for line in lines]
    assert numbers == [
        (one["level"], *own)
        for one in first["levels"]
        for own in zip(one["values"], one["lower"], one["upper"], strict=True)
    ]
    assert {tuple(line[name] for name in ("total", "width", "radius")) for line in lines} >= {
        ("all", "", ""), ("all", "small", ""), ("all", "small", "under 10"),
    }  # fmt: skip


def test_the_terminal_draws_the_tree(place: Path) -> None:
    first = told(place)
    shown = leakcap("hierarchy", FILE, cwd=place).stdout
    assert "Repeated from the ledger" in shown
    lines = [line for line in shown.splitlines() if " to " in line]
    width = dict(zip(first["levels"][1]["keys"], first["levels"][1]["values"], strict=True))
    small = next(line for line in lines if line.startswith("└ small"))
    assert f"{width['small']:,}" in small.split()
    assert sum(line.startswith(("│ ├ ", "│ └ ")) for line in lines) == 3
    assert sum(line.startswith(("  ├ ", "  └ ")) for line in lines) == 2
    assert "exact" not in shown


def test_a_large_tree_is_shown_from_the_top(place: Path) -> None:
    (place / "examples/tables/policy.toml").write_text(
        (place / "examples/tables/policy.toml").read_text() + "site = { keys = "
        + json.dumps([f"s{number:03d}" for number in range(200)]) + " }\n"
    )  # fmt: skip
    rows = ["half,site", *(f"{number % 2},s{number:03d}" for number in range(200))]
    (place / "examples/tables/radius.csv").write_text("\n".join(rows))
    text = (place / FILE).read_text().replace("width = 2.0", "half = 2.0")
    (place / FILE).write_text(text)
    shutil.copy(place / "examples/hospital/patients.parquet", place / "p.parquet")
    import duckdb

    duckdb.execute(
        f"COPY (SELECT *, 's' || lpad((row_number() over () % 200)::VARCHAR, 3, '0') AS site "
        f"FROM '{place}/p.parquet') TO '{place}/examples/hospital/patients.parquet'"
    )
    shown = leakcap("hierarchy", FILE, cwd=place)
    assert shown.returncode == 0, shown.stderr
    assert "… and 200 nodes more below, in --json and --csv." in shown.stdout
    assert "s001" not in shown.stdout


def test_exact_totals_are_named_priced_and_said_wherever_the_answer_is(place: Path) -> None:
    (place / FILE).write_text((place / FILE).read_text() + EXACT)
    first = told(place)
    total = first["levels"][0]
    assert (total["values"], total["lower"], total["upper"], total["exact"]) == ([569], [569], [569], [0])
    assert total["variance"] is None
    assert first["exact"][0]["reason"] == "the register publishes how many patients it has"
    assert first["exact_nats"] == pytest.approx(0.6931471805599453)
    assert "no ε holds for that" in first["exact_statement"]
    shown = " ".join(leakcap("hierarchy", FILE, cwd=place).stdout.split())
    for words in (
        "Protected, between tables that agree in the exact totals: everything the table says",
        first["exact_statement"],
        "Exact in total: the register publishes how many patients it has",
        "Not hidden: whether one patient_id is counted in an exact total, and in which.",
    ):
        assert words in shown
    assert "This is said of the noise alone." in shown
    assert "in the table at all" not in shown
    entries = leakcap("ledger", "export", "examples/tables/tables.db", "--format", "json", cwd=place).stdout
    assert "the register publishes how many patients it has" in entries


def test_fresh_noise_is_paid_for_and_asked_for_first(place: Path) -> None:
    first = told(place)
    refused = leakcap("hierarchy", FILE, "--fresh", "--json", cwd=place)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    paid = leakcap("hierarchy", FILE, "--fresh", "--yes", "--json", cwd=place)
    assert json.loads(paid.stdout)["levels"] != first["levels"]


def test_what_the_caps_do_not_hold_is_refused_with_nothing_spent(place: Path) -> None:
    policy = place / "examples/tables/policy.toml"
    policy.write_text(policy.read_text().replace("epsilon = 4.0", "epsilon = 0.5"))
    done = leakcap("hierarchy", FILE, cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Nothing was spent" in done.stderr
    assert not list(place.rglob("*.db"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("epsilon = 1.0", "", "must have `rho` or `epsilon`, not both."),
        ("epsilon = 1.0", "epsilon = nan", "must be positive and finite. Got nan."),
        ("epsilon = 1.0", "epsilon = true", "must be a number. Got True."),
        ("epsilon = 1.0", "epsilon = 1.0\nway = 2", "not a known field"),
        ("epsilon = 1.0", 'epsilon = 1.0\nlevels = ["radius"]', "must have a `tree` or `levels`, not both"),
        ("width = 2.0", "width = -2.0", "must be positive and finite. Got -2.0"),
        ("width = 2.0", "breadth = 2.0", "name levels of the tree. Got 'breadth'"),
        ("width = 2.0", "width = 2.0" + EXACT.replace("569", "-1"), "must be at least 0. Got -1"),
        ("width = 2.0", "width = 2.0" + EXACT.replace("569", "5"), "at least 10, its `minimum`"),
        ("width = 2.0", "width = 2.0" + EXACT.replace("reason", "why"), "`exact.0.reason` of `"),
        ('"radius.csv"', '"nobody.csv"', "The tree `nobody.csv` is no file"),
        ("patients.parquet", "nobody.csv", "no column `mean_radius`"),
        ('ledger = "tables.db"', 'ledger = "sqlite://"', "A ledger in memory forgets"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_and_begins_no_ledger(
    place: Path, old: str, new: str, says: str
) -> None:
    text = (place / FILE).read_text()
    assert old in text
    (place / "examples/hospital/nobody.csv").write_text("patient_id,age\n1,2\n")
    (place / FILE).write_text(text.replace(old, new))
    done = leakcap("hierarchy", FILE, cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not list(place.rglob("*.db"))
