"""A cap on what all answers are together: reference values, an adversary that plays as well as can be, and
what is refused.

The brute force is no copy of the filter: it knows answers as rows of binary channels, plays every history
backwards, and lets the adversary ask at each what does most harm among what the ledger admits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, OdometerReading, Proposed, Spend
from leakcap.ledger.curve import (
    FILTER_ORDERS,
    ORDERS,
    curve_of_pure,
    epsilon_proved,
    odometer_surcharges,
    surcharges,
)
from leakcap.ledger.ticks import Ticks, total

DELTA = 1e-6


@functools.cache
def laplace(epsilon: float) -> tuple[float, ...]:
    """The curve of Laplace noise at this ε, by its closed form at thirty digits, a hair up."""
    with mpmath.workdps(30):
        e = mpmath.mpf(epsilon)
        found = [e + mpmath.exp(-e) - 1]
        for order in map(mpmath.mpf, map(str, ORDERS[1:])):
            a = order / (2 * order - 1) * mpmath.exp((order - 1) * e)
            b = (order - 1) / (2 * order - 1) * mpmath.exp(-order * e)
            found.append(mpmath.log(a + b) / (order - 1))
        return tuple(float(one) * (1 + 1e-14) for one in found)


def memory(caps: Caps) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps)


def asked(spend: Spend, times: int) -> list[Charge]:
    return [Charge("n", "count", spend)] * times


REFERENCE = [(1000, 0.1, 21.8267), (365, 0.05, 5.4818), (100, 0.1, 5.5387), (52, 0.1, 3.7279)]
"""Answers, their ε, and the least cap under which a filter over twenty orders admits them: theory §9."""


@pytest.mark.parametrize(("answers", "epsilon", "least"), REFERENCE)
def test_reference_values_of_the_filter(answers: int, epsilon: float, least: float) -> None:
    spend = Spend(epsilon=epsilon, curve=laplace(epsilon))
    caps = Caps(epsilon=least + 5.1e-5, delta=DELTA, delta_of_answers=0.0)
    with memory(caps) as ledger:
        ledger.reserve(asked(spend, answers))
        assert ledger.balances()[0].spent == pytest.approx(least, abs=5.1e-5)
        with pytest.raises(BudgetExceeded, match="all answers together"):
            ledger.reserve(asked(spend, 1))


@pytest.mark.parametrize(("answers", "epsilon", "best"), [(1000, 0.1, 20.0399), (365, 0.05, 4.8760)])
def test_an_order_named_beforehand_needs_less(answers: int, epsilon: float, best: float) -> None:
    """The best of all orders is in theory §9; the best of the grid is hardly more.

    Which of the grid that is, the rule says; what answers come to, ledgers of that order and of
    those beside it.
    """
    spend, delta = Spend(epsilon=epsilon, curve=laplace(epsilon)), round(DELTA * 10**12)
    spent = total([spend.ticks(None)] * answers)
    proved = {
        order: epsilon_proved(spent.epsilon, spent.curve, surcharges(delta, order)) for order in ORDERS[1:]
    }
    least = min(proved, key=lambda order: proved[order] or math.inf)
    assert best - 5e-5 <= (proved[least] or 0) / 10**12 <= best + 0.05
    at = ORDERS.index(least)
    for order in ORDERS[at - 1 : at + 2]:
        with memory(Caps(1e3, DELTA, delta_of_answers=0.0, order=order)) as ledger:
            ledger.reserve(asked(spend, answers))
            assert ledger.balances()[0].spent * 10**12 == pytest.approx(proved[order], abs=0.5)


def test_gaussian_answers_of_the_same_accuracy() -> None:
    """100 and 1,000 counts of ±30 at 95 %, σ = 15.3064: ρ(α) = α/2σ²; theory §9."""
    curve = tuple(order / (2 * 15.3064**2) * (1 + 1e-12) for order in ORDERS)
    for answers, least in ((100, 3.6409), (1000, 13.3905)):
        with memory(Caps(1e4, DELTA, delta_of_answers=0.0)) as ledger:
            ledger.reserve(asked(Spend(epsilon=1.0, curve=curve), answers))
            assert ledger.balances()[0].spent == pytest.approx(least, abs=1e-4)


def test_a_cap_without_delta_is_on_epsilon_added_up() -> None:
    for caps in (Caps(0.9), Caps(0.9, 0.0), Caps(0.9, 1e-6, delta_of_answers=1e-6)):
        with memory(caps) as ledger:
            ledger.reserve(asked(Spend(epsilon=0.1), 9))
            with pytest.raises(BudgetExceeded, match=r"0 left of 0\.9, 0\.1 asked"):
                ledger.reserve(asked(Spend(epsilon=0.1), 1))


def test_epsilon_added_up_is_enough_too() -> None:
    """Few large answers: no curve proves as little as their ε does."""
    with memory(Caps(2.0, 1e-9)) as ledger:
        ledger.reserve(asked(Spend(epsilon=1.0), 2))
        assert ledger.balances()[0].spent == 2.0


def test_the_deltas_of_answers_have_a_share_of_their_own() -> None:
    spend = Spend(epsilon=0.01, delta=1e-7)
    for caps, fit in ((Caps(9.0, 1e-6), 5), (Caps(9.0, 1e-6, delta_of_answers=2e-7), 2)):
        with memory(caps) as ledger:
            ledger.reserve(asked(spend, fit))
            with pytest.raises(BudgetExceeded, match=r"`delta` cap .* 0 left of"):
                ledger.reserve(asked(spend, 1))


def test_analysts_and_periods_compose_by_themselves() -> None:
    each = Limits(3.0, 1e-6)
    caps = Caps(9.0, 1e-6, each_analyst=each, each_period=each, period="month")
    with memory(caps) as ledger:
        many = [Charge("n", "count", Spend(epsilon=0.02), analyst="ng")] * 400
        ledger.reserve(many)
        accounts = {account.scope: account.balances[0] for account in ledger.accounts()}
        assert 2.0 < accounts["analyst"].spent == accounts["month"].spent < 3.0
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.reserve(many)
        assert {(one.analyst, one.period is not None) for one in refusal.value.passed} == {
            ("ng", False),
            (None, True),
        }
        ledger.verify()


# Adversaries that choose by what they saw.

MECHANISMS = (0.3, 0.1)
"""The ε of two kinds of randomised response."""


def curves(shrink: float = 1.0) -> dict[float, Ticks]:
    def of(epsilon: float) -> Ticks:
        spend = Spend(epsilon=epsilon, curve=tuple(shrink * one for one in curve_of_pure(epsilon)))
        return spend.ticks(None)

    return {epsilon: of(epsilon) for epsilon in MECHANISMS}


Used = tuple[int, int]
"""How many answers of each kind."""


def played(admitted: Callable[[Used], bool], gain: Callable[[Used, np.ndarray], np.ndarray]) -> float:
    """The largest expected gain over every adaptive way of asking, exactly but for roundings of doubles.

    `gain` is of whoever stops after so many answers, by the loss so far. Played backwards from the last
    answers that are admitted: a matrix over how many of each kind were up.
    """
    layers: list[set[Used]] = [{(0, 0)}]
    while layers[-1]:
        more = {one for a, b in layers[-1] for one in ((a + 1, b), (a, b + 1))}
        layers.append({used for used in more if admitted(used)})
    best: dict[Used, np.ndarray] = {}
    for a, b in itertools.chain(*reversed(layers)):
        ups = np.meshgrid(np.arange(a + 1), np.arange(b + 1), indexing="ij")
        found = gain((a, b), sum((2 * up - n) * e for e, n, up in zip(MECHANISMS, (a, b), ups, strict=True)))
        for axis, used in enumerate(((a + 1, b), (a, b + 1))):
            if used in best:
                up, then = 1.0 / (1.0 + math.exp(-MECHANISMS[axis])), np.moveaxis(best[used], axis, 0)
                asking = up * then[1:] + (1.0 - up) * then[:-1]
                found = np.maximum(found, np.moveaxis(asking, 0, axis))
        best[a, b] = found
    return float(best[0, 0][0, 0])


def most_delta(cap: float, admitted: Callable[[Used], bool]) -> float:
    """The largest δ at ε = `cap` over every adaptive way of asking."""
    return played(admitted, lambda _, loss: np.maximum(0.0, -np.expm1(cap - loss)))


def filtered(cap: float, charged: Any, prices: dict[float, Ticks]) -> Callable[[Used], bool]:
    """What the ledger's rule admits after so many answers of each kind."""

    @functools.cache
    def admitted(used: Used) -> bool:
        asked = itertools.chain(*([prices[e]] * n for e, n in zip(MECHANISMS, used, strict=True)))
        spent = total([Ticks(0, 0, 0, 0), *asked])
        least = epsilon_proved(spent.epsilon, spent.curve, charged)
        return least is not None and least <= cap * 10**12

    return admitted


