"""Counts that are known through sums of them: the least and the largest of each, proved and attained.

HiGHS computes in doubles, so that none of its numbers is believed: a bound is what its multipliers prove in
fractions, and a table that attains it is checked in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

from leakcap.errors import InvalidInput

__all__ = ["CONTRADICTION", "CountRange", "KnownSum", "KnownSums"]

Whole = NDArray[np.int64]
Between = tuple[int, int | None]
CONTRADICTION = "No table of counts fits the published numbers: they contradict each other."
_PARTS = (1, 12, 2520, 10**6)
_INFEASIBLE, _NODES, _PASSES, _CORNERS = 2, 200, 12, 4
_NEAR, _BEYOND = 1e-6, 1 << 60


class KnownSum(NamedTuple):
    """Σ sign·count over these cells lies between `low` and `high`; None for no end above."""

    cells: Sequence[int]
    signs: Sequence[int]
    low: int
    high: int | None


class CountRange(NamedTuple):
    """Every table that fits has a count from `low` to `high`; `attained`: one was found that has the end."""

    low: int
    high: int | None
    attained: tuple[bool, bool]


class KnownSums:
    """Unknown counts, each between two numbers, and known sums of them, which lie between two numbers too.

    Raises `InvalidInput` where it is found that no counts fit.

    >>> known = KnownSums([KnownSum((0, 1), (1, 1), 7, 7)], [(1, 4), (1, 4)])
    >>> known.ranges()
    [CountRange(low=3, high=4, attained=(True, True)), CountRange(low=3, high=4, attained=(True, True))]
    """

    def __init__(self, sums: Sequence[KnownSum], between: Sequence[Between]) -> None:
        self._lows = [low for low, _ in between]
        self._highs = [high for _, high in between]
        for _ in range(_PASSES):
            if not sum(self._narrow(one) for one in sums):
                break
        self._open = [
            at for at, (low, high) in enumerate(zip(self._lows, self._highs, strict=True)) if low != high
        ]
        self._sums = [left for one in sums if (left := self._left(one)) is not None]
        self._least = [_BEYOND] * len(self._open)
        self._most = [-1] * len(self._open)
        self._seen = False

    def ranges(self, wanted: Sequence[int] | None = None, *, lows_only: bool = False) -> list[CountRange]:
        """What each count can be, or each of those `wanted`; `lows_only` leaves the upper ends rough."""
        places = self._places
        cells = range(len(self._lows)) if wanted is None else wanted
        proved: dict[int, Between] = {}
        for cell in cells:
            if cell in places:
                low, high = self._end(places[cell], 1), self._highs[cell]
                proved[cell] = low or 0, high if lows_only else self._end(places[cell], -1)
        if self._open and not self._seen:
            self._look()
        for cell, (low, high) in proved.items():
            self._attain(places[cell], low, None if lows_only else high)
        return [self._range(cell, proved.get(cell)) for cell in cells]

    def _range(self, cell: int, proved: Between | None) -> CountRange:
        if proved is None:
            fits = self._seen or not self._open
            return CountRange(self._lows[cell], self._highs[cell], (fits, fits))
        (low, high), at = proved, self._places[cell]
        if high is not None and high < low:
            raise InvalidInput(CONTRADICTION)
        return CountRange(low, high, (self._least[at] == low, self._most[at] == high))

    def least_seen(self, cell: int) -> int | None:
        """The least count of a cell in all tables that were found and checked; None where there is none."""
        if cell not in self._places:
            return self._lows[cell]
        return self._least[self._places[cell]] if self._seen else None

    @cached_property
    def _places(self) -> dict[int, int]:
        return {cell: at for at, cell in enumerate(self._open)}

    def _narrow(self, known: KnownSum) -> bool:
        """What the ends of the others leave of each count of a sum; whether anything was left out."""
        smallest, largest, endless_below, endless_above = 0, 0, 0, 0
        for cell, sign in zip(known.cells, known.signs, strict=True):
            low, high = self._lows[cell], self._highs[cell]
            if sign > 0:
                smallest += low
                largest, endless_above = largest + (high or 0), endless_above + (high is None)
            else:
                largest -= low
                smallest, endless_below = smallest - (high or 0), endless_below + (high is None)
        if (known.high is not None and not endless_below and smallest > known.high) or (
            not endless_above and largest < known.low
        ):
            raise InvalidInput(CONTRADICTION)
        changed = False
        for cell, sign in zip(known.cells, known.signs, strict=True):
            low, high = self._lows[cell], self._highs[cell]
            own_low, own_high = (low, high) if sign > 0 else (None if high is None else -high, -low)
            if known.high is not None and endless_below == (own_low is None):
                top = known.high - (smallest - (own_low or 0))
                changed |= self._cut(cell, sign, top, upper=True)
            if endless_above == (own_high is None):
                changed |= self._cut(cell, sign, known.low - (largest - (own_high or 0)), upper=False)
        return changed

    def _cut(self, cell: int, sign: int, end: int, *, upper: bool) -> bool:
        low, high = self._lows[cell], self._highs[cell]
        if upper == (sign > 0):
            top = sign * end
            if high is None or top < high:
                self._highs[cell] = high = top
                changed = True
            else:
                changed = False
        else:
            changed = sign * end > low
            self._lows[cell] = low = max(low, sign * end)
        if high is not None and low > high:
            raise InvalidInput(CONTRADICTION)
        return changed

    def _left(self, known: KnownSum) -> KnownSum | None:
        """The sum over the cells that are open still, by their places among these."""
        cells, signs, fixed = [], [], 0
        for cell, sign in zip(known.cells, known.signs, strict=True):
            if self._lows[cell] == self._highs[cell]:
                fixed += sign * self._lows[cell]
            else:
                cells.append(self._places[cell])
                signs.append(sign)
        high = None if known.high is None else known.high - fixed
        if not cells:
            if known.low > fixed or (high is not None and high < 0):
                raise InvalidInput(CONTRADICTION)
            return None
        return KnownSum(cells, signs, known.low - fixed, high)

    @cached_property
    def _matrix(self) -> csr_array:
        rows = np.repeat(np.arange(len(self._sums)), [len(one.cells) for one in self._sums])
        columns = np.array([cell for one in self._sums for cell in one.cells], dtype=np.int64)
        values = np.array([sign for one in self._sums for sign in one.signs], dtype=np.int64)
        return csr_array((values, (rows, columns)), shape=(len(self._sums), len(self._open)))

    @cached_property
    def _ends_of_sums(self) -> tuple[Whole, Whole]:
        lows = np.array([one.low for one in self._sums], dtype=np.int64)
        return lows, np.array([_BEYOND if one.high is None else one.high for one in self._sums], np.int64)

    @cached_property
    def _ends_of_cells(self) -> tuple[Whole, Whole]:
        highs = [self._highs[cell] for cell in self._open]
        lows = np.array([self._lows[cell] for cell in self._open], dtype=np.int64)
        return lows, np.array([_BEYOND if high is None else high for high in highs], dtype=np.int64)

    @cached_property
    def _programme(self) -> dict[str, Any]:
        lows, highs = self._ends_of_sums
        exact = lows == highs
        above = ~exact & (highs < _BEYOND)
        own_lows, own_highs = self._ends_of_cells
        tops = np.where(own_highs < _BEYOND, own_highs, np.inf)
        matrix = self._matrix.astype(np.float64)
        upper = [matrix[above], -matrix[~exact]]
        ends = np.concatenate([highs[above], -lows[~exact]]).astype(np.float64)
        return {
            "A_eq": matrix[exact] if exact.any() else None,
            "b_eq": lows[exact] if exact.any() else None,
            "A_ub": vstack(upper).tocsr() if len(ends) else None,
            "b_ub": ends if len(ends) else None,
            "bounds": np.stack([own_lows, tops], axis=1),
        }

    def _end(self, at: int, sign: int) -> int | None:
        """The least value (sign 1) or the largest (−1) of an open count, as far as it is proved."""
        cell = self._open[at]
        rough = self._lows[cell] if sign > 0 else self._highs[cell]
        if rough is not None and (self._least[at] if sign > 0 else self._most[at]) == rough:
            return rough
        cost = np.zeros(len(self._open))
        cost[at] = sign
        solved = linprog(cost, method="highs-ds", **self._programme)
        if solved.status == _INFEASIBLE:
            raise InvalidInput(CONTRADICTION)
        if solved.status != 0:
            return rough
        self._keep(solved.x)
        lows, highs = self._ends_of_sums
        exact = lows == highs
        multipliers = np.zeros(len(self._sums))
        if exact.any():
            multipliers[exact] = solved.eqlin.marginals
        if not exact.all():
            above = ~exact & (highs < _BEYOND)
            count = int(above.sum())
            multipliers[above] += solved.ineqlin.marginals[:count]
            multipliers[~exact] -= solved.ineqlin.marginals[count:]
        proved = self._proved(multipliers, at, sign, math.ceil(solved.fun - _NEAR))
        if proved is None:
            return rough
        if sign > 0:
            return max(proved, self._lows[cell])
        return -proved if rough is None else min(-proved, rough)

    def _proved(self, multipliers: NDArray[np.float64], at: int, sign: int, enough: int) -> int | None:
        """A whole number that sign·count is not below: for any multipliers y it is at least the sum of the
        least values of y·sum, and of what is left of sign·count, each between its own ends."""
        best: int | None = None
        for parts in _PARTS:
            found = self._bound([Fraction(round(float(one) * parts), parts) for one in multipliers], at, sign)
            if found is not None and (best is None or math.ceil(found) > best):
                best = math.ceil(found)
            if best is not None and best >= enough:
                break
        return best

    def _bound(self, shares: Sequence[Fraction], at: int, sign: int) -> Fraction | None:
        total, left = Fraction(0), {at: Fraction(sign)}
        for share, known in zip(shares, self._sums, strict=True):
            if share:
                end = known.low if share > 0 else known.high
                if end is None:
                    return None
                total += share * end
                for cell, own in zip(known.cells, known.signs, strict=True):
                    left[cell] = left.get(cell, Fraction(0)) - own * share
        for place, rest in left.items():
            if rest:
                end = self._lows[self._open[place]] if rest > 0 else self._highs[self._open[place]]
                if end is None:
                    return None
                total += rest * end
        return total

    def _keep(self, found: NDArray[np.float64]) -> bool:
        """Whether these are counts that fit, checked in whole numbers; if so they are remembered."""
        whole = np.rint(found).astype(np.int64)
        (lows, highs), (least, most) = self._ends_of_sums, self._ends_of_cells
        sums = self._matrix @ whole
        if not ((whole >= least).all() and (whole <= most).all()):
            return False
        if not ((sums >= lows).all() and (sums <= highs).all()):
            return False
        counts, self._seen = whole.tolist(), True
        self._least = list(map(min, self._least, counts))
        self._most = list(map(max, self._most, counts))
        return True

    def _attain(self, at: int, low: int | None, high: int | None) -> None:
        """Looks for a table of whole numbers that has each end, unless one was seen that has it."""
        for end, seen in ((low, self._least), (high, self._most)):
            found = end is None or seen[at] == end
            if end is not None and not (found or any(self._corner(at, end, s) for s in range(_CORNERS))):
                self._look(at, end)

    def _corner(self, at: int, end: int, seed: int) -> bool:
        """A corner at random of all tables with this end: often one of whole numbers, and soon found."""
        bounds = self._programme["bounds"].copy()
        bounds[at] = end
        cost = np.random.default_rng(seed).random(len(self._open)) + 1e-3
        solved = linprog(cost, method="highs-ds", **{**self._programme, "bounds": bounds})
        return solved.status == 0 and self._keep(solved.x)

    def _look(self, at: int | None = None, end: int = 0) -> None:
        """A table of whole numbers, in which a count is this one, by branching."""
        (lows, highs), (least, most) = self._ends_of_sums, self._ends_of_cells
        own_lows, own_highs = least.astype(np.float64), np.where(most < _BEYOND, most, np.inf)
        if at is not None:
            own_lows[at] = own_highs[at] = end
        tops = np.where(highs < _BEYOND, highs, np.inf)
        found = milp(
            np.zeros(len(self._open)),
            constraints=LinearConstraint(self._matrix.astype(np.float64), lows.astype(np.float64), tops),
            integrality=np.ones(len(self._open)),
            bounds=Bounds(own_lows, own_highs),
            options={"node_limit": _NODES},
        )
        if found.x is not None:
            self._keep(found.x)
