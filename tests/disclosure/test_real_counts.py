"""Real counts are weighed cell by cell, on the owner's terminal alone, and leave nothing behind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, FollowedBy, GivenMethod
from leakcap.disclosure.real_counts import RealCell, read_real_counts, weigh_real_counts
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells, TopCoding
from leakcap.disclosure.weighing import CellRisk
from leakcap.errors import LeakcapError

METHOD = '[[method]]\nkind = "random rounding"\nbase = 3\n'
COUNTS = "region,sex,n\nN,f,1\nN,m,5\nS,f,4711\nS,m,0\n"


@pytest.mark.parametrize(
    "method",
    [RandomRounding(3), NearestRounding(4), SmallCells(below=4), FollowedBy(RandomRounding(2), TopCoding(6))],
)
def test_every_cell_is_with_those_that_tell_the_same(method: CellMethod) -> None:
    """Each cell's own pair of laws, at its own count: no period is believed."""
    draw = random.Random(1)
    cells = [RealCell(str(at), draw.choice([0, 1, 2, 3, draw.randrange(60)])) for at in range(80)]
    kinds = weigh_real_counts(method, cells)
    assert sorted(one.words for kind in kinds for one in kind.cells) == sorted(
        one.words for one in cells if one.count
    )
    assert sum(kind.people for kind in kinds) == sum(one.count for one in cells)
    told = [kind.risk.told() for kind in kinds]
    assert len(set(told)) == len(told)
    for kind in kinds:
        assert {CellRisk(method, one.count - 1).told() for one in kind.cells} == {kind.risk.told()}
    uppers = [round(kind.risk.capacity.upper, 9) for kind in kinds]
    assert uppers == sorted(uppers, reverse=True)


def test_nothing_is_recorded_and_the_warning_is_shown(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(METHOD)
    (tmp_path / "c.csv").write_text(COUNTS)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    done = leakcap("disclosure", "m.toml", "c.csv", "--show", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Do not publish it. Nothing of it was recorded." in " ".join(done.stdout.split())
    assert "4,711" in done.stdout
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("m.toml", "c.csv"), "the output is no terminal. Add `--show`"),
        (("m.toml", "c.csv", "--show", "--json"), "has no --json"),
        (("m.toml", "m.toml", "--show"), "must be a .csv file"),
        (("m.toml", "gap.csv", "--show"), "Line 3 of `gap.csv` must end with a count"),
        (("m.toml", "none.csv", "--show"), "There is no file"),
    ],
)
def test_what_is_refused_is_refused_in_one_line_without_a_count(
    tmp_path: Path, words: tuple[str, ...], rule: str
) -> None:
    (tmp_path / "m.toml").write_text(METHOD)
    (tmp_path / "c.csv").write_text(COUNTS)
    (tmp_path / "gap.csv").write_text("region,n\nN,4711\nS,x\n")
    done = leakcap("disclosure", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert rule in " ".join(done.stderr.split())
    assert "4711" not in done.stderr


def test_a_matrix_says_nothing_of_larger_counts(tmp_path: Path) -> None:
    method = GivenMethod(Channel([[1.0, 0.0], [0.25, 0.75]]))
    assert weigh_real_counts(method, [RealCell("N", 1)])[0].risk.others == 0
    with pytest.raises(LeakcapError, match="larger than those of the matrix") as caught:
        weigh_real_counts(method, [RealCell("N", 4711)])
    assert "4711" not in str(caught.value)
    (tmp_path / "c.csv").write_text("a,n\nN,4711x\n")
    with pytest.raises(LeakcapError, match="Line 2") as caught:
        read_real_counts(tmp_path / "c.csv")
    assert "4711" not in str(caught.value)
