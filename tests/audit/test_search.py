"""The worst pair among many, for mechanisms that are wrong on some only."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from leakcap.audit import Verdict, answer_patterns, audit_pairs
from leakcap.definition import PureDP
from leakcap.errors import InvalidParameter


def test_the_pair_that_breaks_the_claim_is_found() -> None:
    """A sum clipped on the wrong side: only a record above 10 moves it by more than it should."""
    noise = np.random.default_rng(1)

    def clipped(rows: list[float]) -> float:
        return sum(max(r, 0.0) for r in rows) / 10 + float(noise.laplace())

    pairs = [([1.0, a], [1.0, b]) for a, b in ((0.0, 1.0), (2.0, 10.0), (5.0, 6.0), (0.0, 40.0), (9.0, 0.0))]
    found = audit_pairs(clipped, pairs, samples=1500, claim=PureDP(1.0), bits=False, seed=0)
    assert found.pair == ([1.0, 0.0], [1.0, 40.0])
    assert found.verdict is Verdict.VIOLATED


def noisy_top(answers: list[float], generator: np.random.Generator, *, tell: bool) -> float:
    """Report-noisy-max; the wrong variant tells the noisy answer instead of its place."""
    noisy = np.asarray(answers) + generator.exponential(scale=2.0, size=len(answers))
    return float(noisy.max()) if tell else int(noisy.argmax())


def test_report_noisy_max_right_and_wrong() -> None:
    """Exponential noise of scale 2/ε: ε-DP for the place (Ding et al. 2021), not for the answer."""
    generator = np.random.default_rng(2)
    for tell in (False, True):
        found = audit_pairs(
            partial(noisy_top, generator=generator, tell=tell),
            answer_patterns(5),
            samples=1500,
            claim=PureDP(1.0),
            bits=False,
            seed=0,
        )
        assert (found.verdict is Verdict.VIOLATED) == tell


def test_patterns_are_neighbours() -> None:
    for length in (1, 2, 5):
        patterns = answer_patterns(length)
        assert patterns
        for first, second in patterns:
            assert len(first) == len(second) == length
            assert math.isclose(max(abs(a - b) for a, b in zip(first, second, strict=True)), 1.0)
    with pytest.raises(InvalidParameter, match="length"):
        answer_patterns(0)
    with pytest.raises(InvalidParameter, match="pairs"):
        audit_pairs(lambda x: x, [])
