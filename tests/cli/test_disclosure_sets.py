"""`leakcap disclosure method.toml tables.toml`: a set of tables in files; one clear line for what is none."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.disclosure.rounding import RandomRounding
from leakcap.disclosure.set_description import read_tables
from leakcap.errors import LeakcapError

ROUNDING = '[[method]]\nkind = "random rounding"\nbase = 3\n'
PEOPLE = "town,land,people\ns,x,4\nt,x,0\nu,y,2\n"
BY = '[[table]]\nby = ["town"]\n[[table]]\nby = ["land"]\n[[table]]\nby = []\n'
TABLES = f'people = "p.csv"\nassumed = true\n{BY}'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "m.toml").write_text(ROUNDING)
    (tmp_path / "p.csv").write_text(PEOPLE)
    (tmp_path / "t.toml").write_text(TABLES)
    (tmp_path / "n.csv").write_text("pcv,ckey,pvalue\n1,0,-1\n1,1,0\n1,2,0\n1,3,1\n")
    (tmp_path / "k.toml").write_text('[[method]]\nkind = "cell key"\ntable = "n.csv"\ncycle = 1\n')
    return tmp_path


def test_a_hierarchy_from_files(place: Path) -> None:
    """Rounded cells are independent: the worst place by every combination of what is published."""
    done = leakcap("disclosure", "m.toml", "t.toml", "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [cell["by"] for cell in told["places"][0]["cells"]] == [["town"], ["land"], []]
    method, found = RandomRounding(3), {}
    for town, others in {"s": (4, 4, 6), "t": (0, 4, 6), "u": (2, 2, 6)}.items():
        right = Fraction(0)
        shown = [[*{*method.law(n), *method.law(n + 1)}] for n in others]
        for outcome in product(*shown):
            worlds = [Fraction(1), Fraction(1)]
            for n, y in zip(others, outcome, strict=True):
                worlds = [p * method.law(n + more).get(y, Fraction(0)) for more, p in enumerate(worlds)]
            right += max(worlds) / 2
        found[town] = right
    assert {one["place"]["town"] for one in told["places"]} == set(found)
    for one in told["places"]:
        low, high = one["guess"]
        assert low <= found[one["place"]["town"]] <= high
        assert one["exact"]
    rates = [one["guess"][0] for one in told["places"]]
    assert rates == sorted(rates, reverse=True)
    (place / "r.json").write_text(done.stdout)
    page = leakcap("report", "r.json", "-o", "r.md", cwd=place)
    assert (page.returncode, page.stderr) == (0, "")
    assert "3 tables with 6 cells are published" in (place / "r.md").read_text()


def test_cell_keys_need_their_number(place: Path) -> None:
    done = leakcap("disclosure", "k.toml", "t.toml", cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "how many different keys" in done.stderr
    (place / "t.toml").write_text("keys = 4\n" + TABLES)
    done = leakcap("disclosure", "k.toml", "t.toml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 of them" in " ".join(done.stdout.split())


def test_what_tells_nothing_says_so(place: Path) -> None:
    (place / "m.toml").write_text('[[method]]\nkind = "suppression"\nbelow = 9\nzeros = true\n')
    done = leakcap("disclosure", "m.toml", "t.toml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "50.00 %" in done.stdout
    assert "tells nothing" in " ".join(done.stdout.split())


def test_real_counts_leave_no_record(place: Path) -> None:
    (place / "t.toml").write_text(TABLES.replace("true", "false"))
    done = leakcap("disclosure", "m.toml", "t.toml", "--json", cwd=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "real counts have no record" in done.stderr
    before = sorted(place.iterdir())
    done = leakcap("disclosure", "m.toml", "t.toml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "as secret as they are" in done.stdout
    assert sorted(place.iterdir()) == before


BAD = [
    ("people", "assumed = true\n", PEOPLE),
    ("must name what is published", 'people = "p.csv"\nassumed = true\n', PEOPLE),
    ("not a known field", TABLES.replace("by = []", "by = []\nbase = 3"), PEOPLE),
    ("`sex` is no column", TABLES.replace('"land"', '"sex"'), PEOPLE),
    ("one of them `people`", TABLES, "town,land\ns,x\n"),
    ("different columns", TABLES, "town,town,people\ns,x,1\n"),
    ("Line 3 of .* must have a count", TABLES, "town,land,people\ns,x,1\nt,x,-1\n"),
    ("Line 2 of .* must have 3 fields", TABLES, "town,land,people\ns,1\n"),
    ("same kind of people", TABLES, "town,land,people\ns,x,1\ns,x,2\n"),
    ("a line for each kind", TABLES, "town,land,people\n"),
    ("CSV in UTF-8", TABLES, b"town,land,people\ns,\xff,1\n"),
    ("`household` of .* must be at least 1", "household = 0\n" + TABLES, PEOPLE),
    ("at most 5", 'people = "p.csv"\nassumed = true\nmargins_of = ["a", "b", "c", "d", "e", "f"]\n', PEOPLE),
]


@pytest.mark.parametrize(("words", "tables", "people"), BAD)
def test_what_is_no_set_is_refused(tmp_path: Path, words: str, tables: str, people: str | bytes) -> None:
    (tmp_path / "t.toml").write_text(tables)
    (tmp_path / "p.csv").write_bytes(people if isinstance(people, bytes) else people.encode())
    with pytest.raises(LeakcapError, match=words) as error:
        read_tables(tmp_path / "t.toml")
    assert "\n" not in str(error.value)


def test_versions_leave_out_who_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("before,after,n\nx,x,3\nx,y,1\n,y,2\n")
    (tmp_path / "t.toml").write_text(
        'people = "p.csv"\ncount = "n"\nassumed = true\n'
        '[[table]]\nby = ["before"]\n[[table]]\nby = ["after"]\n'
    )
    read = read_tables(tmp_path / "t.toml")
    assert read.tables.cells_counted == 3
    assert [cell.others for cell in read.tables.counting(2)] == [3]
    assert [cell.others for cell in read.tables.counting(0)] == [4, 3]
