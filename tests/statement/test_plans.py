"""A plan's slots in statements: composed exactly, whatever they hold; what was charged with a δ is not cut.

The truth is found by other routes: the law of a step's loss in narrow cells, convolved, and closed forms.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from leakcap.errors import InvalidParameter
from leakcap.ledger import Caps, Charge, Entry, Ledger, Slot, SlotPlan, Spend
from leakcap.ledger.gaussian_laws import PlannedDescent
from leakcap.ledger.lattice_gaussian import on_a_fine_grid
from leakcap.ledger.values import event_text
from leakcap.policy import load_policy
from leakcap.policy.document import Policy
from leakcap.release import exposure_so_far
from leakcap.release.results.tallies import composed_of
from leakcap.statement import Exposure, statement_of
from leakcap.statement.proving import proven_pairs
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated
from leakcap.statement.tally import Tally

CAPS = Caps(epsilon=40.0, delta=1e-4, delta_of_answers=5e-5)
DESCENT = PlannedDescent(noise_multiplier=1.0, sample_rate=Fraction(1, 10), steps=2)


def policy(relation: str) -> Policy:
    caps = {"epsilon": 40.0, "delta": 1e-4, "delta_of_answers": 5e-5}
    rows = {"rows": 100} if relation == "replace-one" else {}
    return load_policy(
        {"dataset": "d", "neighbours": relation, "caps": caps, "columns": {"x": {"keys": [1]}}, **rows}
    )


def year(slot: Slot, *then: Charge, delta: float = 1e-6) -> list[Entry]:
    """The entries of a ledger with this plan, and what was asked afterwards."""
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        ledger.plan(SlotPlan("year", [slot], delta=delta))
        for charge in then:
            ledger.reserve([charge])
        return ledger.entries()


def sampled(
    steps: int, at: list[float], *, rounded: Literal["up", "down"]
) -> tuple[list[float], list[float]]:
    """A bound on δ of so many steps of noise 1 at rate 1/10, of presence against absence and of the reverse:
    each step's loss is moved to an end of its cell, and what lies beyond all cells is all or nothing."""
    width, rate = 2e-4, 0.1
    edges = width * np.arange(-530, 45_001)
    inner = np.maximum(np.exp(edges) - (1 - rate), 0.0) / rate
    with np.errstate(divide="ignore"):
        x = np.log(inner) + 0.5  # where ln(1 − q + q·e^(x − 1/2)) is the edge
    with_person, without = np.diff(rate * ndtr(x - 1) + (1 - rate) * ndtr(x)), np.diff(ndtr(x))
    found = []
    for mass, low in ((with_person, edges[0]), (without[::-1], -edges[-1])):
        length = steps * (len(mass) - 1) + 1
        together = np.fft.irfft(np.fft.rfft(mass, 1 << 21) ** steps, 1 << 21)[:length]
        loss = steps * (low + (width if rounded == "up" else 0.0)) + width * np.arange(length)
        beyond = 1.0 - float(mass.sum()) ** steps if rounded == "up" else 0.0
        found.append([beyond + float(np.sum(np.maximum(-np.expm1(e - loss), 0.0) * together)) for e in at])
    return tuple(found)


def test_a_year_of_trainings_is_composed_exactly() -> None:
    entries = year(Slot("monthly", 12, descent=DESCENT))
    found = exposure_so_far(entries, policy("add-remove-one"))
    assert found.composed is not None
    assert found.composed.at_once
    pairs = [pair for pair in found.pairs[1:] if pair[1] > 1e-7]
    at = [epsilon for epsilon, _ in pairs]
    low = [*map(max, *sampled(24, at, rounded="down"))]
    high = [*map(max, *sampled(24, at, rounded="up"))]
    for (_, delta), least, most in zip(pairs, low, high, strict=True):
        assert least * (1 - 1e-9) - 1e-9 <= delta <= most * (1 + 1e-9) + 1e-9
    assert high[0] - low[0] < 6e-3
    presence = statement_of(found)["presence"].upper
    assert 0.5 + low[0] / 2 <= presence <= 0.5 + high[0] / 2
    # By the curve alone it was told as far more.
    by_curve = replace(found.composed.neighbours, usable=False, steps=())
    assert 0.5 + proven_pairs(by_curve, True)[0][1] / 2 > presence + 0.02


