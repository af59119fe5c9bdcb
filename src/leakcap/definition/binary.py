"""Certified optima over two-outcome channels: the exact profile δ(ε) that a capped divergence allows.

Merging the outputs where P > e^ε Q keeps the hockey-stick divergence and shortens every other one, so
two outcomes suffice. The largest p allowed beside q is a concave function of q, because divergences are
jointly convex, so the objective p − e^ε q is concave along the boundary and its maximum is the root of
a decreasing derivative: a bracket of it is a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from leakcap.bound import Bound
from leakcap.definition.hyperbolic import log_sinhc

__all__ = ["divergence_profile", "shannon_profile"]

_FAR = 1400.0
_VACUOUS = 300.0
_ULPS = 64 * 2.0**-53
_LEAST = 1e-280
"""Levels below this are raised to it, which is safe and keeps d² a normal number."""


def sigmoid(u: float) -> float:
    """1/(1+e^{−u}) without overflow.

    >>> sigmoid(0.0)
    0.5
    """
    return 1.0 / (1.0 + math.exp(-u)) if u >= 0 else math.exp(u) / (1.0 + math.exp(u))


def softplus(u: float) -> float:
    """ln(1+e^u) without overflow.

    >>> softplus(-1000.0), softplus(1000.0)
    (0.0, 1000.0)
    """
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


def log_ratios(u: float, d: float) -> tuple[float, float]:
    """ln(p/q) and ln((1−p)/(1−q)) for q = σ(u) and p = σ(u+d).

    >>> [round(x, 12) for x in log_ratios(0.0, math.log(3.0))]
    [0.405465108108, -0.69314718056]
    """
    if abs(d) < 1.0:
        return -math.log1p(sigmoid(-u) * math.expm1(-d)), -math.log1p(sigmoid(u) * math.expm1(d))
    return softplus(-u) - softplus(-u - d), softplus(u) - softplus(u + d)


def renyi_binary(alpha: float, u: float, d: float) -> float:
    """D_α(p‖q) for q = σ(u), p = σ(u+d), α ≥ 1, with full relative precision near d = 0.

    >>> round(renyi_binary(1.0, 0.0, math.log(3.0)), 12)
    0.130812035941
    """
    up, down = log_ratios(u, d)
    q, rest = sigmoid(u), sigmoid(-u)
    if alpha == 1.0:
        return _entropic(up, -softplus(-u)) + _entropic(down, -softplus(u))
    if alpha * max(up, down) > 600.0:
        logs = (alpha * up - softplus(-u), alpha * down - softplus(u))
        top = max(logs)
        return (top + math.log1p(math.exp(min(logs) - top))) / (alpha - 1.0)
    return math.log1p(q * _power(alpha, up) + rest * _power(alpha, down)) / (alpha - 1.0)


def _entropic(x: float, log_weight: float) -> float:
    """w·(r ln r − r + 1) at r = e^x and w = e^log_weight, where w·r ≤ 1."""
    if x > 30.0:
        return (x - 1.0) * math.exp(x + log_weight) + math.exp(log_weight)
    if abs(x) > 0.05:
        return math.exp(log_weight) * (x * math.exp(x) - math.expm1(x))
    inner = 0.125 + x * (1 / 30 + x * (1 / 144 + x * (1 / 840 + x / 5760)))
    return math.exp(log_weight) * x * x * (0.5 + x * (1 / 3 + x * inner))


def _power(alpha: float, x: float) -> float:
    """r^α − 1 − α(r−1) at r = e^x."""
    if alpha * abs(x) > 0.05:
        return math.expm1(alpha * x) - alpha * math.expm1(x)
    total, term = 0.0, x
    for n in range(2, 12):
        term *= x / n
        total += term * alpha * math.expm1((n - 1) * math.log(alpha))
    return total


def reach(rising: Callable[[float], float], level: float, guess: float) -> float:
    """The d > 0 with rising(d) = level, by regula falsi (Illinois) in the logarithms of both.

    >>> round(reach(lambda d: d * d, 2.0, 1.0), 12)
    1.414213562373
    """

    def error(v: float) -> float:
        value = rising(math.exp(v))
        return math.log(value / level) if value > 0.0 else -math.inf

    low = high = math.log(guess)
    f_low = f_high = error(low)
    while f_low > 0.0:
        high, f_high, low = low, f_low, low - 1.0
        f_low = error(low)
    while f_high <= 0.0:
        if high > math.log(_FAR):
            return math.inf
        low, f_low, high = high, f_high, high + 1.0
        f_high = error(high)
    return math.exp(_illinois(error, low, f_low, high, f_high))


def _illinois(error: Callable[[float], float], low: float, f_low: float, high: float, f_high: float) -> float:
    side = 0
    for _ in range(200):
        v = 0.5 * (low + high)
        if math.isfinite(f_low) and math.isfinite(f_high) and f_high > f_low:
            v = min(max((low * f_high - high * f_low) / (f_high - f_low), low), high)
        value = error(v)
        if abs(value) < 2e-15 or high - low < 1e-15 * max(1.0, abs(v)):
            return v
        if value <= 0.0:
            low, f_low = v, value
            f_high = 0.5 * f_high if side == -1 else f_high
            side = -1
        else:
            high, f_high = v, value
            f_low = 0.5 * f_low if side == 1 else f_low
            side = 1
    return high


def _boundary(alpha: float, level: float, u: float) -> float:
    """The largest d with D_α(σ(u+d)‖σ(u)) ≤ level; ∞ when p = 1 is allowed."""
    if level >= softplus(-u):
        return math.inf
    guess = math.sqrt(2.0 * level / alpha) * math.exp(0.5 * (softplus(u) + softplus(-u)))
    return reach(lambda d: renyi_binary(alpha, u, d), level, min(max(guess, 1e-150), 50.0))


def _sign_change(margin: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """A bracket of about 1e-13 around the point where a decreasing function turns negative."""
    if margin(low) <= 0.0:
        return low, low
    if margin(high) > 0.0:
        return high, high
    f_low, f_high = margin(low), margin(high)
    for _ in range(300):
        if high - low <= 4e-16 * max(1.0, abs(low)):
            break
        u = 0.5 * (low + high)
        if math.isfinite(f_low) and math.isfinite(f_high) and f_low > f_high:
            # Regula falsi, pushed beyond the root so that both ends close in; halving where it stalls.
            guess = (low * f_high - high * f_low) / (f_high - f_low)
            push = 1e-3 * (high - low) + 1e-16 * max(1.0, abs(guess))
            guess += push if guess - low < high - guess else -push
            u = guess if low < guess < high else u
        width, value = high - low, margin(u)
        low, f_low, high, f_high = (u, value, high, f_high) if value > 0.0 else (low, f_low, u, value)
        if high - low > 0.5 * width:
            u = 0.5 * (low + high)
            value = margin(u)
            low, f_low, high, f_high = (u, value, high, f_high) if value > 0.0 else (low, f_low, u, value)
    return low, high


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
        up, down = _boundary(1.0, nats, u), _boundary(1.0, nats, -u)
        return _log_chord(u, up) - _log_chord(u, -down) - epsilon

    def climb(u: float) -> float:
        """At least the derivative of the objective in u, where it is positive."""
        size = math.exp(_log_chord(u, _boundary(1.0, nats, u)) - softplus(u) - softplus(-u))
        return 2.0 * size * min(max(margin(u), 1e-15), 1.0)

    # Below this edge b = 0 is free and the objective rises with q; above its mirror image a = 1 and it falls.
    edge = -math.log(math.expm1(nats))
    low, high = _sign_change(margin, -edge, edge)
    drops = ((-edge, math.inf), (low, _boundary(1.0, nats, -low)), (high, _boundary(1.0, nats, -high)))
    best = max(_objective(u, _boundary(1.0, nats, u), -down, epsilon) for u, down in drops)
    # It never exceeds a, which grows with q; and it is concave, so it lies below its tangent at `low`.
    ceiling = _objective(high, _boundary(1.0, nats, high), -math.inf, epsilon)[0] * (1.0 + _ULPS)
    upper = min(best[0] + _ULPS * best[1] + (high - low) * climb(low), ceiling, 1.0)
    return Bound(min(best[0], upper), upper, method, source, "probability", best[2:])


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
    method, source = "root of a decreasing derivative", "Asoodeh et al. 2021, Thm 3, both directions"
    if level == 0.0 or math.isinf(level):
        value = 0.0 if level == 0.0 else 1.0
        return Bound.exact(value, method=method, source=source, unit="probability", witness=(value, 0.0))
    alpha, level = 1.0 if alpha < 1.0 + 1e-4 else alpha, max(level, _LEAST)
    gap = -math.expm1(min(epsilon - level, 0.0)) / (1.0 + math.exp(-level))
    if math.isinf(alpha):
        return Bound.exact(gap, method="randomised response", source=source, unit="probability")
    if level > _VACUOUS:
        return Bound(gap, 1.0, "randomised response below, nothing above", source, "probability")

    def margin(u: float) -> float:
        d, forward = _step(alpha, level, u)
        return _log_slope(alpha, u, d, forward) - epsilon

    low, high = _sign_change(margin, -_FAR / 2, _FAR / 2)
    best = max(_objective(u, _step(alpha, level, u)[0], 0.0, epsilon) for u in (low, high))
    # The tangent at `low`: dq = q(1−q) du, and the slope is e^ε(e^margin − 1).
    climb = best[3] * math.expm1(min(max(margin(low), 1e-15), 600.0)) * math.exp(min(epsilon, 100.0))
    value = max(best[0], 0.0)
    upper = min(value + _ULPS * best[1] + (high - low) * climb, 1.0)
    if margin(-_FAR / 2) <= 0.0:  # the best q is below the range of doubles: p grows with q, so p bounds all
        upper = min(best[2] * (1.0 + _ULPS), 1.0)
    return Bound(min(value, upper), upper, method, source, "probability", best[2:])


def _step(alpha: float, level: float, u: float) -> tuple[float, bool]:
    """The largest d that both directions allow, and whether the forward one binds."""
    forward = _boundary(alpha, level, u)
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
