"""Samples of fixed size: the pair whose profile is the larger of both directions'."""

from __future__ import annotations

import math

import numpy as np

from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.part import Part
from leakcap.errors import InvalidParameter, require

__all__ = ["fixed_size"]


def fixed_size(part: Part, rate: float) -> Part:
    """The loss of one record replaced, seen through a sample of the fraction `rate`.

    Its profile is δ((1−r)Q + rP ‖ Q) for ε ≥ 0 and δ(P ‖ (1−r)P + rQ) for ε < 0: convex in e^ε, hence the
    profile of a pair. Source: Zhu, Dong & Wang 2022, theorem 11.

    >>> fixed_size(finite_loss([0.75, 0.25], [0.25, 0.75]), 0.5).losses
    (-0.693147..., 0.0, 0.693147...)
    """
    require(0 < rate <= 1, "rate", "fixed_size", "be a fraction above 0", rate)
    if not isinstance(part, FiniteLoss):
        raise InvalidParameter(
            f"`part` of `fixed_size` must be a loss of two rows. Got {part!r}. Use a discrete mechanism."
        )
    p = np.array([*part.p, part.at_infinity, 0.0])
    q = np.array([*part.q, 0.0, part.at_minus_infinity])
    over = finite_loss((1.0 - rate) * q + rate * p, q)
    under = finite_loss(p, (1.0 - rate) * p + rate * q)
    high = [(l, a, b) for l, a, b in zip(over.losses, over.p, over.q, strict=True) if l > 0]
    low = [(l, a, b) for l, a, b in zip(under.losses, under.p, under.q, strict=True) if l < 0]
    at_p = math.fsum(a for _, a, _ in high + low) + over.at_infinity
    at_q = math.fsum(b for _, _, b in high + low) + under.at_minus_infinity
    # What is left has loss zero: the profile's one kink at ε = 0.
    rest_p, rest_q = max(1.0 - at_p, 0.0), max(1.0 - at_q, 0.0)
    rest = 0.5 * (rest_p + rest_q)
    points = [*low, *([(0.0, rest, rest)] if rest > 1e-15 else []), *high]
    return FiniteLoss(
        tuple(l for l, _, _ in points),
        tuple(a for _, a, _ in points),
        tuple(b for _, _, b in points),
        over.at_infinity,
        under.at_minus_infinity,
        part.units + 8.0,
    )
