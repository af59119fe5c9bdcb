"""Which route answers, how narrow, at what cost: against quadrature, closed forms and plain sums."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from accounting.truth import gaussian, two_sampled_gaussians
from leakcap.accounting import PrivacyLoss, routes
from leakcap.accounting import grid as grid_module
from leakcap.accounting import sampled as sampled_module
from leakcap.accounting.curve import Curve
from leakcap.accounting.exact import enumerate_losses
from leakcap.accounting.finite import finite_loss
from leakcap.accounting.grid import rounded_down, rounded_up
from leakcap.accounting.gridsum import GridSum
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.sampled import SampledGaussianLoss
from leakcap.errors import InvalidParameter
from leakcap.mechanism import DiscreteGaussian, Gaussian, Laplace


def steps(sigma: float, rate: float) -> PrivacyLoss:
    return PrivacyLoss.of_mechanism(Gaussian(sigma)).sampled(rate)


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Values of integrands, and grid points, that a question costs."""
    spent = [0.0, 0.0]
    plain, bracket = SampledGaussianLoss._piece, routes.on_grid

    def counted(self: SampledGaussianLoss, z: np.ndarray) -> np.ndarray:
        spent[0] += z.size * self.work(float(z.real.min()), float(np.abs(z.imag).max()))
        return plain(self, z)

    def gridded(parts: object, size: int, *rest: object, **named: object) -> object:
        spent[1] += size
        return bracket(parts, size, *rest, **named)

    monkeypatch.setattr(sampled_module.SampledGaussianLoss, "_piece", counted)
    monkeypatch.setattr(routes, "on_grid", gridded)
    return spent


FEW = [
    (1.0, 0.01, 10, 1e-5),
    (1.0, 0.01, 2, 1e-10),
    (4.0, 0.001, 2, 1e-6),
    (4.0, 0.001, 3, 1e-6),
    (4.0, 0.001, 5, 1e-10),
    (0.5, 0.001, 2, 1e-10),
    (0.5, 0.001, 20, 1e-10),
    (0.8, 1e-5, 3, 1e-5),
]


@pytest.mark.parametrize(("sigma", "rate", "times", "delta"), FEW)
def test_a_few_rare_samples_are_narrow_and_cheap(
    sigma: float, rate: float, times: int, delta: float, points: list[float]
) -> None:
    for one in (steps(sigma, rate), steps(sigma, rate).reverse):
        points[:] = [0.0, 0.0]
        found = (one**times).epsilon(delta)
        assert found.width <= 1e-4 * found.upper, found
        assert points[0] <= 20_000_000, points
        assert points[1] <= 5 << 18, points


def test_a_hundred_very_rare_samples_are_not_lost_at_the_tilt_of_delta() -> None:
    """No route reaches 10⁻⁴ here; with the tilt that suits δ alone the interval was 0.28 of ε wide."""
    loss = steps(0.8, 1e-5) ** 100
    found = loss.epsilon(1e-10)
    assert found.width <= 5e-3 * found.upper
    assert loss.delta_by_grid(found.upper).lower <= 1e-10 <= loss.delta_by_grid(found.lower).upper


def test_two_rare_samples_by_direct_integration() -> None:
    loss, delta = steps(4.0, 0.001) ** 2, 1e-6
    forward, back = loss.epsilon(delta), loss.reverse.epsilon(delta)
    for end, sign in ((forward.lower, 1), (forward.upper, -1)):
        assert sign * (two_sampled_gaussians(0.25, 0.001, end) - delta) >= -1e-6 * delta
    for end, sign in ((back.lower, 1), (back.upper, -1)):
        assert sign * (_two_back(0.25, 0.001, end) - delta) >= -1e-6 * delta


def _two_back(mu: float, rate: float, epsilon: float) -> mpf:
    """δ of N(0,1) against the mixture, twice: the other direction."""
    q, m, e = mpf(rate), mpf(mu), mpf(epsilon)

    def one(at: mpf) -> mpf:
        gamma = mp.exp(at)
        rest = 1 - gamma * (1 - q)
        if rest <= 0:
            return mpf(0)
        log = mp.log(gamma * q / rest)
        return rest * (mp.ncdf(m / 2 - log / m) - gamma * q / rest * mp.ncdf(-m / 2 - log / m))

    def ratio(x: mpf) -> mpf:
        return 1 - q + q * mp.exp(m * x - m**2 / 2)

    kink = (mp.log((mp.exp(-e) / (1 - q) - 1 + q) / q) + m**2 / 2) / m
    return mp.quad(lambda x: mp.npdf(x) * one(e + mp.log(ratio(x))), sorted([-12, -4, -1, 0, 1, kink, 12]))


def test_tolerance_is_kept_and_refused() -> None:
    loss = steps(1.0, 0.01) ** 10
    for tolerance in (1e-2, 1e-4, 1e-5):
        found = loss.epsilon(1e-5, tolerance=tolerance)
        assert found.width <= tolerance * found.upper
    for tolerance in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter, match="tolerance"):
            loss.epsilon(1e-5, tolerance=tolerance)
        with pytest.raises(InvalidParameter, match="tolerance"):
            loss.delta(1.0, tolerance=tolerance)


