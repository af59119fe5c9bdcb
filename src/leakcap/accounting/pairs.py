"""From mechanisms to the loss of the pair of secrets that dominates all others."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

import numpy as np

from leakcap.accounting.finite import finite_loss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import LossComponent
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.mechanism import DiscreteGaussian, Gaussian, Laplace, Mechanism

__all__ = ["loss_of"]

_ROUNDINGS = 64
"""Units of the last place that the masses of a mechanism's rows can be off by."""
_WINDOW = 512
"""The same for a window of discrete Gaussian noise, whose exponents go down to −78."""


@singledispatch
def loss_of(mechanism: object) -> LossComponent:
    """The loss of the dominating pair of a mechanism, or of a channel with two inputs.

    >>> loss_of(Gaussian(2.0)).mu
    0.5
    """
    raise InvalidParameter(
        f"`mechanism` of `PrivacyLoss.of_mechanism` must be a mechanism or a channel from two secrets. Got "
        f"{mechanism!r}."
    )


@loss_of.register
def _(mechanism: Mechanism) -> LossComponent:
    pair = mechanism.dominating_pair()
    if pair is not None:
        return finite_loss(pair.p, pair.q, units=_ROUNDINGS)
    raise InvalidParameter(
        f"`{type(mechanism).__name__}` has no one pair of secrets that dominates all others. Name a pair: "
        "`PrivacyLoss.of_channel(mechanism.channel(), x, x')`."
    )


@loss_of.register
def _(mechanism: Channel) -> LossComponent:
    if mechanism.shape[0] == 2:
        return finite_loss(mechanism.matrix[0], mechanism.matrix[1])
    raise InvalidParameter(
        f"a channel must have two secrets to have one privacy loss. Got {mechanism.shape[0]}. Name a pair: "
        "`PrivacyLoss.of_channel(channel, x, x')`."
    )


@loss_of.register
def _(mechanism: Gaussian) -> LossComponent:
    return GaussianLoss(*_quotient(mechanism.sensitivity, mechanism.sigma, mechanism.mu))


@loss_of.register
def _(mechanism: Laplace) -> LossComponent:
    return LaplaceLoss(*_quotient(mechanism.sensitivity, mechanism.scale, mechanism.claim()))


def _quotient(over: float, under: float, rounded: float) -> tuple[float, Fraction | None]:
    """The quotient in doubles, and itself where that is another number."""
    exact = Fraction(over) / Fraction(under)
    return rounded, None if exact == Fraction(rounded) else exact


@loss_of.register
def _(mechanism: DiscreteGaussian) -> LossComponent:
    window = mechanism.window()
    if window is None:
        raise InvalidParameter(
            f"`{mechanism!r}` is too wide for a table of its losses. Use `Gaussian` of the same sigma with "
            "`RenyiDP` or zCDP accounting, or a smaller sensitivity."
        )
    return finite_loss(np.array(window.matrix[0]), np.array(window.matrix[-1]), units=_WINDOW)
