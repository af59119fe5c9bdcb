"""`leakcap synthesize --from`: a record of tables stands in for data and ledger; edited ones are refused."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap, tables_example
from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.release import PrivateTable, exposure_so_far
from leakcap.release.results.exposure import balances_of_plan, exposure_of_plan
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord
from leakcap.report.sources import read_record, record_of
from leakcap.statement import Exposure, statement_of
from leakcap.statement.restated import restated
from leakcap.synthesis import synthesize
from leakcap.tables import ReleasedTables, TablesQuestion, release_tables
from leakcap.tables.recovery import recovered_tables
from leakcap.tables.residuals import residual_integers
from seeded import SeededSource
from synthesis.worlds import POLICY, people, released

FILE = "examples/tables/microdata.toml"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], bytes, dict[str, Any]]:
    """A record, a file that was made beside its ledger, and that file's record."""
    place = tables_example(tmp_path_factory.mktemp("office"))
    record = json.loads(leakcap("tables", FILE.replace("microdata", "tables"), "--json", cwd=place).stdout)
    words = ("--rows", "300", "--seed", "5", "--json")
    made = leakcap("synthesize", "examples/tables/tables.toml", "--output", "a.csv", *words, cwd=place)
    return record, (place / "a.csv").read_bytes(), json.loads(made.stdout)


def written(record: Any, place: Path) -> Path:
    (place / "t.json").write_text(json.dumps(record))
    return place


def test_the_record_alone_makes_the_same_file(
    told: tuple[dict[str, Any], bytes, dict[str, Any]], tmp_path: Path
) -> None:
    """Nothing else is in the folder: no data, no policy, no ledger, and none is made."""
    record, rows, beside = told
    place = written(record, tmp_path)
    words = ("--from", "t.json", "--output", "b.csv", "--rows", "300", "--seed", "5")
    alone = json.loads(leakcap("synthesize", *words, "--json", cwd=place).stdout)
    assert (place / "b.csv").read_bytes() == rows
    assert sorted(one.name for one in place.iterdir()) == ["b.csv", "t.json"]
    assert (alone["from_record"], alone["repeated"], beside.get("from_record")) == ("t.json", True, None)
    same = (
        "columns",
        "weight",
        "rho",
        "nats_person",
        "entry",
        "misfit",
        "tables",
        "caps",
        "so_far",
        "policy",
    )
    assert {name: alone[name] for name in same} == {name: beside[name] for name in same}
    own, other = (one["statement"]["exposure"] for one in (alone, beside))
    # The ledger's charge is rounded up to 10⁻¹².
    assert own["epsilon"] == pytest.approx(other["epsilon"], rel=1e-9)
    assert own["nats_person"]["upper"] == pytest.approx(other["nats_person"]["upper"], abs=1e-11)
    text = " ".join(leakcap("synthesize", *words, cwd=place).stdout.split())
    assert "Nothing was paid: the tables are those of t.json" in text
    assert (
        "That a ledger paid for them, and what it has told and has left, is taken on the record's word"
        in text
    )


def test_rows_and_impossible_come_from_the_file_that_is_named_beside_it(
    told: tuple[dict[str, Any], bytes, dict[str, Any]], tmp_path: Path
) -> None:
    place = written(told[0], tables_example(tmp_path))
    done = leakcap("synthesize", FILE, "--from", "t.json", "--output", "b.csv", "--json", cwd=place)
    record = json.loads(done.stdout)
    assert (record["rows"], record["name"]) == (500, "cells")
    assert record["impossible"] == [{"diagnosis": ["benign"], "radius": ["17 and over"]}]
    assert not list(place.rglob("*.db"))


@pytest.mark.parametrize(
    ("ways", "policy"),
    [
        (3, {}),
        (2, {"neighbours": "replace-one", "rows": 4_000}),
        (2, {"columns": {**POLICY["columns"], "old": {"keys": [False]}}}),
        (1, {}),
    ],
)
def test_what_is_recovered_tells_what_was_released(ways: int, policy: dict[str, Any]) -> None:
    """Every residual, hence every table, interval and sum; through JSON and back."""
    asked = {"columns": ("sex", "ward", "old", "rooms"), "ways": ways}
    found = released(0.01, asked=asked, policy={**POLICY, **policy})
    record = recorded(found)
    again = released_of(record)
    for table, noisy in found.integers.items():
        assert np.array_equal(
            residual_integers(noisy.astype(object)), residual_integers(again.integers[table].astype(object))
        )
    some: list[tuple[dict[str, Any], float]] = [({"sex": "f"}, 1.0), ({"sex": "m"}, -2.5), ({}, 1 / 3)]
    assert again.sum_of(some) == found.sum_of(some)
    assert synthesize(again, rows=50, seed=1).to_arrow() == synthesize(found, rows=50, seed=1).to_arrow()


