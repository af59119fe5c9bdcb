"""What a charge was for: every statistic's event proves its curve, and no charge below its event passes."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pyarrow
import pytest

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Slot, SlotPlan, Spend, events, export
from leakcap.ledger.contents import contents_fault
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.measured import charge_covers, guarantee, laplace_distance, rho_of
from leakcap.ledger.plan_price import charge_of
from leakcap.ledger.values import event_text, pure_event
from leakcap.numeric import float_up, up
from leakcap.release import PrivateTable
from leakcap.release.planning.price import event_of, price_of
from leakcap.release.statistics import statistics
from release.test_coverage import CASES
from release.world import planned, policy_of

COUNT = '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}'


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_the_event_of_every_statistic_proves_its_curve(relation: str) -> None:
    changed: dict[str, Any] = {"neighbours": relation} | ({"rows": 50} if relation == "replace-one" else {})
    seen = set()
    for name in sorted(statistics()):
        for case in CASES[name]:
            plan = planned(policy_of(**(case.policy | changed)), statistic=name, epsilon=0.5, **case.query)
            price, event = price_of(plan), event_of(plan)
            found = guarantee(event)
            assert found.epsilon is not None
            assert found.epsilon <= Fraction(repr(price.epsilon))
            for again, nats, most in zip(found.curve, price.curve, curve_of_pure(0.5), strict=True):
                assert min(again, most) == pytest.approx(nats, rel=1e-9)
            assert charge_covers(event, price.spend.ticks(None))
            less = price.spend.ticks(None)
            for wrong in (
                less._replace(epsilon=(less.epsilon or 0) // 2),
                less._replace(curve=tuple((one or 0) * 7 // 10 for one in less.curve)),
            ):
                assert not charge_covers(event, wrong)
            seen.add(json.loads(event)["name"])
    several = {"SelfComposedDpEvent"} if relation == "replace-one" else set()  # two cells, moved alike
    assert seen == {"DiscreteLaplaceDpEvent", "ComposedDpEvent", "BoundedDpEvent"} | several


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_the_event_of_gaussian_noise_proves_its_curve_too(relation: str) -> None:
    changed: dict[str, Any] = {"neighbours": relation} | ({"rows": 50} if relation == "replace-one" else {})
    tried = 0
    for name, kind in statistics().items():
        for case in CASES[name] if kind.has_noise else ():
            policy = policy_of(**(case.policy | changed | {"caps": {"epsilon": 3.0, "delta": 1e-6}}))
            plan = planned(policy, statistic=name, epsilon=0.5, noise="gaussian", **case.query)
            price, event = price_of(plan), event_of(plan)
            found = guarantee(event)
            assert found.epsilon is None
            for again, nats in zip(found.curve, price.curve, strict=True):
                assert again == pytest.approx(nats, rel=1e-9)
            assert charge_covers(event, price.spend.ticks(None))
            tried += 1
    assert tried > 10


def test_what_follows_from_events() -> None:
    """By closed forms at thirty digits."""
    with mpmath.workdps(30):
        for order, one, two in zip(
            ORDERS,
            guarantee('{"name":"GaussianDpEvent","noise_multiplier":"5/2"}').curve,
            guarantee('{"name":"ZCDpEvent","rho":"2/25"}').curve,
            strict=True,
        ):
            exact = mpmath.mpf(str(order)) / (2 * mpmath.mpf("2.5") ** 2)
            assert exact <= one <= exact * (1 + mpmath.mpf(10) ** -12)
            assert two == one
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(1) / 10))
        for order, nats in zip(ORDERS, guarantee(COUNT).curve, strict=True):
            a = mpmath.mpf(str(order))
            exact = (
                (2 * p - 1) / 10
                if order == 1
                else mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
            )
            assert exact <= nats <= exact * (1 + mpmath.mpf(10) ** -11)
    twelve = f'{{"count":12,"event":{COUNT},"name":"SelfComposedDpEvent"}}'
    assert guarantee(twelve).epsilon == Fraction(12, 10)
    assert guarantee(twelve).curve == pytest.approx([12 * one for one in guarantee(COUNT).curve], rel=1e-12)
    at_most = f'{{"epsilon":"1","event":{twelve},"name":"BoundedDpEvent"}}'
    assert guarantee(at_most).epsilon == 1
    for one, added, pure in zip(
        guarantee(at_most).curve, guarantee(twelve).curve, curve_of_pure(1.0), strict=True
    ):
        assert one == min(added, pure)
    both = event_text({"name": "ComposedDpEvent", "events": [json.loads(COUNT), pure_event(Fraction(1, 2))]})
    assert guarantee(both).epsilon == Fraction(6, 10)


BAD = [
    ('{"name":"TreeDpEvent"}', "Event `TreeDpEvent` of a charge cannot be computed again"),
    ("{}", "without a name"),
    ("[]", "without a name"),
    ("none", "must be JSON"),
    ('{"name":"ZCDpEvent"}', "must have the fields rho"),
    ('{"name":"ZCDpEvent","rho":"NaN"}', "`rho` of `ZCDpEvent` must be a number"),
    ('{"name":"ZCDpEvent","rho":"1/0"}', "`rho` of `ZCDpEvent` must be a number"),
    ('{"name":"ZCDpEvent","rho":-1}', "`rho` of `ZCDpEvent` must be a number"),
    ('{"name":"GaussianDpEvent","noise_multiplier":0}', "must be above 0"),
    ('{"name":"LaplaceDpEvent","noise_multiplier":"0"}', "must be above 0"),
    *(
        (
            f'{{"name":"LaplaceDpEvent","noise_multiplier":"{one}"}}',
            "`noise_multiplier` of `LaplaceDpEvent` must",
        )
        for one in ("1e-400", "1e-300", "1/701")
    ),
    ('{"name":"ComposedDpEvent","events":[]}', "must be a list of events"),
    ('{"name":"ComposedDpEvent","events":[{"name":"NoDpEvent"}]}', "Event `NoDpEvent`"),
    ('{"name":"SelfComposedDpEvent","event":{"name":"NoDpEvent"},"count":1}', "Event `NoDpEvent`"),
    ('{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1.5}', "whole number"),
    # To write out 10^(10⁹) takes hours, and a row of a forger's may say it.
    ('{"name":"ZCDpEvent","rho":"1e-99999"}', "`rho` of `ZCDpEvent` must be a number"),
    ("[" * 100_000, "must be JSON"),
]


@pytest.mark.parametrize(("event", "says"), BAD)
def test_an_event_that_cannot_be_computed_is_refused_by_name(event: str, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as refusal:
        Spend(0.1, event=event)
    assert "\n" not in str(refusal.value)
    with pytest.raises(InvalidParameter, match=says):
        guarantee(event)


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        ('{"name":"TreeDpEvent"}', r"Row 2 of ledger .* Event `TreeDpEvent` .* cannot be computed again"),
        (COUNT.replace("1/10", "1/5"), r"Row 2 of ledger .* was charged less than its event"),
    ],
)
def test_verify_computes_every_event_again(monkeypatch: pytest.MonkeyPatch, kept: str, says: str) -> None:
    """As if another leakcap, or a forger who made every hash anew, had written it."""
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(3.0)) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Spend, "event_text", property(lambda spend: kept))
            patch.setattr("leakcap.ledger.values.required", lambda event: None)
            ledger.reserve([Charge("n", "count", Spend(0.1))])
        with pytest.raises(LedgerError, match=says):
            ledger.verify()


SUM = COUNT.replace('"sensitivity":1', '"sensitivity":2')


def kept(details: dict[str, Any], event: str = COUNT, spend: Spend | None = None) -> Ledger:
    """A ledger with one entry, for whose level α = 2 is the order."""
    caps = Caps(3.0, nats_level=1.0, alpha=2.0)
    ledger = Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps)
    ledger.reserve([Charge("n", "count", spend or Spend(0.1, event=event), details=details)])
    return ledger


def test_verify_computes_events_between_two_contents_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an entry says of two contents: as an event that can be computed, of no less than neighbours, with
    the ε and the level that follow from it."""
    good = {"event_contents": SUM, "epsilon_contents": 0.2}
    with kept(good) as ledger:
        ledger.verify()
    with kept({"epsilon_contents": 0.2}) as ledger:
        ledger.verify()
    level = guarantee(SUM).curve[ORDERS.index(2)]
    assert level == pytest.approx(float(two_step_divergence()), rel=1e-9)
    short = Spend(0.1, event=COUNT, nats_level=level / 2)
    monkeypatch.setattr("leakcap.ledger.values.required", lambda event: None)
    for details, spend, says in (
        ({"event_contents": '{"name":"TreeDpEvent"}'}, None, "Event `TreeDpEvent` .* computed again"),
        ({"event_contents": "[]"}, None, "Event without a name .* cannot be computed again"),
        ({"event_contents": "no"}, None, "must be JSON"),
        (good | {"event_contents": COUNT.replace("1/10", "1/11")}, None, "told apart less well"),
        (good | {"epsilon_contents": 0.15}, None, "an ε below that of their event"),
        (good, short, "charged less at its level than the event of two contents"),
    ):
        with (
            kept(details, spend=spend) as ledger,
            pytest.raises(LedgerError, match=rf"Row 2 of ledger .*{says}"),
        ):
            ledger.verify()
    with kept(good, spend=Spend(0.1, event=COUNT, nats_level=level)) as ledger:
        ledger.verify()


