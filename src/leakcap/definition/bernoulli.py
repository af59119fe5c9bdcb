"""Pairs of Bernoulli laws in logits: divergences that stay precise, and how far apart they may be."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["boundary", "log_ratios", "reach", "renyi_binary", "sigmoid", "sign_change", "softplus"]

FARTHEST = 1400.0
"""Logits beyond ± half of this are outside the range of doubles."""


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
        q, rest = _both(u)
        return -math.log1p(rest * math.expm1(-d)), -math.log1p(q * math.expm1(d))
    # softplus of u and −u, of u+d and −u−d: each pair has its exponential and its logarithm in common.
    moved = u + d
    here, there = math.log1p(math.exp(-abs(u))), math.log1p(math.exp(-abs(moved)))
    if u >= 0.0:
        up, down = here, u + here
    else:
        up, down = here - u, here
    return (up - there, down - (moved + there)) if moved >= 0.0 else (up - (there - moved), down - there)


def _both(u: float) -> tuple[float, float]:
    """σ(u) and σ(−u), of one exponential."""
    less = math.exp(-abs(u))
    more, less = 1.0 / (1.0 + less), less / (1.0 + less)
    return (more, less) if u >= 0.0 else (less, more)


def renyi_binary(alpha: float, u: float, d: float) -> float:
    """D_α(p‖q) for q = σ(u), p = σ(u+d), α ≥ 1, with full relative precision near d = 0.

    >>> round(renyi_binary(1.0, 0.0, math.log(3.0)), 12)
    0.130812035941
    """
    up, down = log_ratios(u, d)
    if alpha == 1.0:
        return _entropic(up, -softplus(-u)) + _entropic(down, -softplus(u))
    if alpha * max(up, down) > 600.0:
        logs = (alpha * up - softplus(-u), alpha * down - softplus(u))
        top = max(logs)
        return (top + math.log1p(math.exp(min(logs) - top))) / (alpha - 1.0)
    q, rest = _both(u)
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
        if high > math.log(FARTHEST):
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


def boundary(alpha: float, level: float, u: float) -> float:
    """The largest d with D_α(σ(u+d)‖σ(u)) ≤ level; ∞ when p = 1 is allowed."""
    if level >= softplus(-u):
        return math.inf
    guess = math.sqrt(2.0 * level / alpha) * math.exp(0.5 * (softplus(u) + softplus(-u)))
    return reach(lambda d: renyi_binary(alpha, u, d), level, min(max(guess, 1e-150), 50.0))


def sign_change(margin: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """A bracket of about 1e-13 around the point where a decreasing function turns negative."""
    f_low = margin(low)
    if f_low <= 0.0:
        return low, low
    f_high = margin(high)
    if f_high > 0.0:
        return high, high
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
