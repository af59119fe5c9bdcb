from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Balance, Caps, Charge, Ledger, Spend
from leakcap.ledger.exporting import export

EVERYTHING = "SELECT * FROM leakcap_event", "SELECT * FROM leakcap_state"


def test_nine_of_ten_fit_under_a_cap_for_nine(opened: Any, charge: Any) -> None:
    done = 0
    for _ in range(9):
        opened().reserve([charge()])
        done += 1
    with pytest.raises(BudgetExceeded) as refusal:
        opened().reserve([charge()])
    assert str(refusal.value) == (
        "`epsilon` cap of dataset `patients` would be exceeded: 0 left of 0.9, 0.1 asked. "
        "Nothing was spent. Ask for less. The data's owner may raise a cap: `leakcap ledger amend`."
    )
    assert done == 9
    assert opened().balances()[0] == Balance("epsilon", "nats of log-odds", 0.9, 0.9, 0.0)


def test_every_cap_holds_and_every_cap_passed_is_named(opened: Any) -> None:
    ledger = opened(Caps(1.0, 1e-6, nats_person=0.5, nats_table=2.0, delta_of_answers=1e-6))
    ledger.reserve([Charge("a", "", Spend(0.5, 5e-7, 0.25, 1.5))])
    for spend, named in [
        (Spend(epsilon=0.6), "`epsilon` cap .* 0.5 left of 1, 0.6 asked"),
        (Spend(delta=6e-7), "`delta` cap .* 0.0000005 left of 0.000001, 0.0000006 asked"),
        (Spend(nats_person=0.26), "`nats_person` cap .* 0.25 left of 0.5, 0.26 asked"),
        (Spend(nats_table=0.51), "`nats_table` cap .* 0.5 left of 2, 0.51 asked"),
        (Spend(nats_table=math.inf), "`nats_table` cap .* 0.5 left of 2, and no bound is known"),
        (Spend(0.6, 0, 0.3, 0), "`epsilon` cap .* `nats_person` cap"),
    ]:
        with pytest.raises(BudgetExceeded, match=named):
            ledger.reserve([Charge("b", "", spend)])
    ledger.reserve([Charge("c", "", Spend(0.5, 5e-7, 0.25, 0.5))])
    assert [balance.left for balance in ledger.balances()] == [0.0, 0.0, 0.0, 0.0]


def test_a_batch_is_committed_as_a_whole_or_not_at_all(opened: Any, charge: Any, sql: Any) -> None:
    ledger = opened()
    first = ledger.reserve([charge(0.2), charge(0.3)])
    before = sql(*EVERYTHING)
    with pytest.raises(BudgetExceeded, match=r"0\.4 left of 0\.9, 0\.5 asked"):
        ledger.reserve([charge(0.4), charge(0.1)])
    assert sql(*EVERYTHING) == before
    assert [(entry.id, entry.batch) for entry in first] == [(1, 1), (2, 1)]
    assert ledger.reserve([charge(0.4)])[0].batch == 3


def test_checking_spends_nothing(opened: Any, charge: Any, sql: Any) -> None:
    ledger = opened()
    before = sql(*EVERYTHING)
    ledger.check([charge(0.9)])
    with pytest.raises(BudgetExceeded):
        ledger.check([charge(0.9), charge(1e-13)])
    assert sql(*EVERYTHING) == before


def test_an_entry_says_who_what_when_and_how_much(opened: Any) -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ledger = opened(clock=lambda: moment)
    details = {"mechanism": "discrete Laplace", "scale": 10.0, "sensitivity": 1}
    spend = Spend(0.1, 0.0, 0.00125, math.inf)
    (returned,) = ledger.reserve([Charge("räume", "count(*) → n", spend, "Dr. Ng", details)])
    (entry,) = ledger.entries()
    assert entry == returned
    assert (entry.query, entry.text, entry.analyst) == ("räume", "count(*) → n", "Dr. Ng")
    assert (entry.time, entry.spend, entry.state, entry.details) == (moment, spend, "reserved", details)
    assert ledger.totals().nats_table == math.inf
    assert (ledger.dataset, ledger.head().rows) == ("patients", 2)


def test_released_entries_are_no_longer_listed_as_reserved(opened: Any, charge: Any, sql: Any) -> None:
    ledger = opened()
    entries = ledger.reserve([charge(), charge(), charge()])
    before = sql("SELECT * FROM leakcap_event")
    ledger.mark_released(entry.id for entry in entries[:2])
    assert [entry.id for entry in ledger.unreleased()] == [3]
    assert [entry.state for entry in ledger.entries()] == ["released", "released", "reserved"]
    assert sql("SELECT * FROM leakcap_event")[: len(before)] == before
    assert ledger.totals().epsilon == 0.3
    ledger.verify()