@pytest.mark.parametrize("said", ["much", "", "1/0", True, -0.1])
def test_an_epsilon_between_contents_that_is_no_number_is_said_and_stops_nothing(
    said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    details = {"event_contents": SUM, "epsilon_contents": said}
    with pytest.raises(InvalidParameter, match=r"`epsilon_contents` .* must be a number from 0 beside"):
        Charge("n", "count", Spend(0.1), details=details)
    # What was written by others.
    monkeypatch.setattr("leakcap.ledger.values.EVENT_CONTENTS", "of another name")
    with kept(details) as ledger, pytest.raises(LedgerError, match=r"Row 2 of ledger .* that is no number"):
        ledger.verify()


def two_step_divergence() -> mpmath.mpf:
    """D₂ of discrete Laplace noise of rate 1/10 from itself, two steps away: a sum over whole numbers."""
    mp = mpmath.mp
    rate, beyond = mp.mpf(1) / 10, 1500
    weight = (mp.exp(rate) - 1) / (mp.exp(rate) + 1)
    return mp.log(
        mp.fsum(weight * mp.exp(-rate * (2 * abs(y) - abs(y - 2))) for y in range(-beyond, beyond + 1))
    )


def test_an_event_between_contents_that_cannot_be_computed_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(InvalidParameter, match="Event `TreeDpEvent` of a charge cannot be computed again"):
        Charge("n", "count", Spend(0.1), details={"event_contents": '{"name":"TreeDpEvent"}'})


def test_every_statistic_says_of_two_contents_what_can_be_computed() -> None:
    """With both kinds of noise, and at a level."""
    tried = 0
    caps = {"epsilon": 3.0, "delta": 1e-6, "nats_level": 100.0, "alpha": 2.0}
    for name, kind in statistics().items():
        for case in CASES[name]:
            policy = policy_of(**(case.policy | {"neighbours": "add-remove-one", "caps": caps}))
            for noise in ({}, {"noise": "gaussian"}) if kind.has_noise else ({},):
                price = price_of(planned(policy, statistic=name, epsilon=0.5, **noise, **case.query))
                told = {"event_contents": price.event_contents, "epsilon_contents": price.epsilon_contents}
                if price.event_contents:
                    assert contents_fault(price.event, told, price.spend.ticks(2.0), 2.0) == "", name
                    tried += 1
    assert tried > 30


def test_the_event_is_in_the_chain_and_the_export(tmp_path: Path) -> None:
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "columns": {"x": {"bounds": [0.0, 1.0]}},
        "caps": {"epsilon": 3.0},
    }
    table = PrivateTable(pyarrow.table({"x": [0.25]}), policy=policy, ledger=tmp_path / "d.db")
    table.count(epsilon=0.1)
    table.ledger.reserve([Charge("m", "fit", Spend(0.25))])
    table.ledger.reserve([Charge("m", "stated", Spend(0.25, curve=curve_of_pure(0.2)))])
    found = [one["event"] for one in json.loads(export(table.ledger.entries(), "json"))]
    assert found == [
        json.loads(COUNT),
        {"name": "EpsilonDeltaDpEvent", "epsilon": "1/4", "delta": "0"},
        None,
    ]
    assert "DiscreteLaplaceDpEvent" in export(table.ledger.entries(), "csv")
    table.ledger.verify()


