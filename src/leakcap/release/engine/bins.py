"""Bins of equal width by arithmetic instead of a search, where both are the same for every double.

floor((x − low)·s) never falls as x rises: differences, products with a positive number and floors of doubles
keep their order. So two doubles at every edge, it and the one below, say whether it is the bin of all others
too. Where it is one too many just below an edge, which roundings make it, a comparison with that edge,
low + width·(index/bins), takes the one back.

Between powers of two the bin of a double is its exponent, which its bits tell without rounding: read as an
integer and shifted by 52. Below zero a bin includes the larger power: there it is the exponent of the bits
less one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Even", "Powers", "even", "powers_of_two"]

_BIAS = 1023  # of a double's exponent
_ROUNDED = Fraction(1, 2**52)
_WITHIN = 1.0 - 2.0**-40
_COARSEST = -20


@dataclass(frozen=True)
class Even:
    """`count` bins from `low`, by floor((x − low)·`scale`) where |x − `middle`| ≤ `half` in doubles.

    Beyond that a number lies in the first bin or in the last one. `corrected` says that the index is one too
    many where x < low + width·(index/count).
    """

    low: float
    width: float
    count: int
    scale: float
    middle: float
    half: float
    corrected: bool

    def edges(self) -> NDArray[np.float64]:
        """The edges as the correction computes them."""
        return self.low + self.width * (np.arange(self.count + 1) / self.count)

    def index(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The index before it is corrected."""
        return np.floor((x - self.low) * self.scale)


@lru_cache(maxsize=256)
def even(edges: tuple[float, ...]) -> Even | None:
    """The arithmetic that finds the bin of every double between these edges; None where there is none.

    >>> even((0.0, 5.0, 10.0))
    Even(low=0.0, width=10.0, count=2, scale=0.2, middle=5.0, half=4.9999999999954525, corrected=False)
    >>> even((0.0, 1.0, 10.0)) is None
    True
    """
    low, high, count = edges[0], edges[-1], len(edges) - 1
    width, middle = high - low, low / 2 + high / 2
    if count < 2 or not (math.isfinite(width) and width > 2.0**-900):
        return None
    half = min(high - middle, middle - low) * _WITHIN
    if not _covers(edges, Fraction(middle), Fraction(half)):
        return None
    given, place = np.array(edges), np.arange(count + 1)
    below = np.nextafter(given[1:], -np.inf)
    for scale in _above(float(count / (Fraction(high) - Fraction(low)))):
        found = Even(low, width, count, scale, middle, half, corrected=False)
        first, last = found.index(given[:-1]), found.index(below)
        if not (first >= place[:-1]).all() or not (last <= place[1:]).all():
            continue
        if (last <= place[:-1]).all():
            return found
        same = np.array_equal(found.edges()[:-1], given[:-1]) and found.edges()[-1] >= high
        return Even(low, width, count, scale, middle, half, corrected=True) if same else None
    return None


def _above(scale: float) -> Iterator[float]:
    """It, and a little above it, so that roundings leave no edge in the bin before."""
    yield scale
    for power in range(-52, _COARSEST):
        yield scale * (1.0 + 2.0**power)


def _covers(edges: tuple[float, ...], middle: Fraction, half: Fraction) -> bool:
    """Whether what |x − middle| ≤ half takes in lies between the outer edges, and what it leaves out lies in
    the outer bins: a difference of doubles is rounded by half of 2⁻⁵² of its size at most.
    """
    most, least = half * (1 + _ROUNDED), half * (1 - _ROUNDED)
    taken = edges[0] <= middle - most and middle + most < edges[-1]
    return taken and middle - least < edges[1] and edges[-2] <= middle + least


@dataclass(frozen=True)
class Powers:
    """Bins between −2^last … −2^first, 0, 2^first … 2^last.

    With the double's bits as an integer, those of its size for x below zero, the bin is

        above + (bits >> 52)        where `least` ≤ x ≤ `most`,
        below − ((bits − 1) >> 52)  where `least` ≤ −x ≤ `most`.

    `zero` is the bin that begins at 0.
    """

    first: int
    last: int

    @property
    def zero(self) -> int:
        """So many bins are below 0."""
        return self.last - self.first + 1

    @property
    def least(self) -> float:
        """The smallest power."""
        return 2.0**self.first

    @property
    def most(self) -> float:
        """The double below the largest power."""
        return math.nextafter(2.0**self.last, 0.0)

    @property
    def above(self) -> int:
        """What is added to the exponent's bits."""
        return self.zero + 1 - self.first - _BIAS

    @property
    def below(self) -> int:
        """What they are taken from."""
        return self.last - 1 + _BIAS


@lru_cache(maxsize=16)
def powers_of_two(edges: tuple[float, ...]) -> Powers | None:
    """The powers of two that these edges are; None where they are not.

    >>> powers_of_two((-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0))
    Powers(first=-1, last=1)
    >>> powers_of_two((0.0, 1.0, 2.0)) is None
    True
    """
    half = len(edges) // 2
    above = edges[half + 1 :]
    if len(edges) % 2 == 0 or not above or not 2.0**-1022 <= above[0] <= above[-1] < math.inf:
        return None
    found = Powers(math.frexp(above[0])[1] - 1, math.frexp(above[-1])[1] - 1)
    sizes = tuple(2.0**power for power in range(found.first, found.last + 1))
    return found if edges == (*(-size for size in reversed(sizes)), 0.0, *sizes) else None
