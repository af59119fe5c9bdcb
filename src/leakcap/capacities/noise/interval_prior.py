"""Optimal priors on an interval, as values: some atoms, and a flat stretch between two of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IntervalPrior"]


@dataclass(frozen=True, slots=True)
class IntervalPrior:
    """A distribution on an interval of secrets.

    `atoms` are (position, probability). `flat`, where there is one, is (first, last, weight): `weight` is the
    probability of each integer from first to last for a secret that is an integer, and the density on
    [first, last] for a real secret.

    >>> IntervalPrior(((0.0, 0.5), (1.0, 0.5))).atoms[1]
    (1.0, 0.5)
    """

    atoms: tuple[tuple[float, float], ...]
    flat: tuple[float, float, float] | None = None