# Slots of Laplace noise.


def told_apart(cells: tuple[int, ...], scale: Fraction, t: mpmath.mpf) -> mpmath.mpf:
    """δ(t) of discrete Laplace noise moved by so many steps in each cell, outcome by outcome."""
    s = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    laws = []
    for d in cells:
        tails = [(1 / (1 + s), s**d / (1 + s))]
        tails += [((1 - s) / (1 + s) * s**y, (1 - s) / (1 + s) * s ** (d - y)) for y in range(1, d)]
        laws.append([*tails, (s**d / (1 + s), 1 / (1 + s))])
    return sum(
        (
            max(
                mpmath.mpf(0),
                mpmath.fprod(p for p, _ in one) - mpmath.exp(t) * mpmath.fprod(q for _, q in one),
            )
            for one in itertools.product(*laws)
        ),
        mpmath.mpf(0),
    )


@pytest.mark.parametrize("cells", [(1,), (2,), (3,), (7,), (1, 1), (1, 2), (3, 4), (1, 1, 1), (2, 1, 3)])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(40)])
def test_laplace_noise_of_the_slot_dominates_noise_in_cells(cells: tuple[int, ...], scale: Fraction) -> None:
    event = {"name": "DiscreteLaplaceDpEvent", "noise_parameter": 1 / scale, "sensitivity": sum(cells)}
    distance = laplace_distance(event_text(event))
    assert distance is not None
    passed = 0
    with mpmath.workdps(30):
        far = mpmath.mpf(distance.numerator) / distance.denominator
        plain = mpmath.mpf(sum(cells)) / (mpmath.mpf(scale.numerator) / scale.denominator)
        for step in range(-20, 21):
            t = far * step / 20
            found = told_apart(cells, scale, t)
            assert found <= 1 - mpmath.exp((t - far) / 2) + mpmath.mpf(10) ** -25
            passed += found > 1 - mpmath.exp((t - plain) / 2) + mpmath.mpf(10) ** -12
    # Without ε²/4d it is false.
    assert passed or len(cells) > 1


