"""What is spent is never told as less: sums, products and readings against fractions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from families import import_all
from leakcap.accounting import Filter, Odometer, compose, group
from leakcap.accounting.personal import cost
from leakcap.definition import (
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from leakcap.errors import BudgetExceeded, LeakcapError, NoRoute

ADD_UP = "the sum"
import_all("leakcap.definition")
KINDS = tuple(sorted(Definition.__subclasses__(), key=lambda kind: kind.__name__))


def union(deltas: list[Fraction]) -> Fraction:
    return 1 - math.prod((1 - d for d in deltas), start=Fraction(1))


def drawn(rng: random.Random, top: float = 0.9) -> float:
    return rng.choice([0.1, 0.3, 1e-9, 1 / 3, rng.random(), 10.0 ** rng.uniform(-12, -1)]) * top


def example(kind: type[Definition], rng: random.Random) -> Definition:
    start = kind.examples()[0]
    if kind is LevelCapacity:
        return LevelCapacity(2.0, drawn(rng), centre=Centre.SIBSON)
    if kind is ApproxDP:
        return ApproxDP(drawn(rng), drawn(rng))
    return start.with_threshold(drawn(rng))


def fair(total: Definition, parts: list[Definition]) -> bool:
    """Whether what is told of all is no less than what they spend, by their kind's algebra."""
    thresholds = [Fraction(part.threshold) for part in parts]
    told = Fraction(total.threshold)
    if isinstance(total, GaussianDP):
        return told**2 >= sum(mu**2 for mu in thresholds)
    if isinstance(total, ApproxDP):
        enough = Fraction(total.epsilon) >= sum(Fraction(part.epsilon) for part in parts)
        return enough and told >= union(thresholds)
    return told >= (union(thresholds) if isinstance(total, DeltaDP) else sum(thresholds))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_compositions_are_rounded_up(kind: type[Definition]) -> None:
    rng, tested = random.Random(3), 0
    for _ in range(200):
        parts = [example(kind, rng) for _ in range(rng.randint(1, 12))]
        try:
            total = compose(parts)
        except NoRoute:
            assert kind is LocalInformationPrivacy
            return
        tested += 1
        assert fair(total, parts), (total, parts)
    assert tested == 200


GROUPS: dict[type[Definition], Callable[[Any, int], list[tuple[float, Fraction]]]] = {
    PureDP: lambda d, k: [(group(d, k).epsilon, k * Fraction(d.epsilon))],
    DeltaDP: lambda d, k: [(group(d, k).delta, min(k * Fraction(d.delta), Fraction(1)))],
    ApproxDP: lambda d, k: [(group(d, k).epsilon, k * Fraction(d.epsilon))],
    ZeroConcentratedDP: lambda d, k: [(group(d, k).rho, k * k * Fraction(d.rho))],
    GaussianDP: lambda d, k: [(group(d, k).mu, k * Fraction(d.mu))],
    InformationPrivacy: lambda d, k: [(group(d, k).epsilon, k * Fraction(d.epsilon))],
    RenyiDP: lambda d, k: [
        (group(RenyiDP(1024.0, d.epsilon), k).epsilon, 3 ** math.ceil(math.log2(k)) * Fraction(d.epsilon))
    ],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_groups_are_rounded_up(kind: type[Definition]) -> None:
    rng, tested = random.Random(4), 0
    for _ in range(100):
        definition, k = example(kind, rng), rng.randint(2, 20)
        if kind not in GROUPS:
            with pytest.raises(LeakcapError):
                group(definition, k)
            tested += 1
            continue
        for told, true in GROUPS[kind](definition, k):
            tested += 1
            assert told >= true, (definition, k)
    assert tested >= 100


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_odometers_read_no_less_than_was_spent(kind: type[Definition]) -> None:
    rng = random.Random(5)
    for _ in range(60):
        prices = [example(kind, rng) for _ in range(rng.randint(1, 20))]
        first = example(kind, rng)
        try:
            odometer = Odometer(first)
            for price in prices:
                odometer = odometer.after(price)
        except NoRoute:
            return
        spent = sum(Fraction(p.mu) ** 2 if isinstance(p, GaussianDP) else Fraction(cost(p)) for p in prices)
        reading = odometer.reading
        told = Fraction(reading.threshold) ** (2 if isinstance(reading, GaussianDP) else 1)
        assert odometer.spent >= spent, (first, prices)
        assert told >= (min(odometer.spent, 1.0) if kind is DeltaDP else odometer.spent), (first, prices)
        base = Fraction(first.threshold) ** (2 if isinstance(first, GaussianDP) else 1)
        assert (
            kind in (PureDP, DeltaDP)
            or odometer.level == 0
            or base * 2 ** (odometer.level - 1) < odometer.spent
        )


def test_the_odometer_of_sixteen_tenths() -> None:
    """0.1·2⁴ is below what was spent, by the last bit."""
    odometer = Odometer(ZeroConcentratedDP(0.1), 1.6000000000000003)
    assert odometer.reading.threshold >= odometer.spent


@pytest.mark.parametrize("cap", [0.3, 0.9, 1.0, 2.0])
def test_a_filter_lets_nothing_past_a_square(cap: float) -> None:
    rng, tested = random.Random(6), 0
    for _ in range(300):
        prices = [GaussianDP(drawn(rng) * cap) for _ in range(8)]
        keeper, paid = Filter(GaussianDP(cap)), Fraction(0)
        for price in prices:
            try:
                keeper = keeper.after(price)
            except BudgetExceeded:
                continue
            paid += Fraction(price.mu) ** 2
            tested += 1
            assert paid <= Fraction(cap) ** 2
            assert Fraction(keeper.left) <= Fraction(cap) ** 2 - paid
    assert tested > 500


def test_level_capacities_compose_at_an_order_that_is_not_too_high() -> None:
    rng, tested = random.Random(7), 0
    for _ in range(200):
        orders = [1.0 + 10.0 ** rng.uniform(-9, 4) for _ in range(rng.randint(2, 6))]
        found = compose([LevelCapacity(alpha, 0.1) for alpha in orders])
        true = 1 + 1 / sum(1 / (Fraction(alpha) - 1) for alpha in orders)
        tested += Fraction(found.alpha) <= true
    assert tested == 200
    assert compose([MIDP(0.1)] * 10).nats > 1.0
