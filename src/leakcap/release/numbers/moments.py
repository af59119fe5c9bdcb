"""Intervals of variances, covariances and correlations from the law of all their noises together.

Of integers v, w of n rows, S = Σv, T = Σw and P = Σvw. For all numbers a and b

    P − bS − aT + (ab − c)·n  =  n·(cov − c) + n·(E v − a)(E w − b),

nothing at the true means and covariance, so that of noisy numbers it is noise alone there, a sum with known
weights. A c is left out if there the combination goes further than that noise does, whichever of the likely
means is taken. Means that are not likely cost 0.2 % of the 5 %. The product of two small errors is smaller
still, so that hardly more is covered than must be. For a correlation r the same is asked of

    cov − r/2·(var v/λ + λ·var w),

which is 0 where λ is the quotient of the deviations. It is flat in λ there, so that a likely range will do.

Everything here is in steps, cell by cell at once. How far noise goes is its law (`release/numbers/laws.py`).

Source: Fieller 1954; Berger & Boos 1994 for the sets of likely means and quotients.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leakcap.arrays import ArrayLike, np
from leakcap.release.numbers.fieller import crossings, fieller_ends
from leakcap.release.numbers.laws import LAPLACE, Law
from leakcap.release.numbers.tails import Floats

__all__ = ["NoisyCounts", "NoisySums", "Product", "correlation_ends", "covariance_ends"]

_BEYOND = 0.05
_UNLIKELY = 0.002
# Of a correlation two means and two variances must be likely.
_EACH = _UNLIKELY / 4
_PIECES = 8
_LEAST = 1e-300

Ends = tuple[Floats, Floats]


@dataclass(frozen=True)
class NoisyCounts:
    """The number of rows in each cell, the scale of its noise, 0 where it is public, and the law of all
    noise."""

    count: Floats
    scale: float
    law: Law = LAPLACE

    @property
    def few(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether there may be none: then everything is possible."""
        return np.asarray(self.count <= 4.0 * self.scale + 2.0)

    @property
    def sure(self) -> Floats:
        """The number, or 1 where there may be none."""
        return np.where(self.few, 1.0, self.count)

    @property
    def most(self) -> Floats:
        """What it is not above but once in 10¹³."""
        return self.sure + 30.0 * self.scale + 1.0


@dataclass(frozen=True)
class NoisySums:
    """The noisy sum of a column's integers, the scale of its noise, and between what the integers lie."""

    total: Floats
    scale: float
    low: float
    high: float

    def mean(self, rows: NoisyCounts) -> Floats:
        """The noisy mean, within what the integers can be."""
        return np.clip(self.total / rows.sure, self.low, self.high)

    def means(self, rows: NoisyCounts, beyond: ArrayLike) -> Ends:
        """Between which the mean lies but with this probability; of several, below one another."""
        ends = fieller_ends(
            lambda r: (np.ones(r.shape), -r),
            (self.total, rows.sure),
            (self.scale, rows.scale),
            (self.low, self.mean(rows), self.high),
            beyond,
            rows.law,
        )
        low, high = (
            np.where(rows.few, far, end) for far, end in zip((self.low, self.high), ends, strict=True)
        )
        return low, high


@dataclass(frozen=True)
class Product:
    """`sign` times the noisy Σ(vw), less `base` for each row, of two columns or of one with itself."""

    number: Floats
    scale: float
    first: NoisySums
    second: NoisySums
    base: float = 0.0
    sign: float = 1.0

    def about(self, a: Floats, b: Floats, rows: NoisyCounts) -> Floats:
        """Σ(v − a)(w − b), noisy."""
        rest = (a * b + self.base) * rows.sure
        return np.asarray(self.sign * self.number - b * self.first.total - a * self.second.total + rest)


def covariance_ends(
    product: Product, rows: NoisyCounts, within: tuple[float, float], *, beyond: float = _BEYOND
) -> tuple[Floats, Floats]:
    """The ends of the interval of a covariance, or of a variance, in squared steps.

    >>> column = NoisySums(np.array([0.0]), 1.0, -50.0, 50.0)
    >>> square, rows = Product(np.array([4e4]), 9.0, column, column), NoisyCounts(np.array([400.0]), 0.0)
    >>> low, high = covariance_ends(square, rows, (0.0, 2500.0))
    >>> bool(99.9 < low[0] < 100.0 < high[0] < 100.1)
    True
    """
    first, second = product.first, product.second
    unlikely = _unlikely(beyond)
    if first is second:
        firsts = seconds = first.means(rows, unlikely)
    else:
        firsts, seconds = first.means(rows, unlikely / 2), second.means(rows, unlikely / 2)
    return _about_means(product, rows, within, beyond, (firsts, seconds))


