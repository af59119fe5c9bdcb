"""Quantiles: one of the bins of a public grid is chosen, and almost surely one near the wanted rank.

A bin that starts at e and ends at f holds the ranks from #{x < e} to #{x < f}; the first one all below too,
the last one all above. Together they cover every rank. The target is T = q·n + s, n the group's rows, s a
public shift. How far a bin is from it, g = max(0, #{x < e} − T, T − #{x < f}), is 0 for one bin at least.

**Permute-and-flip**: each bin tosses a coin of probability e^(−g/2λ), and one of those that show heads is
taken, all equally likely. That is the first head in a random order, hence the mechanism of McKenna & Sheldon.

**Sensitivity.** A row moves #{x < e} − q·n by 1 − q or −q, so g by max(q, 1 − q) at most; replaced by another
row, by 1. That is a sum with values −q and 1 − q, so `Contribution` knows the rest: many rows of a unit,
groups (the losses of its groups add up and are proportional to its rows there) and both relations. λ is the
sensitivity over ε.

**Certificate.** A bin with g ≥ t shows heads with probability p = e^(−t/2λ) at most, and one with g = 0
always does. So a choice that far off is likeliest where all other bins are just as far: with K bins N of them
show heads, N binomial, and one of these is taken with probability E N/(N + 1) = 1 − (1 − (1 − p)^K)/(Kp).
With s = −t the bin's start e has g < t, #{x < e} < q·n, so that e is not above the quantile; with s = t its
end is above it. Two such bins are the ends of the interval. A quantile of whole numbers is one of them: not
below e it is not below the first whole number of its bin, and below the other's end f not above the last one.

Source: McKenna & Sheldon 2020, algorithm 1 and theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakcap.arrays import np
from leakcap.mechanism.selection import nats_off, permute_and_flip
from leakcap.numeric import up
from leakcap.numeric.enclosure import outward
from leakcap.release.measurements.choice import ChoiceMeasurement
from leakcap.release.numbers.answers import Interval, Number
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.sampling import ByteSource

__all__ = [
    "BINS",
    "MOST_BINS",
    "RANKS",
    "QuantileMeasurement",
    "chosen_bins",
    "quantile_answers",
    "rank_error",
    "ranks_of",
    "shift_for",
]

RANKS = ("quantiles", "median", "interquartile_range")
BINS = 256
MOST_BINS = 1024
_WORD = 1 << 62


@dataclass(frozen=True, kw_only=True)
class QuantileMeasurement(ChoiceMeasurement):
    """One choice of a bin: the quantile numerator/denominator, moved by `shift`, among `bins` bins.

    All of it, `sensitivity` and `scale` too, counts in rows/denominator.
    """

    numerator: int
    denominator: int
    shift: int = 0
    bins: int = 1

    @property
    def noise_scale(self) -> float:
        """How many rows further from the wanted rank make a bin e times less likely to stay in the draw."""
        return float(2 * self.scale / self.denominator)

    def draw(self, exact: ExactIntegers, source: ByteSource) -> ExactIntegers:
        """The chosen bin of each group."""
        return chosen_bins(self, exact, self.bins, source)

    def table_nats(self, units: int) -> float:
        """No more than the logarithm of how many answers there are."""
        return up(self.contribution.cells * up(math.log(self.bins), 2))

    def error(self, beyond: float) -> int:
        """Beyond this no bin is chosen, in the unit of `scale`, but with that probability."""
        return shift_for(self.scale, self.bins, beyond)


def ranks_of(statistic: str, quantiles: Sequence[float] | None) -> tuple[float, ...]:
    """Which quantiles a statistic is made of.

    >>> ranks_of("interquartile_range", None)
    (0.25, 0.75)
    """
    if statistic == "median":
        return (0.5,)
    return (0.25, 0.75) if statistic == "interquartile_range" else tuple(quantiles or ())


def shift_for(scale: Fraction, bins: int, beyond: float) -> int:
    """The smallest whole t, in the unit of `scale`, that is far enough: whatever the table, a bin that is t
    or further off is chosen with probability `beyond` at most.

    >>> shift_for(Fraction(1), 2, 0.05)
    5
    """
    # A hair more, so that rounding errs towards the wider interval.
    return math.ceil(2 * scale * Fraction(nats_off(max(bins, 2), beyond) * (1 + 1e-9)))


def chosen_bins(
    part: QuantileMeasurement, counts: ExactIntegers, bins: int, source: ByteSource
) -> ExactIntegers:
    """For each group the chosen bin; `counts` are the rows of each bin, group by group.

    Drawn exactly: integers and rational coins from end to end.
    """
    per_row, wanted = part.denominator, part.numerator
    numerator, denominator = part.scale.denominator, 2 * part.scale.numerator
    # One row more than there are: the constants themselves must fit, also where no row does.
    largest = ((sum(map(abs, counts.tolist())) + 1) * per_row + abs(part.shift)) * numerator
    fits = max(largest, denominator) < _WORD
    array: Any = counts.astype(np.int64 if fits else object).reshape(-1, bins)
    upto = np.cumsum(array, axis=1)
    target = wanted * upto[:, -1:] + part.shift
    gaps = np.zeros_like(array)
    gaps[:, 1:] = np.maximum(gaps[:, 1:], per_row * upto[:, :-1] - target)
    gaps[:, :-1] = np.maximum(gaps[:, :-1], target - per_row * upto[:, :-1])
    return permute_and_flip(gaps * numerator, denominator, source)


def quantile_answers(
    statistic: str, bins: Sequence[tuple[Number, Number]], picks: Sequence[int]
) -> list[tuple[Number, Interval]]:
    """Value and interval of each quantile, or of their difference; three picks each: itself, below, above.

    `bins` are the ends of each bin: of whole numbers its first and its last one, between which a whole number
    is the middle, too.

    >>> quantile_answers("median", [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], [1, 0, 1])
    [(1.5, (0.0, 2.0))]
    >>> quantile_answers("median", [(0, 3), (4, 7), (8, 10)], [1, 1, 2])
    [(5, (4, 10))]
    """
    found = []
    for point, below, above in zip(picks[::3], picks[1::3], picks[2::3], strict=True):
        low, high = sorted((bins[below][0], bins[above][1]))
        found.append((max(low, min(high, _middle(*bins[point]))), (low, high)))
    if statistic != "interquartile_range":
        return found
    (first, (low, high)), (third, (lower, upper)) = found
    # Differences of doubles need not be doubles; and no range is below 0, however the ends were chosen.
    least, most = outward(Fraction(lower) - Fraction(high))[0], outward(Fraction(upper) - Fraction(low))[1]
    return [(max(third - third, third - first), (max(least, 0.0), max(most, 0.0)))]


def _middle(low: Number, high: Number) -> Number:
    if isinstance(low, int) and isinstance(high, int):
        return low + (high - low) // 2
    return low + (high - low) / 2


def rank_error(parts: Sequence[QuantileMeasurement], bins: int) -> float:
    """How many rows the worst of the chosen bins is from the wanted rank, with 95 % probability at most."""
    points = [part for part in parts if part.shift == 0]
    return max(float(Fraction(shift_for(part.scale, bins, 0.05), part.denominator)) for part in points)
