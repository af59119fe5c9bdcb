"""What each definition measures of a finite channel, at 200 bits and by none of leakcap's formulas.

A measure is an enclosure: its lower end is reached, its upper end is never passed. Rows are fractions, so
that they add up to one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from flint import arb, ctx, fmpq

from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

__all__ = ["MEASURES", "Row", "Rows", "exact", "measure"]

ctx.prec = 320

Row = tuple[Fraction, ...]
Rows = tuple[Row, ...]
Ends = tuple[arb, arb]

INFINITE = arb("inf")


@cache
def exact(value: Fraction) -> arb:
    """A fraction as a ball of 320 bits."""
    return arb(fmpq(value.numerator, value.denominator))


def largest(values: Sequence[arb]) -> arb:
    best = arb(0)
    for value in values:
        best = best.max(value)
    return best


@cache
def renyi(alpha: float, p: Row, q: Row) -> arb:
    """D_α(p‖q) from its definition."""
    if p == q:
        return arb(0)
    if alpha >= 1.0 and any(a > 0 == b for a, b in zip(p, q, strict=True)):
        return INFINITE
    pairs = [(exact(a), exact(b)) for a, b in zip(p, q, strict=True) if a > 0 and b > 0]
    if math.isinf(alpha):
        return largest([(a / b).log() for a, b in pairs])
    if alpha == 1.0:
        return sum((a * (a / b).log() for a, b in pairs), arb(0))
    order = exact(Fraction(alpha))
    total = sum((b * (order * (a / b).log()).exp() for a, b in pairs), arb(0))
    return INFINITE if not pairs else total.log() / (order - 1)


def diameter(rows: Rows, of: Callable[[Row, Row], arb]) -> Ends:
    value = largest([of(p, q) for p, q in permutations(rows, 2)])
    return value, value


def hockey_stick(epsilon: float, p: Row, q: Row) -> arb:
    gamma = exact(Fraction(epsilon)).exp()
    return sum((largest([exact(a) - gamma * exact(b)]) for a, b in zip(p, q, strict=True)), arb(0))


def zero_concentrated(rows: Rows) -> Ends:
    """t·D_{1+t} is convex: on each stretch D_α/α lies below chord/(t(1+t)), at most the larger quotient."""
    pairs = list(permutations(rows, 2))
    knots = [0.0, *(2.0**e for e in np.arange(-30.0, 21.0, 0.25))]
    values = [largest([renyi(1.0 + t, p, q) for p, q in pairs]) for t in knots]
    orders = [exact(Fraction(1.0 + t)) for t in knots]
    reached = [value / order for value, order in zip(values, orders, strict=True)]
    # D_α rises: on a stretch D_α/α is at most the right end's D over the left end's order.
    above = [value / order for value, order in zip(values[1:], orders, strict=False)]
    last = largest([renyi(math.inf, p, q) for p, q in pairs]) / orders[-1]
    return largest(reached), largest([*reached, *above, last])


def trade_off(rows: Rows) -> Ends:
    """The least μ, from the vertices of the trade-off functions and the normal law at 320 bits."""
    best = arb(0)
    for p, q in permutations(rows, 2):
        seen = [(a, b) for a, b in zip(p, q, strict=True) if a > 0 or b > 0]
        seen.sort(key=lambda ab: (ab[1] / ab[0]) if ab[0] > 0 else math.inf)
        level, missed = Fraction(1), Fraction(0)
        for a, b in seen[:-1]:
            level, missed = level - a, missed + b
            if 0 in (level, missed) and level + missed < 1:
                return INFINITE, INFINITE
            if level > 0 and missed > 0:
                best = best.max(_quantile(level) + _quantile(missed))
    return best, best


@cache
def _quantile(tail: Fraction) -> arb:
    """The x with P(Z > x) = tail: Newton on a double's guess, then a proof of the sign on both sides."""
    if tail > Fraction(1, 2):
        return -_quantile(1 - tail)
    goal, root_two = exact(tail), arb(2).sqrt()
    x = arb(math.sqrt(max(-2.0 * float(goal.log().mid()), 0.0)) * 0.9)

    def excess(at: arb) -> arb:
        return (at / root_two).erfc() / 2 - goal

    for _ in range(400):
        density = (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt()
        # On the logarithm, which is concave: no overshooting from the left.
        tail_here = (x / root_two).erfc() / 2
        step = (tail_here / goal).log() * tail_here / density
        x = arb((x + step).mid())
        if abs(step) < arb(2) ** -250:
            break
    wide = arb(2) ** -200
    assert excess(x - wide) >= 0
    assert excess(x + wide) <= 0
    return x + arb(0, wide)


@cache
def sibson(alpha: float, rows: Rows) -> Ends:
    """min over q of max over x of D_α(row‖q): any prior gives a lower end, its q an upper one."""
    if math.isinf(alpha):
        value = sum((exact(max(column)) for column in zip(*rows, strict=True)), arb(0)).log()
        return value, value
    low, high = arb(0), INFINITE
    for prior in (_balanced(alpha, rows), [Fraction(1, len(rows))] * len(rows)):
        if alpha == 1.0:
            centre = [
                sum(w * row[y] for w, row in zip(prior, rows, strict=True)) for y in range(len(rows[0]))
            ]
            reached = sum(
                (exact(w) * renyi(1.0, row, tuple(centre)) for w, row in zip(prior, rows, strict=True) if w),
                arb(0),
            )
        else:
            order = exact(Fraction(alpha))
            weights = [
                sum(
                    (
                        exact(w) * (order * exact(row[y]).log()).exp()
                        for w, row in zip(prior, rows, strict=True)
                        if w and row[y]
                    ),
                    arb(0),
                )
                for y in range(len(rows[0]))
            ]
            roots = [arb(0) if w.is_zero() else (w.log() / order).exp() for w in weights]
            total = sum(roots, arb(0))
            reached = total.log() * order / (order - 1)
            shares = [Fraction(float(root / total)) for root in roots]
            centre = [share / sum(shares) for share in shares]
        low = low.max(reached)
        high = high.min(largest([renyi(alpha, row, tuple(centre)) for row in rows]))
    return low, high


def _balanced(alpha: float, rows: Rows) -> list[Fraction]:
    """A prior under which all rows that have any are at one distance from the centre, in doubles."""
    matrix = np.array([[float(a) for a in row] for row in rows])
    prior, powers = np.full(len(rows), 1.0 / len(rows)), matrix**alpha
    for _ in range(300):
        before = prior
        with np.errstate(all="ignore"):
            if alpha == 1.0:
                centre = prior @ matrix
                told = np.nansum(np.where(matrix > 0, matrix * np.log(matrix / centre), 0.0), axis=1)
            else:
                centre = (prior @ powers) ** (1 / alpha)
                centre /= centre.sum()
                told = np.log(
                    np.nansum(np.where(matrix > 0, powers * centre ** (1 - alpha), 0.0), axis=1)
                ) / (alpha - 1)
        if not np.isfinite(told).all():
            break
        prior = prior * np.exp(np.clip((told - told.max()) / max(1.0, alpha), -50, 0))
        prior /= prior.sum()
        if np.array_equal(prior, before):
            break
    parts = [Fraction(float(w)) for w in prior]
    return [w / sum(parts) for w in parts]


@cache
def joint(alpha: float, rows: Rows) -> Ends:
    """sup over priors of D_α(P_XY‖P_X P_Y): the best prior of a scan below; above, where it is known."""
    if alpha == 1.0:
        return sibson(1.0, rows)
    if math.isinf(alpha):
        return diameter(rows, lambda p, q: renyi(alpha, p, q))
    best = arb(0)
    order = exact(Fraction(alpha))
    for prior in _priors(len(rows)):
        centre = [sum(w * row[y] for w, row in zip(prior, rows, strict=True)) for y in range(len(rows[0]))]
        total = arb(0)
        for w, row in zip(prior, rows, strict=True):
            told = renyi(alpha, row, tuple(centre))
            total = INFINITE if not told.is_finite() and w else total + exact(w) * ((order - 1) * told).exp()
        best = best.max(total.log() / (order - 1))
    # No prior tells more than the two rows that are furthest apart.
    return best, diameter(rows, lambda p, q: renyi(alpha, p, q))[1]


def _priors(size: int) -> list[list[Fraction]]:
    if size > 2:
        return [[Fraction(1, size)] * size]
    return [[Fraction(i, 40), 1 - Fraction(i, 40)] for i in range(1, 40)]


def local(prior: tuple[float, ...] | None, rows: Rows) -> Ends:
    weights = [Fraction(1, len(rows))] * len(rows) if prior is None else [Fraction(w) for w in prior]
    weights = [w / sum(weights) for w in weights]
    found = [arb(0)]
    for column in zip(*rows, strict=True):
        seen = sum(w * a for w, a in zip(weights, column, strict=True))
        if seen > 0:
            found += [abs((exact(a) / exact(seen)).log()) if a else INFINITE for a in column]
    value = largest(found)
    return value, value


MEASURES: dict[type[Definition], Callable[..., Ends]] = {
    PureDP: lambda d, rows: diameter(rows, lambda p, q: renyi(math.inf, p, q)),
    ApproxDP: lambda d, rows: diameter(rows, lambda p, q: hockey_stick(d.epsilon, p, q)),
    DeltaDP: lambda d, rows: diameter(rows, lambda p, q: hockey_stick(0.0, p, q)),
    RenyiDP: lambda d, rows: diameter(rows, lambda p, q: renyi(d.alpha, p, q)),
    KLDP: lambda d, rows: diameter(rows, lambda p, q: renyi(1.0, p, q)),
    ZeroConcentratedDP: lambda d, rows: zero_concentrated(rows),
    GaussianDP: lambda d, rows: trade_off(rows),
    MIDP: lambda d, rows: sibson(1.0, rows),
    LevelCapacity: lambda d, rows: (sibson if d.centre is Centre.SIBSON else joint)(d.alpha, rows),
    MaximalLeakage: lambda d, rows: sibson(math.inf, rows),
    InformationPrivacy: lambda d, rows: diameter(rows, lambda p, q: renyi(math.inf, p, q)),
    LocalInformationPrivacy: lambda d, rows: local(d.prior, rows),
}


@cache
def _measure(kind: Definition, rows: Rows) -> Ends:
    return MEASURES[type(kind)](kind, rows)


def measure(definition: Definition, rows: Rows) -> Ends:
    """An enclosure of what the definition measures of these rows; its threshold does not matter."""
    return _measure(definition.with_threshold(0.0), rows)
