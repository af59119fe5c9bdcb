"""Plans: what is charged for them against exact sums, an adversary that mixes slots with other answers as it
likes, and what is refused.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, InvalidPolicy, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Proposed, Slot, SlotPlan, Spend, export
from leakcap.ledger import planning as planning_module
from leakcap.ledger.curve import ORDERS, curve_of_pure, epsilon_proved, surcharges
from leakcap.ledger.plan_price import charge_of
from leakcap.ledger.ticks import Ticks, total
from leakcap.release import PrivateTable, Query, amend, amendment, exposure_so_far, load_policy

TICK = 10**12
MONTHS = SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6)
CAPS = Caps(3.0, 1e-6, delta_of_answers=1e-6)


def exact_delta(plan: SlotPlan, epsilon: mpmath.mpf) -> mpmath.mpf:
    """δ(ε) of all slots' randomised responses, outcome by outcome at sixty digits."""
    laws = {0: mpmath.mpf(1)}
    for slot in plan.slots:
        step = Fraction(repr(slot.epsilon))
        up = 1 / (1 + mpmath.exp(-mpmath.mpf(step.numerator) / step.denominator))
        found: dict[Any, mpmath.mpf] = {}
        for loss, mass in laws.items():
            for k in range(slot.count + 1):
                share = mpmath.binomial(slot.count, k) * up**k * (1 - up) ** (slot.count - k)
                place = loss + (2 * k - slot.count) * step
                found[place] = found.get(place, mpmath.mpf(0)) + mass * share
        laws = found
    losses = ((mpmath.mpf(Fraction(l).numerator) / Fraction(l).denominator, p) for l, p in laws.items())
    return sum((p * (1 - mpmath.exp(epsilon - l)) for l, p in losses if l > epsilon), mpmath.mpf(0))


@pytest.mark.parametrize(
    "plan",
    [
        MONTHS,
        SlotPlan("many", [Slot("counts", 1000, epsilon=0.1)], delta=1e-6),
        SlotPlan("both", [Slot("m", 12, epsilon=0.25), Slot("w", 52, epsilon=0.05)], delta=1e-9),
    ],
    ids=lambda plan: plan.name,
)
def test_a_plan_is_charged_what_its_slots_are_together(plan: SlotPlan) -> None:
    charged = charge_of(plan, None)
    assert charged.epsilon is not None
    assert charged.delta == round(plan.delta * TICK)
    with mpmath.workdps(60):
        epsilon, hair = mpmath.mpf(charged.epsilon) / TICK, mpmath.mpf("2e-8")
        assert exact_delta(plan, epsilon) <= plan.delta < exact_delta(plan, epsilon - hair)
    for nats, order in zip(charged.curve, ORDERS, strict=True):
        whole = sum(one.count * curve_of_pure(one.epsilon)[ORDERS.index(order)] for one in plan.slots)
        assert nats == pytest.approx(min(whole * TICK, charged.epsilon), rel=1e-9)


def test_a_plan_without_delta_adds_epsilon_up_to_the_tick() -> None:
    charged = charge_of(SlotPlan("year", [Slot("m", 12, epsilon=0.1)]), 2.0)
    assert (charged.epsilon, charged.delta) == (12 * TICK // 10, 0)
    assert charged.nats_table is None
    # One answer: no δ makes it less.
    assert charge_of(SlotPlan("one", [Slot("m", 1, epsilon=0.1)], delta=1e-9), None).delta == 0


def opened_in_memory(caps: Caps = CAPS, **more: Any) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps, **more)


def from_slot(epsilon: float = 0.2, slot: str = "monthly", **more: Any) -> Charge:
    return Charge("n", "count", Spend(epsilon, **more), slot=slot)


def test_a_thousand_answers_under_a_cap_of_19_35_and_no_more() -> None:
    plan = SlotPlan("p", [Slot("counts", 1000, epsilon=0.1)], delta=1e-6)
    with pytest.raises(BudgetExceeded, match=r"`epsilon` cap .* 19\.34 left of 19\.34"):
        opened_in_memory(Caps(19.34, 1e-6, delta_of_answers=1e-6)).plan(plan)
    with opened_in_memory(Caps(19.35, 1e-6, delta_of_answers=1e-6)) as ledger:
        ledger.plan(plan)
        before = ledger.balances()
        ledger.reserve([from_slot(0.1, "counts")] * 999)
        with pytest.raises(BudgetExceeded, match="has 1 of 1000 answers left") as refusal:
            ledger.reserve([from_slot(0.1, "counts")] * 2)
        assert (refusal.value.cap, refusal.value.left, refusal.value.asked) == ("slot counts", 1, 2)
        ledger.reserve([from_slot(0.1, "counts")])
        with pytest.raises(BudgetExceeded, match="has 0 of 1000 answers left"):
            ledger.check([from_slot(0.1, "counts")])
        assert ledger.balances() == before
        ledger.verify()


