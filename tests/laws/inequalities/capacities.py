"""Sections 1 and 2 of the theory: radius, level and diameter; the rulers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

import leakcap as lc
from laws.inequalities.sample import INF, Law, Sample, below, range_level
from leakcap import leakage

__all__ = ["LAWS"]

_ORDERS = (0.5, 2.0, 8.0)


def radius_level_diameter(s: Sample) -> Iterator[bool]:
    """At one order a channel (one of three, or any from 0.2 to 20), at 1 and at ∞, by the certified ends.

    A violation is a lower end above an upper end. The level's upper end is that of the solver; its lower end
    is recomputed as the information under its own witness, which also has to rise with the order.
    """
    order = float(s.rng.choice([*_ORDERS, math.exp(s.rng.uniform(math.log(0.2), math.log(20.0)))]))
    before = (0.0, 0.0, 0.0)
    for alpha in sorted((order, 1.0, INF)):
        ruler = lc.Renyi(alpha)
        radius, level = s.ask(ruler, lc.AllPriors()), s.ask(ruler, lc.AllPriorsJoint())
        diameter = s.ask(ruler)
        yield below(radius.lower, level.upper)
        yield below(level.lower, diameter.upper)
        yield all(below(b, n.upper) for b, n in zip(before, (radius, level, diameter), strict=True))
        before = (radius.lower, level.lower, diameter.lower)
        if alpha == 1.0:
            yield below(level.upper, radius.lower)
            yield below(radius.upper, level.lower)
        if alpha == order:
            yield from _under_the_witnesses(s, order, radius, level)
    yield math.isclose(level.upper, s.epsilon, rel_tol=1e-12, abs_tol=1e-12) or level.upper == s.epsilon
    total = math.log(s.channel.matrix.max(axis=0).sum())
    yield math.isclose(radius.upper, total, rel_tol=1e-12, abs_tol=1e-12)


def _under_the_witnesses(s: Sample, order: float, radius: lc.Bound, level: lc.Bound) -> Iterator[bool]:
    """Radius ≤ level prior by prior, the level's lower end, and its rise to and from another order."""
    at_radius = np.asarray(radius.witness)
    yield below(radius.lower, leakage.joint_renyi(s.channel, at_radius, alpha=order))
    yield below(leakage.joint_renyi(s.channel, at_radius, alpha=order), level.upper)
    if level.witness is not None:
        best = np.asarray(level.witness)
        yield below(level.lower, leakage.joint_renyi(s.channel, best, alpha=order))
        smaller, larger = order * s.rng.uniform(0.2, 1.0), order * s.rng.uniform(1.0, 5.0)
        yield below(leakage.joint_renyi(s.channel, best, alpha=smaller), level.upper)
        yield below(level.lower, leakage.joint_renyi(s.channel, best, alpha=larger))
    if order * s.epsilon < 300.0 and abs(order - 1.0) > 1e-2:
        yield below(level.lower, range_level(s.epsilon, order))


def rulers(s: Sample) -> Iterator[bool]:
    """Two rows against each other: Rényi's divergences rise, Pinsker, and the shape of the profile."""
    p, q = s.channel.matrix[0], s.channel.matrix[1]
    values = [float(lc.Renyi(a).between(p, q)) for a in (0.3, 0.9, 1.0, 1.0 + 1e-9, 2.0, 30.0, 1e6, INF)]
    yield all(below(low, high, 1e-11) for low, high in itertools.pairwise(values))
    distance = float(lc.TotalVariation().between(p, q))
    yield below(2.0 * distance**2, values[2], 1e-13)
    grid = np.linspace(0.0, 3.0, 13)
    profile = [float(lc.HockeyStick(g).between(p, q)) for g in 1.0 + grid]
    yield abs(profile[0] - distance) <= 1e-12
    yield all(below(late, early, 1e-13) for early, late in itertools.pairwise(profile))
    yield all(
        below(b, 0.5 * (a + c), 1e-13) for a, b, c in zip(profile, profile[1:], profile[2:], strict=False)
    )
    if values[-1] < 600.0:
        yield float(lc.HockeyStick(math.exp(values[-1])).between(p, q)) <= 1e-12


LAWS: tuple[Law, ...] = (radius_level_diameter, rulers)
