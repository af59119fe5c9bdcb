"""The trade-off between privacy and utility along a family of mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from leakcap.bound import Bound
from leakcap.channel import Channel

__all__ = ["TradeoffPoint", "tradeoff_curve"]


@dataclass(frozen=True)
class TradeoffPoint:
    """One mechanism of a family: its parameter, what it costs and what it leaks."""

    parameter: float
    distortion: float
    leakage: Bound
    channel: Channel


def tradeoff_curve(
    family: Callable[[float], Channel],
    parameters: Iterable[float],
    *,
    distortion: Callable[[Channel], float],
    leakage: Callable[[Channel], Bound | float],
) -> tuple[TradeoffPoint, ...]:
    """Distortion and leakage of `family(parameter)` for each parameter, any leakage on the privacy axis.

    The optimum's own curve is the same call with a family of synthesised mechanisms:
    `lambda e: optimal_mechanism(prior, loss, epsilon=e)`. Source: Wu, Xia & He 2017, section 3.2.

    >>> from leakcap.leakage import bayes_capacity
    >>> flip = lambda p: Channel([[1 - p, p], [p, 1 - p]])
    >>> curve = tradeoff_curve(flip, [0.5, 0.25], distortion=lambda c: c.matrix[0, 1], leakage=bayes_capacity)
    >>> [(float(point.distortion), point.leakage.upper) for point in curve]
    [(0.5, 1.0), (0.25, 1.5)]
    """
    return tuple(_point(parameter, family(parameter), distortion, leakage) for parameter in parameters)


def _point(
    parameter: float,
    channel: Channel,
    distortion: Callable[[Channel], float],
    leakage: Callable[[Channel], Bound | float],
) -> TradeoffPoint:
    leaked = leakage(channel)
    bound = leaked if isinstance(leaked, Bound) else Bound.exact(float(leaked), method="exact evaluation")
    return TradeoffPoint(parameter, float(distortion(channel)), bound, channel)
