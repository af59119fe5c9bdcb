"""Running counts as they are released: one charge, each step once, whatever happens in between."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakcap.errors import (
    BudgetExceeded,
    DataError,
    InvalidInput,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
)
from leakcap.ledger import Ledger, Proposed, answer_cache, backup, move, restore
from leakcap.release import PrivateTable, attach, exposure_so_far
from leakcap.report.records.running import RunningRecord
from leakcap.running import ReleasedRunningCount, RunningQuestion, release_running
from leakcap.running.factor import MOST_STEPS
from leakcap.running.plan import RunningPlan, noisy_step
from leakcap.running.plan import _weighted as weighted
from leakcap.running.reading import running_counts, running_statement
from leakcap.running.release import spend_of_running
from leakcap.statement import statement_of
from leakcap.tables.plan import root_up
from ledger.killed import EVERY, killed
from running.streams import CAPS, COLUMNS, DAYS, day, policy_of, table_of, visits
from seeded import SeededSource

BY_WARD = DAYS.model_copy(update={"by": ("ward",)})
ROWS = visits(300)


def opened(ledger: Any, **policy: Any) -> PrivateTable:
    return PrivateTable(table_of(ROWS), policy=policy_of(**policy), ledger=ledger)


def answered(
    ledger: Any, through: int | None, question: RunningQuestion = DAYS, **policy: Any
) -> ReleasedRunningCount:
    with opened(ledger, **policy) as table:
        return release_running(table, question, through=None if through is None else day(through))


def exact(question: RunningQuestion, steps: int, rows: Any = ROWS) -> Any:
    planned, engine = question.planned(policy_of()), attach(table_of(rows))
    return running_counts(planned, running_statement(planned, engine, steps), steps, engine)


def test_one_charge_pays_for_the_horizon_and_steps_are_repeated_for_free(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    seen = [answered(place, step, BY_WARD) for step in (0, 2, 1, 5, 5)]
    assert [one.new for one in seen] == [1, 2, 0, 3, 0]
    for one in seen:
        assert one.integers == seen[-1].integers[: len(one.integers)]
    last = answered(place, None, BY_WARD)
    assert (last.integers, last.new) == (seen[-1].integers, 0)
    with Ledger.read(f"sqlite:///{place}") as ledger:
        (entry,) = ledger.entries()
        assert (entry.state, entry.query) == ("released", "visits")
        assert entry.text == "running count of 6 steps of date from 2026-01-01 by ward"
        assert ledger.totals().rho == float(seen[0].spend.rho) <= 0.5
        ledger.verify()


def test_a_stream_that_goes_on_is_no_lost_answer(tmp_path: Path) -> None:
    answered(tmp_path / "l.db", 1)
    with Ledger.read(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        assert [one.state for one in ledger.entries()] == ["reserved"]
        assert ledger.unreleased() == []


def test_the_price_is_that_of_every_row_of_a_person_in_every_sense() -> None:
    squares = sum(weight**2 for weight in DAYS.planned(policy_of()).plan.factor.weights)
    unit = {"unit": {"id": "id", "max_rows": 3}, "caps": {**CAPS, "alpha": 2.0}}
    for more, times in (({}, 1), ({"neighbours": "replace-one", "rows": 60}, 2)):
        policy = policy_of(**unit, **more)
        plan = DAYS.planned(policy).plan
        spend = spend_of_running(plan, policy)
        presence = Fraction(9 * squares, 2) / plan.variance
        assert presence <= Fraction(spend.nats_person) < presence * Fraction(10**9 + 1, 10**9)
        assert presence * times <= Fraction(spend.rho) < presence * times * Fraction(10**9 + 1, 10**9)
        assert Fraction(spend.nats_level) >= 2 * 2 * presence
        assert spend.nats_table == float("inf") if times == 1 else spend.nats_table >= 60**2 * 2 * presence


def test_what_follows_is_unbiased_and_as_wide_as_it_says() -> None:
    question = BY_WARD.model_copy(update={"where": "age < 90"})
    found, truth = [], exact(question, 6)[1]
    asked = [
        ("count", lambda one: one.count(day(3), "south"), truth[3]),
        ("total", lambda one: one.total(day(5), "south"), truth.sum()),
        ("window", lambda one: one.window(day(2), day(4), "south"), truth[2:5].sum()),
        ("sum", lambda one: one.sum_of([(day(4), 2), (day(1), -0.5)], "south"), 2 * truth[4] - truth[1] / 2),
    ]
    planned, counts, runs = question.planned(policy_of()), exact(question, 6), 400
    spend = spend_of_running(planned.plan, policy_of())
    for seed in range(runs):
        source = SeededSource(seed)
        steps = tuple(tuple(noisy_step(planned.plan, counts[:, : t + 1], source)) for t in range(6))
        found.append([ask(ReleasedRunningCount(planned, steps, spend, 1, 6)) for _, ask, _ in asked])
    for place, (name, _, exact_) in enumerate(asked):
        errors = np.array([one[place].value - exact_ for one in found])
        held = sum(one[place].low <= exact_ <= one[place].high for one in found)
        half = (found[0][place].high - found[0][place].low) / 2
        # With these seeds; over their choice each line fails with a probability of 10⁻⁶ at most.
        assert abs(errors.mean()) < 5 * half / 1.96 / runs**0.5, name
        assert 0.83 < errors.std() / (half / 1.96) < 1.17, name
        assert held > 0.89 * runs, name


def test_the_last_total_errs_by_the_square_root() -> None:
    one = DAYS.planned(policy_of()).plan
    worst = one.factor.worst**2 * float(one.variance) / one.factor.squared_column
    with opened("sqlite://") as table:
        found = release_running(table, DAYS, through=day(0))
    assert found.worst_deviation == pytest.approx(worst**0.5, rel=1e-12)
    assert root_up(Fraction(worst)) == pytest.approx(found.worst_deviation)


def test_two_who_answer_at_once_tell_the_same(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    seen: list[ReleasedRunningCount] = []
    gate = threading.Barrier(4)

    def ask() -> None:
        with opened(place) as table:
            gate.wait()
            seen.append(release_running(table, DAYS, through=day(4)))

    opened(place).close()
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one.integers for one in seen] == [seen[0].integers] * 4
    assert sum(one.new for one in seen) == 5
    with Ledger.read(f"sqlite:///{place}") as ledger:
        assert len(ledger.entries()) == 1
        ledger.verify()


def test_killed_at_any_moment_it_goes_on_and_pays_once(tmp_path: Path) -> None:
    place, known = tmp_path / "l.db", ()
    short = DAYS.model_copy(update={"steps": 3})
    opened(place).close()
    deaths, after = 0, 0
    while killed(lambda: answered(place, 2, short), after, of=EVERY):
        deaths, after = deaths + 1, after + 3
        with Ledger.read(f"sqlite:///{place}") as ledger:
            ledger.verify()
            entries = ledger.entries()
            assert len(entries) <= 1
            steps = ledger.steps(entries[0].id) if entries else {}
        now = tuple(tuple(steps[step].values[0]) for step in range(len(steps)))
        assert now[: len(known)] == known
        known = now
    assert deaths > 5
    assert answered(place, None, short).integers[: len(known)] == known


def test_a_restored_ledger_does_not_answer_a_step_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    before = answered(url, 1)
    made = backup(url, f"{tmp_path / 'l.backup'}")
    answered(url, 3)
    (tmp_path / "l.db").unlink()
    restore(f"sqlite:///{tmp_path / 'l.backup'}", url, anchor=made.anchor)
    assert answered(url, 1).integers == before.integers == answered(url, None).integers
    with pytest.raises(
        LedgerError, match="was ended after 2 steps: it was acknowledged as lost, or the ledger"
    ):
        answered(url, 2)
    with pytest.raises(LedgerError, match="Stream `visits` was begun in entry 1 as"):
        answered(url, 2, DAYS.model_copy(update={"steps": 5}))
    again = answered(url, 2, DAYS.model_copy(update={"name": "visits, anew"}))
    assert again.new == 3
    with Ledger.read(url) as ledger:
        assert len(ledger.entries()) == 2


@pytest.mark.parametrize("ended", ["going on", "restored", "whole"])
def test_a_stream_is_withdrawn_at_any_time_and_told_no_more(tmp_path: Path, ended: str) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    answered(url, 5 if ended == "whole" else 1)
    if ended == "restored":
        made = backup(url, f"{tmp_path / 'l.backup'}")
        (tmp_path / "l.db").unlink()
        restore(f"sqlite:///{tmp_path / 'l.backup'}", url, anchor=made.anchor)
    with Ledger.resume(url) as ledger:
        spent = ledger.totals()
        assert [(one.answers, one.withdrawn) for one in ledger.versions()] == [(1, 0)]
        ledger.withdraw([1], reason="A ward came twice")
        assert [(one.answers, one.withdrawn) for one in ledger.versions()] == [(1, 1)]
        assert ledger.totals() == spent
        ledger.verify()
        with pytest.raises(LedgerError, match="was replaced or withdrawn before"):
            ledger.withdraw([1], reason="again")
        with pytest.raises(LedgerError, match=r"Entry 1 .* was (withdrawn on|released before)"):
            ledger.mark_progress(1, (2, 3), [[7]])
        assert len(ledger.steps(1)) == (6 if ended == "whole" else 2)
    for through in (None, 1, 5):
        with pytest.raises(LedgerError, match=r"Stream `visits`, entry 1, was withdrawn on .*came twice"):
            answered(url, through)
    anew = answered(url, 2, DAYS.model_copy(update={"name": "visits, anew"}))
    assert anew.new == 3
    with Ledger.read(url) as ledger:
        ledger.verify()


def test_a_stream_that_goes_on_replaces_another(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    answered(url, 1)
    answered(url, 2, DAYS.model_copy(update={"name": "visits, anew"}))
    with Ledger.resume(url) as ledger:
        ledger.revise({1: 2}, reason="A ward came twice")
        ledger.verify()
    with pytest.raises(LedgerError, match="was replaced by entry 2"):
        answered(url, 1)
    assert answered(url, 3, DAYS.model_copy(update={"name": "visits, anew"})).new == 1


def test_a_moved_ledger_goes_on_and_the_old_one_does_not(tmp_path: Path) -> None:
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    before = answered(old, 1)
    move(old, new)
    after = answered(new, 3)
    assert (after.integers[:2], after.new) == (before.integers, 2)
    with pytest.raises(LedgerError, match="moved"):
        answered(old, 3)


def test_an_amended_policy_goes_on_where_the_question_means_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    before = answered(url, 1)
    wider = {"caps": {**CAPS, "epsilon": 60.0}, "columns": {**COLUMNS, "sex": {"keys": ["f", "m"]}}}
    amend(url, **wider)
    after = answered(url, 2, **wider)
    assert (after.integers[:2], after.new) == (before.integers, 1)
    other = {**wider, "columns": {**wider["columns"], "ward": {"keys": ["north"]}}}
    amend(url, **other)
    with pytest.raises(LedgerError, match="under a policy in which it means something else"):
        answered(url, 3, **other)
    with Ledger.read(url) as ledger:
        assert len(ledger.entries()) == 1


def amend(url: str, **changes: Any) -> None:
    policy = policy_of(**changes)
    with Ledger.resume(url) as ledger:
        caps = policy.caps.ledger_caps()
        ledger.amend(Proposed(policy.text(), caps, reason="a year has passed"))


def test_a_withdrawn_stream_is_not_told_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    answered(url, 5)
    with Ledger.resume(url) as ledger:
        ledger.withdraw([1], reason="counted the wrong wards")
    with pytest.raises(LedgerError, match=r"withdrawn on .* counted the wrong wards"):
        answered(url, None)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"first": "2026-05-01"},
        {},
        "`first` of stream `visits` must be a period of `date`, from 2025-12-01 to",
    ),
    ({"steps": 91}, {}, "`steps` of stream `visits` must be at most 90, the periods of `date`"),
    ({"period": "day"}, {}, "`period` of stream `visits` must be a column of the policy that is a date cut"),
    ({"period": "nothing"}, {}, "`period` of stream `visits` must be"),
    ({"by": ("age",)}, {}, "`by` of stream `visits` must be columns of the policy with public `keys`"),
    ({"by": ("ward", "ward")}, {}, "must name each column once"),
    ({"epsilon": 1.0}, {}, "must have `rho` or `epsilon`, not both"),
    ({"rho": None}, {}, "must have `rho` or `epsilon`, not both"),
    ({"rho": -1.0}, {}, "`rho` of stream `visits` must be positive and finite"),
    ({"rho": None, "epsilon": 1.0}, {"caps": {"rho": 1.0}}, "says nothing of Gaussian noise without a δ"),
    ({}, {"caps": {"epsilon": 1.0}}, "needs a δ for all answers together"),
    ({"name": "a\nb"}, {}, "`name` of a stream must be printable text"),
    ({"rho": 600.0}, {}, "cap"),
    ({"where": "nothing = 1"}, {}, "nothing"),
    (
        {"rows_stay": False},
        {"unit": {"id": "id", "max_rows": 1}},
        "protects each id only while rows that were counted stay in the table",
    ),
]


@pytest.mark.parametrize(("question", "policy", "says"), REFUSED)
def test_what_cannot_be_answered_is_refused_before_anything_is_paid(
    tmp_path: Path, question: dict[str, Any], policy: dict[str, Any], says: str
) -> None:
    with opened(tmp_path / "l.db", **policy) as table:
        with pytest.raises((InvalidInput, BudgetExceeded), match=says) as error:
            release_running(table, DAYS.model_copy(update=question), through=day(0))
        assert "\n" not in str(error.value)
        assert table.ledger.entries() == []


def test_who_asks_about_people_says_that_rows_stay(tmp_path: Path) -> None:
    """Tables of one period each would tell more of somebody with rows in all than is paid: said on record."""
    unit = {"unit": {"id": "id", "max_rows": 1}}
    for place, policy, says in (("a", unit, True), ("b", {}, False)):
        with opened(tmp_path / place, **policy) as table:
            found = release_running(
                table, DAYS if says else DAYS.model_copy(update={"rows_stay": False}), through=day(0)
            )
            (entry,) = table.ledger.entries()
            told = statement_of(exposure_so_far([entry], table.policy))
            record = RunningRecord.of(found, told, table.budget())
        assert entry.details.get("rows_stay", False) is says
        assert ("each id holds while rows that were counted stay in the table" in record.of_time) is says
        assert ("counts as two rows" in record.of_time) is not says


def test_periods_out_of_the_horizon_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as table:
        for through in (day(6), day(-1), "2026-01", ""):
            with pytest.raises(InvalidQuery, match="The last period must be one of stream `visits`, from"):
                release_running(table, DAYS, through=through)
        with pytest.raises(InvalidQuery, match="Nothing of stream `visits` was answered yet"):
            release_running(table, DAYS)
        assert table.ledger.entries() == []


def test_a_name_stands_for_one_question_and_price(tmp_path: Path) -> None:
    answered(tmp_path / "l.db", 1)
    for change in ({"rho": 0.4}, {"steps": 7}, {"by": ("ward",)}, {"where": "age < 3"}, {"first": day(1)}):
        with pytest.raises(
            LedgerError, match=r"Stream `visits` was begun in entry 1 as .* Nothing was spent"
        ):
            answered(tmp_path / "l.db", 2, DAYS.model_copy(update=change))
    assert answered(tmp_path / "l.db", 2).new == 1


def test_a_table_without_the_column_and_a_wrong_number_of_units_are_refused(tmp_path: Path) -> None:
    with PrivateTable(
        table_of(ROWS).drop_columns(["day"]), policy=policy_of(), ledger=tmp_path / "l.db"
    ) as table:
        with pytest.raises(DataError, match="day"):
            release_running(table, DAYS, through=day(0))
        assert table.ledger.entries() == []
    with opened(tmp_path / "m.db", neighbours="replace-one", rows=301) as table:
        with pytest.raises(DataError, match="301"):
            release_running(table, DAYS, through=day(0))
        assert table.ledger.entries() == []
    assert answered(tmp_path / "n.db", 1, neighbours="replace-one", rows=300).new == 2


def test_only_what_was_answered_can_be_told() -> None:
    with opened("sqlite://") as table:
        found = release_running(table, BY_WARD, through=day(2))
    for ask in (lambda: found.count(day(3), "north"), lambda: found.total("x", "north")):
        with pytest.raises(
            InvalidParameter, match="A period must be one that was answered, from 2026-01-01 to"
        ):
            ask()
    for keys in ((), ("x",), (1,), ("north", "south")):
        with pytest.raises(InvalidParameter, match="The keys must be those of one series, by ward"):
            found.count(day(1), *keys)
    with pytest.raises(InvalidParameter, match="`last` must not be before `first`"):
        found.window(day(2), day(1), "north")
    for weight in (float("nan"), 1e308, -(10**400), True):
        with pytest.raises(InvalidParameter, match="`weight` of `sum_of` must be a finite number"):
            found.sum_of([(day(1), weight)], "north")


def test_what_series_have_in_common_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of ten series by day took a minute; windows agree with the sums of their periods."""
    with opened("sqlite://") as table:
        found = release_running(table, BY_WARD, through=day(4))
    asked: list[int] = []
    plain = ReleasedRunningCount._half

    def counted(own: ReleasedRunningCount, weights: Sequence[Fraction], unit: int = 1) -> Fraction:
        asked.append(len(weights))
        return plain(own, weights, unit)

    monkeypatch.setattr(ReleasedRunningCount, "_half", counted)
    windows = {keys: found.window(day(2), day(4), *keys) for keys in found.planned.series}
    assert len(windows) > 1
    assert asked == [5]
    for keys, one in windows.items():
        summed = found.sum_of([(day(t), 1) for t in (2, 3, 4)], *keys)
        assert (one.value, one.low, one.high) == (summed.value, summed.low, summed.high)


