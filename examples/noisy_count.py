"""A noisy count for `leakcap audit` to look at: neighbouring counts answer alike up to a factor e."""

from __future__ import annotations

from fractions import Fraction

from leakcap.sampling import discrete_laplace


def noisy_count(count: int) -> int:
    """`count` and discrete Laplace noise of scale 1: exact, from the operating system's randomness."""
    return int(count + discrete_laplace(Fraction(1), 1)[0])


def noisy_counts(count: int, runs: int) -> list[int]:
    """The same `runs` times: what `leakcap audit --batch` calls."""
    return [int(noise) + count for noise in discrete_laplace(Fraction(1), runs)]
