"""The tail of a weighted sum of noises against its law, outcome by outcome."""

from __future__ import annotations

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from leakcap.release.numbers.tails import noise_tail

Floats = NDArray[np.float64]


def law(scale: float, reach: float = 45.0) -> tuple[Floats, Floats]:
    far = math.ceil(reach * scale) + 2
    steps = np.arange(-far, far + 1).astype(np.float64)
    chance = np.exp(-np.abs(steps) / scale)
    return steps, chance / chance.sum()


def enumerated(noises: list[tuple[float, float]], at: float) -> float:
    """P(|Σ weight·Z| ≥ at), one outcome after the other."""
    values, chances = np.zeros(1), np.ones(1)
    for weight, scale in noises:
        steps, chance = law(scale)
        values = (values[:, None] + weight * steps).ravel()
        chances = (chances[:, None] * chance).ravel()
        likely = chances > 1e-14
        values, chances = values[likely], chances[likely]
    return float(chances[np.abs(values) >= at * (1 - 1e-12)].sum())


SCALES = (0.02, 1 / 6, 0.5, 1.0, 3.9)
WEIGHTS = ((1.0, 1.0), (1.0, -0.5), (0.25, -0.75), (1.0, 1e-3), (1.0, 0.0), (0.3, 7.0))


@pytest.mark.parametrize("scales", list(itertools.product(SCALES, repeat=2)), ids=str)
def test_two_noises_of_few_steps_are_exact(scales: tuple[float, float]) -> None:
    for weights in WEIGHTS:
        noises = list(zip(weights, scales, strict=True))
        # Outcomes themselves among them: they count as so far.
        for at in (*np.abs(weights), abs(weights[0] - weights[1]), 0.3, 2.0, 5.5, 17.0):
            exact = enumerated(noises, at) if at > 0 else 1.0
            found = float(noise_tail(noises, at))
            assert exact - 1e-11 <= found <= exact + 1e-7, (weights, at)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 40.0])
def test_one_noise_is_exact(scale: float) -> None:
    s = math.exp(-1 / scale)
    for step in range(1, 200, 7):
        tail = 2 * s**step / (1 + s)
        assert tail <= float(noise_tail([(1.0, scale)], step)) <= tail * (1 + 1e-9) + 1e-12
        # Between two outcomes it is the tail of the farther one.
        assert float(noise_tail([(1.0, scale)], step - 0.5)) == pytest.approx(tail, rel=1e-9, abs=1e-12)


@functools.cache
def fine_law(scales: tuple[float, ...]) -> tuple[Floats, Floats]:
    """The law of the sum of these noises, by Fourier's transform, and from each place on to the end."""
    chance = functools.reduce(fftconvolve, (law(scale)[1] for scale in scales))
    middle = len(chance) // 2
    return np.arange(-middle, middle + 1).astype(np.float64), np.cumsum(chance[::-1])[::-1]


FINE = [(1e4,), (1e4, 1e4), (1e4, 3e4), (1e4, 1e4, 2e4)]


@pytest.mark.parametrize("fine", FINE, ids=str)
@pytest.mark.parametrize("coarse", [0.05, 1 / 6, 0.5, 2.0, 30.0])
def test_one_noise_of_few_steps_among_fine_ones(coarse: float, fine: tuple[float, ...]) -> None:
    """To 3·10⁻⁴; where fine scales are alike, which are moved apart by 0.3 %, 1.5 % of a far tail."""
    places, tails = fine_law(fine)
    steps, chance = law(coarse)
    close = 1.5e-2 if len(set(fine)) < len(fine) else 3e-4
    # Among them the weight at which the rates of both are the same.
    for weight in (100.0, 1e4 / coarse, 1e4, 3e5):
        noises = [(weight, coarse), *((1.0, scale) for scale in fine)]
        size = math.hypot(weight * coarse, *fine)
        for at in np.linspace(0.2, 5.0, 12) * size:
            least = np.ceil(at - weight * steps)
            index = np.clip(least - places[0], 0, len(places) - 1).astype(np.int64)
            beyond = np.where(least > places[-1], 0.0, tails[index])
            exact = 2 * float(chance @ beyond)
            found = float(noise_tail(noises, at))
            assert exact - 1e-11 <= found <= exact * (1 + close) + 1e-9, (weight, at)