WITH_ACCOUNTS: dict[str, Any] = {"caps": {**CAPS, "each_analyst": {"epsilon": 20.0, "delta": 1e-7}}}


def by_analyst(url: str, analyst: str, through: int | None, **policy: Any) -> ReleasedRunningCount:
    with PrivateTable(table_of(ROWS), policy=policy_of(**policy), ledger=url, analyst=analyst) as table:
        return release_running(table, DAYS, through=None if through is None else day(through))


@pytest.mark.parametrize("through", [None, 1, 4])
def test_whoever_was_told_a_stream_has_it_on_an_account_that_begins_later(
    tmp_path: Path, through: int | None
) -> None:
    """What another paid for was told, or even drawn, on nobody's account but the payer's."""
    url = f"sqlite:///{tmp_path / 'l.db'}"
    by_analyst(url, "li", 1)
    by_analyst(url, "ng", through)
    by_analyst(url, "ng", None)
    amend(url, **WITH_ACCOUNTS)
    with Ledger.read(url) as ledger:
        ledger.verify()
        (entry,) = ledger.entries()
        spent = {
            one.name: {balance.name: balance.spent for balance in one.balances}["nats_person"]
            for one in ledger.accounts()
            if one.scope == "analyst"
        }
    assert spent["li"] == spent["ng"] == pytest.approx(entry.spend.nats_person, rel=1e-9)


