"""Gaussian noise by itself: how far one unit reaches in L2, how far the noise goes, and what a price buys.

Distances are found by trying every neighbour, tails by adding up the law at thirty digits.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from leakcap.definition import ApproxDP, ZeroConcentratedDP, convert
from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric
from leakcap.mechanism.additive import AdditiveNoise
from leakcap.release.measurements.rho import deviation, epsilon_of_rho, largest_rho, pure_epsilon_of_rho
from leakcap.release.measurements.sensitivity import Contribution, Presence
from leakcap.release.numbers.gaussian_tails import bent_gaussian_tail, gaussian_tail, normal_tail_up
from leakcap.release.numbers.laws import sum_reach


@functools.cache
def law(sigma: float) -> dict[int, mpmath.mpf]:
    """P(z) ∝ e^(−z²/2σ²), at thirty digits."""
    with mpmath.workdps(30):
        reach, s = math.ceil(14 * sigma) + 2, mpmath.mpf(sigma)
        weights = {z: mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * s**2)) for z in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        return {z: weight / total for z, weight in weights.items()}


def vectors(contribution: Contribution) -> set[tuple[int, ...]]:
    """All that one unit can add, by trying every content of every row."""
    k, low, high = contribution.cells, contribution.low, contribution.high
    if isinstance(contribution, Presence):
        most = min(contribution.rows, k)
        return {one for one in itertools.product((0, 1), repeat=k) if sum(one) <= most}
    rows = [(0, 0), *itertools.product(range(k), range(low, high + 1))]
    found = set()
    for some in itertools.combinations_with_replacement(rows, contribution.rows):
        vector = [0] * k
        for cell, value in some:
            vector[cell] += value
        found.add(tuple(vector))
    return found


def require_farthest(contribution: Contribution) -> None:
    found = vectors(contribution)
    assert contribution.squared(replace=False) == max(sum(x * x for x in one) for one in found)
    apart = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a in found for b in found)
    assert contribution.squared(replace=True) == apart
    require_covered(contribution, found)


def shown(one: tuple[int, ...], order: float) -> mpmath.mpf:
    """The divergence of Laplace noise of scale 5/2 on cells that differ by so much, cell by cell."""
    return mpmath.fsum(divergence(abs(steps), order) for steps in one)


@functools.cache
def divergence(steps: int, order: float) -> mpmath.mpf:
    """By adding up the law of the noise, outcome by outcome."""
    with mpmath.workdps(30):
        s, a = mpmath.exp(-mpmath.mpf(2) / 5), mpmath.mpf(order)
        terms = ((s ** abs(z), s ** abs(z - steps)) for z in range(-200, 201))
        return mpmath.log((1 - s) / (1 + s) * mpmath.fsum(p**a * q ** (1 - a) for p, q in terms)) / (a - 1)


def require_covered(contribution: Contribution, found: set[tuple[int, ...]]) -> None:
    """What Laplace noise is charged covers every pair of neighbours, and is met where rows add and never
    take away."""
    noise = TwoSidedGeometric(Fraction(5, 2))
    nothing = tuple([0] * contribution.cells)
    for replace, pairs in (
        (False, [(one, nothing) for one in found]),
        (True, itertools.product(found, found)),
    ):
        moved = {tuple(sorted(abs(x - y) for x, y in zip(a, b, strict=True))) for a, b in pairs}
        assert contribution.most(replace=replace) == max(max(one) for one in moved)
        for order in (1.5, 2.0, 16.0):
            charged = noise.apart(
                order,
                steps=contribution.sensitivity(replace=replace),
                squared=Fraction(0),
                most=contribution.most(replace=replace),
            )
            farthest = max(shown(one, order) for one in moved)
            assert farthest <= charged * (1 + mpmath.mpf(10) ** -14)
            if contribution.low >= 0:
                assert charged <= farthest * (1 + mpmath.mpf(10) ** -9)


def test_a_charge_for_cells_moved_less_than_one_moves_is_caught() -> None:
    """Planted: a unit with two rows in one cell, charged as if each cell moved by one."""

    class Wrong(Contribution):
        def most(self, *, replace: bool) -> int:
            return 1

    with pytest.raises(AssertionError):
        require_farthest(Wrong(1, 1, 2, 3))


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("ends", [(1, 1), (0, 2), (-1, 1), (-2, 1), (1, 2), (-2, -1)])
def test_the_l2_sensitivity_is_that_of_the_farthest_neighbours(
    ends: tuple[int, int], rows: int, cells: int
) -> None:
    require_farthest(Contribution(*ends, rows, cells))


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 6])
def test_people_in_several_groups_count_once_in_each(rows: int, cells: int) -> None:
    require_farthest(Presence(0, 1, rows, cells))


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.0, 2.5, 2.999, 3.0, 7.25, 40.0])
@pytest.mark.parametrize("beyond", [0.05, 0.025, 1e-3])
def test_the_error_is_the_smallest_that_the_law_allows(sigma: float, beyond: float) -> None:
    found, exact = DiscreteGaussian(sigma).error(beyond), law(sigma)
    with mpmath.workdps(30):
        tails = [mpmath.fsum(p for z, p in exact.items() if abs(z) > a) for a in (found - 1, found)]
    assert tails[1] <= beyond
    assert found == 0 or tails[0] > beyond * 0.99


@pytest.mark.parametrize(("sigma", "count"), [(0.5, 3), (0.5, 40), (2.0, 5), (3.0, 4), (6.5, 3)])
def test_the_error_of_a_sum_is_that_of_the_convolved_law(sigma: float, count: int) -> None:
    one = np.array([float(p) for p in law(sigma).values()])
    whole = functools.reduce(np.convolve, [one] * count)
    middle, found = len(whole) // 2, DiscreteGaussian(sigma).error_of_sum(count, 0.05)
    tails = [1.0 - whole[middle - a : middle + a + 1].sum() if a >= 0 else 1.0 for a in (found - 1, found)]
    assert tails[1] <= 0.05 + 1e-12
    assert tails[0] > 0.05 * 0.99


@pytest.mark.parametrize("sigmas", [(1.0, 3.0), (0.6, 0.6), (5.0, 9e4), (20.0, 25.0), (15.0, 4e4)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.37), (3.0, 1.0), (1.0, 0.0)])
def test_tails_of_weighted_sums_are_no_lighter_and_hardly_heavier(
    sigmas: tuple[float, float], weights: tuple[float, float]
) -> None:
    (a, b), one = weights, np.array([float(p) for p in law(sigmas[0]).values()])
    size, y = math.hypot(a * sigmas[0], b * sigmas[1]), np.arange(len(one)) - len(one) // 2
    for far in (0.5 * size, 1.3 * size, 1.96 * size, 3.3 * size):
        # What is not added up is taken to be a step farther, and its own law lies within half a step.
        exact, nearer = (tail_of(y, one, sigmas[1], a, b, at) for at in (far, far - 1.51 * (a + b)))
        found = float(gaussian_tail([(a, sigmas[0]), (b, sigmas[1])], far))
        assert exact * (1 - 1e-5) <= found + 1e-12
        assert found <= nearer * (1 + 1e-4) + 1e-6


def tail_of(y: object, one: object, sigma: float, a: float, b: float, far: float) -> float:
    """P(|aY + bZ| ≥ far); of a law of many thousand steps the normal one's, which is it to within 10⁻⁹."""
    places, chance = np.asarray(y, dtype=float), np.asarray(one)
    if far <= 0:
        return 1.0
    if sigma < 100:
        other = np.array([float(p) for p in law(sigma).values()])
        z = np.arange(len(other)) - len(other) // 2
        beyond = np.abs(a * places[:, None] + b * z[None, :]) >= far * (1 - 1e-12)
        return float(chance @ beyond @ other)
    if b == 0.0:
        return float(chance[np.abs(a * places) >= far * (1 - 1e-12)].sum())
    each = [math.erfc((far - a * z) / (b * sigma) / math.sqrt(2.0)) for z in places.tolist()]
    return float(chance @ np.array(each))


