"""Caps of a period that count by what answers are about: the accounts beside brute force over days."""

from __future__ import annotations

import calendar
from collections import defaultdict
from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Edition, Ledger, Limits, Proposed, Spend
from leakcap.ledger.caps import Period
from leakcap.ledger.editions import calendar_days, period_labels
from leakcap.policy import Policy, load_policy
from ledger.test_rehearsal import BASE, COUNT, Calendar

LENGTHS: tuple[Period, ...] = ("day", "week", "month", "year")


def about(period: str, epsilon: float = 0.25) -> Charge:
    return Charge("n", "count", Spend(epsilon=epsilon), edition=Edition("Stays", period, "1.0"))


def opened(file: Path, length: Period, most: float, **more: Any) -> Ledger:
    caps = Caps(
        epsilon=1000.0, period=length, each_period=Limits(epsilon=most), period_by="reference", **more
    )
    return Ledger.open(f"sqlite:///{file}", dataset="d", policy="ab12cd34", caps=caps)


def named(length: str, day: date) -> str:
    """The period of a day, by strftime."""
    return day.strftime({"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}[length])


def days_of(form: str, year: int, part: int) -> tuple[str, list[date]]:
    """A period's text and its days, by going through all days of three years."""
    every = [date(year - 1, 1, 1) + timedelta(days=n) for n in range(3 * 366)]
    if form == "quarter":
        quarter = part % 4 + 1
        held = [d for d in every if d.year == year and (d.month + 2) // 3 == quarter]
        return f"{year}-Q{quarter}", held
    day = date(year, 1, 1) + timedelta(days=part)
    text = named(form, day)
    return text, [d for d in every if named(form, d) == text]


def test_a_reference_period_touches_the_periods_of_its_days() -> None:
    seen = 0
    for form, year, part in product((*LENGTHS, "quarter"), (2020, 2024, 2026), range(0, 366, 13)):
        text, days = days_of(form, year, part)
        assert calendar_days(text) == (days[0], days[-1])
        for length in LENGTHS:
            assert period_labels(text, length) == sorted({named(length, one) for one in days})
            seen += 1
    assert seen == 5 * 3 * 29 * 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "March 2024", "2024-13", "2024-00", "2024-Q5", "2024-Q0", "2024-W54", "2023-W53", "2024-W00"),
        *("2023-02-29", "2024-2-1", "24-01", "2024-01 ", "2024/01", "0000", "9999-W53", "2024-1"),
        *("\uff12\uff10\uff12\uff14", "2024-01/2024-03"),
    ],
)
def test_what_is_no_calendar_period_is_none(text: str) -> None:
    assert calendar_days(text) is None
    assert [period_labels(text, length) for length in LENGTHS] == [[]] * 4


@pytest.mark.parametrize("length", LENGTHS)
def test_accounts_are_what_brute_force_over_days_says(length: Period, tmp_path: Path) -> None:
    """Random reference periods of every form: each account, refusal and sum, and the chain."""
    rng, held = np.random.default_rng(6), defaultdict[str, Fraction](Fraction)
    taken = refused = 0
    with opened(tmp_path / "l.db", length, most=1.0) as ledger:
        for _ in range(40):
            form = str(rng.choice(["day", "week", "month", "quarter"]))
            text, days = days_of(form, 2024, int(rng.integers(360)))
            names = {named(length, one) for one in days}
            full = any(held[name] + Fraction(1, 4) > 1 for name in names)
            if full:
                with pytest.raises(BudgetExceeded, match=f"cap of reference {length} `20"):
                    ledger.reserve([about(text)])
                refused += 1
                continue
            ledger.reserve([about(text)])
            taken += 1
            for name in names:
                held[name] += Fraction(1, 4)
        found = {one.name: one.balances[0].spent for one in ledger.accounts()[1:]}
        assert found == {name: float(sum_) for name, sum_ in held.items() if sum_}
        assert {one.scope for one in ledger.accounts()[1:]} == {f"reference {length}"}
        assert ledger.totals().epsilon == taken / 4
        ledger.verify()
    assert taken
    assert refused or length == "day"


