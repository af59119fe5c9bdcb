"""The exact coins: frequencies within 5 standard errors (false alarm below 6·10⁻⁷ each), bugs caught."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leakcap.mechanism.coins import accept, coin, exp_coins, logistic_coins
from leakcap.mechanism.planar_geometric import _Excess
from leakcap.sampling import uniform_below
from leakcap.sampling.rational import printed
from seeded import SeededSource

SIZE = 100_000


def off_by(heads: np.ndarray, probability: float) -> float:
    """Distance from the expected number of heads, in standard errors."""
    error = math.sqrt(heads.size * probability * (1 - probability))
    return abs(int(heads.sum()) - heads.size * probability) / error


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_logistic_coins(gamma: Fraction) -> None:
    heads = logistic_coins(gamma, SIZE, SeededSource(1))
    assert off_by(heads, 1 / (1 + math.exp(gamma))) < 5
    assert off_by(heads, 1 / (1 + math.exp(gamma)) * 0.7) > 5


@pytest.mark.parametrize("unit", [Fraction(1, 7), Fraction(10**18 + 9, 10**19), Fraction(10**25 + 1, 10**26)])
def test_exp_coins_narrow_and_wide(unit: Fraction) -> None:
    for multiple in (1, 3):
        heads = exp_coins(np.full(SIZE, multiple), unit, SeededSource(2))
        assert off_by(heads, math.exp(-multiple * unit)) < 5
        assert off_by(heads, math.exp(-multiple * unit * 1.3)) > 5


def test_exp_coins_of_huge_costs_are_tails() -> None:
    costs = np.array([10**30, 0], dtype=np.object_)
    assert exp_coins(costs, Fraction(1, 3), SeededSource(3)).tolist() == [False, True]


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(999, 1000), Fraction(10**24 // 3, 10**24)])
def test_rational_coins(probability: Fraction) -> None:
    heads = coin(probability, 20_000, SeededSource(4))
    assert off_by(heads, float(probability)) < 5
    assert off_by(heads, 0.7 * float(probability)) > 5
    assert not coin(Fraction(0), 9, SeededSource(4)).any()
    assert coin(Fraction(1), 9, SeededSource(4)).all()


def test_accept_reweights_the_proposal() -> None:
    source = SeededSource(5)
    drawn = accept(
        SIZE,
        lambda index: uniform_below(3, index.size, source),
        lambda index, y: y,
        Fraction(1, 2),
        source,
    )
    weights = np.exp(-np.arange(3) / 2)
    for value, weight in enumerate(weights / weights.sum()):
        assert off_by(drawn == value, float(weight)) < 5
    assert off_by(drawn == 0, 1 / 3) > 5


def test_printed_numbers_are_decimals() -> None:
    assert printed(0.1) == Fraction(1, 10)
    assert printed(3) == 3
    assert printed(Fraction(2, 7)) == Fraction(2, 7)


def test_irrational_exponents_digit_by_digit() -> None:
    # z = (1, 2) at ε = 1/2 and ρ = 0: γ = √5/2.
    excess = _Excess(np.array([[1, 2]]), Fraction(1, 4), 0)
    for bits in (64, 128, 192):
        value = excess.floor(0, bits)
        assert (2 * value) ** 2 <= 5 << (2 * bits) < (2 * value + 2) ** 2


@pytest.mark.parametrize("z", [(1, 0), (1, 1), (2, 3), (0, 5)])
def test_irrational_coins(z: tuple[int, int]) -> None:
    rate = math.isqrt(4**40 // 8)  # 2⁴⁰·ε/√2 at ε = ½, rounded down
    gamma = math.hypot(*z) / 2 - rate / 2**40 * sum(z)
    heads = _Excess(np.array([z] * 20_000), Fraction(1, 4), rate).survive(SeededSource(6))
    if gamma < 1e-9:
        assert heads.all()
    else:
        assert off_by(heads, math.exp(-gamma)) < 5
        assert off_by(heads, math.exp(-gamma) * 0.7) > 5


def test_a_tie_in_all_64_digits_is_settled_by_the_next() -> None:
    excess = _Excess(np.array([[1, 2]]), Fraction(1, 4), 0)
    digits = [excess.floor(0, bits) & (2**64 - 1) for bits in (64, 128)]

    def tie(last: int) -> bool:
        answers = iter([digits[0], last])
        first = np.array([digits[0]], dtype=np.uint64)
        toss = excess._toss(np.array([0]), first, lambda n: next(answers).to_bytes(n, "little"))
        return bool(toss[0])

    assert tie(digits[1] - 1)
    assert not tie(digits[1] + 1)
