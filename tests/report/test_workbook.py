"""Excel workbooks and CSV files of released tables: keys stay texts, names fit, nothing is spent in vain."""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from pathlib import Path

import openpyxl
import pyarrow
import pytest

from command_line import leakcap
from leakcap.errors import InvalidParameter
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, Release
from leakcap.release.results import workbook
from leakcap.release.results.workbook import file_names, sheet_names
from leakcap.report import write_report
from leakcap.report.render.sheet import values_text

KEYS = [
    "=1+1", "+1", "-1", "@SUM(A1)",
    "\t=1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x","y")', "\uff1d1",
    "plain", " =1", "{=1}", "'=1", "1", "TRUE", "2024-01-01", "#N/A",
    "a\nb", "\x07bell", "a;=1+1", "_x003D_1",
    "a\ufffe", "b\uffff",
]  # fmt: skip
POLICY = {
    "dataset": "=1+1",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 100.0},
    "columns": {"ward": {"keys": KEYS}, "=x": {"bounds": [0.0, 10.0]}},
}


@pytest.fixture(scope="module")
def table() -> PrivateTable:
    rows = pyarrow.table({"ward": KEYS, "=x": [float(n % 10) for n in range(len(KEYS))]})
    return PrivateTable(rows, policy=POLICY, ledger="sqlite://")


@pytest.fixture(scope="module")
def release(table: PrivateTable) -> Release:
    return table.count(by="ward", epsilon=1.0, name="=2+2")


def parts(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name).decode() for name in book.namelist() if name.endswith(".xml")}


def test_no_key_becomes_a_formula(table: PrivateTable, release: Release, tmp_path: Path) -> None:
    release.to_excel(tmp_path / "one.xlsx")
    write_report(table, release, tmp_path / "all.xlsx", audience="board")
    for name, sheets in (("one.xlsx", 1), ("all.xlsx", 2)):
        found = parts(tmp_path / name)
        drawn = {part: text for part, text in found.items() if part.startswith("xl/worksheets/")}
        assert len(drawn) == sheets
        for text in drawn.values():
            assert "<f" not in re.sub(r"<f?(ormat|ilt)", "", text)
            assert set(re.findall(r' t="(\w+)"', text)) <= {"inlineStr", "n", "b"}
        assert 'quotePrefix="1"' in found["xl/styles.xml"]
        sheet = openpyxl.load_workbook(tmp_path / name).worksheets[-1]
        keys = [row[0] for row in sheet.iter_rows(min_row=6) if row[0].value is not None]
        assert [cell.data_type for cell in keys] == ["s"] * len(KEYS)
        assert all(cell.quotePrefix for cell in keys)
        # Written out: what would steer a reader, and what no XML may hold.
        odd = {"\t": "\\t", "\n": "\\n", "\x07": "\\x07", "\ufffe": "\\ufffe", "\uffff": "\\uffff"}
        shown = [key.translate(str.maketrans(odd)) for key in KEYS]
        assert [cell.value for cell in keys] == shown


def test_a_key_column_keeps_its_name_beside_any_of_ours(tmp_path: Path) -> None:
    """In CSV, workbook and frames alike, for every name that is ours, and with an underscore too."""
    ours = ["statistic", "value", "lower", "upper", "confidence", "flag", "covers"]
    assert values_text([]).strip() == ",".join(f'"{name}"' for name in ours)
    for name in ours:
        for keys in ([name], [name, f"{name}_"], [f"{name}_", "ward"]):
            policy = {
                "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
                "columns": {key: {"keys": [f"{key} x", f"{key} y"]} for key in keys},
            }  # fmt: skip
            table = pyarrow.table({key: [f"{key} x"] for key in keys})
            found = PrivateTable(table, policy=policy, ledger="sqlite://").count(by=keys, epsilon=0.1)
            heads, *rows = csv.reader(io.StringIO(values_text([found.record])))
            assert len(set(heads)) == len(heads) == len(keys) + len(ours)
            found.to_excel(tmp_path / "t.xlsx")
            cells = list(openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows(values_only=True))
            sheet = next(row for row in cells if row[0] == keys[0])
            frame = list(found.to_pandas().columns)
            for key in keys:
                assert {row[heads.index(key)] for row in rows} == {f"{key} x", f"{key} y"}
            assert heads[1 : 1 + len(keys)] == list(sheet[: len(keys)]) == frame[: len(keys)] == keys
            assert list(sheet) == frame
            own = [heads[0], *heads[1 + len(keys) :]]
            for mine, head in zip(ours, own, strict=True):
                assert head.rstrip("_") == mine
                assert (head == mine) == (mine not in keys)
            assert sheet[-1] == own[ours.index("flag")]