def test_the_month_that_is_asked_in_does_not_count(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db", "month", most=0.25) as ledger:
        for month in range(1, 13):
            ledger.reserve([about(f"2020-{month:02d}")])
        with pytest.raises(BudgetExceeded, match="`epsilon` cap of reference month `2020-07`") as caught:
            ledger.check([about("2020-07-09", 0.125)])
        assert caught.value.passed[0].period == "2020-07"


@pytest.mark.parametrize("said", ["", "March 2024", "2024-13"])
def test_an_answer_that_names_no_period_is_refused_with_nothing_spent(said: str, tmp_path: Path) -> None:
    with opened(tmp_path / "l.db", "month", most=1.0) as ledger:
        for ask in (ledger.reserve, ledger.check):
            with pytest.raises(LedgerError, match="count by reference period, and query `n` says"):
                ask([about("2024-03"), about(said)])
        assert ledger.totals().entries == 0


def test_an_account_that_was_deleted_is_missed_by_the_next_spend(tmp_path: Path) -> None:
    import sqlite3

    with opened(tmp_path / "l.db", "month", most=1.0) as ledger:
        ledger.reserve([about("2024-03")])
    with sqlite3.connect(tmp_path / "l.db") as file:
        file.execute("delete from leakcap_account")
    with opened(tmp_path / "l.db", "month", most=1.0) as ledger:
        with pytest.raises(LedgerError, match=r"account of reference month `2024-03` .* is missing"):
            ledger.reserve([about("2024-03")])
        with pytest.raises(LedgerError, match="do not add up"):
            ledger.verify()


def test_an_edition_is_recorded_and_no_part_of_the_question(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db", "year", most=1.0) as ledger:
        (entry,) = ledger.reserve([about("2024-03")], data="t")
        ledger.mark_released([entry.id], answers={entry.id: [[7]]})
        (again,) = ledger.recall([about("2024")], data="t")
        assert again is not None
        assert again.values == [[7]]
        (kept,) = ledger.entries()
        assert kept.edition == entry.edition == Edition("Stays", "2024-03", "1.0")


def test_an_amendment_books_what_was_spent_by_reference(tmp_path: Path) -> None:
    """What was said before counts for what it is about; what said nothing, for when it was asked."""
    by_date = {**BASE, "caps": {"epsilon": 9.0, "each_period": {"length": "month", "epsilon": 1.0}}}
    caps = {"epsilon": 9.0, "each_period": {"length": "month", "epsilon": 1.0, "by": "reference"}}
    old, new, clock = load_policy(by_date), load_policy({**BASE, "caps": caps}), Calendar()

    def of(policy: Policy) -> Ledger:
        return Ledger.open(
            f"sqlite:///{tmp_path / 'l.db'}", dataset=policy.dataset, policy=policy.fingerprint(),
            caps=policy.caps.ledger_caps(), text=policy.text(), clock=clock,
        )  # fmt: skip

    with of(old) as ledger:
        ledger.reserve([about("2020-02"), about(""), about("spring")])
        text, terms = new.text(), new.caps.ledger_caps()
        ledger.amend(Proposed(text, terms, "Months are those that tables are about."))
    with of(new) as ledger:
        found = {one.name: one.balances[0].spent for one in ledger.accounts()[1:]}
        assert found == {"2020-02": 0.25, "2027-01": 0.5}
        ledger.verify()


def test_a_policy_that_counts_by_date_keeps_its_fingerprint() -> None:
    """Of before `by` was known: the text is spelled out here."""
    caps = {"epsilon": 1.0, "each_period": {"length": "month", "epsilon": 0.5}}
    one, two = (
        load_policy({**BASE, "caps": {**caps, "each_period": {**caps["each_period"], **by}}})  # type: ignore[dict-item]
        for by in ({}, {"by": "date"})
    )
    assert one.text() == two.text()
    assert '"by"' not in one.text()
    assert '"by":"reference"' in load_policy(
        {**BASE, "caps": {**caps, "each_period": {**caps["each_period"], "by": "reference"}}}  # type: ignore[dict-item]
    ).text()  # fmt: skip


def test_reference_needs_a_period() -> None:
    with pytest.raises(InvalidParameter, match="`period_by` of `Caps` must be `date`, or with a `period`"):
        Caps(epsilon=1.0, period_by="reference")


def test_a_year_ahead_is_what_reserve_then_does(tmp_path: Path) -> None:
    """Months that are past too: March's tables are published in May."""
    from leakcap.release.asking.year import query_charge, year_of

    caps = {"epsilon": 2.0, "each_period": {"length": "month", "epsilon": 0.5, "by": "reference"}}
    policy, clock = load_policy({**BASE, "caps": caps}), Calendar()
    with Ledger.open(
        f"sqlite:///{tmp_path / 'l.db'}",
        dataset=policy.dataset, policy=policy.fingerprint(), caps=policy.caps.ledger_caps(), clock=clock,
    ) as ledger:  # fmt: skip
        ledger.reserve([query_charge(COUNT, policy, "", "2026-11")])
        year = year_of(ledger, policy, [COUNT], start=date(2026, 10, 1), months=9)
        assert [f"{one.moment:%Y-%m}" for one in year.months][:3] == ["2026-10", "2026-11", "2026-12"]
        for month in year.months:
            said = ""
            try:
                ledger.reserve([query_charge(COUNT, policy, "", f"{month.moment:%Y-%m}")])
            except BudgetExceeded as error:
                said = str(error)
            assert said == month.refused
        assert [bool(one.refused) for one in year.months] == [False, True, *[False] * 4, *[True] * 3]
        assert year.months[1].passed[0].period == "2026-11"
        assert calendar.month_name[year.months[6].moment.month] == "April"
