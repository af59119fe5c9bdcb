"""Truths as balls of 400 bits (python-flint): divergences and informations by their definitions alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, fmpq

from leakcap.bound import Bound
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation

BITS = 400
Row = Sequence[arb]
Rows = Sequence[Row]
INFINITE = arb("inf")


@dataclass(frozen=True)
class Case:
    """What leakcap answers, and what is true."""

    what: str
    bound: Bound
    truth: arb
    widest: float = 1e-13
    """Of the truth: the widest that the interval may be; ∞ where its method says another width."""
    least: float = 2.3e-16
    """And in absolute terms, for what is computed from rows of doubles."""


def ball(value: float | int | Fraction) -> arb:
    """The number that a double is, exactly."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def holds(case: Case) -> str:
    """Why a case is wrong; empty where it is right."""
    bound, truth = case.bound, case.truth
    if truth.is_finite() and truth.rel_accuracy_bits() < 120 and not truth.is_zero() and abs(truth) > 1e-290:
        return f"the truth is known to {truth.rel_accuracy_bits()} bits only: {truth}"
    if truth < arb(bound.lower) or truth > arb(bound.upper):
        return f"{truth.str(25)} is outside [{bound.lower!r}, {bound.upper!r}]"
    if not truth.is_finite() or math.isinf(case.widest):
        return ""
    if arb(bound.upper) - arb(bound.lower) > abs(truth) * case.widest + case.least:
        return f"[{bound.lower!r}, {bound.upper!r}] is too wide around {truth.str(25)}"
    return ""


def largest(values: Sequence[arb]) -> arb:
    """Their maximum."""
    best = values[0]
    for value in values[1:]:
        best = best.max(value)
    return best


def divergence(ruler: Divergence, p: Row, q: Row) -> arb:
    """D(P‖Q) as it is defined."""
    match ruler:
        case TotalVariation():
            return sum((abs(a - b) for a, b in zip(p, q, strict=True)), arb(0)) / 2
        case HockeyStick(gamma):
            return sum(((a - b * gamma).max(arb(0)) for a, b in zip(p, q, strict=True)), arb(0))
        case Renyi(alpha):
            return renyi(alpha, p, q)
    raise NotImplementedError


def renyi(alpha: float, p: Row, q: Row) -> arb:
    """(1/(α−1)) ln Σ P^α Q^(1−α) and its limits."""
    seen = [(a, b) for a, b in zip(p, q, strict=True) if not a.is_zero()]
    if alpha >= 1 and any(b.is_zero() for _, b in seen):
        return INFINITE
    seen = [(a, b) for a, b in seen if not b.is_zero()]
    if not seen:
        return INFINITE
    if math.isinf(alpha):
        return largest([a / b for a, b in seen]).log()
    if alpha == 1.0:
        return sum((a * (a / b).log() for a, b in seen), arb(0))
    t = arb(alpha) - 1
    logs = [a.log() + t * (a / b).log() for a, b in seen]
    top = largest(logs)
    return (sum(((x - top).exp() for x in logs), arb(0)).log() + top) / t


def diameter(ruler: Divergence, rows: Rows) -> arb:
    """The largest divergence between two rows."""
    zero = arb(0)
    if isinstance(ruler, HockeyStick):
        zero = (1 - arb(ruler.exp_epsilon)).max(arb(0))
    return largest([zero] + [divergence(ruler, p, q) for p in rows for q in rows if p is not q])


def sibson(alpha: float, rows: Rows, prior: Row) -> arb:
    """(α/(α−1)) ln Σ_y (Σ_x π_x C_xy^α)^(1/α) and its limits."""
    live = [(weight, row) for weight, row in zip(prior, rows, strict=True) if not weight.is_zero()]
    columns = [[(w, row[y]) for w, row in live if not row[y].is_zero()] for y in range(len(rows[0]))]
    columns = [column for column in columns if column]
    if math.isinf(alpha):
        return sum((largest([c for _, c in column]) for column in columns), arb(0)).log()
    if alpha == 1.0:
        total = arb(0)
        for column in columns:
            mean = sum((w * c for w, c in column), arb(0))
            total += sum((w * c * (c / mean).log() for w, c in column), arb(0))
        return total
    a = arb(alpha)
    norms = []
    for column in columns:
        logs = [w.log() + a * c.log() for w, c in column]
        top = largest(logs)
        norms.append((sum(((x - top).exp() for x in logs), arb(0)).log() + top) / a)
    top = largest(norms)
    return (sum(((x - top).exp() for x in norms), arb(0)).log() + top) * a / (a - 1)


def integral(function, low: float, high: float) -> arb:
    """∫ of an analytic function of one variable, enclosed."""
    return acb.integral(lambda z, _: function(z), low, high, rel_tol=arb(2) ** -200).real
