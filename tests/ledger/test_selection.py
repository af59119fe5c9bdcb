"""The best of several runs tells no more than is charged: by laws written out, and another's figures."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import make_dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

from leakcap.accounting import PrivacyLoss
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import as_dp_event, export, outside_event
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.event_kinds import NO_RHO, Guarantee
from leakcap.ledger.measured import charge_covers, event_epsilon, guarantee, rho_of
from leakcap.ledger.selection import _rarity, _tilt, best_run
from leakcap.ledger.values import event_text
from ledger.test_outside import FILE, open_ledger_of

Row = np.ndarray[Any, Any]


class Times(NamedTuple):
    """A law of how many runs there are: its shape, and the chance of each number."""

    shape: str
    chances: Row

    @property
    def mean(self) -> Fraction:
        return Fraction(float(np.arange(len(self.chances)) @ self.chances))

    @property
    def event(self) -> dict[str, str]:
        return {"name": "RepeatAndSelectDpEvent", "mean": str(self.mean), "shape": self.shape}


def truncated(shape: Fraction, gamma: float) -> Times:
    """By the ratio of neighbouring chances, (1 − γ)(k + η)/(k + 1), which says all but their sum."""
    weights, k = [0.0, 1.0], 1
    while weights[-1] > 1e-25:
        weights.append(weights[-1] * (1 - gamma) * (k + float(shape)) / (k + 1))
        k += 1
    return Times(str(shape), np.array(weights) / math.fsum(weights))


def poisson(mean: float) -> Times:
    weights = [1.0]
    while len(weights) < mean or weights[-1] > 1e-25:
        weights.append(weights[-1] * mean / len(weights))
    return Times("inf", np.array(weights) / math.fsum(weights))


LAWS = [
    truncated(Fraction(0), 0.05),
    truncated(Fraction(1, 2), 0.2),
    truncated(Fraction(1), 0.1),
    truncated(Fraction(1), 0.7),
    truncated(Fraction(4), 0.3),
    poisson(0.3),
    poisson(1.0),
    poisson(6.0),
]


def best(row: Row, times: Times) -> Row:
    """The law of the best outcome, the last being best, and of none; by every number of runs."""
    upto = np.minimum(np.cumsum(row), 1.0)
    powers = upto[None, :] ** np.arange(len(times.chances))[:, None]
    reached = np.concatenate([[times.chances[0]], times.chances[1:] @ powers[1:] + times.chances[0]])
    return np.concatenate([reached[:1], np.diff(reached)])


def divergence(p: Row, q: Row, order: float) -> float:
    there, logs = p[p > 0], np.log(p[p > 0] / q[p > 0])
    if order == 1:
        return float(there @ logs)
    return float(np.logaddexp.reduce(np.log(there) + (order - 1) * logs) / (order - 1))


def curve_of(p: Row, q: Row) -> tuple[float, ...]:
    return tuple(max(divergence(p, q, at), divergence(q, p, at)) for at in ORDERS)


def epsilon_of(p: Row, q: Row) -> float:
    return float(np.abs(np.log(p[p > 0] / q[p > 0])).max())


RARE = np.array([0.99, 0.01]), np.array([1 - 1e-7, 1e-7])
"""What the best outcome tells, once it has happened, outweighs all else."""


def pairs() -> Iterator[tuple[Row, Row]]:
    source = np.random.default_rng(7)
    for size in (2, 3, 4):
        for width in (0.5, 5.0):
            yield source.dirichlet(np.full(size, width)), source.dirichlet(np.full(size, width))
    yield RARE
    yield RARE[0][::-1], RARE[1][::-1]


def runs(p: Row, q: Row) -> Iterator[tuple[Guarantee, PrivacyLoss | None]]:
    """What may be known of one run: its curve; its ε too; and its loss."""
    curve = tuple(nats * (1 + 1e-12) for nats in curve_of(p, q))
    epsilon = Fraction(epsilon_of(p, q) * (1 + 1e-12))
    yield Guarantee(None, Fraction(0), curve, NO_RHO), None
    yield Guarantee(epsilon, Fraction(0), curve, NO_RHO), None
    yield Guarantee(epsilon, Fraction(0), curve, NO_RHO), PrivacyLoss.of_rows(p, q)


@pytest.mark.parametrize("times", LAWS, ids=[f"{one.shape}, {float(one.mean):.2f}" for one in LAWS])
def test_no_law_of_the_best_is_further_apart_than_is_said(times: Times) -> None:
    """Eight pairs of rows, known in three ways, at the ledger's orders; ln E[K] left out is caught."""
    caught = False
    for p, q in pairs():
        a, b = best(p, times), best(q, times)
        assert math.fsum(a) == pytest.approx(1.0, abs=1e-12)
        truth, far = curve_of(a, b), epsilon_of(a, b)
        before = (math.inf,) * len(ORDERS)
        for run, loss in runs(p, q):
            found = best_run(times.event, run, loss)
            assert all(said >= nats * (1 - 1e-9) for said, nats in zip(found.curve, truth, strict=True))
            assert all(said <= more * (1 + 1e-9) for said, more in zip(found.curve, before, strict=True))
            before = found.curve
            if found.epsilon is not None:
                assert found.epsilon >= far * (1 - 1e-9)
            for order, said, nats in zip(ORDERS[1:], found.curve[1:], truth[1:], strict=True):
                less = math.log(times.mean) / (order - 1)
                caught |= said - less < nats * (1 - 1e-6)
    assert caught or times.mean < 2


