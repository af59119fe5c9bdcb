"""Batches of every kind: against all samples of small tables, thirty digits, and plain transforms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from mpmath import mp, mpf

from accounting.truth import fixed_log_moment, gaussian, laplace, number
from leakcap.accounting import PrivacyLoss
from leakcap.accounting.binomial import binomial_masses, upper_tail
from leakcap.accounting.concentrated import concentrated
from leakcap.accounting.fixed_size import FixedSizeLoss
from leakcap.accounting.labelled import LabelledLoss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse

EPSILONS = (-2.0, -0.4, -0.01, 0.0, 0.01, 0.3, 1.0, 2.5, 4.0)
GRID = np.linspace(-14.0, 14.0, 56_001)
Mixture = Sequence[tuple[float, float]]


def density(mixture: Mixture, sigma: float) -> np.ndarray:
    """Of noise about each batch's sum."""
    scale = 1.0 / (sigma * math.sqrt(2.0 * math.pi))
    return sum(w * scale * np.exp(-0.5 * ((GRID - m) / sigma) ** 2) for m, w in gathered(mixture).items())


def gathered(mixture: Mixture) -> dict[float, float]:
    found: dict[float, float] = {}
    for mean, weight in mixture:
        found[mean] = found.get(mean, 0.0) + weight
    return found


def stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * (GRID[1] - GRID[0]))


def without(table: Sequence[float], size: int) -> Mixture:
    every = list(itertools.combinations(table, size))
    return [(sum(batch), 1.0 / len(every)) for batch in every]


def again(table: Sequence[float], size: int) -> Mixture:
    every = list(itertools.product(table, repeat=size))
    return [(sum(batch), 1.0 / len(every)) for batch in every]


def cut(table: Sequence[float], rate: float, most: int) -> Mixture:
    found: list[tuple[float, float]] = []
    for k in range(len(table) + 1):
        for batch in itertools.combinations(table, k):
            chance = rate**k * (1.0 - rate) ** (len(table) - k)
            kept = list(itertools.combinations(batch, min(k, most)))
            found += [(sum(each), chance / len(kept)) for each in kept]
    return found


OTHERS = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (1.0, -1.0, 0.5), (-1.0, -1.0, 1.0)]


@pytest.mark.parametrize("sigma", [0.8, 2.0])
@pytest.mark.parametrize("draw", [without, again])
def test_no_small_table_tells_more_than_samples_of_fixed_size_may(draw: object, sigma: float) -> None:
    """Values in [−1, 1], four people, batches of two; one person is replaced."""
    loss = PrivacyLoss.of_mechanism(Gaussian(sigma, 2.0))
    loss = loss.sampled_fixed(0.5) if draw is without else loss.sampled_with_replacement(2, 4)
    best = dict.fromkeys(EPSILONS, 0.0)
    for others in OTHERS:
        for mine, theirs in itertools.permutations((-1.0, 0.3, 1.0), 2):
            p, q = (density(draw([*others, x], 2), sigma) for x in (mine, theirs))  # type: ignore[operator]
            for epsilon in EPSILONS:
                truth = stick(p, q, epsilon)
                assert truth <= loss.delta(epsilon).upper + 1e-7, (others, mine, theirs, epsilon)
                best[epsilon] = max(best[epsilon], truth)
    for epsilon in EPSILONS:
        reached = 1.0 - 1e-5 if draw is without else 0.1
        assert best[epsilon] >= reached * loss.delta(epsilon).lower - 1e-7, epsilon


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_small_table_tells_more_than_a_truncated_sample_may(most: int) -> None:
    sigma, rate = 1.0, 0.3
    noise = PrivacyLoss.of_mechanism(Gaussian(sigma))
    loss, plain = noise.sampled_truncated(rate, people=4, most=most), noise.sampled(rate)
    found_out = 0
    for others in OTHERS:
        for mine in (-1.0, 1.0):
            p, q = (density(cut(table, rate, most), sigma) for table in ([*others, mine], others))
            for epsilon in EPSILONS:
                for a, b, one, poisson in ((p, q, loss, plain), (q, p, loss.reverse, plain.reverse)):
                    truth = stick(a, b, epsilon)
                    assert truth <= one.delta(epsilon).upper + 1e-7, (others, mine, epsilon)
                    found_out += truth > poisson.delta(epsilon).upper + 1e-6
    # To charge for the Poisson sample alone would be wrong; larger batches on a line hide it.
    assert found_out > 0 or most > 1


def test_truncation_that_never_happens_costs_nothing() -> None:
    noise = PrivacyLoss.of_mechanism(Gaussian(1.0))
    rare = noise.sampled_truncated(0.01, people=10_000, most=400) ** 100
    plain = (noise.sampled(0.01) ** 100).epsilon(1e-6)
    assert plain.lower <= rare.epsilon(1e-6).upper <= plain.upper * 1.0002
    assert noise.sampled_truncated(0.5, people=3, most=3) == noise.sampled(0.5)