@pytest.mark.parametrize("relation", ["replace-one", "add-remove-one"])
def test_a_year_of_gaussian_answers_is_composed_exactly(relation: str) -> None:
    """Twelve of ρ = .002 at a distance of a step: σ² = 250, less the 4 that rounding takes."""
    mp = mpmath.mp.clone()
    mp.dps = 40
    told = statement_of(exposure_so_far(year(Slot("monthly", 12, rho=0.002)), policy(relation)))
    mu = mp.sqrt(mp.mpf(12) / 246)
    contents = mu if relation == "replace-one" else 2 * mu
    assert mp.ncdf(contents / 2) <= told["coin_flip"].upper <= mp.ncdf(contents / 2) + mp.mpf("1e-9")
    power = mp.ncdf(contents - mp.mpf("2.3263478740408411009"))
    assert power <= told["test_power"].upper <= power * mp.mpf("1.02")
    if relation == "add-remove-one":
        assert mp.ncdf(mu / 2) <= told["presence"].upper <= mp.ncdf(mu / 2) + mp.mpf("1e-9")


def trained(**known: object) -> Charge:
    event, law = event_text(DESCENT.event), DESCENT
    spend = Spend(math.inf, curve=law.curve, event=event)
    return Charge("training", "fit", spend, slot="monthly", **known)  # type: ignore[arg-type]


def test_answers_from_slots_add_nothing_and_what_is_asked_beside_them_does() -> None:
    slot = Slot("monthly", 12, descent=DESCENT)
    alone, used = year(slot), year(slot, trained(), trained())
    paid, told = (exposure_so_far(one, policy("add-remove-one")) for one in (alone, used))
    assert told.pairs[1:] == paid.pairs[1:]
    assert told.pairs_contents[1:] == paid.pairs_contents[1:]
    assert told.composed is not None
    assert told.composed.at_once
    assert "all were fixed before any was seen" in statement_of(told)["epsilon"].sentence
    pure = Charge("count", "count", Spend(0.1))
    beside = exposure_so_far(year(slot, trained(), pure), policy("add-remove-one"))
    assert beside.composed is not None
    assert not beside.composed.at_once
    assert beside.pairs[1][1] > paid.pairs[1][1]
    # A response beside the steps: never less than both of its outcomes, seen with what the steps tell.
    keep = 1 / (1 + math.exp(-0.1))
    (here,), (gone,) = sampled(24, [0.1], rounded="down")
    both = keep * (1 - math.exp(-0.1) + math.exp(-0.1) * gone) + (1 - keep) * here
    assert both <= beside.pairs[1][1] <= both + 6e-3


def test_one_training_beside_others_counts_by_its_steps() -> None:
    """Asked one after another, without a plan: twelve of two steps as twenty-four."""
    spend = Spend(math.inf, curve=DESCENT.curve, event=event_text(DESCENT.event))
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        for _ in range(12):
            ledger.reserve([Charge("training", "fit", spend)])
        entries = ledger.entries()
    found = exposure_so_far(entries, policy("add-remove-one"))
    assert found.composed is not None
    assert not found.composed.at_once
    noise = on_a_fine_grid(Fraction(1))
    assert found.composed.neighbours.steps == ((noise, Fraction(1, 10), 24),)
    assert statement_of(found)["presence"].holds == "spent"


def exact_responses(epsilon: str, n: int, at: float) -> mpmath.mpf:
    mp = mpmath.mp
    with mp.workdps(50):
        e = mp.mpf(epsilon)
        keep = 1 / (1 + mp.exp(-e))
        return mp.fsum(
            mp.binomial(n, k) * keep**k * (1 - keep) ** (n - k) * (1 - mp.exp(at - (2 * k - n) * e))
            for k in range(n + 1)
            if (2 * k - n) * e > at
        )


