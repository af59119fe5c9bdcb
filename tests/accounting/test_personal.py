"""Filters, odometers, personal budgets; and events of dp-accounting, by stand-ins of the same names."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.truth import gaussian
from leakcap.accounting import Filter, Odometer, PersonalBudgets, PrivacyLoss, from_event, to_event
from leakcap.accounting.events import _READERS
from leakcap.definition import (
    MIDP,
    ApproxDP,
    Centre,
    GaussianDP,
    LevelCapacity,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from leakcap.errors import BudgetExceeded, InvalidParameter, NoRoute
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse


@given(st.lists(st.floats(1e-9, 0.5), max_size=60))
def test_a_filter_never_lets_the_exact_sum_pass(prices: list[float]) -> None:
    gate, passed = Filter(PureDP(1.0)), []
    for price in prices:
        if gate.allows(PureDP(price)):
            gate = gate.after(PureDP(price))
            passed.append(price)
        else:
            with pytest.raises(BudgetExceeded):
                gate.after(PureDP(price))
    assert math.fsum(passed) <= 1.0
    assert gate.spent >= math.fsum(passed)


def test_an_exact_fit_is_allowed() -> None:
    gate = Filter(PureDP(1.0))
    for _ in range(8):
        gate = gate.after(PureDP(0.125))
    assert gate.left == 0.0
    assert not gate.allows(PureDP(1e-12))


def test_adaptive_prices_stay_below_the_cap_of_an_attack() -> None:
    """Randomised responses whose ε depends on the answers so far: every path's loss stays in the filter."""
    worst = 0.0
    paths: list[tuple[float, Filter]] = [(0.0, Filter(PureDP(1.0)))]
    for _ in range(6):
        grown = []
        for loss, gate in paths:
            price = 0.375 if loss > 0 else 0.125
            if not gate.allows(PureDP(price)):
                worst = max(worst, abs(loss))
                continue
            grown += [(loss + sign * price, gate.after(PureDP(price))) for sign in (1, -1)]
        paths = grown
        worst = max([worst, *(abs(loss) for loss, _ in paths)])
    assert 0.5 < worst <= 1.0


def test_costs_and_refusals() -> None:
    gate = Filter(GaussianDP(5.0)).after(GaussianDP(3.0)).after(GaussianDP(4.0))
    assert gate.left == 0.0
    assert Filter(RenyiDP(2.0, 1.0)).allows(RenyiDP(4.0, 0.5))
    assert Filter(LevelCapacity(2.0, 1.0, centre=Centre.SIBSON)).left == 1.0
    with pytest.raises(InvalidParameter, match="order"):
        Filter(RenyiDP(4.0, 1.0)).allows(RenyiDP(2.0, 0.5))
    for cap in (ApproxDP(1.0, 1e-6), LevelCapacity(2.0, 1.0)):
        with pytest.raises(NoRoute, match="free"):
            Filter(cap)
    with pytest.raises(InvalidParameter, match="one kind"):
        Filter(PureDP(1.0)).allows(MIDP(0.1))
    with pytest.raises(InvalidParameter, match="spent"):
        Filter(PureDP(1.0), math.nan)


def test_odometers_read_at_least_the_sum() -> None:
    here = Odometer(ZeroConcentratedDP(0.1))
    pure = Odometer(PureDP(0.1))
    shares = []
    for _ in range(50):
        here, pure = here.after(ZeroConcentratedDP(0.0625)), pure.after(PureDP(0.0625))
        assert here.reading.threshold >= here.spent
        assert here.reading.threshold <= max(2 * here.spent, 0.1) * (1 + 1e-12)
        shares.append((here.level, here.share(1e-6)))
    assert pure.reading == PureDP(50 * 0.0625)
    assert math.fsum(share for _, share in set(shares)) < 1e-6


def test_people_without_budget_are_not_counted() -> None:
    budgets = PersonalBudgets({"a": PureDP(1.0), "b": PureDP(0.25), "c": PureDP(10.0)})
    counts = []
    for _ in range(5):
        budgets, counted = budgets.charge({"a": PureDP(0.25), "b": PureDP(0.25), "c": PureDP(0.5)})
        counts.append("".join(sorted(map(str, counted))))
    assert counts == ["abc", "ac", "ac", "ac", "c"]
    assert [budgets.left(who) for who in "abc"] == [0.0, 0.0, 7.5]
    with pytest.raises(InvalidParameter, match="not shown"):
        budgets.charge({"stranger": PureDP(0.1)})
    with pytest.raises(InvalidParameter, match="one kind"):
        PersonalBudgets({"a": PureDP(1.0), "b": MIDP(1.0)})


def _made(name: str, *fields: str) -> type:
    def init(self: Any, *values: Any) -> None:
        for field, value in zip(fields, values, strict=True):
            setattr(self, field, value)

    return type(name, (), {"__init__": init})


