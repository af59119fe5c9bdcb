"""The best linear unbiased estimates of a tree's counts from noisy ones, by one pass up and one down.

Every node v has a noisy count y_v of variance s_v, or an exact one (s_v = 0), or none (s_v = ∞). Upwards,
what is known of a count from v and below is

    z_v = S + g·(y_v − S),   S = Σ_children z_c,   V_S = Σ_children V_c,   g = V_S/(s_v + V_S),   V_v = g·s_v,

and downwards, with k_c = V_c/V_S, what is known from the whole tree,

    x_c = z_c + k_c·(x_v − S),   P_c = V_c·(1 − k_c) + k_c²·P_v,   cov(x_c, x_d) = −V_c V_d/V_S + k_c k_d P_v.

That is the generalised least squares fit, which no unbiased linear estimate beats (Gauss & Markov).

Doubles are enough, for this is post-processing, but are not trusted with large counts: everything is kept as
whole numbers L_v, the sums of the leaves below, and what is added to them, which is of the size of the
noise. How far rounding can have moved an estimate (`rounding`) or a variance (`SLACK`) is added to its
interval.

Source: Hay, Rastogi, Miklau & Suciu 2010, section 4; Aitken 1936. See `docs/theory/hierarchies.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.hierarchies.tree import Hierarchy

__all__ = ["SLACK", "TreeFit", "half_widths"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SLACK = 1e-8
"""Far more than rounding adds to a sum of 4,000,000 positive doubles, relatively: 4·10⁶·2⁻⁵³ < 10⁻⁹."""
_NORMAL = 1.96862
"""More than the point that a standard normal variable passes, to either side, with probability 0.049."""
_STEPS = 3.8990
"""More than √(2·ln(2/0.001))."""
_TAIL = 2.71621
"""More than √(2·ln(2/0.05))."""


@dataclass(frozen=True, eq=False)
class TreeFit:
    """Estimates of all counts: those of level l are `base[l] + shift[l]`, of variance `variance[l]` at most.

    `below` and `below_variance` are what the nodes below tell alone: z_v − L_v and V_v. `least` is the
    least variance parameter of any noise.
    """

    hierarchy: Hierarchy
    base: tuple[Integers, ...]
    below: tuple[Floats, ...]
    below_variance: tuple[Floats, ...]
    shift: tuple[Floats, ...]
    variance: tuple[Floats, ...]
    least: float

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        noisy: Sequence[Integers | None],
        variances: Sequence[Fraction | None],
        exact: Sequence[Mapping[int, int]],
    ) -> TreeFit:
        """The fit to the noisy counts of each level, None for a level without, and to the `exact` ones, which
        are given by the place of the node in its level and must not contradict each other.

        >>> land = Hierarchy.of(["land", "town"], [("l", "a"), ("l", "b")])
        >>> heard = [np.array([15]), np.array([4, 8])]
        >>> fit = TreeFit.of(land, heard, [Fraction(16), Fraction(16)], [{}, {}])
        >>> [(one + other).tolist() for one, other in zip(fit.base, fit.shift)]
        [[14.0], [5.0, 9.0]]
        """
        last = len(hierarchy.levels) - 1
        base: list[Integers] = [np.zeros(0, dtype=np.int64)] * (last + 1)
        below: list[Floats] = [np.zeros(0)] * (last + 1)
        spread: list[Floats] = [np.zeros(0)] * (last + 1)
        for level in range(last, -1, -1):
            heard, own = noisy[level], variances[level]
            size = hierarchy.sizes[level]
            places = np.fromiter(exact[level], np.int64, len(exact[level]))
            known = np.fromiter(exact[level].values(), np.int64, len(places))
            if level == last:
                leaves = np.zeros(size, dtype=np.int64) if heard is None else heard.copy()
                leaves[places] = known
                base[level], below[level] = leaves, np.zeros(size)
                spread[level] = np.full(size, math.inf if own is None else float(own))
                spread[level][places] = 0.0
                continue
            base[level] = np.asarray(hierarchy.added(level + 1, base[level + 1]), dtype=np.int64)
            children = np.asarray(hierarchy.added(level + 1, below[level + 1]), dtype=np.float64)
            total = np.asarray(hierarchy.added(level + 1, spread[level + 1]), dtype=np.float64)
            gain, off = np.zeros(size), np.zeros(size)
            below_own = total.copy()
            if heard is not None and own is not None:
                gain = total / (float(own) + total)
                off = (heard - base[level]).astype(np.float64)
                below_own = gain * float(own)
            gain[places], below_own[places] = 1.0, 0.0
            off[places] = (known - base[level][places]).astype(np.float64)
            below[level] = children + gain * (off - children)
            spread[level] = below_own
        shift, variance = [below[0]], [spread[0] * (1 + SLACK)]
        for level in range(1, last + 1):
            parents = hierarchy.parents[level]
            total = np.asarray(hierarchy.added(level, spread[level]), dtype=np.float64)
            children = np.asarray(hierarchy.added(level, below[level]), dtype=np.float64)
            share = _shares(spread[level], total[parents])
            gone = (shift[-1] - children)[parents]
            left = spread[level] * (1.0 - share) + share**2 * variance[-1][parents]
            shift.append(below[level] + share * gone)
            variance.append(left * (1 + SLACK) + SLACK * spread[level])
        least = min(float(one) for one in variances if one is not None)
        return cls(hierarchy, tuple(base), tuple(below), tuple(spread), tuple(shift), tuple(variance), least)

    @cached_property
    def rounding(self) -> float:
        """How far rounding can have moved an estimate: on the way up by so much of all that is added up, on
        the way down by so much of what is added at each level."""
        upwards = sum(float(np.abs(one).sum()) for one in self.below)
        downwards = sum(float(np.abs(one).max()) for one in self.shift)
        return 8.0 * self.hierarchy.nodes * 2.0**-53 * (1.0 + upwards + downwards)

    def covariance(self, first: tuple[int, int], second: tuple[int, int]) -> float:
        """The covariance of two estimates, each a level and a place in it, but for rounding."""
        paths = [self._path(*first), self._path(*second)]
        common = 0
        while common < min(map(len, paths)) and paths[0][common] == paths[1][common]:
            common += 1
        level = common - 1
        shared = float(self.variance[level][paths[0][level]])
        if common == min(map(len, paths)):
            # One stands above the other: the errors have that of the upper one in common, times the shares.
            return shared * math.prod(
                self._share(common + i, place) for i, place in enumerate(max(paths, key=len)[common:])
            )
        one, other = paths[0][common], paths[1][common]
        spread = self.below_variance[common]
        apart = -float(spread[one]) * self._share(common, other)
        found = apart + self._share(common, one) * self._share(common, other) * shared
        for path in paths:
            for i, place in enumerate(path[common + 1 :]):
                found *= self._share(common + 1 + i, place)
        return found

    def _path(self, level: int, place: int) -> list[int]:
        path = [place]
        for above in range(level, 0, -1):
            path.append(int(self.hierarchy.parents[above][path[-1]]))
        return path[::-1]

    def _share(self, level: int, place: int) -> float:
        """k of a node: its part of what its parent's children together were moved by."""
        parents = self.hierarchy.parents[level]
        first, last = np.searchsorted(parents, [parents[place], parents[place] + 1])
        spread = self.below_variance[level]
        total = float(spread[first:last].sum())
        return float(spread[place]) / total if total else 0.0


def _shares(spread: Floats, totals: Floats) -> Floats:
    """V_c/V_S; 0 where all of a node's children are known exactly."""
    return np.divide(spread, totals, out=np.zeros_like(spread), where=totals > 0)


def half_widths(variance: Floats, least: float) -> Floats:
    """How far to either side of an estimate of this variance its interval goes, at 95 % or more.

    An estimate's error is Σ w·Z over independent discrete Gaussian noises of parameters σ² ≥ `least` ≥ 16,
    with V = Σ w²σ². Each is a normal variable and a step D of mean 0 within ±1, so that Σ w·D passes
    √(2·ln(2/η)·Σw²), Σw² ≤ V/least, with probability η at most (Hoeffding 1963): with η = 0.001 the interval
    is 1.96862·√V + 3.899·√(V/least). Nor does Σ w·Z pass √(2·ln(2/0.05)·V) more often than in 5 % (Chernoff,
    for E e^(tZ) ≤ e^(t²σ²/2)). The shorter one is taken.
    """
    return np.asarray(np.sqrt(variance) * min(_TAIL, _NORMAL + _STEPS / math.sqrt(least)))
