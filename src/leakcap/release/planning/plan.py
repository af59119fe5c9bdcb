"""From a query and a policy to what is computed and which noise it gets. No data, no noise.

What a statistic is made of stands in `release/statistics/`, one family a file; the statement in
`release/planning/statements.py`; the noise in `release/measurements/measurement.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger.ticks import LARGEST
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Cells, cells_of
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.joins import joined_policy
from leakcap.release.columns.people import TABLE, Coverage, require_no_delta, rows_kept
from leakcap.release.columns.typed import typed_column
from leakcap.release.conditions.condition import Condition, named, to_text, to_tree
from leakcap.release.conditions.where import parse_where
from leakcap.release.engine.base import Columns
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement
from leakcap.release.measurements.offer import Offer, largest_rho, pure_epsilon_of_rho
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.measurements.thresholds import plan_with_threshold
from leakcap.release.numbers.answers import Labels
from leakcap.release.numbers.exact_integers import ExactIntegers, clipped, exact_integers
from leakcap.release.planning.statements import columns_in, statement_of, units_statement
from leakcap.sampling.rational import printed

if TYPE_CHECKING:
    from leakcap.release.planning.queries import Query
    from leakcap.release.statistics import Statistic

__all__ = [
    "LEVEL",
    "Measurement",
    "Plan",
    "QueryContext",
    "codes_of",
    "in_order",
    "plan_query",
    "read_totals",
    "statement_of",
    "units_statement",
]

LEVEL = 0.95
"""How often an interval covers the truth."""


@dataclass(frozen=True)
class QueryContext:
    """A checked query, for its statistic to plan: the policy, the condition and the cells."""

    query: Query
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
        """The same of a choice, which has no other price than ε."""
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
            raise InvalidQuery(
                f"`{name}` has no `bounds` in the policy, which a {self.query.statistic} needs."
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
    ) -> Plan:
        """The plan of these parts."""
        given = (self.query, self.policy, self.condition, self.cells, self.whole_offer)
        return Plan(*given, tuple(parts), tuple(values), grid, centre, exact_count, bounded)


@dataclass(frozen=True)
class Plan:
    """A priced-to-be query: its cells, its noisy parts, and the integers that rows become for them.

    `values` are what each row becomes, in our own words: integers, or an id; NULL where it has none. `grid`
    and `centre` are those of the first value. `exact_count` is the public number of rows, where it is public.
    `bounded` says whether only `max_rows` rows of a unit are used, `people_from` from which cap of their own
    on people are counted (None: all are). `chosen` says which noise was chosen and why, where that was left
    open.
    """

    query: Query
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
    chosen: str | None = None

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
    def statistic(self) -> Statistic:
        """What the query asks for."""
        return self.query.kind

    @property
    def text(self) -> str:
        """The query in one normal form, for the ledger."""
        query = self.query
        words = [query.statistic, *self.statistic.canonical_text(query)]
        words += [f"join {', '.join(query.join)}"] if query.join else []
        words += [f"where {to_text(self.condition)}"] if self.condition is not None else []
        words += [f"by {', '.join(map(named, query.by))}"] if query.by else []
        words += [f"with delta {query.delta!r}"] if query.delta is not None else []
        words += [f"with {query.noise} noise"] if query.noise != "laplace" else []
        return " ".join(words)

    @property
    def groups(self) -> Cells:
        """What an answer has a row for."""
        return self.statistic.groups(self)

    @property
    def coverage(self) -> Coverage:
        """Whose figure the intervals hold: that of the rows kept, where too many of a person may be cut."""
        if self.policy.id_column is None or not self.bounded:
            return TABLE
        return rows_kept(self.policy, grouped=bool(self.query.by))

    def labels(self) -> Labels:
        """The keys of each row of the answer."""
        return self.statistic.labels(self)

    @cached_property
    def errors(self) -> tuple[int, ...]:
        """For each part how far its noise goes; together they go further with 5 % probability at most."""
        beyond = (1.0 - LEVEL) / len(self.parts)
        return tuple(part.error(beyond) for part in self.parts)

    @cached_property
    def used_columns(self) -> tuple[str, ...]:
        """The policy's columns that the statement reads: for values, cells and the condition, and all of a
        joined table, by which its rows are ordered. Ids and keys are for `schema.check_schema` to add.
        """
        trees = [*self.values, *(axis.tree for axis in self.cells.axes)]
        trees += [] if self.condition is None else [to_tree(self.condition, self.policy)]
        for table in self.query.join:
            trees += [
                typed_column(f"{table}.{name}", self.policy) for name in self.policy.tables[table].columns
            ]
        return columns_in(trees, self.policy)

    def logical(self, seed: str = "") -> exp.Select:
        """The statement in our own words: for each cell that is not empty its codes, then a total a part."""
        return statement_of([self], seed)

    @property
    def tree(self) -> exp.Expression:
        """The statement for DuckDB, whatever the types of the table's columns are."""
        from leakcap.release.engine.duckdb_sql import (
            Integers,  # with its dialect, which a plan has no use for
        )

        return Integers({}).lower(self.logical())


def plan_query(query: Query, policy: Policy) -> Plan:
    """Check a query against the policy and plan it. Raises `InvalidQuery`; touches no data."""
    if query.noise == "best":
        from leakcap.release.planning.better import better_plan  # which plans both ways

        return better_plan(query, policy)
    return plan_at(query, policy, None)