def test_the_normal_tail_is_no_lighter_anywhere_and_hardly_heavier() -> None:
    """Against balls of 100 bits, between the places of its table and beyond them; what is no number goes as
    far as anything does. A chord of the table is 2.9·10⁻⁸ off at most, and lifted by 3.1·10⁻⁸."""
    random = np.random.default_rng(6).uniform(-9.0, 9.0, 4_000)
    at = np.concatenate([random, np.arange(-9.0, 9.0, 1 / 128), [-1e300, -8.5, 0.0, 8.5, 40.0]])
    with flint.ctx.workprec(100):
        root = flint.arb(2).sqrt()
        truth = [(flint.arb(x) / root).erfc() / 2 for x in at.tolist()]
        for found, true in zip(normal_tail_up(at).tolist(), truth, strict=True):
            assert true - flint.arb(2) ** -50 <= flint.arb(found) <= true + flint.arb(6.1e-8)
    assert normal_tail_up(np.array([np.nan, -np.inf])).tolist() == [1.0, 1.0]
    assert normal_tail_up(np.array([np.inf]))[0] < 4e-8


def test_tails_hold_for_every_weight_between_the_ends() -> None:
    found = float(gaussian_tail([(1.0, 4.0), (2.0, 50.0)], 90.0, [0.2, 0.5]))
    for a, b in itertools.product((0.2, 0.6, 1.0), (0.5, 1.0, 2.0)):
        assert found >= float(gaussian_tail([(a, 4.0), (b, 50.0)], 90.0))


