"""Definitions as values: what they measure, what they refuse, how they read."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from leakcap.bound import Bound
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
)
from leakcap.errors import InvalidParameter, InvalidPrior

G = Channel([[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]])
R = Channel([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])


@pytest.mark.parametrize(
    ("channel", "epsilon", "capacity", "bayes"),
    [(G, 4, 0.1606206307, 5 / 3), (R, 3, 0.1483417494, 9 / 5)],
)
def test_reference_channels(channel: Channel, epsilon: float, capacity: float, bayes: float) -> None:
    assert PureDP(0).tightest(channel).epsilon == pytest.approx(math.log(epsilon), rel=1e-12)
    assert MIDP(0).tightest(channel).nats == pytest.approx(capacity, abs=1e-9)
    assert MaximalLeakage(0).tightest(channel).nats == pytest.approx(math.log(bayes), rel=1e-12)
    assert InformationPrivacy(0).tightest(channel).epsilon == pytest.approx(math.log(epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0])
def test_every_definition_measures_randomised_response(epsilon: float) -> None:
    """Closed forms of the two-outcome channel, each from its own definition."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    channel = Channel([[p, 1 - p], [1 - p, p]])
    kl = (2 * p - 1) * epsilon
    d2 = math.log(p**2 / (1 - p) + (1 - p) ** 2 / p)
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    expected: list[tuple[Definition, float]] = [
        (PureDP(0), epsilon),
        (DeltaDP(0), 2 * p - 1),
        (ApproxDP(0.1 * epsilon, 0), p - math.exp(0.1 * epsilon) * (1 - p)),
        (KLDP(0), kl),
        (RenyiDP(2, 0), d2),
        (ZeroConcentratedDP(0), kl),
        (MIDP(0), math.log(2) - entropy),
        (MaximalLeakage(0), math.log(2 * p)),
        (LevelCapacity(math.inf, 0), epsilon),
        (LevelCapacity(math.inf, 0, centre=Centre.SIBSON), math.log(2 * p)),
        (LevelCapacity(2, 0, centre=Centre.SIBSON), math.log(2) + math.log(p**2 + (1 - p) ** 2)),
        (LocalInformationPrivacy(0), -math.log(2 * (1 - p))),
    ]
    for definition, value in expected:
        bound = definition.measure(channel)
        assert bound.lower <= value * (1 + 1e-8) + 1e-12, definition
        assert bound.upper == pytest.approx(value, rel=2e-8, abs=1e-11), definition


def test_zero_concentration_may_peak_inside() -> None:
    """A pair whose D_α/α is largest at an inner order: the enclosure finds it."""
    rare = Channel([[1e-6, 1 - 1e-6], [1e-12, 1 - 1e-12]])
    bound = ZeroConcentratedDP(0).measure(rare)
    p, q = np.array([1e-6, 1 - 1e-6]), np.array([1e-12, 1 - 1e-12])
    orders = 1 + np.exp(np.linspace(-5, 8, 20001))
    tilt = np.logaddexp(*(np.log(p)[:, None] * orders + np.log(q)[:, None] * (1 - orders)))
    best = float(np.max(tilt / (orders - 1) / orders))
    assert bound.lower == pytest.approx(best, rel=1e-6)
    assert bound.lower <= bound.upper <= bound.lower * (1 + 1e-8)
    assert bound.lower > 10 * KLDP(0).measure(rare).upper


def test_gaussian_measure_follows_the_worst_vertex() -> None:
    from statistics import NormalDist

    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    inverse = NormalDist().inv_cdf
    # Vertices of the trade-off of row 0 against row 1: reject {2}, then {1, 2}; and mirrored.
    mus = [inverse(1 - 0.1) - inverse(0.4), inverse(1 - 0.3) - inverse(0.1)]
    assert GaussianDP(0).tightest(channel).mu == pytest.approx(max(mus), rel=1e-9)
    assert GaussianDP(0).tightest(Channel([[0.5, 0.5], [0.5, 0.5]])).mu == pytest.approx(0.0, abs=1e-15)


def test_equal_records_make_the_family_price_real() -> None:
    """k copies of one record, each through its own ε-response: the log-lift about one reaches kε."""
    epsilon, k = 0.4, 3
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    one = Channel([[p, 1 - p], [1 - p, p]])
    family = one & one & one
    assert PureDP(0).tightest(family).epsilon == pytest.approx(k * epsilon, rel=1e-12)
    price = InformationPrivacy(0, records=k).measure(one)
    assert price.lower == pytest.approx(epsilon, rel=1e-12)
    assert price.upper == pytest.approx(k * epsilon, rel=1e-12)
    assert InformationPrivacy(0, records=k, extent=0.1).measure(one).upper == pytest.approx(0.5, rel=1e-12)


