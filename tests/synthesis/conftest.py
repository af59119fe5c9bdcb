"""An office with records of files and of their tables, all of one ledger, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import leakcap, tables_example

FILE = """
policy = "examples/tables/policy.toml"
data = "examples/hospital/patients.parquet"
ledger = "own.db"
rho = 0.1
rows = 400
impossible = [{ diagnosis = "benign", radius = "17 and over" }]

[[tables]]
columns = ["diagnosis", "radius", "texture"]
ways = 2

[regression]
target = "diagnosis"
features = ["radius"]
"""
KINDS = {
    "all": FILE,
    "priced": FILE + "rho = 0.05\n",
    "chosen": FILE.replace("rows = 400", "choose = 2") + "rho = 0.06\n",
}


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each of `KINDS` the record of a file and of its tables, made in turn with own.db; and "from", the
    record of a file with weights that was made of a record."""
    place = tables_example(tmp_path_factory.mktemp("office"))
    policy = place / "examples/tables/policy.toml"
    policy.write_text(policy.read_text().replace("epsilon = 4.0", "epsilon = 30.0"))
    for name, text in KINDS.items():
        (place / "rows.toml").write_text(text)
        words = ("--output", f"{name}.csv", "--tables", f"{name}-tables.json", "--json", "--yes")
        made(place, name, "rows.toml", *words)
    made(place, "from", "--from", "all-tables.json", "--output", "b.csv", "--weights", "--json")
    return place


def made(place: Path, name: str, *words: str) -> None:
    done = leakcap("synthesize", *words, cwd=place)
    assert done.returncode == 0, done.stderr
    (place / f"{name}.json").write_text(done.stdout)