@pytest.mark.parametrize("x", [0.01, 1.0, 4.0])
def test_a_test_s_odds_are_moved_as_far_as_its_best_set_moves_them(x: float) -> None:
    """The ratio of γ + (1 − γ)·P(S) under both rows, over all sets S; other routes are no nearer."""
    gamma = math.exp(-x)
    for p, q in pairs():
        sets = [list(chosen) for chosen in itertools.product((0.0, 1.0), repeat=len(p))]
        chances = [[gamma + (1 - gamma) * float(row @ one) for row in (p, q)] for one in sets]
        truth = max(abs(math.log(a / b)) for a, b in chances)
        *others, known = [_tilt(x, run, loss) for run, loss in runs(p, q)]
        assert truth * (1 - 1e-12) <= known <= truth * (1 + 1e-5)
        assert min(others) >= known


@pytest.mark.parametrize("times", LAWS[:5] + LAWS[6:], ids=lambda one: one.shape)
def test_the_epsilon_of_the_best_is_attained(times: Times) -> None:
    """By three outcomes of which the middle one is rare; half of what is added would be too little. It is
    (2 + η)ε at most, or ε + E[K]·tanh(ε/2)."""
    odds, h = math.e, 1e-7
    p = np.array([odds / (1 + odds) - odds * h, odds * h, 1 / (1 + odds)])
    q = np.array([1 / (1 + odds) - h, h, odds / (1 + odds)])
    run = Guarantee(Fraction(1), Fraction(0), curve_of(p, q), NO_RHO)
    epsilon = best_run(times.event, run, None).epsilon
    assert epsilon is not None
    truth = epsilon_of(best(p, times), best(q, times))
    assert float(epsilon) == pytest.approx(truth, rel=1e-5)
    assert (1 + epsilon) / 2 < truth
    most = 1 + float(times.mean) * math.tanh(0.5) if times.shape == "inf" else 2 + Fraction(times.shape)
    assert epsilon <= most * (1 + 1e-12)


def test_no_run_at_all_has_to_be_counted() -> None:
    """The published bound is for one run or more in the mean: below, it is less than is true."""
    times = poisson(0.3)
    p, q = RARE
    truth = curve_of(best(p, times), best(q, times))
    loss, mean = PrivacyLoss.of_rows(p, q), float(times.mean)
    below = 0
    for order, nats, true in zip(ORDERS[1:], curve_of(p, q)[1:], truth[1:], strict=True):
        delta = loss.delta_both(math.log(order / (order - 1))).upper
        below += nats + mean * delta + math.log(mean) / (order - 1) < true
    assert below > 0


