"""The ends of intervals: both ways out at once, beside plain halving, and in few looks at the noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakcap.release.numbers.fieller import crossings
from leakcap.release.numbers.laws import GAUSSIAN, LAPLACE, Law
from leakcap.release.numbers.moments import NoisyCounts, NoisySums, Product, correlation_ends, covariance_ends

Curve = Callable[[float], float]

CURVES: dict[str, Callable[[float, float], Curve]] = {
    "a line": lambda middle, scale: lambda c: 3.0 - abs(c - middle) / scale,
    "a parabola": lambda middle, scale: lambda c: 3.0 - ((c - middle) / scale) ** 2,
    "a line, then flat": lambda middle, scale: lambda c: max(3.0 - abs(c - middle) / scale, -22.6),
    "a line, then soon flat": lambda middle, scale: lambda c: max(3.0 - abs(c - middle) / scale, -0.5),
    "steeper and steeper": lambda middle, scale: lambda c: 4.0 - np.exp(min(abs(c - middle) / scale, 600.0)),
    "a step": lambda middle, scale: lambda c: 3.0 if abs(c - middle) < scale else -3.0,
    "outside already": lambda middle, scale: lambda c: -1.0 - abs(c - middle) / scale,
    "nothing outside": lambda middle, scale: lambda c: 1.0,
}


def halved(excess: Curve, start: float, far: float) -> float:
    """Where the outside begins, by two hundred halvings."""
    if excess(start) < 0.0:
        return start
    if excess(far) >= 0.0:
        return far
    for _ in range(200):
        middle = start / 2 + far / 2
        start, far = (start, middle) if excess(middle) < 0.0 else (middle, far)
    return far


@pytest.mark.parametrize("name", CURVES)
def test_both_ends_are_where_halving_finds_them(name: str) -> None:
    rng = np.random.default_rng(20261123)
    middles = rng.uniform(-1e3, 1e3, 60)
    scales = 10.0 ** rng.uniform(-6, 3, 60)
    least, most = middles - 10.0 ** rng.uniform(0, 6, 60), middles + 10.0 ** rng.uniform(0, 12, 60)
    curves = [CURVES[name](middle, scale) for middle, scale in zip(middles, scales, strict=True)]

    def excess(c: np.ndarray) -> np.ndarray:
        return np.array([[curve(x) for curve, x in zip(curves, side, strict=True)] for side in c])

    for far, found in zip((least, most), crossings(excess, middles, (least, most)), strict=True):
        for curve, start, end, one in zip(curves, middles, far, found, strict=True):
            assert abs(one - halved(curve, start, end)) <= 2e-11 * max(abs(one), abs(start), 1e-300)
            assert one == end or curve(one) < 0.0  # never inside


@pytest.mark.parametrize("name", CURVES)
def test_places_that_are_found_are_not_asked_again(name: str) -> None:
    """One in twenty has a step, which takes long; ends are those of each place alone."""
    rng = np.random.default_rng(20261126)
    middles, scales = rng.uniform(-1e3, 1e3, 60), 10.0 ** rng.uniform(-6, 3, 60)
    ends = middles - 1e6, middles + 1e9
    of = [CURVES["a step" if place % 20 == 7 else name] for place in range(60)]
    curves = [one(*given) for one, *given in zip(of, middles, scales, strict=True)]
    asked = [0, 0]

    def excess_at(some: np.ndarray, way: int) -> Callable[[np.ndarray], np.ndarray]:
        def excess(c: np.ndarray) -> np.ndarray:
            assert c.shape == (2, len(some))
            asked[way] += c.size
            return np.array([[curves[at](x) for at, x in zip(some, side, strict=True)] for side in c])

        return excess

    all_ = excess_at(np.arange(60), 0)
    whole = crossings(all_, middles, ends)
    given = excess_at(np.arange(60), 1)
    found = crossings(given, middles, ends, lambda some: excess_at(some, 1))
    for far, one, other in zip(ends, found, whole, strict=True):
        assert (np.abs(one - other) <= 2e-11 * np.maximum(np.abs(one), np.abs(middles))).all()
        for curve, end, at in zip(curves, far, one.tolist(), strict=True):
            assert at == end or curve(at) < 0.0  # never inside
    assert asked[1] <= asked[0]
    if name in {"a line", "a parabola", "nothing outside", "outside already"}:
        assert asked[1] < 0.6 * asked[0]


def counted(law: Law) -> tuple[Law, list[int]]:
    asked = [0]

    def tail(*given: object) -> object:
        asked[0] += 1
        return law.tail(*given)

    return Law(tail, law.bent), asked


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_an_interval_asks_seldom_how_far_noise_goes(law: Law) -> None:
    counting, asked = counted(law)
    count = np.array([1e7])
    rows = NoisyCounts(count, 8.0, counting)
    first, second = (NoisySums(count * mean, 1e6, -819200.0, 819200.0) for mean in (3.0, -4e5))
    base = 819200.0**2
    squares = tuple(
        Product(count * (base - mean**2 - 2e11), 1e12, column, column, base, -1.0)
        for mean, column in ((3.0, first), (-4e5, second))
    )
    product = Product(count * (3.0 * -4e5 + 1e10), 1e12, first, second)
    low, high = correlation_ends(product, (squares[0], squares[1]), rows, (819200.5,) * 3)
    assert -1.0 < low[0] < 0.05 < high[0] < 1.0
    assert 0 < asked[0] <= 80  # 383 and 436, one end at a time
    asked[0] = 0
    low, high = covariance_ends(squares[0], rows, (0.0, base))
    assert low[0] < 2e11 < high[0]
    assert 0 < asked[0] <= 30