def test_what_was_charged_with_a_delta_is_not_cut_at_its_epsilon() -> None:
    """A plan of 1,000 responses is charged ε = 19.3446715 at δ = 10⁻⁶: beyond that ε something is left."""
    entry = year(Slot("often", 1000, epsilon=0.1))[0]
    found = composed_of(entry.spend, entry.details, "replace-one")
    assert found is not None
    stated = composed_of(entry.spend, {}, "replace-one")
    assert stated is not None
    for tally in (found.neighbours, stated.neighbours):
        for at_once in (True, False):
            for epsilon, delta in proven_pairs(tally, at_once)[8::8]:
                assert delta >= exact_responses("0.1", 1000, epsilon)
    planted = replace(found.neighbours, curve=entry.spend.curve or ())
    assert any(
        delta < exact_responses("0.1", 1000, epsilon) for epsilon, delta in proven_pairs(planted, False)[-1:]
    )
    steps = Spend(2.0, 1e-6, curve=DESCENT.curve, event=event_text(DESCENT.event))
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        ledger.reserve([Charge("training", "fit", replace(steps, epsilon=2.0))])
        charged = ledger.entries()[0].spend
    assert charged.curve is not None
    assert max(charged.curve) <= 2.0
    training = composed_of(charged, {}, "add-remove-one")
    assert training is not None
    assert max(training.neighbours.curve) > 2.0
    # Between two contents by way of absence no pair is known, and the curve alone says it.
    event = event_text({"name": "ReplacedDpEvent", "event": DESCENT.event})
    apart = composed_of(Spend(4.0, 1e-6, curve=charged.curve, event=event), {}, "replace-one")
    assert apart is not None
    assert max(apart.neighbours.curve) > 4.0
    assert not apart.neighbours.steps


def told_of_a_year() -> Exposure:
    return exposure_so_far(year(Slot("monthly", 12, descent=DESCENT)), policy("add-remove-one"))


def test_a_year_comes_back_from_its_record_and_an_edited_one_does_not() -> None:
    told = statement_of(told_of_a_year())
    text = told.record().model_dump_json(exclude_unset=True)
    assert restated(StatementRecord.model_validate_json(text)).lines == told.lines
    steps = json.loads(text)["exposure"]["composed"]["neighbours"]["steps"]
    assert steps == [
        {
            "noise_multiplier": str(on_a_fine_grid(Fraction(1))),
            "sampling_probability": "1/10",
            "count": 24,
        }
    ]
    for old, new in (('"count":24', '"count":23'), ('"1/10"', '"1/11"')):
        assert old in text
        with pytest.raises(InvalidParameter, match="do not follow from its numbers"):
            restated(StatementRecord.model_validate_json(text.replace(old, new)))
    for wrong in ('"1/0"', '"-1/10"', '"1e9"', '"3/2"'):
        with pytest.raises(InvalidParameter):
            restated(StatementRecord.model_validate_json(text.replace('"1/10"', wrong)))


def test_entries_that_say_the_same_are_read_once_and_all_others_by_themselves() -> None:
    """Equal spends with other details stay apart, and the caps are stated as long as the sum is within."""
    two, one = {"epsilon_contents": 0.2}, {"epsilon_contents": 0.1}
    charges = [Charge("n", "count", Spend(0.1), details=told) for told in (two, one, {}, two, one, one)]
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        for charge in charges:
            ledger.reserve([charge])
        entries = ledger.entries()
    for cap, within in ((0.6, True), (0.59, False)):
        asked = load_policy(
            {
                "dataset": "d",
                "neighbours": "add-remove-one",
                "caps": {"epsilon": cap},
                "columns": {"x": {"keys": [1]}},
            }
        )
        found = exposure_so_far(entries, asked)
        assert found.epsilon == pytest.approx(0.6)
        assert found.epsilon_contents == pytest.approx(3 * 0.2 + 3 * 0.1)
        assert (found.capped is not None) == within


def test_many_kinds_of_steps_count_as_the_one_that_tells_most() -> None:
    each = [Tally(steps=((Fraction(k), Fraction(1, k + 1), 2),)) for k in range(1, 9)]
    assert Tally.total(each).steps == ((Fraction(1), Fraction(1, 2), 16),)
    assert Tally.total(each[:3] * 2).steps == tuple((Fraction(k), Fraction(1, k + 1), 4) for k in (1, 2, 3))
