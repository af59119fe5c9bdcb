"""A draft follows from names, types and public answers alone. It is a policy, and the check leads on."""

from __future__ import annotations

import random
import shlex
import tomllib
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leakcap
from leakcap.errors import DataError, InvalidParameter, InvalidPolicy
from leakcap.owner import KeysWithin, PublicAnswers, draft
from leakcap.owner.draft import todos
from leakcap.policy import load_policy

SCHEMA = (
    "id VARCHAR, age BIGINT, cost DOUBLE, price DECIMAL(9, 2), alive BOOLEAN, ward VARCHAR, day DATE, "
    "tags VARCHAR[], place STRUCT(x DOUBLE), code UTINYINT"
)
ROW = "'{}', {}, {}, {}, {}, '{}', DATE '20{:02}-01-01', ['{}'], {{x: {}}}, {}"


def table(path: Path, seed: int, rows: int) -> None:
    """A Parquet file of this schema; what is in it follows from the seed."""
    source = random.Random(seed)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({SCHEMA})")
        drawn = []
        for _ in range(rows):
            n = source.randint(1, 60)
            alive = source.choice(["true", "false"])
            drawn.append(f"({ROW.format(n, n, n / 7, n, alive, chr(64 + n % 30), n % 50, n, n, n)})")
        if drawn:
            connection.execute(f"INSERT INTO t VALUES {', '.join(drawn)}")
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")


@pytest.mark.parametrize("ending", ["parquet", "csv", "duckdb"])
def test_two_tables_of_one_schema_have_one_draft(ending: str, tmp_path: Path) -> None:
    drafts = set()
    for seed, rows in enumerate((0, 1, 40, 3000)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        file = folder / f"stays.{ending}"
        words = ["init", str(file), "--id", "id", "--bounds", "age=0:120", "--keys", "ward=A,B"]
        if ending == "parquet":
            table(file, seed, rows)
        elif ending == "csv":
            lines = [f"{n},{n * seed},{'x' * (n % 5)}" for n in range(rows)]
            file.write_text("\n".join(["id,age,ward", *lines]) + "\n")
        else:
            with duckdb.connect(str(file)) as connection:
                # The values of an ENUM are part of its type.
                values = ", ".join(f"'w{seed}{n}'" for n in range(3))
                connection.execute(f"CREATE TABLE stays (id BIGINT, age DOUBLE, ward ENUM({values}))")
                connection.execute(f"INSERT INTO stays SELECT range, range, 'w{seed}1' FROM range({rows})")
            words += ["--table", "stays"]
        done = leakcap(*words, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert sorted(folder.iterdir()) == [file]
        drafts.add(done.stdout)
    assert len(drafts) == 1
    policy = load_policy(tomllib.loads(drafts.pop()))
    assert policy.columns["age"].bounds == (0.0, 120.0)
    assert policy.columns["ward"].keys == ("A", "B")


def test_what_is_not_answered_promises_nothing(tmp_path: Path) -> None:
    table(tmp_path / "stays.parquet", 1, 5)
    done = leakcap("init", "stays.parquet", "--id", "id", cwd=tmp_path)
    policy = load_policy(tomllib.loads(done.stdout))
    assert {name: one.kind for name, one in policy.columns.items() if one.unknown} == {
        "age": "number",
        "cost": "number",
        "price": "number",
        "code": "number",
    }
    assert [name for name, one in policy.columns.items() if one.private] == ["ward", "day"]
    assert policy.columns["alive"].keys == (True, False)
    assert "id" not in policy.columns
    assert '# "tags" has type VARCHAR, which leakcap does not read.' in done.stdout
    assert '# "place" has type STRUCT, which leakcap does not read.' in done.stdout
    assert (policy.neighbours, policy.rows_per_unit, todos(done.stdout)) == ("add-remove-one", 1, 8)


def test_the_check_leads_on(tmp_path: Path) -> None:
    table(tmp_path / "stays.parquet", 1, 50)
    done = leakcap(
        "init", "stays.parquet", "--id", "id", "--max-rows", "99", "--output", "p.toml", cwd=tmp_path
    )
    assert done.stdout.splitlines() == [
        "The draft is in p.toml. 7 questions are open, each marked TODO. No row was looked at.",
        "Next: leakcap check stays.parquet --policy p.toml",
    ]
    found = leakcap("check", "stays.parquet", "--policy", "p.toml", "--show", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines()[0] == "note: `p.toml`: 7 of its questions are open, each marked TODO."


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "p.toml").write_text("mine")
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere.toml")
    for name in ("p.toml", "t.csv", "gone.toml"):
        done = leakcap("init", "t.csv", "--output", name, cwd=tmp_path)
        assert (done.returncode, "may not replace" in done.stderr) == (2, True)
    assert (tmp_path / "p.toml").read_text() == "mine"
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,2\n"


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from(["VARCHAR", "DOUBLE", "TIMESTAMP"])))
def test_no_name_of_a_column_breaks_out(names: dict[str, str]) -> None:
    """Quotation marks, line breaks and signs of TOML in a name: the draft has those columns and no other."""
    lowered = [name.lower() for name in names]
    readable = {name for name, type_ in names.items() if type_ != "TIMESTAMP" and "\0" not in name}
    if len(set(lowered)) < len(lowered) or not readable or any("\0" in name for name in names):
        return
    if any("\ud800" <= sign <= "\udfff" for name in names for sign in name):
        return
    policy = load_policy(tomllib.loads(draft(names, PublicAnswers("d"))))
    assert set(policy.columns) == readable


