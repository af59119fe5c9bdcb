"""How far outcomes can be skewed, and how often an output tells much more than the cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.attack.value import Finding
from leakcap.channel import Channel
from leakcap.definition.meaning import surprise_tail
from leakcap.definition.skewing import outcome_skew
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.leakage.guessing import bayes_vulnerability
from leakcap.numeric.logspace import Floats

__all__ = ["Skew", "Surprise", "skew_curve", "surprise", "surprise_curve"]

_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Skew(Finding):
    """How far an even outcome is tilted under a cap of `nats` at level `alpha`."""

    alpha: float
    nats: float


def skew_curve(nats: float, alphas: Sequence[float]) -> tuple[Skew, ...]:
    """The largest probability to which one of two even outcomes is tilted under a level-α cap, for each α.

    got is that of randomised response whose level-α capacity, over all priors, is proved to be within
    `nats`; at_most is a probability at which every channel is proved to break the cap. They differ by the
    width of the proof (`outcome_skew`). Source: the broken-wifi article, 2022, with its condition made exact.

    >>> [round(point.at_most, 6) for point in skew_curve(0.5, [2.0, math.inf])]
    [0.902716, 0.622459]
    """
    points = []
    for alpha in alphas:
        p = outcome_skew(alpha, nats)
        points.append(
            Skew(
                attack=f"outcome skew at level {alpha:g}",
                got=p.lower,
                at_most=p.upper,
                unit="probability",
                stopped_by="the cap on nats at level α",
                alpha=alpha,
                nats=nats,
            )
        )
    return tuple(points)


@dataclass(frozen=True, kw_only=True)
class Surprise(Finding):
    """got = P(D_α(P_{X|Y} ‖ P_X) ≥ `level`); `nats` = D_α(P_XY ‖ P_X × P_Y) of this channel and belief."""

    alpha: float
    level: float
    nats: float


def surprise(channel: Channel, prior: ArrayLike, *, alpha: float, level: float) -> Surprise:
    """How often an output tells at least `level` nats, exactly, against what the average allows.

    at_most = (e^{(α−1)ε}−1)/(e^{(α−1)R}−1) with ε = D_α(P_XY ‖ P_X × P_Y), R = `level`, for every α > 0: ε/R
    at α = 1, and nothing beyond ε at α = ∞. An eraser reaches it. Rounding is to the side of the limit.
    Source: the broken-wifi article, 2022.

    >>> from leakcap.mechanism import BinaryErasure
    >>> found = surprise(BinaryErasure(0.1).channel(), [0.5, 0.5], alpha=1.0, level=math.log(2.0))
    >>> round(found.got, 9), round(found.at_most, 9)
    (0.9, 0.9)
    """
    require(alpha > 0.0, "alpha", "surprise", "be positive, ∞ allowed", alpha)
    require(0.0 < level < math.inf, "level", "surprise", "be positive and finite", level)
    bayes_vulnerability(channel, prior)  # refuses what is no prior of this channel
    belief = np.asarray(prior, dtype=np.float64)
    joint = belief[:, None] * channel.matrix
    outputs = joint.sum(axis=0)
    kept = outputs > 0.0
    posteriors = (joint[:, kept] / outputs[kept]).T
    told = np.array([float(Renyi(alpha).between(row, belief)) for row in posteriors])
    nats = _mean(outputs[kept], told, alpha)
    slack = _ROUNDING * max(level, 1.0)  # an output at the level itself counts, whatever its rounding
    limit = surprise_tail(alpha, nats + slack, max(level - slack, 0.0))
    got = float(outputs[kept][told >= level - slack].sum())
    return Surprise(
        attack="surprise",
        got=min(got, 1.0),
        at_most=min(limit * (1.0 + _ROUNDING * (1.0 + min(abs(alpha - 1.0), 1e9) * level)), 1.0),
        unit="probability",
        stopped_by="the cap on nats at level α",
        alpha=alpha,
        level=level,
        nats=nats,
    )


def _mean(weights: Floats, told: Floats, alpha: float) -> float:
    """ln(Σ q e^{(α−1)D})/(α−1) of what the outputs tell: D_α(P_XY ‖ P_X × P_Y)."""
    most = float(told.max())
    if math.isinf(alpha):
        return max(most, 0.0)
    t = alpha - 1.0
    if t == 0.0:
        return max(math.fsum((weights * told).tolist()), 0.0)
    if t * most > 1.0:  # the largest is taken out, so that no power overflows
        return most + math.log(math.fsum((weights * np.exp(t * (told - most))).tolist())) / t
    return max(math.log1p(math.fsum((weights * np.expm1(t * told)).tolist())) / t, 0.0)


def surprise_curve(
    channel: Channel, prior: ArrayLike, *, alpha: float, levels: Sequence[float]
) -> tuple[Surprise, ...]:
    """`surprise` for each level. Data for a plot.

    >>> from leakcap.mechanism import BinaryErasure
    >>> erased = BinaryErasure(0.1).channel()
    >>> [round(point.got, 6) for point in surprise_curve(erased, [0.5, 0.5], alpha=2.0, levels=[0.5, 0.7])]
    [0.9, 0.0]
    """
    return tuple(surprise(channel, prior, alpha=alpha, level=level) for level in levels)
