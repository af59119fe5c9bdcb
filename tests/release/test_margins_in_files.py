"""Margins that a query file asks for, and files of their numbers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from command_line import Done, leakcap
from release.margined import ROWS


def file(folder: Path, more: str) -> Path:
    (folder / "policy.toml").write_text(
        'dataset = "tests"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9.0 }\n'
        '[columns]\nd = { keys = ["a", "b", "c"] }\nk = { keys = [1, 2] }\nx = { bounds = [-3.0, 10.0] }\n'
    )
    (folder / "data.csv").write_text("d,k,x\n" + "".join(f"{r['d']},{r['k']},{r['x']}\n" for r in ROWS))
    path = folder / "release.toml"
    path.write_text(
        f'policy = "policy.toml"\ndata = "data.csv"\nledger = "ledger.db"\n{more}\n'
        '[[query]]\nname = "stays"\nstatistic = "count"\nby = ["d", "k"]\nepsilon = 1.0\n'
        '[[query]]\nname = "all"\nstatistic = "count"\nepsilon = 1.0\n'
        '[[query]]\nname = "middle"\nstatistic = "median"\ncolumn = "x"\nby = ["d"]\nepsilon = 1.0\n'
    )
    return path


def asked(folder: Path, more: str) -> Done:
    """What `leakcap release` says of a file with these lines."""
    return leakcap("release", file(folder, more), "--json")


def test_a_query_file_asks_for_margins(tmp_path: Path) -> None:
    stays, *_ = json.loads(asked(tmp_path, 'margins = { stays = [["d"], []] }').stdout)["releases"]
    assert stays["totals"] == {"d": "total", "k": "total"}
    assert [tuple(row["keys"].values()) for row in stays["values"][6:]] == [
        ("a", "total"),
        ("b", "total"),
        ("c", "total"),
        ("total", "total"),
    ]
    sums = [row["value"] for row in stays["values"]]
    assert sums[6:] == [sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5], sum(sums[:6])]


def test_one_file_of_csv_has_the_margins_too(tmp_path: Path) -> None:
    """Every line of the record, whatever the noise: those of margins after those of cells."""
    target = tmp_path / "values.csv"
    done = leakcap("release", file(tmp_path, 'margins = { stays = "all" }'), "--json", "--csv", target)
    stays, *_ = json.loads(done.stdout)["releases"]
    with target.open(newline="") as lines:
        found = [line for line in csv.DictReader(lines) if line["statistic"] == "stays"]
    assert len(found) == 4 * 3
    for line, row in zip(found, stays["values"], strict=True):
        assert [line["d"], line["k"]] == [str(key) for key in row["keys"].values()]
        assert int(line["value"]) == row["value"]
        assert [float(line["lower"]), float(line["upper"])] == row["interval"]
    numbers = {(line["d"], line["k"]): int(line["value"]) for line in found}
    assert all(numbers[d, "total"] == numbers[d, "1"] + numbers[d, "2"] for d in "abc")
    assert numbers["total", "total"] == sum(numbers[d, "total"] for d in "abc")


def test_all_margins_of_a_query_file(tmp_path: Path) -> None:
    stays, *_ = json.loads(asked(tmp_path, 'margins = { stays = "all" }').stdout)["releases"]
    assert len(stays["values"]) == 4 * 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('margins = { nobody = "all" }', "must be the name of a query"),
        ('margins = { middle = "all" }', "groups of a median are not added up"),
        ('margins = { all = "all" }', "it has one number"),
        ('margins = { stays = [["x"]] }', "must each keep some of the columns d, k"),
        ('margins = { stays = "some" }', "margins"),
        ('consistent = ["stays", "all"]\nmargins = { stays = "all" }', "`consistent` has it"),
    ],
)
def test_a_file_that_cannot_have_them_is_refused_before_the_ledger_begins(
    tmp_path: Path, more: str, said: str
) -> None:
    done = asked(tmp_path, more)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "ledger.db").exists()
