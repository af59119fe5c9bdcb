"""Before it takes calls an engine answers a question that nobody asked: of a made-up table, and silently."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from leakcap.errors import BudgetExceeded
from leakcap.release import PrivateTable, Query
from leakcap.service.configuration import load_configuration
from leakcap.service.engine import process
from leakcap.service.engine.tables import OpenTables
from service.direct import written


def test_it_spends_reads_and_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = OpenTables(load_configuration(written(tmp_path)).data).of("ward", "")
    before = table.ledger.head()

    def read(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(table.engine, "run", read)
    with caplog.at_level(logging.DEBUG):
        process._rehearse(table)
        assert not caplog.records
        logging.getLogger("leakcap").info("and now")
    assert [one.getMessage() for one in caplog.records] == ["and now"]
    assert table.ledger.head() == before
    assert table.ledger.totals().entries == 0


def test_where_it_cannot_be_answered_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(self: PrivateTable, queries: Query) -> None:
        raise BudgetExceeded("no")

    table = OpenTables(load_configuration(written(tmp_path)).data).of("ward", "")
    monkeypatch.setattr(PrivateTable, "dry_run", refused)
    with pytest.raises(BudgetExceeded):
        process._rehearse(table)
    with caplog.at_level(logging.INFO):
        logging.getLogger("leakcap").info("and now")
    assert len(caplog.records) == 1
