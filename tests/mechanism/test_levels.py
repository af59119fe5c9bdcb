"""Level-α capacities of noise on numbers: quadrature, other priors, limits; every mechanism answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from families import import_all, leaves
from leakcap.adversary import AllPriors, AllPriorsJoint, Neighbours
from leakcap.capacities import capacity
from leakcap.divergence import Renyi, TotalVariation
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace, Mechanism, TwoSidedGeometric
from leakcap.mechanism.levels import gaussian_ranges, laplace_ranges

JOINT = AllPriorsJoint()
ORDERS = (0.3, 0.999, 1.0, 1.001, 1.5, 2.0, 3.0, 8.0, math.inf)
NOISES = [Laplace(2.0), Laplace(1.0), Laplace(0.2), Gaussian(2.0), Gaussian(1.0), Gaussian(0.2)]


def density(noise):
    if isinstance(noise, Laplace):
        return lambda z: np.exp(-np.abs(z) / noise.scale) / (2 * noise.scale)
    return lambda z: np.exp(-((z / noise.sigma) ** 2) / 2) / (noise.sigma * math.sqrt(2 * math.pi))


def level(noise, alpha, atoms):
    """D_α(P_XY ‖ P_X × P_Y) of a prior, by quadrature between the kinks."""
    shape = density(noise)

    def inside(y):
        rows = np.array([shape(y - x) for x, _ in atoms])
        centre = float(np.array([p for _, p in atoms]) @ rows)
        return sum(p * row * (row / centre) ** (alpha - 1.0) for (_, p), row in zip(atoms, rows, strict=True))

    scale = noise.scale if isinstance(noise, Laplace) else noise.sigma
    reach = 30.0 * scale if isinstance(noise, Laplace) else (9.0 + alpha) * scale
    edges = sorted({-reach, *(x for x, _ in atoms), 1.0 + reach})
    total = sum(
        quad(inside, a, b, epsabs=1e-12, epsrel=1e-10, limit=200)[0] for a, b in itertools.pairwise(edges)
    )
    return math.log(total) / (alpha - 1.0)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_witness_attains_the_lower_end_and_no_other_prior_beats_the_upper(noise):
    rng, tested = np.random.default_rng(3), 0
    for alpha in (0.4, 1.5, 2.0, 3.0):
        bound = capacity(noise, Renyi(alpha), JOINT)
        if bound.witness is not None:
            attained = level(noise, alpha, bound.witness.atoms)
            assert bound.lower - 1e-9 <= attained <= bound.upper
        for count in (2, 3, 5):
            places = np.sort(rng.uniform(size=count))
            places[0], places[-1] = 0.0, 1.0
            prior = rng.dirichlet(np.full(count, 0.7))
            told = level(noise, alpha, list(zip(places.tolist(), prior.tolist(), strict=True)))
            assert told <= bound.upper + 1e-9
            tested += 1
        fair = level(noise, alpha, [(0.0, 0.5), (1.0, 0.5)])
        # Cells of the output lose a little.
        assert bound.lower >= fair - 1e-4 * (1.0 + fair)
    assert tested == 12


@pytest.mark.parametrize("noise", [*NOISES, TwoSidedGeometric(1000.0, 5000)], ids=repr)
def test_between_radius_and_diameter_rising_and_right_at_one_and_infinity(noise):
    before = 0.0
    for alpha in ORDERS:
        order = Renyi(alpha)
        bound = capacity(noise, order, JOINT)
        assert capacity(noise, order, AllPriors()).lower <= bound.upper
        assert bound.lower >= capacity(noise, order, AllPriors()).lower
        assert bound.upper <= capacity(noise, order, Neighbours()).upper
        assert before <= bound.upper
        before = max(before, bound.lower)
    shannon = capacity(noise, Renyi(1.0), AllPriors())
    assert capacity(noise, Renyi(1.0), JOINT) == shannon
    epsilon = capacity(noise, Renyi(math.inf), Neighbours())
    assert capacity(noise, Renyi(math.inf), JOINT).upper == epsilon.upper
    assert math.isinf(epsilon.upper) == isinstance(noise, Gaussian)


def test_high_orders_come_close_to_the_diameter():
    """ε for Laplace noise; for Gaussian noise 1 − 2/α of it, by one rare secret."""
    for epsilon in (0.5, 1.0, 5.0):
        bound = capacity(Laplace(1 / epsilon), Renyi(1e4), JOINT)
        assert 0.99 * epsilon < bound.lower <= bound.upper <= epsilon * (1 + 1e-12)
    bound = capacity(Gaussian(0.5), Renyi(1000.0), JOINT)
    assert 0.99 < bound.lower / bound.upper <= 1.0


def test_few_values_of_geometric_noise_are_solved():
    bound = capacity(TwoSidedGeometric(1.0, 3), Renyi(4.0), JOINT)
    assert bound.width < 1e-8


def test_the_ranges_bound_is_what_it_says():
    """The same sum by quadrature, from a formula of R_α written out."""

    def largest(alpha, epsilon):
        if epsilon == 0.0:
            return 1.0
        high, one = math.expm1(alpha * epsilon), math.expm1(epsilon)
        f = (high - alpha * one) / ((alpha - 1) * one * high)
        return (1 + f * high) / (1 + f * one) ** alpha

    for alpha in (0.5, 2.0, 3.0):
        for epsilon in (0.7, 3.0):
            inside, _ = quad(
                lambda y, a=alpha, e=epsilon: 0.5 * math.exp(-y) * largest(a, max(y, e - y)), 0, epsilon
            )
            total = inside + 0.5 * (1 + math.exp(-epsilon)) * largest(alpha, epsilon)
            truth = math.log(total) / (alpha - 1)
            assert truth <= laplace_ranges(alpha, epsilon) <= truth + 0.02 * epsilon
        for mu in (0.5, 2.0):

            def apart(y, m=mu):
                s = abs(y - m / 2)
                return m * s if s > m / 2 else 0.5 * (s + m / 2) ** 2

            whole, _ = quad(
                lambda y, a=alpha: math.exp(-y * y / 2) / math.sqrt(2 * math.pi) * largest(a, apart(y)),
                -14,
                14,
                limit=400,
            )
            truth = math.log(whole) / (alpha - 1)
            assert truth - 1e-9 <= gaussian_ranges(alpha, mu) <= truth * 1.1 + 0.01


def test_every_mechanism_answers_at_every_order():
    """The catalogue: one without a finite channel answers by itself, the others through the solver."""
    asked = alone = 0
    import_all("leakcap.mechanism")
    for leaf in leaves(Mechanism):
        for example in leaf.examples():
            try:
                example.channel()
                continue
            except InvalidParameter:
                alone += 1
            for alpha in (0.5, 1.0, 2.0, 30.0, math.inf):
                bound = capacity(example, Renyi(alpha), JOINT)
                assert 0.0 <= bound.lower <= bound.upper
                assert bound.upper <= capacity(example, Renyi(alpha), Neighbours()).upper * (1 + 1e-12)
                asked += 1
    assert alone >= 15
    assert asked == 5 * alone


def test_what_is_refused():
    for noise in (Laplace(1.0), Gaussian(1.0)):
        with pytest.raises(InvalidParameter):
            capacity(noise, TotalVariation(), JOINT)