def plan_at(query: Query, policy: Policy, offer: Offer | None) -> Plan:
    """The plan of a query whose noise is known, for what it offers, or for this offer in its place."""
    if query.epsilon is not None and query.epsilon > LARGEST:
        raise InvalidQuery(
            f"`epsilon` of query `{query.name}` must be at most {LARGEST:,}, which is no protection at all. "
            f"Got {query.epsilon!r}."[:200]
        )
    if query.join:
        policy = joined_policy(policy, query.join, owner=f"query `{query.name}`")
    if query.delta is not None:
        require_no_delta(policy, query.name)
    condition = None if query.where is None else parse_where(query.where, policy)
    query = query.kind.with_defaults(query)
    cells = cells_of(query, policy)
    _check_noise(query, policy, open_=cells.open)
    try:
        asked = QueryContext(
            query, policy, condition, cells, _offer(query, policy) if offer is None else offer
        )
        if cells.open:
            return plan_with_threshold(asked)
        if query.delta is not None:
            raise InvalidQuery(
                f"`delta` of query `{query.name}` must be left out: only groups with private keys need one."
            )
        return _accounted(query.kind.plan(asked))
    except InvalidParameter:
        name, price = ("epsilon", query.epsilon) if query.rho is None else ("rho", query.rho)
        raise InvalidQuery(
            f"`{name}` of query `{query.name}` is out of the range that noise can be drawn for exactly. "
            f"Got {price!r}."
        ) from None


def _accounted(plan: Plan) -> Plan:
    """Raise `InvalidQuery` unless it is known what one unit adds to each noisy vector."""
    for part in plan.parts:
        if not isinstance(getattr(part, "contribution", None), Contribution):
            raise InvalidQuery(
                f"`contribution` of a measurement of statistic `{plan.query.statistic}` is missing: it says "
                "what one unit adds, and so what the answer costs. Mend the statistic."
            )
        if isinstance(part, NoisyMeasurement) and part.loss is None and part.event is None:
            raise InvalidQuery(
                f"The noise of `{part.role}`, {part.mechanism}, has no ε and no event from which an auditor "
                "could compute its charge. Give its class an `event`."
            )
    return plan


def _offer(query: Query, policy: Policy) -> Offer:
    """What a query offers: ε, or the ρ that its ε buys at the policy's δ, or the other way round."""
    if query.noise == "gaussian":
        delta = policy.caps.delta or 0.0
        if query.rho is not None:
            return Offer(policy, rho=printed(query.rho))
        assert query.epsilon is not None
        return Offer(policy, rho=Fraction(largest_rho(query.epsilon, delta)))
    epsilon = query.epsilon if query.rho is None else pure_epsilon_of_rho(query.rho)
    assert epsilon is not None
    return Offer(policy, epsilon=printed(epsilon))


def _check_noise(query: Query, policy: Policy, *, open_: bool) -> None:
    """Raise `InvalidQuery` where Gaussian noise has no place."""
    if query.noise == "laplace":
        return
    owner = f"`noise` of query `{query.name}`"
    if not query.kind.has_noise:
        raise InvalidQuery(
            f"{owner} must be left out of a {query.kind.label}, which is drawn in its own way."
        )
    if open_:
        raise InvalidQuery(f"{owner} must be laplace, or left out, where groups have private keys.")
    # From a slot it is paid for already, at the plan's own δ.
    if not (policy.caps.ledger_caps().delta_together or (query.slot and policy.caps.delta)):
        raise InvalidQuery(
            f"{owner} must be laplace, or left out: Gaussian noise needs a δ for all answers together, and "
            "the policy's `caps` leave none (`delta`). Only the owner can allow one."
        )
    if policy.caps.each_person:
        raise InvalidQuery(
            f"{owner} must be laplace, or left out: the caps that people bring themselves "
            "(`caps.each_person`) are on ε alone, and Gaussian noise has none without a δ."
        )


def codes_of(plan: Plan, found: Columns) -> tuple[NDArray[Any], ...]:
    """The codes of the cells that came back, column by column."""
    return found.arrays[: len(plan.cells.axes)]


def in_order(plan: Plan, found: Columns) -> Columns:
    """With cells of private keys in the order of the keys: nothing of what the table says but them."""
    if not plan.cells.open:
        return found
    keys = list(zip(*(column.tolist() for column in codes_of(plan, found)), strict=True))
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    return Columns(tuple(column[order] for column in found.arrays))


def read_totals(plan: Plan, found: Columns, *, before: int = 0) -> list[ExactIntegers]:
    """For each part the clamped total of every cell: of all public ones, or of those that came back.

    The totals stand after the cell's codes and after so many totals of other plans.
    """
    codes = codes_of(plan, found)
    first = len(codes) + before
    totals = [exact_integers(column) for column in found.arrays[first : first + len(plan.parts)]]
    if not plan.cells.open:
        totals = _placed(plan.cells.places(codes), totals, plan.cells.size)
    return [clipped(total, part.total) for total, part in zip(totals, plan.parts, strict=True)]


def _placed(places: NDArray[np.int64], columns: Sequence[ExactIntegers], size: int) -> list[ExactIntegers]:
    """The totals where their cells are, and 0 elsewhere."""
    listed = places >= 0
    found = []
    for column in columns:
        total = np.zeros(size, dtype=column.dtype)
        total[places[listed]] = column[listed]
        found.append(total)
    return found
