"""What is wrong with a file, a query or a policy is one helpful line of `leakcap release`, and costs nothing.

What stands in single values a release never tells: that is for `leakcap check`, on the owner's own terminal,
which the ten spoiled copies of the example are shown to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Done, leakcap
from leakcap.ledger import Ledger
from stays.office import EXAMPLE, make

Spoil = Callable[[str], "str | bytes | None"]
Family = dict[str, tuple[Spoil, str]]

FILES = {"data": "stays.csv", "query": "march.toml", "policy": "policy.toml"}
CHECK = "Names are matched letter for letter. `leakcap check` tells the owner what is wrong with a file."


def instead(old: str, new: str, *, once: bool = True) -> Spoil:
    """What a slip of the pen makes of a text."""
    return lambda text: text.replace(old, new, 1 if once else -1)


DATA: Family = {
    "semicolons": (
        instead(",", ";", once=False),
        f"The data has no column `admitted`, which the policy names. {CHECK}",
    ),
    "tabs": (instead(",", "\t", once=False), CHECK),
    "UTF-16": (lambda text: text.encode("utf-16"), CHECK),
    "UTF-16 without a mark": (lambda text: text.encode("utf-16-le"), CHECK),
    "capitals": (instead("admitted", "Admitted"), "no column `admitted`"),
    "a space": (instead(",ward", ", ward"), "no column `ward`"),
    "another id": (instead("patient", "person"), "no column `patient`"),
    "another row key": (instead("stay", "number"), "no column `stay`"),
    "Latin-1": (lambda text: text.replace("ward", "wärd", 1).encode("latin-1"), "no column `ward`"),
    "a column twice": (
        instead("discharged", "Admitted"),
        "must start with a line of column names, each there once",
    ),
    "a column without a name": (instead("sex", ""), "`leakcap check` tells the owner what is wrong with it."),
    "no first line": (
        lambda text: text.partition("\n")[2],
        "`leakcap check` tells the owner what is wrong with",
    ),
    "carriage returns": (instead("\n", "\r", once=False), "must start with a line of column names"),
    "nothing": (lambda text: "", "must start with a line of column names"),
    "a workbook": (lambda text: b"PK\x03\x04" + text.encode(), CHECK),
    "Parquet": (lambda text: b"PAR1" + text.encode(), CHECK),
    "compressed": (lambda text: b"\x1f\x8b" + text.encode(), CHECK),
    "null bytes": (lambda text: b"\0" * 1000, CHECK),
    "no file": (lambda text: None, "`data` names no file"),
}
NEVER = "`epsilon` of query `stays by ward` must be a positive finite number."
QUERY: Family = {
    "no TOML": (instead("[[query]]", "[query]]"), "`march.toml` is not valid TOML: "),
    "Latin-1": (
        lambda text: text.replace("stats@", "stäts@").encode("latin-1"),
        "is not UTF-8. Save it as UTF-8.",
    ),
    "no policy": (instead('policy = "policy.toml"\n', ""), "`policy` of `march.toml` is missing."),
    "another policy": (instead("policy.toml", "polcy.toml"), "polcy.toml` does not exist."),
    "no queries": (lambda text: text.partition("[[query]]")[0], "`query` of `march.toml` is missing."),
    "a field": (instead("epsilon", "epsilom"), "`epsilom` of query `stays by ward` is not a known field."),
    "a column": (instead('by = "ward"', 'by = "Ward"'), "not a column of the policy. Did you mean `ward`?"),
    "a statistic": (instead('"count"', '"counts"'), "Did you mean `count`?"),
    "no name": (instead('"patients"', '""'), "`name` of a query must be printable text. Got ''."),
    "a name twice": (
        instead('"patients"', '"nights"'),
        "`name` of query `nights` must be unique in `march.toml`.",
    ),
    "a negative ε": (instead("epsilon = 0.05", "epsilon = -0.05"), f"{NEVER} Got -0.05."),
    "ε as text": (
        instead("0.05", '"0.05"'),
        "`epsilon` of query `stays by ward` must be a number. Got '0.05'.",
    ),
    "no ε": (instead("epsilon = 0.05\n", ""), NEVER),
    "infinite ε": (instead("0.05", "inf"), f"{NEVER} Got inf."),
    "a condition": (
        instead("month =", "months ="),
        "`where` of query `stays by ward` names `months`, which is not a col",
    ),
    "a key": (
        instead("month = '2024-03'", "month = '2024-3'"),
        "`where` of query `stays by ward` names '2024-3', which is not a key of `month`",
    ),
    "a function": (
        instead("month = '2024-03'", "lower(ward) = 'north'"),
        "`where` of query `stays by ward` may not use LOWER.",
    ),
    "a date": (
        instead("month = '2024-03'", "admitted >= '1.3.'"),
        "must compare `admitted` with a date like DATE '2024-12-31'.",
    ),
    "cover": (
        instead('cover = "cut"', 'cover = "nights"'),
        "be the name of a `rows_cut` query in `march.toml`.",
    ),
    "up_to": (
        instead("up_to = 10", "up_to = 5"),
        "`up_to` of query `cut` must be more than the 5 rows of a person",
    ),
    "mean of text": (
        instead('column = "nights"', 'column = "ward"'),
        "`ward` has no `bounds` in the policy, which the mean of",
    ),
    "mean of a truth": (
        instead('column = "nights"', 'column = "emergency"'),
        'ask for the share, `ratio` with `when = "emergency"`.',
    ),
    "private keys": (instead('by = "ward"', 'by = "diagnosis"'), "Only the owner can allow one."),
    "a title": (instead("title =", "titel ="), "`publication.titel` of `march.toml` is not a known field."),
    "other data": (instead("stays.csv", "stay.csv"), "`data` names no file"),
}
POLICY: Family = {
    "no TOML": (instead("[caps]", "[caps"), "policy.toml` is not valid TOML: Expected ']'"),
    "a field of the unit": (
        instead("max_rows", "max_row"),
        "is not a known field. Remove it or check its spelling.",
    ),
    "no id": (instead('id = "patient", ', ""), "`unit.id` of"),
    "no rows": (instead("max_rows = 5", "max_rows = 0"), "must be at least 1. Got 0."),
    "half a row": (instead("max_rows = 5", "max_rows = 2.5"), "must be a whole number. Got 2.5."),
    "a word": (
        lambda text: with_unit(text, '"person"'),
        "must be 'row' or a table like { id = \"patient\", max_rows = 1 }. Got 'person'.",
    ),
    "no data set": (instead('dataset = "stays"\n', ""), "`dataset` of"),
    "neighbours": (
        instead("add-remove-one", "add-remove"),
        "must be 'replace-one' or 'add-remove-one'. Got 'add-remove'.",
    ),
    "bounds": (instead("[0, 120]", "[120, 0]"), "`bounds` must be [low, high] with low < high."),
    "dates": (
        instead("2024-01-01, 2024-12-31", "2024-12-31, 2024-01-01"),
        "`bounds` must be [first, last] with first < last.",
    ),
    "cuts": (instead("[18, 45, 65, 80]", "[18, 65, 45, 80]"), "`cuts` must rise."),
    "bands": (instead('"65-79", ', ""), "`keys` of `columns.age_band` must be texts, one more than `cuts`."),
    "a source": (
        instead('from = "age"', 'from = "years"'),
        "`columns.age_band` is from `years`, which is no column.",
    ),
    "a period": (
        instead('"quarter" }', '"fortnight" }'),
        "must be 'year', 'quarter', 'month', 'week' or 'day'. Got 'fortnight'.",
    ),
    "a key twice": (instead('["F", "M"]', '["F", "F"]'), "`keys` must not repeat a key."),
    "keys in one": (instead('["F", "M"]', '"FM"'), "must be a list, in square brackets. Got 'FM'."),
    "a value in two groups": (instead('["E"]', '["C"]'), "`groups` must not name a value twice."),
    "a negative cap": (instead("epsilon = 4.0", "epsilon = -4.0"), "must be greater than 0. Got -4.0."),
    "no cap": (instead("epsilon = 4.0\n", ""), "`epsilon` is missing"),
}
FAMILIES = {"data": DATA, "query": QUERY, "policy": POLICY}


def with_unit(text: str, unit: str) -> str:
    line = next(one for one in text.splitlines() if one.startswith("unit = "))
    return text.replace(line, f"unit = {unit}")


@pytest.fixture(scope="module")
def sound() -> dict[str, str]:
    """The three files that a release reads."""
    query = (EXAMPLE / "march.toml").read_text().replace("stays.parquet", "stays.csv")
    return {
        "stays.csv": make.csv_of(make.stays(120)),
        "march.toml": query,
        "policy.toml": (EXAMPLE / "policy.toml").read_text(),
    }


def lay(desk: Path, files: dict[str, str]) -> None:
    desk.mkdir(exist_ok=True)
    for name, text in files.items():
        (desk / name).write_text(text)


def spoiled(desk: Path, kind: str, name: str, sound: dict[str, str]) -> Done:
    """What a release says where one of the files is not as it should be."""
    lay(desk, sound)
    path, (spoil, _) = desk / FILES[kind], FAMILIES[kind][name]
    made = spoil(sound[path.name])
    assert made not in (sound[path.name], sound[path.name].encode())
    if made is None:
        path.unlink()
    else:
        path.write_bytes(made if isinstance(made, bytes) else made.encode())
    return leakcap("release", "march.toml", cwd=desk)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, family in FAMILIES.items() for name in family]
)
def test_one_helpful_line_and_no_ledger(kind: str, name: str, tmp_path: Path, sound: dict[str, str]) -> None:
    done = spoiled(tmp_path / "desk", kind, name, sound)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert done.stderr.startswith("leakcap: ")
    assert FAMILIES[kind][name][1] in done.stderr, done.stderr
    left = {path.name for path in (tmp_path / "desk").iterdir()}
    assert left <= set(
        FILES.values()
    )  # nothing was spent, and no ledger begun that the mended policy would not fit


def test_a_sound_desk_is_answered(tmp_path: Path, sound: dict[str, str]) -> None:
    lay(tmp_path / "desk", sound)
    assert leakcap("release", "march.toml", cwd=tmp_path / "desk").returncode == 0


def test_a_ledger_that_is_there_stays_as_it_is(tmp_path: Path, sound: dict[str, str]) -> None:
    """Bytes and all; a policy that is another one is refused by the ledger itself, where it can be read."""
    desk = tmp_path / "desk"
    lay(desk, sound)
    assert leakcap("release", "march.toml", cwd=desk).returncode == 0
    with Ledger.read(f"sqlite:///{desk / 'stays.db'}") as book:
        before = book.totals(), book.verify()
    assert not [log for log in desk.glob("*-wal") if log.stat().st_size]  # all is in the file itself
    marks = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in desk.glob("stays.db*")}
    assert marks
    for kind, family in FAMILIES.items():
        for name in family:
            assert spoiled(desk, kind, name, sound).returncode == 2
    lay(desk, sound)
    with Ledger.read(f"sqlite:///{desk / 'stays.db'}") as book:
        assert (book.totals(), book.verify()) == before
    kept = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in desk.glob("stays.db")}
    assert kept["stays.db"] == marks["stays.db"]


TOLD = {
    "sex-in-small-letters": '"f" (187 rows; did you mean `F`, which no row has?)',
    "decimal-commas": "cannot be read as a number and count as missing",
    "euros": "digits and a decimal point alone.",
    "semicolons": "values are separated by semicolons, and leakcap reads commas.",
    "german-dates": "400 of 400 rows cannot be read as a date",
    "header-in-capitals": "`admitted`: the data has no such column. Did you mean `Admitted`?",
    "utf-16": "it looks like UTF-16",
    "cut-off": "has fewer values than the first line has names (11)",
    "no-patient": "7 of 400 rows have no id: they belong to nobody and are in no answer.",
    "word-for-nothing": '"n/a" (5 rows). Leave the cell empty',
}


@pytest.mark.parametrize("name", make.SPOILED)
def test_the_ten_spoiled_copies_have_one_problem_each(
    name: str, tmp_path: Path, sound: dict[str, str]
) -> None:
    lay(tmp_path, sound)
    make.spoil(tmp_path / "copies")
    query = sound["march.toml"].replace("stays.csv", f"copies/{name}.csv")
    (tmp_path / "march.toml").write_text(query)
    done = leakcap("check", "march.toml", "--show", cwd=tmp_path)
    problems = [line for line in done.stdout.splitlines() if line.startswith("problem: ")]
    assert (done.returncode, len(problems)) == (1, 1), done
    assert TOLD[name] in problems[0]
    assert not list(tmp_path.glob("*.db*"))


def test_there_are_ten() -> None:
    assert (make.SPOILED.keys(), len(TOLD)) == (TOLD.keys(), 10)