@pytest.mark.parametrize("curve", [2e-3, -2e-3, 1e-4])
def test_a_square_of_noise_beside_a_sum_is_covered(curve: float) -> None:
    rng, one, runs = np.random.default_rng(20_25), np.ones(1), 400_000
    x, v = 1e4 * rng.standard_normal(runs), 1e6 * rng.standard_normal(runs)
    for far in (1e6, 2e6):
        seen = float(np.mean(v + 30.0 * x + curve * x**2 >= far))
        found = bent_gaussian_tail(lambda _: [(one, 1e6, one)], (30.0 * one, 1e4), curve, far * one)
        assert float(found[0]) >= seen - 5 * math.sqrt(seen / runs)


def test_sums_of_noises_of_two_laws_are_covered_by_both_errors() -> None:
    laplace, gaussian = TwoSidedGeometric(10.0), DiscreteGaussian(12.0)
    assert sum_reach(laplace, gaussian, 0.05) == laplace.error(0.025) + gaussian.error(0.025)
    assert sum_reach(gaussian, DiscreteGaussian(12.0), 0.05) == gaussian.error_of_sum(2, 0.05)
    assert abs(sum_reach(DiscreteGaussian(300.0), DiscreteGaussian(400.0), 0.05) - 1.96 * 500) < 4


@pytest.mark.parametrize("wanted", [Fraction(1, 3), Fraction(2), Fraction(10**9, 7), Fraction(1, 10**4)])
def test_the_deviation_is_the_least_of_its_grid(wanted: Fraction) -> None:
    sigma = deviation(wanted, Fraction(1, 2))
    step = Fraction(2) ** (math.floor(math.log2(sigma) + 1e-12) - 10)
    assert (sigma / step).denominator == 1
    assert (sigma - step) ** 2 < wanted <= sigma**2


def told(sigma: float, groups: int, epsilon: float) -> float:
    """δ(ε) of so many counts that are each moved by one: their sum is sufficient, and its law convolved."""
    one = np.array([float(p) for p in law(sigma).values()])
    whole = functools.reduce(np.convolve, [one] * groups)
    y = np.arange(len(whole)) - len(whole) // 2
    loss = (groups - 2.0 * y) / (2 * sigma**2)
    return float(np.sum(whole * -np.expm1(np.minimum(epsilon - loss, 0.0))))