def test_dependence_extent_bound_on_joint_laws() -> None:
    """ε + d with d = I_∞(X_1; X_2), on random joint laws of two binary records."""
    rng = np.random.default_rng(12)
    tested = 0
    for _ in range(200):
        joint = rng.dirichlet(np.ones(4)).reshape(2, 2)
        mechanism = rng.dirichlet(np.full(3, 5.0), size=4).reshape(2, 2, 3)
        steps = [(mechanism[0], mechanism[1]), (mechanism[:, 0], mechanism[:, 1])]
        epsilon = max(float(np.abs(np.log(a / b)).max()) for a, b in steps)
        first, second = joint.sum(axis=1), joint.sum(axis=0)
        extent = float(np.log((joint / np.outer(first, second)).max()))
        output = np.einsum("ab,aby->y", joint, mechanism)
        given = np.einsum("ab,aby->ay", joint / first[:, None], mechanism)
        lift = float(np.log(given / output).max())
        assert lift <= min(2 * epsilon, epsilon + extent) + 1e-12
        tested += 1
    assert tested == 200


def test_holds_says_yes_no_or_cannot_tell() -> None:
    assert PureDP(1.4).holds(G) is True
    assert PureDP(1.3).holds(G) is False
    marginal = LevelCapacity(3.0, 0.0)
    bound = marginal.measure(G)
    assert isinstance(bound, Bound)
    assert marginal.with_threshold(bound.upper).holds(G) is True
    if bound.width > 1e-6:
        assert marginal.with_threshold(bound.midpoint).holds(G) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PureDP(-1.0), "`epsilon` of `PureDP` must be ≥ 0"),
        (lambda: PureDP(math.nan), "`epsilon` of `PureDP`"),
        (lambda: ApproxDP(math.inf, 0.1), "`epsilon` of `ApproxDP` must be a finite"),
        (lambda: ApproxDP(1.0, 1.1), "`delta` of `ApproxDP` must be a probability"),
        (lambda: DeltaDP(-0.1), "`delta` of `DeltaDP`"),
        (lambda: KLDP(-0.1), "`nats` of `KLDP`"),
        (lambda: MIDP(math.nan), "`nats` of `MIDP`"),
        (lambda: RenyiDP(0.0, 0.1), "`alpha` of `RenyiDP` must be positive"),
        (lambda: LevelCapacity(-2.0, 0.1), "`alpha` of `LevelCapacity`"),
        (lambda: ZeroConcentratedDP(-1.0), "`rho` of `ZeroConcentratedDP`"),
        (lambda: GaussianDP(-1.0), "`mu` of `GaussianDP`"),
        (lambda: InformationPrivacy(1.0, records=0), "`records` of `InformationPrivacy`"),
        (lambda: LocalInformationPrivacy(1.0, prior=(1.0, 0.0)), "`prior` of `LocalInformationPrivacy`"),
    ],
)
def test_bad_values_are_refused_by_name(make: object, words: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert words in str(caught.value)


def test_a_prior_must_be_one() -> None:
    with pytest.raises(InvalidPrior):
        LocalInformationPrivacy(1.0, prior=(0.5, 0.6))


def test_values_are_frozen_and_readable() -> None:
    stated = PureDP(1.0, neighbours=Neighbourhood(Relation.ADD_REMOVE_ONE, unit="patient"))
    assert repr(stated) == "PureDP(epsilon=1.0, neighbours='add-remove-one' of one patient)"
    sibson = LevelCapacity(2.0, 0.1, centre=Centre.SIBSON)
    assert repr(sibson).startswith("LevelCapacity(alpha=2.0, nats=0.1, centre=")
    assert stated != PureDP(1.0)
    assert hash(PureDP(1.0)) == hash(PureDP(1.0))
    with pytest.raises(FrozenInstanceError):
        stated.epsilon = 2.0


def test_everything_public_is_exported() -> None:
    import leakcap.definition as room

    for name in room.__all__:
        assert hasattr(room, name)
    definitions = {n for n, v in vars(room).items() if isinstance(v, type) and issubclass(v, Definition)}
    assert definitions <= set(room.__all__)
