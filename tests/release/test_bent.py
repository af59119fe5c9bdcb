"""The tail of noise with a square or a product in it, against numerical integration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from leakcap.release.numbers.bent import bent_tail
from leakcap.release.numbers.tails import Floats

FINE = 2.0**30
ONE = np.ones(1)


def one_sided(first: float, second: float, at: float) -> float:
    """P(L + M ≥ at) of Laplace variables of these two scales, by partial fractions."""
    far = abs(at)
    if second == 0.0:
        tail = math.exp(-far / first) / 2
    else:
        near = second**2 * math.exp(-far / second)
        tail = (first**2 * math.exp(-far / first) - near) / (first**2 - second**2) / 2
    return tail if at >= 0 else 1.0 - tail


def integrated(weight: float, curve: float, bend: float, other: float, at: float) -> float:
    """P(V + weight·X + curve·X² + (other + bend·X)·Y ≥ at), V of scale 1, X and Y of scales 2 and 1.7."""

    def given(x: float) -> float:
        chance = math.exp(-abs(x) / 2.0) / 4.0
        scale = abs(other + bend * x) * 1.7
        return chance * one_sided(1.0, scale, at - weight * x - curve * x * x)

    cuts = np.arange(-60.0, 61.0, 1.0)
    return math.fsum(quad(given, low, high, limit=200)[0] for low, high in itertools.pairwise(cuts))


SQUARES = [(weight, curve, 0.0, 0.0) for weight in (0.0, 0.3, 2.0) for curve in (0.0, 0.005, 0.05, -0.05)]
PRODUCTS = [
    (weight, 0.0, bend, other) for weight in (0.0, 1.0) for bend in (0.006, 0.02) for other in (0.1, 0.9)
]


@pytest.mark.parametrize(("weight", "curve", "bend", "other"), SQUARES + PRODUCTS)
def test_it_is_never_too_light_and_reaches_hardly_too_far(
    weight: float, curve: float, bend: float, other: float
) -> None:
    """Bends of 0.005 and 0.006 are those of some 400 rows at ε = 1, the others of some 40 and 120."""

    def rest(x: float) -> list[tuple[Floats, float, Floats]]:
        far = bend * x / FINE
        if other == 0.0:
            return [(ONE, FINE, ONE)]
        return [(ONE, FINE, ONE), ((other + far) * ONE, 1.7 * FINE, max(other - far, 0.0) * ONE)]

    def found(at: float) -> float:
        (tail,) = bent_tail(rest, (weight * ONE, 2.0 * FINE), curve / FINE, np.array([at * FINE]))
        return float(tail)

    for at in (0.7, 2.0, 4.0, 7.0, 11.0):
        exact = integrated(weight, curve, bend, other, at)
        assert exact - 1e-9 <= found(at), (at, exact, found(at))
    end = brentq(lambda at: integrated(weight, curve, bend, other, at) - 0.025, 1.0, 25.0, xtol=1e-3)
    strong = bend == 0.02 or curve == 0.05
    assert found(end * (1.04 if strong else 1.015)) <= 0.025, (end, found(end))