@pytest.mark.parametrize(("cap", "delta", "order"), [(1.0, 0.1, 4.0), (2.5, 0.1, None), (4.0, 0.05, None)])
def test_the_best_adversary_gains_no_more_than_the_cap(cap: float, delta: float, order: float | None) -> None:
    admitted = filtered(cap, surcharges(round(delta * 10**12), order), curves())
    assert admitted((0, math.floor(cap / MECHANISMS[1]) + 2)), "no more than ε added up: nothing is tested"
    assert most_delta(cap, admitted) <= delta


def test_a_charge_of_half_the_curve_is_found_out() -> None:
    found = filtered(1.0, surcharges(10**11, 4.0), curves(shrink=0.5))
    assert most_delta(1.0, found) > 0.1


def test_a_ledger_admits_what_the_rule_admits() -> None:
    """The brute force plays by `least_epsilon`; a ledger's own check must be that rule."""
    charged = surcharges(round(0.05 * 10**12) // 2)
    admitted = filtered(4.0, charged, curves())
    for used in itertools.product(range(0, 20, 3), range(0, 160, 20)):
        with memory(Caps(4.0, 0.05)) as ledger:
            spends = [Spend(epsilon=e) for e, n in zip(MECHANISMS, used, strict=True) for _ in range(n)]
            charges = [Charge("n", "count", spend) for spend in spends]
            passed = True
            try:
                ledger.reserve(charges or asked(Spend(), 1))
            except BudgetExceeded:
                passed = False
            assert passed is admitted(used), used


# The numbers behind.


def test_surcharges_are_those_of_the_proposition_and_never_below() -> None:
    """E(1 − e^(ε−L))₊ over the worst law with E e^((α−1)L) given is δ exactly; so at fifty digits."""
    for delta in (1e-12, 1e-6, 0.05, 0.9):
        ticks = surcharges(round(delta * 10**12))
        for order, found in zip(ORDERS, ticks, strict=True):
            if order not in FILTER_ORDERS:
                assert found is None
                continue
            with mpmath.workdps(50):
                a, each = mpmath.mpf(str(order)), mpmath.mpf(round(delta * 10**12)) / 10**12 / 20
                exact = (mpmath.log(1 / each) + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)) / (a - 1)
                assert found is not None
                assert max(exact, 0) * 10**12 <= found <= max(exact, 0) * 10**12 + 2.5