def test_two_hundred_points_need_a_few_curves(monkeypatch: pytest.MonkeyPatch, points: list[float]) -> None:
    made = 0
    plain = routes.on_contour

    def counted(*given: object) -> object:
        nonlocal made
        made += 1
        return plain(*given)

    monkeypatch.setattr(routes, "on_contour", counted)
    loss = steps(1.0, 0.01) ** 1000
    epsilons = np.linspace(0.0, 10.0, 200)
    for one in (loss, loss.reverse):
        made = 0
        low, high, _ = routes.deltas_at(one.parts, epsilons, 1e-4)
        assert made <= 20
        assert (high - low <= np.maximum(1e-4 * high, 1e-290)).all()
        for place in (0, 57, 199):
            alone = one.delta(float(epsilons[place]), 1e-6)
            assert low[place] <= alone.upper
            assert alone.lower <= high[place]
    normal = (PrivacyLoss.of_mechanism(Gaussian(20.0)) ** 400).parts
    low, high, _ = routes.deltas_at(normal, np.linspace(-3.0, 30.0, 200), 1e-6)
    for place, epsilon in enumerate(np.linspace(-3.0, 30.0, 200).tolist()):
        assert low[place] <= gaussian(1.0, epsilon) <= high[place]


def test_delta_on_the_grid_is_the_plain_sum() -> None:
    rng, tested = np.random.default_rng(1), 0
    for c in (0.0, 0.3, 40.0):
        masses = rng.random(64)
        total = GridSum(c, -1.0, 0.05, masses / masses.sum(), 0.7, 1e-9, 1e-12, 0.01, 1e-13)
        p = np.exp(0.7 - c * (x := -1.0 + 0.05 * np.arange(64))) * total.masses
        for epsilon in (-3.0, -1.0, -0.333, 0.0, 0.05, 0.4, 2.1, 2.2, 9.0):
            truth = 0.01 + math.fsum(p * -np.expm1(-np.maximum(x - epsilon, 0.0)))
            low = float(total.delta(np.array([epsilon]), upward=False)[0])
            high = float(total.delta(np.array([epsilon]), upward=True)[0])
            assert low <= min(truth, 1.0) <= high, (c, epsilon)
            assert high - low <= 1e-4 * high or truth > 0.9 or c == 40.0
            tested += 1
    assert tested == 27


@pytest.mark.parametrize("step", [2e-4, 3e-5])
def test_a_density_lies_between_its_fine_grids_and_a_planted_bug_is_caught(
    step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, cuts = GaussianLoss(1.0), (-7.0, 7.0)
    assert (cuts[1] - cuts[0]) / step > grid_module._FEW
    epsilons = np.linspace(-2.0, 4.0, 4001) + step / 3.0

    def worst(scale: float) -> float:
        """How far the lower grid rises above the truth, in units of what it may lie below it."""
        unit, q = np.exp(epsilons), rounded_down(part, step, *cuts)
        x = q.losses
        ours = np.array(
            [float(q.masses @ -np.expm1(-np.maximum(x - e, 0.0))) for e in epsilons[::40].tolist()]
        )
        truth = np.array([float(gaussian(1.0, e)) for e in epsilons[::40].tolist()])
        assert (truth - ours).max() < 3.0 * step**2
        return float(((ours - truth) / (unit[::40] * step**2 * scale)).max())

    assert worst(1.0) <= 1e-9
    upper = rounded_up(part, step, *cuts)
    for epsilon in (-1.0, 0.3, 2.0):
        finite = float(upper.masses @ -np.expm1(-np.maximum(upper.losses - epsilon, 0.0)))
        assert finite + upper.infinite >= gaussian(1.0, epsilon)
    monkeypatch.setattr(grid_module, "_SHARE", 0.05)
    assert worst(1.0) > 1e-3


@pytest.mark.parametrize(("count", "most"), [(10, 50), (1000, 25)])
def test_epsilon_takes_few_values_of_its_curve(
    count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends together; 88 and 62 while each began from nothing and the steps grew fourfold."""
    asked, plain = list[float](), Curve.delta

    def counted(self: Curve, epsilon: float) -> tuple[float, float]:
        asked.append(epsilon)
        return plain(self, epsilon)

    monkeypatch.setattr(Curve, "delta", counted)
    loss = PrivacyLoss.of_mechanism(Laplace(10.0)) ** count
    found = loss.epsilon(1e-6)
    assert len(asked) <= most
    assert found.width <= 1e-8 * found.upper
    monkeypatch.undo()
    assert loss.delta(found.upper * (1 + 1e-9)).upper <= 1e-6 <= loss.delta(found.lower * (1 - 1e-9)).upper


def test_few_queries_of_many_losses_by_every_ordered_combination() -> None:
    """Three queries of five losses: each of 125 ordered triples once, by the sum of its losses."""
    p, q = [0.1, 0.15, 0.2, 0.25, 0.3], [0.31, 0.1, 0.25, 0.15, 0.19]
    found = enumerate_losses([(finite_loss(p, q), 3)])
    assert found is not None
    assert found.losses.size == 35
    triples = [[(p[i], q[i]) for i in chosen] for chosen in product(range(5), repeat=3)]
    for epsilon in (0.0, 0.3, 1.0):
        wanted = math.fsum(
            max(0.0, math.prod(a for a, _ in t) - math.exp(epsilon) * math.prod(b for _, b in t))
            for t in triples
        )
        low, high = found.delta(epsilon)
        assert low <= wanted <= high <= low + 1e-12


@pytest.mark.filterwarnings("error")
def test_terms_that_cancel_to_nothing_are_their_rounding_at_most() -> None:
    """M is 0 in doubles at a node of this contour: the sum of forty counts has no other likelihood ratio."""
    sigma, times = math.sqrt(16.5), 40
    places = np.arange(-60, 61)
    law = np.exp(-0.5 * (places / sigma) ** 2)
    law /= law.sum()
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, law)
    shifted = np.append(np.zeros(times), total)
    apart = float(np.maximum(shifted - np.append(total, np.zeros(times)), 0.0).sum())
    found = (PrivacyLoss.of_mechanism(DiscreteGaussian(sigma)) ** times).total_variation()
    assert found.lower - 1e-12 <= apart <= found.upper + 1e-12
    assert found.width < 1e-9