def recorded(found: ReleasedTables, **more: Any) -> TablesRecord:
    """The record of tables, as it is read from a file."""
    own = exposure_of_plan((), (), found.planned.policy, [found.charge])
    balances = balances_of_plan((), found.planned.policy, [found.charge])
    record = TablesRecord.of(found, statement_of(own), balances, **more)
    again = record_of(json.loads(json.dumps(record.to_dict())))
    assert isinstance(again, TablesRecord)
    return again


def cell(record: dict[str, Any], table: int = 4, place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = record["tables"][table]["cells"][place]
    return found


def moved(record: dict[str, Any], name: str, by: float) -> None:
    cell(record)[name] += by


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a cell": lambda one: moved(one, "value", 1.0),
    "a cell's last digit": lambda one: cell(one).update(value=math.nextafter(cell(one)["value"], math.inf)),
    "an end": lambda one: moved(one, "lower", 0.25),
    "all of a table": lambda one: [c.update(value=c["value"] + 1) for c in one["tables"][1]["cells"]],
    "the total": lambda one: cell(one, 0).update(value=1e9),
    "a huge total": lambda one: cell(one, 0).update(value=1e308),
    "a key": lambda one: cell(one).update(keys=["benign", "under 11"]),
    "a key's type": lambda one: cell(one, 1).update(keys=[1]),
    "cells that change places": lambda one: one["tables"][1]["cells"].reverse(),
    "a cell less": lambda one: one["tables"][4]["cells"].pop(),
    "a table less": lambda one: one["tables"].pop(),
    "the price": lambda one: one.update(rho=one["rho"] / 2),
    "the nats": lambda one: one.update(nats_person=one["nats_person"] / 2),
    "no bound on nats": lambda one: one.update(nats_person=None),
    "the question's price": lambda one: one["question"].update(epsilon=0.5),
    "a weight": lambda one: one["question"]["tables"][1].update(weight=1.0),
    "a where": lambda one: one["question"].update(where="diagnosis = 'benign'"),
    "a where that is none": lambda one: one["question"].update(where="1; drop"),
    "another question": lambda one: one.update(question={"a": 1}),
    "no question": lambda one: one.pop("question"),
    "no policy": lambda one: one.pop("policy"),
    "the policy's rows": lambda one: one["policy"]["unit"].update(max_rows=2),
    "the relation": lambda one: one["policy"].update(neighbours="replace-one"),
    "the keys": lambda one: one["policy"]["columns"]["diagnosis"]["keys"].append("other"),
    "the words": lambda one: one.update(about="About everybody."),
    "the statement's figure": lambda one: one["so_far"]["exposure"]["nats_person"].update(upper=1e-9),
    "the statement's sentence": lambda one: one["so_far"]["lines"][0].update(sentence="Nothing."),
    "what was spent": lambda one: one["caps"][2].update(spent=0.0, left=one["caps"][2]["limit"]),
    "what is left": lambda one: one["caps"][0].update(left=one["caps"][0]["left"] + 0.5),
    "a cap that is larger": lambda one: one["caps"][0].update(limit=one["caps"][0]["limit"] + 1.0),
    "a cap less": lambda one: one["caps"].pop(0),
    "a cap twice": lambda one: one["caps"].append(one["caps"][0]),
    "no caps": lambda one: one.update(caps=[]),
    "a cap below 0": lambda one: one["caps"][1].update(limit=-1.0, left=0.0),
    "a cap's unit": lambda one: one["caps"][0].update(unit="bits"),
    "a cap of the statement": lambda one: one["so_far"]["exposure"]["capped"].update(epsilon=0.5),
    "a line's figure": lambda one: one["so_far"]["lines"][0].update(upper=0.5),
    "a line's figure for who stops": lambda one: one["so_far"]["lines"][0].update(stopping=0.5),
    "a line's label": lambda one: one["so_far"]["lines"][0].update(label="nothing"),
    "a line's name": lambda one: one["so_far"]["lines"][0].update(key=""),
    "the data set": lambda one: one.update(dataset="others"),
    "the policy's data set": lambda one: one["policy"].update(dataset="others"),
    "the entry": lambda one: one.update(entry=0),
    "the name": lambda one: one.update(name="others"),
    "the schema": lambda one: one.update(schema="leakcap/running/1"),
    "a field": lambda one: one.update(more=1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused_in_one_line(
    told: tuple[dict[str, Any], bytes, dict[str, Any]], tmp_path: Path, edit: str
) -> None:
    record = copy.deepcopy(told[0])
    EDITS[edit](record)
    place = written(record, tmp_path)
    if edit not in ("no question", "no policy"):
        with pytest.raises(InvalidParameter):
            read_record(place / "t.json")  # what `leakcap report` draws
    done = leakcap("synthesize", "--from", "t.json", "--output", "b.csv", cwd=place)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not (tmp_path / "b.csv").exists()


def test_sums_of_cells_that_stand_beside_the_tables_follow_from_them() -> None:
    found = released(0.01)
    asked: list[dict[str, Any]] = [{"ward": ("north", "south"), "old": True}, {"sex": "f"}]
    told = recorded(found, between=[(one, found.between(one)) for one in asked]).to_dict()
    assert released_of(TablesRecord.model_validate(told)).entry == found.entry
    edits: list[dict[str, Any]] = [
        {"value": told["between"][0]["value"] + 1.0},
        {"lower": told["between"][0]["value"]},
        {"keys": {"ward": ["north", "west"], "old": [True]}},
        {"keys": {"ward": ["south", "north"], "old": [True]}},
        {"keys": {"age": ["north"]}},
        {"keys": {"ward": [], "old": [True]}},
    ]
    for edit in edits:
        edited = copy.deepcopy(told)
        edited["between"][0].update(edit)
        with pytest.raises(InvalidParameter, match="`between` does not follow from the rest"):
            released_of(TablesRecord.model_validate(edited))


def test_a_statement_that_was_made_smaller_is_refused(
    told: tuple[dict[str, Any], bytes, dict[str, Any]],
) -> None:
    """Its sentences made anew for other numbers: they agree with each other, but not with the tables."""
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=1e-6)
    with PrivateTable(people(50), policy=POLICY, ledger="sqlite://") as table:
        other = release_tables(table, question, source=SeededSource(1))
    record = record_of({**told[0], "so_far": recorded(other).to_dict()["so_far"]})
    assert isinstance(record, TablesRecord)
    with pytest.raises(InvalidParameter, match="says less than the tables alone"):
        released_of(record)


SMALLER: dict[str, Callable[[Exposure], Exposure]] = {
    "epsilon": lambda one: replace(
        one, epsilon=one.epsilon / 2, epsilon_contents=one.epsilon_contents / 2, composed=None
    ),
    "epsilon_contents": lambda one: replace(one, epsilon_contents=one.epsilon, composed=None),
    "delta": lambda one: replace(one, delta=0.0, delta_contents=0.0),
    "delta_contents": lambda one: replace(one, delta_contents=one.delta),
    "nats_person": lambda one: replace(one, nats=Bound(0.0, one.nats.upper / 2, method="ledger")),
    "units": lambda one: replace(one, units=1_000_000),
    "unit": lambda one: replace(one, unit="household"),
    "composed.neighbours": lambda one: smaller(one, gaussian=0.0),
    "composed.contents": lambda one: replace(
        one, composed=replace(one.composed, contents=one.composed.neighbours)
    ),
}


def smaller(one: Exposure, **fields: Any) -> Exposure:
    """With other sums between neighbours."""
    assert one.composed is not None
    return replace(one, composed=replace(one.composed, neighbours=replace(one.composed.neighbours, **fields)))


def restated_as(record: TablesRecord, edit: Callable[[Exposure], Exposure]) -> TablesRecord:
    """The record with other numbers about everything so far, and the sentences that follow from them."""
    told = statement_of(edit(restated(record.so_far).exposure)).record()
    again = record_of({**record.to_dict(), "so_far": told.to_dict()})
    assert isinstance(again, TablesRecord)
    return again


@pytest.mark.parametrize("number", SMALLER)
def test_each_number_of_everything_so_far_is_no_less_than_the_tables_own(number: str) -> None:
    """Numbers and sentences agree, and all but one of the numbers are as they were: the nats, too."""
    record = recorded(released(0.01))
    with pytest.raises(InvalidParameter, match=f"`so_far` says less .* in `{number}`"):
        released_of(restated_as(record, SMALLER[number]))


def test_between_contents_the_table_is_compared_too() -> None:
    policy = {**POLICY, "neighbours": "replace-one", "rows": 4_000}
    record = recorded(released(0.01, policy=policy))
    assert released_of(record).entry == 1
    with pytest.raises(InvalidParameter, match="in `table_nats`"):
        released_of(restated_as(record, lambda one: replace(one, table_nats=one.table_nats / 2)))
    with pytest.raises(InvalidParameter, match=r"in `composed\.neighbours`"):
        released_of(restated_as(record, lambda one: smaller(one, curve=(1e-9,) * 31)))


@pytest.mark.parametrize(
    "policy",
    [
        {"caps": {"epsilon": 9.0, "delta": 1e-6}},
        {"caps": {"rho": 9.0, "nats_per_person": 9.0}},
        {"caps": {"epsilon": 30.0, "delta": 1e-5, "alpha": 2, "nats_level": 10.0, "queries": 9}},
        {"caps": {"epsilon": 9.0, "delta": 1e-6}, "neighbours": "replace-one", "rows": 1_000},
    ],
)
def test_what_came_before_and_after_the_tables_only_adds_to_the_account(policy: dict[str, Any]) -> None:
    """The account of an honest ledger, whatever else it paid for, is never refused."""
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01)
    other = TablesQuestion(columns=("old", "rooms"), ways=2, rho=0.003)
    with PrivateTable(people(1_000), policy={**POLICY, **policy}, ledger="sqlite://") as table:
        for _ in range(2):
            table.count(epsilon=0.2)
            found = release_tables(table, question, source=SeededSource(1))
            total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
            record = record_of(TablesRecord.of(found, total, table.budget()).to_dict())
            assert isinstance(record, TablesRecord)
            assert released_of(record).entry == found.entry
            release_tables(table, other, source=SeededSource(2))