def test_the_proposition_itself_on_random_laws() -> None:
    """For laws of a loss with two values: hockey-stick at Σρ + surcharge is at most δ, and can be near it."""
    closest = 0.0
    for order in (1.5, 2.0, 4.0, 16.0):
        for high, share in itertools.product((0.5, 2.0, 5.0, 9.0), (1e-5, 1e-3, 0.05, 0.4)):
            low = math.log((1 - share) / (1 - share * math.exp(-high)))
            rho = math.log(share * math.exp((order - 1) * high) + (1 - share) * math.exp((order - 1) * low))
            rho /= order - 1
            for delta in (1e-6, 1e-4, 1e-2):
                more = surcharges(round(delta * 10**12), order)[ORDERS.index(order)]
                assert more is not None
                epsilon = rho + more / 10**12
                excess = share * max(0.0, -math.expm1(epsilon - high))
                assert excess <= delta * (1 + 1e-9)
                closest = max(closest, excess / delta)
    assert closest > 0.5


@pytest.mark.parametrize("curve", [(0.1,), (), *((x,) * len(ORDERS) for x in (math.nan, -1.0, "1", True))])
def test_curves_that_are_none(curve: Any) -> None:
    with pytest.raises(InvalidParameter, match="`curve` of `Spend`"):
        Spend(epsilon=0.1, curve=curve)


def test_a_curve_above_what_epsilon_allows_counts_as_epsilon() -> None:
    assert Spend(0.1, curve=(9.0,) * len(ORDERS)).ticks(None) == Spend(0.1).ticks(None)
    assert Spend(0.1, curve=(math.inf,) * len(ORDERS)).ticks(None) == Spend(0.1).ticks(None)


def test_the_curve_is_in_the_chain(opened: Any, sql: Any) -> None:
    ledger = opened(Caps(9.0, 1e-6))
    ledger.reserve(asked(Spend(epsilon=0.1), 3))
    ledger.verify()
    (entry, *_) = ledger.entries()
    assert entry.spend.curve == pytest.approx(curve_of_pure(0.1), abs=1e-12)
    ledger.close()
    sql("UPDATE leakcap_event SET curve = replace(curve, '1', '0') WHERE seq = 3")
    with pytest.raises(LedgerError, match=r"Row 3 .* was edited"):
        opened(Caps(9.0, 1e-6)).verify()