def fixed_truth(kind: str, distance: float, rate: float, epsilon: float) -> mpf:
    """δ((1−r)Q + rP ‖ Q) above 0, δ(P ‖ (1−r)P + rQ) below, at thirty digits."""
    gamma, r = mp.exp(mpf(epsilon)), mpf(rate)

    def alone(g: mpf) -> mpf:
        if g <= 0:
            return 1 - g
        return gaussian(distance, mp.log(g)) if kind == "gaussian" else laplace(mpf(distance), mp.log(g))

    if epsilon >= 0:
        return r * alone(1 + (gamma - 1) / r)
    rest = 1 - gamma * (1 - r)
    return rest * alone(gamma * r / rest)


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("noise", [Gaussian(0.4), Gaussian(3.0), Laplace(0.4), Laplace(3.0)])
def test_one_sample_of_fixed_size_is_its_definition(noise: Gaussian | Laplace, rate: float) -> None:
    loss = PrivacyLoss.of_mechanism(noise).sampled_fixed(rate)
    kind = "gaussian" if isinstance(noise, Gaussian) else "laplace"
    distance = float(noise.mu if isinstance(noise, Gaussian) else noise.claim())
    assert loss.is_symmetric
    for epsilon in EPSILONS:
        found, truth = loss.delta(epsilon), fixed_truth(kind, distance, rate, epsilon)
        assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
        assert found.width <= 1e-12 * found.upper + 1e-300


@pytest.mark.parametrize(("sigma", "rate"), [(0.5, 0.3), (1.0, 0.01), (4.0, 0.001)])
def test_transform_and_orders_of_a_fixed_sample(sigma: float, rate: float) -> None:
    part = PrivacyLoss.of_mechanism(Gaussian(sigma)).sampled_fixed(rate).parts[0][0]
    for z in (0.7 + 3.0j, 2.0 - 11.0j, -1.6 + 0.5j, 12.0 + 0.0j):
        truth = complex(fixed_log_moment(1.0 / sigma, rate, z))
        found = complex(part.log_transform(np.array([z]))[0])
        # The error is relative to M at the real part.
        peak = float(part.log_transform(np.array(z.real))) - truth.real
        assert abs(np.expm1(found - truth)) <= math.exp(peak) * float(part.error(np.array([z]))[0])
    for alpha in (0.5, 1.001, 2.0, 9.0):
        truth = number(fixed_log_moment(1.0 / sigma, rate, alpha - 1.0).real) / (mpf(alpha) - 1)
        low, high = part.renyi(alpha)
        assert low - mpf(1e-26) <= truth <= high + mpf(1e-26)
        assert high - low <= 1e-9 * high