def test_a_delta_is_had_once_for_each_run() -> None:
    """Of a run that shows whose data it has with chance .01, and else keeps ε = 1: by all outcomes."""
    delta, keep = 0.01, math.e / (1 + math.e)
    p = np.array([delta, (1 - delta) * (1 - keep), (1 - delta) * keep, 0.0])
    q = p[::-1]
    run = guarantee(event_text({"name": "EpsilonDeltaDpEvent", "epsilon": "1", "delta": "1/100"}))
    for times in LAWS:
        found = best_run(times.event, run, None)
        assert found.epsilon is not None
        a, b = best(p, times), best(q, times)
        for one, other in ((a, b), (b, a)):
            rest = float(np.sum(np.maximum(one - math.exp(found.epsilon) * other, 0.0)))
            assert 0 < rest <= found.delta
    curve_alone = Guarantee(None, Fraction(1, 100), run.curve, NO_RHO)
    with pytest.raises(InvalidParameter, match="Say it as a `ProfileDpEvent`"):
        best_run(LAWS[0].event, curve_alone, None)


@pytest.mark.parametrize("shape", ["0", "1/1000000000", "1/1000", "1/2", "1", "7", "1000000"])
@pytest.mark.parametrize("mean", ["100000000000001/100000000000000", "3/2", "10", "1000000"])
def test_gamma_is_that_of_the_mean(shape: str, mean: str) -> None:
    """In fifty digits, by the published mean of the law; a shape next to 0 is taken as 0."""
    x = _rarity(Fraction(mean), Fraction(shape))
    with mpmath.workdps(50):
        eta, wanted = (mpmath.mpf(one.numerator) / one.denominator for one in map(Fraction, (shape, mean)))

        def of(gamma: mpmath.mpf) -> mpmath.mpf:
            if eta == 0:
                return (1 / gamma - 1) / mpmath.log(1 / gamma)
            return eta * (1 - gamma) / (gamma * (1 - gamma**eta))

        assert of(mpmath.exp(-mpmath.mpf(x))) >= wanted
        assert of(mpmath.exp(-mpmath.mpf(x) * (1 - mpmath.mpf(10) ** -7))) < wanted
        if shape == "1":
            assert x == pytest.approx(float(mpmath.log(wanted)), rel=1e-11)


# dp-accounting 0.6.0, RdpAccountant(orders=ORDERS[1:]), of GaussianDpEvent(2.0), by mean and shape.
THEIRS: dict[tuple[str, str], dict[float, float]] = {
    ("10", "1"): {
        1.1: 3.097556728662697,
        2: 3.097556728662697,
        8: 3.227311880012376,
        256: 33.907400897904516,
    },
    ("10", "0"): {
        1.1: 2.418949290315697,
        2: 2.418949290315697,
        8: 2.548704441665376,
        256: 33.228793459557515,
    },
    ("3", "1/2"): {1.1: 1.929080250988371, 2: 1.929080250988371, 8: 2.21982076743254, 256: 33.06718443825064},
    ("50", "7"): {1.1: 8.721285333720832, 2: 8.721285333720832, 8: 8.753141928829686, 256: 39.20962276617076},
    ("10", "inf"): {2: 3.136291042122304, 8: 3.710827124932396, 64: 10.937919987488563},
    ("1", "inf"): {1.1: 0.13750126316865396, 2: 0.3083705949128258, 8: 1.2381886397361819},
}


def selection(mean: Any = 10, shape: Any = 1, **event: Any) -> dict[str, Any]:
    run = event or {"name": "GaussianDpEvent", "noise_multiplier": 2}
    return {"name": "RepeatAndSelectDpEvent", "event": run, "mean": mean, "shape": shape}


def said(event: Any) -> dict[float, float]:
    return dict(zip(ORDERS, guarantee(event_text(outside_event(event))).curve, strict=True))


@pytest.mark.parametrize(("mean", "shape"), THEIRS)
def test_dp_accounting_says_the_same_or_more(mean: str, shape: str) -> None:
    """Of a curve alone the same; of Gaussian noise, whose loss is known, less."""
    alone = said(selection(mean, shape, name="ZCDpEvent", rho="1/8"))
    known = said(selection(mean, shape))
    for order, nats in THEIRS[mean, shape].items():
        if shape == "inf":  # their δ is of another conversion
            assert alone[order] <= nats
        else:
            assert alone[order] == pytest.approx(nats, rel=1e-8)
        assert known[order] < alone[order]


