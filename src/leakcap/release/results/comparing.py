"""Differences and ratios of two released numbers, with intervals that cover with 95 % probability or more.

Two counts, or two sums of one column: their noises are independent, and the difference has the law of both
together (`release/numbers/laws.py`). Their ratio has Fieller's
interval.
Means have noise above and below the line: each gets Fieller's interval for half of the 5 %, and the ends are
combined.

Source: Fieller 1954.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakcap.errors import InvalidQuery
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.numbers.fieller import fieller_ends, quotients
from leakcap.release.numbers.laws import law_of, sum_reach
from leakcap.release.results.noisy_totals import NoisyTotal, NoisyTotals, missing
from leakcap.release.results.result import Release

__all__ = ["Comparison", "difference", "ratio_of"]

_KINDS = {"count": "count", "distinct": "count", "histogram": "count", "sum": "sum", "mean": "mean"}


@dataclass(frozen=True)
class Comparison:
    """A number made of two answers, which costs nothing. The interval covers with `confidence` at least."""

    value: float
    interval: tuple[float, float]
    confidence: float = 0.95


def difference(first: Release, second: Release) -> Comparison:
    """The first number less the second. Groups are named by `release.at(ward="a")`.

    Raises `InvalidQuery` where they are no two counts, two sums of one grid or two means, or one answer.

    >>> import pyarrow
    >>> from leakcap.release import PrivateTable
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"ward": {"keys": ["a", "b"]}}}
    >>> data = pyarrow.table({"ward": ["a"] * 50 + ["b"] * 20})
    >>> table = PrivateTable(data, policy=policy, ledger="sqlite://")
    >>> wards = table.count(by="ward", epsilon=1.0)
    >>> low, high = difference(wards.at(ward="a"), wards.at(ward="b")).interval
    >>> high - low  # P(|difference of both noises| > 4) is 3.1 %
    8.0
    """
    a, b = _both(first, second)
    if first.query.statistic == "mean":
        (low, high), (least, most) = _mean_ends(a), _mean_ends(b)
        value = float(first.rows[0].value) - float(second.rows[0].value)
        return Comparison(
            value, (math.nextafter(low - most, -math.inf), math.nextafter(high - least, math.inf))
        )
    one, two = a.parts[0], b.parts[0]
    if one.unit != two.unit:
        raise InvalidQuery("`difference` needs two sums of one grid: at one ε, or of one answer.")
    steps = one.numbers[0] - two.numbers[0]
    error = sum_reach(one.noise, two.noise, 0.05)
    ends = (float((steps - error) * one.unit), float((steps + error) * one.unit))
    return Comparison(float(steps * one.unit), ends)


def ratio_of(first: Release, second: Release) -> Comparison:
    """The first number over the second, whose true value must be positive. Raises `InvalidQuery`.

    An end is infinite where the second may be 0.
    """
    a, b = _both(first, second)
    if first.query.statistic == "mean":
        (low, high), (least, most) = _mean_ends(a), _mean_ends(b)
        below = float(second.rows[0].value)
        value = float(first.rows[0].value) / below if below else math.nan
        if least <= 0.0:
            return Comparison(value, (-math.inf, math.inf))
        corners = [x / y for x in (low, high) for y in (least, most)]
        return Comparison(
            value, (math.nextafter(min(corners), -math.inf), math.nextafter(max(corners), math.inf))
        )
    one, two = a.parts[0], b.parts[0]
    x, y, step = one.numbers[0], two.numbers[0], float(one.unit / two.unit)
    most = 1e12
    middle = max(-most, min(most, x / y)) if y > 0 else math.copysign(most, x)
    scales = (float(one.scale), float(two.scale))
    _one_law(one, two)
    law = law_of(one.noise)
    found = fieller_ends(
        lambda r: (np.ones(()), -r), (float(x), float(y)), scales, (-most, middle, most), law=law
    )
    low, high = map(float, found)
    if y <= two.noise.error(0.05):  # nothing is said of how large it is
        low, high = -most, most
    ends = (-math.inf if low <= -most else low * step, math.inf if high >= most else high * step)
    return Comparison(middle * step, ends)


def _one_law(one: NoisyTotal, two: NoisyTotal) -> None:
    if type(one.noise) is not type(two.noise):
        raise InvalidQuery(
            "`ratio_of` needs two numbers with noise of one law: one of these has Laplace noise, the other "
            "Gaussian."
        )


def _both(first: Release, second: Release) -> tuple[NoisyTotals, NoisyTotals]:
    found = []
    for release in (first, second):
        if len(release.rows) != 1:
            raise InvalidQuery(
                f"`{release.name}` has several numbers. Name one group: `release.at(ward=...)`."
            )
        if release.drawn is None:
            raise missing(release.name)
        if len(release.drawn.parts[0].numbers) != 1:
            raise InvalidQuery(f"`{release.name}` is not made of one noisy number for each group.")
        found.append(release.drawn)
    kinds = {_KINDS.get(release.query.statistic) for release in (first, second)}
    if len(kinds) > 1 or None in kinds:
        raise InvalidQuery("Only two counts, two sums or two means can be compared.")
    if first.people_from != second.people_from:
        raise InvalidQuery(
            f"`{first.name}` and `{second.name}` count different people: between them, people's own caps "
            "ran out."
        )
    same = (first.text, first.rows[0].keys) == (second.text, second.rows[0].keys)
    if same and found[0].parts == found[1].parts:
        raise InvalidQuery("These are the same answer twice: its noise is not independent of itself.")
    return found[0], found[1]


def _mean_ends(drawn: NoisyTotals) -> tuple[float, float]:
    """An interval of one mean that misses with 2.5 % probability at most."""
    total, unit, centre = drawn.parts[0], drawn.parts[0].unit, drawn.centre
    number = total.numbers[0]
    if drawn.rows is not None:
        error = total.noise.error(0.025)
        ends = [float((centre + Fraction(number + e, drawn.rows)) * unit) for e in (-error, error)]
        return ends[0], ends[1]
    count = drawn.parts[1]
    least, most = (end - centre for end in drawn.ends)
    noisy = (exact_integers([number]), exact_integers([count.numbers[0]]))
    _, low, high = quotients(noisy, (total.scale, count.scale), (least, most), 0.025, law=law_of(total.noise))
    return float(unit) * (centre + float(low[0])), float(unit) * (centre + float(high[0]))