def test_lines_that_are_made_anew_from_rounded_sums_are_not_taken_for_edits() -> None:
    """Two integrals over the composed curve come out at a few parts in 10⁶ more from the record's sums."""
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01)
    policy = {**POLICY, "caps": {"nats_per_person": 5.0}, "neighbours": "replace-one", "rows": 1_000}
    with PrivateTable(people(1_000), policy=policy, ledger="sqlite://") as table:
        table.count(epsilon=0.1)
        found = release_tables(table, question, source=SeededSource(1))
        total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
        record = TablesRecord.of(found, total, table.budget())
    made = restated(record.so_far).record().lines
    farthest = max(
        abs(own.upper - line.upper) / own.upper
        for line, own in zip(record.so_far.lines, made, strict=True)
        if line.upper and own.upper
    )
    assert 1e-6 < farthest < 1e-5
    assert released_of(record).entry == found.entry


def test_what_was_spent_is_no_more_than_everything_tells(
    told: tuple[dict[str, Any], bytes, dict[str, Any]],
) -> None:
    record = copy.deepcopy(told[0])
    (nats,) = (cap for cap in record["caps"] if cap["cap"] == "nats_person")
    nats["spent"] *= 3
    parsed = record_of(record)
    assert isinstance(parsed, TablesRecord)
    with pytest.raises(InvalidParameter, match="more was spent of `nats_person` than `so_far` tells"):
        released_of(parsed)


