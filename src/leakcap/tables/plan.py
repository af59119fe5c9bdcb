"""The least noise for margins that are released together, in closed form.

Take for each table A of the closure the part of it that no margin of A tells: the residual C_A·t_A, t_A the
counts of A, C_A = ⊗(I − 11ᵀ/n_i). All margins are sums of residuals, and residuals of different tables are
orthogonal. With Gaussian noise of variance σ_A²·C_A on each

- one row more costs ρ = Σ_A p_A/(2σ_A²), p_A = ∏(n_i − 1)/n_i: the squared length of a column of C_A;
- the weighted squared errors of all cells add up to Σ_A v_A σ_A²,
  v_A = ∏_{i∈A}(n_i − 1)·∏_{i∈A} n_i·m_A, m_A = Σ_{B⊇A} w_B/∏_{i∈B} n_i.

By Cauchy and Schwarz the least of it at a given ρ is T²/(2ρ), T = Σ_A √(v_A p_A) = Σ_A ∏(n_i − 1)·√m_A, where
ρ is divided among the tables as T is. T² is also the square of the sum of the singular values of the
workload over the number of cells of the full table, below which no linear mechanism with Gaussian noise can
go (Li & Miklau 2013): this is the best of all of them, and not only of residuals.

The noise itself is drawn on integers: see `docs/theory/tables.md`. All numbers of a plan are exact rationals,
computed by integers, so that every machine makes the same plan.

Source: Xiao, He, Zhang & Kifer 2023 (ResidualPlanner); Li & Miklau 2013, theorem 3 for the lower bound;
McKenna, Miklau, Hay & Machanavajjhala 2018 (HDMM) for weighted margins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, TypeAlias

from leakcap.errors import require
from leakcap.numeric import float_up
from leakcap.numeric.rounding import floor_log2
from leakcap.sampling.rational import printed
from leakcap.tables.nested.bound import least_error
from leakcap.tables.nested.division import rho_shares
from leakcap.tables.nested.level import Level
from leakcap.tables.ordered.basis import root_down
from leakcap.tables.ordered.protocol import Basis
from leakcap.tables.workload import Places, Workload, margins_of_places

__all__ = ["LEAST_VARIANCE", "MOST_VARIANCE", "ResidualPlan", "reach_squared", "root_up", "variance_up"]

_FIXED = 256
"""Bits behind the point of m_A."""
_DIGITS = 12
"""Binary digits of a variance: so few that the sampler's numbers are short; 2⁻¹¹ of it are lost at most."""
LEAST_VARIANCE = Fraction(16)
"""From this variance on discrete Gaussian noise is Gaussian noise on integers, but for 10⁻¹³⁰."""
MOST_VARIANCE = Fraction(1 << 80)
_ENUMERATED = 12
"""So many columns have 4,096 ways in which two rows can differ: all of them are looked at."""