@pytest.mark.parametrize("groups", [1, 16])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-6), (3.0, 1e-6)])
def test_what_epsilon_buys_keeps_the_delta_by_the_exact_law(
    groups: int, epsilon: float, delta: float
) -> None:
    """And a planted bug: noise for one group where a person is in sixteen does not, by far."""
    rho = largest_rho(epsilon, delta)
    sigma = float(deviation(Fraction(groups), Fraction(rho)))
    assert delta / 20 <= told(sigma, groups, epsilon) <= delta  # the conversion gives no more away
    assert epsilon_of_rho(rho, delta) <= epsilon
    if groups == 16:
        assert told(sigma / 4, 16, epsilon) > 1e3 * delta


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.4])
@pytest.mark.parametrize("epsilon", [1e-6, 0.05, 1.0, 7.0, 300.0])
def test_the_largest_rho_is_the_largest(epsilon: float, delta: float) -> None:
    """By proposition 12 in many digits, at the best of all orders, and by the graph's own search."""
    rho = largest_rho(epsilon, delta)
    with mpmath.workdps(40):

        def at(place: mpmath.mpf, rho: mpmath.mpf) -> mpmath.mpf:
            order = 1 + mpmath.exp(place)
            tail = (mpmath.log(1 / mpmath.mpf(delta)) - mpmath.log(order)) / (order - 1)
            return order * rho + mpmath.log(1 - 1 / order) + tail

        def least(rho: mpmath.mpf) -> mpmath.mpf:
            low, high = mpmath.log(mpmath.mpf(10) ** -9), mpmath.log(1 / mpmath.mpf(delta) - 1)
            for _ in range(120):  # golden section, in ln(α − 1)
                left, right = (low + (high - low) * mpmath.mpf(part) for part in (0.382, 0.618))
                low, high = (low, right) if at(left, rho) < at(right, rho) else (left, high)
            return at(low, rho)

        assert least(mpmath.mpf(rho)) <= epsilon < least(mpmath.mpf(rho) * (1 + mpmath.mpf(10) ** -8))
    assert epsilon_of_rho(rho, delta) <= epsilon
    searched = convert(ZeroConcentratedDP(rho), ApproxDP, delta=delta).epsilon
    assert epsilon_of_rho(rho, delta) <= searched * (1 + 1e-12) + 1e-15  # no other way through it is stronger


@pytest.mark.parametrize("rho", [1e-6, 0.02, 0.5, 40.0])
def test_a_pure_epsilon_for_rho_is_the_largest(rho: float) -> None:
    with mpmath.workdps(30):
        e = mpmath.mpf(pure_epsilon_of_rho(rho))
        assert e * mpmath.tanh(e / 2) <= rho
        assert (e + 3e-12) * mpmath.tanh((e + 3e-12) / 2) > rho * (1 - mpmath.mpf(10) ** -13)


@pytest.mark.parametrize("reach", [1, 3, 40])
@pytest.mark.parametrize("noise", [DiscreteGaussian(2.0), DiscreteGaussian(0.7), TwoSidedGeometric(1.5)])
def test_what_a_noisy_number_tells_lies_within_its_bound(noise: AdditiveNoise, reach: int) -> None:
    """The information of the two ends, equally likely: of one step the capacity, of more a part of it."""
    with mpmath.workdps(30):
        if isinstance(noise, DiscreteGaussian):
            exact = law(float(noise.sigma))
        else:
            s = mpmath.exp(-1 / mpmath.mpf(noise.width.numerator) * noise.width.denominator)
            exact = {z: (1 - s) / (1 + s) * s ** abs(z) for z in range(-200, 201)}
        nats, none = mpmath.mpf(0), mpmath.mpf(0)
        for z in range(min(exact) - 1, max(exact) + reach + 2):
            p, q = exact.get(z, none), exact.get(z - reach, none)
            nats += sum(x * mpmath.log(2 * x / (p + q)) / 2 for x in (p, q) if x)
        found = noise.tells(reach)
        assert nats <= found.upper
        if reach == 1:
            assert found.lower <= nats * (1 + 1e-12)
            assert found.upper <= nats * (1 + 1e-6)
        else:
            assert found.upper <= mpmath.log(reach + 1)
    assert noise.tells(0).upper == 0.0
