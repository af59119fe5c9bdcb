"""Codes for the broken wifi: against brute force, the literature's figures, and each other."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from leakcap.attack import (
    Span,
    Use,
    decode_parities,
    finite_length_rate,
    least_uses,
    match_posterior,
    parities,
    parity,
    use_of_capacity,
    walsh,
)
from leakcap.capacities import geometric_capacity
from leakcap.errors import InvalidParameter


def noise(generator: np.random.Generator, decay: float, size: int) -> np.ndarray:
    """Discrete Laplace as the difference of two geometric variables; numpy's, not the engine's."""
    draws = generator.geometric(-math.expm1(-decay), (2, size))
    return draws[0] - draws[1]


@pytest.mark.parametrize("decay", [1e-4, 0.05, 0.1999, 0.2008, 1.0, 5.0])
def test_a_use_is_the_count_that_the_engine_prices(decay: float) -> None:
    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(mpmath.mpf(decay)))
        entropy = -p * mpmath.log(p) - (1 - p) * mpmath.log(1 - p)
        exact = float(mpmath.log(2) - entropy)
        ratio = float(mpmath.log((1 - p) / p))
        spread = float(p * (1 - p) * mpmath.log((1 - p) / p) ** 2)
    use = Use(decay)
    assert use.capacity == pytest.approx(exact, rel=1e-12)
    assert use.capacity == pytest.approx(geometric_capacity(1, decay).upper, rel=1e-12)
    assert use.decay == pytest.approx(ratio, rel=1e-12)
    assert use.dispersion == pytest.approx(spread, rel=1e-12)


def test_the_ratios_are_those_of_the_noise() -> None:
    use, answers = Use(0.7), np.arange(-5, 9)
    by_hand = [-0.7 * abs(y - 2 - 1) + 0.7 * abs(y - 2) for y in answers]
    np.testing.assert_allclose(use.ratios(answers, others=2), by_hand, atol=1e-12)


def test_the_finite_length_optimum_as_published() -> None:
    """k/(nC) at frame error 1e-2 and capacity 0.02 bit, as the literature's normal approximation gives it."""
    use = use_of_capacity(0.02)
    for bits, share in ((16, 0.48), (64, 0.66), (256, 0.80), (1024, 0.89), (16_384, 0.97)):
        uses = least_uses(use, bits, 1e-2)
        assert bits * math.log(2) / (uses * use.capacity) == pytest.approx(share, abs=0.006)
        assert uses * finite_length_rate(use, uses, 1e-2) >= bits * math.log(2)
        assert (uses - 1) * finite_length_rate(use, uses - 1, 1e-2) < bits * math.log(2)


@pytest.mark.parametrize("bits", [0, 1, 3, 4, 5, 8, 9])
def test_the_transform_is_the_matrix(bits: int) -> None:
    values = np.random.default_rng(bits).normal(size=(3, 1 << bits))
    signs = [[(-1) ** (a & m).bit_count() for a in range(1 << bits)] for m in range(1 << bits)]
    np.testing.assert_allclose(walsh(values), values @ np.array(signs).T, atol=1e-11)


