"""Covariance and correlation matrices of several columns, from one reading of the table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from leakcap.arrays import np
from leakcap.bound import Bound
from leakcap.ledger.curve import ORDERS
from leakcap.numeric import float_up
from leakcap.release.columns.cells import Cells
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.variance import variance_grid
from leakcap.release.measurements.aggregates import Aggregate, Joint
from leakcap.release.measurements.measurement import NoisyMeasurement, measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers, Labels, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers
from leakcap.release.numbers.laws import bounded_sums, noise_sums
from leakcap.release.numbers.moments import NoisyCounts, NoisySums, Product, correlation_ends, covariance_ends
from leakcap.release.numbers.products import (
    as_correlations,
    joint_diameter,
    joint_norm,
    joint_squared,
    nearest_positive,
)
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, assumed_rows, require

__all__ = ["Correlation", "Covariance", "JointMeasurement"]

_MOST_COLUMNS = 20
Pair = tuple[int, int]
Matrix: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float64]]"


@dataclass(frozen=True, kw_only=True)
class JointMeasurement(NoisyMeasurement):
    """One of several noisy numbers whose sensitivity is known together: its share of what they cost."""

    share: Fraction
    share_contents: Fraction
    places: tuple[int, ...]

    @property
    def loss(self) -> Fraction | None:
        """The share of the ε between neighbours that all of them cost."""
        return self.share if self.pure else None

    @property
    def loss_contents(self) -> Fraction | None:
        """The share of the ε between any two contents of one unit's data."""
        return self.share_contents if self.pure else None

    @property
    def event(self) -> dict[str, Any] | None:
        """That of its own noise; of Gaussian noise its share."""
        return super().event if self.pure else {"name": "ZCDpEvent", "rho": self.share}

    def curve(self) -> tuple[float, ...]:
        """That of its own noise, which no other distance of this number exceeds; of Gaussian noise its
        share."""
        if self.pure:
            return super().curve()
        return tuple(float_up(Fraction(order) * self.share) for order in ORDERS)

    def level(self, order: float) -> float:
        """The share of what any two contents differ by."""
        return super().level(order) if self.pure else float_up(Fraction(order) * self.share_contents)

    def capacity(self) -> Bound:
        """Its own, which a share says nothing of: what this number alone tells may be more than that."""
        if not self.pure:
            # The divergence from what a neighbour's data, or none, would give.
            return Bound(0.0, float_up(self.share), method="divergence from noise about the middle")
        known = {field.name: getattr(self, field.name) for field in fields_of(NoisyMeasurement)}
        return NoisyMeasurement(**known).capacity()