def test_of_one_run_what_it_is() -> None:
    gaussian = {"name": "GaussianDpEvent", "noise_multiplier": 2}
    assert said(selection(1, 3)) == said(gaussian)
    nothing = said(selection(50, 1, name="NoOpDpEvent"))
    assert max(nothing.values()) == 0.0
    assert rho_of(event_text(outside_event(selection(50, 1, name="NoOpDpEvent")))) == 0


def test_a_tuning_is_charged_and_computed_again(tmp_path: Path) -> None:
    """Ten trainings in the mean: charged, verified, exported; no less than its event is enough."""
    training = {"name": "SelfComposedDpEvent", "count": 200, "event": {
        "name": "PoissonSampledDpEvent", "sampling_probability": 0.01,
        "event": {"name": "GaussianDpEvent", "noise_multiplier": 1.1}}}  # fmt: skip
    told = FILE | {"spends": [
        {"query": "tuned", "event": selection(10, 1, **training), "delta": 1e-6},
        {"query": "tuned by Poisson", "event": selection(10, "inf", **training), "delta": 1e-6},
        {"query": "pure", "event": selection(10, 0, name="LaplaceDpEvent", noise_multiplier=10)},
    ]}  # fmt: skip
    caps = {"epsilon": 9.0, "delta": 1e-4, "delta_of_answers": 5e-5}
    with open_ledger_of(tmp_path / "l.db", caps=caps) as ledger:
        entries = ledger.spend(told)
        alone = event_epsilon(event_text(outside_event(training)), Fraction(1, 10**6))
        assert alone < entries[0].spend.epsilon < 3 * alone
        assert 0.1 < entries[2].spend.epsilon < 0.2
        ledger.verify()
        assert [json.loads(one.spend.event_text)["shape"] for one in entries] == ["1", "inf", "0"]
        for entry in entries:
            ticks = entry.spend.ticks(None)
            assert charge_covers(entry.spend.event_text, ticks)
            less = tuple((one or 0) * 99 // 100 for one in ticks.curve)
            assert not charge_covers(entry.spend.event_text, ticks._replace(curve=less))
        assert "RepeatAndSelectDpEvent" in export(ledger.entries(), "csv")
    replaced = {"neighbours": "replace-one", "rows": 50, "caps": caps}
    with open_ledger_of(tmp_path / "m.db", **replaced) as ledger:
        (entry,) = ledger.spend(told | {"spends": told["spends"][:1]})
        assert json.loads(entry.spend.event_text)["event"]["name"] == "ReplacedDpEvent"
        assert entry.spend.epsilon > entries[0].spend.epsilon
        ledger.verify()
        with pytest.raises(LedgerError, match=r"does not follow\. Nothing was spent"):
            ledger.spend(told | {"spends": told["spends"][2:]})


def test_selections_go_there_and_back() -> None:
    fields = {
        "GaussianDpEvent": ["noise_multiplier"],
        "RepeatAndSelectDpEvent": ["event", "mean", "shape"],
        "SelfComposedDpEvent": ["event", "count"],
    }
    module = SimpleNamespace(**{name: make_dataclass(name, given) for name, given in fields.items()})
    for shape, stands in ((math.inf, "inf"), (np.float64("inf"), "inf"), ("Infinity", "inf"), (0.5, "1/2")):
        event = outside_event({"name": "SelfComposedDpEvent", "count": 2, "event": selection(2.5, shape)})
        assert event["event"]["shape"] == stands
        assert event["event"]["mean"] == "5/2"
        there = as_dp_event(event, events=module)
        assert there.event.shape == float(shape)
        assert outside_event(there) == event


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (selection(0.5, 1), "`mean` of `RepeatAndSelectDpEvent` must be at least 1"),
        (selection(0, math.inf), "must be above 0"),
        (selection(10, -0.5), "`shape` of an event must be a number from 0"),
        (selection(10, math.nan), "`shape` of an event must be a number from 0"),
        (selection(math.inf, 1), "`mean` of an event must be a number from 0"),
        (selection(10, "often"), "`shape` of an event must be a number from 0"),
        (selection(10, 1, name="MadeUpDpEvent"), "`MadeUpDpEvent`"),
        ({"name": "RepeatAndSelectDpEvent", "mean": 1, "shape": 1}, "must have the fields"),
    ],
)
def test_what_is_no_selection_is_refused(event: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        outside_event(event)