def _unlikely(beyond: float) -> float:
    """How likely means that are not asked of may be, in all."""
    return _UNLIKELY * beyond / _BEYOND


def _about_means(
    product: Product, rows: NoisyCounts, within: tuple[float, float], beyond: float, means: tuple[Ends, Ends]
) -> Ends:
    """The interval where the means lie between these ends."""
    first, second = product.first, product.second
    same, unlikely = first is second, _unlikely(beyond)
    firsts, seconds = means
    if same:
        places = [(m, m) for m in (*firsts, np.clip(first.mean(rows), *firsts))]
    else:
        places = list(itertools.product(firsts, seconds))
    sums = np.array([product.about(a, b, rows) for a, b in places])
    least, most = sums.min(axis=0), sums.max(axis=0)
    # Of a square the least lies at the mean nearest to 0.
    rests = [a * b + product.base for a, b in places]
    if same:
        rests.append(np.clip(0.0, *firsts) ** 2 + product.base)
    widest = [np.max(np.abs(ends), axis=0) for ends in (firsts, seconds)]
    nearest = [_nearest(ends) for ends in (firsts, seconds)]
    one = np.ones(rows.count.shape)

    def excess(c: Floats) -> Floats:
        """The logarithm of how much likelier than 5 % it is that the noise goes so far: < 0 outside.

        Of both ends, the lower one first.
        """
        weight = np.max([np.abs(rest - c) for rest in rests], axis=0)
        weights = [(one, product.scale, one)]
        weights += [(2.0 * widest[0], first.scale, 2.0 * nearest[0])] if same else []
        weights += [] if same else [(widest[1], first.scale, nearest[1])]
        weights += [] if same else [(widest[0], second.scale, nearest[0])]
        weights.append((weight, rows.scale, np.zeros(c.shape)))
        far = np.stack([least - c[0] * rows.sure, c[1] * rows.sure - most])
        return _likelier(rows.law, weights, far, beyond - unlikely)

    raw = [column.total / rows.sure for column in (first, second)]
    about = product.about(raw[0], raw[1], rows)

    def excess_of_public(c: Floats) -> Floats:
        """The same of a public number of rows."""
        return np.stack([excess_of_one(c[0], False), excess_of_one(c[1], True)])

    def excess_of_one(c: Floats, up: bool) -> Floats:
        """Of one end: noise with the product of both means' errors."""
        curve = (1.0 if up else -1.0) / float(rows.count[0]) if same else 0.0
        own = (2.0 if same else 1.0) * widest[1], first.scale

        def rest(x: float) -> list[tuple[Floats, float, Floats]]:
            plain = (one, product.scale, one)
            bent = x / rows.count
            apart = (widest[0] + bent, second.scale, np.maximum(nearest[0] - bent, 0.0))
            return [plain] if same else [plain, apart]

        far = c * rows.sure - about if up else about - c * rows.sure
        tail = 2.0 * rows.law.bent(rest, own, curve, far * (1.0 - 1e-9))
        return np.asarray(np.log(np.maximum(tail, _LEAST) / (beyond - unlikely)))

    middle = np.clip(about / rows.sure, *within)
    return _ends(excess if rows.scale else excess_of_public, middle, within, rows)


