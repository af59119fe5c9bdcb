"""What laws of siblings' keys say at their likely places, by the sums themselves."""

from __future__ import annotations

import numpy as np
import pytest

from leakcap.disclosure.joint import laws as laws_module
from leakcap.disclosure.joint.laws import SiblingLaws, seen
from leakcap.numeric.logspace import Floats


def by_sums(shape: Floats, told: Floats, places: Floats) -> Floats:
    return np.array([[row @ np.roll(shape, int(place)) for place in places] for row in told])


def found(keys: int, many: int, half: int, seed: int) -> tuple[Floats, Floats, Floats]:
    draw = np.random.default_rng(seed)
    shape, told = draw.dirichlet(np.ones(keys)), draw.random((5, keys)) * 2 - 1
    waves = np.fft.rfft(shape) * np.exp(1j * np.pi * half * np.arange(keys // 2 + 1) / keys)
    mass = np.zeros(keys)
    places = draw.choice(keys, many, replace=False)
    mass[places] = draw.dirichlet(np.ones(many))
    ((masses, sums),) = seen(SiblingLaws(waves[None], mass[None], np.array([half])), told)
    assert masses.tolist() == mass[mass > 0].tolist()
    return sums, by_sums(shape, told, np.flatnonzero(mass)), told


@pytest.mark.parametrize("keys", [2, 3, 16, 255, 256, 1000])
@pytest.mark.parametrize("half", [0, 1])
def test_few_places_and_many_are_what_the_sums_are(keys: int, half: int) -> None:
    for many in {1, min(keys, 128), min(keys, 129), keys}:
        sums, exact, _ = found(keys, many, half, keys)
        assert np.abs(sums - exact).max() <= 4096 * keys**0.5 * 2.0**-53


def test_a_last_wave_that_counts_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: of an even number of keys the last wave is taken for two."""

    real = np.where
    monkeypatch.setattr(laws_module.np, "where", lambda *given: np.append(real(*given)[:-1], real(*given)[1]))
    sums, exact, _ = found(16, 4, 0, 1)
    assert np.abs(sums - exact).max() > 1e-6
