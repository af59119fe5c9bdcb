"""What a row of a survey becomes: products of its design weight and its numbers, each a column of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.release.columns.grid import Grid, grid_for
from leakcap.release.conditions.condition import Missing
from leakcap.release.conditions.number_columns import Operand, number_by_case, number_computed, number_size
from leakcap.release.conditions.written import WrittenColumns
from leakcap.release.measurements.aggregates import Joint
from leakcap.release.measurements.measurement import NoisyMeasurement, Offer, measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.plan import QueryContext

__all__ = ["WeightedSum", "WeightedSums"]


@dataclass(frozen=True)
class WeightedSum:
    """A noisy sum over the rows, what each row adds to it, and the grid of both."""

    part: NoisyMeasurement
    value: exp.Expression
    grid: Grid


class WeightedSums:
    """The sums that a query about `weight` needs, over the rows that have all of what is multiplied.

    `spread` is w(w − 1), by which the squares of a row's numbers are added up to the variance of a sum that
    is weighted by w = 1/π: Σ (1 − π)/π²·u² (Horvitz & Thompson 1952, Poisson sampling). Raises
    `InvalidQuery` where the weights have no bounds, or bounds below 0.
    """

    def __init__(self, asked: QueryContext, weight: str) -> None:
        _, bounds = asked.bounded(weight)
        if bounds[0] < 0.0:
            raise InvalidQuery(
                f"`design_weight` of query `{asked.query.name}` must have bounds that are not negative. "
                f"Those of `{weight}` begin at {bounds[0]:g}."
            )
        self._asked = asked
        self._written = WrittenColumns(asked.policy)
        self.weight: Operand = self.column(weight)

    @property
    def asked(self) -> QueryContext:
        """The query, whose policy has the columns that were made so far."""
        return replace(self._asked, policy=self._written.policy)

    @property
    def spread(self) -> Operand:
        """w(w − 1)."""
        return self.times(self.weight, number_computed((self.weight, 1.0), "-", self._written))

    def column(self, name: str) -> str:
        """A column with bounds, its `fill` in the place of what is missing."""
        known, _ = self._asked.bounded(name)
        return (
            name if known.fill is None else number_by_case([(Missing(name), known.fill)], name, self._written)
        )

    def less(self, name: str, centre: float) -> Operand:
        """The column less a public number."""
        return number_computed((name, centre), "-", self._written) if centre else name

    def times(self, *factors: Operand) -> Operand:
        """Their product."""
        found: Operand = 1.0
        for one in factors:
            found = (
                one
                if found == 1.0
                else found
                if one == 1.0
                else number_computed((found, one), "*", self._written)
            )
        return found

    def squared(self, number: Operand) -> tuple[Operand, Operand]:
        """Twice its size, as factors: the bounds of their product begin at 0."""
        size = number if isinstance(number, float) else number_size(number, self._written)
        return size, size

    def sum(self, role: str, place: int, number: Operand, offer: Offer) -> WeightedSum:
        """The noisy sum of a number, which is the value at `place`."""
        asked = self.asked
        assert isinstance(number, str)
        known, bounds = asked.bounded(number)
        rows = asked.policy.rows_per_unit
        furthest = 2 * max(map(abs, bounds))
        grid = grid_for(bounds, scale=rows * Fraction(furthest) / offer.fineness, places=known.places)
        unit = Contribution(grid.low, grid.high, rows, asked.cells.size)
        part = measured(role, Joint((place,), unit.largest), unit, offer, unit=grid.step, covers=False)
        return WeightedSum(part, grid.tree(number, bounds, None), grid)
