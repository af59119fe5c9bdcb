"""The Rényi curve of a charge at fixed orders, and what a sum of such curves proves.

Every answer has a curve ρ(α), the largest Rényi divergence of order α between neighbours, known before
noise is drawn. Curves add up at every order, whatever is asked after whatever was seen. Under a cap on (ε, δ)
answers are given as long as ε added up stays within the cap, or **some** order α of a fixed grid has

    Σρ(α) + surcharge(α) ≤ ε,   surcharge(α) = [ln(1/δ_α) + (α−1)·ln(1−1/α) − ln α]/(α−1),

with Σδ_α ≤ δ. Then all answers together are (ε, δ)-DP, however each was chosen. *Proof.* Were the interaction
stopped when its own sum would pass ε − surcharge(α), its divergence of order α would be at most that (Feldman
& Zrnic 2021), so that E[(1 − e^(ε−L))₊] ≤ δ_α for its loss L (Canonne, Kamath & Steinke 2020, prop. 12). At
the end some order was never stopped, or ε alone held and L ≤ ε; where order α was not, L is the true loss. So
(1 − e^(ε−L))₊ is at most the sum over the orders not stopped, and its mean at most Σδ_α. Without that sum it
is false: which order survives may depend on what was seen.

An answer with a δ of its own has, beside its law P under one table and Q under the other, a part P' ≤ P with
P' ≤ e^ε·Q that holds all of P but δ: min(P, e^ε·Q), whose moments are no larger than P's; or, where no curve
is stated, the pure part of the pair that dominates it (Kairouz, Oh & Viswanath 2015, theorem 3.3), whose
curve is that of ε. The proof holds with P' in the place of P, since nothing in it needs a mass of one, and
what was left out is Σδ at most. So a charge has one of the two curves, never the smaller of both order by
order. Its δ counts against a share of the cap's δ that is fixed beforehand: a share that hung on what was
asked would be spent twice.

All is in whole ticks, by decimal arithmetic: the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache

from leakcap.ledger.implied import renyi_of_pure, rho_of_pure
from leakcap.ledger.ticks import TICKS_PER_UNIT, Curve, spend_ticks
from leakcap.numeric import up

__all__ = [
    "FILTER_ORDERS",
    "ORDERS",
    "curve_of_pure",
    "curve_ticks",
    "epsilon_proved",
    "odometer_surcharges",
    "rho_beside_delta",
    "surcharges",
    "two_steps",
]

FILTER_ORDERS = (1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256)
"""Among which the order may depend on what was seen: each has an equal part of δ."""

ORDERS = tuple(sorted({1, 1.1, 1.75, 2.25, 2.75, 3.5, 4.5, 5.5, 7, 9, 14, *FILTER_ORDERS}))
"""At which every charge states its curve; order 1 is Kullback–Leibler, and order ∞ is its ε."""

_PRECISE = Context(prec=60)


@lru_cache(maxsize=4096)
def curve_of_pure(epsilon: float) -> tuple[float, ...]:
    """What ε-DP allows at each order, in nats, rounded up: the curve of randomised response.

    Source: Mironov 2017, proposition 9; Dong, Durfee & Rogers 2020 for its being the largest.

    >>> round(curve_of_pure(1.0)[ORDERS.index(2)], 6)
    0.735326
    """
    return tuple(renyi_of_pure(epsilon, order) for order in ORDERS)


def rho_beside_delta(curve: Sequence[float], rho: Fraction, epsilon: float) -> Fraction:
    """The ρ of an answer with this ε and a δ, but for the δ: the least of its own, of what ε allows, and of
    the supremum over α > 1 of the smaller of curve and ε, divided by α.

    A curve grows with α, so that between two orders the quotient is at most the right end by the left order.

    >>> gaussian = tuple(order / 10 for order in ORDERS)
    >>> rho_beside_delta(gaussian, Fraction(1, 10), 1.0) == Fraction(1, 10)
    True
    >>> sampled = tuple(order / 100 if order < 8 else 9.0 for order in ORDERS)
    >>> round(float(rho_beside_delta(sampled, Fraction(10), 0.5)), 9) == round(0.5 / 7, 9)
    True
    """
    ends = (*curve[1:], math.inf)
    most = max(min(nats, epsilon) / order for order, nats in zip(ORDERS, ends, strict=True))
    return min(rho, Fraction(rho_of_pure(epsilon)), Fraction(up(most)))


@lru_cache(maxsize=4096)
def curve_ticks(nats: tuple[float, ...]) -> Curve:
    """A curve in ticks, rounded up. Prices recur, and each has many orders."""
    return tuple(map(spend_ticks, nats))


def two_steps(epsilon: int, order: float) -> int:
    """In ticks, the Rényi divergence that an ε charged for one step allows between tables two steps apart.

    >>> two_steps(10**11, 2.0), two_steps(10**12, 4.0)
    (40000000000, 2000000000000)
    """
    apart = 2 * epsilon
    return min(apart, math.ceil(Fraction(order) * apart * apart / (2 * TICKS_PER_UNIT)))


@cache
def surcharges(delta: int, order: float | None = None) -> Curve:
    """What each order adds to Σρ(α), in ticks rounded up, where composition may use so much δ; None where an
    order is not looked at. With an `order` named beforehand it has all of δ.

    >>> ticks = surcharges(10**6, 3)[ORDERS.index(3)]
    >>> round(ticks / 10**12, 6) == round((math.log(1e6) + 2 * math.log(2 / 3) - math.log(3)) / 2, 6)
    True
    """
    orders = FILTER_ORDERS if order is None else (order,)

    def nats(one: Decimal, each: Decimal) -> Decimal:
        return (one - 1) * _PRECISE.ln(_PRECISE.divide(one - 1, one)) - _PRECISE.ln(one) - _PRECISE.ln(each)

    return _at_orders(orders, delta, nats)


@cache
def odometer_surcharges(delta: int) -> Curve:
    """What each order adds, in ticks, for a statement that holds after every answer at once, but with
    probability δ: ln(n/δ)/(α−1) over n orders.

    For each order e^((α−1)(L − Σρ(α))) is a supermartingale, L the loss so far, so that it ever exceeds n/δ
    with probability δ/n at most. Source: Ville 1939; Whitehouse, Ramdas, Rogers & Wu 2023.
    """
    return _at_orders(FILTER_ORDERS, delta, lambda one, each: -_PRECISE.ln(each))


def _at_orders(orders: Sequence[float], delta: int, nats: Callable[[Decimal, Decimal], Decimal]) -> Curve:
    """nats(α, δ/n)/(α−1) at each of n orders, in ticks rounded up, and never below 0; None at the others."""
    each = _PRECISE.divide(Decimal(delta), Decimal(TICKS_PER_UNIT * len(orders)))

    def ticks(order: Decimal) -> int:
        exact = _PRECISE.divide(nats(order, each), order - 1) * TICKS_PER_UNIT
        # Decimals of 60 digits err far beyond the ticks.
        return max(0, int(exact.to_integral_value(ROUND_CEILING)) + 1)

    return tuple(ticks(Decimal(str(one))) if one in orders else None for one in ORDERS)


def epsilon_proved(added: int | None, curve: Curve, charged: Curve) -> int | None:
    """The least ε, in ticks, that the sums prove: ε added up, or an order's sum with its surcharge.

    >>> epsilon_proved(100, (), ()), epsilon_proved(0, (), surcharges(10**6))
    (100, 0)
    """
    found = [] if added is None else [added]
    sums: Curve = curve or (0,) * len(charged)
    found += [
        one + more for one, more in zip(sums, charged, strict=False) if one is not None and more is not None
    ]
    return min(found, default=None)
