"""A table builder whose bounded noise repeats itself for the same people, and the attack that averages it.

The same question always has the same answer. But a count is also the sum of two others, those of its people
whose value of some attribute lies in a set, or outside, and there are as many such sets as one likes, of
other people each: their noise is new, and goes away in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.accounting import PrivacyLoss
from leakcap.attack.chance import binomial_interval
from leakcap.attack.value import Finding, raised
from leakcap.channel import Channel
from leakcap.errors import require

__all__ = ["AveragedCounts", "TableBuilder", "averaged_counts"]

_OWNER = "averaged_counts"
_SURE, _MOST_PAIRS = 0.95, 500
_GUARD = "a budget: every further answer costs, whoever asks"


@dataclass(frozen=True, kw_only=True)
class AveragedCounts(Finding):
    """got = the share of counts that were named right; at_most = what so many sums of two answers allow.

    `queries` were asked for each count, `noise` says up to how much is added to an answer, and `blind` how
    often the count's own answer is right. After `suffice` queries the mean is right in 95 of 100 cases, by
    its law; with fewer than `needed` nobody is who sees such sums, by the channel. None for more than 1,000.
    """

    queries: int
    noise: int
    blind: float
    counts: int
    suffice: int | None
    needed: int | None


class TableBuilder:
    """Counts of people by conditions, perturbed as by an online builder of tables.

    Counts below `below` are answered with 0; to others a whole number from −`noise` to `noise`, all equally
    likely, is added, which depends on the set of people that are counted and on nothing else. Source: the
    model of Asghar & Kaafar 2020, after Marley & Leaver 2011.

    >>> builder = TableBuilder([[0, 1], [1, 1], [1, 0]], noise=2, below=0, generator=np.random.default_rng(0))
    >>> builder.answer({1: [1]}) == builder.answer({0: [0, 1], 1: [1]}), builder.asked
    (True, 2)
    """

    def __init__(self, rows: ArrayLike, *, noise: int, below: int, generator: np.random.Generator) -> None:
        self._rows = np.asarray(rows, dtype=np.int64)
        require(self._rows.ndim == 2, "rows", "TableBuilder", "be people × attributes", self._rows.shape)
        _check("noise", noise, 1, 100)
        _check("below", below, 0, 10**6)
        self._noise, self._below, self._generator = noise, below, generator
        self._drawn: dict[bytes, int] = {}
        self._having: dict[tuple[int, int], NDArray[np.int64]] = {}
        self.asked = 0

    def answer(self, where: Mapping[int, Collection[int]]) -> int:
        """What is answered of the people whose values of these attributes are among these."""
        self.asked += 1
        counted = np.arange(len(self._rows))
        for place, (attribute, values) in enumerate(where.items()):
            if place:
                own = self._rows[counted, attribute, None] == np.array(list(values), dtype=np.int64)
                counted = counted[own.any(axis=1)]
            else:
                found = [self._people(attribute, value) for value in sorted(set(values))]
                counted = np.sort(np.concatenate([counted[:0], *found]))
        count = len(counted)
        if count < self._below:
            return 0
        people = counted.tobytes()
        if people not in self._drawn:
            self._drawn[people] = int(self._generator.integers(-self._noise, self._noise + 1))
        return max(0, count + self._drawn[people])

    def _people(self, attribute: int, value: int) -> NDArray[np.int64]:
        if (attribute, value) not in self._having:
            self._having[attribute, value] = np.flatnonzero(self._rows[:, attribute] == value)
        return self._having[attribute, value]


def averaged_counts(
    noise: int = 2,
    *,
    queries: int = 180,
    people: int = 20_000,
    counts: int = 100,
    below: int = 5,
    values: int = 12,
    generator: np.random.Generator,
) -> tuple[AveragedCounts, AveragedCounts]:
    """Take the noise of a table builder off: by the mean, as published, and by the likeliest count.

    A made-up table of so many people has a first attribute of `counts` values, each of whose counts is a
    target, and a second of `values`, by random sets of which the targets are cut in two. `at_most` is what
    is possible for somebody who sees the sums of the pairs alone and is told that a count is one of two
    neighbours, as an exact channel repeated queries/2 times.

    Source: Asghar & Kaafar, Averaging attacks on bounded noise-based disclosure control algorithms, 2020.

    >>> mean, likeliest = averaged_counts(counts=20, people=4000, generator=np.random.default_rng(0))
    >>> mean.got >= 0.9, likeliest.got >= 0.9, mean.queries
    (True, True, 180)
    """
    _check("queries", queries, 2, 1000)
    _check("counts", counts, 1, 1000)
    _check("values", values, 3, 20)
    _check("people", people, 1, 10**6)
    pairs = queries // 2
    most = (1 << (values - 1)) - 1
    require(pairs <= most, "queries", _OWNER, f"be at most {2 * most:,} with {values} values", queries)
    rows = np.stack([np.arange(people) % counts, generator.integers(values, size=people)], axis=1)
    builder = TableBuilder(rows, noise=noise, below=below, generator=generator)
    truth = np.bincount(rows[:, 0], minlength=counts)
    named = np.zeros((3, counts), dtype=np.int64)
    for target in range(counts):
        named[0, target] = builder.answer({0: [target]})
        sums = _sums_of_pairs(builder, target, values, pairs, generator)
        named[1, target] = math.floor(np.mean(sums) + 0.5)
        named[2, target] = _likeliest(sums, noise)
    right = (named == truth).sum(axis=1)
    limit = _limit(noise, pairs)
    suffice, needed = queries_that_suffice(noise), queries_that_are_needed(noise)
    results = []
    for name, hits in (("averaging pairs of answers", right[1]), ("likeliest count of pairs", right[2])):
        low, high = binomial_interval(int(hits), counts)
        results.append(
            AveragedCounts(
                attack=name,
                got=int(hits) / counts,
                got_lower=low,
                got_upper=high,
                at_most=limit,
                unit="probability",
                stopped_by=_GUARD,
                queries=2 * pairs,
                noise=noise,
                blind=int(right[0]) / counts,
                counts=counts,
                suffice=suffice,
                needed=needed,
            )
        )
    return results[0], results[1]


def queries_that_suffice(noise: int) -> int | None:
    """After how many queries the mean of the sums of pairs, rounded, is right in 95 of 100 cases.

    By the law of the sum, from a Fourier transform; None where it takes more than 1,000.

    >>> [queries_that_suffice(noise) for noise in (1, 2, 5)]
    [42, 124, 616]
    """
    return _least(lambda pairs: chance_of_mean(noise, pairs))


def queries_that_are_needed(noise: int) -> int | None:
    """With how many queries the best test between two neighbouring counts can be right in 95 of 100 cases.

    With fewer nobody names a count as often from the sums of pairs. None where it takes more than 1,000.
    """
    return _least(lambda pairs: _limit(noise, pairs))


def chance_of_mean(noise: int, pairs: int) -> float:
    """How likely the mean of so many sums of two answers, rounded, is the count.

    >>> round(chance_of_mean(1, 1), 12)  # the noises cancel: 3 of 9 cases
    0.333333333333
    """
    size, width = 4 * noise * pairs + 1, 2 * noise + 1
    one = np.fft.rfft(np.full(width, 1.0 / width), size)
    law = np.fft.irfft(one ** (2 * pairs), size)  # of the sum of all noises, plus 2 × noise × pairs
    off = np.arange(size) - 2 * noise * pairs
    return float(law[(2 * off >= -pairs) & (2 * off < pairs)].sum())


def _least(right: Callable[[int], float]) -> int | None:
    """Of queries, two a pair, the fewest with which it is right in 95 of 100 cases."""
    low, high = 0, 1
    while right(high) < _SURE:
        low, high = high, 2 * high
        if low >= _MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) >= _SURE else (middle, high)
    return 2 * high if high <= _MOST_PAIRS else None


def _sums_of_pairs(
    builder: TableBuilder, target: int, values: int, pairs: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Answers about both halves of a target, for different sets; each holds the value 0, so that none is the
    rest of another. Sets with half of the values come first, of which no half is small."""
    numbers = generator.permutation((1 << (values - 1)) - 1)
    sizes = np.array([int(one).bit_count() for one in numbers])
    chosen = numbers[np.argsort(np.abs(2 * sizes + 2 - values), kind="stable")][:pairs]
    sums = []
    for number in chosen.tolist():
        inside = [0, *(at + 1 for at in range(values - 1) if number >> at & 1)]
        outside = [at for at in range(values) if at not in set(inside)]
        sums.append(sum(builder.answer({0: [target], 1: half}) for half in (inside, outside)))
    return np.array(sums, dtype=np.int64)


