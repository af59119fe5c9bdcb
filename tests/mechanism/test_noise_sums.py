"""Sums of discrete Laplace noises against their law by Fourier transform: another route to the same tails."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray

from leakcap.mechanism import noise_sums
from leakcap.mechanism.noise_sums import laplace_sum_error, laplace_sum_tail
from leakcap.release import PrivateTable, with_margins

# On both sides of where the way to integrate changes, of 2π and of 4π; up to noise that is hardly any.
DECAYS = (1.0, 1.9, 2.0, 2.1, 3.0, 5.0, 6.0, 6.28, 7.0, 8.0, 10.0, 12.6, 15.0, 20.0)
COUNTS = (1, 2, 10, 1000, 10**4, 10**6)
LEVELS = (0.2, 0.05, 1e-3)


def tails(decay: float, count: int) -> NDArray[np.float64]:
    """P(S ≥ a) for a from 0: φ^k by Fourier transform, φ(t) = 1/(1 + (sin(t/2)/sinh(1/2b))²)."""
    deviation = math.sqrt(count / 2) / math.sinh(decay / 2)
    size = 1 << (2 * int(40 + 14 * deviation + 60 / decay)).bit_length()
    angles = 2 * math.pi * np.fft.rfftfreq(size)
    powers = np.exp(-count * np.log1p((np.sin(angles / 2) / math.sinh(decay / 2)) ** 2))
    law = np.fft.irfft(powers, size)[: size // 2]
    return np.asarray(np.cumsum(law[::-1])[::-1])


@pytest.mark.parametrize("decay", DECAYS)
def test_tails_and_quantiles_are_those_of_the_law(decay: float) -> None:
    scale, compared = 1 / Fraction(decay), 0
    for count in COUNTS:
        exact = tails(decay, count)
        for level in LEVELS:
            wanted = int(np.argmax(exact[1:] <= level / 2))
            assert laplace_sum_error(scale, count, beyond=level) == wanted
            for at in {1, max(1, wanted), wanted + 1}:
                assert laplace_sum_tail(scale, count, at) == pytest.approx(exact[at], rel=1e-8, abs=1e-13)
                compared += 1
    assert compared >= len(COUNTS) * len(LEVELS)


@pytest.mark.parametrize("decay", [1.2, 1.6, 2.4])
def test_both_ways_to_integrate_agree(decay: float) -> None:
    """Far from where one is left for the other; k·ln M loses k times its last digit."""
    for count, at in itertools.product((1, 7, 500, 10**5), (1, 3, 40)):
        place = noise_sums._saddle(decay, count, at)
        ways = [way(decay, place, count, at) for way in (noise_sums._by_a_circle, noise_sums._by_a_period)]
        assert ways[0] == pytest.approx(ways[1], rel=1e-12 + 1e-15 * count)


@pytest.mark.parametrize("wrong", [math.nan, -1.0, 2e256, math.inf])
def test_what_is_no_probability_ends_no_search(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def tail(scale: Fraction, count: int, at: int) -> float:
        return wrong

    plant: Callable[..., None] = monkeypatch.setattr
    plant(noise_sums, "laplace_sum_tail", tail)
    with pytest.raises(ArithmeticError, match="came out as"):
        laplace_sum_error(Fraction(1, 7), 12, beyond=0.0123)


@pytest.mark.parametrize("epsilon", [2.0, 6.0, 8.0])
def test_a_margin_of_many_groups_has_the_interval_of_its_law(epsilon: float) -> None:
    keys = [f"k{i}" for i in range(40)]
    policy: dict[str, Any] = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 99.0},
        "columns": {"a": {"keys": keys}, "b": {"keys": keys}},
    }
    rows = pyarrow.table({"a": keys, "b": keys[::-1]})
    with PrivateTable(rows, policy=policy, ledger="sqlite://") as table:
        shown = with_margins(table.count(by=["a", "b"], epsilon=epsilon), table.policy)
    exact = tails(epsilon, len(keys) ** 2)
    wanted = int(np.argmax(exact[1:] <= 0.025))
    assert wanted > 0
    total = shown.rows[-1]
    assert total.interval == (total.value - wanted, total.value + wanted)