@pytest.mark.parametrize(
    ("answers", "kind", "said"),
    [
        (
            PublicAnswers("d", id="patent"),
            InvalidParameter,
            "The data has no column `patent`. Did you mean `patient`?",
        ),
        (PublicAnswers("d", bounds={"x": (0.0, 1.0)}), InvalidParameter, "The data has no column `x`."),
        (PublicAnswers("d", bounds={"age": (5.0, 1.0)}), InvalidPolicy, "low < high"),
        (PublicAnswers("d", max_rows=3), InvalidParameter, "`max_rows` goes with the `id`"),
        (PublicAnswers("d", epsilon=-1.0), InvalidPolicy, "`caps.epsilon`"),
        (
            PublicAnswers("d", keys={"age": ("a",)}, bounds={"age": (0.0, 1.0)}),
            InvalidParameter,
            "Give one of them.",
        ),
    ],
)
def test_answers_that_cannot_be(answers: PublicAnswers, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as told:
        draft({"patient": "VARCHAR", "age": "BIGINT"}, answers)
    assert said in str(told.value)


def test_times_are_asked_for() -> None:
    text = draft({"at": "TIMESTAMP", "day": "DATE", "x": "DOUBLE"}, PublicAnswers("d"))
    assert '# TODO: "at" has times: between which times does every value lie?' in text
    assert "bounds = [2024-01-01, 2024-12-31]" in text
    assert set(load_policy(tomllib.loads(text)).columns) == {"day", "x"}


def test_a_table_of_which_nothing_can_be_read() -> None:
    with pytest.raises(DataError, match="no column that leakcap can read"):
        draft({"id": "VARCHAR", "moment": "INTERVAL"}, PublicAnswers("d", id="id"))


def test_questions_at_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("patient,age,sex,note\n1,2,F,x\n")
    answers = iter(["patient", "3", "", "0.5", "0:120", "F, M", ""])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    done = leakcap("init", "t.csv", "--ask", "--output", "p.toml", cwd=tmp_path)
    assert done.returncode == 0
    policy = load_policy(tmp_path / "p.toml")
    assert policy.caps.epsilon == 0.5
    assert (policy.id_column, policy.rows_per_unit, policy.rows) == ("patient", 3, None)
    assert policy.columns["age"].bounds == (0.0, 120.0)
    assert policy.columns["sex"].keys == ("F", "M")
    assert policy.columns["note"].private == "text"


DIALOGUE = {
    "patent": "`patent`. Did you mean `patient`?",
    "patient": "",
    "many": "a whole number above 0. Got 'many'.",
    "3": "",
    "-5": "a whole number above 0. Got '-5'.",
    "": "",
    "much": "a number, as in 0.5. Got 'much'.",
    "-1": "`caps.epsilon`",
    "2.5": "",
    "0:x": "must be two numbers or two dates, as in 0:120 or 2024-01-01:2024-12-31. Got '0:x'.",
    "5:1": "low < high",
    "0,5:1,5": "Got '0,5:1,5'.",
    "0.5:1.5": "",
    "F,F": "must not repeat a key",
    "08:00,09:00": "",
    "2024-02-30:2024-03-01": "must be two numbers or two dates",
    "2024-01-01:2024-02-01": "",
    "2024-01-01T08:00:2024-01-02T09:30:15": "",
}
"""What is typed at the questions, in this order, and what is said to it; nothing where it is taken."""


def test_a_slip_costs_no_other_answer_and_the_draft_is_all_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("patient,age,shift,day,\x1b[2Jat\n1,2,F,x,y\n")
    typed, asked = iter(DIALOGUE), list[str]()

    def prompt(text: str, **told: object) -> str:
        asked.append(text)
        assert told["err"] is True
        return next(typed)

    monkeypatch.setattr("typer.prompt", prompt)
    done = leakcap("init", "t.csv", "--ask", cwd=tmp_path)
    assert done.returncode == 0
    policy = load_policy(tomllib.loads(done.stdout))
    assert (policy.id_column, policy.rows_per_unit, policy.rows) == ("patient", 3, None)
    assert policy.caps.epsilon == 2.5
    told = done.stderr.splitlines()
    assert told.pop(0).startswith("Answer by what is public")
    wrong = [said for said in DIALOGUE.values() if said]
    assert len(told) == len(wrong)
    assert all(said in line for said, line in zip(wrong, told, strict=True))
    # Who is refused is asked the same again, and nothing else.
    answers = list(DIALOGUE.values())
    assert [one == other for one, other in pairwise(asked)] == [bool(said) for said in answers[:-1]]
    assert not any("\x1b" in text for text in [*asked, done.stderr, done.stdout])
    known = policy.columns
    assert known["age"].bounds == (0.5, 1.5)
    assert known["shift"].keys == ("08:00", "09:00")
    assert known["day"].dates == (date(2024, 1, 1), date(2024, 2, 1))
    assert known["\x1b[2Jat"].times == (datetime(2024, 1, 1, 8), datetime(2024, 1, 2, 9, 30, 15))


def test_options_that_cannot_be_are_refused_before_the_first_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("patient,age\n1,2\n")
    monkeypatch.setattr("typer.prompt", lambda *_, **__: pytest.fail("asked"))
    for words in (["--bounds", "ago=0:1"], ["--id", "patent"], ["--epsilon", "-1"]):
        done = leakcap("init", "t.csv", "--ask", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
    answers = iter(["patient", "", "", ""])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    done = leakcap("init", "t.csv", "--ask", "--max-rows", "7", cwd=tmp_path)
    assert load_policy(tomllib.loads(done.stdout)).rows_per_unit == 7


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("2024-01-01:2024-12-31", (date(2024, 1, 1), date(2024, 12, 31))),
        (
            "2024-01-01T00:00+01:00:2025-01-01 00:00:00+01:00",
            tuple(datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=1))) for year in (2024, 2025)),
        ),
        ("2024-01-01:2024-01-01T00:00", None),
        ("2024-01-01", None),
        ("2024-13-01:2024-14-01", None),
    ],
)
def test_bounds_may_be_dates(text: str, ends: tuple[date, ...] | None, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day\n2024-01-01\n")
    done = leakcap("init", "t.csv", "--bounds", f"day={text}", cwd=tmp_path)
    assert (done.returncode == 0) == (ends is not None)
    assert done.stderr.count("\n") == (ends is None)
    if ends is not None:
        assert load_policy(tomllib.loads(done.stdout)).columns["day"].moments == ends


def test_the_next_command_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "all stays.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE a (age DOUBLE)")
        connection.execute("CREATE TABLE b (age DOUBLE)")
    done = leakcap("init", file.name, "--table", "b", "--output", "p.toml", cwd=tmp_path)
    line = done.stdout.splitlines()[-1].removeprefix("Next: leakcap ")
    checked = leakcap(*shlex.split(line), "--show", cwd=tmp_path)
    assert (checked.returncode, checked.stderr) == (1, "")
    assert "there are no rows" in checked.stdout


