"""The walk of the benchmark: it leaves nothing out, judges by CPU time, and is quoted."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leakcap.release.statistics import statistics

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "benchmarks" / "measured" / "release.json"


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("measuring.walk")


def test_every_statistic_is_walked_by_every_key_and_filter(measuring: Any) -> None:
    by_hand = importlib.import_module("measuring.by_hand")
    found = [(name, kind, filter_) for name, _, kind, filter_ in measuring.lines_of()]
    assert len(found) == len(set(found)) == len(statistics()) * (len(by_hand.KEYS) + len(by_hand.FILTERS) - 1)
    assert {name for name, _, _ in found} == set(statistics())
    some = [(name, kind, filter_) for name, _, kind, filter_ in measuring.lines_of(["mean"], ["text"])]
    assert some == [("mean", "text", "")]
    assert {filter_ for _, _, _, filter_ in measuring.lines_of(["mean"], ["filters"])} | {""} == set(
        by_hand.FILTERS
    )


def test_a_verdict_is_by_cpu_time_of_the_whole_release(measuring: Any) -> None:
    line = measuring.Line("mean", "text", "", 10, 5, 1.25, (1.0, 1.0), (9.0, 1.1), (9.0, 1.25))
    assert line.kept
    assert not replace(line, release=(1.0, 1.26)).kept
    assert line.ratio("statement") == 1.1
    assert "| – | – | 1.10, **1.26** |" in measuring.table_of([replace(line, release=(1.0, 1.26))])


def test_a_long_line_with_a_clear_verdict_is_measured_three_times(
    measuring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [(1.0, 1.0), (0.5, 0.5), (1.0, 1.0)]
    monkeypatch.setattr(measuring, "turns", lambda actions: given)
    assert len(measuring._turns({}, 1.25)) == 3
    assert len(measuring._turns({}, 1.1)) == 5  # kept, but not clearly
    assert len(measuring._turns({}, 0.8)) == 3  # clearly missed
    given[:] = [(seconds / 10, used / 10) for seconds, used in given]
    assert len(measuring._turns({}, 1.25)) == 5  # short


def test_a_line_is_measured_written_and_read(measuring: Any, tmp_path: Path) -> None:
    lines = measuring.walk(
        measuring.kept_file(tmp_path, 300), 300, ["count"], ["none"], json=tmp_path / "found.json"
    )
    assert len(lines) == 1
    (again,) = measuring.read(tmp_path / "found.json")
    assert (again.title, again.rows, again.runs) == ("count", 300, measuring.RUNS)
    assert all(min(times) >= 0.0 for times in (again.by_hand, again.statement, again.release))


def test_the_manual_quotes_the_walk(measuring: Any) -> None:
    lines = measuring.read(MEASURED)
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert {line.statistic for line in lines} == set(statistics())
    for row in measuring.table_of(lines).splitlines():
        assert row in page
    kept = sum(line.kept for line in lines)
    assert f"{kept} of {len(lines)} lines keep their target" in page
