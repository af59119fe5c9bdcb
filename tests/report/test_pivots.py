"""Answers by several columns, laid out: every rendering shows every value at its keys, margins last."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pytest
from rich.console import Console

from command_line import leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Release, with_margins
from leakcap.release.results.record import ReleasedRecord
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.sheet import write_each
from leakcap.report.sources import page_of
from leakcap.report.terminal.tables import print_values
from leakcap.report.words.wording import to_its_noise
from seeded import SeededSource

KEYS: dict[str, list[Any]] = {
    "ward": ["A", "<b>", "=1+1"],
    "sex": ["f", "m"],
    "year": [2023, 2024],
    "old": [False, True],
}
POLICY = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 100.0},
    "columns": {name: {"keys": keys} for name, keys in KEYS.items()},
}


@pytest.fixture(scope="module")
def table() -> PrivateTable:
    rows = [keys for i, keys in enumerate(itertools.product(*KEYS.values())) for _ in range(90 + 7 * i)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(KEYS)}
    return PrivateTable(pyarrow.table(columns), policy=POLICY, ledger="sqlite://", source=SeededSource(8))


@pytest.fixture(scope="module")
def pivoted(table: PrivateTable) -> Release:
    counted = with_margins(table.count(by=list(KEYS), epsilon=1.0, name="stays"), table.policy)
    return counted.pivot(across=["year", "sex"])


def record_of(table: PrivateTable, release: Release) -> ReleaseRecord:
    return ReleaseRecord.of(table.policy, [release], table.statement(), table.budget())


DOWN = list(itertools.product([*KEYS["ward"], "total"], [*KEYS["old"], "total"]))
ACROSS = list(itertools.product([*KEYS["year"], "total"], [*KEYS["sex"], "total"]))


def by_place(release: Release) -> dict[tuple[Any, ...], Any]:
    """Each row of the answer by what it stands at: a line and a column."""
    return {
        ((row.keys["ward"], row.keys["old"]), (row.keys["year"], row.keys["sex"])): row
        for row in release.rows
    }


def test_frames_have_a_line_for_the_keys_that_go_down(pivoted: Release) -> None:
    found = by_place(pivoted)
    frames = [
        pivoted.to_pandas().to_dict("list"),
        pivoted.to_arrow().to_pydict(),
        pivoted.to_polars().to_dict(as_series=False),
        pivoted.record.to_arrow().to_pydict(),
    ]
    for frame in frames:
        assert len(frame["ward"]) == len(DOWN) == 12
        for line, keys in enumerate(DOWN):
            # Keys of two types are text where a library has no other column for them.
            assert (frame["ward"][line], str(frame["old"][line])) == (keys[0], str(keys[1]))
            for year, sex in ACROSS:
                row = found[keys, (year, sex)]
                told = [frame[f"{year}, {sex} {part}"][line] for part in ("value", "lower", "upper", "flag")]
                assert told == [row.value, *row.interval, ""]


def test_markdown_and_html_show_every_value_once(table: PrivateTable, pivoted: Release) -> None:
    page = page_of(record_of(table, pivoted), "reviewer")
    markdown = re.sub(r"\[\^\d+\]", "", render_markdown(page)).replace("\\", "").replace("\u00a0", " ")
    lines = markdown.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| ward | old by year, sex |"))
    heads = [cell.strip() for cell in lines[start].strip("|").split("|")]
    assert heads[2:] == [f"{year}, {sex}" for year, sex in ACROSS]
    found = by_place(pivoted)
    html = re.sub(r"<sup>.*?</sup>", "", render_html(page)).replace("\u00a0", " ")
    cells = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html, re.S)]
    shown = set()
    for line, keys in zip(lines[start + 2 : start + 2 + len(DOWN)], DOWN, strict=True):
        ward, old, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        assert (ward, old) == (str(keys[0]), str(keys[1]))
        for over, cell in zip(ACROSS, rest, strict=True):
            row = found[keys, over]
            value, low, high = to_its_noise(row.value, *row.interval)
            assert cell == f"{value} ({low} to {high})"
            assert cell in [" ".join(one.split()) for one in cells]
            shown.add((keys, over))
    assert len(shown) == len(pivoted.rows) == 108


def test_csv_files_and_sheets_are_laid_out(table: PrivateTable, pivoted: Release, tmp_path: Path) -> None:
    write_each([pivoted.record], tmp_path / "values")
    lines = list(csv.reader((tmp_path / "values" / "stays.csv").read_text("utf-8").splitlines()))
    pivoted.to_excel(tmp_path / "stays.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "stays.xlsx")["stays"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    start = next(place for place, row in enumerate(rows) if row[0] == "ward")
    found = by_place(pivoted)
    for given, heads in ((lines[1:], lines[0]), (rows[start + 1 :], rows[start])):
        assert len(given) == len(DOWN)
        for keys, line in zip(DOWN, given, strict=True):
            told = dict(zip(heads, line, strict=True))
            for year, sex in ACROSS:
                row = found[keys, (year, sex)]
                ends = [float(told[f"{year}, {sex} {part}"]) for part in ("value", "lower", "upper")]
                assert ends == [row.value, *row.interval]
    assert [line[0] for line in lines[1::3]] == ["A", "<b>", "'=1+1", "total"]
    assert sheet.cell(start + 2 + 6, 1).data_type == "s"  # the key that looks like a formula


def in_terminal(release: ReleasedRecord, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_values(console, [release])
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_terminal_shows_what_fits_and_says_how_much_that_is(pivoted: Release) -> None:
    wide, narrow = in_terminal(pivoted.record, 400), in_terminal(pivoted.record, 70)
    assert "are shown" not in wide
    for row in pivoted.rows:
        value, low, high = to_its_noise(row.value, *row.interval)
        assert f"{value} ({low} to {high})" in wide
    (said,) = re.findall(r"… (\d+) of 9 columns and 12 of 12 lines are shown; the others are in", narrow)
    assert 0 < int(said) < 9
    lines = narrow.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("ward"))
    assert lines[head].count(", ") == 1 + int(said)
    assert len([line for line in lines[head + 1 : head + 13] if " to " in line]) == 12


def test_too_many_lines_are_cut(table: PrivateTable) -> None:
    laid = table.count(by=list(KEYS), epsilon=1.0).pivot(across=["sex"], down=["old", "year", "ward"])
    told = in_terminal(laid.record, 200)
    assert "are shown" not in told  # 12 lines
    many = {"k": {"keys": list(range(30))}, "l": {"keys": ["a", "b"]}}
    other = PrivateTable(
        pyarrow.table({"k": [1], "l": ["a"]}), policy={**POLICY, "columns": many}, ledger="sqlite://"
    )
    long = other.count(by=["k", "l"], epsilon=1.0)
    assert "2 of 2 columns and 20 of 30 lines are shown" in in_terminal(long.pivot(across=["l"]).record, 200)
    assert "… 40 more" in in_terminal(long.record, 200)


def test_columns_that_go_down_stand_in_the_order_that_is_asked(table: PrivateTable) -> None:
    plain = table.count(by=list(KEYS), epsilon=1.0)
    laid = plain.pivot(down=["old", "ward"])
    assert laid.layout is not None
    assert (laid.layout.down, laid.layout.across) == (("old", "ward"), ("sex", "year"))
    assert laid.to_pandas()["old"].tolist() == [False] * 3 + [True] * 3
    assert laid.rows == plain.rows
    assert plain.pivot(across=["sex"]).layout.down == ("ward", "year", "old")  # type: ignore[union-attr]


def test_what_no_margin_says_is_an_empty_cell(table: PrivateTable) -> None:
    plain = table.count(by=["ward", "sex"], epsilon=1.0)
    laid = with_margins(plain, table.policy, [["ward"]]).pivot(down=["ward"])
    frame = laid.to_pandas()
    assert frame["total value"].tolist() == [row.value for row in laid.rows[6:]]
    only = with_margins(plain, table.policy, [[]]).pivot(down=["ward"])
    assert only.to_arrow()["total value"].to_pylist() == [None] * 3 + [only.rows[-1].value]
    assert (
        only.to_arrow()["total flag"].to_pylist()[:3]
        == only.to_polars()["total flag"].to_list()[:3]
        == [None] * 3
    )
    assert in_terminal(only.record, 200).count(" to ") == 7
    assert str(only).count("95 %") == 7
    assert only._repr_html_().count(" to ".replace(" ", "\u00a0")) == 7


def test_a_table_with_margins_is_laid_out_by_itself(table: PrivateTable) -> None:
    """The column with the fewest keys goes across, the total at the end."""
    crossed = table.contingency(["ward", "sex"], epsilon=1.0, name="crossed")
    told = in_terminal(crossed.record, 120)
    (head,) = [line for line in told.splitlines() if line.startswith("ward by sex")]
    assert head.split()[-3:] == ["f", "m", "total"]
    assert [line.split()[0] for line in told.splitlines() if " (" in line][:4] == [
        "A",
        "<b>",
        "=1+1",
        "total",
    ]
    assert "ward by sex" in crossed._repr_html_()


def test_print_and_notebook_follow_the_layout(pivoted: Release) -> None:
    lines = str(pivoted).splitlines()
    assert len(lines) == 1 + 12
    assert lines[-1].startswith("  total, total: 2023, f ")
    assert pivoted._repr_html_().count("<tr>") == 1 + 12


def test_a_record_that_is_read_back_is_laid_out_the_same(pivoted: Release) -> None:
    again = ReleasedRecord.model_validate_json(json.dumps(pivoted.to_dict()))
    assert again == pivoted.record
    assert again.to_arrow() == pivoted.to_arrow()
    assert in_terminal(again, 90) == in_terminal(pivoted.record, 90)


def test_heads_that_keys_share_get_an_underscore() -> None:
    columns = {"v": {"keys": ["x"]}, "k": {"keys": ["a, b", "a"]}, "l": {"keys": ["c", "b, c"]}}
    data = pyarrow.table({"v": ["x"], "k": ["a"], "l": ["c"]})
    table = PrivateTable(data, policy={**POLICY, "columns": columns}, ledger="sqlite://")
    frame = table.count(by=["v", "k", "l"], epsilon=1.0).pivot(down=["v"]).to_pandas()
    assert len(frame.columns) == len(set(frame.columns)) == 1 + 4 * 4
    assert {"a, b, c value", "a, b, c value_"} <= set(frame.columns)


def test_integers_beyond_64_bits_are_doubles_where_a_library_has_no_others(table: PrivateTable) -> None:
    import dataclasses

    from leakcap.release import Row, Rows

    plain = table.count(by=["ward", "sex"], epsilon=1.0)
    rows = [Row(row.keys, row.value + 2**70, row.interval) for row in plain.rows]
    laid = dataclasses.replace(plain, rows=Rows.of(rows)).pivot(down=["ward"])
    assert laid.to_pandas()["f value"].tolist() == [row.value for row in rows[::2]]
    assert laid.to_arrow()["f value"].to_pylist() == [float(row.value) for row in rows[::2]]


def test_an_answer_whose_groups_are_all_missing_is_rendered_in_every_way(tmp_path: Path) -> None:
    """Of private keys with few rows each none passes the threshold; the answer is paid for all the same."""
    columns = {"p": {"keys": "private", "type": "text"}, "sex": {"keys": ["f", "m"]}}
    policy = {**POLICY, "caps": {"epsilon": 100.0, "delta": 1e-5}, "columns": columns}
    data = pyarrow.table({"p": ["x"], "sex": ["f"]})
    own = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(1))
    empty = own.count(by=["sex", "p"], epsilon=1.0, delta=1e-9, name="few").pivot(across="sex")
    assert not empty.rows
    for one in (empty, empty.record):
        assert list(one.to_pandas().columns) == ["p"]
        assert one.to_arrow().column_names == ["p"]
        assert one.to_polars().shape == (0, 1)
    write_each([empty.record], tmp_path / "values")
    assert (tmp_path / "values" / "few.csv").read_text("utf-8") == '"p","confidence","covers"\n'
    empty.to_excel(tmp_path / "few.xlsx")
    page = page_of(record_of(own, empty), "reviewer")
    for text in (render_markdown(page), render_html(page), in_terminal(empty.record, 80), str(empty)):
        assert "few" in text


def test_one_column_goes_one_way_without_a_list(table: PrivateTable) -> None:
    plain = table.count(by=["ward", "sex"], epsilon=1.0)
    assert plain.pivot(across="sex").layout == plain.pivot(across=["sex"]).layout
    assert plain.pivot(down="sex").layout == plain.pivot(down=["sex"]).layout
    with pytest.raises(InvalidQuery, match=re.escape("Got across ['year'], down [].")):
        plain.pivot(across="year")


@pytest.mark.parametrize(
    "ways",
    [{}, {"across": ["zz"]}, {"across": ["sex", "sex"]}, {"across": ["ward", "sex"]}, {"down": ["zz"]}],
)
def test_each_column_goes_one_way(table: PrivateTable, ways: dict[str, list[str]]) -> None:
    plain = table.count(by=["ward", "sex"], epsilon=1.0)
    with pytest.raises(InvalidQuery, match="must send each of its columns one way"):
        plain.pivot(**ways)
    with pytest.raises(InvalidQuery, match="Its columns are: none"):
        table.count(epsilon=1.0).pivot(across=["sex"])


def released(folder: Path, more: str, *options: str) -> Any:
    (folder / "policy.toml").write_text(
        'dataset = "stays"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9.0 }\n'
        '[columns]\nward = { keys = ["a", "b"] }\n'
        'sex = { keys = ["f", "m"] }\nold = { keys = [false, true] }\n'
    )
    (folder / "data.csv").write_text("ward,sex,old\n" + "a,f,true\nb,m,false\n" * 200)
    (folder / "release.toml").write_text(
        f'policy = "policy.toml"\ndata = "data.csv"\nledger = "ledger.db"\n{more}\n'
        '[[query]]\nname = "stays"\nstatistic = "count"\nby = ["ward", "sex", "old"]\nepsilon = 1.0\n'
        '[[query]]\nname = "all"\nstatistic = "count"\nepsilon = 1.0\n'
    )
    return leakcap("release", folder / "release.toml", *options)


def test_a_query_file_lays_answers_out(tmp_path: Path) -> None:
    more = 'margins = { stays = "all" }\npivots = { stays = { across = ["old"], down = ["sex", "ward"] } }'
    record = json.loads(released(tmp_path, more, "--json").stdout)["releases"][0]
    assert record["layout"] == {"down": ["sex", "ward"], "across": ["old"]}
    told = leakcap("release", tmp_path / "release.toml").stdout
    assert "repeated from the ledger" in told
    (head,) = [line for line in told.splitlines() if line.startswith("sex")]
    assert re.split(r"\s{2,}", head.strip()) == ["sex", "ward by old", "False", "True", "total"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('pivots = { nobody = { across = ["sex"] } }', "must be the name of a query"),
        ('pivots = { stays = { across = ["zz"] } }', "must send each of its columns one way"),
        ('pivots = { all = { across = ["sex"] } }', "Its columns are: none"),
        ('pivots = { stays = { over = ["sex"] } }', "over"),
    ],
)
def test_a_file_that_cannot_be_laid_out_is_refused_before_the_ledger_begins(
    tmp_path: Path, more: str, said: str
) -> None:
    done = released(tmp_path, more)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "ledger.db").exists()
