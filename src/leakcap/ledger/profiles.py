"""Privacy profiles that somebody states at some points: (ε, δ) that hold, and what follows from all of them.

Each point says that δ(e^ε) ≤ δ, in both directions, and between neighbours in either order. In x = e^ε a
profile is convex, 1 at x = 0, and x·δ(1/x) = δ(x) − 1 + x, so that the lower convex hull of the points, of
their mirror images and of (0, 1) is nowhere below it. The hull is the profile of a symmetric pair with one
loss at each of its corners, which therefore dominates (Blackwell; Zhu, Dong & Wang 2022, theorem 10): the
pair's moments bound the mechanism's. What the last point leaves as its δ are outcomes that anything may be
read off, and counts as a δ of the answer's own.

All in decimals of 60 digits: the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from leakcap.errors import InvalidParameter
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.event_kinds import Event, Guarantee, fraction
from leakcap.ledger.implied import rho_of_pure
from leakcap.numeric import float_up, up

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = [
    "delta_at",
    "epsilon_of_points",
    "falling_hull",
    "guaranteed_by",
    "points_of",
    "profile_of",
    "rho_of_points",
]

_PRECISE = Context(prec=60, Emax=10**6, Emin=-(10**6))
_MOST_POINTS = 1000
_LARGEST_EPSILON = 600
_STEPS = 400
_LEAST_DELTA = 1e-16
Point = tuple[Fraction, Fraction]
Number = TypeVar("Number", Fraction, Decimal)


def points_of(event: Event) -> tuple[Point, ...]:
    """The points of a `ProfileDpEvent`, by ε. Raises `InvalidParameter`.

    >>> points_of({"name": "ProfileDpEvent", "points": [["1", "0.01"], ["0.5", "1/10"]]})
    ((Fraction(1, 2), Fraction(1, 10)), (Fraction(1, 1), Fraction(1, 100)))
    """
    given, name = event["points"], event["name"]
    pairs = isinstance(given, list) and all(isinstance(one, list) and len(one) == 2 for one in given)
    if not pairs or not 1 <= len(given) <= _MOST_POINTS:
        raise InvalidParameter(f"`points` of `{name}` must be 1 to {_MOST_POINTS} pairs of an ε and a δ.")
    found = sorted(tuple(fraction({"name": name, "points": x}, "points") for x in one) for one in given)
    if any(epsilon > _LARGEST_EPSILON or delta > 1 for epsilon, delta in found):
        raise InvalidParameter(
            f"`points` of `{name}` must have an ε from 0 to {_LARGEST_EPSILON} and a δ from 0 to 1."
        )
    return tuple((one[0], one[1]) for one in found)


@lru_cache(maxsize=64)
def _hull(points: tuple[Point, ...]) -> tuple[tuple[Decimal, Decimal], ...]:
    """The corners of the hull, as x and δ, from x = 0 on; right of the last it is level."""
    with localcontext(_PRECISE):
        every = [(Decimal(0), Decimal(1)), (Decimal(1), Decimal(1))]
        for epsilon, delta in points:
            x = _decimal(epsilon).exp()
            y = _decimal(delta)
            every += [(x, y), (1 / x, 1 - 1 / x + y / x)]
        return tuple(falling_hull(every))


def falling_hull(points: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """The corners, from left to right, of the largest curve that falls, is convex and lies above no point.

    >>> falling_hull([(Fraction(x), Fraction(y)) for x, y in ((0, 4), (1, 3), (1, 1), (2, 0), (3, 0))])
    [(Fraction(0, 1), Fraction(4, 1)), (Fraction(1, 1), Fraction(1, 1)), (Fraction(2, 1), Fraction(0, 1))]
    """
    corners: list[tuple[Number, Number]] = []
    for c in sorted(points):
        if corners and c[1] >= corners[-1][1]:
            continue  # to the right of a point the curve is no higher
        while len(corners) > 1:
            a, b = corners[-2:]
            if (b[1] - a[1]) * (c[0] - a[0]) < (c[1] - a[1]) * (b[0] - a[0]):
                break  # b is below the chord
            corners.pop()
        corners.append(c)
    return corners


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _up(number: Decimal) -> float:
    """A double no smaller; decimals are exact to fifty digits."""
    return float_up(Fraction(number) * (1 + Fraction(1, 10**40)) + Fraction(1, 10**45))


def delta_at(points: Sequence[Point], epsilon: Fraction) -> Fraction:
    """The hull at an ε, rounded up: what the points prove there.

    >>> float(delta_at([(Fraction(0), Fraction(1, 2))], Fraction(3)))
    0.5
    """
    corners = _hull(tuple(points))
    with localcontext(_PRECISE):
        x = _decimal(epsilon).exp() * (1 - Decimal(10) ** -50)
        if x >= corners[-1][0]:
            return Fraction(corners[-1][1])
        for a, b in pairwise(corners):
            if x <= b[0]:
                y = a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])
                return Fraction(y) + Fraction(1, 10**45)
    raise AssertionError("corners go from 0 to the last")


def epsilon_of_points(points: Sequence[Point], delta: Fraction) -> float | None:
    """The least ε that the points prove at a δ, rounded up; None where they prove none.

    >>> epsilon_of_points([(Fraction(1), Fraction(1, 100))], Fraction(1, 100))
    1.0
    >>> epsilon_of_points([(Fraction(1), Fraction(1, 100))], Fraction(1, 1000)) is None
    True
    """
    corners = _hull(tuple(points))
    exact = [epsilon for epsilon, at in points if at <= delta]
    least = float_up(min(exact)) if exact else None
    with localcontext(_PRECISE):
        wanted = _decimal(delta) * (1 - Decimal(10) ** -50)
        for a, b in pairwise(corners):
            if b[1] <= wanted < a[1]:
                x = a[0] + (a[1] - wanted) / (a[1] - b[1]) * (b[0] - a[0])
                if x <= 1:
                    return 0.0
                found = _up(x.ln())
                return found if least is None else min(found, least)
    return least


@lru_cache(maxsize=64)
def _moments(points: tuple[Point, ...]) -> tuple[float, ...]:
    """The curve of the hull's pair, its infinite loss left out."""
    corners = _hull(points)
    with localcontext(_PRECISE):
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)] + [Decimal(0)]
        atoms = [
            (corner[0].ln(), corner[0] * (right - left))
            for corner, (left, right) in zip(corners[1:], pairwise(slopes), strict=True)
            if right > left
        ]
        curve, before = [], 0.0
        for order in ORDERS:
            z = _decimal(Fraction(str(order))) - 1
            if z == 0:
                found = sum((mass * loss for loss, mass in atoms), Decimal(0))
            else:
                total = sum((mass * (z * loss).exp() for loss, mass in atoms), Decimal(0))
                found = total.ln() / z if total > 0 else Decimal(0)
            before = max(before, _up(max(found, Decimal(0))))
            curve.append(before)
        return tuple(curve)


