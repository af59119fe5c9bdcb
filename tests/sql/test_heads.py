"""An alias of a key is the head of its column wherever it is shown; ledger and recall keep its name."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pytest
from rich.console import Console

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Release, consistent, load_policy
from leakcap.release.results.arranging import Arrangement, SortKey
from leakcap.release.sql.select import StatementTerms, select_statement, sql_queries
from leakcap.report.records import DryRunRecord, ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.sheet import values_text
from leakcap.report.sources import page_of
from leakcap.report.terminal.tables import print_release
from seeded import SeededSource

CONTENT: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1e6, "delta": 1e-5},
    "columns": {
        "ward": {"keys": ["a", "b"]},
        "died": {"keys": [True, False]},
        "age": {"bounds": [0, 120]},
        "bmi": {"bounds": [10, 60]},
        "town": {"keys": "private"},
    },
}
POLICY = load_policy(CONTENT)
BAND = "CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END"
STATEMENTS = {
    f"SELECT {BAND} AS band, COUNT(*) AS n FROM stays GROUP BY band": ["band"],
    f"SELECT {BAND} AS band, ward, COUNT(*) AS n FROM stays GROUP BY ward, 1": ["ward", "band"],
    f"SELECT {BAND} AS band, ward AS w, COUNT(*) AS n FROM stays GROUP BY 1, 2": ["band", "w"],
    f"SELECT {BAND} AS band, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY band DESC LIMIT 2": ["band"],
    f"SELECT {BAND} AS band, COUNT(*) AS n FROM stays GROUP BY 1 HAVING n > -9 ORDER BY 1": ["band"],
    f"SELECT band, COUNT(*) AS n FROM (SELECT {BAND} AS band FROM stays) GROUP BY 1": ["band"],
    f"WITH s AS (SELECT {BAND} AS k FROM stays) SELECT s.k, COUNT(*) AS n FROM s GROUP BY s.k": ["k"],
    f"SELECT k AS band, COUNT(*) AS n FROM (SELECT {BAND} AS k FROM stays) GROUP BY k": ["band"],
    "SELECT ward AS died, died AS ward, COUNT(*) AS n FROM stays GROUP BY 1, 2": ["died", "ward"],
    'SELECT ward AS "value", COUNT(*) AS n FROM stays GROUP BY 1': ["value"],
    'SELECT ward AS "column", CORR(age, bmi) AS n FROM stays GROUP BY 1': ["column", "column_", "with"],
    "SELECT ward AS ward, COUNT(*) AS n FROM stays GROUP BY 1": ["ward"],
    "SELECT COUNT(*) AS n FROM stays GROUP BY ward": ["ward"],
}  # fmt: skip


def table() -> PrivateTable:
    rows = range(900)
    stays = pyarrow.table(
        {
            "ward": ["ab"[row % 2] for row in rows],
            "died": [row % 3 == 0 for row in rows],
            "age": [float(row % 120) for row in rows],
            "bmi": [20.0 + row % 10 for row in rows],
            "town": ["x" for row in rows],
        }
    )
    return PrivateTable(stays, policy=POLICY, ledger="sqlite://", source=SeededSource(3))


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_alias_heads_the_column_wherever_it_is_shown(text: str, tmp_path: Path) -> None:
    stays, heads = table(), STATEMENTS[text]
    (n,) = stays.sql(text, epsilon=1.0)
    assert list(n.rows.labels) == list(n.record.columns) == list(n.rows[0].keys) == heads
    assert n.to_arrow().column_names[: len(heads)] == list(n.to_pandas().columns)[: len(heads)] == heads
    assert n.at(**n.rows[1].keys).rows[0] == n.rows[1]
    record = ReleaseRecord.of(POLICY, [n], stays.statement(), stays.budget())
    lines = list(csv.reader(io.StringIO(values_text(record.releases))))
    assert lines[0][1 : 1 + len(heads)] == heads
    n.to_excel(tmp_path / "n.xlsx")
    cells = [list(row) for row in openpyxl.load_workbook(tmp_path / "n.xlsx").active.values]
    assert any(row[: len(heads)] == heads for row in cells)
    shown = Console(file=io.StringIO(), width=200, highlight=False)
    print_release(shown, record)
    drawn = re.findall(r"<th.*?</th>", render_html(page_of(record, "reviewer")) + n._repr_html_())
    assert len(drawn) > 6
    assert not any("CASE" in one for one in (shown.file.getvalue(), *drawn))  # type: ignore[attr-defined]
    asked = select_statement(text, POLICY, StatementTerms(1.0))
    dry = asked.arrangement.of(stays.dry_run(asked.queries))
    assert list(DryRunRecord.of(dry).releases[0].rows[0].keys) == heads


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_question_is_the_same_without_the_alias(text: str) -> None:
    """Ledger, recall and text know nothing of it, and queries alone may have one."""
    stays = table()
    (n,) = stays.sql(text, epsilon=1.0)
    (query,) = select_statement(text, POLICY, StatementTerms(1.0)).queries
    (plain,) = stays.release([query])
    assert plain.repeated
    assert plain.text == n.text
    assert list(plain.rows.labels)[: len(query.by)] == list(query.by)
    if not select_statement(text, POLICY, StatementTerms(1.0)).arrangement:
        assert sql_queries(text, POLICY, 1.0) == [query]
        assert n.rows.answers.values.tolist() == plain.rows.answers.values.tolist()
        assert not n.arranged
        assert n.record.post_processed == plain.record.post_processed


def test_numbers_stay_with_their_keys() -> None:
    """At a price that leaves no noise, against the table itself."""
    counts = {"child": 0, "adult": 0, "old": 0}
    for row in range(900):
        age = row % 120
        counts["child" if age < 18 else "adult" if age < 65 else "old"] += 1
    assert sum(counts.values()) == 900
    text = f"SELECT {BAND} AS band, COUNT(*) AS n FROM stays GROUP BY band ORDER BY n DESC"
    (n,) = table().sql(text, epsilon=5e4)
    ranked = sorted(counts.items(), key=lambda one: -one[1])
    assert [(row.keys["band"], row.value) for row in n.rows] == ranked
    assert n.record.post_processed is not None
    (by_band,) = table().sql(text.replace("n DESC", "band DESC, n"), epsilon=5e4)
    assert str(by_band.record.post_processed).startswith("ordered by band, descending, then by n (noisy)")


def test_private_keys_have_heads_too() -> None:
    (n,) = table().sql("SELECT town AS t, COUNT(*) FROM stays GROUP BY t", epsilon=50.0, delta=1e-6)
    assert [row.keys for row in n.rows] == [{"t": "x"}]


def test_answers_under_one_alias_are_made_to_add_up() -> None:
    stays = table()
    (bands,) = stays.sql(f"SELECT {BAND} AS band, COUNT(*) FROM stays GROUP BY 1", epsilon=0.1)
    (cells,) = stays.sql(f"SELECT {BAND} AS band, ward, COUNT(*) FROM stays GROUP BY 1, 2", epsilon=0.1)
    parts, finest = consistent([bands, cells])
    for row in parts.rows:
        own = [cell.value for cell in finest.rows if cell.keys["band"] == row.keys["band"]]
        assert len(own) == 2
        assert sum(own) == row.value


@pytest.mark.parametrize(
    ("coarse", "fine", "head"),
    [
        ("SELECT ward AS w, COUNT(*) FROM stays GROUP BY 1", "ward, died", "ward"),
        ("SELECT ward, COUNT(*) FROM stays GROUP BY 1", "ward AS w, died", "w"),
        ("SELECT ward AS w, COUNT(*) FROM stays GROUP BY 1", "ward AS v, died AS w", "v"),
        (f"SELECT {BAND}, COUNT(*) FROM stays GROUP BY 1", f"{BAND} AS band, died", "band"),
        (f"SELECT {BAND} AS a, COUNT(*) FROM stays GROUP BY 1", f"{BAND} AS b, ward", "b"),
    ],
)
def test_answers_are_made_to_add_up_whatever_their_columns_are_called(
    coarse: str, fine: str, head: str
) -> None:
    stays = table()
    (parts,) = stays.sql(coarse, epsilon=0.1)
    (cells,) = stays.sql(f"SELECT {fine}, COUNT(*) FROM stays GROUP BY 1, 2", epsilon=0.1)
    added, finest = consistent([parts, cells])
    (own,) = added.rows.labels
    for row in added.rows:
        summed = [cell.value for cell in finest.rows if cell.keys[head] == row.keys[own]]
        assert len(summed) == len(finest.rows) // len(added.rows)
        assert sum(summed) == row.value
    again = consistent([added, finest])
    assert [[row.value for row in one.rows] for one in again] == [
        [row.value for row in one.rows] for one in (added, finest)
    ]


def test_columns_that_lend_each_other_their_names_are_told_apart() -> None:
    """Two columns of the same keys: by heads, counts of one would be fitted to those of the other."""
    twins = {"early": {"keys": [True, False]}, "late": {"keys": [True, False]}}
    rows = pyarrow.table({"early": [True] * 900 + [False] * 100, "late": [False] * 800 + [True] * 200})
    policy = load_policy(CONTENT | {"columns": twins})
    with PrivateTable(rows, policy=policy, ledger="sqlite://") as private:
        (early,) = private.sql("SELECT early AS late, COUNT(*) FROM stays GROUP BY 1", epsilon=5.0)
        both = private.count(by=["early", "late"], epsilon=5.0)
    added, finest = consistent([early, both])
    for row in added.rows:
        assert abs(row.value - (900 if row.keys["late"] else 100)) < 20
        cells = [one.value for one in finest.rows if one.keys["early"] == row.keys["late"]]
        assert sum(cells) == row.value


TOLD = {
    Arrangement(limit=10): "only the first 10 groups are shown",
    Arrangement(limit=1): "only the first group is shown",
    Arrangement(limit=3, offset=2): "only groups 3 to 5 are shown",
    Arrangement(limit=1, offset=2): "only group 3 is shown",
    Arrangement(offset=2): "the first 2 groups are left out",
    Arrangement(order=(SortKey("n", of_keys=False, descending=True),)): "ordered by n (noisy), descending",
    Arrangement(order=(SortKey("ward", of_keys=True),), heads={"ward": "w"}): "ordered by w",
    Arrangement(heads={"ward": "w"}): "",
}


@pytest.mark.parametrize("arrangement", TOLD)
def test_what_is_said_of_the_order(arrangement: Arrangement) -> None:
    assert arrangement.told == TOLD[arrangement]
    assert bool(arrangement) == bool(TOLD[arrangement])


def emptied(more: str) -> tuple[PrivateTable, list[Release]]:
    stays = table()
    return stays, stays.sql(f"SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward {more}", epsilon=1.0)


def test_what_having_leaves_is_told_in_words_of_groups() -> None:
    _, (n,) = emptied("HAVING n > 100000")
    said = str(n.record.post_processed)
    assert said.startswith("only groups with n > 100000 are shown, by the noisy values; ")


@pytest.mark.parametrize("more", ["HAVING n > 1000000", "LIMIT 5 OFFSET 2", "ORDER BY n OFFSET 9"])
def test_where_nothing_is_left_that_is_what_is_said(more: str) -> None:
    stays, releases = emptied(more)
    record = ReleaseRecord.of(POLICY, releases, stays.statement(), stays.budget())
    again = ReleaseRecord.model_validate(record.to_dict())
    for one in (record, again):
        assert one.releases[0].left_out == 2
        shown = Console(file=io.StringIO(), width=200, highlight=False)
        print_release(shown, one)
        pages = [render_html(page_of(one, audience)) for audience in ("board", "reviewer")]
        for text in (shown.file.getvalue(), *pages):  # type: ignore[attr-defined]
            assert "no group is left (HAVING, OFFSET)" in text
            assert "enough people to appear" not in text


def test_groups_that_never_appeared_were_not_left_out() -> None:
    """Private keys with nobody behind them: HAVING had nothing to leave out."""
    empty = pyarrow.table({"town": pyarrow.array([], pyarrow.string())})
    policy = {**CONTENT, "columns": {"town": {"keys": "private"}}}
    stays = PrivateTable(empty, policy=policy, ledger="sqlite://", version="1")
    text = "SELECT town, COUNT(*) AS n FROM stays GROUP BY town HAVING n > 3 LIMIT 2"
    releases = stays.sql(text, epsilon=1.0, delta=1e-6)
    record = ReleaseRecord.of(stays.policy, releases, stays.statement(), stays.budget())
    assert "left_out" not in record.to_dict()["releases"][0]
    assert "(no group had enough people to appear)" in render_html(page_of(record, "board"))


def test_how_many_were_left_out() -> None:
    for more, left_out in {"": 0, "ORDER BY n": 0, "LIMIT 1": 1, "LIMIT 2": 0, "OFFSET 1": 1}.items():
        _, (n,) = emptied(more)
        assert (n.left_out, n.record.left_out) == (left_out, left_out)


@pytest.mark.parametrize("pair", ["CORR", "COVAR_POP"])
def test_answers_with_several_rows_a_group_keep_the_same_groups(pair: str) -> None:
    """A matrix has its own labels beside the keys; it is ordered by, and cut, by the group."""
    stays = table()
    text = f"SELECT ward, COUNT(*) AS n, {pair}(age, bmi) AS r FROM stays GROUP BY ward"
    _, whole = stays.sql(text, epsilon=1.0)
    wards = {ward: [row for row in whole.rows if row.keys["ward"] == ward] for ward in "ab"}
    middle = {ward: next(row.value for row in rows if row.keys["column"] != row.keys["with"])
              for ward, rows in wards.items()}  # fmt: skip
    low, high = sorted("ab", key=middle.__getitem__)
    for more, shown in {
        "HAVING n > -1000": ["a", "b"],
        "HAVING n > 1000000": [],
        "ORDER BY ward DESC": ["b", "a"],
        "ORDER BY r": [low, high],
        "ORDER BY r DESC LIMIT 1": [high],
        f"HAVING r > {(middle[low] + middle[high]) / 2!r}": [high],
        "LIMIT 1": ["a"],
        "OFFSET 1": ["b"],
    }.items():
        n, r = stays.sql(f"{text} {more}", epsilon=1.0)
        assert [row.keys["ward"] for row in n.rows] == shown, more
        assert list(r.rows) == [row for ward in shown for row in wards[ward]], more
        assert n.left_out == r.left_out == 2 - len(shown)
        assert n.repeated
        assert r.repeated


def test_one_key_under_two_names_is_refused_and_the_same_name_twice_is_not() -> None:
    with pytest.raises(InvalidQuery, match="An answer has each key once"):
        table().sql("SELECT ward AS a, ward AS b, COUNT(*) FROM stays GROUP BY 1", epsilon=1.0)
    (n,) = table().sql("SELECT ward AS w, ward AS w, COUNT(*) FROM stays GROUP BY 1", epsilon=1.0)
    assert list(n.rows.labels) == ["w"]