# An adversary that chooses by what it saw.

SLOT, OTHER, COUNT = 3, 1, 5
"""In steps of 0.1: the ε of a slot's answer and of others', and how many slots there are."""


def most_delta(cap: float, plan: Ticks, delta: float) -> float:
    """The largest δ at ε = `cap` over every way of mixing slots and others, as a ledger admits them."""
    other = Spend(epsilon=OTHER / 10).ticks(None)
    charged = surcharges(round(delta * TICK), 4.0)

    @functools.cache
    def admitted(others: int) -> bool:
        spent = total([Ticks(0, 0, 0, 0), plan, *([other] * others)])
        least = epsilon_proved(spent.epsilon, spent.curve, charged)
        return least is not None and least <= cap * TICK

    @functools.cache
    def best(slots: int, others: int, loss: int) -> float:
        found = max(0.0, -math.expm1(cap - loss / 10))
        for steps, more, may in (
            (SLOT, (slots + 1, others), slots < COUNT),
            (OTHER, (slots, others + 1), admitted(others + 1)),
        ):
            if may:
                up = 1.0 / (1.0 + math.exp(-steps / 10))
                found = max(found, up * best(*more, loss + steps) + (1.0 - up) * best(*more, loss - steps))
        return found

    assert admitted(2), "nothing beside the plan: nothing is tested"
    return best(0, 0, 0)


@pytest.mark.parametrize("cap", [1.2, 1.6, 2.5])
def test_the_best_adversary_mixing_slots_with_other_answers(cap: float) -> None:
    plan = charge_of(SlotPlan("p", [Slot("s", COUNT, SLOT / 10)], delta=0.05), None)
    assert plan.epsilon is not None
    assert plan.delta == round(0.05 * TICK)
    assert plan.epsilon < 1.2 * TICK < COUNT * SLOT * TICK / 10
    assert most_delta(cap, plan, 0.05) <= 0.1


def test_a_plan_charged_for_half_its_slots_is_found_out() -> None:
    plan = charge_of(SlotPlan("p", [Slot("s", 2, SLOT / 10)], delta=0.01), None)
    assert most_delta(0.8, plan, 0.01) > 0.02


# Accounts, and what a slot admits.


def test_accounts_of_analysts_and_periods_are_charged_answer_by_answer() -> None:
    caps = Caps(
        3.0, 1e-6, delta_of_answers=1e-6, each_analyst=Limits(0.5), each_period=Limits(0.4), period="year"
    )
    with opened_in_memory(caps) as ledger:
        ledger.plan(MONTHS)
        asked = [Charge("n", "count", Spend(0.2), analyst="ng", slot="monthly")]
        ledger.reserve(asked * 2)
        spent = {account.scope: account.balances[0].spent for account in ledger.accounts()}
        assert spent == {"everything": 2.3986893, "analyst": 0.4, "year": 0.4}
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.reserve(asked)
        assert {one.cap for one in refusal.value.passed} == {"epsilon"}
        assert len(refusal.value.passed) == 2
        ledger.verify()


def test_queries_from_slots_are_queries() -> None:
    with opened_in_memory(Caps(3.0, 1e-6, delta_of_answers=1e-6, queries=2)) as ledger:
        ledger.plan(MONTHS)
        ledger.reserve([from_slot()] * 2)
        with pytest.raises(BudgetExceeded, match="`queries` cap"):
            ledger.reserve([from_slot()])


@pytest.mark.parametrize(
    ("charge", "says"),
    [
        (from_slot(0.21), r"admits what has ε 0\.2 at most and no δ; query `n` asks for ε 0\.21\."),
        (from_slot(0.1, delta=1e-9), r"asks for ε 0\.1 and δ 1e-09"),
        (from_slot(0.1, "weekly"), r"has no slot `weekly` for query `n`.* Its slots are monthly\."),
    ],
)
def test_what_a_slot_does_not_admit(charge: Charge, says: str) -> None:
    with opened_in_memory() as ledger:
        ledger.plan(MONTHS)
        before = ledger.balances(), ledger.slots()
        for ask in (ledger.check, ledger.reserve):
            with pytest.raises(LedgerError, match=says) as refusal:
                ask([from_slot(), charge])
            assert "Nothing was spent." in str(refusal.value)
            assert "\n" not in str(refusal.value)
        assert (ledger.balances(), ledger.slots()) == before