def rounded(loss: PrivacyLoss, times: int, step: float) -> list[Callable[[float], float]]:
    """δ of so many queries by a plain FFT of losses rounded to a grid: down, and up."""
    part = loss.parts[0][0]
    size = 1 << 17
    edges = step * (np.arange(-size // 2, size // 2 + 1))
    p, atoms, x = part.masses(edges)[0], part.atoms(), edges[:-1]

    def told(upward: bool) -> Callable[[float], float]:
        places = np.ceil(atoms.losses / step) if upward else np.floor(atoms.losses / step)
        low = np.zeros(size)
        np.add.at(low, (places + size // 2).astype(int), atoms.p)
        law = np.roll(np.roll(p, 1 if upward else 0) + low, -size // 2)
        total = np.roll(np.fft.irfft(np.fft.rfft(law) ** times, size), size // 2)
        return lambda at: float(np.sum(np.where(x > at, total * -np.expm1(np.minimum(at - x, 0.0)), 0.0)))

    return [told(False), told(True)]


NOISE = PrivacyLoss.of_mechanism(Gaussian(1.0))
FEW = {
    "fixed": (NOISE.sampled_fixed(0.1), 6),
    "fixed laplace": (PrivacyLoss.of_mechanism(Laplace(1.0)).sampled_fixed(0.1), 6),
    "again": (NOISE.sampled_with_replacement(3, 30), 4),
    "truncated": (NOISE.sampled_truncated(0.1, people=50, most=8), 6),
    "truncated back": (NOISE.sampled_truncated(0.1, people=50, most=8).reverse, 6),
}


@pytest.mark.parametrize("kind", FEW)
def test_a_few_batches_by_a_plain_transform(kind: str) -> None:
    loss, times = FEW[kind]
    deltas = rounded(loss, times, 5e-4)
    for epsilon in (0.1, 0.8):
        low, high = (delta(epsilon) for delta in deltas)
        found = (loss**times).delta(epsilon)
        assert low <= found.upper + 1e-10
        assert found.lower <= high + 1e-10
        assert found.width <= 1e-4 * found.upper
        assert high - low < 0.02


@pytest.mark.parametrize("times", [2, 300, 10_000])
def test_runs_of_fixed_size_batches_are_narrow(times: int) -> None:
    found = (NOISE.sampled_fixed(0.01) ** times).epsilon(1e-5)
    assert found.width <= 1e-4 * found.upper
    # Every half of it is that of the Poisson sample.
    assert found.upper >= (NOISE.sampled(0.01) ** times).epsilon(1e-5).lower


def test_a_mixture_told_is_the_mean_of_its_parts() -> None:
    mixed = PrivacyLoss(((LabelledLoss(((GaussianLoss(1.0), 0.75), (LaplaceLoss(2.0), 0.24)), 0.01), 1),))
    for epsilon in EPSILONS:
        truth = mpf(0.75) * gaussian(1.0, epsilon) + mpf(0.24) * laplace(mpf(2), mpf(epsilon)) + mpf("0.01")
        found = mixed.delta(epsilon)
        assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
    assert mixed.infinite == 0.01
    assert mixed.renyi(2.0).upper == math.inf
    half = LabelledLoss(((GaussianLoss(1.0), 0.5), (GaussianLoss(2.0), 0.5)))
    truth = mp.log((mp.e ** mpf(1) + mp.e ** mpf(4)) / 2)
    assert half.renyi(2.0)[0] <= truth <= half.renyi(2.0)[1]


@pytest.mark.parametrize(("rho", "xi"), [(1e-4, 0.0), (0.1, 0.0), (0.5, 0.3), (20.0, 0.0)])
def test_zcdp_is_above_its_mechanisms_and_at_its_conversion(rho: float, xi: float) -> None:
    loss = PrivacyLoss(((concentrated(rho, xi), 1),))
    normal = PrivacyLoss.of_mechanism(Gaussian(1.0 / math.sqrt(2.0 * rho) * (1 + 1e-12)))
    pure = PrivacyLoss.of_mechanism(RandomisedResponse(2, math.sqrt(2.0 * rho)))  # ε²/2-zCDP
    for scale in (-1.0, -0.2, 0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
        epsilon = scale * (rho + math.sqrt(rho))
        assert loss.delta(epsilon).upper >= normal.delta(epsilon).lower
        assert loss.delta(epsilon).upper >= pure.delta(epsilon).lower
    for delta in (1e-3, 1e-9):
        found = loss.epsilon(delta).upper

        def best(epsilon: float) -> mpf:
            near = max(epsilon - xi - rho, 1e-3) / (2 * rho)
            orders = map(mpf, (near * np.geomspace(0.2, 5, 400)).tolist())
            return min(
                mp.e ** (t * (xi + rho * (1 + t) - epsilon) - t * mp.log(1 + 1 / t)) / (1 + t) for t in orders
            )

        assert best(found) <= delta * 1.01
        assert best(found * 0.99) >= delta


def test_chances_of_many_draws() -> None:
    for trials, rate in ((10, 0.3), (1000, 0.01), (100_000, 1e-4)):
        chances, rest = binomial_masses(trials, rate, 1e-20)
        assert math.fsum(chances) == pytest.approx(1.0, abs=1e-9)
        assert 0.0 <= rest <= 1e-20
        for times in (1, 5, 20, 40):
            if times > trials:
                continue
            truth = 1 - mp.fsum(
                mp.binomial(trials, k) * mpf(rate) ** k * (1 - mpf(rate)) ** (trials - k)
                for k in range(times)
            )
            found = upper_tail(trials, rate, times)
            if truth > 1e-20:
                assert truth * (1 - mpf(1e-12)) <= found <= truth * (1 + mpf(1e-5)), (trials, rate, times)


def test_what_has_no_such_batch_is_refused() -> None:
    response = PrivacyLoss.of_mechanism(RandomisedResponse(2, 1.0))
    with pytest.raises(InvalidParameter, match="groups are known"):
        response.sampled_with_replacement(3, 10)
    with pytest.raises(InvalidParameter, match="groups are known"):
        response.sampled_truncated(0.5, people=10, most=2)
    for wrong in (0, -1):
        with pytest.raises(InvalidParameter, match="people"):
            NOISE.sampled_with_replacement(3, wrong)
        with pytest.raises(InvalidParameter, match="most"):
            NOISE.sampled_truncated(0.1, people=10, most=wrong)
    with pytest.raises(InvalidParameter, match="rate"):
        NOISE.sampled_fixed(0.0)
    with pytest.raises(InvalidParameter, match="rho"):
        concentrated(math.inf)
    assert isinstance(NOISE.sampled_fixed(0.1).parts[0][0], FixedSizeLoss)
