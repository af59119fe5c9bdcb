"""Every loss at, just inside and just outside its support, for tiny δ and every rate of sampling.

Single queries are compared with their definition at 400 bits; compositions must be enclosed, ordered and
agree with the grid. How much a question costs is counted in evaluations, not in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from flint import arb, ctx

from leakcap.accounting import PrivacyLoss
from leakcap.accounting import sampled as sampled_module
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse

RATES = (1e-6, 0.01, 0.5, 1 - 1e-9, 1.0)
Tail = Callable[[arb], arb]


def upper_tail(x: arb) -> arb:
    return (x / arb(2).sqrt()).erfc() / 2


def normal(mu: float) -> Tail:
    """γ ↦ Σ(P − γQ)₊ of unit Gaussians."""

    def profile(gamma: arb) -> arb:
        if gamma <= 0:
            return 1 - gamma
        m, e = arb(mu), gamma.log()
        return upper_tail(e / m - m / 2) - gamma * upper_tail(e / m + m / 2)

    return profile


def laplace(distance: float) -> Tail:
    def profile(gamma: arb) -> arb:
        if gamma <= 0:
            return 1 - gamma
        return (1 - gamma).max(1 - ((gamma.log() - distance) / 2).exp()).max(arb(0))

    return profile


def response(epsilon: float) -> Tail:
    p = arb(epsilon).exp() / (1 + arb(epsilon).exp())
    return lambda gamma: (p - gamma * (1 - p)).max(arb(0)) + (1 - p - gamma * p).max(arb(0))


KINDS: dict[str, tuple[PrivacyLoss, Callable[[], Tail]]] = {
    **{
        f"gaussian {s}": (PrivacyLoss.of_mechanism(Gaussian(s)), lambda s=s: normal(1 / s))
        for s in (0.25, 1.0, 4.0)
    },
    **{
        f"laplace {s}": (PrivacyLoss.of_mechanism(Laplace(s)), lambda s=s: laplace(1 / s))
        for s in (0.25, 1.0, 8.0)
    },
    "response": (PrivacyLoss.of_mechanism(RandomisedResponse(2, 1.0)), lambda: response(1.0)),
}


def truth(tail: Tail, rate: float, back: bool, epsilon: float) -> arb:
    """Σ(P' − e^ε Q)₊ for P' = (1−q)Q + qP, or the other way about; P and Q are each other's mirror image."""
    q, gamma = arb(rate), arb(epsilon).exp()
    if not back:
        return q * tail(1 + (gamma - 1) / q)
    rest = 1 - gamma * (1 - q)
    return rest * tail(gamma * q / rest) if rest > 0 else arb(0)


@pytest.fixture(autouse=True)
def _bits() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def places(loss: PrivacyLoss) -> list[float]:
    """Around both ends of the support, far beyond, and between."""
    found = [0.0, 0.01, 0.3, 1.0, 6.0, 40.0, 800.0]
    for part, _ in loss.parts:
        for end in part.support():
            if math.isfinite(end):
                for gap in (0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3, 0.1):
                    found += [end * (1 - gap), end * (1 + gap)]
    return found


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("kind", KINDS)
def test_one_query_holds_the_truth_everywhere(kind: str, rate: float) -> None:
    base, tail = KINDS[kind]
    forward = base.sampled(rate)
    tested = 0
    for slack in (1e-12 if kind == "response" else 0.0,):  # a mechanism's rows are doubles
        for back, loss in ((False, forward), (True, forward.reverse)):
            for epsilon in places(loss):
                found, want = loss.delta(epsilon), truth(tail(), rate, back, epsilon)
                assert not want < found.lower - slack, (back, epsilon, found, want)
                assert not want > found.upper + slack, (back, epsilon, found, want)
                if kind != "response":
                    assert found.width <= 1e-12 * found.upper + 1e-300, (back, epsilon, found)
                tested += 1
    assert tested >= 14


@pytest.mark.parametrize("delta", [1e-300, 1e-9])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("kind", KINDS)
def test_epsilon_of_one_query_is_where_delta_falls(kind: str, rate: float, delta: float) -> None:
    base, tail = KINDS[kind]
    forward = base.sampled(rate)
    for slack in (1e-12 if kind == "response" else 0.0,):  # a mechanism's rows are doubles
        for back, loss in ((False, forward), (True, forward.reverse)):
            found = loss.epsilon(delta)
            assert 0.0 <= found.lower <= found.upper
            assert found.upper <= loss.largest * (1 + max(1e-15, slack))
            assert not truth(tail(), rate, back, found.upper) > delta + slack
            if found.lower > 0.0:
                assert not truth(tail(), rate, back, found.lower) < delta - slack


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "delta"),
    [
        (3.0, 0.5, 10, 1e-6),
        (1.0, 0.5, 5, 1e-9),
        (1.0, 0.01, 100, 1e-6),
        (4.0, 1e-3, 1000, 1e-8),  # the saddle lies where K turns steep
        (0.5, 0.001, 3, 1e-6),  # backwards at the edge of the support: a saddle near 50 000
    ],
)
def test_composed_samples_are_cheap_and_agree_with_the_grid(
    sigma: float, rate: float, times: int, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated, points = 0, 0.0
    plain = sampled_module.SampledGaussianLoss._piece

    def counted(self: sampled_module.SampledGaussianLoss, z: np.ndarray) -> np.ndarray:
        nonlocal evaluated, points
        evaluated += z.size
        points += z.size * self.work(float(z.real.min()), float(np.abs(z.imag).max()))
        return plain(self, z)

    monkeypatch.setattr(sampled_module.SampledGaussianLoss, "_piece", counted)
    loss = PrivacyLoss.of_mechanism(Gaussian(sigma)).sampled(rate)
    for one in (loss, loss.reverse):
        evaluated, points = 0, 0.0
        found = (one**times).epsilon(delta)
        assert evaluated <= 20_000, evaluated
        assert points <= 40_000_000, points
        grid = (one**times).epsilon_by_grid(delta, width=1e-3)
        assert max(found.lower, grid.lower) <= min(found.upper, grid.upper)
        assert found.width <= 1e-4 * max(found.upper, 1e-3)


def test_a_thousand_rare_samples_against_a_plain_transform() -> None:
    # σ = 4, q = 1e-3: losses rounded to a grid of 4e-6, larger ones at its end, one FFT of a thousand.
    step, size, times = 4e-6, 1 << 18, 1000
    u = np.linspace(-9.0, 12.0, 2_000_001)
    law = np.exp(-0.5 * u * u) * (u[1] - u[0]) / math.sqrt(2.0 * math.pi)
    ratio = 1.0 + 1e-3 * np.expm1(0.25 * u - 0.03125)
    masses, middle = np.zeros(size), size // 2
    places = np.minimum(np.log(ratio) / step, middle - 1.0)
    lower = np.floor(places)
    for at, share in ((lower, lower + 1.0 - places), (lower + 1.0, places - lower)):
        masses += np.bincount(at.astype(int) % size, law * ratio * share, size)
    total = np.roll(np.fft.irfft(np.fft.rfft(masses) ** times, size), middle)
    x = (np.arange(size) - middle) * step
    found = (PrivacyLoss.of_mechanism(Gaussian(4.0)).sampled(1e-3) ** times).epsilon(1e-8)
    above = x > found.midpoint
    delta = float(total[above] @ -np.expm1(found.midpoint - x[above]))
    assert found.width <= 1e-7
    assert delta == pytest.approx(1e-8, rel=1e-3)


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_bound_on_the_transform_holds_and_falls(mu: float, rate: float) -> None:
    part = sampled_module.SampledGaussianLoss(mu, rate)
    for c in (0.1, 2.0, 30.0, -1.5):
        base, last = float(part.log_transform(np.array([c]))[0]), math.inf
        for t in (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
            bound = part.envelope(c, t)
            z = np.array([complex(c, t)])
            size = float(part.log_transform(z)[0].real)
            # Below its declared error the transform is rounding.
            assert size <= max(bound, base + math.log(float(part.error(z)[0])))
            assert bound <= min(last, base + 0.011) + 1e-9
            last = bound