def test_a_slot_with_a_bound_about_the_table() -> None:
    plan = SlotPlan("p", [Slot("s", 3, 0.2, nats_table=5.0)], delta=0.0)
    with opened_in_memory(Caps(3.0, nats_table=15.0)) as ledger:
        with pytest.raises(BudgetExceeded, match="no bound is known"):
            ledger.plan(MONTHS)
        ledger.plan(plan)
        ledger.reserve([from_slot(slot="s", nats_table=5.0)])
        for nats in (5.1, math.inf):
            with pytest.raises(LedgerError, match="5 nats about the table; query `n` asks"):
                ledger.reserve([from_slot(slot="s", nats_table=nats)])
        assert ledger.balances()[3].spent == 15.0


def test_a_plan_is_paid_for_once_and_names_are_its_own() -> None:
    with opened_in_memory() as ledger:
        for _ in range(2):
            ledger.plan(MONTHS)
        assert ledger.totals().epsilon == 2.3986893
        for other in (
            SlotPlan("year", [Slot("w", 1, 0.1)]),
            SlotPlan("another", [Slot("monthly", 1, 0.1)]),
        ):
            with pytest.raises(LedgerError, match=r"which was paid for\. Nothing was spent"):
                ledger.plan(other)
        ledger.plan(SlotPlan("another", [Slot("weekly", 2, 0.1)]))
        assert [one.slot.name for one in ledger.slots()] == ["monthly", "weekly"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Slot("", 1, 0.1),
        lambda: Slot("s", 0, 0.1),
        lambda: Slot("s", 1.0, 0.1),  # type: ignore[arg-type]
        *(lambda e=e: Slot("s", 1, e) for e in (0.0, -1.0, math.nan, math.inf, 1e9, True, "1")),
        lambda: Slot("s", 1, 0.1, nats_table=math.nan),
        lambda: SlotPlan("p", []),
        lambda: SlotPlan("p", [Slot("s", 1, 0.1)] * 2),
        *(lambda d=d: SlotPlan("p", [Slot("s", 1, 0.1)], delta=d) for d in (1.0, -1e-9, 1e-13, math.nan)),
    ],
)
def test_bad_slots_are_refused_in_a_line(make: Any) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        make()
    assert "\n" not in str(refusal.value)


# The chain, and processes at once.


