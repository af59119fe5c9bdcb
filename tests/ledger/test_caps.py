"""Every cap on every account, all at once; and what is charged where a spend does not say."""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend
from leakcap.ledger.implied import implied_person, renyi_of_pure
from leakcap.ledger.limits import UNITS
from leakcap.ledger.rules import rules_of, rules_read
from leakcap.ledger.ticks import AMOUNTS
from leakcap.policy.caps import PolicyLimits
from leakcap.report.records.ledger import EntryRecord, TrailRow
from leakcap.report.words.publication import CAPS
from ledger.test_crowd import CURRENCIES


def asks(analyst: str = "", **spend: float) -> list[Charge]:
    return [Charge("q", "count", Spend(**{"epsilon": 0.1, **spend}), analyst)]


def memory(caps: Caps, **options: Any) -> Ledger:
    return Ledger.open("sqlite://", dataset="patients", policy="0" * 8, caps=caps, **options)


def test_the_number_of_queries_is_capped_whatever_they_cost() -> None:
    with memory(Caps(queries=3)) as ledger:
        ledger.reserve(asks(epsilon=0.0) * 3)
        with pytest.raises(
            BudgetExceeded, match=r"`queries` cap of dataset `patients` .* 0 left of 3, 1 asked"
        ):
            ledger.reserve(asks(epsilon=0.0))
        assert [(b.name, b.spent, b.left) for b in ledger.balances()][-1] == ("queries", 3.0, 0.0)


def test_each_analyst_has_an_account_and_some_have_their_own_caps() -> None:
    caps = Caps(epsilon=1.0, each_analyst=Limits(epsilon=0.2), analysts={"Dr. Ng": Limits(epsilon=0.5)})
    with memory(caps) as ledger:
        ledger.reserve(asks("räume") * 2)
        with pytest.raises(BudgetExceeded, match=r"cap of analyst `räume` .* 0 left of 0\.2, 0\.1 asked"):
            ledger.reserve(asks("räume"))
        ledger.reserve(asks("Dr. Ng") * 5)
        with pytest.raises(BudgetExceeded, match=r"analyst `Dr\. Ng`"):
            ledger.check(asks("Dr. Ng"))
        ledger.reserve(asks() * 2)  # the unnamed share an account
        with pytest.raises(BudgetExceeded, match="analyst ``"):
            ledger.reserve(asks())
        with pytest.raises(BudgetExceeded, match="dataset `patients`"):
            ledger.reserve([*asks("a"), *asks("b")])  # 0.9 of 1 is spent
        left = {(a.scope, a.name): a.balances[0].left for a in ledger.accounts()}
        assert left == {
            ("everything", ""): 0.1,
            ("analyst", ""): 0.0,
            ("analyst", "Dr. Ng"): 0.0,
            ("analyst", "räume"): 0.0,
        }
        ledger.verify()


def test_a_batch_of_two_analysts_is_all_or_nothing() -> None:
    with memory(Caps(each_analyst=Limits(epsilon=0.2))) as ledger:
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.reserve([*asks("a"), *asks("b") * 3])
        assert "`b`" in str(refusal.value)
        assert "`a`" not in str(refusal.value)
        assert ledger.totals().entries == 0
        assert ledger.accounts()[1:] == []


def test_a_period_starts_afresh_and_the_whole_does_not() -> None:
    now = [datetime(2026, 1, 31, 23, 30, tzinfo=UTC)]
    caps = Caps(epsilon=0.5, each_period=Limits(epsilon=0.2), period="month")
    with memory(caps, clock=lambda: now[0]) as ledger:
        ledger.reserve(asks() * 2)
        with pytest.raises(BudgetExceeded, match="cap of month `2026-01`"):
            ledger.reserve(asks())
        now[0] += timedelta(hours=1)
        assert [(a.scope, a.name, a.balances[0].spent) for a in ledger.accounts()][1:] == [
            ("month", "2026-02", 0.0)
        ]
        ledger.reserve(asks() * 2)
        now[0] += timedelta(days=31)
        ledger.reserve(asks())
        with pytest.raises(BudgetExceeded, match="cap of dataset") as refusal:
            ledger.reserve(asks())
        assert "month" not in str(refusal.value)  # this month would still allow it
        ledger.verify()