def test_two_steps_after_an_amendment(opened: Any) -> None:
    """From add/remove-one to replace-one a curve becomes that of twice the ε, at most."""
    from leakcap.release import load_policy

    base = {"dataset": "patients", "columns": {"x": {"keys": [1]}}, "caps": {"epsilon": 9.0, "delta": 1e-6}}
    old = load_policy({**base, "neighbours": "add-remove-one"})
    new = load_policy({**base, "neighbours": "replace-one", "rows": 5})
    ledger = opened(old.caps.ledger_caps(), policy=old.fingerprint(), text=old.text())
    ledger.reserve(asked(Spend(epsilon=0.05), 40))
    before = ledger.balances()[0].spent
    now = ledger.amend(Proposed(new.text(), new.caps.ledger_caps(), "counts are public"))
    assert before * 1.9 < now.balances()[0].spent <= 4.0
    now.verify()
    for order, nats in zip(ORDERS, now.entries()[0].spend.curve, strict=True):
        assert curve_of_pure(0.1)[ORDERS.index(order)] <= nats + 1e-12


# Answers with a δ of their own whose curve is known.

STEP = 0.1
WEIGHTS = [math.exp(-((k * STEP) ** 2) / 0.08) for k in range(-9, 10)]
"""Of losses k·STEP under both tables alike: near those of Gaussian noise, P(k) ∝ w·e^(k·STEP/2)."""

LATTICE = [weight * math.exp(k * STEP / 2) for k, weight in zip(range(-9, 10), WEIGHTS, strict=True)]
LATTICE = [mass / sum(LATTICE) for mass in LATTICE]


def lattice_spend(epsilon: float, shrink: float = 1.0) -> Spend:
    """(ε, δ) of one such answer, and its curve."""
    losses = [k * STEP for k in range(-9, 10)]
    delta = sum(p * max(0.0, -math.expm1(epsilon - x)) for p, x in zip(LATTICE, losses, strict=True))
    curve = [sum(p * x for p, x in zip(LATTICE, losses, strict=True))]
    for order in ORDERS[1:]:
        total_ = sum(p * math.exp((order - 1) * x) for p, x in zip(LATTICE, losses, strict=True))
        curve.append(math.log(total_) / (order - 1))
    return Spend(epsilon, delta, curve=tuple(shrink * nats * (1 + 1e-12) for nats in curve))


@pytest.mark.parametrize(("shrink", "holds"), [(1.0, True), (0.3, False)])
def test_the_best_adversary_among_answers_with_a_delta(shrink: float, holds: bool) -> None:
    """Such answers and randomised response of three steps, in any order, chosen by what was seen."""
    cap, delta, share, epsilon = 0.8, 0.05, 0.02, 0.4
    own = lattice_spend(epsilon, shrink).ticks(None)
    prices = (own, Spend(epsilon=3 * STEP).ticks(None))
    charged = surcharges(round((delta - share) * 10**12), 4.0)
    assert 1e-4 < (own.delta or 0) / 10**12 < share / 10

    @functools.cache
    def admitted(used: tuple[int, int]) -> bool:
        spent = total([Ticks(0, 0, 0, 0), *([prices[0]] * used[0]), *([prices[1]] * used[1])])
        least = epsilon_proved(spent.epsilon, spent.curve, charged)
        fits = spent.delta is not None and spent.delta <= share * 10**12
        return fits and least is not None and least <= cap * 10**12

    @functools.cache
    def best(used: tuple[int, int], loss: int) -> float:
        found = max(0.0, -math.expm1(cap - loss * STEP))
        if admitted((used[0] + 1, used[1])):
            more = (used[0] + 1, used[1])
            after = (p * best(more, loss + k) for k, p in zip(range(-9, 10), LATTICE, strict=True))
            found = max(found, sum(after))
        if admitted((used[0], used[1] + 1)):
            more, up = (used[0], used[1] + 1), 1.0 / (1.0 + math.exp(-3 * STEP))
            found = max(found, up * best(more, loss + 3) + (1.0 - up) * best(more, loss - 3))
        return found

    assert admitted((math.floor(cap / epsilon) + 2, 0)), "no more than ε added up: nothing is tested"
    assert (best((0, 0), 0) <= delta) is holds


def test_a_curve_beside_a_delta_is_not_mixed_with_that_of_epsilon() -> None:
    """Each holds of a part of the law of its own; of both together only that no odds pass e^ε."""
    curve = tuple(0.3 * order for order in ORDERS)
    ticks = Spend(0.5, 1e-6, curve=curve).ticks(None)
    assert ticks.curve == tuple(math.ceil(round(min(nats, 0.5) * 10**12, 3)) for nats in curve)
    assert max(curve_of_pure(0.5)[:3]) < 0.3


