"""What is computed for a query and which noise it gets, as a value that statistics make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Cells
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.people import TABLE, Coverage, groups_kept, rows_kept
from leakcap.release.conditions.condition import Condition
from leakcap.release.measurements.measurement import Measurement, Offer
from leakcap.release.query import QueryFields
from leakcap.sampling.rational import printed

__all__ = ["LEVEL", "Plan", "QueryContext"]

LEVEL = 0.95
"""How often an interval covers the truth."""


@dataclass(frozen=True)
class QueryContext:
    """A checked query, for its statistic to plan: the policy, the condition and the cells."""

    query: QueryFields
    policy: Policy
    condition: Condition | None
    cells: Cells
    whole_offer: Offer
    share: Fraction = Fraction(1)

    @property
    def offer(self) -> Offer:
        """What was asked for, as decimals, or the share of it that the statistic itself may use."""
        return self.whole_offer / (1 / self.share)

    @property
    def epsilon(self) -> Fraction:
        """The ε offered. For choices, which can be priced in ε only."""
        epsilon = self.offer.epsilon
        assert epsilon is not None
        return epsilon

    @property
    def bounded_column(self) -> tuple[Column, tuple[float, float]]:
        """The query's column and its bounds. Raises `InvalidQuery` where there are none."""
        return self.bounded(self.query.column)

    def bounded(self, name: str | None) -> tuple[Column, tuple[float, float]]:
        """A column of the policy with its bounds. Raises `InvalidQuery` where there are none."""
        known = self.policy.columns.get(name or "")
        if known is None:
            raise InvalidQuery(
                f"`column` of query `{self.query.name}` names `{name}`, which is not a column of the policy."
            )
        if known.bounds is None:
            numbers = "numbers as " if known.moments else ""
            remedy = ""
            if known.kind == "boolean":
                remedy = f' It is true or false: ask for the share, `ratio` with `when = "{name}"`.'
            raise InvalidQuery(
                f"`{name}` has no {numbers}`bounds` in the policy, which the {self.query.statistic} of query "
                f"`{self.query.name}` needs.{remedy}"
            )
        return known, known.bounds

    @property
    def all_units_counted(self) -> bool:
        """Whether every unit adds exactly one row: their number is public, and nobody can be left out."""
        known = self.policy.columns.get(self.query.column or "")
        public = self.policy.neighbours == "replace-one" and self.policy.rows_per_unit == 1
        filled = known is not None and known.fill is not None
        alone = not (self.condition or self.query.by or self.query.join)
        return public and alone and filled

    def plan(
        self,
        parts: Sequence[Measurement],
        *,
        values: Sequence[exp.Expression] = (),
        grid: Grid | None = None,
        centre: int = 0,
        exact_count: int | None = None,
        bounded: bool = True,
        beyond: int | None = None,
        each_person: bool = False,
        about: str = "",
    ) -> Plan:
        """The plan of these parts."""
        given = (self.query, self.policy, self.condition, self.cells, self.whole_offer)
        return Plan(
            *given,
            tuple(parts),
            tuple(values),
            grid,
            centre,
            exact_count,
            bounded,
            beyond=beyond,
            each_person=each_person,
            about=about,
        )


@dataclass(frozen=True)
class Plan:
    """A query ready to be priced: its cells, its noisy parts, and the integers that rows become for them.

    `values` are what each row becomes, in our own words: integers, or an id; NULL where it has none. `grid`
    and `centre` are those of the first value. `exact_count` is the public number of rows, where it is public.
    `bounded` says whether only `max_rows` rows of a unit are used. `beyond`: instead of those, at most so
    many of the rows left out are counted for each unit. `each_person`: instead of rows it is people who
    are counted, by how many rows they have; of the cells the last axis is that number. `people_from` is the
    least cap of their own at which people are counted (None: all are).
    `chosen` says which noise was chosen and why, where that was left open. `assumed` is how many rows a
    preview takes each cell to have, where it was told. `about` says what else a reader has to know of what
    intervals hold.
    """

    query: QueryFields
    policy: Policy
    condition: Condition | None
    cells: Cells
    offer: Offer
    parts: tuple[Measurement, ...]
    values: tuple[exp.Expression, ...]
    grid: Grid | None
    centre: int
    exact_count: int | None
    bounded: bool
    people_from: float | None = None
    beyond: int | None = None
    each_person: bool = False
    chosen: str | None = None
    assumed: int | None = None
    about: str = ""

    @property
    def asked(self) -> str:
        """What is offered for the answer, as the decimal that was given."""
        query = self.query
        return f"ρ {printed(query.rho)}" if query.rho is not None else f"ε {self.query_epsilon}"

    @property
    def query_epsilon(self) -> Fraction | None:
        """The ε that was asked for, or that a ρ buys, as a decimal; None where Gaussian noise is priced by
        ρ."""
        if self.query.epsilon is not None:
            return printed(self.query.epsilon)
        return self.offer.epsilon

    @property
    def coverage(self) -> Coverage:
        """Whose figure the intervals hold: that of the rows kept, where too many of a person may be cut."""
        found = self._rows_covered
        return Coverage(found.covers, " ".join(filter(None, (self.about, found.about))))

    @property
    def _rows_covered(self) -> Coverage:
        if self.each_person and self.groups_limited:
            return groups_kept(self.policy)
        if self.beyond is not None or self.each_person:
            most = f"{self.query.up_to:,}"
            return Coverage("table", f"A person with more than {most} rows counts as having {most}.")
        if self.policy.id_column is None or not self.bounded:
            return TABLE
        return rows_kept(self.policy, grouped=bool(self.query.by))

    @property
    def groups_limited(self) -> bool:
        """Whether a person may be in more groups of `by` than the policy uses."""
        groups = Cells(self.cells.axes[: len(self.query.by)])
        return groups.size > self.policy.groups_per_unit

    @cached_property
    def errors(self) -> tuple[int, ...]:
        """For each part how far its noise goes; together they go further with 5 % probability at most."""
        beyond = (1.0 - LEVEL) / len(self.parts)
        return tuple(part.error(beyond) for part in self.parts)