def correlation_ends(
    product: Product,
    squares: tuple[Product, Product],
    rows: NoisyCounts,
    rounded: tuple[float, float, float],
    *,
    beyond: float = _BEYOND,
) -> tuple[Floats, Floats]:
    """The ends of the interval of a correlation.

    `rounded` says how far the grid moves the covariance and the two variances at most, in squared steps.
    """
    first, second = product.first, product.second
    deviations, likely = list[Ends](), list[Ends]()
    for square, off in zip(squares, rounded[1:], strict=True):
        reach = max(abs(square.first.low), abs(square.first.high)) ** 2
        column = square.first
        ends = column.means(rows, np.array([[_unlikely(_EACH)], [_EACH]]))
        own, mean = zip(*ends, strict=True)
        low, high = _about_means(square, rows, (0.0, reach), _EACH, (own, own))
        likely.append(mean)
        deviations.append((np.sqrt(np.maximum(low - off, 0.0)), np.sqrt(high + off)))
    (a, b), (c, d) = deviations
    unknown = rows.few | (a <= 0.0) | (c <= 0.0)
    one = np.ones(unknown.shape)
    smallest, largest = np.where(unknown, one, a / np.where(unknown, one, d)), np.where(unknown, one, b / np.where(unknown, one, c))  # fmt: skip # noqa: E501
    cuts = smallest * (largest / smallest) ** (np.arange(_PIECES + 1)[:, None] / _PIECES)
    left, right = cuts[:-1], cuts[1:]

    means = [column.total / rows.sure for column in (first, second)]
    error = [
        np.max([np.abs(end - mean) for end in ends], axis=0) for ends, mean in zip(likely, means, strict=True)
    ]
    about = product.about(means[0], means[1], rows)
    spreads = [square.about(mean, mean, rows) for square, mean in zip(squares, means, strict=True)]
    corners = [(x, y, cut) for x in likely[0] for y in likely[1] for cut in (left, right)]

    def excess(ends: Floats) -> Floats:
        """As for a covariance, at the likeliest quotient of the deviations."""
        r = ends[:, None, :]  # beside the pieces
        half, size = r / 2.0, np.abs(r) / 2.0
        joint = [spreads[0] / cut + spreads[1] * cut for cut in (left, right)]
        turn = np.sqrt(np.clip(spreads[0], 1.0, None) / np.clip(spreads[1], 1.0, None))
        turn = np.clip(turn, left, right)
        joint.append(spreads[0] / turn + spreads[1] * turn)
        values = [about - half * value for value in joint]
        # Of the errors x, y of the means n·(xy − r/2·(x²/λ + λy²)) is left, where 2|xy| ≤ x²/λ + λy².
        apart = rows.sure * error[0] * error[1]
        bent = rows.sure * size * (error[0] ** 2 / left + error[1] ** 2 * right)
        much, little = apart + bent, apart * (1.0 - np.abs(r))
        lowest = np.min(values, axis=0) - np.where(r > 0.0, much, little)
        highest = np.max(values, axis=0) + np.where(r > 0.0, little, much)
        grid = rows.most * (rounded[0] + size * (rounded[1] / left + rounded[2] * right))
        sums = [y - r * x / cut for x, y, cut in corners], [x - r * y * cut for x, y, cut in corners]
        weights = [
            (one, product.scale, one),
            (size / left, squares[0].scale, size / right),
            (size * right, squares[1].scale, size * left),
            (np.max(np.abs(sums[0]), axis=0), first.scale, _nearest(sums[0])),
            (np.max(np.abs(sums[1]), axis=0), second.scale, _nearest(sums[1])),
            (_weight_of_rows(r, product, squares, corners), rows.scale, np.zeros(r.shape)),
        ]
        far = np.stack([lowest[0], -highest[1]]) - grid
        return np.asarray(_likelier(rows.law, weights, far, beyond - _UNLIKELY).max(axis=1))

    guess = about / np.sqrt(np.clip(spreads[0], 1.0, None)) / np.sqrt(np.clip(spreads[1], 1.0, None))
    low, high = _ends(excess, np.clip(guess, -1.0, 1.0), (-1.0, 1.0), rows)
    return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)


def _weight_of_rows(
    r: Floats,
    product: Product,
    squares: tuple[Product, Product],
    corners: Sequence[tuple[Floats, Floats, Floats]],
) -> Floats:
    """The largest |ab + base − r/2·((a² + base)/λ + λ·(b² + base))|, of each end of its parts."""
    joint = [a * b + product.base for a, b, _ in corners]
    cuts = [cut for _, _, cut in corners]
    left, right = np.min(cuts, axis=0), np.max(cuts, axis=0)
    ends = []
    for square, places in zip(squares, ([a for a, _, _ in corners], [b for _, b, _ in corners]), strict=True):
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        ends.append((np.clip(0.0, low, high) ** 2 + square.base, np.maximum(low**2, high**2) + square.base))
    least = (ends[0][0] / right + ends[1][0] * left) * r / 2.0
    most = (ends[0][1] / left + ends[1][1] * right) * r / 2.0
    above = np.abs(np.max(joint, axis=0) - np.minimum(least, most))
    below = np.abs(np.min(joint, axis=0) - np.maximum(least, most))
    return np.asarray(np.maximum(above, below))


def _nearest(ends: Sequence[Floats]) -> Floats:
    """The least size of what lies between the least and the largest of these."""
    low, high = np.min(ends, axis=0), np.max(ends, axis=0)
    return np.asarray(np.maximum(np.maximum(low, -high), 0.0))


def _likelier(law: Law, weights: Sequence[tuple[Floats, float, Floats]], far: Floats, level: float) -> Floats:
    """log P(the noise goes that far)/level, each noise with its most weight, scale and least weight."""
    noises, least = [(most, scale) for most, scale, _ in weights], [low for _, _, low in weights]
    return np.asarray(np.log(np.maximum(law.tail(noises, far, least), _LEAST) / level))


def _ends(
    excess: Callable[[Floats], Floats], middle: Floats, within: tuple[float, float], rows: NoisyCounts
) -> Ends:
    """Both ends on the way out from the middle; all that is possible where there may be no rows."""
    least, most = (np.full(middle.shape, end) for end in within)
    low, high = crossings(excess, middle, (least, most))
    return np.where(rows.few, least, low), np.where(rows.few, most, high)