def test_estimates_without_the_digits_are_refused() -> None:
    """Of counts beyond 2⁵⁰ doubles do not tell whole numbers apart, so that nothing is guessed."""
    found = released(0.01)
    workload = found.plan.workload
    values = {table: found.table(*workload.named(table)).values.ravel() for table in workload.closure}
    with pytest.raises(InvalidParameter, match="2⁵⁰"):
        recovered_tables(found.planned, {**values, (): [2.0**51]}, 1)
    with pytest.raises(InvalidParameter, match="whole noisy numbers"):
        recovered_tables(found.planned, {**values, (): [0.5]}, 1)
    with pytest.raises(InvalidParameter, match="whole noisy numbers"):
        recovered_tables(found.planned, {**values, (): [math.nan]}, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "b.csv"], "needs a file that asks for tables, or `--from`"),
        (["--from", "t.json", "--output", "b.csv", "--ledger", "x.db"], "nothing is asked of a ledger"),
        (["--from", "t.json", "--output", "b.csv", "--fresh", "--yes"], "nothing is asked of a ledger"),
        (["--from", "t.json", "--output", "b.csv", "--same-as", "1"], "nothing is asked of a ledger"),
        (["--from", "t.json", "--output", "b.csv", "--rows", "0"], "whole number from 1"),
        (["--from", "t.csv", "--output", "t.csv"], "may not replace"),
        (["--from", "none.json", "--output", "b.csv"], "none.json"),
        (["--from", "empty.json", "--output", "b.csv"], "is not JSON"),
    ],
)
def test_what_does_not_fit_is_refused(
    told: tuple[dict[str, Any], bytes, dict[str, Any]], tmp_path: Path, words: list[str], message: str
) -> None:
    place = written(told[0], tmp_path)
    (place / "t.csv").write_text(json.dumps(told[0]))
    (place / "empty.json").write_text("")
    done = leakcap("synthesize", *words, cwd=place)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (place / "b.csv").exists()
