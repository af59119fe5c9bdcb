"""`leakcap report RECORD --ledger`: what agrees with itself is held against what the ledger remembers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from command_line import leakcap
from leakcap.errors import InvalidParameter
from leakcap.ledger import Ledger
from leakcap.release import Policy, PrivateTable
from leakcap.release.results.exposure import balances_of_plan, exposure_of_plan
from leakcap.report.records.agreement import require_agreement
from leakcap.report.records.base import CapRecord
from leakcap.report.records.in_ledger import require_in_ledger
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord, WorkloadRecord
from leakcap.report.sources import record_of
from leakcap.statement import statement_of
from leakcap.tables import release_tables
from leakcap.tables.recovery import recovered_tables
from synthesis.test_record_of_file import kept

RECORDS = ("all", "chosen", "priced", "all-tables", "chosen-tables", "priced-tables")


@pytest.fixture
def book(office: Path) -> Iterator[Ledger]:
    with Ledger.read(f"sqlite:///{office}/own.db") as found:
        yield found


@pytest.mark.parametrize("name", RECORDS)
def test_what_the_ledger_has_is_drawn(office: Path, book: Ledger, name: str) -> None:
    """Also when more was asked since the record was made."""
    require_in_ledger(record_of(kept(office, name)), book)


def test_a_consistent_forgery_is_caught_by_the_ledger_alone(office: Path, book: Ledger) -> None:
    """One row more in a cell and its margins, all intervals made anew: only the ledger knows better."""
    record = record_of(kept(office, "all-tables"))
    assert isinstance(record, TablesRecord)
    found = released_of(record)
    workload = found.plan.workload
    values = {}
    for table in workload.closure:
        one = found.table(*workload.named(table)).values.copy()
        one.ravel()[0] += 1.0
        values[table] = one.ravel()
    forged = recovered_tables(found.planned, values, found.entry)
    told = record.to_dict() | WorkloadRecord.of_released(forged).to_dict()
    assert told["tables"][1]["cells"][0]["value"] != record.tables[1].cells[0].value
    require_agreement(record_of(told))
    with pytest.raises(InvalidParameter, match=r"`tables` of the record .* is not what the ledger has"):
        require_in_ledger(record_of(told), book)
    (office / "forged.json").write_text(json.dumps(told))
    done = leakcap("report", "forged.json", "-o", "f.html", cwd=office)
    assert done.returncode == 0, done.stderr
    (office / "f.html").unlink()
    done = leakcap("report", "forged.json", "--ledger", "own.db", "-o", "f.html", cwd=office)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert not (office / "f.html").exists()


def test_the_command_says_so_and_takes_a_ledger_for_records_alone(office: Path) -> None:
    done = leakcap("report", "all.json", "--ledger", "own.db", "-o", "a.html", "--json", cwd=office)
    assert json.loads(done.stdout)["in_ledger"] is True
    done = leakcap("report", "all.json", "--ledger", "own.db", "-o", "a.html", cwd=office)
    assert "The ledger has its numbers" in done.stdout
    for words in (("rows.toml", "-o", "b.html"), ("all.json", "-o", "own.db")):
        done = leakcap("report", *words, "--ledger", "own.db", cwd=office)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_a_record_of_another_ledger_is_refused(office: Path) -> None:
    """Under the same policy and question, and an entry of the same number, with other noise or with none."""
    record = record_of(kept(office, "all-tables"))
    assert isinstance(record, TablesRecord)
    assert record.policy is not None
    planned = released_of(record).planned
    data = pyarrow.parquet.read_table(office / "examples/hospital/patients.parquet")
    with PrivateTable(data, policy=record.policy, ledger="sqlite://") as table:
        with pytest.raises(InvalidParameter, match="does not remember"):
            require_in_ledger(record, table.ledger)
        assert release_tables(table, planned.question).entry == record.entry
        with pytest.raises(InvalidParameter, match="is not what the ledger has"):
            require_in_ledger(record, table.ledger)


def test_a_file_of_another_seed_is_not_the_one_that_is_told_of(office: Path, book: Ledger) -> None:
    told = kept(office, "all")
    told["seed"] += 1
    require_agreement(record_of(told))
    with pytest.raises(InvalidParameter, match="is not what the ledger has"):
        require_in_ledger(record_of(told), book)


def test_an_account_that_leaves_out_what_came_before_is_refused(office: Path, book: Ledger) -> None:
    """Of the third entry: an account of its own tables alone agrees with itself, and not with the ledger."""
    record = record_of(kept(office, "chosen-tables"))
    assert isinstance(record, TablesRecord)
    assert record.entry > 1
    charge, policy = released_of(record).charge, book_policy(record)
    own = statement_of(exposure_of_plan((), (), policy, [charge])).record()
    caps = [CapRecord.of(one).to_dict() for one in balances_of_plan((), policy, [charge])]
    told = record_of({**record.to_dict(), "so_far": own.to_dict(), "caps": caps})
    require_agreement(told)
    with pytest.raises(InvalidParameter, match="says less than the ledger's entries"):
        require_in_ledger(told, book)


def test_more_spent_than_the_ledger_has_is_refused(office: Path, book: Ledger) -> None:
    told = kept(office, "chosen-tables")
    (cap,) = (one for one in told["caps"] if one["cap"] == "epsilon")
    cap["spent"] *= 1.5
    if cap["limit"] is not None:
        cap["left"] = max(cap["limit"] - cap["spent"], 0.0)
    require_agreement(record_of(told))
    with pytest.raises(InvalidParameter, match="more was spent of `epsilon`"):
        require_in_ledger(record_of(told), book)


def book_policy(record: TablesRecord) -> Policy:
    assert record.policy is not None
    return record.policy


@pytest.mark.parametrize("name", ["all", "all-tables"])
def test_records_without_a_question_and_of_other_kinds_are_refused(
    office: Path, book: Ledger, name: str
) -> None:
    told = kept(office, name)
    del told["question"]
    with pytest.raises(InvalidParameter, match="`--ledger` compares"):
        require_in_ledger(record_of(told), book)