def test_accounts_of_analysts_that_begin_strand_no_stream(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    before = by_analyst(url, "li", 1)
    amend(url, **WITH_ACCOUNTS)
    after = by_analyst(url, "li", 3, **WITH_ACCOUNTS)
    assert (after.entry, after.integers[:2], after.new) == (before.entry, before.integers, 2)
    with pytest.raises(InvalidQuery, match="Nothing of stream `visits` was answered yet"):
        # Another analyst has an account of their own, and is not told what li paid for.
        by_analyst(url, "ng", None, **WITH_ACCOUNTS)
    with Ledger.read(url) as ledger:
        assert len(ledger.entries()) == 1


def test_weighted_counts_are_whole_numbers_without_a_limit() -> None:
    """Against Python's own integers, at the ends of 64 bits too."""
    factor = RunningPlan.of(MOST_STEPS, 0.5).factor
    rng = np.random.default_rng(5)
    for steps in (1, 2, 365, MOST_STEPS):
        ends = np.array([-(2**63), 2**63 - 1, -1, 0, 2**21 - 1, 2**21, 2**42 - 1, 2**42])
        counts = np.vstack([rng.choice(ends, (8, steps)), rng.integers(-(2**63), 2**63 - 1, (4, steps))])
        weights = factor.weights[:steps][::-1]
        wanted = [sum(w * c for w, c in zip(weights, own, strict=True)) for own in counts.tolist()]
        assert weighted(counts, weights) == wanted


def test_a_step_checks_no_rows_of_the_steps_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many steps at once are linear work: each step's row is checked a few times.

    With all rows checked for each step, 90 steps are some 4,000 checks: caught."""
    checked, row_hash = [], answer_cache.row_hash
    monkeypatch.setattr(answer_cache, "row_hash", lambda row: checked.append(row["kind"]) or row_hash(row))
    year = DAYS.model_copy(update={"steps": 90})
    assert answered("sqlite://", 89, year).new == 90
    assert len(checked) < 5 * 90


def test_a_run_goes_on_from_each_step_once() -> None:
    """Whether it went on is asked of the one row of the step; what stands there is told by name."""
    with opened("sqlite://") as table:
        paid = release_running(table, DAYS, through=day(2))
        for step in range(3):
            with pytest.raises(LedgerError, match=f"went on from step {step} in another run"):
                table.ledger.mark_progress(paid.entry, (step, step + 1), [[1]])
        assert release_running(table, DAYS, through=day(3)).new == 1