STAND_INS = SimpleNamespace(
    **{
        name: _made(name, *fields)
        for name, fields in {
            "NoOpDpEvent": (),
            "NonPrivateDpEvent": (),
            "GaussianDpEvent": ("noise_multiplier",),
            "LaplaceDpEvent": ("noise_multiplier",),
            "DiscreteLaplaceDpEvent": ("noise_parameter", "sensitivity"),
            "RandomizedResponseDpEvent": ("noise_parameter", "num_buckets"),
            "PoissonSampledDpEvent": ("sampling_probability", "event"),
            "SelfComposedDpEvent": ("event", "count"),
            "ComposedDpEvent": ("events",),
            "SampledWithoutReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
            "SampledWithReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
            "TruncatedSubsampledGaussianDpEvent": (
                "dataset_size",
                "sampling_probability",
                "truncated_batch_size",
                "noise_multiplier",
            ),
            "SingleEpochTreeAggregationDpEvent": ("noise_multiplier", "step_counts"),
            "ZCDpEvent": ("rho", "xi"),
            "RepeatAndSelectDpEvent": ("event", "mean", "shape"),
        }.items()
    }
)


@pytest.mark.parametrize(
    "loss",
    [
        PrivacyLoss.of_mechanism(Gaussian(2.0)),
        PrivacyLoss.of_mechanism(Laplace(2.0)) ** 5,
        PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled(0.1) ** 3 & PrivacyLoss.of_mechanism(Laplace(0.5)),
        PrivacyLoss.of_mechanism(Laplace(2.0)).sampled(0.25),
        PrivacyLoss.of_mechanism(RandomisedResponse(2, 0.75)),
        PrivacyLoss.of_mechanism(RandomisedResponse(5, 0.75)) ** 2,
        PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled_fixed(3 / 700) ** 4,
        PrivacyLoss.of_mechanism(Laplace(2.0)).sampled_fixed(0.2),
        PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled_with_replacement(5, 50),
        PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled_truncated(0.1, people=100, most=15) ** 2,
    ],
)
def test_events_there_and_back(loss: PrivacyLoss) -> None:
    back = from_event(to_event(loss, events=STAND_INS))
    assert back.queries == loss.queries
    for epsilon in (0.0, 0.3):
        assert back.delta(epsilon).midpoint == pytest.approx(loss.delta(epsilon).midpoint, rel=1e-9)


def test_zcdp_statements_of_a_plan_are_added_up() -> None:
    """Two of ρ = .05 and some noise are one of ρ = .1 and the noise; ε of ρ alone by its conversion."""
    half, noise = STAND_INS.ZCDpEvent(0.05, 0.0), STAND_INS.GaussianDpEvent(3.0)
    plan = from_event(STAND_INS.ComposedDpEvent([half, noise, STAND_INS.SelfComposedDpEvent(half, 1)]))
    assert plan.queries == 2
    alone = from_event(STAND_INS.SelfComposedDpEvent(half, 2))
    assert alone.epsilon(1e-6).upper == pytest.approx(2.142, abs=1e-3)  # dp-accounting 0.6.0 says 2.141939
    back = to_event(alone, events=STAND_INS)
    assert back.rho == pytest.approx(0.1)
    # All Gaussian: 1/9 and .2 in μ², exactly.
    exact = PrivacyLoss.of_mechanism(Gaussian(1 / math.sqrt(0.2))) & PrivacyLoss.of_mechanism(Gaussian(3.0))
    assert exact.epsilon(1e-6).upper < plan.epsilon(1e-6).upper < 1.2 * exact.epsilon(1e-6).upper


def test_a_tree_is_its_levels() -> None:
    """A record is in ceil(log₂(steps + 1)) nodes: Kairouz et al. 2021, appendix D."""
    for steps, levels in ((1, 1), (2, 2), (3, 2), (7, 3), (8, 4), ([5, 9], 4), (1024, 11)):
        loss = from_event(STAND_INS.SingleEpochTreeAggregationDpEvent(2.0, steps))
        assert loss.delta(1.0).midpoint == pytest.approx(
            float(gaussian(math.sqrt(levels) / 2.0, 1.0)), rel=1e-9
        )


def test_every_event_is_read_or_refused_by_name() -> None:
    read = {name for name in vars(STAND_INS) if name in _READERS}
    assert read == set(_READERS)
    assert len(read) >= 14


def test_events_with_closed_forms_and_refusals() -> None:
    discrete = from_event(STAND_INS.DiscreteLaplaceDpEvent(0.5, 1))
    assert discrete.epsilon(0.0).upper == pytest.approx(0.5)
    assert from_event(STAND_INS.NoOpDpEvent()).delta(0.0).upper == pytest.approx(0.0, abs=1e-15)
    assert from_event(STAND_INS.NonPrivateDpEvent()).delta(9.0).lower == 1.0
    noisy = from_event(STAND_INS.RandomizedResponseDpEvent(0.5, 4))
    assert noisy.epsilon(0.0).upper == pytest.approx(math.log(0.625 / 0.125))
    with pytest.raises(NoRoute, match="RepeatAndSelectDpEvent"):
        from_event(STAND_INS.RepeatAndSelectDpEvent(STAND_INS.NoOpDpEvent(), 2.0, 1.0))
    with pytest.raises(InvalidParameter, match="step_counts"):
        from_event(STAND_INS.SingleEpochTreeAggregationDpEvent(1.0, []))
    odd = PrivacyLoss.of_rows(np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3]))
    with pytest.raises(InvalidParameter, match="no event"):
        to_event(odd, events=STAND_INS)
