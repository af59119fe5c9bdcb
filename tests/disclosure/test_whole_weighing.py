"""Methods for a whole table or file, weighed from the command line: by hand, and by listing all outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import mpmath
import pytest

from command_line import leakcap
from leakcap.disclosure import ControlledRounding, RandomRounding, RecordSwapping
from leakcap.disclosure.whole.weighing import ExchangeRisk, weigh_exchanges, weigh_table

TABLE = "region,sex,n\nN,f,1\nN,m,2\n"
WIDE = "region,sex,n\nN,f,1\nN,m,5\nS,f,4\nS,m,0\n"
FILE = "age,zip,illness,n\n31,1,flu,1\n32,1,none,2\n55,2,flu,1\n58,2,none,1\n"
RECORDS = "county,size,district,n\nA,1,x,1\nA,2,y,1\nB,1,u,2\nC,1,x,4\nC,2,y,3\n"
ROUNDING = '[[method]]\nkind = "controlled rounding"\nbase = 3\n'
SUPPRESSION = '[[method]]\nkind = "secondary suppression"\nbelow = 3\n'
CLASSES = '[[method]]\nkind = "k-anonymity"\nk = 2\nsecret = "illness"\n'
SWAPPING = '[[method]]\nkind = "record swapping"\nrate = "1/3"\nstratum = ["county"]\nswapped = "district"\n'


def told(tmp_path: Path, method: str, counts: str) -> list[list[str]]:
    """The words of each line that the command prints."""
    (tmp_path / "m.toml").write_text(method)
    (tmp_path / "c.csv").write_text(counts)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    done = leakcap("disclosure", "m.toml", "c.csv", "--show", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing of it was recorded" in " ".join(done.stdout.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before
    return [line.split() for line in done.stdout.splitlines()]


def test_one_row_is_a_channel_that_is_known(tmp_path: Path) -> None:
    """(1, 2) goes to (3, 0) with 1/3, (0, 3) stays: a Z channel of capacity ln(1 + (1/3)(2/3)²)."""
    found = weigh_table(ControlledRounding(3), ((1, 2),), ["N"], ["f", "m"])
    first = next(one for one in found if one.words == "N, f")
    right = math.log(1 + Fraction(1, 3) * Fraction(2, 3) ** 2)
    assert first.capacity.lower <= right <= first.capacity.upper
    assert first.capacity.width < 1e-8
    assert (first.guess, first.epsilon.upper, first.choices) == (Fraction(2, 3), math.inf, 2)
    lines = told(tmp_path, ROUNDING, TABLE)
    assert ["N,", "f", "1", "2", "66.67", "%", "0.139", "∞"] in lines


def test_a_table_of_cells_by_listing_what_is_published() -> None:
    """Somebody of (S, f) of (1, 5; 4, 0): all others are (1, 5; 3, 0), and the four places are listed."""
    (one,) = [
        one
        for one in weigh_table(ControlledRounding(3), ((1, 5), (4, 0)), ["N", "S"], ["f", "m"])
        if one.words == "S, f"
    ]
    tables = [((2, 5), (3, 0)), ((1, 6), (3, 0)), ((1, 5), (4, 0)), ((1, 5), (3, 1))]
    laws = [ControlledRounding(3).law(table) for table in tables]
    right = sum(
        max(law.get(shown, Fraction(0)) for law in laws) for shown in {*laws[0], *laws[1], *laws[2], *laws[3]}
    )
    assert one.guess == right / 4
    # A single published count of somebody's cell has random rounding's law: all of it tells at least as much.
    alone = [RandomRounding(3).law(count) for count in (3, 4)]
    least = sum(max(law.get(shown, Fraction(0)) for law in alone) for shown in {*alone[0], *alone[1]}) / 2
    assert one.guess * 4 / 2 >= least


def test_suppression_and_classes_by_hand(tmp_path: Path) -> None:
    """Whoever knows all others but one of two people reads the sums, or the last secret of a class."""
    lines = told(tmp_path, SUPPRESSION, WIDE)
    assert [line[-4:] for line in lines if line[:2] == ["N,", "f"]] == [["100.00", "%", "1.39", "∞"]]
    lines = told(tmp_path, CLASSES, FILE)
    for start in (["31,", "1,", "flu"], ["58,", "2,", "none"]):
        assert [line[3:] for line in lines if line[:3] == start] == [["1", "2", "100.00", "%", "0.694", "∞"]]


def test_exchanges_by_every_permutation(tmp_path: Path) -> None:
    """Two records change places with odds² = 1/4: 4/5 stay. Of three, by the definition of swapping."""
    lines = told(tmp_path, SWAPPING, RECORDS)
    assert [line[1:] for line in lines if line[:1] == ["A"]] == [["2", "2", "80.00", "%", "0.193", "1.39"]]
    assert [line[1:] for line in lines if line[:1] == ["B"]] == [["2", "2", "50.00", "%", "0", "0"]]
    # Of seven records the bound: no pair is listed.
    assert [line[5] for line in lines if line[:1] == ["C"]] == ["–"]

    rate = Fraction(1, 5)
    own = [("s", kept, value) for kept, value in zip("abc", (1, 2, 3), strict=True)]
    (found,) = weigh_exchanges(RecordSwapping(rate), own)
    weights = {}
    for places in permutations((1, 2, 3)):
        moved = sum(at != place for at, place in zip((1, 2, 3), places, strict=True))
        weights[places] = {
            0: (1 - rate) ** 3,
            2: rate**2 * (1 - rate),
            3: rate**3 / 2,
        }[moved]
    total = sum(weights.values())
    after = {places: weights[places[1], places[0], places[2]] for places in weights}
    assert found.guess == sum(max(weights[one], after[one]) for one in weights) / (2 * total)
    assert found.ratio == max(max(weights[one] / after[one], after[one] / weights[one]) for one in weights)


def test_a_bound_of_many_records_holds() -> None:
    """The bound that seven records get, beside what is exact for six of them."""
    own = [("s", kept, value) for kept, value in zip("abcdef", range(6), strict=True)]
    rate = Fraction(1, 10)
    (exact,) = weigh_exchanges(RecordSwapping(rate), own)
    (bound,) = weigh_exchanges(RecordSwapping(rate), [*own, ("s", "g", 6)])
    assert exact.worst is not None
    assert bound.worst is None
    assert exact.guess <= bound.guess
    assert exact.ratio <= bound.ratio


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(10**20 + 1, 10**20), Fraction(7), Fraction(10**400)])
def test_the_epsilon_of_an_exchange_holds_the_logarithm(ratio: Fraction) -> None:
    """Also beside one, where the difference of two logarithms is off by all that there is."""
    with mpmath.workdps(450):
        truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        found = ExchangeRisk("two people", 2, ratio, Fraction(1, 2), None).epsilon
        assert found.lower <= truth <= found.upper
        assert found.width <= 1e-15 * truth


BAD = {
    (ROUNDING, "region,n\nN,1\nS,2\n"): "must have two columns and the counts",
    (ROUNDING, "region,sex,n\nN,f,4711\nS,m,2\n"): "must have a line for each pair of `region` and `sex`",
    (ROUNDING, "region,sex,n\nN,f,4711\nN,f,2\n"): "Line 3 of `c.csv` has the same values",
    (ROUNDING, "region,sex,n\nN,f,0\nN,m,0\n"): "has nobody in it",
    (
        ROUNDING,
        "region,sex,n\n" + "".join(f"{r},{c},1\n" for r in range(5) for c in range(8)),
    ): "at most 36 cells",
    (ROUNDING.replace("3", "1"), TABLE): "be a whole number from 2 to 1000",
    (SUPPRESSION.replace("3", "0"), TABLE): "be a whole number from 1 to 1000",
    (CLASSES.replace("illness", "ilness"), FILE): "`ilness` is no column",
    (CLASSES.replace("illness", "age"), FILE): "must have whole numbers beside `age`",
    (CLASSES.replace("2", "0"), FILE): "be a whole number from 1",
    (CLASSES, FILE.replace(",2\n", ",4711\n")): "at most 2,000 people",
    (SWAPPING.replace("1/3", "x"), RECORDS): "must be a fraction as text",
    (SWAPPING.replace("1/3", "3/2"), RECORDS): "be a fraction between 0 and 1. Got 3/2.",
    (SWAPPING.replace('["county"]', '["district"]'), RECORDS): "cannot be one of `stratum`",
    (SWAPPING + ROUNDING, RECORDS): "Make it the only [[method]]",
}


@pytest.mark.parametrize(("method", "counts"), BAD)
def test_one_line_of_refusal_without_a_count(tmp_path: Path, method: str, counts: str) -> None:
    (tmp_path / "m.toml").write_text(method)
    (tmp_path / "c.csv").write_text(counts)
    done = leakcap("disclosure", "m.toml", "c.csv", "--show", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert BAD[method, counts] in done.stderr
    assert "4711" not in done.stderr


def test_a_whole_table_needs_its_counts(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(ROUNDING)
    done = leakcap("disclosure", "m.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "give the counts: leakcap disclosure method.toml counts.csv" in done.stderr
