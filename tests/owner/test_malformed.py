"""Ten malformed files, and some more: each gives the owner one helpful line, and costs nothing."""

from __future__ import annotations

import csv
import gc
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Done, leakcap
from leakcap.ledger import Ledger

POLICY = """dataset = "stays"
neighbours = "add-remove-one"
unit = { id = "patient", max_rows = 1 }
[caps]
epsilon = 1.0
[columns.sex]
keys = ["F", "M"]
[columns.cost]
bounds = [0.0, 5000.0]
"""
QUERIES = """policy = "policy.toml"
data = "stays.csv"
ledger = "spent.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 0.5
"""
SOUND = "patient,sex,cost\n" + "".join(f"p{i},{'FM'[i % 2]},{1000 + i}.5\n" for i in range(20))

Spoil = Callable[[str], str | bytes]

MALFORMED: dict[str, tuple[Spoil, str]] = {
    "semicolons": (
        lambda s: s.replace(",", ";"),
        "problem: `stays.csv`: values are separated by semicolons, and leakcap reads commas.",
    ),
    "tabs": (lambda s: s.replace(",", "\t"), "separated by tabs"),
    "decimal commas in quotation marks": (
        lambda s: s.replace("1003.5", '"1003,5"').replace("1005.5", '"1005,5"'),
        "problem: `cost`: 2 of 20 rows cannot be read as a number and count as missing: "
        '"1003,5" (1 row) and "1005,5" (1 row). Write 1003.5',
    ),
    "decimal commas": (
        lambda s: s.replace(".5", ",5"),
        "20 lines (the first is line 2) have more values than the first line has names (3)",
    ),
    "a currency": (
        lambda s: s.replace("1007.5", '"1,234.56 €"'),
        '"1,234.56 €" (1 row). Write 1234.56: digits and a decimal point alone.',
    ),
    "a word for nothing": (lambda s: s.replace("1007.5", "n/a"), "Leave the cell empty"),
    "UTF-16": (
        lambda s: s.encode("utf-16"),
        "problem: `stays.csv`: the file is not UTF-8; it looks like UTF-16",
    ),
    "Latin-1": (
        lambda s: s.replace("p7", "Müller").encode("latin-1"),
        "line 9 is not UTF-8; the file looks like Windows-1252 or Latin-1. Save it as UTF-8.",
    ),
    "keys in small letters": (
        lambda s: s.replace(",F,", ",f,"),
        "problem: `sex`: 10 of 20 rows have a key that the policy does not list, and no group counts them: "
        '"f" (10 rows; did you mean `F`, which no row has?).',
    ),
    "a key with a space": (lambda s: s.replace("p3,M,", "p3,M ,"), '"M " (1 row; did you mean `M`?)'),
    "a key that nobody knows": (
        lambda s: s.replace("p3,M,", "p3,X,"),
        "note: `sex`: 1 of 20 rows has a key",
    ),
    "values outside the bounds": (
        lambda s: s.replace("1018.5", "9999").replace("1019.5", "-1"),
        "note: `cost`: of 20 values 1 below 0 and 1 above 5000, outside the bounds",
    ),
    "another unit": (
        lambda s: s.replace(".5", "00.5"),
        "20 above 5000, outside the bounds; they count as the nearer bound. Most do: is the unit",
    ),
    "rows without an id": (
        lambda s: s.replace("p3,", ",").replace("p4,", ","),
        "problem: `patient`: 2 of 20 rows have no id: they belong to nobody and are in no answer.",
    ),
    "a person twice": (
        lambda s: s.replace("p4,", "p3,"),
        "problem: `patient`: the policy promises one row a person, and 1 person has more (one has 2);",
    ),
    "an id spelt in two ways": (
        lambda s: s.replace("p4,", "P3,"),
        "problem: `patient`: 1 of 20 ids differ from another in case or spaces alone.",
    ),
    "a header that is misspelt": (
        lambda s: s.replace("cost", "Cost"),
        "problem: `cost`: the data has no such column. Did you mean `Cost`?",
    ),
    "a header with a space": (lambda s: s.replace("cost", " cost"), "Did you mean ` cost`?"),
    "a column twice": (lambda s: s.replace("sex", "Cost"), "two columns are called `cost`. Each name"),
    "two columns twice": (
        lambda s: s.replace("patient,sex,cost", "sex,cost,Cost,SEX,cosT"),
        "3 columns are called `cost` and two columns are called `sex`. Each name",
    ),
    "a null byte": (
        lambda s: s.replace("p7", "p\0007é"),
        "problem: `stays.csv`: line 9 has a null byte. Text has none: was the file damaged?",
    ),
    "UTF-16 without a mark": (lambda s: s.encode("utf-16-le"), "it looks like UTF-16"),
    "UTF-16 of other letters": (
        lambda s: s.replace("p7", "患者" * 2000).encode("utf-16-be"),
        "it looks like UTF-16",
    ),
    "a column without a name": (lambda s: s.replace("sex", ""), "column 2 has no name in the first line"),
    "a line break in a value": (
        lambda s: s.replace("p7,", '"p\n7",'),
        "2 lines (the first is line 9) have an odd number of quotation marks: a value has a line break in it",
    ),
    "a line that was cut": (
        lambda s: s.replace("p7,M,1007.5", "p7,M"),
        "line 9 has fewer values than the first line has names (3); what is not there counts as missing.",
    ),
    "carriage returns": (lambda s: s.replace("\n", "\r"), "lines end in a carriage return alone"),
    "nothing": (lambda s: "", "the file is empty"),
    "no rows": (lambda s: s.partition("\n")[0] + "\n", "there are no people"),
    "a workbook": (lambda s: b"PK\x03\x04" + s.encode(), "an Excel workbook"),
    "Parquet": (lambda s: b"PAR1" + s.encode(), "a Parquet file"),
    "compressed": (lambda s: b"\x1f\x8b" + s.encode(), "compressed"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "release.toml").write_text(QUERIES)
    return tmp_path


def checked(desk: Path, content: str | bytes) -> Done:
    data = content if isinstance(content, bytes) else content.encode()
    (desk / "stays.csv").write_bytes(data)
    return leakcap("check", "release.toml", "--show", cwd=desk)


def test_a_sound_file_has_nothing(desk: Path) -> None:
    for text in (SOUND, "\ufeff" + SOUND, SOUND.replace("\n", "\r\n"), SOUND.replace("1001.5", "NaN")):
        done = checked(desk, text)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("no problems, no notes. "), done.stdout


@pytest.mark.parametrize("name", MALFORMED)
def test_one_helpful_line_and_no_spend(name: str, desk: Path) -> None:
    spoil, said = MALFORMED[name]
    spoiled = spoil(SOUND)
    assert spoiled not in (SOUND, SOUND.encode())
    done = checked(desk, spoiled)
    found = [line for line in done.stdout.splitlines() if line.startswith(("problem: ", "note: "))]
    assert len(found) == 1, done
    assert said in found[0]
    assert done.returncode == (1 if found[0].startswith("problem") else 0)
    assert done.stderr == ""
    assert sorted(p.name for p in desk.iterdir()) == ["policy.toml", "release.toml", "stays.csv"]


def test_a_ledger_that_is_there_is_not_touched(desk: Path) -> None:
    checked(desk, SOUND)
    assert leakcap("release", "release.toml", cwd=desk).returncode == 0
    gc.collect()  # the ledger's connection goes, and its log with it
    with Ledger.read(f"sqlite:///{desk / 'spent.db'}") as ledger:
        before = ledger.totals()
    marks = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in desk.glob("spent.db*")}
    for spoil, _ in MALFORMED.values():
        checked(desk, spoil(SOUND))
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in desk.glob("spent.db*")} == marks
    with Ledger.read(f"sqlite:///{desk / 'spent.db'}") as ledger:
        assert ledger.totals() == before


def test_nothing_is_logged(desk: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        for spoil, _ in MALFORMED.values():
            checked(desk, spoil(SOUND))
    assert [record for record in caplog.records if record.name.startswith("leakcap")] == []


def test_no_value_leaves_for_a_pipe(desk: Path) -> None:
    """Without `--show` what is found goes to a terminal only; the refusal tells nothing of it."""
    (desk / "stays.csv").write_text(SOUND.replace(",F,", ",f,"))
    sound = leakcap("check", "release.toml", cwd=desk)
    (desk / "stays.csv").write_text(SOUND)
    assert leakcap("check", "release.toml", cwd=desk) == sound
    assert (sound.returncode, sound.stdout) == (2, "")
    assert "Add `--show` if only the owner reads it." in sound.stderr


def test_what_a_release_reads_is_what_the_check_reads(desk: Path) -> None:
    spoiled = SOUND.replace(",F,", ",f,", 3)
    done = checked(desk, spoiled)
    assert '"f" (3 rows; did you mean `F`?)' in done.stdout
    rows = list(csv.DictReader(spoiled.splitlines()))
    assert sum(row["sex"] not in ("F", "M") for row in rows) == 3
