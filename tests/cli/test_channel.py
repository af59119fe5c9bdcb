"""`leakcap channel`: a matrix in a file, everything it leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Done, leakcap

SURVEY = Path(__file__).parents[2] / "examples" / "survey.csv"


def run(*args: str | Path) -> Done:
    return leakcap("channel", *args)


def test_the_survey() -> None:
    done = run(SURVEY, "--json")
    assert done.returncode == 0, done.stderr
    found = {m["measure"]: m for m in json.loads(done.stdout)["measures"]}
    assert found["ε, the largest log ratio"]["upper"] == pytest.approx(1.3862943611, abs=1e-10)
    assert found["Shannon capacity"]["upper"] == pytest.approx(0.1606206307, abs=1e-9)
    assert found["Bayes capacity"]["upper"] == pytest.approx(5 / 3, abs=1e-12)
    assert found["multiplicative leakage, worst output"]["upper"] == pytest.approx(12 / 7, abs=1e-12)
    assert all(m["lower"] <= m["upper"] for m in found.values() if m["upper"] is not None)
    shown = run(SURVEY)
    assert shown.returncode == 0
    assert "0.1606206309" in shown.stdout


def test_gains_and_priors(tmp_path: Path) -> None:
    prior = tmp_path / "prior.txt"
    prior.write_text("0.5, 0.25, 0.25\n")
    distances = tmp_path / "d.csv"
    distances.write_text("0,1,2\n1,0,1\n2,1,0\n")
    gains = [
        "k_guesses:2",
        "property:a,a,b",
        f"distance:{distances}",
        "distribution_reciprocal",
        str(distances),
    ]
    for gain in gains:
        done = run(SURVEY, "--prior", prior, "--gain", gain, "--json")
        assert done.returncode == 0, (gain, done.stderr)
        found = {m["measure"]: m for m in json.loads(done.stdout)["measures"]}
        ratio = found["multiplicative leakage, on average"]["upper"]
        assert 1 - 1e-12 <= ratio <= found["Bayes capacity"]["upper"] + 1e-12


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["none.csv"], "none.csv"),
        ([SURVEY, "--prior", "0.5,0.5"], "--prior"),
        ([SURVEY, "--prior", "x"], "--prior"),
        ([SURVEY, "--prior", "0.5,0.5,0.5"], "sum to one"),
        ([SURVEY, "--gain", "luck"], "--gain"),
        ([SURVEY, "--gain", "k_guesses:9"], "k_guesses"),
        ([SURVEY, "--gain", "distance:none.csv"], "none.csv"),
        ([SURVEY, "--alpha", "1"], "--alpha"),
    ],
)
def test_one_clear_line(args: list[str | Path], named: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert named in done.stderr


@pytest.mark.parametrize("text", ["", "a,b\nc\n", "0.5,0.6\n", "0.5,-0.5\n", "nan,1\n", "x,y\nz,w\n"])
def test_bad_matrices(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = run(path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
