"""Certified optima over two-outcome channels: the exact profile δ(ε) that a capped divergence allows.

Merging the outputs where P > e^ε Q keeps the hockey-stick divergence and shortens every other one, so
two outcomes suffice. The largest p allowed beside q is a concave function of q, because divergences are
jointly convex, so the objective p − e^ε q is concave along the boundary and its maximum is the root of
a decreasing derivative: a bracket of it is a certificate.
"""

from __future__ import annotations

import math
from functools import lru_cache

from leakcap.bound import Bound
from leakcap.definition.bernoulli import (
    FARTHEST,
    boundary,
    log_ratios,
    reach,
    renyi_binary,
    sigmoid,
    sign_change,
    softplus,
)
from leakcap.definition.hyperbolic import log_sinhc
from leakcap.numeric.enclosure import enclose

__all__ = ["divergence_profile", "shannon_profile"]

_VACUOUS = 300.0
_ULPS = 64 * 2.0**-53
_LEAST = 1e-280
"""Levels below this are raised to it, which is safe and keeps d² a normal number."""


@lru_cache(maxsize=4096)
def shannon_profile(nats: float, epsilon: float) -> Bound:
    """max a − e^ε b over binary channels (a, b) of Shannon capacity ≤ nats: a certified enclosure.

    The capacity is at most κ iff some q has D(a‖q) ≤ κ and D(b‖q) ≤ κ (it is the radius), so the
    boundary is a(q) − e^ε b(q), concave in q. The witness is the channel's first column (a, b).
    Source: Cuff & Yu 2016, (33).

    >>> round(shannon_profile(0.1, 0.5).upper, 6)
    0.329776
    """
    method, source = "root of a decreasing derivative", "Cuff & Yu 2016, (33)"
    if nats >= math.log(2.0) or nats == 0.0:
        value = 1.0 if nats > 0.0 else 0.0
        return Bound.exact(value, method=method, source=source, unit="probability", witness=(value, 0.0))
    nats = max(nats, _LEAST)

    def margin(u: float) -> float:
        up, down = boundary(1.0, nats, u), boundary(1.0, nats, -u)
        return _log_chord(u, up) - _log_chord(u, -down) - epsilon

    def climb(u: float) -> float:
        """At least the derivative of the objective in u, where it is positive."""
        size = math.exp(_log_chord(u, boundary(1.0, nats, u)) - softplus(u) - softplus(-u))
        return 2.0 * size * min(max(margin(u), 1e-15), 1.0)

    # Below this edge b = 0 is free and the objective rises with q; above its mirror image a = 1 and it falls.
    edge = -math.log(math.expm1(nats))
    low, high = sign_change(margin, -edge, edge)
    drops = ((-edge, math.inf), (low, boundary(1.0, nats, -low)), (high, boundary(1.0, nats, -high)))
    best = max(_objective(u, boundary(1.0, nats, u), -down, epsilon) for u, down in drops)
    # It never exceeds a, which grows with q; and it is concave, so it lies below its tangent at `low`.
    ceiling = _objective(high, boundary(1.0, nats, high), -math.inf, epsilon)[0] * (1.0 + _ULPS)
    upper = min(best[0] + _ULPS * best[1] + (high - low) * climb(low), ceiling, 1.0)
    lower = min(max(best[0] - _ULPS * best[1], 0.0), upper)
    return Bound(lower, upper, method, source, "probability", best[2:])


def _log_chord(u: float, d: float) -> float:
    """ln of (p − q)/((logit p − logit q)·q(1−q)), to which the slope of the boundary is proportional.

    Written d/2 + S(d/2) − ln(1+q(e^d−1)): small terms stay small for small d.
    """
    if math.isinf(d):
        return -math.inf
    growth = math.log1p(sigmoid(u) * math.expm1(d)) if abs(d) < 1.0 else softplus(u + d) - softplus(u)
    return 0.5 * d + log_sinhc(0.5 * d) - growth