@dataclass(frozen=True)
class ResidualPlan:
    """Noise for every table of a workload's closure: `variances` of the integers of `residual_integers`.

    A unit has at most `rows` rows. With `replace` neighbours differ in the rows of one unit, else in its
    presence; the rows of a unit may be such that none counts.

    >>> plan = ResidualPlan.of(Workload.of_ways({"sex": 2, "age": 5, "ward": 3}, 2), 0.02)
    >>> plan.rho <= Fraction(1, 50), float(plan.excess) < 1.001
    (True, True)
    >>> round(plan.root_mean_square, 3)
    7.041
    """

    workload: Workload
    variances: Mapping[Places, Fraction]
    rows: int
    replace: bool

    @classmethod
    def of(cls, workload: Workload, rho: float | Fraction, *, rows: int = 1, replace: bool = False) -> Self:
        """The plan with the least weighted squared error at this ρ; see `excess` for how close it is.

        Between contents (`replace`) ρ is divided as between presence and absence, and all noise is scaled to
        the farthest that two contents can be apart. Raises `InvalidParameter`.
        """
        owner = "ResidualPlan"
        number = isinstance(rho, int | float | Fraction) and not isinstance(rho, bool)
        require(number and 0 < rho < math.inf, "rho", owner, "be positive and finite", rho)
        whole = isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1
        require(whole, "rows", owner, "be a whole number from 1 on", rows)
        return cls.of_residuals(workload, workload.closure, printed(rho), rows, replace)

    @classmethod
    def of_residuals(
        cls, workload: Workload, tables: Sequence[Places], rho: Fraction, rows: int, replace: bool
    ) -> Self:
        """The same where only these tables of the closure get noise, and the others are not heard of.

        Raises `InvalidParameter`.
        """
        owner = "ResidualPlan"
        heard = [table for table in tables if reach_squared(workload, table)]
        roots = (
            rho_shares(workload, heard)
            if workload.within
            else _roots(workload, heard, _own_measures(workload))
        )
        total = sum(roots.values())
        offered = rho / rows**2
        # Shares of ρ as T is divided, where a unit is present or not.
        wanted = {
            table: Fraction(reach_squared(workload, table) * total, 2 * roots[table]) / offered
            for table in heard
        }
        if replace:
            own = cls(workload, wanted, 1, True)
            grown = own.rho / offered
            wanted = {table: variance * grown for table, variance in wanted.items()}
        variances = {table: variance_up(max(variance, LEAST_VARIANCE)) for table, variance in wanted.items()}
        require(
            max(variances.values()) <= MOST_VARIANCE,
            "rho",
            owner,
            "be large enough that noise can be drawn for it",
            float(rho),
            "Ask for fewer or smaller tables.",
        )
        return cls(workload, variances, rows, replace)

    @cached_property
    def rho(self) -> Fraction:
        """The ρ of zero-concentrated privacy that this noise costs: exact between presence and absence, and
        between contents of up to twelve columns; of more columns no less, and of nested ones whose keys have
        unlike numbers of keys within them.
        """
        return self.rows**2 * self.squared_distance / 2

    @cached_property
    def squared_distance(self) -> Fraction:
        """The largest Σ ‖difference‖²/variance over the tables that one row makes, or its replacement."""
        alone = self._sum({table: reach_squared(self.workload, table) for table in self.variances})
        return max(alone, self._apart()) if self.replace else alone

    def _sum(self, numerators: Mapping[Places, int]) -> Fraction:
        """Σ numerator/variance, the variances with the same denominators first."""
        found: dict[Fraction, int] = {}
        for table, variance in self.variances.items():
            found[variance] = found.get(variance, 0) + numerators[table]
        return sum((Fraction(top) / variance for variance, top in found.items()), Fraction(0))

    def _apart(self) -> Fraction:
        """Between two rows: at most 2(Δ_A² − ∏_{same} n(n−1)·∏_{unlike}(−n)), over the ways to be unlike.

        Of a nested column the product is that of siblings, or 0 of keys with unlike parents. Of an ordered
        column columns of Ξ differ in length, and two of them have one of several products. What stands here
        is linear in the product of each column by itself, so no more than with the largest or the least.
        """
        bases = self.workload.bases
        used = sorted({place for table in self.variances for place in table})
        choices = [self._unlike(line) for line in self._lines(used)]
        if math.prod(map(len, choices)) > 1 << _ENUMERATED:
            return 2 * self._sum(
                {
                    table: reach_squared(self.workload, table)
                    - self.workload.grain(table) ** 2 * _least_product([bases[i] for i in table])
                    for table in self.variances
                }
            )
        common = math.lcm(*(variance.numerator for variance in self.variances.values()))
        parts = [
            (table, reach_squared(self.workload, table), (common / variance).numerator)
            for table, variance in self.variances.items()
        ]
        farthest = 0
        for chosen in itertools.product(*choices):
            factor = {place: product for own in chosen for place, product in own.items()}
            apart = sum(
                weight
                * (reach - self.workload.grain(table) ** 2 * math.prod(factor[place] for place in table))
                for table, reach, weight in parts
            )
            farthest = max(farthest, apart)
        return Fraction(2 * farthest, common)

    def _lines(self, used: Sequence[int]) -> list[tuple[int, ...]]:
        """The columns that are used, each chain of nested ones together."""
        down = [self.workload.chains.down_to(place) for place in used]
        return [line for line in down if not any(line[-1] in other[:-1] for other in down)]

    def _unlike(self, line: tuple[int, ...]) -> list[dict[int, int]]:
        """By column of a chain the product of two columns of Ξ, for each way in which two keys can be alike:
        all; or down to some column, in which they are siblings, and below which they have no parent in
        common."""
        bases = self.workload.bases
        found = [{place: bases[place].reach for place in line}]
        for at, place in enumerate(line):
            level = self.workload.chains.levels.get(place)
            ends = {bases[place].least, bases[place].least if level is None else level.most_apart}
            for product in sorted(ends):
                above = {one: bases[one].reach for one in line[:at]}
                found.append({**above, place: product, **dict.fromkeys(line[at + 1 :], 0)})
        return found

    def noise(self, table: Places) -> Fraction:
        """The variance of what is released of a table, in units of its residual."""
        return self.variances[table] / self.workload.grain(table) ** 2

    def parts(self, table: Places) -> Iterator[tuple[Places, Fraction]]:
        """The tables whose noise reaches a cell of `table`, and each one's part of its variance, at most."""
        for part in self.workload.margins(table):
            if part in self.variances:
                ways = self.workload.ways(table, part)
                yield part, math.prod((way.most_square for way in ways), start=self.noise(part))

    def variance(self, table: Places) -> Fraction:
        """The variance of one cell of a table, at most; all cells have the same, but for ordered and nested
        columns.

        >>> plan = ResidualPlan.of(Workload.of({"sex": 2}, [["sex"]]), 0.02)
        >>> [round(float(plan.variance(table)), 1) for table in plan.workload.closure]
        [50.0, 25.0]
        """
        return sum((variance for _, variance in self.parts(table)), Fraction(0))

    @cached_property
    def error(self) -> Fraction:
        """The expected weighted squared error, over all that is wanted of the tables that were asked for."""
        found = Fraction(0)
        for table, weight in self.workload.weights.items():
            for part in self.workload.margins(table):
                if part in self.variances:
                    own = math.prod((way.error for way in self.workload.ways(table, part)), start=Fraction(1))
                    found += weight * self.noise(part) * own
        return found

    @cached_property
    def optimum(self) -> Fraction:
        """No unbiased linear mechanism with Gaussian noise that costs the ρ of this plan has a smaller
        weighted squared error.

        Between presence and absence by the singular values, with weights where columns are ordered;
        between contents, of which one is that no row counts, also by the mean over all pairs of rows, from
        which the total hides. Source: Li & Miklau 2013, theorem 3; `docs/theory/ranges.md`.
        """
        if self.workload.within:
            square = least_error(self.workload, replace=self.replace)
            return self.rows**2 * square / (2 * self.rho)
        heard = [one for one in self.workload.closure if reach_squared(self.workload, one)]
        roots = _roots(self.workload, heard, _least_measures(self.workload))
        square = Fraction(sum(roots.values()) ** 2, 1 << _FIXED)
        if self.replace:
            unlike = sum(root for table, root in roots.items() if table)
            square = max(square, 2 * Fraction(unlike**2, 1 << _FIXED))
        if len(self.workload.weights) == 1:
            # Of one table alone the best strategy is a product.
            ((table, weight),) = self.workload.weights.items()
            alone = math.prod((self.workload.plain_bases[i].least_alone for i in table), start=weight)
            square = max(square, alone)
        return self.rows**2 * square / (2 * self.rho)

    @property
    def excess(self) -> Fraction:
        """How many times the least possible the weighted squared error is, at most; 1 is the optimum."""
        return self.error / self.optimum

    @property
    def root_mean_square(self) -> float:
        """The root of the weighted mean squared error of all that is wanted, rounded up."""
        counts = sum(weight * self.workload.answers_of(one) for one, weight in self.workload.weights.items())
        return root_up(self.error / counts)


