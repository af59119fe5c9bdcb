"""How far weighted sums of many Laplace noises go: never less than the law itself, and hardly more."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric
from leakcap.mechanism.noise_sums import laplace_sum_tail
from leakcap.release.numbers import laplace_sums
from leakcap.release.numbers.laplace_sums import gaussian_sums_bound, laplace_sums_bound, laplace_sums_tail
from leakcap.release.numbers.laws import bounded_sums, noise_sums


def _summed(law: Any, count: int) -> Any:
    """The law of the sum, convolved with itself."""
    return functools.reduce(np.convolve, [law] * count)


def _laplace(scale: float, reach: int) -> Any:
    decay = math.exp(-1.0 / scale)
    return (1.0 - decay) / (1.0 + decay) * decay ** np.abs(np.arange(-reach, reach + 1))


def _gaussian(deviation: float, reach: int) -> Any:
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2.0 * deviation**2))
    return law / law.sum()


def _tail(one: Any, two: Any, weights: tuple[float, float], at: float) -> float:
    """P(|a·S + b·T| ≥ at) from both laws, outcome by outcome."""
    first, second = (np.arange(len(law)) - len(law) // 2 for law in (one, two))
    tails = np.append(np.cumsum(two[::-1])[::-1], 0.0)
    least = np.ceil((at - weights[0] * first) / weights[1] - 1e-12).astype(int)
    return 2.0 * float(one @ tails[np.clip(least - second[0], 0, len(two))])


@pytest.mark.parametrize(
    ("count", "scales"), [(2, (4.0, 9.0)), (3, (30.0, 5.0)), (7, (12.0, 12.0)), (2, (40.0, 4.0))]
)
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.2, 3.0), (5.0, 0.7), (1.0, 1e-9)])
def test_the_tail_is_never_too_light(
    count: int, scales: tuple[float, float], weights: tuple[float, float]
) -> None:
    laws = [_summed(_laplace(scale, math.ceil(36 * scale)), count) for scale in scales]
    spread = math.hypot(*(w * b for w, b in zip(weights, scales, strict=True))) * math.sqrt(2 * count)
    noises = [(w, b * math.sqrt(count)) for w, b in zip(weights, scales, strict=True)]
    for far in (0.3, 1.0, 1.96, 3.0, 5.0):
        at = far * spread
        exact = _tail(laws[0], laws[1], weights, at)
        found, bound = (float(one(count, noises, at)) for one in (laplace_sums_tail, laplace_sums_bound))
        assert exact <= found <= 1.0
        assert exact <= bound <= 1.0
        if far < 2.0:
            assert found < bound


@pytest.mark.parametrize("count", [2, 3, 10, 1000])
def test_of_wide_noise_it_is_hardly_more(count: int) -> None:
    """One noise alone has a second route, and two that are alike are one of twice as many."""
    scale, at = 10.0**6, 1.96 * math.sqrt(4 * count) * 10.0**6
    both = [(1.0, scale * math.sqrt(count))] * 2
    one = [(1.0, scale * math.sqrt(2 * count))]
    found, other = float(laplace_sums_tail(count, both, at)), float(laplace_sums_tail(2 * count, one, at))
    assert found == pytest.approx(other, rel=1e-4)
    exact = 2 * laplace_sum_tail(Fraction(10**6), 2 * count, math.ceil(at))
    assert exact <= found < 1.003 * exact


@pytest.mark.parametrize(("count", "deviation"), [(3, 0.4), (5, 1.5), (2, 2.9)])
def test_the_bound_of_gaussian_noise_holds(count: int, deviation: float) -> None:
    law = _summed(_gaussian(deviation, 40), count)
    size = deviation * math.sqrt(count)
    for weights in ((1.0, 1.0), (0.3, 2.0)):
        for far in (0.5, 2.0, 4.0):
            at = far * size * math.hypot(*weights)
            bound = float(gaussian_sums_bound([(weight, size) for weight in weights], at))
            assert _tail(law, law, weights, at) <= bound


def test_what_is_left_out_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: floors take nothing off. Of few steps the tail is too light then."""
    monkeypatch.setattr(laplace_sums, "_SLACK", 0.0)
    monkeypatch.setattr(laplace_sums, "_LIKELY", 1.0)
    with pytest.raises(AssertionError):
        test_the_tail_is_never_too_light(2, (4.0, 9.0), (1.0, 1e-9))


def test_places_may_be_many_and_noise_may_be_none() -> None:
    at = np.linspace(-1.0, 400.0, 7).reshape(1, 7)
    weights = np.array([[0.0], [1.0], [2.0]])
    found = laplace_sums_tail(4, [(weights, 20.0), (0.0, 30.0), (5.0, 0.0)], at)
    assert found.shape == (3, 7)
    assert found[0].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    for row, weight in zip(found[1:], (1.0, 2.0), strict=True):
        alone = [float(laplace_sums_tail(4, [(weight, 20.0)], one)) for one in at.ravel()]
        assert row.tolist() == pytest.approx(alone, rel=1e-12)


def test_which_law_is_known_is_said_by_public_facts() -> None:
    wide, few = TwoSidedGeometric(4.0), TwoSidedGeometric(3.9)
    assert noise_sums([wide, wide], 9) is not None
    assert noise_sums([wide, few], 9) is None
    assert noise_sums([wide, DiscreteGaussian(30.0)], 9) is None
    for noise in (few, DiscreteGaussian(1.0)):
        sums = bounded_sums([noise, noise], 9)
        assert sums.scales == (3 * float(noise.width),) * 2
        assert float(sums.law.tail([(1.0, sums.scales[0])], noise.error_of_sum(9, 0.05), None)) > 0.05