def test_the_transform_twice_is_the_size() -> None:
    values = np.random.default_rng(1).normal(size=1 << 14)
    np.testing.assert_allclose(walsh(walsh(values)), values * (1 << 14), atol=1e-8)
    with pytest.raises(InvalidParameter):
        walsh([1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(10))
def test_decoding_is_maximum_likelihood(seed: int) -> None:
    """Against the likelihood of the answers under each message, term by term from the law of the noise."""
    generator, use = np.random.default_rng(seed), Use(0.4)
    masks = parities(5, 40, generator)
    answers = parity(masks, 19) + noise(generator, 0.4, 40)
    logs = np.array(
        [-0.4 * sum(abs(int(y) - bin(int(a) & m).count("1") % 2) for a, y in zip(masks, answers, strict=True))
         for m in range(32)]
    )  # fmt: skip
    found = decode_parities(5, masks, use.ratios(answers))
    assert logs[found.message] == pytest.approx(logs.max(), abs=1e-9)
    assert found.confidence == pytest.approx(float(1 / np.exp(logs - logs.max()).sum()), rel=1e-9)


def test_masks_come_evenly() -> None:
    masks = parities(3, 16, np.random.default_rng(2))
    assert sorted(np.bincount(masks, minlength=8).tolist()) == [0, 2, 2, 2, 2, 2, 3, 3]


def frame_error(bits: int, uses: int, frames: int, generator: np.random.Generator, flip: float) -> float:
    use, wrong = use_of_capacity(0.02), 0
    for _ in range(frames):
        message = int(generator.integers(1 << bits))
        masks = parities(bits, uses, generator)
        answers = parity(masks, message) + noise(generator, use.decay, uses)
        wrong += decode_parities(bits, masks, flip * use.ratios(answers)).message != message
    return wrong / frames


def test_parities_reach_the_finite_length_optimum() -> None:
    """10 bits at 0.98 of the optimum: the frame error is at most 1e-2, at five standard deviations (false
    alarm below 1e-4, the tail being Poisson's); a sign that is wrong loses everything."""
    generator = np.random.default_rng(11)
    uses = math.ceil(least_uses(use_of_capacity(0.02), 10, 1e-2) / 0.98)
    assert frame_error(10, uses, 1500, generator, 1.0) <= 1e-2 + 5 * math.sqrt(1e-2 / 1500)
    assert frame_error(10, uses, 20, generator, -1.0) > 0.9


@pytest.mark.slow
def test_sixteen_bits_reach_the_finite_length_optimum() -> None:
    """The target: 0.98 of the optimum at frame error 1e-2. Four standard deviations, false alarm 1e-4."""
    uses = math.ceil(least_uses(use_of_capacity(0.02), 16, 1e-2) / 0.98)
    error = frame_error(16, uses, 4000, np.random.default_rng(12), 1.0)
    assert error <= 1e-2 + 4 * math.sqrt(1e-2 / 4000)


def matched(bits: int, frames: int, seed: int, *, believed: float = 1.0) -> tuple[float, float]:
    """Rate ÷ Shannon and error; `believed` scales the ratios that the reader is told."""
    generator, use = np.random.default_rng(seed), use_of_capacity(0.02)
    uses = wrong = 0
    for _ in range(frames):
        message = int(generator.integers(1 << bits))

        def ask(span: Span, message: int = message) -> float:
            answer = int(span.holds(message)) + int(noise(generator, use.decay, 1)[0])
            return believed * float(use.ratios(answer))

        found = match_posterior(ask, bits)
        uses, wrong = uses + found.uses, wrong + (found.message != message)
    return frames * bits * math.log(2) / (uses * use.capacity), wrong / frames


def test_posterior_matching_reaches_its_share_of_shannon() -> None:
    """≥ 0.80 of Shannon at error ≤ 1 %. One field's questions vary by about a third, so that a mean of 24 is
    good to 7 %; three errors or more of 24 at 1 % each are a false alarm of 2·10⁻³."""
    rate, error = matched(12, 24, 3)
    assert 0.80 <= rate < 1.2
    assert error <= 2 / 24
    _, overconfident = matched(8, 40, 4, believed=3.0)
    assert overconfident > 0.2


def test_a_reading_can_be_cut_short() -> None:
    found = match_posterior(lambda span: 0.1, 8, most_uses=5)
    assert found.uses == 5
    assert found.confidence < 0.99


def test_bad_parameters() -> None:
    for call in (
        lambda: Use(0.0),
        lambda: Use(math.nan),
        lambda: use_of_capacity(1.0),
        lambda: parities(21, 5, np.random.default_rng(0)),
        lambda: parities(2, 0, np.random.default_rng(0)),
        lambda: decode_parities(2, np.array([1, 2]), [1.0]),
        lambda: match_posterior(lambda span: 1.0, 0),
        lambda: least_uses(Use(1.0), 0, 0.1),
        lambda: finite_length_rate(Use(1.0), 10, 0.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
