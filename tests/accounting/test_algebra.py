"""Every algebra: what composes, what is the largest, what groups have, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from accounting.truth import hockey_stick, listed, responses
from leakcap.accounting import (
    Partition,
    best_orders,
    compose,
    compose_approximate,
    dominating_loss,
    group,
    information_price,
    information_total,
    parallel,
    whole_table,
)
from leakcap.adversary import AllPriors, AllPriorsJoint
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    Neighbourhood,
    PureDP,
    Relation,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
)
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, NoRoute
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse

ADDED = Neighbourhood(Relation.ADD_REMOVE_ONE)
REPLACED = Neighbourhood(Relation.REPLACE_ONE)

SUMS: list[tuple[list[Definition], Definition]] = [
    ([PureDP(0.25), PureDP(0.5)], PureDP(0.75)),
    ([KLDP(0.25), KLDP(0.5)], KLDP(0.75)),
    ([MIDP(0.25), MIDP(0.5)], MIDP(0.75)),
    ([MaximalLeakage(0.25), MaximalLeakage(0.5)], MaximalLeakage(0.75)),
    ([ZeroConcentratedDP(0.25), ZeroConcentratedDP(0.5)], ZeroConcentratedDP(0.75)),
    ([GaussianDP(3.0), GaussianDP(4.0)], GaussianDP(5.0)),
    ([DeltaDP(0.5), DeltaDP(0.5)], DeltaDP(0.75)),
    ([ApproxDP(0.5, 0.5), ApproxDP(0.25, 0.5)], ApproxDP(0.75, 0.75)),
    ([RenyiDP(4.0, 0.5), RenyiDP(2.0, 0.25)], RenyiDP(2.0, 0.75)),
    ([LevelCapacity(3.0, 0.5), LevelCapacity(3.0, 0.25)], LevelCapacity(2.0, 0.75)),
    ([LevelCapacity(math.inf, 0.5), LevelCapacity(2.0, 0.25)], LevelCapacity(2.0, 0.75)),
    ([LevelCapacity(1.0, 0.5), LevelCapacity(2.0, 0.25)], LevelCapacity(1.0, 0.75)),
    (
        [LevelCapacity(3.0, 0.5, centre=Centre.SIBSON), LevelCapacity(2.0, 0.25, centre=Centre.SIBSON)],
        LevelCapacity(2.0, 0.75, centre=Centre.SIBSON),
    ),
    ([InformationPrivacy(0.25), InformationPrivacy(0.5)], InformationPrivacy(0.75)),
]


@pytest.mark.parametrize(("parts", "whole"), SUMS)
def test_sums(parts: list[Definition], whole: Definition) -> None:
    assert compose(parts) == whole
    assert compose([replace(p, neighbours=ADDED) for p in parts]) == replace(whole, neighbours=ADDED)


def _random_channels(seed: int, size: int) -> list[Channel]:
    draw = np.random.default_rng(seed)
    return [Channel(draw.dirichlet(np.full(3, 0.6), size=size)) for _ in range(2)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("first", "second"), [(2.0, 3.0), (1.5, 1.5), (8.0, 1.2)])
def test_level_capacities_of_two_queries_never_pass_their_sum(seed: int, first: float, second: float) -> None:
    a, b = _random_channels(seed, 2)
    for centre, adversary in ((Centre.MARGINAL, AllPriorsJoint()), (Centre.SIBSON, AllPriors())):
        parts = [
            LevelCapacity(alpha, capacity(channel, Renyi(alpha), adversary).upper, centre=centre)
            for alpha, channel in ((first, a), (second, b))
        ]
        whole = compose(parts)
        assert capacity(a & b, Renyi(whole.alpha), adversary).lower <= whole.nats * (1 + 1e-9)


def test_reused_noise_is_not_fresh() -> None:
    masked, noise = Channel([[0.5, 0.5], [0.5, 0.5]]), Channel([[0.5, 0.5], [0.5, 0.5]])
    together = Channel([[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0]])
    alone = [MIDP(0.0).tightest(c) for c in (masked, noise)]
    assert compose(alone).nats == pytest.approx(0.0, abs=1e-9)
    assert MIDP(0.0).tightest(together).nats == pytest.approx(math.log(2))


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.05])
def test_optimal_composition_of_pure_guarantees_is_the_binomial_one(delta: float) -> None:
    found = compose_approximate([PureDP(0.125)] * 40, delta=delta)
    assert float(responses(0.125, 40, found.epsilon)) == pytest.approx(delta, rel=1e-9)
    again = compose_approximate([PureDP(0.125)] * 40, epsilon=found.epsilon)
    assert again.delta == pytest.approx(delta, rel=1e-9)


def test_optimal_composition_of_mixed_guarantees_lists_every_outcome() -> None:
    parts = [ApproxDP(0.5, 0.01), PureDP(1.0), DeltaDP(0.05)]
    rows = []
    for e, d in ((0.5, 0.01), (1.0, 0.0), (0.0, 0.05)):
        p = [d, (1 - d) / (1 + math.exp(-e)), (1 - d) / (1 + math.exp(e)), 0.0]
        rows.append((p, p[::-1]))
    for epsilon in (0.0, 0.4, 1.2):
        truth = hockey_stick(listed(rows), epsilon)
        assert compose_approximate(parts, epsilon=epsilon).delta == pytest.approx(truth, rel=1e-12)
    assert compose_approximate([GaussianDP(3.0), GaussianDP(4.0)], delta=1e-3).epsilon == pytest.approx(
        compose_approximate([GaussianDP(5.0)], delta=1e-3).epsilon
    )
    with pytest.raises(NoRoute, match="larger δ"):
        compose_approximate(parts, delta=0.01)
    with pytest.raises(InvalidParameter, match="one of"):
        compose_approximate(parts)
    with pytest.raises(NoRoute, match="dominates"):
        dominating_loss(MIDP(0.1))


def test_best_orders_beat_equal_ones_and_are_valid() -> None:
    parts = [PureDP(2.0), PureDP(0.1), PureDP(0.1)]
    found, orders = best_orders(parts, 2.0)
    assert math.fsum(1 / (a - 1) for a in orders) == pytest.approx(1.0)
    equal = math.fsum(convert(p, LevelCapacity, alpha=4.0).nats for p in parts)
    assert found.nats < equal
    assert found.nats == pytest.approx(
        math.fsum(convert(p, LevelCapacity, alpha=a).nats for p, a in zip(parts, orders, strict=True))
    )


def test_disjoint_parts() -> None:
    parts = [PureDP(0.25), PureDP(0.5)]
    assert parallel(parts, partition=Partition.PUBLIC_INDEX) == PureDP(0.5)
    assert parallel([replace(p, neighbours=ADDED) for p in parts]) == PureDP(0.5, neighbours=ADDED)
    assert parallel([RenyiDP(4.0, 0.5), RenyiDP(2.0, 0.25)], partition=Partition.PUBLIC_INDEX) == RenyiDP(
        2.0, 0.5
    )
    assert parallel([ApproxDP(1.0, 0.1), ApproxDP(0.5, 0.2)], partition=Partition.PUBLIC_INDEX) == ApproxDP(
        1.0, 0.2
    )
    with pytest.raises(InvalidParameter, match="must be told"):
        parallel(parts)
    with pytest.raises(InvalidParameter, match="must be told"):
        parallel([replace(p, neighbours=REPLACED) for p in parts])
    with pytest.raises(NoRoute, match="enter another"):
        parallel([replace(p, neighbours=REPLACED) for p in parts], partition=Partition.BY_VALUE)
    assert whole_table([MIDP(0.25), MIDP(0.5)]) == 0.75


def test_a_record_that_moves_between_parts_changes_both() -> None:
    """Two noisy counts by value: replacing a record moves one from the first to the second."""
    s = math.exp(-1.0)
    count = np.array([[1.0, s, s * s], [s, 1.0, s], [s * s, s, 1.0]])
    count /= count.sum(axis=1, keepdims=True)
    here, moved = np.outer(count[1], count[0]).ravel(), np.outer(count[0], count[1]).ravel()
    alone = max(np.log(count[i] / count[j]).max() for i in range(2) for j in range(2))
    assert np.log(here / moved).max() > 1.5 * alone


GROUPS: list[tuple[Definition, Definition]] = [
    (PureDP(0.5), PureDP(1.5)),
    (DeltaDP(0.25), DeltaDP(0.75)),
    (ZeroConcentratedDP(0.5), ZeroConcentratedDP(4.5)),
    (GaussianDP(0.5), GaussianDP(1.5)),
    (RenyiDP(16.0, 0.5), RenyiDP(4.0, 4.5)),
    (RenyiDP(math.inf, 0.5), RenyiDP(math.inf, 1.5)),
    (InformationPrivacy(0.5), InformationPrivacy(1.5)),
    (LevelCapacity(math.inf, 0.5), LevelCapacity(math.inf, 1.5)),
]


@pytest.mark.parametrize(("one", "three"), GROUPS)
def test_groups(one: Definition, three: Definition) -> None:
    assert group(one, 3) == three
    assert group(one, 1) == one


def test_group_of_approximate_privacy_bounds_a_chain() -> None:
    """Three steps of (ε, δ): the chain of inequalities, step by step."""
    found = group(ApproxDP(0.5, 0.01), 3)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx(0.01 * (1 + math.exp(0.5) + math.exp(1.0)))
    assert group(ApproxDP(0.0, 0.125), 3) == ApproxDP(0.0, 0.375)


@pytest.mark.parametrize(
    "definition", [MIDP(0.1), KLDP(0.1), MaximalLeakage(0.1), LevelCapacity(1.5, 0.1), RenyiDP(2.0, 0.1)]
)
def test_groups_that_do_not_follow(definition: Definition) -> None:
    with pytest.raises(NoRoute, match="records"):
        group(definition, 4)


def _comparison(values: int, delta: float) -> tuple[Channel, Channel]:
    """Cuff & Yu, example 5.1: one entry with the other known, and both."""
    pairs = [(a, b) for a in range(values) for b in range(values)]
    rows = np.zeros((len(pairs), values + 2))
    rows[:, -1] = 1 - delta
    for i, (a, b) in enumerate(pairs):
        rows[i, a if a == b else values] = delta
    return Channel(rows[:values]), Channel(rows)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_the_counter_example_is_one(alpha: float) -> None:
    """No multiple of what one entry leaks bounds both, at α = 1 nor at a level just above."""
    one, both = _comparison(64, 0.01)
    order = Renyi(alpha)
    alone = capacity(one, order, AllPriorsJoint()).upper
    smaller = 1.0 + (alpha - 1.0) / 2.0
    uniform = np.zeros(64 * 64)
    uniform[:: 64 + 1] = 1 / 64
    joint = uniform[:, None] * both.matrix
    product = uniform[:, None] * (uniform @ both.matrix)[None, :]
    together = float(Renyi(smaller).between(joint.ravel(), product.ravel()))
    assert together > 2.5 * alone


def test_groups_over_small_alphabets() -> None:
    found = group(MIDP(0.001), 2, values=8)
    delta = convert(MIDP(0.001), DeltaDP).delta
    assert found.nats == pytest.approx(2 * delta * 2 * math.log(8))
    assert group(MIDP(0.6), 3, outputs=4).nats == pytest.approx(math.log(4), rel=1e-14)
    one, both = _comparison(8, 0.01)
    allowed = group(MIDP(0.0).tightest(one), 2, values=8).nats
    assert capacity(both, Renyi(1.0), AllPriors()).lower <= allowed


def test_mixtures_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one kind"):
        compose([PureDP(1.0), MIDP(1.0)])
    with pytest.raises(InvalidParameter, match="one neighbourhood"):
        compose([PureDP(1.0, neighbours=ADDED), PureDP(1.0, neighbours=REPLACED)])
    with pytest.raises(InvalidParameter, match="one neighbourhood"):
        compose([PureDP(1.0, neighbours=ADDED), PureDP(1.0)])
    with pytest.raises(InvalidParameter, match="one neighbourhood"):
        compose_approximate([PureDP(1.0, neighbours=ADDED), DeltaDP(0.1)], delta=0.2)
    with pytest.raises(InvalidParameter, match="at least one"):
        compose([])
    with pytest.raises(NoRoute, match="belief"):
        compose([LocalInformationPrivacy(1.0)] * 2)
    with pytest.raises(NoRoute, match="extent"):
        compose([InformationPrivacy(1.0, records=3, extent=0.1)] * 2)


def test_prices_in_information_name_their_reason() -> None:
    laplace, response = (
        information_price(Laplace(1.0)),
        information_price(RandomisedResponse(2, 1.0), values=2),
    )
    assert laplace.nats == pytest.approx(0.0885196402, abs=1e-9)
    assert "own capacity" in laplace.reason
    assert information_price(PureDP(1.0)).nats == pytest.approx(0.12330156148, abs=1e-10)
    assert information_price(PureDP(1.0), values=2).nats == pytest.approx(0.1109441, abs=1e-6)
    assert response.nats == pytest.approx(0.1109441, abs=1e-6)
    assert information_price(PureDP(20.0), values=2).nats <= math.log(2)
    assert information_price(PureDP(20.0), outputs=3, values=9).reason.startswith(
        ("the number of answers", "the tight")
    )
    assert information_price(Gaussian(1.0)).nats < math.log1p(1 / math.sqrt(2 * math.pi))
    total = information_total([laplace] * 1000, values=100)
    assert (total.nats, "values" in total.reason) == (math.log(100), True)
    assert information_total([laplace] * 10, values=100).nats == pytest.approx(10 * laplace.nats)
