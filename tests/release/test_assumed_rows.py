"""What number of rows a preview assumes: named, released, public, or a convention; each is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from typer.testing import CliRunner

from leakcap.cli.main import app
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.release import PrivateTable, Query, load_policy, preview, row_limits
from leakcap.release.statistics import statistics
from leakcap.report import page_of
from leakcap.report.records import PreviewRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from release.asked import contents
from release.world import COLUMNS
from seeded import SeededSource

MEAN = Query(name="mean", statistic="mean", column="x", epsilon=0.5)
WARDS = Query(name="wards", statistic="mean", column="x", by=("w",), epsilon=0.5)
OLD = Query(name="old", statistic="mean", column="x", where="x > 2", epsilon=0.5)
COUNT = Query(name="n", statistic="count", epsilon=0.5)
# Those whose error depends on how many rows there are.
DEPEND = {"mean", "share", "ratio", "variance", "standard_deviation", "covariance", "correlation"}
DEPEND |= {"weighted_mean", "weighted_ratio"}


def policy_of(**more: Any) -> Any:
    base = {"dataset": "visits", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}}
    return load_policy(base | {"columns": {"x": {"bounds": [0.0, 10.0]}, "w": {"keys": ["a", "b"]}}} | more)


def visits(**more: Any) -> PrivateTable:
    """700 rows in ward a, 300 in b."""
    data = pyarrow.table({"x": [5.0] * 1000, "w": ["a"] * 700 + ["b"] * 300})
    return PrivateTable(data, policy=policy_of(**more), ledger="sqlite://", source=SeededSource(3))


def test_every_statistic_that_depends_on_rows_takes_the_number() -> None:
    """Its error at other numbers is another one, it says which, and that of the others stays."""
    policy = load_policy({
        "dataset": "tests", "neighbours": "add-remove-one", "caps": {"epsilon": 1e4, "delta": 1e-3},
        "unit": {"id": "id", "max_rows": 1, "max_groups": 1}, "columns": COLUMNS,
    })  # fmt: skip
    moved, seen = set(), set()
    for content in contents():
        query = Query(**{"name": "q", **content, "epsilon": 2.0})
        try:
            (plain,) = preview([query], policy=policy)
        except InvalidQuery:
            continue
        few, many = (preview([query], policy=policy, rows=rows)[0] for rows in (100, 10**6))
        seen.add(query.statistic)
        assert (plain.rows, few.rows, many.rows) in ((1000, 100, 10**6), (None, None, None))
        if plain.rows is None:
            assert (few.error, few.assumed, few.record) == (plain.error, "", plain.record)
            continue
        moved.add(query.statistic)
        assert few.error > many.error
        assert "where 100 rows count" in few.remark
        assert few.assumed == few.record.assumed == "100 rows are assumed, as was asked."
        assert plain.assumed.startswith("1,000 rows are assumed, since nothing says how many there are.")
    assert moved == DEPEND & set(statistics())
    assert seen == set(statistics())


def test_the_error_of_a_mean_is_that_of_so_many_rows() -> None:
    """Far from few rows it falls as 1/n; and so does the ε that would be useful."""
    large, larger = (preview([MEAN], policy=policy_of(), rows=rows)[0].error for rows in (10**5, 10**6))
    assert large / larger == pytest.approx(10.0, rel=0.01)
    scarce, few = (preview([MEAN], policy=policy_of(), rows=rows)[0] for rows in (2, 4))
    assert scarce.useless is not None
    assert few.useful_epsilon is not None
    assert scarce.useful_epsilon is not None
    assert scarce.useful_epsilon > 1.5 * few.useful_epsilon
    told = [way.error for way in preview([MEAN], policy=policy_of(), rows=10**5)[0].ways]
    assert all(error < 0.01 for error in told)


def test_a_released_count_of_the_same_rows_and_groups_says_how_many() -> None:
    table = visits()
    counts = [COUNT, Query(name="per ward", statistic="count", by=("w",), epsilon=0.5)]
    total, wards = (one.record for one in table.release(counts))
    known = [(table.policy, total), (table.policy, wards)]
    mean, by, old = preview([MEAN, WARDS, OLD], policy=table.policy, known=known)
    low = total.values[0].interval[0]
    assert (mean.rows, low) == (low, mean.rows)
    assert mean.assumed == f"{mean.rows:,} rows are assumed, the lower end of the released count `n`."
    ends = [row.interval[0] for row in wards.values]
    assert by.rows == min(ends) < 300
    assert "the lower end of the smallest group of the released count `per ward`." in by.assumed
    # About other rows nothing is known.
    assert old.rows == 1000
    assert "since nothing says" in old.assumed
    # A number that is named comes first.
    assert preview([MEAN], policy=table.policy, rows=7, known=known)[0].rows == 7
    other = policy_of(dataset="elsewhere")
    with pytest.raises(InvalidParameter, match="`known` of `preview` must be of the data set `elsewhere`"):
        preview([MEAN], policy=other, known=known)


def test_a_count_with_margins_and_one_of_gaussian_noise_are_read_too() -> None:
    from leakcap.release import with_margins

    table = visits(caps={"epsilon": 1e6, "delta": 1e-6})
    asked = Query(name="per ward", statistic="count", by=("w",), epsilon=0.5, noise="gaussian")
    (answer,) = table.release([asked])
    record = with_margins(answer, table.policy).record
    (found,) = preview([WARDS], policy=table.policy, known=[(table.policy, record)])
    assert found.rows == min(row.interval[0] for row in record.values if row.keys != {"w": "total"})


def test_a_public_number_is_named_as_the_policys() -> None:
    columns = {"x": {"bounds": [0.0, 10.0], "fill": 5.0}, "w": {"keys": ["a", "b"]}}
    policy = policy_of(neighbours="replace-one", rows=1000, columns=columns)
    one, by, old = preview([MEAN, WARDS, OLD], policy=policy)
    assert (one.rows, one.assumed) == (None, "")
    assert by.assumed == "500 rows are assumed, the policy's number in groups of equal size."
    assert old.assumed == "1,000 rows are assumed, the policy's number."
    with pytest.raises(InvalidParameter, match="from 1 to 1,000, the most under `rows` of the policy"):
        preview([OLD], policy=policy, rows=1001)
    (bounded,) = preview([MEAN], policy=policy_of(max_rows=500))
    assert bounded.assumed == "500 rows are assumed, the most by the policy."


def test_a_table_of_row_limits_is_for_the_same_number() -> None:
    policy = policy_of(unit={"id": "id", "max_rows": 2})
    (found,) = row_limits([MEAN], policy, [2], rows=10**5)
    assert found.errors["mean"] == preview([MEAN], policy=policy, rows=10**5)[0].error


def test_every_rendering_says_the_number_and_whence() -> None:
    policy = policy_of()
    previews = preview([MEAN, COUNT], policy=policy, rows=4321)
    record = PreviewRecord.of(policy, previews)
    sentence = "4,321 rows are assumed, as was asked."
    for audience in ("reviewer", "board"):
        page = page_of(record, audience)
        assert sentence in render_html(page)
        assert sentence in re.sub(r"\s+", " ", render_markdown(page))
    assert sentence in previews._repr_html_()  # type: ignore[attr-defined]
    again = PreviewRecord.model_validate(record.to_dict())
    assert [one.assumed for one in again.statistics] == [sentence, None]


FILE = """
policy = "policy.toml"
data = "visits.csv"
ledger = "visits.db"
[[query]]
name = "n"
statistic = "count"
epsilon = 5.0
[[query]]
name = "mean"
statistic = "mean"
column = "x"
epsilon = 0.5
"""
POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
[caps]
epsilon = 100.0
[columns.x]
bounds = [0.0, 10.0]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "q.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_the_command_takes_a_number_or_released_answers(folder: Path) -> None:
    (folder / "visits.csv").write_text("x\n" + "5\n" * 400, encoding="utf-8")
    run = CliRunner().invoke
    (folder / "told.json").write_text(run(app, ["release", "q.toml", "--json"]).output, encoding="utf-8")
    for file in folder.glob("visits.*"):
        file.unlink()
    wide = {"COLUMNS": "200"}
    named = run(app, ["preview", "q.toml", "--rows", "4321"], env=wide).output
    assert "mean: 4,321 rows are assumed, as was asked." in named
    released = json.loads(run(app, ["preview", "q.toml", "--known", "told.json", "--json"]).output)
    (mean,) = [one for one in released["statistics"] if one["name"] == "mean"]
    assert 390 < mean["rows"] <= 400
    assert "the released count `n`" in mean["assumed"]
    assert "1,000 rows are assumed, since nothing says" in run(app, ["preview", "q.toml"], env=wide).output
    assert not list(folder.glob("visits.*"))


@pytest.mark.parametrize("wrong", ["0", "-3", "9" * 20])
def test_nonsense_is_refused(folder: Path, wrong: str) -> None:
    result = CliRunner().invoke(app, ["preview", "q.toml", "--rows", wrong])
    assert result.exit_code != 0
    assert "`rows` of `preview` must be a whole number from 1 to" in str(result.exception) + result.output
    for value in (0, 1.5, True, "10", 10**13):
        with pytest.raises(InvalidParameter, match="`rows` of `preview` must be a whole number from 1 to"):
            preview([MEAN], policy=policy_of(), rows=value)  # type: ignore[arg-type]