def test_one_open_question_is_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    words = ["t.csv", "--id", "id", "--max-rows", "1", "--bounds", "a=0:1"]
    (tmp_path / "t.csv").write_text("id,a\n1,1\n")
    assert leakcap("init", *words, "--output", "p.toml", cwd=tmp_path).returncode == 0
    done = leakcap("check", "t.csv", "--policy", "p.toml", "--show", cwd=tmp_path)
    assert "note: `p.toml`: 1 of its questions is open, marked TODO.\n" in done.stdout


def test_whole_numbers_are_drafted_as_such_by_the_type_of_their_column() -> None:
    types = {"age": "INTEGER", "stay": "DOUBLE", "beds": "USMALLINT", "day": "BIGINT"}
    bounds = {"age": (0.0, 120.0), "stay": (0.0, 30.0), "beds": (0.0, 9.5), "day": (0.0, 366.0)}
    policy = load_policy(tomllib.loads(draft(types, PublicAnswers("d", bounds=dict(bounds)))))
    assert {name for name, known in policy.columns.items() if known.whole} == {"age", "day"}


NESTED = ["--keys", "region=North,South", "--within", "district=region"]


def test_keys_within_others_are_drafted_and_answered_at_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft is a policy with these pairs, by options and by answers alike."""
    file, new = tmp_path / "stays.csv", tmp_path / "policy.toml"
    file.write_text("id,region,district,code\n1,North,Ashby,7\n")
    keys = "district=North>Ashby,Newton;South>Newton"
    deep = ["--within", "code=district", "--keys", "code=North > Ashby > 1,2; North>Newton>3; South>Newton>1"]
    done = leakcap("init", str(file), *NESTED, "--keys", keys, *deep, "--output", str(new))
    assert done.returncode == 0, done.stderr
    policy = load_policy(new)
    assert policy.columns["district"].paths == (("North", "Ashby"), ("North", "Newton"), ("South", "Newton"))
    ways = (
        ("North", "Ashby", "1"),
        ("North", "Ashby", "2"),
        ("North", "Newton", "3"),
        ("South", "Newton", "1"),
    )
    assert policy.columns["code"].paths == ways
    within = {"code": KeysWithin("region", (("1", "7"), ("2", "8")))}
    numbers = PublicAnswers("d", keys={"region": ("1", "2")}, within=within)
    for type_, seven in (("BIGINT", "7"), ("VARCHAR", '"7"')):
        text = draft({"region": "BIGINT", "code": type_}, numbers)
        assert f"keys = {{ 1 = [{seven}], 2 = " in text
    pairs = f"region: {keys.partition('=')[2]}"
    answers = iter(["", "", "", "North,South", "region: North>Ashby;West>b", pairs, ""])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    asked = leakcap("init", str(file), "--id", "id", "--ask")
    assert "name `West`, no key of `region`" in asked.stderr
    told = load_policy(tomllib.loads(asked.stdout))
    assert told.columns["district"].paths == policy.columns["district"].paths
    assert told.columns["district"].within == "region"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (NESTED, "goes with its keys"),
        ([*NESTED, "--keys", "district=Ashby,Newton"], "must name these, as in North>Ashby"),
        ([*NESTED, "--keys", "district=North>;South>a"], "must name these, as in North>Ashby"),
        ([*NESTED, "--keys", "district=North>a;South>b>c"], "must have as many > each. Got 1 and 2"),
        ([*NESTED, "--keys", "district=North>a"], "one key or more within `South`"),
        (
            [*NESTED, "--keys", "district=North>a,a;South>b", "--bounds", "district=0:1"],
            "has `bounds` and `keys`",
        ),
        (["--within", "district=region", "--keys", "district=North>a"], "which has no public `keys`"),
        (["--within", "district=county", "--keys", "district=North>a"], "no column `county`"),
        (["--within", "district", "--keys", "district=North>a"], "`--within` must be NAME="),
    ],
)
def test_keys_within_others_are_refused_in_one_line(words: list[str], rule: str, tmp_path: Path) -> None:
    file = tmp_path / "stays.csv"
    file.write_text("id,region,district\n1,North,Ashby\n")
    done = leakcap("init", str(file), *words)
    assert done.returncode == 2
    assert rule in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
