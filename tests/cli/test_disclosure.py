"""`leakcap disclosure`: an office's method in a file, weighed; one clear line for what is none."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.disclosure.cell_key_files import write_perturbation_table
from leakcap.disclosure.description import read_method
from leakcap.disclosure.most_entropy import most_entropic_table
from leakcap.errors import LeakcapError

STEP = '[[method]]\nkind = "random rounding"\nbase = 3\n'
TABLE = "pcv,ckey,pvalue\n1,0,-1\n1,1,0\n1,2,0\n1,3,1\n"


def test_random_rounding_from_a_file(tmp_path: Path) -> None:
    """Theory §11: 0.13815034, 0.05663301 nats, ε = ∞ and ln 2; sure after 6 and 23 cells (binomial)."""
    (tmp_path / "m.toml").write_text(f'title = "Census"\n{STEP}')
    done = leakcap("disclosure", "m.toml", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [one["others"] for one in told["cells"]] == [[0], [2], [1]]
    assert [round(one["capacity"][1], 8) for one in told["cells"]] == [0.13815034, 0.13815034, 0.05663301]
    assert [one["epsilon"][0] for one in told["cells"]][:2] == [None, None]
    assert round(told["cells"][2]["epsilon"][1], 6) == 0.693147
    assert [one["sure_after"] for one in told["cells"]] == [6, 6, 23]
    assert [one["belief"] for one in told["cells"]] == [1.0, 0.6000000000000001, 0.6666666666666667]
    (tmp_path / "m.json").write_text(done.stdout)
    page = leakcap("report", "m.json", "--for", "board", "-o", "m.md", cwd=tmp_path)
    assert (page.returncode, page.stderr) == (0, "")
    text = (tmp_path / "m.md").read_text()
    assert "Census" in text
    assert "many people around are no protection" in text


def test_several_steps_and_files_beside(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "m.toml").write_text(
        '[[method]]\nkind = "cell key"\ntable = "t.csv"\ncycle = 1\n'
        '[[method]]\nkind = "suppression"\nbelow = 3\n'
    )
    done = leakcap("disclosure", str(tmp_path / "m.toml"), cwd=tmp_path.parent)
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    assert "cell keys, which add or take away 1 at most, then suppression of counts from 1 to 2" in told
    assert "and more" in done.stdout
    (tmp_path / "x.csv").write_text("count,0,2\n0,1,0\n1,0.5,0.5\n2,0,1\n")
    (tmp_path / "g.toml").write_text('[[method]]\nkind = "matrix"\nfile = "x.csv"\n')
    done = leakcap("disclosure", "g.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Of larger counts than the matrix has nothing is known." in done.stdout


def test_a_cell_that_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("count,a,b\n0,0.5,0.5\n1,0.5,0.5\n")
    (tmp_path / "g.toml").write_text('[[method]]\nkind = "matrix"\nfile = "x.csv"\n')
    done = leakcap("disclosure", "g.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No published cell tells anything about whether one person is in it." in done.stdout
    assert "never" in done.stdout


BAD = {
    "": "`method` of .* is missing",
    "method = []\n": "`method` of ",
    "[[method]]\nbase = 3\n": "kind",
    '[[method]]\nkind = "rounding"\n': "random rounding",
    '[[method]]\nkind = "random rounding"\n': "`.*base.*` of .* is missing",
    '[[method]]\nkind = "random rounding"\nbase = 3\nbose = 1\n': "not a known field",
    '[[method]]\nkind = "random rounding"\nbase = 1\n': "whole number from 2 to 1000. Got 1",
    '[[method]]\nkind = "random rounding"\nbase = 2\nup = ["0", "x"]\n': "fractions as text",
    '[[method]]\nkind = "cell key"\ntable = "no.csv"\n': "no.csv",
    '[[method]]\nkind = "suppression"\nbelow = 3\n' + STEP: "cannot be applied to words",
    '[[method]]\nkind = "matrix"\nfile = "bad.csv"\n': "must be the counts 0, 1",
    "title = 3\n" + STEP: "`title` of .* must be",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_method_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.csv").write_text("count,0,1\na,1,0\nb,0,1\n")
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises((LeakcapError, OSError), match=BAD[text]):
        read_method(tmp_path / "m.toml")


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    done = leakcap("disclosure", "none.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    (tmp_path / "m.toml").write_text('[[method]]\nkind = "cell key"\ntable = "no.csv"\n')
    done = leakcap("disclosure", "m.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_table_of_very_many_kinds_of_cells_says_how_many_are_left_out(tmp_path: Path) -> None:
    rng = random.Random(1)
    lines = ["pcv,ckey,pvalue"]
    for count in range(1, 61):
        row = sorted(rng.randint(-min(count, 3), 3) for _ in range(64))
        lines += [f"{count},{key},{value}" for key, value in enumerate(row)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "m.toml").write_text('[[method]]\nkind = "cell key"\ntable = "t.csv"\ncycle = 1\n')
    done = leakcap("disclosure", "m.toml", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (len(told["cells"]), told["further"]) == (40, 21)
    uppers = [one["capacity"][1] for one in told["cells"]]
    assert uppers == sorted(uppers, reverse=True)
    (tmp_path / "m.json").write_text(done.stdout)
    page = leakcap("report", "m.json", "-o", "m.md", cwd=tmp_path)
    assert (page.returncode, page.stderr) == (0, "")
    assert "21 further kinds of cells tell no more." in (tmp_path / "m.md").read_text()


def test_which_error_noise_has_and_the_large_cells_on_the_page_for_a_board(tmp_path: Path) -> None:
    """Base 3: 4/3 on average, 2 between multiples, where ε is arcosh(1 + 1/2) = .9624."""
    (tmp_path / "m.toml").write_text(STEP)
    done = leakcap("disclosure", "m.toml", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "1.34 over large counts on average" in said
    assert "it is 2.00, and discrete Laplace noise of that error would have ε = 0.963" in said
    table = most_entropic_table(5, 3)
    write_perturbation_table(table, tmp_path / "t.csv")
    (tmp_path / "k.toml").write_text('[[method]]\nkind = "cell key"\ntable = "t.csv"\n')
    done = leakcap("disclosure", "k.toml", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["largest_epsilon"] is None
    (tmp_path / "k.json").write_text(done.stdout)
    for audience, kinds in (("board", 3), ("reviewer", 6)):
        assert leakcap("report", "k.json", "--for", audience, "-o", "k.md", cwd=tmp_path).returncode == 0
        text = (tmp_path / "k.md").read_text()
        assert text.count("\n| ") == 2 + kinds + 2  # a head of two lines, the cells, two kinds of noise
        assert "| 5 and more |" in text
        (tmp_path / "k.md").unlink()