def reach_squared(workload: Workload, table: Places) -> int:
    """The squared length by which one row moves the numbers of a residual table, at most: ∏ n(n − 1) for
    cells.

    >>> reach_squared(Workload.of_ways({"sex": 2, "age": 5}, 2), (0, 1))
    40
    """
    return workload.grain(table) ** 2 * math.prod(workload.bases[place].reach for place in table)


_Measures: TypeAlias = Sequence[tuple[Fraction, Fraction]]


def _own_measures(workload: Workload) -> _Measures:
    """For each column Σ(wᵀu)², and √(Σ‖wᵀL‖²·Δ²/Σ(wᵀu)²): 1/n and n − 1 for cells."""
    return [
        (one.spread_error, root_down(one.rest_error * one.reach / one.spread_error))
        for one in workload.plain_bases
    ]


def _least_measures(workload: Workload) -> _Measures:
    """The same of the least that any strategy errs by, from below."""
    return [(one.least_total, root_down(one.least_rest / one.least_total)) for one in workload.plain_bases]


def _roots(workload: Workload, tables: Sequence[Places], measures: _Measures) -> dict[Places, int]:
    """∏(n − 1)·√m_A for each table, in steps of 2^−128, rounded down: never above what stands in T."""
    masses = dict.fromkeys(workload.closure, 0)
    for table, weight in workload.weights.items():
        mass = math.floor(
            weight * (1 << _FIXED) * math.prod((measures[i][0] for i in table), start=Fraction(1))
        )
        for part in margins_of_places(table):
            masses[part] += mass
    return {
        table: math.floor(
            math.prod((measures[i][1] for i in table), start=Fraction(1)) * math.isqrt(masses[table])
        )
        for table in tables
    }


def _least_product(bases: Sequence[Basis | Level]) -> int:
    """The least product of two unlike columns of ⊗Ξ, over the ways to be unlike somewhere, at least.

    In each column one of them is the reach or `least`, for it is linear in each; of cells that is negative
    where one column is unlike, and that the one with the fewest keys.
    """
    low, high = 1, 1
    for one in bases:
        ends = [end * factor for end in (low, high) for factor in (one.least, one.reach)]
        low, high = min(ends), max(ends)
    return low if bases else 1


def root_up(square: Fraction) -> float:
    """No less than the root, and more by 2⁻⁵⁹ at most before it is rounded up to a double.

    >>> root_up(Fraction(9)), Fraction(root_up(Fraction(2))) ** 2 > 2
    (3.0000000000000004, True)
    """
    return float_up(Fraction(math.isqrt(math.ceil(square * 4**60)) + 1, 2**60))


def variance_up(variance: Fraction) -> Fraction:
    """The least number of twelve binary digits that is not below."""
    step = Fraction(2) ** (floor_log2(variance) + 1 - _DIGITS)
    return math.ceil(variance / step) * step