def test_a_plan_of_laplace_noise_is_charged_as_laplace_noise() -> None:
    """The reference is theory §9; its ε without the steps of a grid."""
    fine = SlotPlan("p", [Slot("s", 1000, 0.1, noise="laplace", steps=10**9)], delta=1e-6)
    charged = charge_of(fine, None)
    assert charged.epsilon is not None
    assert charged.epsilon / 10**12 == pytest.approx(18.9502874, abs=1e-7)
    assert charged.epsilon / 10**12 >= 18.95028736
    coarse = charge_of(SlotPlan("p", [Slot("s", 1000, 0.1, noise="laplace")], delta=1e-6), None)
    assert 18.95028 < (coarse.epsilon or 0) / 10**12 < 18.952
    for order, nats in zip(ORDERS, charged.curve, strict=True):
        with mpmath.workdps(30):
            e, a = mpmath.mpf(1) / 10, mpmath.mpf(str(order))
            exact = (
                e + mpmath.exp(-e) - 1
                if order == 1
                else mpmath.log(
                    a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
                )
                / (a - 1)
            )
        assert nats is not None
        assert nats / 10**12 == pytest.approx(min(1000 * float(exact), charged.epsilon / 10**12), rel=1e-6)


def test_what_a_slot_of_laplace_noise_admits(tmp_path: Path) -> None:
    slot = {"name": "sums", "count": 5, "epsilon": 0.1, "delta": 1e-6, "noise": "laplace"}
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "columns": {"x": {"bounds": [0.0, 1.0]}},
        "caps": {"epsilon": 3.0, "delta": 1e-6, "delta_of_answers": 1e-6},
        "plan": [slot],
    }
    table = PrivateTable(pyarrow.table({"x": [0.25]}), policy=policy, ledger=tmp_path / "d.db")
    table.sum("x", epsilon=0.1, slot="sums")
    says = r"`sums` admits discrete Laplace noise that has ε 0\.1 at most and no δ, over 1,000 steps or more"
    for refused in (table.count, lambda **terms: table.median("x", **terms)):
        with pytest.raises(LedgerError, match=says):
            refused(epsilon=0.1, slot="sums")
    assert table.ledger.slots()[0].used == 1
    table.ledger.verify()
    assert math.isfinite(table.budget()[0].spent)