def test_a_clock_that_lags_opens_no_period_again() -> None:
    now = [datetime(2026, 2, 1, 0, 1, tzinfo=UTC)]
    caps = Caps(each_period=Limits(epsilon=0.1), period="month")
    with memory(caps, clock=lambda: now[0]) as ledger:
        ledger.reserve(asks())
        now[0] -= timedelta(minutes=4)  # January, by this clock
        with pytest.raises(BudgetExceeded, match="2026-02"):
            ledger.reserve(asks())
        now[0] -= timedelta(days=1)
        with pytest.raises(LedgerError, match="clock stands before"):
            ledger.reserve(asks())


def test_every_currency_has_a_cap_a_unit_a_name_a_record_and_a_race() -> None:
    """A currency that is added to a charge is in all of them, or this fails."""
    currencies = {*AMOUNTS, "queries"}
    assert len(currencies) == 7
    assert currencies <= {field.name for field in fields(Limits)}
    assert currencies == UNITS.keys() == CAPS.keys()
    assert currencies - {"nats_person"} <= PolicyLimits.model_fields.keys()
    for record in (EntryRecord, TrailRow):
        assert set(AMOUNTS) <= record.model_fields.keys()
    assert currencies <= CURRENCIES.keys()


@pytest.mark.parametrize("scope", ["whole", "analyst", "period"])
@pytest.mark.parametrize("name", ["nats_person", "nats_table", "nats_level", "rho"])
def test_no_bound_is_refused_where_the_currency_is_capped(scope: str, name: str) -> None:
    limits, alpha = {name: 5.0}, 2.0 if name == "nats_level" else None
    caps = {
        "whole": lambda: Caps(**limits, alpha=alpha),
        "analyst": lambda: Caps(each_analyst=Limits(**limits), alpha=alpha),
        "period": lambda: Caps(each_period=Limits(**limits), period="day", alpha=alpha),
    }[scope]()
    with memory(caps) as ledger:
        with pytest.raises(BudgetExceeded, match=f"`{name}` cap .* no bound is known"):
            ledger.reserve(asks(**{name: math.inf}))
        assert ledger.totals().entries == 0


def test_an_account_edited_or_taken_out_is_noticed_before_a_spend(opened: Any, sql: Any) -> None:
    caps = Caps(each_analyst=Limits(epsilon=0.2), each_period=Limits(epsilon=0.3), period="year")
    ledger = opened(caps)
    ledger.reserve(asks("ng"))
    for statement in (
        "UPDATE leakcap_account SET epsilon = 0 WHERE scope = 'analyst'",
        "DELETE FROM leakcap_account WHERE scope = 'analyst'",
        "DELETE FROM leakcap_account WHERE scope = 'year'",
    ):
        saved = sql("SELECT * FROM leakcap_account")
        sql(statement)
        with pytest.raises(LedgerError, match="missing or was edited"):
            ledger.reserve(asks("ng"))
        with pytest.raises(LedgerError, match="do not add up"):
            ledger.verify()
        sql("DELETE FROM leakcap_account")
        for row in saved:
            sql(f"INSERT INTO leakcap_account VALUES {row}".replace("None", "NULL"))
        ledger.verify()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"queries": 1.5}, "`queries` of `Caps` must be a whole number"),
        ({"queries": -1}, "`queries`"),
        ({"queries": True}, "`queries`"),
        ({"nats_level": 1.0}, "`alpha` of `Caps` must be given with `nats_level`"),
        ({"each_analyst": Limits(nats_level=1.0)}, "`alpha`"),
        ({"alpha": 1.0}, "`alpha` of `Caps` must be above 1"),
        ({"alpha": math.nan}, "`alpha`"),
        ({"alpha": math.inf}, "level ∞ is `epsilon`"),
        ({"period": "month"}, "together with `each_period`"),
        ({"each_period": Limits()}, "together with `each_period`"),
        ({"each_period": Limits(), "period": "decade"}, "be day, week, month or year"),
        ({"analysts": {"a\0": Limits()}}, "null characters"),
        ({"order": 12}, "`order` of `Caps` must be one of 1.1, .* given with `epsilon` and `delta`"),
        ({"epsilon": 1.0, "delta": 0.0, "order": 12}, "`order`"),
        ({"epsilon": 1.0, "delta": 1e-6, "order": 13}, "must be one of 1.1, .* 256, .* Got 13"),
        ({"epsilon": 1.0, "delta": 1e-6, "order": 1}, "`order`"),
        ({"epsilon": 1.0, "delta": 1e-6, "order": math.nan}, "`order`"),
        ({"epsilon": 1.0, "delta": 1e-6, "delta_of_answers": 2e-6}, "a number from 0 to `delta`"),
        ({"epsilon": 1.0, "delta": 1e-6, "delta_of_answers": -1e-7}, "`delta_of_answers`"),
        ({"delta": 1e-6, "delta_of_answers": 1e-7}, "given with `epsilon` and `delta`"),
    ],
)
def test_caps_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Caps(**fields)


