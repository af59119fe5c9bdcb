"""`leakcap disclosure method.toml question.toml`: a group in a tree of margins, beside every case."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.disclosure.cells import CellMethod, FollowedBy
from leakcap.disclosure.description import read_method
from leakcap.disclosure.group_description import read_group, weigh_group
from leakcap.disclosure.rounding import RandomRounding
from leakcap.disclosure.suppression import SmallCells
from leakcap.errors import LeakcapError

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
CELLS = ("s", "t", "st", "u", "stu")
QUESTION = """title = "Who came"
assumed = true
tree = [["s", "t"], "u"]

[[others]]
chance = "1/3"
cells = { s = 1, t = 0, u = { 1 = "1/2", 2 = "1/2" } }
[[others]]
chance = "2/3"
cells = { s = 0, t = { 0 = "1/3", 2 = "2/3" }, u = 1 }

[[secret]]
name = "absent"
belief = "4/5"
[[secret]]
name = "together"
belief = "1/10"
adds = [{ cells = { s = 1, u = 1 } }]
[[secret]]
name = "somewhere"
belief = "1/10"
adds = [{ chance = "1/4", cells = { s = 1 } }, { chance = "3/4", cells = { t = 1 } }]
"""
OTHERS = [
    (THIRD, {"s": {1: ONE}, "t": {0: ONE}, "u": {1: HALF, 2: HALF}}),
    (2 * THIRD, {"s": {0: ONE}, "t": {0: THIRD, 2: 2 * THIRD}, "u": {1: ONE}}),
]
ADDS: dict[str, list[tuple[Fraction, dict[str, int]]]] = {
    "absent": [(ONE, {})],
    "together": [(ONE, {"s": 1, "u": 1})],
    "somewhere": [(HALF / 2, {"s": 1}), (3 * HALF / 2, {"t": 1})],
}
NOISE = [[0, 0, 0, 0], [-1, 0, 0, 1], [0, -2, 1, 0]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = "".join(f"{n},{key},{NOISE[n][key]}\n" for n in (1, 2) for key in range(4))
    (tmp_path / "n.csv").write_text("pcv,ckey,pvalue\n" + rows)
    keys = '[[method]]\nkind = "cell key"\ntable = "n.csv"\ncycle = 1\n'
    (tmp_path / "k.toml").write_text(keys)
    (tmp_path / "ks.toml").write_text(keys + '[[method]]\nkind = "suppression"\nbelow = 2\n')
    (tmp_path / "r.toml").write_text('[[method]]\nkind = "random rounding"\nbase = 2\n')
    (tmp_path / "rs.toml").write_text(
        '[[method]]\nkind = "random rounding"\nbase = 2\n[[method]]\nkind = "suppression"\nbelow = 3\n'
    )
    (tmp_path / "q.toml").write_text(QUESTION)
    (tmp_path / "qk.toml").write_text("keys = 4\n" + QUESTION)
    return tmp_path


def numbers_of(name: str) -> list[tuple[Fraction, dict[str, int]]]:
    """Every case of how many people are in the three cells, with its chance."""
    found = []
    for (share, laws), (chance, more) in product(OTHERS, ADDS[name]):
        for counts in product(*(laws[cell].items() for cell in "stu")):
            weight = share * chance
            for _, one in counts:
                weight *= one
            held = {cell: n + more.get(cell, 0) for cell, (n, _) in zip("stu", counts, strict=True)}
            found.append((weight, held))
    return found


def by_every_record(name: str, suppressed: bool) -> dict[tuple[object, ...], Fraction]:
    """Cell keys: all keys of all records."""
    law: dict[tuple[object, ...], Fraction] = {}
    for weight, held in numbers_of(name):
        people = [cell for cell in "stu" for _ in range(held[cell])]
        for keys in product(range(4), repeat=len(people)):
            shown = list[object]()
            for cells in CELLS:
                own = [key for key, cell in zip(keys, people, strict=True) if cell in cells]
                number = len(own) + NOISE[min(len(own), 2)][sum(own) % 4]
                shown.append("suppressed" if suppressed and 0 < number < 2 else number)
            law[tuple(shown)] = law.get(tuple(shown), Fraction(0)) + weight / 4 ** len(people)
    return law


def by_every_draw(name: str, method: CellMethod) -> dict[tuple[object, ...], Fraction]:
    """Other methods: all that each cell and margin can show, independently."""
    law: dict[tuple[object, ...], Fraction] = {}
    for weight, held in numbers_of(name):
        for shown in product(*(method.law(sum(held[one] for one in cells)).items() for cells in CELLS)):
            chance = weight
            for _, one in shown:
                chance *= one
            outcome = tuple(value for value, _ in shown)
            law[outcome] = law.get(outcome, Fraction(0)) + chance
    return law


ROUNDED = RandomRounding(2)
LAWS = {
    "k": lambda name: by_every_record(name, suppressed=False),
    "ks": lambda name: by_every_record(name, suppressed=True),
    "r": lambda name: by_every_draw(name, ROUNDED),
    "rs": lambda name: by_every_draw(name, FollowedBy(ROUNDED, SmallCells(below=3))),
}


@pytest.mark.parametrize("method", LAWS)
def test_the_law_and_the_figures_by_every_case(place: Path, method: str) -> None:
    keys = 4 if method in ("k", "ks") else None
    group = read_group(place / "q.toml")
    risk = weigh_group(group, read_method(place / f"{method}.toml")[1], keys)
    exact = risk.channel.as_exact()
    assert exact is not None
    truth = {name: LAWS[method](name) for name in ADDS}
    for name, row in zip(risk.channel.inputs, exact.tolist(), strict=True):
        found = {shown: one for shown, one in zip(risk.channel.outputs, row, strict=True) if one}
        assert found == truth[str(name)]
    outcomes = {shown for law in truth.values() for shown in law}
    rows = [[truth[name].get(shown, Fraction(0)) for name in ADDS] for shown in outcomes]
    assert risk.guess == sum(max(row) for row in rows) / 3
    assert risk.sure == sum(sum(row) for row in rows if sum(one > 0 for one in row) == 1) / Fraction(3)
    beliefs = [8 * HALF / 5, HALF / 5, HALF / 5]
    weighed = [[b * p for b, p in zip(beliefs, row, strict=True)] for row in rows]
    assert risk.believed_guess == sum(max(row) for row in weighed)
    after = [row[1] / sum(row) for row in weighed]
    assert risk.told_of("together") == (min(after), max(after))


def test_the_command_its_record_and_its_page(place: Path) -> None:
    done = leakcap("disclosure", "k.toml", "qk.toml", "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    truth = {name: by_every_record(name, suppressed=False) for name in ADDS}
    outcomes = {shown for law in truth.values() for shown in law}
    guess = sum(max(truth[name].get(shown, Fraction(0)) for name in ADDS) for shown in outcomes) / 3
    assert told["guess"][0] <= guess <= told["guess"][1] < told["guess"][0] + 1e-12
    assert told["published"] == [["s"], ["t"], ["s", "t"], ["u"], ["s", "t", "u"]]
    assert told["keys"] == 4
    assert told["believed"][0][1] == 0.8
    (place / "r.json").write_text(done.stdout)
    page = leakcap("report", "r.json", "-o", "r.md", cwd=place)
    assert (page.returncode, page.stderr) == (0, "")
    text = (place / "r.md").read_text()
    assert "s 1 (1/4) or t 1 (3/4)" in text
    assert "With a chance of 1/3, the others are: s 1; t 0; u 1 (1/2), 2 (1/2)." in text
    done = leakcap("disclosure", "r.toml", "q.toml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "random rounding to base 2" in done.stdout


def test_what_tells_nothing_says_so_and_real_counts_leave_no_record(place: Path) -> None:
    (place / "all.toml").write_text('[[method]]\nkind = "suppression"\nbelow = 9\nzeros = true\n')
    (place / "real.toml").write_text(QUESTION.replace("assumed = true", "assumed = false"))
    before = sorted(place.iterdir())
    done = leakcap("disclosure", "all.toml", "real.toml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert "tells nothing about which" in said
    assert "as secret as they are" in said
    refused = leakcap("disclosure", "all.toml", "real.toml", "--json", cwd=place)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert sorted(place.iterdir()) == before


BAD = [
    ("`tree` of .* must nest", '[["s", "t"], "u"]', '[["s", 3], "u"]'),
    ("each once", '"u"]', '"s"]'),
    ("must nest", '[["s", "t"], "u"]', "[]"),
    ("`v` in `others` of .* is no cell", "u = 1 }\n", "v = 1 }\n"),
    ("must say how many are in `u`", ", u = 1 }\n", " }\n"),
    ("numbers of people from 0", "u = 1 }\n", "u = -1 }\n"),
    ("number of people, or chances", "u = 1 }\n", "u = true }\n"),
    ("chances of `t` in `others` in .* must add up to one. Got 5/6", '2 = "2/3"', '2 = "1/2"'),
    ("each number of people once", '0 = "1/3", 2', '2 = "1/3", 02'),
    ("fraction from 0 to 1 as text", 'chance = "1/4"', 'chance = "one"'),
    ("fraction from 0 to 1 as text", 'chance = "1/4"', 'chance = "1/0"'),
    ("fraction from 0 to 1 as text", 'chance = "1/4"', 'chance = "-1/4"'),
    ("must be text", 'chance = "1/4"', "chance = 0.25"),
    ("`adds` of `somewhere` in .* must add up", 'chance = "1/4"', 'chance = "1/5"'),
    ("`chance` of all `others`", 'chance = "2/3"', 'chance = "1/3"'),
    ("numbers of people from 0", "{ s = 1, u = 1 }", "{ s = -1, u = 1 }"),
    ("is no cell of `tree`", "{ s = 1, u = 1 }", "{ x = 1, u = 1 }"),
    ("must have a `belief`, or none", 'belief = "4/5"\n', ""),
    ("`belief` of all secrets", 'belief = "4/5"', 'belief = "3/5"'),
    ("another name", '"together"', '"absent"'),
    ("not a known field", 'title = "Who came"', 'people = "p.csv"'),
    ("`assumed` of .* is missing", "assumed = true\n", ""),
    ("at least 2 items|must", QUESTION[QUESTION.index('[[secret]]\nname = "tog') :], ""),
]


@pytest.mark.parametrize(("words", "old", "new"), BAD)
def test_what_is_no_question_is_refused(place: Path, words: str, old: str, new: str) -> None:
    assert old in QUESTION
    (place / "q.toml").write_text(QUESTION.replace(old, new))
    with pytest.raises(LeakcapError, match=words) as error:
        read_group(place / "q.toml")
    assert "\n" not in str(error.value)


def test_keys_are_given_where_there_are_some(place: Path) -> None:
    done = leakcap("disclosure", "k.toml", "q.toml", cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "how many different keys" in done.stderr


def test_a_tree_that_is_too_large_is_one_line(place: Path) -> None:
    cells = [f"c{at}" for at in range(12)]
    numbers = ", ".join(f"{name} = 5" for name in cells)
    (place / "q.toml").write_text(
        f"assumed = true\nkeys = 4\ntree = {json.dumps(cells)}\n[[others]]\ncells = {{ {numbers} }}\n"
        '[[secret]]\nname = "a"\n[[secret]]\nname = "b"\nadds = [{ cells = { c0 = 1 } }]\n'
    )
    done = leakcap("disclosure", "k.toml", "q.toml", cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "at most 16,384 outcomes" in done.stderr


def test_planted_keys_of_margins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the key of a margin is another than the sum of its parts' keys. The law differs."""
    import leakcap.disclosure.joint.trees as trees

    honest = trees._sum_of
    group, method = read_group(place / "q.toml"), read_method(place / "k.toml")[1]
    right = weigh_group(group, method, 4).guess

    def another(first: object, second: object) -> object:
        return honest(first, second)[:, ::-1]  # type: ignore[arg-type]

    monkeypatch.setattr(trees, "_sum_of", another)
    assert weigh_group(group, method, 4).guess != right