@pytest.mark.parametrize("kept", ["", COUNT, '{"name":"ZCDpEvent","rho":"0"}'])
def test_a_charge_without_a_curve_does_not_verify(monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
    """Sums take a curve that is left out for nothing told, however much ε is charged."""
    ticks = Spend.ticks
    with Ledger.open("sqlite://", dataset="e", policy="ab12cd34", caps=Caps(3.0)) as other:
        (sound,) = other.reserve([Charge("n", "count", Spend(0.1))])
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(3.0, delta=1e-6)) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Spend, "ticks", lambda spend, alpha: ticks(spend, alpha)._replace(curve=()))
            charge = Charge("n", "count", Spend(0.1, event=kept))
            with pytest.raises(LedgerError, match="was edited"):  # nor is such a row read as an entry
                ledger.reserve([charge])
            assert ledger.head().rows == 1  # It is refused before it is committed.
            patch.setattr(events, "entry_of", lambda row: sound)
            ledger.reserve([charge])
        assert ledger.head().rows == 2
        with pytest.raises(LedgerError, match=r"Row 2 of ledger .* was charged less than its event"):
            ledger.verify()


def test_the_delta_of_a_part_is_not_used_again_for_what_has_no_epsilon() -> None:
    """All of δ is spent by the part that has one: the Gaussian part has no ε with what is left."""
    slack = Fraction(1, 10**6)
    parts = [pure_event(Fraction(1, 10), slack), {"name": "GaussianDpEvent", "noise_multiplier": Fraction(5)}]
    event = event_text({"name": "ComposedDpEvent", "events": parts})
    curve = tuple(up(nats) for nats in guarantee(event).curve)
    rho = float_up(rho_of(event))
    for epsilon in (1.0, 2.0, 100.0):
        assert not charge_covers(event, Spend(epsilon, 1e-6, rho=rho, curve=curve).ticks(None))
    # With as much again for it there is one.
    least = next(
        step / 1000
        for step in range(1, 2000)
        if charge_covers(event, Spend(step / 1000, 2e-6, rho=rho, curve=curve).ticks(None))
    )
    # E[δ(ε ∓ 1/10)] over a coin of these odds, beside the δ: by the closed form of Gaussian noise.
    with mpmath.workdps(30):
        mu, p = mpmath.mpf(1) / 5, 1 / (1 + mpmath.exp(-mpmath.mpf(1) / 10))

        def told(epsilon: Any) -> Any:
            far = epsilon / mu
            return mpmath.ncdf(mu / 2 - far) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - far)

        tenth = mpmath.mpf(1) / 10
        assert p * told(least - tenth) + (1 - p) * told(least + tenth) <= mpmath.mpf(10) ** -6