@pytest.mark.parametrize(
    ("ids", "message"), [([1], "was released before"), ([7], "no entry 7"), ([2, 9], "no entry 9")]
)
def test_releases_are_of_reserved_entries_and_once(
    opened: Any, charge: Any, ids: list[int], message: str
) -> None:
    ledger = opened()
    ledger.reserve([charge(), charge()])
    ledger.mark_released([1])
    head = ledger.head()
    with pytest.raises(LedgerError, match=message):
        ledger.mark_released(ids)
    with pytest.raises(InvalidParameter):
        ledger.mark_released([2, 2])
    assert ledger.head() == head


def test_an_empty_batch_is_refused(opened: Any) -> None:
    with pytest.raises(InvalidParameter, match="at least one charge"):
        opened().reserve([])


def test_without_a_cap_a_sum_still_fits_its_column(opened: Any) -> None:
    ledger = opened(Caps())
    for _ in range(9):
        ledger.reserve([Charge("q", "", Spend(1_000_000.0))])
    with pytest.raises(BudgetExceeded, match=r"223372.036854775807 left of 9223372"):
        ledger.reserve([Charge("q", "", Spend(1_000_000.0))])


def test_a_memory_ledger_is_one_for_all_threads(charge: Any) -> None:
    def attempt(_: int) -> bool:
        try:
            ledger.reserve([charge()])
        except BudgetExceeded:
            return False
        return True

    with Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=Caps(2.5)) as ledger:
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(60))) == 25
        assert ledger.verify().rows == 26


def test_a_file_ledger_may_be_shared_by_threads(opened: Any, charge: Any) -> None:
    ledger = opened(Caps(100.0))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ledger.mark_released([ledger.reserve([charge()])[0].id]), range(40)))
    assert (ledger.totals().epsilon, ledger.unreleased()) == (4.0, [])
    ledger.verify()


def test_a_clock_that_lags_a_little_takes_the_last_entrys_time(opened: Any, charge: Any) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    opened(clock=lambda: noon).reserve([charge()])
    (entry,) = opened(clock=lambda: noon - timedelta(minutes=5)).reserve([charge()])
    assert entry.time == noon


def test_a_clock_that_goes_back_is_refused(opened: Any, charge: Any, sql: Any) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    opened(clock=lambda: noon).reserve([charge()])
    before = sql(*EVERYTHING)
    with pytest.raises(LedgerError, match="clock stands before the last entry"):
        opened(clock=lambda: noon - timedelta(minutes=5, microseconds=1)).reserve([charge()])
    assert sql(*EVERYTHING) == before


def test_reading_needs_no_policy_and_spends_nothing(opened: Any, charge: Any, file: Path) -> None:
    opened().reserve([charge()])
    with Ledger.read(f"sqlite:///{file}") as ledger:
        assert (ledger.totals().epsilon, ledger.policy) == (0.1, "ab12cd34ef56ab78")
        assert ledger.verify().rows == 2
        with pytest.raises(LedgerError, match="opened for reading"):
            ledger.reserve([charge()])
        with pytest.raises(LedgerError, match="opened for reading"):
            ledger.mark_released([1])


def test_a_relative_url_stays_with_its_first_directory(
    tmp_path: Path, charge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Ledger.open("sqlite:///a b%3f#.db", dataset="d", policy="0" * 8, caps=Caps(1.0)) as ledger:
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.reserve([charge()])
    assert not list((tmp_path / "elsewhere").iterdir())
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".db"]


def test_every_ledger_has_a_secret_of_its_own_which_is_never_exported(
    opened: Any, charge: Any, sql: Any, file: Path
) -> None:
    ledger, other = opened(), Ledger.open("sqlite://", dataset="other", policy="ab12cd34", caps=Caps(1.0))
    ledger.reserve([charge()])
    assert len(bytes.fromhex(ledger.seed)) == 16
    assert ledger.seed != other.seed
    assert ledger.seed not in export(ledger.entries(), "json") + export(ledger.entries(), "csv")
    with Ledger.read(f"sqlite:///{file}") as again:
        assert again.seed == ledger.seed
    sql("DELETE FROM leakcap_secret")
    with opened() as lost, pytest.raises(LedgerError, match="lost its seed"):
        lost.seed  # noqa: B018
