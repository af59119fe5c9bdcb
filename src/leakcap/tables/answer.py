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
from leakcap.ledger import Spend
from leakcap.numeric.rounding import float_down, float_up, up
from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Row, Rows
from leakcap.release.results.tables import arrow_of, pandas_of, polars_of
from leakcap.tables.plan import ResidualPlan, root_up
from leakcap.tables.question import PlannedTables
from leakcap.tables.residuals import Integers, covariance, margin_of
from leakcap.tables.workload import Places, margins_of_places

__all__ = [
    "LARGEST_WEIGHT",
    "NORMAL",
    "WEIGHT_RULE",
    "Estimate",
    "ReleasedTable",
    "ReleasedTables",
    "chosen_among",
    "error_of_cells",
    "half_width",
]

NORMAL = Fraction(195996398455, 10**11)
"""More than the 97.5 % point of the normal law: what is left over is far more than 10⁻¹³⁰ for each number."""

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
    """A table: for each cell its keys and an estimate; `half_width` is that of every cell's interval.

    `values` has an axis for each column of `columns`, in the order of the policy's keys.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...], ...]
    values: NDArray[np.float64]
    half_width: float
    standard_deviation: float
    """At most, in each cell."""

    @property
    def cells(self) -> Iterator[tuple[tuple[Key, ...], Estimate]]:
        """Each cell's keys and its estimate."""
        for place in np.ndindex(self.values.shape):
            value = float(self.values[place])
            # Rounded outward: a value is a double, the width another.
            low = float_down(Fraction(value) - Fraction(self.half_width))
            high = float_up(Fraction(value) + Fraction(self.half_width))
            keys = tuple(own[i] for own, i in zip(self.keys, place, strict=True))
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
    def excess(self) -> float:
        """How many times the least possible the weighted squared error is, rounded up."""
        return float_up(self.plan.excess)

    def table(self, *columns: str) -> ReleasedTable:
        """The table of these columns, in the order of the workload; of none it is the total.

        Raises `InvalidParameter` for a table that was not asked for and is no margin of one.
        """
        workload = self.plan.workload
        place = workload.place(columns)
        top, bottom = margin_of(workload, self.integers, place)
        values = np.array([number / bottom for number in np.ravel(top)], dtype=np.float64)
        shape = tuple(workload.sizes[i] for i in place)
        keys = tuple(tuple(self.planned.axes[i].labels.values()) for i in place)
        # A double may lie half an ulp from its fraction, about which the interval is.
        exact = (Fraction(int(number), bottom) for number in np.ravel(top))
        off = max(abs(Fraction(value) - one) for value, one in zip(values.tolist(), exact, strict=True))
        return ReleasedTable(
            workload.named(place),
            keys,
            values.reshape(shape),
            float_up(
                half_width(self.plan, [(place, Fraction(1))], self.plan.variance(place), self.among) + off
            ),
            root_up(self.plan.variance(place)),
        )

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
        half = half_width(self.plan, [(place, weight) for place, _, weight in placed], variance, among)
        return Estimate(float(found), float_down(found - half), float_up(found + half))

    def _key(self, place: int, keys: Mapping[str, Key]) -> int:
        axis = self.planned.axes[place]
        labels = list(axis.labels.values())
        wanted = keys[axis.column]
        for index, label in enumerate(labels):
            if type(label) is type(wanted) and label == wanted:
                return index
        raise InvalidParameter(f"`{axis.column}` of a cell must be one of its public keys. Got {wanted!r}.")


def error_of_cells(plan: ResidualPlan, table: Places) -> float:
    """How far to either side of a cell of this table its interval goes, known beforehand, rounded up.

    A released cell's interval is wider by the rounding of its value to a double.
    """
    return float_up(half_width(plan, [(table, Fraction(1))], plan.variance(table)))


def half_width(
    plan: ResidualPlan, cells: Sequence[tuple[Places, Fraction]], variance: Fraction, among: int = 1
) -> Fraction:
    """How far to either side of a weighted sum of cells its interval goes: Σ|w| + 1.96·√V.

    Σ|w| adds up over the noises: each lies within 1 of a normal variable. See `docs/theory/tables.md`. With
    `among` the intervals of so many sums, one of which was chosen, hold all at once: see `chosen_among`.
    """
    apart = sum((abs(weight) * _steps(plan, table) for table, weight in cells), Fraction(0))
    normal = NORMAL if among == 1 else Fraction(chosen_among(among))
    return apart + normal * Fraction(root_up(variance))


def chosen_among(count: int) -> float:
    """√(2 ln(20·count)), rounded up: so many normal variables are all within so many standard deviations with
    probability 95 % or more, for P(|Z| > z) ≤ e^(−z²/2).

    >>> round(chosen_among(66), 2)
    3.79
    """
    return up(math.sqrt(2.0 * math.log(20 * count)) * (1.0 + 1e-12))


def _steps(plan: ResidualPlan, table: Places) -> Fraction:
    """Σ|w| of a cell: ∏2(n − 1)/(N_A·N_B), added up over its margins A."""
    sizes, cells = plan.workload.sizes, plan.workload.cells_of(table)
    return sum(
        (
            Fraction(math.prod(2 * (sizes[i] - 1) for i in part), plan.workload.cells_of(part) * cells)
            for part in margins_of_places(table)
            if part in plan.variances
        ),
        Fraction(0),
    )