class Covariance(Statistic):
    """The covariance of each pair of columns and the variance of each, over rows that have all of them."""

    name: ClassVar[str] = "covariance"
    sql_of_two: ClassVar[tuple[str, ...]] = ("COVAR_POP",)
    fields: ClassVar[frozenset[str]] = frozenset({"columns"})
    a_row_a_group: ClassVar[bool] = False
    adds_up: ClassVar[bool] = True

    def check(self, query: QueryFields) -> None:
        """Two columns at least."""
        few = query.columns is not None and 2 <= len(query.columns) <= _MOST_COLUMNS
        require(few, "columns", query.name, f"name from 2 to {_MOST_COLUMNS} columns")
        clash = {"column", "with"} & set(query.by)
        require(not clash, "by", query.name, "not name `column` or `with`, which the answer's rows have")

    def post_processing(self, query: QueryFields) -> str | None:
        """The projection."""
        return "moved to the nearest matrix without negative eigenvalues"

    def plan(self, asked: QueryContext) -> Plan:
        """Rows, sums, products and squares, whose noise is scaled by what one row moves of all together."""
        names, policy = asked.query.columns or (), asked.policy
        d, m = len(names), policy.rows_per_unit
        filled = all(policy.columns[n].fill is not None for n in names if n in policy.columns)
        public = policy.neighbours == "replace-one" and m == 1
        all_units_counted = public and not (asked.condition or asked.query.by or asked.query.join) and filled
        counted = not all_units_counted
        contents = joint_diameter(d, m, asked.cells.size, counted=counted)
        norm = contents if policy.neighbours == "replace-one" else joint_norm(d, m, counted=counted)
        fine = asked.offer.fineness
        grids = [variance_grid(asked.bounded(n)[1], rows=norm, epsilon=fine) for n in names]
        halves = [max(grid.high - _centre(grid), _centre(grid) - grid.low) for grid in grids]
        values = [
            grid.tree(n, asked.bounded(n)[1], policy.columns[n].fill, centre=_centre(grid))
            for n, grid in zip(names, grids, strict=True)
        ]
        places: list[tuple[int, ...]] = [
            *([()] if counted else []),
            *((i,) for i in range(d)),
            *itertools.combinations_with_replacement(range(d), 2),
        ]
        squared = joint_squared(d, m, counted=counted)
        joint = _Joint(
            norm, contents, 4 * squared if asked.offer.replace else squared, 4 * squared, len(places)
        )
        parts = [self._part(asked, place, grids, halves, joint) for place in places]
        # Scales may be rounded up, some further than others: all count as the one that loses most.
        share = max(part.share for part in parts)
        apart = Fraction(contents, norm) if parts[0].pure else Fraction(joint.contents_squared, joint.squared)
        parts = [replace(part, share=share, share_contents=share * apart) for part in parts]
        exact = policy.rows if all_units_counted else None
        return asked.plan(parts, values=values, grid=grids[0], exact_count=exact)

    def _part(
        self,
        asked: QueryContext,
        places: tuple[int, ...],
        grids: Sequence[Grid],
        halves: Sequence[int],
        joint: _Joint,
    ) -> JointMeasurement:
        """The noise of one number: its own unit times what all together move, in units, over ε."""
        policy = asked.policy
        unit, step = 1, Fraction(1)
        for place in places:
            unit, step = unit * halves[place], step * grids[place].step
        square = len(places) == 2 and places[0] == places[1]
        role = ("count", "sum", "squares" if square else "products")[len(places)]
        # Values pass through the engine before their centre is taken off, as the grid makes them.
        raw = (
            max(abs(end) for place in places for end in (grids[place].low, grids[place].high))
            if places
            else 1
        )
        aggregate: Aggregate = (
            Joint(places, max(unit, raw), less=unit, sign=-1)
            if square
            else Joint(places, max(unit, raw), less=0 if places else 1)
        )
        low = 0 if square else -unit if places else 1
        contribution = Contribution(low, unit, policy.rows_per_unit, asked.cells.size)
        one = measured(role, aggregate, contribution, asked.offer / joint.parts, unit=step, covers=False)
        noise = asked.offer.noise(unit * joint.steps, Fraction(unit**2 * joint.squared))
        known = {field.name: getattr(one, field.name) for field in fields_of(NoisyMeasurement)} | {
            "noise": noise
        }
        # The width may be rounded up: the loss is what the noise that is used gives.
        loss = Fraction(unit * joint.steps) / noise.width if one.pure else _rho(unit, joint, noise.width)
        return JointMeasurement(**known, share=loss / joint.parts, share_contents=Fraction(0), places=places)

    def labels_of(self, groups: Cells, plan: Plan) -> Labels:
        """The keys, and which two columns it is."""
        names = plan.query.columns or ()
        pairs = [{"column": names[i], "with": names[j]} for i, j in self.pairs(len(names))]
        return nested(groups.labels(), groups.size, rows_listed(pairs), len(pairs))

    def pairs(self, columns: int) -> list[Pair]:
        """The upper triangle, diagonal included.

        >>> Covariance().pairs(2)
        [(0, 0), (0, 1), (1, 1)]
        """
        return list(itertools.combinations_with_replacement(range(columns), 2))

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The matrix of each group, and the interval of each entry for itself."""
        table = _Table(plan, noisy)
        pairs = self.pairs(table.columns)
        first, second = np.array(pairs).T
        values = np.stack([self.matrix(table, cell)[first, second] for cell in range(table.cells)])
        ends = [self.ends(table, i, j) for i, j in pairs]
        low, high = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
        # The projection may have moved a value.
        low, high = np.minimum(low, values), np.maximum(high, values)
        return Answers(values.ravel(), low.ravel(), high.ravel())

    def matrix(self, table: _Table, cell: int) -> Matrix:
        """The nearest covariance matrix."""
        d = table.columns
        plain = [[float(table.covariance(min(i, j), max(i, j), cell)) for j in range(d)] for i in range(d)]
        return nearest_positive(plain)

    def ends(self, table: _Table, i: int, j: int) -> tuple[Floats, Floats]:
        """The intervals of one entry."""
        return table.covariances(i, j)

    def expected(self, plan: Plan) -> Expected:
        """The widest half-width of an interval, where the columns fill their bounds evenly."""
        rows = plan.exact_count or assumed_rows(plan)
        table = _Table(plan, [exact_integers([_typical(part, rows)]) for part in plan.parts])
        widths = [self.ends(table, i, j) for i, j in self.pairs(table.columns)]
        error = max(float(high[0] - low[0]) / 2 for low, high in widths)
        remark = f"for the worst entry, where {rows:,} rows count and fill their bounds evenly"
        return Expected(error, None if plan.exact_count else rows, remark=remark)


class Correlation(Covariance):
    """The correlation of each pair of columns, over rows that have all of them."""

    name: ClassVar[str] = "correlation"
    sql_of_two: ClassVar[tuple[str, ...]] = ("CORR",)

    def pairs(self, columns: int) -> list[Pair]:
        """The upper triangle without its diagonal, which is 1."""
        return list(itertools.combinations(range(columns), 2))

    def matrix(self, table: _Table, cell: int) -> Matrix:
        """The correlations of the nearest covariance matrix."""
        return as_correlations(super().matrix(table, cell))

    def ends(self, table: _Table, i: int, j: int) -> tuple[Floats, Floats]:
        """Of the covariance over both deviations, six noises together."""
        return table.correlations(i, j)


class _Table:
    """The noisy integers of all groups."""

    def __init__(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> None:
        parts = [part for part in plan.parts if isinstance(part, JointMeasurement)]
        self.columns = len(plan.query.columns or ())
        self.cells = len(noisy[0])
        self._parts = {part.places: part for part in parts}
        self._numbers = {part.places: one for part, one in zip(parts, noisy, strict=True)}
        self._exact = plan.exact_count
        self._half = [self._parts[(i, i)].contribution.high for i in range(self.columns)]
        self._step = [self._parts[(i,)].unit for i in range(self.columns)]
        self._reach = [self._parts[(i,)].contribution.high for i in range(self.columns)]
        noises, added = [part.noise for part in parts], parts[0].added
        sums = noise_sums(noises, added) or bounded_sums(noises, added)
        self._scale = {part.places: scale for part, scale in zip(parts, sums.scales, strict=True)}
        self._beyond, law = sums.beyond, sums.law
        count = np.full(self.cells, float(self._exact or 0))
        self._rows = (
            NoisyCounts(count, 0.0, law)
            if self._exact is not None
            else NoisyCounts(doubles(self._numbers[()]), self._scale[()], law)
        )
        self._sums = [self._column(i) for i in range(self.columns)]

    def _column(self, i: int) -> NoisySums:
        reach = float(self._reach[i])
        return NoisySums(doubles(self._numbers[(i,)]), self._scale[(i,)], -reach, reach)

    def _product(self, i: int, j: int) -> Product:
        base, sign = (float(self._half[i]), -1.0) if i == j else (0.0, 1.0)
        return Product(
            doubles(self._numbers[(i, j)]), self._scale[(i, j)], self._sums[i], self._sums[j], base, sign
        )

    def _rounded(self, i: int, j: int) -> float:
        """Half a step for each value: |cov| moves by half a step of one times the other's deviation."""
        return (self._reach[i] + self._reach[j]) / 2 + 0.25

    def covariance(self, i: int, j: int, cell: int) -> Fraction:
        """From the noisy numbers of one group themselves."""
        count = self._exact if self._exact is not None else int(self._numbers[()][cell])
        n, number = max(count, 1), int(self._numbers[(i, j)][cell])
        product = self._half[i] - Fraction(number, n) if i == j else Fraction(number, n)
        sums = int(self._numbers[(i,)][cell]) * int(self._numbers[(j,)][cell])
        return (product - Fraction(sums, n * n)) * self._step[i] * self._step[j]

    def covariances(self, i: int, j: int) -> tuple[Floats, Floats]:
        """The ends of each group's interval, within what the bounds allow, and what the grid rounds."""
        most = float(self._reach[i]) * float(self._reach[j])
        low, high = covariance_ends(
            self._product(i, j), self._rows, (0.0 if i == j else -most, most), beyond=self._beyond
        )
        slack = self._rounded(i, j)
        low, high = low - slack, high + slack
        unit = float(self._step[i]) * float(self._step[j])
        low, high = (np.maximum(low, 0.0) if i == j else low) * unit, high * unit
        return low - np.abs(low) * 1e-15, high + np.abs(high) * 1e-15

    def correlations(self, i: int, j: int) -> tuple[Floats, Floats]:
        """The ends of each group's interval."""
        rounded = (self._rounded(i, j), self._rounded(i, i), self._rounded(j, j))
        squares = (self._product(i, i), self._product(j, j))
        return correlation_ends(self._product(i, j), squares, self._rows, rounded, beyond=self._beyond)


@dataclass(frozen=True)
class _Joint:
    """What all numbers together move between neighbours, each in units of its own: in L1, in L2 squared, the
    same between contents, and how many numbers there are."""

    steps: int
    contents: int
    squared: int
    contents_squared: int
    parts: int


def _rho(unit: int, joint: _Joint, deviation: Fraction) -> Fraction:
    """Δ₂²/(2σ²) of all numbers together, whose deviations are in proportion to their units."""
    return Fraction(unit**2 * joint.squared) / (2 * deviation**2)


def _centre(grid: Grid) -> int:
    return (grid.low + grid.high) // 2


def _typical(part: object, rows: int) -> int:
    """What a column that fills its bounds evenly adds up to: a third of the square, none of a product."""
    assert isinstance(part, NoisyMeasurement)
    if part.role == "count":
        return rows
    return rows * part.contribution.high * 2 // 3 if part.role == "squares" else 0
