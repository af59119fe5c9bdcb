"""The page of an attack as a browser shows it, and its plots against Vega-Lite's schema."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import altair
import numpy as np
import pytest

from browser import Marks, browse
from command_line import leakcap
from leakcap.attack import (
    Finding,
    copies_curve,
    correlated_record,
    floor_curve,
    games,
    genomes,
    knowledge_curve,
    membership,
    siblings,
    skew_curve,
    surprise_curve,
    textbook_timing,
    timing,
)
from leakcap.channel import Channel
from leakcap.report.pages import attack_page
from leakcap.report.plots.attack import attack_figures, guard_figures
from leakcap.report.records import AttackRecord
from leakcap.report.render.document import Document, Plot, Section
from leakcap.report.render.html import render_html, write_html
from seeded import SeededSource

FOUND: dict[str, tuple[tuple[Finding, ...], int]] = {
    "copies": (copies_curve([1, 10, 100], 0.5), 3),
    "family": ((correlated_record(genomes(siblings(2), 2, 0.3), 1.0),), 7),
    "knowledge": (knowledge_curve([0, 3, 9], 0.5, 1.0), 3),
    "floor": (floor_curve(10, [2.0, 6.0, 10 * math.log(2.0)], 1.0), 3),
    "skew": (skew_curve(0.1, [0.5, 1.0, 4.0, math.inf]), 2),
    "surprise": (surprise_curve(Channel(np.eye(3)), [0.2, 0.3, 0.5], alpha=2.0, levels=[0.1, 0.9, 1.5]), 2),
    "timing": ((textbook_timing(1.0), timing(1.0)), 4),
    "one": ((membership(1.0),), 2),
}


@pytest.fixture(scope="module")
def pairs() -> tuple[tuple[Finding, Finding], ...]:
    return games(0.5, rounds=20, generator=np.random.default_rng(1), source=SeededSource(1))


@pytest.mark.parametrize("name", FOUND)
def test_every_specification_is_vega_lite(name: str) -> None:
    for spec in attack_figures(FOUND[name][0]):
        altair.LayerChart.from_dict(spec) if "layer" in spec else altair.Chart.from_dict(spec)
        assert spec["data"]["values"]
        broken = {**spec, "title": 7}
        with pytest.raises(Exception, match="7 is not"):
            altair.LayerChart.from_dict(broken) if "layer" in spec else altair.Chart.from_dict(broken)


def test_the_numbers_in_the_plots_are_those_found(pairs: tuple[tuple[Finding, Finding], ...]) -> None:
    curve = copies_curve([1, 10, 100], 0.5)
    (spec,) = attack_figures(curve)
    drawn = [row["value"] for row in spec["data"]["values"] if row["what"] == "I(X;Y)"]
    assert drawn == [point.got for point in curve]
    specs = guard_figures(pairs)
    rows = [row for spec in specs for row in spec["data"]["values"]]
    assert len(rows) == 3 * len(pairs)
    got = {row["attack"]: row["value"] for row in rows if row["what"] == "with it"}
    assert got == {without.attack: guarded.got for without, guarded in pairs}


def test_the_browser_draws_every_plot(pairs: tuple[tuple[Finding, Finding], ...], tmp_path: Path) -> None:
    """All figures on one page: one start of the browser."""
    figures = [attack_figures(group) for group, _ in FOUND.values()]
    page = tmp_path / "attacks.html"
    specs = [spec for specs in [*figures, guard_figures(pairs)] for spec in specs]
    plots = tuple(Plot(f"figure-{i}", spec, "a plot") for i, spec in enumerate(specs))
    write_html(Document("Attacks", "all", "attack", "reviewer", (Section("Plots", plots),)), page)
    parser = Marks()
    parser.feed(browse(page, tmp_path / "profile", "--dump-dom"))
    at = 0
    for specs, (name, (_, least)) in zip(figures, FOUND.items(), strict=True):
        assert parser.marks.get(f"figure-{at}", 0) >= least, (name, parser.marks)
        at += len(specs)
    assert parser.marks[f"figure-{at}"] >= 3 * 8


def record_of(found: Sequence[Finding], guarded: Sequence[bool] = ()) -> AttackRecord:
    rows = [finding.to_dict() for finding in found]
    for row, guard in zip(rows, guarded, strict=False):
        row["guarded"] = guard
    return AttackRecord.model_validate({"schema": "leakcap/attack/1", "findings": rows})


@pytest.mark.parametrize("name", FOUND)
def test_the_page_of_a_record_has_the_plots_of_the_findings(name: str) -> None:
    found = FOUND[name][0]
    page = attack_page(record_of(found), "reviewer")
    assert [plot.spec for plot in page.plots] == attack_figures(found)


def test_so_has_that_of_guarded_ones(pairs: tuple[tuple[Finding, Finding], ...]) -> None:
    flat = [finding for pair in pairs for finding in pair]
    page = attack_page(record_of(flat, [False, True] * len(pairs)), "reviewer")
    assert [plot.spec for plot in page.plots] == guard_figures(pairs)


def test_nothing_is_fetched_and_nothing_is_injected() -> None:
    odd = Finding(
        attack="</script><b>", got=0.5, at_most=0.0, unit="<i>", stopped_by="<script>alert(1)</script>"
    )
    text = render_html(attack_page(record_of([odd]), "reviewer"))
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert "</script><b>" not in text
    assert "<script>alert(1)" not in text
    assert "<i>" not in text
    assert text.count("<script>") == text.count("</script>") == 4


@pytest.mark.parametrize("value", ["nan", [1.0], {"a": 1}, True, None])
def test_figures_that_are_no_numbers_are_not_drawn(value: object) -> None:
    rows = [{**finding.to_dict(), "records": value} for finding in FOUND["copies"][0]]
    record = AttackRecord.model_validate({"schema": "leakcap/attack/1", "findings": rows})
    assert render_html(attack_page(record, "reviewer"))


def test_the_command_writes_it(tmp_path: Path) -> None:
    done = leakcap("attack", "copies", "1", "10", "--report", "new/page.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "written: new/page.html" in done.stdout
    assert "One record in a noisy sum" in (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "data.csv").write_text("mine")
    for place in ("folder.html", "data.csv"):
        wrong = leakcap("attack", "copies", "1", "--report", place, cwd=tmp_path)
        assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "data.csv").read_text() == "mine"
