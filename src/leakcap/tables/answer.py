"""What was released, and every table that follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Charge, Spend
from leakcap.numeric.rounding import float_down, float_up
from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Row, Rows
from leakcap.release.results.tables import arrow_of, pandas_of, polars_of
from leakcap.tables.charge import charge_of_tables
from leakcap.tables.plan import ResidualPlan, root_up
from leakcap.tables.question import PlannedTables
from leakcap.tables.residuals import Integers, covariance, margin_of
from leakcap.tables.widths import half_of, inflated, rounded_by, tail_of, variance_of, widths_of
from leakcap.tables.workload import Places

__all__ = [
    "LARGEST_WEIGHT",
    "WEIGHT_RULE",
    "Estimate",
    "ReleasedTable",
    "ReleasedTables",
    "error_of_cells",
    "half_width",
]

LARGEST_WEIGHT = 1e100
"""Of `sum_of`: with it every sum and its square are far from where doubles end."""

WEIGHT_RULE = "be a finite number of at most 1e100 in size"


@dataclass(frozen=True)
class Estimate:
    """An estimated count, and an interval that holds the exact one with probability 95 % or more."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ReleasedTable:
    """A table: for each cell its keys and an estimate; `half_width` is that of every cell's interval, or
    of the widest where they are unlike, which `half_widths` has.

    `values` has an axis for each column of `columns`, in the order of the policy's keys. A cell of a
    `cumulative` column stands for all keys from the first one to its own. Columns that lie within each other
    have one axis together, whose `keys` are tuples of theirs: the pairs that can occur.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...] | tuple[tuple[Key, ...], ...], ...]
    values: NDArray[np.float64]
    half_width: float
    standard_deviation: float
    """At most, in each cell."""
    half_widths: NDArray[np.float64] | None = None
    cumulative: tuple[str, ...] = ()

    @property
    def cells(self) -> Iterator[tuple[tuple[Key, ...], Estimate]]:
        """Each cell's keys and its estimate."""
        for place in np.ndindex(self.values.shape):
            value = float(self.values[place])
            # Rounded outward: a value is a double, the width another.
            width = self.half_width if self.half_widths is None else float(self.half_widths[place])
            low = float_down(Fraction(value) - Fraction(width))
            high = float_up(Fraction(value) + Fraction(width))
            found = (own[i] for own, i in zip(self.keys, place, strict=True))
            keys = tuple(key for one in found for key in (one if isinstance(one, tuple) else (one,)))
            yield keys, Estimate(value, low, high)

    @property
    def drowned(self) -> NDArray[np.bool_]:
        """For each of the `rows` whether the noise is as large as the count, so that there may be nobody."""
        return self.rows.answers.drowned()

    @property
    def rows(self) -> Rows:
        """The cells as rows, as other answers have them: keys by column, value and interval."""
        cells = list(self.cells)
        return Rows.of(
            [Row(dict(zip(self.columns, keys, strict=True)), c.value, (c.low, c.high)) for keys, c in cells]
        )

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each cell: the keys' columns, then `value`, `lower`, `upper`
        and `flag`, which is "u" where the noise is as large as the count, and otherwise empty.

        Raises `InvalidParameter` without pandas.
        """
        return pandas_of(self.rows, self.drowned)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` of the columns of `to_pandas`. Raises `InvalidParameter` without PyArrow."""
        return arrow_of(self.rows, self.drowned)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` of the columns of `to_pandas`. Raises `InvalidParameter` without Polars."""
        return polars_of(self.rows, self.drowned)


@dataclass(frozen=True)
class ReleasedTables:
    """Noisy integers of all residuals, by table, and what the ledger says of them.

    Any table that was asked for, and any margin of one, is computed from these, as often as wanted: all of
    them agree. `repeated` says that the ledger knew the answer.
    """

    planned: PlannedTables
    integers: Mapping[Places, Integers] = field(repr=False)
    spend: Spend
    entry: int
    repeated: bool
    among: int = 1
    """Out of how many tables each was chosen by what had been released: intervals hold for all of these."""

    @property
    def plan(self) -> ResidualPlan:
        """The noise."""
        return self.planned.plan

    @property
    def text(self) -> str:
        """The question in words."""
        return self.planned.text

    @property
    def charge(self) -> Charge:
        """What the tables cost, as it is asked of a ledger: without who asked, and of which data."""
        return charge_of_tables(self.planned)

    @property
    def excess(self) -> float:
        """How many times the least possible the weighted squared error is, rounded up."""
        return float_up(self.plan.excess)

    def table(self, *columns: str, cumulative: Sequence[str] = ()) -> ReleasedTable:
        """The table of these columns, in the order of the workload; of none it is the total.

        Of the `cumulative` ones among them a cell stands for all keys from the first one to its own, in
        the policy's order. Raises `InvalidParameter` for a table that was not asked for and is no margin
        of one.
        """
        workload = self.plan.workload
        place = workload.place(columns)
        rule = "be among the columns of the table"
        require(all(one in columns for one in cumulative), "cumulative", "table", rule, tuple(cumulative))
        rule = "be of columns whose keys lie within no other's, and have none within them"
        tied = workload.chains.tied
        require(tied.isdisjoint(cumulative), "cumulative", "table", rule, tuple(cumulative))
        added = [i for i in place if workload.named((i,))[0] in cumulative]
        top, bottom = margin_of(workload, self.integers, place)
        for axis, i in enumerate(place):
            top = np.cumsum(top, axis=axis) if i in added else top
        values = np.array([number / bottom for number in np.ravel(top)], dtype=np.float64)
        shape = tuple(workload.sizes[i] for i in place)
        down = workload.chains.down_to
        keys = tuple(
            self.planned.keys_of(i) if len(down(i)) > 1 else tuple(key for (key,) in self.planned.keys_of(i))
            for i in place
        )
        # A double may lie half an ulp from its fraction, about which the interval is.
        exact = (Fraction(int(number), bottom) for number in np.ravel(top))
        off = max(abs(Fraction(value) - one) for value, one in zip(values.tolist(), exact, strict=True))
        if not added and not workload.uneven.intersection(place):
            half = half_width(self.plan, [(place, Fraction(1))], self.plan.variance(place), self.among)
            each, deviation = None, root_up(self.plan.variance(place))
            most = float_up(half + off)
        else:
            cells = math.prod(workload.sizes[i] for i in added)
            off += cells * rounded_by(workload, self.integers, place)
            each, deviation = widths_of(self.plan, place, added, self.among)
            each = np.nextafter(each + float_up(off), math.inf)
            most = float(each.max())
        return ReleasedTable(
            workload.named(place), keys, values.reshape(shape), most, deviation, each, tuple(cumulative)
        )

    def between(self, cells: Mapping[str, Key | tuple[Key, Key]]) -> Estimate:
        """The count of some cells together: of each column a key, or a first and a last one, between which
        all count.

        `{"week": ("W03", "W10"), "sex": "f"}` are the women of eight weeks, in the order of the policy's
        keys. Raises `InvalidParameter`.
        """
        workload = self.plan.workload
        table = workload.place(tuple(cells))
        top, bottom = margin_of(workload, self.integers, table)
        weights = {}
        for i in table:
            first, last = self._ends(i, cells)
            weights[i] = [int(first <= key <= last) for key in range(workload.sizes[i])]
            top = top[first : last + 1].sum(axis=0)
        exact = Fraction(int(top), bottom)
        variance, steps = variance_of(self.plan, table, weights)
        many = math.prod(map(sum, weights.values()))
        half = half_of(variance, steps, self.among) + many * rounded_by(workload, self.integers, table)
        return Estimate(float(exact), float_down(exact - half), float_up(exact + half))

    def sum_of(self, cells: Sequence[tuple[Mapping[str, Key], float]]) -> Estimate:
        """Σ weight·count over cells, each given by its columns and keys: a total, a difference.

        `[({"sex": "f", "age": "old"}, 1), ({"sex": "m", "age": "old"}, -1)]` is how many more women there
        are; {} is the total. Errors that cells have in common are taken into account. Raises
        `InvalidParameter`.
        """
        workload, found = self.plan.workload, Fraction(0)
        placed: list[tuple[Places, Places, Fraction]] = []
        tables: dict[Places, tuple[Any, int]] = {}
        for keys, weight in cells:
            number = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            require(number and abs(weight) <= LARGEST_WEIGHT, "weight", "sum_of", WEIGHT_RULE, weight)
            place = workload.place(tuple(keys))
            if place not in tables:
                tables[place] = margin_of(workload, self.integers, place)
            here = tuple(self._key(i, keys) for i in place)
            top, bottom = tables[place]
            placed.append((place, here, Fraction(weight)))
            found += Fraction(weight) * Fraction(int(np.asarray(top)[here]), bottom)
        variance = sum(
            (v * w * covariance(self.plan, (a, i), (b, j)) for a, i, v in placed for b, j, w in placed),
            Fraction(0),
        )
        among = self.among ** len(tables)
        sizes: dict[Places, Fraction] = {}
        for place, _, own in placed:
            sizes[place] = sizes.get(place, Fraction(0)) + abs(own)
        tail = sum((size * tail_of(self.plan, place)[0] for place, size in sizes.items()), Fraction(0))
        half = half_width(self.plan, list(sizes.items()), inflated(variance, tail), among)
        half += sum(
            (size * rounded_by(workload, self.integers, place) for place, size in sizes.items()), Fraction(0)
        )
        return Estimate(float(found), float_down(found - half), float_up(found + half))

    def _ends(self, place: int, cells: Mapping[str, Key | tuple[Key, Key]]) -> tuple[int, int]:
        """The places of the first and the last key that are wanted of a column."""
        column = self.planned.axes[place].column
        wanted = cells[column]
        if place in self.plan.workload.chains.outer:
            named = {name: cells[name] for name in self.planned.nested[column].columns if name in cells}
            single = {name: own for name, own in named.items() if not isinstance(own, tuple)}
            rule = "be single keys, of a column that lies within another"
            require(len(single) == len(named), column, "between", rule, wanted)
            return (self._key(place, single),) * 2
        ends = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        first, *_, last = [self._key(place, {column: end}) for end in ends] if len(ends) == 2 else (1, 0)
        rule = "be a key, or a first one and a last one that is not before it"
        require(first <= last, column, "between", rule, wanted)
        return first, last

    def _key(self, place: int, keys: Mapping[str, Key]) -> int:
        """The place of a key of a column, by the keys of the columns that it lies within, too, or by as many
        of these as say which it is."""
        columns = self.planned.nested_columns(place)
        asked = [(at, keys[name]) for at, name in enumerate(columns) if name in keys]
        found = [
            index
            for index, path in enumerate(self.planned.keys_of(place))
            if all(type(path[at]) is type(key) and path[at] == key for at, key in asked)
        ]
        if len(found) == 1:
            return found[0]
        wanted = ", ".join(repr(key) for _, key in asked)
        if len(columns) == 1:
            raise InvalidParameter(f"`{columns[0]}` of a cell must be one of its public keys. Got {wanted}.")
        raise InvalidParameter(
            f"{', '.join(f'`{name}`' for name in columns)} of a cell must be keys that can occur together, "
            f"of one cell alone. Got {wanted}."
        )


def error_of_cells(plan: ResidualPlan, table: Places, among: int = 1) -> float:
    """How far to either side of a cell of this table its interval goes, known beforehand, rounded up; with
    `among` as in `half_width`.

    A released cell's interval is wider by the rounding of its value to a double.
    """
    if plan.workload.uneven.intersection(table):
        return float(widths_of(plan, table, (), among)[0].max())
    return float_up(half_width(plan, [(table, Fraction(1))], plan.variance(table), among))


def half_width(
    plan: ResidualPlan, cells: Sequence[tuple[Places, Fraction]], variance: Fraction, among: int = 1
) -> Fraction:
    """How far to either side of a weighted sum of cells its interval goes: Σ|w| + 1.96·√V.

    Σ|w| adds up over the noises: each lies within 1 of a normal variable. See `docs/theory/tables.md`. With
    `among` the intervals of so many sums, one of which was chosen, hold all at once: see `chosen_among`.
    """
    return half_of(
        variance, sum((abs(weight) * _steps(plan, table) for table, weight in cells), Fraction(0)), among
    )


def _steps(plan: ResidualPlan, table: Places) -> Fraction:
    """Σ|w| of a cell, at most: ∏2(n − 1)/(N_A·N_B), added up over its margins A; of ordered columns more."""
    found = Fraction(0)
    for part in plan.workload.margins(table):
        if part in plan.variances:
            whole = Fraction(1, plan.workload.grain(part))
            found += math.prod((way.most_absolute for way in plan.workload.ways(table, part)), start=whole)
    return found + tail_of(plan, table)[1]