def test_a_planted_formula_is_seen(tmp_path: Path) -> None:
    """What the test above looks for is what openpyxl makes of such a text by itself."""
    book = openpyxl.Workbook()
    book.active["A1"] = "=1+1"
    book.save(tmp_path / "bad.xlsx")
    assert "<f>" in parts(tmp_path / "bad.xlsx")["xl/worksheets/sheet1.xml"]


def test_integers_that_no_double_holds_are_texts(release: Release, tmp_path: Path) -> None:
    from leakcap.release.results.workbook import write_excel

    row = release.record.values[0]
    values = [2**53, -(2**53), 2**53 + 1, -(2**70)]
    rows = tuple(row.model_copy(update={"value": value}) for value in values)
    write_excel([release.record.model_copy(update={"values": rows})], tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    found = [cells[1] for cells in sheet.iter_rows(min_row=6, values_only=True)]
    assert found == [2**53, -(2**53), str(2**53 + 1), str(-(2**70))]


def test_names_of_sheets_and_files() -> None:
    odd = [
        "a" * 40,
        "A" * 40,
        "a/b",
        "a:b",
        "[x]",
        "'x'",
        "",
        " ",
        "History",
        "summary",
        "x\ny",
        "ä" * 99,
        "../..",
    ]
    for made, longest in ((sheet_names(odd), 31), (file_names(odd), 60)):
        assert len({name.casefold() for name in made}) == len(odd)
        assert all(0 < len(name) <= longest for name in made)
        assert not any(sign in name for name in made for sign in "[]:*?/\\\n")
        assert not any(name.startswith("'") or name.endswith("'") for name in made)
    assert not any(name.startswith(".") for name in file_names(odd))
    assert not {"history", "summary"} & {name.casefold() for name in sheet_names(odd)}


OWNER = """dataset = "d"
neighbours = "add-remove-one"
caps = { epsilon = 9.0 }
columns.ward = { keys = ["=1", "b"] }
"""
QUERIES = """policy = "policy.toml"
data = "t.csv"
ledger = "spent.db"
[[query]]
name = "by ward"
statistic = "count"
by = "ward"
epsilon = 0.5
[[query]]
name = "By/ward"
statistic = "count"
epsilon = 0.5
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(OWNER)
    (tmp_path / "q.toml").write_text(QUERIES)
    (tmp_path / "t.csv").write_text("ward\n=1\nb\nb\n")
    return tmp_path


def test_a_file_a_table_and_a_workbook(desk: Path) -> None:
    done = leakcap("release", "q.toml", "--csv", "tables", "--excel", "out/values.xlsx", cwd=desk)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (desk / "tables").iterdir()) == ["By-ward-2.csv", "by-ward.csv"]
    with (desk / "tables" / "by-ward.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["ward"] for row in rows] == ["'=1", "b"]
    sheet = openpyxl.load_workbook(desk / "out" / "values.xlsx")["by ward"]
    found = list(sheet.iter_rows(min_row=6, values_only=True))
    assert [cells[0] for cells in found] == ["=1", "b"]
    assert [str(cells[1]) for cells in found] == [row["value"] for row in rows]


def test_sql_writes_them_too(desk: Path) -> None:
    words = ["sql", "SELECT ward, COUNT(*) FROM d GROUP BY ward", "--epsilon", "0.5", "--in", "q.toml"]
    done = leakcap(*words, "--csv", "v.csv", "--excel", "v.xlsx", cwd=desk)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("The values are in v.csv\nThe values are in v.xlsx\n")
    assert (desk / "v.csv").read_text().count("\n") == 3
    refused = leakcap(*words, "--preview", "--csv", "w.csv", cwd=desk)
    assert (refused.returncode, "go with an answer" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [["--csv", "there"], ["--csv", "t.txt"], ["--excel", "v.xls"], ["--excel", "t.csv"], ["--csv", "t.csv"]],
)
def test_refused_before_anything_is_spent(desk: Path, words: list[str]) -> None:
    (desk / "there").mkdir()
    done = leakcap("release", "q.toml", *words, cwd=desk)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Nothing was spent or written." in done.stderr
    assert not (desk / "spent.db").exists()


def test_without_openpyxl_nothing_is_spent(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    done = leakcap("release", "q.toml", "--excel", "v.xlsx", cwd=desk)
    assert (done.returncode, "pip install 'leakcap[excel]'" in done.stderr) == (2, True)
    assert not (desk / "spent.db").exists()


def test_another_ending_is_refused(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"must be an \.xlsx file"):
        release.to_excel(tmp_path / "t.xls")


def test_only_what_was_released_goes_into_a_sheet(desk: Path) -> None:
    assert leakcap("release", "q.toml", cwd=desk).returncode == 0
    for name in ("x.csv", "x.xlsx"):
        done = leakcap("report", "q.toml", "--output", name, cwd=desk)
        assert done.returncode == 2
        assert "Only what a run released goes into a sheet: give the file of its `--json`" in done.stderr
    result = leakcap("release", "q.toml", "--json", cwd=desk)
    (desk / "r.json").write_text(result.stdout)
    assert leakcap("report", "r.json", "--output", "x.xlsx", cwd=desk).returncode == 0
    with Ledger.read(f"sqlite:///{desk / 'spent.db'}") as ledger:
        assert ledger.totals().epsilon == 1.0


def test_a_column_of_keys_may_be_called_as_a_number_is(tmp_path: Path) -> None:
    """As in data frames it gets an underscore; the 27th column has a width of its own."""
    names = ["value", "from", *(f"k{place}" for place in range(25))]
    columns = {name: {"keys": ["a"]} for name in names}
    policy = {**POLICY, "columns": columns}
    rows = pyarrow.table({name: ["a"] * 9 for name in names})
    answer = PrivateTable(rows, policy=policy, ledger="sqlite://").count(by=names, epsilon=1.0)
    answer.to_excel(tmp_path / "one.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "one.xlsx").worksheets[0]
    (heads,) = [row for row in sheet.iter_rows(values_only=True) if row[1] == "from"]
    assert list(heads) == list(answer.to_pandas().columns)
    assert list(heads[-4:]) == ["value_", "lower", "upper", "flag"]
    assert sheet.column_dimensions["AA"].width >= 14


@pytest.mark.parametrize("private", [False, True], ids=["public keys", "private keys"])
def test_a_table_longer_than_a_sheet_goes_on_in_the_next(
    private: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was refused by openpyxl, after it was paid for. Here a sheet has 20 rows in place of 1,048,576."""
    monkeypatch.setattr(workbook, "MOST_ROWS", 20)
    keys = [f"key {n:02}" for n in range(50)]
    policy = {
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e3, "delta": 0.1},
        "columns": {"k": {"private": "text"} if private else {"keys": keys}},
    }  # fmt: skip
    table = PrivateTable(pyarrow.table({"k": keys * 9}), policy=policy, ledger="sqlite://")
    given = {"delta": 1e-9} if private else {}
    long = table.count(by="k", epsilon=60.0, name="stays", **given)
    short = table.count(epsilon=60.0, name="Stays 2")
    write_report(table, [long, short], tmp_path / "all.xlsx")
    long.to_excel(tmp_path / "one.xlsx")
    for name, others in (("all.xlsx", 2), ("one.xlsx", 0)):
        book = openpyxl.load_workbook(tmp_path / name)
        sheets = [sheet for sheet in book.worksheets if str(sheet["A1"].value) == "stays"]
        assert len(sheets) == len(book.worksheets) - others > 3
        found, told = [], []
        for sheet in sheets:
            assert sheet.max_row <= 20
            cells = [[cell for cell in row if cell is not None] for row in sheet.iter_rows(values_only=True)]
            found += [row[0] for row in cells if len(row) == 4 and row[0] != "k"]
            told += [row[0] for row in cells if row and str(row[0]).startswith("Sheet ")]
        assert found == keys
        assert len(told) == len(sheets)
        assert told[0].startswith(f"Sheet 1 of {len(sheets)}: rows 1 to ")
        assert told[-1].endswith(" to 50 of 50.")
        titles = [title.casefold() for title in book.sheetnames]
        assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("size", [12, 13, 14, 15, 16, 17])
def test_a_table_that_just_fits_has_one_sheet(
    size: int, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its length no sheet is longer than it may be, and no row is lost or there twice."""
    monkeypatch.setattr(workbook, "MOST_ROWS", 20)
    rows = release.record.values[:1] * size
    record = release.record.model_copy(update={"values": rows})
    workbook.write_excel([record], tmp_path / "t.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets
    assert all(sheet.max_row <= 20 for sheet in sheets)
    counted = sum(
        1 for sheet in sheets for row in sheet.iter_rows(values_only=True) if isinstance(row[1], int)
    )
    assert counted == size
    assert len(sheets) == (1 if size <= 14 else 2)
