"""The record of a file of rows: what follows from the rest of it is compared before a page is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap
from leakcap.errors import InvalidParameter
from leakcap.report.records import stated_file
from leakcap.report.records.agreement import require_agreement
from leakcap.report.sources import page_of, record_of
from leakcap.statement import statement_of
from leakcap.statement.restated import restated


def kept(office: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((office / f"{name}.json").read_text())
    return found


@pytest.fixture
def told(office: Path) -> dict[str, Any]:
    """The record of a file."""
    return kept(office, "all")


@pytest.mark.parametrize("kind", ["all", "priced", "chosen", "from"])
def test_an_honest_record_is_never_refused(office: Path, kind: str) -> None:
    require_agreement(record_of(kept(office, kind)))


def column(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["columns"][1]
    return found


def two_counts(record: dict[str, Any], by: float, name: str = "file") -> None:
    """One count more and another one less: the total stays."""
    first, second = column(record)["margin"][:2]
    first[name] += by
    second[name] -= by


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a released count": lambda one: column(one)["margin"][0].update(
        {name: column(one)["margin"][0][name] + 5.0 for name in ("released", "lower", "upper")}
    ),
    "an interval": lambda one: column(one)["margin"][0].update(lower=column(one)["margin"][0]["released"]),
    "a count of the file": lambda one: column(one)["margin"][0].update(file=0.0),
    "half a row": lambda one: two_counts(one, one["weight"] / 2),
    "a count below 0": lambda one: two_counts(one, -one["rows"] * one["weight"]),
    "counts that hide their distance": lambda one: two_counts(one, 100 * one["weight"]),
    "a key": lambda one: column(one)["margin"][0].update(key="others"),
    "a key less": lambda one: column(one)["margin"].pop(),
    "no counts": lambda one: column(one).update(margin=[]),
    "a column's name": lambda one: column(one).update(name="other"),
    "a column's type": lambda one: column(one).update(type="int"),
    "a column less": lambda one: one["columns"].pop(),
    "the weight": lambda one: one.update(weight=one["weight"] * 2),
    "a tiny weight": lambda one: one.update(weight=1e-320),
    "no weight": lambda one: one.update(weight=0.0),
    "the rows": lambda one: one.update(rows=one["rows"] + 1),
    "no rows": lambda one: one.update(rows=0),
    "the seed": lambda one: one.update(seed=-1),
    "the price": lambda one: one.update(rho=one["rho"] / 2),
    "the nats": lambda one: one.update(nats_person=one["nats_person"] / 2),
    "a price for the table": lambda one: one.update(nats_table=1.0),
    "the entry": lambda one: one.update(entry=0),
    "the freedom": lambda one: one.update(freedom=one["freedom"] + 1),
    "the misfit": lambda one: one.update(misfit=-1.0),
    "a distance": lambda one: one["tables"][0].update(distance=0.0),
    "a bound": lambda one: one["tables"][0].update(bound=one["tables"][0]["bound"] / 2),
    "cells inside": lambda one: one["tables"][0].update(inside=1.5),
    "part of a cell inside": lambda one: one["tables"][0].update(inside=0.987654321),
    "an association": lambda one: one["tables"][0].update(cramers_v=1.5),
    "a table less": lambda one: one["tables"].pop(),
    "whose counts": lambda one: one.update(covers="people"),
    "the words": lambda one: one.update(about="About everybody."),
    "a proven bound": lambda one: one["proven"][0].update(epsilon=0.01),
    "a game": lambda one: one["games"][0].update(success=0.5),
    "the games": lambda one: one.update(games=[], proven=[]),
    "a sentence": lambda one: one["statement"]["lines"][0].update(sentence="Nothing."),
    "a line's figure": lambda one: one["statement"]["lines"][0].update(upper=0.5),
    "everything's sentence": lambda one: one["so_far"]["lines"][0].update(sentence="Nothing."),
    "what was spent": lambda one: one["caps"][2].update(spent=0.0, left=one["caps"][2]["limit"]),
    "what is left": lambda one: one["caps"][0].update(left=one["caps"][0]["left"] + 0.5),
    "no caps": lambda one: one.update(caps=[]),
    "the data set": lambda one: one.update(dataset="others"),
    "the name": lambda one: one.update(name="others"),
    "the question's price": lambda one: one["question"].update(rho=0.2),
    "another question": lambda one: one.update(question={"a": 1}),
    "no tables in the question": lambda one: one["question"].update(tables=[]),
    "the keys": lambda one: one["policy"]["columns"]["diagnosis"]["keys"].append("other"),
    "the relation": lambda one: one["policy"].update(neighbours="replace-one"),
    "an impossible key": lambda one: one["impossible"][0].update(diagnosis=["other"]),
    "how many coefficients are inside": lambda one: one["regression"].update(inside=0),
    "a coefficient": lambda one: one["regression"]["coefficients"][0].update(lower=1e9, upper=2e9),
    "a free regression's price": lambda one: one["regression"].update(rho=0.1),
    "a regression's entry": lambda one: one["regression"].update(entry=2),
    "that all were chosen": lambda one: one.update(choice={"among": 2, "chosen": [["diagnosis", "radius"]]}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused_in_one_line(told: dict[str, Any], edit: str) -> None:
    EDITS[edit](told)
    with pytest.raises(InvalidParameter) as refused:
        require_agreement(record_of(told))
    assert "\n" not in str(refused.value)


def test_numbers_that_agree_with_each_other_but_not_with_the_tables_are_refused(told: dict[str, Any]) -> None:
    """The statement of a file that tells half as much: its own sentences follow from its numbers."""
    record = record_of(told)
    own = restated(record.statement).exposure  # type: ignore[attr-defined]
    assert own.composed is not None
    less = replace(own.composed.neighbours, gaussian=own.composed.neighbours.gaussian / 2)
    smaller = statement_of(replace(own, composed=replace(own.composed, neighbours=less))).record()
    with pytest.raises(InvalidParameter, match="`statement` says less than the file's tables"):
        require_agreement(record_of({**told, "statement": smaller.to_dict()}))


def test_a_check_that_forgets_the_noise_is_caught(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: bounds on tables and intervals of columns are not compared. The edits get through."""
    EDITS["a bound"](told)
    monkeypatch.setattr(stated_file, "_tables_fault", lambda *_: "")
    require_agreement(record_of(told))
    EDITS["an interval"](told)
    with pytest.raises(InvalidParameter, match="interval of `radius`"):
        require_agreement(record_of(told))


def test_the_command_draws_no_edited_record(office: Path, tmp_path: Path) -> None:
    for name, edit in (
        ("all", lambda one: EDITS["a released count"](one)),
        ("all-tables", lambda one: one["tables"][1]["cells"][0].update(value=1.0)),
        ("chosen-tables", lambda one: one["tables"][-1]["cells"][0].update(value=1.0)),
    ):
        record = kept(office, name)
        (tmp_path / "r.json").write_text(json.dumps(record))
        assert leakcap("report", "r.json", "-o", "sound.html", cwd=tmp_path).returncode == 0
        edit(record)
        (tmp_path / "r.json").write_text(json.dumps(record))
        done = leakcap("report", "r.json", "-o", "p.html", "-o", "p.md", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert "does not agree with itself" in done.stderr or "estimates that whole noisy" in done.stderr
        assert not list(tmp_path.glob("p.*"))


def test_a_record_of_before_is_drawn_and_its_page_says_that_nothing_was_compared(
    office: Path,
) -> None:
    for name in ("all", "all-tables"):
        record = kept(office, name)
        assert "was not looked at" not in str(page_of(record_of(record), "board"))
        del record["question"]
        require_agreement(record_of(record))
        assert "was not looked at" in str(page_of(record_of(record), "board"))