def guaranteed_by(event: Event) -> Guarantee:
    """What follows from the points: ε and δ of the last corner, and the curve of the rest.

    >>> certain = {"name": "ProfileDpEvent", "points": [["1", "0"]]}
    >>> from leakcap.ledger.curve import curve_of_pure
    >>> found = guaranteed_by(certain)
    >>> max(abs(a - b) for a, b in zip(found.curve, curve_of_pure(1.0))) < 1e-9
    True
    """
    points = points_of(event)
    delta = min(at for _, at in points)
    epsilon = min(at for at, left in points if left == delta)
    curve = tuple(map(min, _moments(points), curve_of_pure(up(float_up(epsilon)))))
    if delta:
        # Order 1 of what is left of a law is no divergence: that of the next order is no smaller.
        curve = (curve[1], *curve[1:])
    return Guarantee(epsilon, delta, curve, rho_of_points(event))


def rho_of_points(event: Event) -> Fraction:
    """The ρ of the last point's ε, beside its δ."""
    points = points_of(event)
    delta = min(at for _, at in points)
    return Fraction(rho_of_pure(float_up(min(at for at, left in points if left == delta))))


def profile_of(loss: PrivacyLoss, back: PrivacyLoss | None = None) -> dict[str, Any]:
    """An event that dominates a loss, in both directions: points of its profile until δ is next to nothing.
    `back` is the loss of the other direction where that is known better than by reversing.

    >>> from leakcap.accounting import PrivacyLoss
    >>> len(profile_of(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]))["points"]) < 10
    True
    """
    both = (loss, loss.reverse if back is None else back)
    least = max(_LEAST_DELTA, *(2.0 * one.infinite for one in both))
    found: list[list[str]] = []
    for epsilon in _places(both, least):
        higher = up(epsilon, 4) if epsilon else 0.0
        delta = min(max(one.delta(higher).upper for one in both), 1.0)
        found.append([repr(higher), repr(delta)])
        if delta <= 0.0:
            break
    return {"name": "ProfileDpEvent", "points": found}


def _places(both: Sequence[PrivacyLoss], least: float) -> list[float]:
    """At which ε to ask: at all kinks where they are few, else evenly until δ is `least`."""
    from leakcap.accounting.finite import FiniteLoss

    parts = [part for one in both for part, _ in one.parts]
    kinks = {0.0}
    for part in parts:
        kinks |= {abs(one) for one in part.losses} if isinstance(part, FiniteLoss) else {math.inf}
    if all(one.queries == 1 for one in both) and len(kinks) <= _STEPS and math.inf not in kinks:
        return sorted(kinks)
    last = min(max(one.epsilon(least).upper for one in both), float(_LARGEST_EPSILON))
    return [last * k / _STEPS for k in range(_STEPS + 1)]