@pytest.mark.parametrize("scales", [(5.0, 0.5), (9.0, 12.0), (6.0, 6.0), (1.0, 1.5, 0.7), (2.0, 2.0, 2.0)])
def test_others_are_never_too_light_and_hardly_too_heavy(scales: tuple[float, ...]) -> None:
    generator = np.random.default_rng(3)
    for _ in range(8):
        noises = list(zip(generator.uniform(0.1, 2, len(scales)).tolist(), scales, strict=True))
        size = math.sqrt(sum(2 * (weight * scale) ** 2 for weight, scale in noises))
        for at in generator.uniform(0.3, 3.0, 3) * size:
            exact, found = enumerated(noises, at), float(noise_tail(noises, at))
            # All but one noise go half a step further, and a bit.
            apart = sum(weight for weight, _ in noises) * 0.9
            assert exact - 1e-11 <= found <= enumerated(noises, max(at - apart, 0.0)) * (1 + 8e-3) + 1e-9


def test_rates_that_are_almost_the_same_do_not_cancel() -> None:
    """At 40 digits, the coarse noise's series a hair or more from the fine noise's exponential."""
    fine = 2.0**40
    for off in (0.0, 1e-15, 1e-9, 1e-4, 9e-3, 1.1e-2, 0.3):
        for coarse in (0.4, 3.0, 40.0):
            weight = fine / coarse * (1 + off)
            with mpmath.workdps(40):
                b, sigma, a = mpmath.mpf(coarse), mpmath.mpf(fine), mpmath.mpf(weight)
                t = 3.3 * sigma
                s = mpmath.e ** (-1 / b)

                def rest(u: mpmath.mpf, sigma: mpmath.mpf = sigma) -> mpmath.mpf:
                    tail = mpmath.e ** (-abs(u) / sigma) / 2
                    return tail if u >= 0 else 1 - tail

                far = math.ceil(30 * coarse)
                each = (s ** abs(z) * rest(t - a * z) for z in range(-far, far + 1))
                exact = float(2 * (1 - s) / (1 + s) * mpmath.fsum(each))
            found = float(noise_tail([(weight, coarse), (1.0, fine)], 3.3 * fine))
            assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-7), (off, coarse)


def test_many_at_once_are_each_alone_and_nothing_warns() -> None:
    generator = np.random.default_rng(4)
    weights = generator.uniform(-1, 1, 40_000) * 10.0 ** generator.uniform(-280, 280, 40_000)
    weights[::5] = 0.0
    at = np.abs(weights) * generator.uniform(0, 30, 40_000) + 10.0 ** generator.uniform(-200, 200, 40_000)
    for scales in ((0.001, 2.0**40), (0.5, 0.5), (1.0, 50.0), (2.0**44, 2.0**30)):
        found = noise_tail([(weights, scales[0]), (1.0, scales[1])], at)
        assert np.isfinite(found).all()
        assert ((found >= 0.0) & (found <= 1.0)).all()
        for place in range(0, 40_000, 4_999):
            alone = noise_tail([(weights[place], scales[0]), (1.0, scales[1])], at[place])
            assert found[place] == pytest.approx(float(alone), rel=1e-12)
    assert noise_tail([(1.0, 1.0), (1.0, 0.0)], [0.0, -3.0]).tolist() == [1.0, 1.0]


def test_noise_is_about_half_a_step_from_continuous() -> None:
    """P(|Z| ≥ m) = P(|L| ≥ m − d), with d below a half; so Z − L lies between d − 1 and d, or is below 0."""
    for scale in (0.2, 1.0, 7.5, 1e4):
        s = math.exp(-1 / scale)
        d = scale * math.log(2 / (1 + s))
        assert 0 < d < 0.5
        for m in range(1, 60):
            assert 2 * s**m / (1 + s) == pytest.approx(math.exp(-(m - d) / scale), rel=1e-9)
