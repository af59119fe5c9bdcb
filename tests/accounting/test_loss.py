"""Privacy losses against second routes: closed forms, thirty digits, every outcome listed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.truth import (
    gaussian,
    hockey_stick,
    listed,
    responses,
    sampled_gaussian,
    two_laplaces,
    two_sampled_gaussians,
)
from leakcap.accounting import PrivacyLoss
from leakcap.accounting.contour import make_contour, saddle_for_epsilon
from leakcap.accounting.curve import Curve, curve_near
from leakcap.accounting.finite import finite_loss
from leakcap.accounting.grid import rounded_down, rounded_up
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.lattice import common_lattice
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.sampled import SampledGaussianLoss, SampledLaplaceLoss
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.mechanism import DiscreteGaussian, Exponential, Gaussian, Laplace, RandomisedResponse

RESPONSE = PrivacyLoss.of_mechanism(RandomisedResponse(2, 0.25))
SAMPLED = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.01)
LAPLACES = [PrivacyLoss.of_mechanism(Laplace(float(1 / e))) for e in np.linspace(0.01, 0.1, 500)]


def of(part: object) -> PrivacyLoss:
    return PrivacyLoss(((part, 1),))


@pytest.mark.parametrize("epsilon", [-3.0, 0.0, 1.3, 7.5, 20.0])
def test_the_contour_on_a_lattice_is_the_binomial_sum(epsilon: float) -> None:
    loss = RESPONSE**200
    contour = make_contour(
        loss.parts, saddle_for_epsilon(loss.parts, epsilon), epsilon, common_lattice(loss.parts)
    )
    low, high = contour.delta(epsilon)
    truth = responses(0.25, 200, epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-9 * high


@pytest.mark.parametrize("epsilon", [-2.0, 0.0, 1.0, 5.0, 12.0])
def test_gaussians_compose_to_a_gaussian(epsilon: float) -> None:
    loss = of(GaussianLoss(0.1)) ** 150
    bound, truth = loss.delta(epsilon), gaussian(math.sqrt(1.5), epsilon)
    assert bound.lower <= truth <= bound.upper
    assert bound.width <= 1e-9 * bound.upper
    grid = loss.delta_by_grid(epsilon)
    assert grid.lower <= truth <= grid.upper
    assert grid.width <= 2e-3 * grid.upper


@pytest.mark.parametrize("epsilon", [-1.5, 0.0, 0.3, 1.2, 1.69])
def test_two_laplaces_by_direct_integration(epsilon: float) -> None:
    loss = of(LaplaceLoss(1.0)) & of(LaplaceLoss(0.7))
    truth = two_laplaces(0.7, 1.0, epsilon)
    for bound in (loss.delta(epsilon), loss.delta_by_grid(epsilon)):
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-3


@pytest.mark.parametrize("epsilon", [0.0, 2.0])
def test_sampled_gaussians_by_direct_integration(epsilon: float) -> None:
    part = SampledGaussianLoss(1.0, 0.1)
    one, two = of(part).delta(epsilon), (of(part) ** 2).delta(epsilon)
    assert one.lower <= sampled_gaussian(1.0, 0.1, epsilon) <= one.upper
    assert two.lower <= two_sampled_gaussians(1.0, 0.1, epsilon) <= two.upper
    assert two.width <= 1e-5


KNOWN = [
    (of(LaplaceLoss(0.1)) ** 1000, 18.9502874),
    (of(GaussianLoss(1 / 30)) ** 1000, 5.1890366),
    (SAMPLED**10_000, 6.9073845),
    (SAMPLED.reverse**10_000, 6.2074844),
    (PrivacyLoss.of(LAPLACES), 6.8124374),
]


@pytest.mark.parametrize(("loss", "epsilon"), KNOWN)
def test_known_epsilons_by_both_routes(loss: PrivacyLoss, epsilon: float) -> None:
    bound = loss.epsilon(1e-6)
    assert bound.width <= 1.2e-8
    assert abs(bound.midpoint - epsilon) <= 0.6e-7
    grid = loss.epsilon_by_grid(1e-6)
    assert grid.width <= 1e-3
    assert grid.lower <= bound.lower <= bound.upper <= grid.upper


rows = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).filter(lambda r: sum(r) > 0.1)


def _row(weights: list[float]) -> list[float]:
    kept = [w if w > 0.01 else 0.0 for w in weights]
    return [w / math.fsum(kept) for w in kept]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=4), st.floats(-3.0, 3.0))
def test_random_rows_by_listing_every_outcome(
    pairs: list[tuple[list[float], list[float]]], epsilon: float
) -> None:
    given_rows = [(_row(p), _row(q)) for p, q in pairs]
    truth = hockey_stick(listed(given_rows), epsilon)
    loss = PrivacyLoss.of([PrivacyLoss.of_rows(p, q) for p, q in given_rows])
    bound = loss.delta(epsilon)
    assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12
    assert bound.width < 1e-9
    if any(part.losses for part, _ in loss.parts) and all(part.losses for part, _ in loss.parts):
        grid = loss.delta_by_grid(epsilon, points=1 << 13)
        assert grid.lower - 1e-12 <= truth <= grid.upper + 1e-12
    back = loss.reverse.delta(-epsilon)
    flipped = 1.0 - math.exp(-epsilon) + math.exp(-epsilon) * truth
    assert back.lower - 1e-9 <= flipped <= back.upper + 1e-9


P, Q = [0.6, 0.3, 0.0, 0.1], [0.2, 0.5, 0.3, 0.0]


def test_a_dropped_infinite_mass_or_a_wrong_direction_would_be_caught() -> None:
    loss = PrivacyLoss.of_rows(P, Q) ** 3
    truth = hockey_stick(listed([(P, Q)] * 3), 0.4)
    assert math.isclose(loss.infinite, 1 - 0.9**3)
    curve = curve_near(loss.parts, 0.4)
    low, high = curve.delta(0.4)
    assert low <= truth <= high
    dropped = Curve(curve.finite, curve.method, infinite=0.0)
    assert dropped.delta(0.4)[1] < truth - 0.1
    assert abs(loss.reverse.delta(0.4).upper - truth) > 0.01
    assert loss.delta_both(0.4).upper == loss.reverse.delta(0.4).upper > truth


@pytest.mark.parametrize("queries", [20, 100, 500])
def test_rows_of_lonely_losses_in_blocks_on_the_grid(queries: int) -> None:
    loss = PrivacyLoss.of_rows([0.5, 0.3, 0.19, 0.01], [0.2, 0.49, 0.3, 0.01]) ** queries
    exact = PrivacyLoss.of_rows([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]) ** queries
    listed_all, grid = exact.epsilon(1e-3), exact.epsilon_by_grid(1e-3)
    assert max(listed_all.lower, grid.lower) <= min(listed_all.upper, grid.upper)
    assert grid.width < 1e-3
    assert loss.epsilon_by_grid(1e-3).width < 2e-3


def test_grid_ends_order_every_transform() -> None:
    for part in (
        LaplaceLoss(0.3),
        SampledGaussianLoss(1.0, 0.05),
        SampledLaplaceLoss(1.0, 0.2),
        GaussianLoss(0.2),
    ):
        high, low = rounded_up(part, 0.011, -9.0, 9.0), rounded_down(part, 0.011, -9.0, 9.0)
        for order in (0.3, 1.0, 4.0):
            truth = float(part.log_transform(np.array(order)))
            assert low.log_mean(order) <= truth + 1e-12 <= high.log_mean(order) + 2e-12
            assert high.log_mean(order) - low.log_mean(order) <= 4.0 * order * (order + 1.0) * 0.011**1.5


def test_transforms_agree_with_their_definition() -> None:
    z = np.array([0.7 + 3.0j, 2.0 - 11.0j, -1.6 + 0.5j])
    for part in (
        LaplaceLoss(0.9),
        GaussianLoss(0.8),
        SampledGaussianLoss(0.8, 0.2),
        SampledLaplaceLoss(0.9, 0.2),
    ):
        edges = np.linspace(-9.0, 9.0, 40001)
        p, _ = part.masses(edges)
        middles = 0.5 * (edges[1:] + edges[:-1])
        atoms = part.atoms()
        for point in z.tolist():
            direct = p @ np.exp(point * middles) + atoms.p @ np.exp(point * atoms.losses)
            ours = np.exp(part.log_transform(np.array([point])))[0]
            assert abs(direct - ours) < 2e-6 * max(1.0, abs(direct))
            assert abs(ours) <= math.exp(part.envelope(point.real, abs(point.imag))) * (1 + 1e-12)


@pytest.mark.parametrize("t", [0.5, 5.0, 60.0, 900.0, 6e3])
def test_envelopes_hold_beyond(t: float) -> None:
    times = t * np.geomspace(1.0, 4.0, 40)
    for part in (LaplaceLoss(0.1), SampledGaussianLoss(1.0, 0.05), SampledLaplaceLoss(1.0, 0.2)):
        z = 2.0 + 1j * times
        # Where a quadrature is not good enough, `error` says so and nothing is claimed of its values.
        known = part.error(z) < 1e-6
        values = np.exp(part.log_transform(z[known]).real)
        assert values.max(initial=0.0) <= math.exp(part.envelope(2.0, t)) * (1 + 1e-9)
    assert (
        SampledGaussianLoss(1.0, 0.05).envelope(2.0, 6e3)
        < SampledGaussianLoss(1.0, 0.05).envelope(2.0, 0.0) - 0.5
    )


def test_delta_falls_in_epsilon_and_grows_with_queries() -> None:
    loss = of(LaplaceLoss(0.2)) ** 400
    values = [loss.delta(e) for e in np.linspace(-1.0, 20.0, 15).tolist()]
    assert all(b.lower <= b.upper for b in values)
    assert all(b.upper < a.lower for a, b in pairwise(values))
    assert (loss & RESPONSE).delta(2.0).lower > loss.delta(2.0).upper


def test_counts_by_kind_are_compositions() -> None:
    response, other = RESPONSE, PrivacyLoss.of_rows([0.9, 0.1], [0.3, 0.7])
    assert PrivacyLoss.of({response: 3, other: 1}) == response**3 & other
    assert (response**3 & other).queries == 4
    assert PrivacyLoss.of_channel(Channel([[0.9, 0.1], [0.3, 0.7]]), 0, 1) == other


def test_sampling_rows_is_mixing_them() -> None:
    q = 0.3
    mixed = [(1 - q) * b + q * a for a, b in zip(P, Q, strict=True)]
    loss = PrivacyLoss.of_rows(P, Q).sampled(q)
    for epsilon in (-0.5, 0.0, 0.4):
        assert loss.delta(epsilon).midpoint == pytest.approx(
            hockey_stick(list(zip(mixed, Q, strict=True)), epsilon)
        )
    under = [(1 - q) * a + q * b for a, b in zip(P, Q, strict=True)]
    fixed = PrivacyLoss.of_rows(P, Q).sampled_fixed(q)
    for epsilon in (0.1, 0.4, 1.0):
        over = hockey_stick(list(zip(mixed, Q, strict=True)), epsilon)
        assert fixed.delta(epsilon).midpoint == pytest.approx(over, abs=1e-12)
    for epsilon in (-0.1, -0.4, -1.0):
        low = hockey_stick(list(zip(P, under, strict=True)), epsilon)
        assert fixed.delta(epsilon).midpoint == pytest.approx(low, abs=1e-12)


def test_renyi_orders_add_up() -> None:
    loss = of(LaplaceLoss(0.5)) ** 3 & of(GaussianLoss(0.4))
    alone = math.log((2 * math.exp(0.5) + math.exp(-1.0)) / 3)
    assert loss.renyi(2.0).upper == pytest.approx(3 * alone + 0.16, rel=1e-12)
    reverse = PrivacyLoss.of_rows(P, Q).reverse.renyi(0.5).upper
    assert reverse == pytest.approx(PrivacyLoss.of_rows(P, Q).renyi(0.5).upper)
    asymmetric = of(SampledGaussianLoss(1.0, 0.2))
    direct = sum(
        (-math.log(0.8 + 0.2 * math.exp(x - 0.5))) * math.exp(-x * x / 2) for x in np.arange(-12, 12, 0.01)
    )
    assert asymmetric.reverse.renyi(1.0).upper == pytest.approx(
        direct * 0.01 / math.sqrt(2 * math.pi), rel=1e-6
    )


def test_discrete_gaussian_is_near_the_continuous_one() -> None:
    loss = PrivacyLoss.of_mechanism(DiscreteGaussian(5.0)) ** 10
    bound = loss.epsilon(1e-6)
    assert bound.width < 1e-8
    assert abs(bound.upper - (of(GaussianLoss(0.2)) ** 10).epsilon(1e-6).upper) < 0.2


@pytest.mark.parametrize("delta", [0.0, 1e-30, 0.5, 1.0])
def test_edges_of_epsilon(delta: float) -> None:
    loss = of(LaplaceLoss(0.3)) ** 5
    bound = loss.epsilon(delta)
    pure = 5 * Fraction(0.3)  # the double 0.3, five times; what is shown is rounded outward
    assert 0.0 <= bound.lower <= bound.upper <= 1.5 * (1 + 1e-14)
    if delta == 0.0:
        assert bound.lower <= pure <= bound.upper
    infinite = PrivacyLoss.of_rows(P, Q)
    assert infinite.epsilon(0.05).upper == math.inf
    assert infinite.epsilon(0.1).upper == pytest.approx(math.log(3.0))


def test_refusals() -> None:
    with pytest.raises(InvalidChannel, match="must sum to 1"):
        finite_loss([0.5, 0.6], [0.5, 0.5])
    with pytest.raises(InvalidChannel, match="same outcomes"):
        finite_loss([1.0], [0.5, 0.5])
    with pytest.raises(InvalidParameter, match="one query"):
        (RESPONSE**2).sampled(0.5)
    with pytest.raises(InvalidParameter, match="Name a pair"):
        PrivacyLoss.of_mechanism(Exponential(((0.0, 1.0, 3.0), (1.0, 0.0, 2.0)), 1.0))
    with pytest.raises(InvalidParameter, match="probability"):
        RESPONSE.epsilon(math.nan)
    with pytest.raises(InvalidParameter, match="integer"):
        RESPONSE**0