def test_verify_finds_a_plan_that_was_charged_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    def less(plan: SlotPlan, alpha: float | None) -> Ticks:
        whole = charge_of(plan, alpha)
        return whole._replace(epsilon=(whole.epsilon or 0) - TICK // 10**5)

    monkeypatch.setattr(planning_module, "charge_of", less)
    with opened_in_memory() as ledger:
        ledger.plan(MONTHS)
        with pytest.raises(LedgerError, match=r"Row 2 of ledger .* was charged less than its plan"):
            ledger.verify()


@pytest.mark.parametrize("use", [1, 13])
def test_verify_finds_a_use_that_is_not_there(monkeypatch: pytest.MonkeyPatch, use: int) -> None:
    with opened_in_memory() as ledger:
        ledger.plan(MONTHS)
        ledger.reserve([from_slot()])
        monkeypatch.setattr(planning_module, "uses_of", lambda *_: [use])
        ledger.reserve([from_slot()])
        with pytest.raises(LedgerError, match=r"Row 4 of ledger .* uses slot `monthly`"):
            ledger.verify()


def test_the_plan_is_in_the_chain_and_the_export(opened: Any, sql: Any) -> None:
    ledger = opened(CAPS)
    ledger.plan(MONTHS)
    ledger.reserve([from_slot()])
    ledger.verify()
    planned, answered = ledger.entries()
    assert (planned.state, planned.spend.epsilon, planned.spend.delta) == ("planned", 2.3986893, 1e-6)
    assert (answered.slot, answered.spend.epsilon, answered.own.epsilon) == ("monthly", 0.0, 0.2)
    text = export(ledger.entries(), "csv")
    assert "plan: 12 answers of ε 0.2 at most" in text
    assert '"monthly"' in text
    ledger.close()
    sql("""UPDATE leakcap_event SET details = replace(details, '"count":12', '"count":99') WHERE seq = 2""")
    with pytest.raises(LedgerError, match=r"Row 2 .* was edited"):
        opened(CAPS).verify()


RACE = """
from leakcap.errors import BudgetExceeded
print("ready", flush=True)
sys.stdin.readline()
done = 0
for _ in range(15):
    try:
        ledger.reserve([Charge("q", "count", Spend(epsilon=0.2), slot="monthly")])
        done += 1
    except BudgetExceeded:
        pass
print(done, flush=True)
"""


def test_processes_never_use_one_slot_twice(started: Any, url: str) -> None:
    caps = "Caps(3.0, 1e-6, delta_of_answers=1e-6)"
    owner: dict[str, Any] = {"dataset": "patients", "policy": "ab12cd34ef56ab78", "caps": CAPS}
    with Ledger.open(url, **owner) as ledger:
        ledger.plan(MONTHS)
        running = [started(RACE, caps, url) for _ in range(4)]
        for process in running:
            assert process.stdout.readline() == "ready\n"
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        assert sum(int(process.communicate()[0]) for process in running) == 12
        assert ledger.slots()[0].left == 0
        assert ledger.totals().epsilon == 2.3986893
        ledger.verify()


# In a policy.

BASE: dict[str, Any] = {
    "dataset": "patients",
    "neighbours": "add-remove-one",
    "columns": {"x": {"bounds": [0.0, 1.0]}},
    "caps": {"epsilon": 3.0, "delta": 1e-6, "delta_of_answers": 1e-6},
}
PLAN = {"name": "monthly", "count": 12, "epsilon": 0.2, "delta": 1e-6}


def test_a_policy_with_a_plan(tmp_path: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table({"x": [0.25, 0.5]})
    path = tmp_path / "d.db"
    wrong = PrivateTable(rows, policy=BASE | {"plan": [PLAN | {"count": 6}]}, ledger=path)
    assert wrong.ledger.slots()[0].left == 6
    # Nothing was used: a corrected policy is taken as it is.
    table = PrivateTable(rows, policy=BASE | {"plan": [PLAN]}, ledger=path)
    again = PrivateTable(rows, policy=BASE | {"plan": [PLAN]}, ledger=path)
    table.count(epsilon=0.2, slot="monthly", fresh=True)
    again.release([Query(name="n", statistic="sum", column="x", epsilon=0.1, slot="monthly")])
    assert table.ledger.slots()[0].used == 2
    assert table.budget()[0].spent == 2.3986893
    shown = exposure_so_far(table.ledger.entries(), table.policy)
    assert shown.epsilon == pytest.approx(2.3986893, abs=1e-9)
    # The same question again is free, and uses no slot.
    version = PrivateTable(rows, policy=BASE | {"plan": [PLAN]}, ledger=path, version="1")
    first = version.count(epsilon=0.2, slot="monthly")
    assert version.count(epsilon=0.2, slot="monthly").value == first.value
    assert table.ledger.slots()[0].used == 3
    table.ledger.verify()


def test_a_policy_whose_plan_does_not_fit_is_refused_at_once(tmp_path: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    policy = BASE | {"plan": [PLAN | {"count": 100}]}
    with pytest.raises(
        BudgetExceeded, match=r"Plan `monthly` does not fit\. `epsilon` cap of dataset `patients`"
    ):
        PrivateTable(pyarrow.table({"x": [0.5]}), policy=policy, ledger=tmp_path / "d.db")


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ([PLAN, PLAN], "needs a name of its own"),
        ([PLAN | {"epsilon": -1.0}], "`epsilon` of `Slot` must be above 0"),
        ([PLAN | {"sigma": 1.0}], "sigma"),
        ([{"name": "p", "slots": []}], "slots"),
    ],
)
def test_plans_that_a_policy_may_not_have(plan: Any, says: str) -> None:
    with pytest.raises(InvalidPolicy, match=says):
        load_policy(BASE | {"plan": plan})


def test_amendments_keep_what_was_paid_for(opened: Any) -> None:
    old = load_policy(BASE | {"plan": [PLAN]})
    ledger = opened(old.caps.ledger_caps(), policy=old.fingerprint(), text=old.text())
    ledger.plan(old.plan[0].ledger_plan())
    ledger.reserve([from_slot()])
    for plan, fate in (([], "be removed"), ([PLAN | {"count": 13}], "change")):
        new = load_policy(BASE | {"plan": plan})
        with pytest.raises(LedgerError, match=f"Plan `monthly` may not {fate}"):
            ledger.amend(Proposed(new.text(), new.caps.ledger_caps(), "why"))
    caps = BASE["caps"] | {"epsilon": 5.0}
    more = load_policy(BASE | {"caps": caps, "plan": [PLAN, {"name": "extra", "count": 1, "epsilon": 0.1}]})
    plans = [one.ledger_plan() for one in more.plan]
    proposed = Proposed(more.text(), more.caps.ledger_caps(), "one more", plans=plans)
    (after, *_) = ledger.propose(proposed).after
    now = ledger.amend(proposed)
    # What was told beforehand is what is paid, at once, and no second time.
    assert (after.name, after.spent) == ("epsilon", now.balances()[0].spent)
    assert now.totals().epsilon == pytest.approx(2.4986893, abs=1e-12)
    assert [one.slot.name for one in now.slots()] == ["monthly", "extra"]
    rows = now.head().rows
    now.plan(more.plan[1].ledger_plan())
    assert now.head().rows == rows
    now.reserve([from_slot(), from_slot(0.1, "extra")])
    assert now.totals().epsilon == pytest.approx(2.4986893, abs=1e-12)
    now.verify()


def test_an_amendment_and_its_plan_are_made_together_or_not_at_all(tmp_path: Path) -> None:
    """By its file, as a steward does; whoever comes next finds the plan paid for."""
    url, rows = f"sqlite:///{tmp_path}/l.db", pyarrow.table({"x": [0.5] * 5})
    old = load_policy(BASE)
    PrivateTable(rows, policy=old, ledger=url).count(epsilon=0.5)
    large = BASE | {"plan": [{"name": "large", "count": 40, "epsilon": 0.5}]}
    with Ledger.read(url) as book:
        head = book.head()
    for ask in (amendment, amend):
        with pytest.raises(BudgetExceeded, match=r"Plan `large` does not fit\. `epsilon` cap"):
            ask(large, url, reason="more")
    text, caps = old.text().replace("{", '{"note":1,', 1), old.caps.ledger_caps()
    twice = [SlotPlan("one", [Slot("s", 1, 0.1)]), SlotPlan("two", [Slot("s", 1, 0.1)])]
    with Ledger.resume(url) as book:
        with pytest.raises(LedgerError, match="has a plan with a slot called `s`"):
            book.amend(Proposed(text, caps, "two of one name", plans=twice))
        # Nothing was amended and nothing paid: the old policy still spends.
        assert book.head() == head
    PrivateTable(rows, policy=old, ledger=url).count(epsilon=0.1)
    small = BASE | {"plan": [PLAN]}
    amend(small, url, reason="monthly counts")
    with Ledger.read(url) as book:
        kinds = [entry.state for entry in book.entries()]
        assert kinds == ["released", "released", "planned"]
        assert book.totals().epsilon == pytest.approx(0.6 + 2.3986893, abs=1e-12)
        book.verify()
        rows_before = book.head().rows
    table = PrivateTable(rows, policy=small, ledger=url)
    assert table.ledger.head().rows == rows_before
    table.count(epsilon=0.2, slot="monthly")
    assert table.ledger.totals().epsilon == pytest.approx(0.6 + 2.3986893, abs=1e-12)
    table.ledger.verify()


def test_a_plan_of_before_counts_twice_under_replace_one(opened: Any) -> None:
    old = load_policy(BASE | {"plan": [PLAN]})
    new = load_policy(
        BASE
        | {"neighbours": "replace-one", "rows": 5, "plan": [PLAN]}
        | {"caps": {"epsilon": 9.0, "delta": 1e-3, "delta_of_answers": 1e-3}}
    )
    ledger = opened(old.caps.ledger_caps(), policy=old.fingerprint(), text=old.text())
    ledger.plan(old.plan[0].ledger_plan())
    ledger.reserve([from_slot()])
    now = ledger.amend(Proposed(new.text(), new.caps.ledger_caps(), "counts are public"))
    found = now.totals()
    assert found.epsilon == pytest.approx(2 * 2.3986893, abs=1e-12)
    assert found.delta == pytest.approx(1e-6 * (1 + math.exp(2.3986893)), rel=1e-5)
    now.reserve([from_slot()])
    assert now.totals().epsilon == found.epsilon
    now.verify()


@pytest.mark.parametrize(
    "caps", [{"epsilon": 3.0}, {"epsilon": 3.0, "delta": 0.0}, {"rho": 0.2}, {"nats_per_person": 1.0}]
)
def test_a_plan_with_a_delta_needs_caps_that_hold_it(caps: dict[str, float]) -> None:
    plan = {"name": "monthly", "count": 12, "epsilon": 0.1, "delta": 1e-6}
    with pytest.raises(
        InvalidPolicy, match=r"plan `monthly` has a `delta` of 1e-06, and `caps` has none"
    ) as told:
        load_policy(BASE | {"caps": caps, "plan": [plan]})
    assert str(told.value).count("\n") == 0
    load_policy(BASE | {"caps": caps, "plan": [plan | {"delta": 0.0}]})
