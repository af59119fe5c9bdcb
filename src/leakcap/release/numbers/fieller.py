"""Intervals for ratios of noisy numbers that keep what the noise of both together does.

A ratio r of two true numbers fulfils A(r)·x + B(r)·y = 0. Noisy numbers X, Y give A(r)·X + B(r)·Y, which is
noise alone at the true r; so the r at which it is no further from 0 than 95 % of that noise goes are a set
that covers with 95 % probability, exactly, however small the denominator is (Fieller 1954). A box of two
intervals of 97.5 % each covers more often and is wider.

How far A·Z + B·W goes is the law of the noise (`release/numbers/laws.py`). In a margin Z and W are sums of
many noises each: Gaussian ones have the law again, and of Laplace noises, whose weighted sum has no such
closed form, it is the box.

Source: Fieller 1954; Chandrupatla 1997 for the search of an interval's ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers, plus
from leakcap.release.numbers.laws import LAPLACE, Law
from leakcap.release.numbers.tails import Floats

__all__ = ["all_where", "boxed_quotients", "boxed_shares", "crossings", "fieller_ends", "quotients"]

Three = tuple[Floats, Floats, Floats]
Flags: TypeAlias = "NDArray[np.bool_]"
Places: TypeAlias = "NDArray[np.intp]"

# Below this tail the logarithm says no more than that it is small.
_LEAST = 1e-300
_FLAT = 0.01
_STEPS = 200
_CLOSE = 1e-11
# More than rounding makes of a difference of two products, as a part of their sizes.
_ROUNDED = 1e-15


def fieller_ends(
    weights: Callable[[Floats], tuple[Floats, Floats]],
    noisy: tuple[ArrayLike, ArrayLike],
    scales: tuple[float, float],
    within: tuple[ArrayLike, ArrayLike, ArrayLike],
    beyond: ArrayLike = 0.05,
    law: Law = LAPLACE,
) -> tuple[Floats, Floats]:
    """The ends of {r: |A(r)·X + B(r)·Y| ≤ reach of its noise} for each pair of numbers; all in steps.

    `within` are the least r, the r where the combination is nearest to 0, and the largest r. The ends are
    those of the set's hull; where even the least or the largest belongs to it, that is the end. Where the
    combination is 0 at no r that can be, the set may hold the least or the largest alone, and is looked for
    from there. A set of none is the one number that is nearest. Both ends are looked for at once: `weights`
    is given both ends of places, along a first axis; which places these are must not matter to it.

    >>> low, high = fieller_ends(lambda r: (1.0, -r), ([50.0], [100.0]), (1.0, 1.0), (0.0, [0.5], 9.0))
    >>> 0.4 < float(low[0]) < 0.5 < float(high[0]) < 0.6
    True
    """
    x, y, least, middle, most, likely = np.broadcast_arrays(
        *(np.asarray(number, dtype=np.float64) for number in (*noisy, *within, beyond))
    )

    def excess_of(x: Floats, y: Floats, likely: Floats) -> Callable[[Floats], Floats]:
        def excess(r: Floats) -> Floats:
            """How much likelier than `beyond` it is that noise goes so far, as a logarithm: < 0 outside."""
            a, b = _of_size_one(*weights(r))
            far = np.abs(a * x + b * y) - _ROUNDED * (np.abs(a * x) + np.abs(b * y))
            tail = law.tail([(a, scales[0]), (b, scales[1])], far, None)
            return np.asarray(np.log(np.maximum(tail, _LEAST) / likely), dtype=np.float64)

        return excess

    excess = excess_of(x, y, likely)
    a, b = _of_size_one(*weights(np.array((middle, middle))))
    if (np.abs(a * x + b * y) > _ROUNDED * (np.abs(a * x) + np.abs(b * y))).any():
        away = excess(np.array((middle, middle)))[0] < 0.0
        below, above = excess(np.array((least, most)))
        end = np.where(below > above, least, most)
        middle = np.where(away & (np.maximum(below, above) >= 0.0), end, middle)
    return crossings(excess, middle, (least, most), lambda some: excess_of(x[some], y[some], likely[some]))


def quotients(
    noisy: tuple[ExactIntegers, ExactIntegers],
    scales: tuple[Fraction | float, ...],
    within: tuple[float, float],
    beyond: float = 0.05,
    *,
    step: float = 1.0,
    law: Law = LAPLACE,
) -> tuple[Floats, Floats, Floats]:
    """The first number over the second, within what it can be, and the ends of its interval.

    Both numbers are in steps of their own; `step` is the first's over the second's, to the nearest
    double, and `within` and the result count it. Where the second is not positive the value is as near to 0
    as the interval goes, which is all of it where no ratio fits.

    >>> from leakcap.release.numbers.exact_integers import exact_integers
    >>> above, below = exact_integers([50]), exact_integers([100])
    >>> value, low, high = quotients((above, below), (Fraction(1), Fraction(1)), (0.0, 9.0))
    >>> float(value[0]), bool(low[0] < 0.5 < high[0])
    (0.5, True)
    """
    x, y = doubles(noisy[0]), doubles(noisy[1])
    nearest = _nearest(x, y, step, within)
    reach = (float(scales[0]), float(scales[1]))
    around = (within[0], nearest, within[1])
    ends = fieller_ends(lambda r: (np.full(r.shape, step), -r), (x, y), reach, around, beyond, law)
    low, high = all_where((y <= 0.0) & (ends[0] == ends[1]), ends, within)
    return np.clip(np.where(y > 0.0, nearest, 0.0), low, high), low, high


def all_where(
    unknown: Flags, ends: tuple[Floats, Floats], within: tuple[float, float]
) -> tuple[Floats, Floats]:
    """These ends, and where nothing is known all that can be."""
    return np.where(unknown, within[0], ends[0]), np.where(unknown, within[1], ends[1])


def boxed_quotients(
    noisy: tuple[ExactIntegers, ExactIntegers],
    errors: Sequence[int],
    within: tuple[float, float],
    *,
    step: float = 1.0,
) -> tuple[Floats, Floats, Floats]:
    """As `quotients`, from how far each number's noise goes: all ratios of what both may be, the second at
    least 1. All of it where the second seems to be none.

    >>> above, below = exact_integers([50]), exact_integers([100])
    >>> value, low, high = boxed_quotients((above, below), (10, 20), (0.0, 9.0))
    >>> float(value[0]), round(float(low[0]), 9), round(float(high[0]), 9)
    (0.5, 0.333333333, 0.75)
    """
    x, y = doubles(noisy[0]), doubles(noisy[1])
    (least, most), (few, many) = (_around(both, error) for both, error in zip(noisy, errors, strict=True))
    few, none = np.maximum(few, 1.0), many < 1.0
    many = np.maximum(many, few)
    low = _down(_down(least / np.where(least < 0.0, few, many)) * step)
    high = _up(_up(most / np.where(most > 0.0, few, many)) * step)
    low, high = (
        np.clip(np.where(none, end, one), *within) for end, one in zip(within, (low, high), strict=True)
    )
    return np.clip(np.where(y > 0.0, _nearest(x, y, step, within), 0.0), low, high), low, high


def boxed_shares(noisy: tuple[Floats, Floats], error: int) -> tuple[Floats, Floats]:
    """The ends of H/(H + M) from noisy H and M, each of which is off by `error` at most.

    >>> low, high = boxed_shares((np.array([50.0]), np.array([50.0])), 10)
    >>> round(float(low[0]), 9), round(float(high[0]), 9)
    (0.4, 0.6)
    """
    ends = [(np.maximum(_down(one - error), 0.0), np.maximum(_up(one + error), 0.0)) for one in noisy]
    (few, many), (rare, often) = ends
    low = np.divide(few, _up(few + often), out=np.zeros(len(few)), where=few > 0.0)
    high = np.divide(many, _down(many + rare), out=np.ones(len(few)), where=rare > 0.0)
    return np.clip(_down(low), 0.0, 1.0), np.clip(_up(high), 0.0, 1.0)


def _around(noisy: ExactIntegers, error: int) -> tuple[Floats, Floats]:
    off = exact_integers([error])
    return _down(doubles(plus(noisy, -off))), _up(doubles(plus(noisy, off)))


def _down(numbers: Floats) -> Floats:
    return np.nextafter(numbers, -np.inf)


def _up(numbers: Floats) -> Floats:
    return np.nextafter(numbers, np.inf)


def _nearest(x: Floats, y: Floats, step: float, within: tuple[float, float]) -> Floats:
    """Their ratio within what it can be; 0 over 0 is 0."""
    return np.asarray(np.clip(np.divide(x, y, out=np.zeros(len(x)), where=y != 0.0) * step, *within))


def _of_size_one(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Both weights divided by a power of two, so that the larger is about 1: only their ratio counts, and
    products with noisy numbers stay within the doubles, however far the ends are."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    size = -np.frexp(np.maximum(np.abs(a), np.abs(b)))[1]
    return np.ldexp(a, size), np.ldexp(b, size)


def crossings(
    excess: Callable[[Floats], Floats],
    start: Floats,
    ends: tuple[Floats, Floats],
    excess_at: Callable[[Places], Callable[[Floats], Floats]] | None = None,
) -> tuple[Floats, Floats]:
    """Outside, next to where that begins on the way from `start` to each of both ends; one of these where it
    is there.

    A bracket is narrowed by a parabola through three points where one is safe, and else by halving
    (Chandrupatla 1997); what is returned is its outer end. Of few places a step costs what the calls cost,
    so both ways are gone at once: `excess` is asked of them along a first axis, the way down first. Of many
    places few are looked for long, mostly at steps of a law: where `excess_at` gives the excess of some
    places alone, those that are found are not asked again.
    """
    outer = np.array(ends, dtype=np.float64)
    found_ends, held = outer, np.arange(start.size)
    inner = np.array((start, start), dtype=np.float64)
    above, below = excess(inner), excess(outer)
    outer = np.where(above < 0.0, inner, outer)
    inner = np.where((above < 0.0) | (below >= 0.0), outer, inner)
    left, before = outer, below  # the end that was given up last
    tried = _between(inner, outer, flat=np.full(outer.shape, True))
    near = _CLOSE * np.maximum(np.abs(outer), np.abs(inner))
    for _ in range(_STEPS):
        open_ = np.abs(outer - inner) > near
        if not open_.any():
            break
        if excess_at is not None and start.ndim == 1:
            some = np.flatnonzero(open_.any(axis=0))
            if 2 * len(some) <= len(held):  # less often, copies would take what this gains
                found_ends[:, held], held = outer, held[some]
                excess = excess_at(held)
                outer, inner, left, tried, above, below, before = (
                    one[:, some] for one in (outer, inner, left, tried, above, below, before)
                )
        found = excess(tried)
        out = found < 0.0
        left, before = np.where(out, outer, inner), np.where(out, below, above)
        other, kept = np.where(out, inner, outer), np.where(out, above, below)
        outer, below = np.where(out, tried, outer), np.where(out, found, below)
        inner, above = np.where(out, inner, tried), np.where(out, above, found)
        closer = _parabola((tried, other, left), (found, kept, before))
        # A little off the end that is nearer, so that the next step may close in from the other side.
        near = _CLOSE * np.maximum(np.abs(outer), np.abs(inner))
        low, high = np.minimum(inner, outer), np.maximum(inner, outer)
        tried = closer.clip(low + near / 4, high - near / 4)
        between = (tried > low) & (tried < high)
        if not between.all():
            halved = _between(inner, outer, flat=np.abs(before - below) <= _FLAT * -below)
            tried = np.where(between, tried, halved)
    if len(held) < start.size:
        found_ends[:, held] = outer
        outer = found_ends
    return outer[0], outer[1]


def _parabola(places: Three, values: Three) -> Floats:
    """Where the inverse parabola through three points is 0; NaN where it cannot be trusted."""
    (x1, x2, x3), (f1, f2, f3) = places, values
    with np.errstate(all="ignore"):
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        safe = (phi * phi < xi) & ((1.0 - phi) * (1.0 - phi) < 1.0 - xi)
        share = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        return np.where(safe, x1 + share * (x2 - x1), np.nan)


def _between(inner: Floats, outer: Floats, *, flat: Flags) -> Floats:
    """The middle; of ends far apart that of their logarithms. Near to the inner end where the outer one lies
    so far out that the tail is `flat` there, nothing but what roundings may be.
    """
    larger = np.where(np.abs(outer) > np.abs(inner), outer, inner)
    least = np.maximum(1.0, np.minimum(np.abs(inner), np.abs(outer)))
    by_size = np.copysign(np.sqrt(np.abs(larger)) * np.sqrt(least), larger)
    middle = np.where(np.abs(larger) > 1e3 * least, by_size, inner / 2 + outer / 2)
    near = inner + (outer / 64 - inner / 64)
    return np.where(flat & (np.abs(near - inner) < np.abs(middle - inner)), near, middle)