def _likeliest(sums: NDArray[np.int64], noise: int) -> int:
    """The count under which these sums are likeliest, of equal ones that nearest to their mean."""
    width, mean = 2 * noise, float(np.mean(sums))
    found, best = math.floor(mean + 0.5), -math.inf
    for count in range(int(sums.max()) - width, int(sums.min()) + width + 1):
        weights = width + 1 - np.abs(sums - count)
        likely = float(np.log(weights).sum())
        if likely > best + 1e-9 or (likely > best - 1e-9 and abs(count - mean) < abs(found - mean)):
            found, best = count, likely
    return found


@lru_cache(maxsize=1024)
def _limit(noise: int, pairs: int) -> float:
    """(1 + TV)/2 of the sums of pairs under two neighbouring counts; kept: each search asks it again."""
    width = 2 * noise
    total = (width + 1) ** 2
    law = [Fraction(width + 1 - abs(one), total) for one in range(-width, width + 1)]
    rows = [[*law, Fraction(0)], [Fraction(0), *law]]
    channel = Channel(rows, inputs=("fewer", "more"), outputs=tuple(range(2 * width + 2)))
    apart = (PrivacyLoss.of_channel(channel, "more", "fewer") ** pairs).total_variation().upper
    return raised((1.0 + min(1.0, apart + pairs * 2.0**-50)) / 2.0, 1.0)


def _check(name: str, value: int, least: int, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    rule = f"be a whole number from {least} to {most:,}"
    require(whole and least <= value <= most, name, _OWNER, rule, value)