def test_caps_survive_being_written_down() -> None:
    caps = Caps(
        1.0,
        1e-6,
        0.5,
        20.0,
        0.7,
        0.05,
        100,
        alpha=2.5,
        delta_of_answers=1e-7,
        order=12,
        each_analyst=Limits(0.2, 1e-9, queries=3),
        analysts={"räume": Limits(0.4, 1e-9, order=3)},
        each_period=Limits(0.1),
        period="week",
    )
    assert rules_read(rules_of(caps).text) == rules_of(caps)


@pytest.mark.parametrize("alpha", [1 + 1e-6, 1.5, 2.0, 17.0, 1e6])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.1, 1.0, 7.0, 45.0, 900.0])
def test_the_renyi_divergence_of_pure_privacy_against_sixty_digits(epsilon: float, alpha: float) -> None:
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        exact = mpmath.log((mpmath.sinh(a * e) - mpmath.sinh((a - 1) * e)) / mpmath.sinh(e)) / (a - 1)
        assert exact <= renyi_of_pure(epsilon, alpha) <= exact * (1 + mpmath.mpf(2) ** -40)


def test_nothing_costs_nothing() -> None:
    assert renyi_of_pure(0.0, 2.0) == implied_person(0.0, 0.0) == 0.0


def capacity(rows: np.ndarray[Any, Any], alpha: float) -> float:
    """The largest Shannon (α = 1) or level-α information that a search over priors finds: from below."""
    rng, best = np.random.default_rng(3), 0.0
    for _ in range(3000):
        prior = rng.dirichlet(np.full(len(rows), 0.7))
        q = prior @ rows
        if alpha == 1.0:
            found = float(prior @ (rows * np.log(rows / q)).sum(axis=1))
        else:
            found = math.log(float(prior @ (rows**alpha * q ** (1 - alpha)).sum(axis=1))) / (alpha - 1)
        best = max(best, found)
    return best


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_what_is_implied_covers_two_contents_two_steps_apart(epsilon: float) -> None:
    """Absent, and two contents each ε from absence and 2ε from each other: add/remove-one at its worst."""
    e = math.exp(epsilon)
    m = 0.5 / (e + 1 / e)
    rows = np.array([[m, m, 1 - 2 * m], [m * e, m / e, 0.5], [m / e, m * e, 0.5]])
    ratios = np.abs(np.log(rows[:, None] / rows[None])).max(axis=2)
    assert ratios[0] == pytest.approx([0, epsilon, epsilon])
    assert ratios[1, 2] == pytest.approx(2 * epsilon)
    assert capacity(rows, 1.0) <= implied_person(epsilon, 0.0)
    ledger = Spend(epsilon=epsilon).ticks(2.0)
    assert ledger.nats_level is not None
    assert capacity(rows, 2.0) <= ledger.nats_level / 1e12


def test_a_spend_that_says_less_is_charged_what_follows() -> None:
    ticks = Spend(epsilon=0.1).ticks(2.0)
    assert ticks.nats_person == math.ceil(0.1 * math.tanh(0.05) * 1e12)
    assert ticks.nats_table is None
    assert ticks.nats_level == math.ceil(renyi_of_pure(0.2, 2.0) * 1e12)
    assert Spend(epsilon=0.1, delta=1e-9).ticks(2.0)[2:5] == (None, None, None)
    assert Spend(epsilon=0.1, nats_level=0.003).ticks(2.0).nats_level == 3 * 10**9
