"""The precision attack of `make attack-peers`: low bits of a release say nothing, those of textbook noise do.

20,000 draws from the operating system, 99.9 % Wilson intervals, drawn a second time where the first misses:
false alarm 10⁻⁶.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DRAWS = 20_000
BITS = [place % 2 for place in range(DRAWS)]


def rate(precision: ModuleType, outputs: list[float]) -> tuple[float, float]:
    """The interval of the attacker who sees the low bits alone."""
    seen = [
        (bit, (precision.size_of(y), precision.zeros_of(y))) for bit, y in zip(BITS, outputs, strict=True)
    ]
    halves = map(precision.balanced, (seen[: DRAWS // 2], seen[DRAWS // 2 :]))
    found: tuple[float, float] = precision.interval(*precision.successes(*halves))
    return found


def test_low_bits_of_a_release_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "attacks"))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "peers"))
    precision, leakcap = map(importlib.import_module, ("precision", "with_leakcap"))
    generator = np.random.default_rng(20261121)
    textbook = [bit + float(noise) for bit, noise in zip(BITS, generator.laplace(size=DRAWS), strict=True)]
    assert rate(precision, textbook)[0] > 0.5
    intervals = (rate(precision, leakcap.laplace(BITS)) for _ in range(2))
    assert any(low <= 0.5 <= high for low, high in intervals)