def _objective(u: float, up: float, down: float, epsilon: float) -> tuple[float, float, float, float]:
    """a − e^ε b, the sum of the terms' sizes, a and b, at a = σ(u+up), b = σ(u+down), down ≤ 0."""
    q = sigmoid(u)
    a = 1.0 if math.isinf(up) else sigmoid(u + up)
    b = 0.0 if math.isinf(down) else sigmoid(u + down)
    if epsilon > 1.0:
        cost = math.exp(epsilon - softplus(-(u + down))) if b > 0.0 else 0.0
        return a - cost, a + cost, a, b
    more = sigmoid(-u) if math.isinf(up) else q * math.expm1(log_ratios(u, up)[0])
    less = q if math.isinf(down) else -q * math.expm1(log_ratios(u, down)[0])
    cost = math.expm1(epsilon) * b
    return more + less - cost, more + less + cost, a, b


@lru_cache(maxsize=4096)
def divergence_profile(alpha: float, level: float, epsilon: float) -> Bound:
    """max p − e^ε q over pairs of Bernoulli laws with D_α ≤ level in both directions, α ≥ 1.

    The exact δ(ε) of what is known: for α = 1 KL-DP, for α > 1 Rényi DP. Orders within 1e-4 of one are
    taken as one, which the given order implies. The witness is (p, q).
    Source: joint range of f-divergences, Harremoës & Vajda 2011; Asoodeh et al. 2021.

    >>> round(divergence_profile(2.0, 0.5, 1.0).upper, 6) < round(math.exp(0.5 - 1.0) / 4, 6)
    True
    """
    method, source = "root of a decreasing derivative", "Asoodeh et al. 2021, both directions"
    if level == 0.0 or math.isinf(level):
        value = 0.0 if level == 0.0 else 1.0
        return Bound.exact(value, method=method, source=source, unit="probability", witness=(value, 0.0))
    alpha, level = 1.0 if alpha < 1.0 + 1e-4 else alpha, max(level, _LEAST)
    gap = enclose(lambda d: (1 - (d.of(epsilon) - level).exp()).positive_part() / (1 + d.of(-level).exp()))
    if math.isinf(alpha):
        return Bound.enclosed(gap, method="randomised response", source=source, unit="probability")
    if level > _VACUOUS:
        return Bound(gap[0], 1.0, "randomised response below, nothing above", source, "probability")

    def margin(u: float) -> float:
        d, forward = _step(alpha, level, u)
        return _log_slope(alpha, u, d, forward) - epsilon

    low, high = sign_change(margin, -FARTHEST / 2, FARTHEST / 2)
    best = max(_objective(u, _step(alpha, level, u)[0], 0.0, epsilon) for u in (low, high))
    # The tangent at `low`: dq = q(1−q) du, and the slope is e^ε(e^margin − 1).
    climb = best[3] * math.expm1(min(max(margin(low), 1e-15), 600.0)) * math.exp(min(epsilon, 100.0))
    value = max(best[0], 0.0)
    upper = min(value + _ULPS * best[1] + (high - low) * climb, 1.0)
    if (
        margin(-FARTHEST / 2) <= 0.0
    ):  # the best q is below the range of doubles: p grows with q, so p bounds all
        upper = min(best[2] * (1.0 + _ULPS), 1.0)
    lower = min(max(value - _ULPS * best[1], 0.0), upper)
    return Bound(lower, upper, method, source, "probability", best[2:])


def _step(alpha: float, level: float, u: float) -> tuple[float, bool]:
    """The largest d that both directions allow, and whether the forward one binds."""
    forward = boundary(alpha, level, u)
    guess = min(
        max(math.sqrt(2.0 * level / alpha) * math.exp(0.5 * (softplus(u) + softplus(-u))), 1e-150), 50.0
    )
    backward = reach(lambda d: renyi_binary(alpha, u + d, -d), level, guess)
    return min(forward, backward), forward <= backward


def _log_slope(alpha: float, u: float, d: float, forward: bool) -> float:
    """ln dp/dq along the boundary."""
    up, down = log_ratios(u, d)
    t = alpha - 1.0
    # ln of the difference quotients (1−e^{−αd})/(αd) and (1−e^{−td})/(td), by S(x) = ln(sinh x/x).
    quotient = -0.5 * d + log_sinhc(0.5 * alpha * d) - log_sinhc(0.5 * t * d)
    return up + quotient if forward else down - quotient