# What has been told so far.


def test_the_odometer_holds_at_every_moment_at_once() -> None:
    """An adversary may stop wherever the loss stands highest: by brute force over every way of asking."""
    charged = odometer_surcharges(10**11)
    prices = curves()

    @functools.cache
    def told(used: Used) -> float:
        asked = itertools.chain(*([prices[e]] * n for e, n in zip(MECHANISMS, used, strict=True)))
        spent = total([Ticks(0, 0, 0, 0), *asked])
        return (epsilon_proved(spent.epsilon, spent.curve, charged) or 0) / 10**12

    def passed(shrink: float) -> float:
        return played(lambda used: sum(used) <= 40, lambda used, loss: loss > shrink * told(used) + 1e-9)

    assert told((0, 40)) < 4.0, "no better than ε added up: nothing is tested"
    assert passed(1.0) <= 0.1
    assert passed(0.5) > 0.1


def test_what_the_odometer_says() -> None:
    with memory(Caps(queries=10_000)) as ledger:
        assert ledger.odometer(1e-9) == OdometerReading(0.0, 1e-9)
        ledger.reserve(asked(Spend(epsilon=0.1, delta=1e-8), 1000))
        told = ledger.odometer(1e-6)
        assert told.delta == pytest.approx(1.1e-5, rel=1e-9)
        assert told.delta >= 1.1e-5
        curve = curve_of_pure(0.1)
        least = min(
            1000 * nats + math.log(len(FILTER_ORDERS) / 1e-6) / (order - 1)
            for order, nats in zip(ORDERS, curve, strict=True)
            if order in FILTER_ORDERS
        )
        assert least <= told.epsilon <= least + 1e-8
        for delta in (0.0, 1.0, -1.0, math.nan, True, "1e-6"):
            with pytest.raises(InvalidParameter, match="`delta` of `odometer`"):
                ledger.odometer(delta)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ({}, {"order": 8.0}, r"`caps\.order` may not change from none to 8"),
        ({"order": 8.0}, {}, r"`caps\.order` may not change from 8 to none"),
        ({"order": 8.0}, {"order": 12.0}, r"`caps\.order` may not change from 8 to 12"),
        (
            {"each_analyst": {"epsilon": 1.0, "delta": 1e-7}},
            {"each_analyst": {"epsilon": 1.0, "delta": 1e-7, "order": 8.0}},
            r"`caps\.each_analyst\.order` may not change from none to 8",
        ),
    ],
)
def test_an_order_is_named_beforehand_or_never(
    opened: Any, old: dict[str, Any], new: dict[str, Any], says: str
) -> None:
    """Named when it is known which order survived, it would have all of δ, and the others too."""
    from leakcap.release import load_policy

    base = {"dataset": "patients", "neighbours": "add-remove-one", "columns": {"x": {"keys": [1]}}}
    caps = {"epsilon": 9.0, "delta": 1e-6}
    before = load_policy({**base, "caps": caps | old})
    after = load_policy({**base, "caps": caps | {"epsilon": 10.0} | new})
    ledger = opened(before.caps.ledger_caps(), policy=before.fingerprint(), text=before.text())
    ledger.reserve(asked(Spend(epsilon=0.05), 4))
    with pytest.raises(LedgerError, match=says):
        ledger.amend(Proposed(after.text(), after.caps.ledger_caps(), "more"))
    same = load_policy({**base, "caps": caps | {"epsilon": 10.0} | old})
    ledger.amend(Proposed(same.text(), same.caps.ledger_caps(), "more")).verify()


def test_what_is_told_about_a_person_is_at_most_the_divergence_of_order_one() -> None:
    """Of randomised response of ε a person's capacity is ln 2 − h(p), below KL; a loose price takes KL."""
    curve = curve_of_pure(0.5)
    kl = math.ceil(curve[0] * 10**12)
    assert Spend(0.5, nats_person=0.2, curve=curve).ticks(None).nats_person == kl
    assert Spend(math.inf, nats_person=math.inf, curve=curve).ticks(None).nats_person == kl
    assert Spend(0.5, nats_person=0.03, curve=curve).ticks(None).nats_person == 3 * 10**10
    # A part of the law was left out of a curve beside a δ, and it may tell everything.
    assert Spend(0.5, 1e-9, nats_person=math.inf, curve=curve).ticks(None).nats_person is None
    for p in (0.6, 0.75, 0.9):
        epsilon = math.log(p / (1 - p))
        capacity = math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)
        assert capacity <= curve_of_pure(epsilon)[0]
