"""How far outcomes can be skewed, and how often an output tells much more than the cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.attack.value import Finding
from leakcap.channel import Channel
from leakcap.definition.meaning import outcome_skew, surprise_tail
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.leakage.guessing import bayes_vulnerability

__all__ = ["Skew", "Surprise", "skew_curve", "surprise", "surprise_curve"]


@dataclass(frozen=True, kw_only=True)
class Skew(Finding):
    """How far an even outcome is tilted under a cap of `nats` at level `alpha`."""

    alpha: float
    nats: float


def skew_curve(nats: float, alphas: Sequence[float]) -> tuple[Skew, ...]:
    """The largest probability to which one of two even outcomes is tilted under a level-α cap, for each α.

    got is that of randomised response with D_α(P_XY ‖ P_X × P_Y) = `nats`, which reaches the bound.
    Source: the broken-wifi article, 2022.

    >>> [round(point.at_most, 6) for point in skew_curve(math.log(1.25), [2.0])]
    [0.75]
    """
    points = []
    for alpha in alphas:
        p = outcome_skew(alpha, nats)
        flip = Channel([[p, 1.0 - p], [1.0 - p, p]])
        points.append(
            Skew(
                attack=f"outcome skew at level {alpha:g}",
                got=bayes_vulnerability(flip, [0.5, 0.5]),
                at_most=p,
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

    at_most = (e^{(α−1)ε}−1)/(e^{(α−1)R}−1) with ε = D_α(P_XY ‖ P_X × P_Y), R = `level`; an eraser reaches it.
    Source: the broken-wifi article, 2022.

    >>> from leakcap.mechanism import BinaryErasure
    >>> found = surprise(BinaryErasure(0.1).channel(), [0.5, 0.5], alpha=2.0, level=math.log(2.0))
    >>> round(found.got, 12) == round(found.at_most, 12)
    True
    """
    ok = 1.0 < alpha < math.inf
    require(ok, "alpha", "surprise", "be a finite number above 1", alpha)
    require(level > 0.0, "level", "surprise", "be positive", level)
    bayes_vulnerability(channel, prior)  # refuses what is no prior of this channel
    belief = np.asarray(prior, dtype=np.float64)
    joint = belief[:, None] * channel.matrix
    outputs = joint.sum(axis=0)
    kept = outputs > 0.0
    posteriors = (joint[:, kept] / outputs[kept]).T
    told = np.array([float(Renyi(alpha).between(row, belief)) for row in posteriors])
    mean = float((outputs[kept] * np.expm1((alpha - 1.0) * told)).sum())
    nats = math.log1p(max(mean, 0.0)) / (alpha - 1.0)
    slack = 1e-12 * max(level, 1.0)  # an output at the level itself counts, whatever its rounding
    return Surprise(
        attack="surprise",
        got=float(outputs[kept][told >= level - slack].sum()),
        at_most=surprise_tail(alpha, nats, level),
        unit="probability",
        stopped_by="the cap on nats at level α",
        alpha=alpha,
        level=level,
        nats=nats,
    )


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
