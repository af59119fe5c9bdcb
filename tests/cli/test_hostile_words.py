"""Words of others on every way out: no terminal is steered, no spreadsheet runs a formula, nothing is lost.

Names of data sets, queries, analysts and keys hold control characters, text that turns around, and formulas
in every dress; every command that shows them is run, and each way out to CSV is read as a spreadsheet
would, with each of the separators that one may be set to.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Done, leakcap
from leakcap import Channel
from leakcap.cli.printing import console
from leakcap.ledger import Caps, Charge, Ledger, Spend, export
from leakcap.plain import csv_text, json_text, label_of_cell
from leakcap.release.results.record import ReleasedRecord, RowRecord
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.sheet import values_text

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u200b\ufeff\u2028\u2029\U000e0041\u00ad"
FORMULAS = [
    "=1+1", "\r=1+1", "\n=1+1", "\t=1+1", " =1+1", "\u00a0=1+1", "\u3000@SUM(1)", "+1+1", "-1+1", "@SUM(1)",
    "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20A1", "\ufe661", "\ufe62A1", "\ufe63A1", "\ufe6bA1", "\u2212A1",
    "\u207aA1", "\u200b=1", "\x9b=1", "\x00=1", "\ufeff=1", '"=1', '""=1', "'\"=1", "a;=1", 'a";=1', "a;\t=1",
    'a""; "=1', "a\n=1", "a\t=1", "a\r\n=1", ";=1", "'=1", "''=1",
]  # fmt: skip
POLICY = """dataset = {dataset}
neighbours = "add-remove-one"
[caps]
epsilon = 9.0
[columns.x]
bounds = [0.0, 10.0]
[columns.d]
keys = [{keys}]
"""
QUERIES = """policy = "policy.toml"
data = "t.csv"
ledger = "l.db"
[[query]]
name = {name}
statistic = "count"
where = {where}
epsilon = 1.0
"""


def opened(sheet: str, separator: str) -> list[list[str]]:
    """The cells as a spreadsheet sees them that is set to this separator."""
    csv.field_size_limit(10**7)
    return list(csv.reader(io.StringIO(sheet, newline=""), delimiter=separator))


def runs(cell: str) -> bool:
    """Whether a spreadsheet could take a cell for a formula, when it overlooks what it cannot show."""
    hidden = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}
    seen = [c for c in unicodedata.normalize("NFKC", cell) if unicodedata.category(c) not in hidden]
    text = "".join(seen).lstrip('"')
    return text[:1] in {"=", "+", "-", "@", "\u2212"} and not re.fullmatch(r"-?[0-9.e+-]+|-inf", text)


def steered(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}


def in_ledger(texts: list[str]) -> str:
    """The export of a ledger whose analysts and queries are called so."""
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(epsilon=1e6)) as ledger:
        storable = [text.replace("\0", "\x01") for text in texts]
        ledger.reserve(
            [Charge(text, text, Spend(1e-3, 0.0, 1e-3, 1e-3), text, {"mechanism": text}) for text in storable]
        )
        return export(ledger.entries(), "csv", ledger.amendments())


OLD = Path(__file__).parents[1] / "report" / "version_1" / "release.json"
KEPT = ReleaseRecord.model_validate_json(OLD.read_text(encoding="utf-8")).releases[0]


def in_values(texts: list[str]) -> str:
    """Released values whose statistics, groups and keys are called so."""

    def release(text: str, column: str) -> ReleasedRecord:
        row = RowRecord(keys={column: text}, value=-3, interval=(-9.0, 3.0))
        return KEPT.model_copy(update={"name": text, "values": (row,)})

    return values_text([release(text, texts[number % 50]) for number, text in enumerate(texts)])


def in_channel(texts: list[str], tmp_path: Path) -> str:
    """A channel whose labels are called so, where the file may hold them."""
    fits = [text for text in dict.fromkeys(texts) if text.isprintable() and text == text.strip()]
    labels = [text for text in fits if not text.isdigit()]  # which come back as whole numbers
    file = tmp_path / "channel.csv"
    channel = Channel([[1.0] * 1] * len(labels), inputs=labels, outputs=["=out"])
    channel.save(file)
    assert Channel.load(file).inputs == tuple(labels)
    return file.read_text(encoding="utf-8")


WAYS: dict[str, Callable[[list[str], Path], str]] = {
    "the text itself": lambda texts, _: csv_text([texts, *([text] for text in texts)]),
    "leakcap ledger export": lambda texts, _: in_ledger(texts),
    "leakcap release --csv": lambda texts, _: in_values(texts),
    "Channel.save": in_channel,
}


def hostile(count: int, seed: int) -> list[str]:
    """The catalogue, and texts put together at random from its parts."""
    generator = random.Random(seed)
    parts = "=+-@\uff1d;,\"' \t\r\n\x9b\u200ba1"
    made = ["".join(generator.choices(parts, k=generator.randint(1, 7))) for _ in range(count)]
    return [*FORMULAS, *made]


@pytest.mark.parametrize("way", WAYS)
def test_no_cell_runs(way: str, tmp_path: Path) -> None:
    texts = hostile(1500, 12)
    sheet = WAYS[way](texts, tmp_path)
    assert not steered(sheet)
    cells = [cell for separator in ",;\t|" for row in opened(sheet, separator) for cell in row]
    assert len(cells) > len(texts) // 4
    assert [cell for cell in cells if runs(cell)] == []


def test_a_sheet_that_runs_is_caught() -> None:
    """Bare CSV, and CSV that has only its first cells guarded."""
    caught = 0
    for text in FORMULAS:
        bare = io.StringIO()
        csv.writer(bare).writerow(["a", text])
        caught += any(runs(cell) for sign in ",;\t" for row in opened(bare.getvalue(), sign) for cell in row)
    assert caught > len(FORMULAS) * 0.8
    assert any(runs(cell) for row in opened('"a","b;=1"\n', ";") for cell in row)


def test_labels_come_back() -> None:
    for text in hostile(5000, 13):
        if text.isprintable():
            (row,) = opened(csv_text([[text]]), ",")
            assert label_of_cell(row[0]) == text


def test_json_comes_back_without_steering() -> None:
    texts = [*hostile(500, 14), STEERING, "\ud800", "a\udfffb", "\U0001f600"]
    for indent in (None, 2):
        text = json_text({"texts": texts}, indent=indent)
        assert not steered(text)
        assert json.loads(text) == {"texts": texts}
        text.encode("utf-8")


@pytest.fixture
def world(made: Path, tmp_path: Path) -> Path:
    """A copy of a folder in which everything that has a name has a hostile one."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("hostile")
    name = json.dumps("\uff1d1+1")
    keys = ", ".join(json.dumps(key) for key in (f"k{STEERING}", "\uff1d1+1", "\r=1"))
    toml = re.compile(r"\\u([dD][89abAB]..)\\u(....)")
    wide = {
        "name": name,
        "keys": keys,
        "where": json.dumps(f"d = 'k{STEERING}'"),
        "dataset": json.dumps(f"d{STEERING}"),
    }
    # TOML has no surrogates: what JSON writes as two is one there.
    wide = {one: toml.sub(lambda found: f"\\U{ord(json.loads(chr(34) + found[0] + chr(34))):08x}", text)
            for one, text in wide.items()}  # fmt: skip
    (tmp_path / "policy.toml").write_text(POLICY.format(**wide).replace("\x7f", "\\u007f"))
    (tmp_path / "q.toml").write_text(QUERIES.format(**wide).replace("\x7f", "\\u007f"))
    (tmp_path / "t.csv").write_text("x,d\n1.0,a\n")
    done = leakcap("release", "q.toml", "--analyst", f"a{STEERING}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not steered(done.stdout)
    kept = leakcap("release", "q.toml", "--analyst", f"a{STEERING}", "--json", cwd=tmp_path)
    (tmp_path / "r.json").write_text(kept.stdout)
    return tmp_path


SHOWN = [
    ["release", "q.toml", "--explain"],
    ["release", "q.toml", "--csv", "values.csv"],
    ["preview", "q.toml"],
    ["sql", 'SELECT d, COUNT(*) FROM t GROUP BY d', "--epsilon", "0.5", "--in", "q.toml"],
    ["sql", 'SELECT d, COUNT(*) FROM t GROUP BY d', "--epsilon", "0.5", "--in", "q.toml", "--dry-run"],
    ["sql", f"SELECT {STEERING}", "--epsilon", "0.5", "--in", "q.toml"],
    ["budget", "q.toml", "--all"],
    ["budget", "q.toml", "--json"],
    ["release", "q.toml", "--json"],
    ["preview", "q.toml", "--json"],
    ["plan", "q.toml"],
    ["plan", "q.toml", "--json"],
    ["annex", "q.toml"],
    ["annex", "q.toml", "--json"],
    ["annex", "q.toml", "--output", "annex.md"],
    ["ledger", "verify", "q.toml"],
    ["ledger", "repair", "q.toml"],
    ["ledger", "export", "q.toml"],
    ["ledger", "export", "q.toml", "--format", "json"],
    ["ledger", "export", "q.toml", "--json"],
    ["ledger", "amend", "q.toml", "--preview"],
    ["ledger", "amend", "q.toml", "--preview", "--json"],
    ["report", "r.json", "--output", "r.csv"],
    ["report", "r.json", "--output", f"r{STEERING}.md"],
    ["report", f"no{STEERING}.json"],
    ["convert", f"PureDP({STEERING})", "MIDP"],
    ["audit", f"no{STEERING}:f", "0", "1"],
    ["channel", f"no{STEERING}.csv"],
    ["schema", f"no{STEERING}"],
]  # fmt: skip


@pytest.mark.parametrize("words", SHOWN, ids=lambda words: words[0])
def test_no_command_steers_the_terminal(words: list[str], world: Path) -> None:
    done: Done = leakcap(*words, cwd=world)
    assert done.stdout + done.stderr
    assert not steered(done.stdout + done.stderr)
    for written in (world / "values.csv", world / "r.csv"):
        if written.exists():
            text = written.read_text(encoding="utf-8")
            assert not steered(text)
            assert not [cell for row in opened(text, ",") for cell in row if runs(cell)]


def test_a_word_between_colons_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich would show `:warning:`, a key or a name, as a sign."""
    console().print("a:warning:b")
    assert "a:warning:b" in capsys.readouterr().out
