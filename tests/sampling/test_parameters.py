"""Scales, sizes and sources: what is taken, what is refused, and that rounding only ever goes up."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakcap.errors import InvalidParameter, SourceError
from leakcap.sampling import (
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    rational_scale,
    system_bytes,
    uniform_below,
)
from leakcap.sampling.rational import MAX_DENOMINATOR, MAX_NUMERATOR, require_scale
from leakcap.sampling.source import fair_bits, words
from seeded import SeededSource

SENSITIVITIES = st.integers(min_value=1, max_value=1 << 35)
EPSILONS = st.floats(min_value=1 / 1024, max_value=1024)


@given(SENSITIVITIES, EPSILONS)
def test_a_scale_is_never_below_and_tight(sensitivity: int, epsilon: float) -> None:
    exact = sensitivity / Fraction(Decimal(repr(epsilon)))
    scale = rational_scale(sensitivity, epsilon)
    require_scale(scale, "test")
    assert exact <= scale <= exact * (1 + Fraction(1, 10**12))
    if exact.numerator <= MAX_NUMERATOR and exact.denominator <= MAX_DENOMINATOR:
        assert scale == exact


@given(st.fractions(min_value=Fraction(1, 1 << 45), max_value=1 << 30, max_denominator=1 << 70))
def test_a_rational_epsilon_is_never_below_and_tight(epsilon: Fraction) -> None:
    scale = rational_scale(1, epsilon)
    require_scale(scale, "test")
    assert 1 / epsilon <= scale <= 1 / epsilon * (1 + Fraction(3, 10**7))


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "scale"),
    [
        (1, 0.1, Fraction(10)),
        (1, np.float64(0.1), Fraction(10)),
        (7, 2, Fraction(7, 2)),
        (1, Fraction(3), Fraction(1, 3)),
        (10 << 32, 1.0, Fraction(10 << 32)),
        (1, 1e3, Fraction(1, 1000)),
    ],
)
def test_round_numbers_give_round_scales(sensitivity: int, epsilon: float, scale: Fraction) -> None:
    assert rational_scale(sensitivity, epsilon) == scale


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), True, "1", 5e-324, 1e300, 10**400])
def test_a_bad_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon` of `rational_scale` must"):
        rational_scale(1, epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True])
def test_a_bad_sensitivity_is_refused(sensitivity: object) -> None:
    with pytest.raises(InvalidParameter, match="`sensitivity` of `rational_scale` must"):
        rational_scale(sensitivity, 1.0)


@pytest.mark.parametrize(
    "scale",
    [
        Fraction(0),
        Fraction(-1),
        Fraction((1 << 45) + 1),
        Fraction(1, 1 << 31),
        Fraction(1, 3) + Fraction(1, 1 << 60),
        10.0,
        float("nan"),
        float("inf"),
        True,
        "10",
    ],
    ids=str,
)
def test_a_bad_scale_is_refused_before_a_byte_is_drawn(scale: object) -> None:
    def untouched(n: int, /) -> bytes:
        raise AssertionError

    with pytest.raises(InvalidParameter, match="`scale` of `discrete_laplace` must"):
        discrete_laplace(scale, 1, untouched)


@pytest.mark.parametrize(
    "variance", [Fraction(0), Fraction(-1), Fraction(1 << 89), 100.0, float("nan")], ids=str
)
def test_a_bad_variance_is_refused(variance: object) -> None:
    with pytest.raises(InvalidParameter, match="`sigma_squared` of `discrete_gaussian` must"):
        discrete_gaussian(variance, 1)


def test_other_bad_input_is_refused() -> None:
    source = SeededSource(0)
    for call in (
        lambda: discrete_laplace(Fraction(1), -1),
        lambda: discrete_gaussian(Fraction(1), -1),
        lambda: uniform_below(0, 1, source),
        lambda: uniform_below((1 << 62) + 1, 1, source),
        lambda: uniform_below(np.array([3, 0]), 2, source),
        lambda: uniform_below(np.array([3]), 2, source),
        lambda: uniform_below(np.array([3.0]), 1, source),
        lambda: bernoulli_exp(np.array([-1]), 2, source),
        lambda: bernoulli_exp(np.array([1]), 0, source),
        lambda: bernoulli_exp(np.array([1]), 1 << 63, source),
    ):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.parametrize("size", [0, 1, 7, 40_000])
def test_sizes(size: int) -> None:
    for noise in (discrete_laplace(Fraction(10, 3), size), discrete_gaussian(Fraction(10, 3), size)):
        assert noise.shape == (size,)
        assert noise.dtype == np.int64
    assert bernoulli_exp(np.zeros(0, dtype=np.int64), 1, system_bytes).shape == (0,)


def test_a_whole_number_is_a_scale() -> None:
    assert (
        discrete_laplace(10, 50, SeededSource(1)) == discrete_laplace(Fraction(10), 50, SeededSource(1))
    ).all()


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_source_that_returns_another_length_is_refused(wrong: int) -> None:
    for draw in (words, fair_bits):
        with pytest.raises(SourceError, match="Nothing was drawn"):
            draw(9, lambda n: bytes(n + wrong))


def test_system_bytes_come_in_full_and_differ() -> None:
    assert [len(system_bytes(n)) for n in (0, 1, (1 << 20) + 1, 5 << 19)] == [0, 1, (1 << 20) + 1, 5 << 19]
    assert system_bytes(32) != system_bytes(32)


def test_a_fork_shares_no_bytes() -> None:
    """A buffer filled before the fork would give parent and child the same next bytes."""
    system_bytes(8)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, system_bytes(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 32) != system_bytes(32)
    os.close(read_end)
    os.close(write_end)


def test_bytes_that_are_seeded_are_those_of_numpy() -> None:
    """Whatever was asked for before: a word of 32 bits that is left of one of 64 is the next one."""
    fast, plain = SeededSource(7), np.random.Generator(np.random.PCG64(7))
    sizes = np.random.default_rng(1).integers(0, 40, 2_000).tolist()
    for size in [*sizes, 40_001, 8, 0, 3, 100_000]:
        assert fast(size) == plain.bytes(size)
