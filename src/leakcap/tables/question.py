"""Which tables are asked of a policy, at what price: checked and planned before any data is touched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.numeric.rounding import short_down
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, key_axis
from leakcap.release.columns.within import require_apart_from, require_told_apart
from leakcap.release.conditions.condition import named
from leakcap.release.conditions.declared import with_cases
from leakcap.release.measurements.rho import largest_rho
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.planning.queries import Query
from leakcap.sampling.rational import printed
from leakcap.tables.nested.columns import NestedKeys, nested_keys
from leakcap.tables.ordered.design import Kind
from leakcap.tables.plan import ResidualPlan
from leakcap.tables.workload import MOST_TABLES, Places, Workload

__all__ = ["Flag", "Number", "PlannedTables", "TableAsked", "TablesQuestion"]

Number = Annotated[float, Field(strict=True)]
"""A number; `true` and text are none, in a file as in Python."""
Ways = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
"""`true` or `false`; numbers and text are none."""


class TableAsked(BaseModel):
    """The table of these columns, or all tables of `ways` of them; `weight` is what a squared error in one
    of their cells counts for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...]
    ways: Ways | None = None
    weight: Number = 1.0

    def each(self) -> Iterator[tuple[str, ...]]:
        """The columns of each table."""
        count = math.comb(len(self.columns), self.ways or 0)
        if count > MOST_TABLES:
            raise InvalidQuery(
                f"`ways` of tables of {len(self.columns)} columns must make no more than {MOST_TABLES:,} "
                f"tables. Got {count:,}."
            )
        return iter([self.columns] if self.ways is None else combinations(self.columns, self.ways))


class TablesQuestion(BaseModel):
    """Tables of counts to be released together.

    Either `columns` and `ways`, which asks for all tables of so many of the columns, or `tables`, each of
    which may do the same; the weights of a table that is asked for twice add up. The price
    is ρ of zero-concentrated privacy, or the ρ that an `epsilon` buys at the δ of the policy. Only rows count
    that `where` is true of, and that have a public key in every column.

    Columns in `ranges` have keys with an order, that of the policy: wanted are the counts of all ranges of
    them, in `prefixes` those from the first key on, in place of cells. Cells, ranges and prefixes can all
    be told afterwards.

    Where the keys of one column lie within those of another (districts in regions, months in quarters), only
    pairs that can occur are cells, and a table of the inner column has the outer one, too. With `nested =
    false` all pairs are, as microdata need them.

    >>> TablesQuestion(columns=("sex", "age"), ways=2, rho=0.02).name
    'tables'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=200)] = "tables"
    columns: tuple[str, ...] | None = None
    ways: Ways | None = None
    tables: tuple[TableAsked, ...] | None = None
    ranges: tuple[str, ...] | None = None
    prefixes: tuple[str, ...] | None = None
    rho: Number | None = None
    epsilon: Number | None = None
    where: str | None = None
    nested: Flag | None = None

    def planned(self, policy: Policy) -> PlannedTables:
        """What is counted and which noise it gets. Raises `InvalidQuery`; touches no data."""
        policy = with_cases(policy)
        self._check(policy)
        rows = Query(name=self.name, statistic="count", where=self.where, epsilon=1.0)
        counted, axes = self._counted(rows, policy), list[Axis]()
        for column in self._columns():
            known = policy.columns.get(column)
            if known is None or known.keys is None or known.private is not None:
                raise InvalidQuery(
                    f"`columns` of tables `{self.name}` must be columns of the policy with public `keys`. "
                    f"Got `{column}`. Of numbers and dates ask by a column that is derived from them."
                )
            axes.append(key_axis(column, policy, rows))
        owner = f"Tables `{self.name}`"
        if self.nested is False:
            require_told_apart(axes, f"`columns` of tables `{self.name}`", alone=True)
            require_apart_from(axes, (), owner)
            order, nested = self._columns(), dict[str, NestedKeys]()
        else:
            require_told_apart(axes, f"`columns` of tables `{self.name}`")
            order, nested = nested_keys(axes, policy, owner)
        axes = sorted(axes, key=lambda axis: order.index(axis.column))
        try:
            workload = self._workload(axes, nested)
            plan = ResidualPlan.of(
                workload,
                self.price(policy),
                rows=policy.rows_per_unit,
                replace=policy.neighbours == "replace-one",
            )
        except InvalidParameter as error:
            raise InvalidQuery(f"Tables `{self.name}`: {error}") from None
        return PlannedTables(self, policy, tuple(axes), plan, counted, nested)

    def _counted(self, rows: Query, policy: Policy) -> Plan:
        """The plan of the rows that are counted; what is wrong with them is said of the tables."""
        try:
            return plan_query(rows, policy)
        except InvalidQuery as error:
            said = str(error).replace(f"query `{self.name}`", f"tables `{self.name}`", 1)
            raise InvalidQuery(said) from None

    def _check(self, policy: Policy) -> None:
        """Raise `InvalidQuery` unless the fields fit each other, and Gaussian noise fits the caps."""
        owner = f"tables `{self.name}`"
        if (self.ways is None) == (self.tables is None) or (self.columns is None) != (self.ways is None):
            raise InvalidQuery(f"Tables `{self.name}` must have `columns` and `ways`, or `tables`, not both.")
        self._check_ordered()
        if (self.rho is None) == (self.epsilon is None):
            raise InvalidQuery(f"Tables `{self.name}` must have `rho` or `epsilon`, not both.")
        for one in self._asked():
            for column in one.columns:
                if one.columns.count(column) > 1:
                    raise InvalidQuery(
                        f"`columns` of {owner} must name each column once. Got `{column}` twice."
                    )
            if one.ways is not None and one.ways > len(one.columns):
                raise InvalidQuery(
                    f"`ways` of {owner} must be at most {len(one.columns)}, the number of its columns. "
                    f"Got {one.ways}."
                )
        prices = [("rho", self.rho), ("epsilon", self.epsilon)]
        for name, number in (*prices, *(("weight", one.weight) for one in self._asked())):
            if number is not None and not 0.0 < number < math.inf:
                raise InvalidQuery(f"`{name}` of {owner} must be positive and finite. Got {number!r}.")
        if not policy.caps.has_room_for_gaussian:
            raise InvalidQuery(
                f"The noise of {owner} is Gaussian and needs a δ for all answers together, and the policy's "
                "`caps` leave none (`delta`). Only the owner can allow one."
            )
        if self.epsilon is not None and not policy.caps.delta:
            raise InvalidQuery(
                f"`epsilon` of {owner} says nothing of Gaussian noise without a δ, and the policy's `caps` "
                "have no `delta`. Ask for a `rho`."
            )
        if policy.caps.each_person or policy.caps_column is not None:
            raise InvalidQuery(
                f"The noise of {owner} is Gaussian, and the caps that people bring themselves "
                "(`caps.each_person`) are on ε alone. Ask for a `contingency` table."
            )

    def _check_ordered(self) -> None:
        """Raise `InvalidQuery` unless `ranges` and `prefixes` name columns of the tables, each once."""
        known, seen = self._columns(), set[str]()
        for kind in ("ranges", "prefixes"):
            for column in getattr(self, kind) or ():
                if column not in known:
                    raise InvalidQuery(
                        f"`{kind}` of tables `{self.name}` must name columns of its tables. Got `{column}`."
                    )
                if column in seen:
                    raise InvalidQuery(
                        f"`ranges` and `prefixes` of tables `{self.name}` must name each column once. "
                        f"Got `{column}` twice."
                    )
                seen.add(column)

    @property
    def kinds(self) -> dict[str, Kind]:
        """What is wanted of columns that are not asked by their cells."""
        found: dict[str, Kind] = dict.fromkeys(self.ranges or (), "ranges")
        return found | dict.fromkeys(self.prefixes or (), "prefixes")

    def _asked(self) -> tuple[TableAsked, ...]:
        """The `tables`, or those that `columns` and `ways` stand for."""
        if self.tables is not None:
            return self.tables
        return (TableAsked(columns=self.columns or (), ways=self.ways),)

    def price(self, policy: Policy) -> Fraction:
        """The ρ that is offered."""
        if self.rho is not None:
            return printed(self.rho)
        assert self.epsilon is not None
        return Fraction(largest_rho(self.epsilon, policy.caps.delta or 0.0))

    def _columns(self) -> list[str]:
        """All columns, in the order in which they are named first."""
        return list(dict.fromkeys(column for one in self._asked() for column in one.columns))

    def _workload(self, axes: Sequence[Axis], nested: Mapping[str, NestedKeys]) -> Workload:
        found: dict[frozenset[str], tuple[tuple[str, ...], Fraction]] = {}
        for one in self._asked():
            weight = printed(one.weight)
            for columns in one.each():
                whole = dict.fromkeys(
                    own for name in columns for own in (nested[name].columns if name in nested else (name,))
                )
                before = found.get(frozenset(whole), (columns, Fraction(0)))[1]
                found[frozenset(whole)] = tuple(whole), before + weight
        wanted = list(found.values())
        tables, weights = [columns for columns, _ in wanted], [weight for _, weight in wanted]
        sizes = {
            axis.column: len(nested[axis.column].paths) if axis.column in nested else len(axis.labels)
            for axis in axes
        }
        within = {name: own.within for name, own in nested.items() if len(own.columns) > 1}
        return Workload.of(sizes, tables, weights, self.kinds, within)

    def flat(self, policy: Policy) -> TablesQuestion:
        """The question whose cells are all pairs of keys, also where one column lies within another; itself
        where none does. Raises `InvalidQuery`."""
        if self.nested is not None or not self.planned(policy).nested:
            return self
        return self.model_copy(update={"nested": False})

    def at_share(self, share: float) -> TablesQuestion:
        """The question at this share of its price, rounded down."""
        if share == 1.0:
            return self
        prices = {"rho": self.rho, "epsilon": self.epsilon}
        return self.model_copy(
            update={name: short_down(price * share) for name, price in prices.items() if price is not None}
        )

    @property
    def asked(self) -> str:
        """The price as the decimal that was given."""
        return f"ρ {printed(self.rho)}" if self.rho is not None else f"ε {printed(self.epsilon or 0.0)}"


@dataclass(frozen=True)
class PlannedTables:
    """Tables that were asked for, their noise, and which rows are counted (those of the count `counted`)."""

    question: TablesQuestion
    policy: Policy
    axes: tuple[Axis, ...]
    plan: ResidualPlan
    counted: Plan
    nested: Mapping[str, NestedKeys] = field(default_factory=dict)
    """Of the columns that lie within others, or have others within them, the keys that can occur."""

    def keys_of(self, place: int) -> tuple[tuple[Key, ...], ...]:
        """For each key of the column at a place of the workload those of the columns that it lies within,
        the outermost first, and its own."""
        column = self.axes[place].column
        if column in self.nested:
            return self.nested[column].paths
        return tuple((key,) for key in self.axes[place].labels.values())

    def nested_columns(self, place: int) -> tuple[str, ...]:
        """The columns that the one at a place lies within, the outermost first, and itself."""
        column = self.axes[place].column
        return self.nested[column].columns if column in self.nested else (column,)

    @cached_property
    def text(self) -> str:
        """The question in one normal form, for the ledger: columns and tables by name, however asked for."""
        workload = self.plan.workload
        weights, ways = set(workload.weights.values()), set(map(len, workload.weights))
        all_ = math.comb(len(workload.columns), max(ways))
        alike = weights == {Fraction(1)} and len(ways) == 1 and not workload.within
        if alike and len(workload.weights) == all_ > 1:
            told = f"all tables of {max(ways)} of {', '.join(map(named, sorted(workload.columns)))}"
        else:
            parts = [
                f"({', '.join(map(named, names))}) of weight {workload.weights[table]}"
                for table, names in self.in_order
                if table in workload.weights
            ]
            told = f"tables {' '.join(parts)}"
        for name in sorted(workload.within):
            told += f" with {named(name)} within {named(workload.within[name].outer)}"
        for kind in ("ranges", "prefixes"):
            own = sorted(name for name, one in workload.kinds.items() if one == kind)
            told += f" by {kind} of {', '.join(map(named, own))}" if own else ""
        return f"{told} {self._condition}".strip()

    @property
    def _condition(self) -> str:
        """`where` and what has to be true of a row, in normal form; empty where all rows count."""
        return text_of(self.counted).removeprefix("count").strip()

    @property
    def about(self) -> str:
        """Which rows all of the tables are about, in words.

        A row without a key in one column of the question is in none of its tables, so that they add up.
        """
        columns = list(self.plan.workload.columns)
        kept = f" that have a listed key in {'each of ' if len(columns) > 1 else ''}{', '.join(columns)}"
        if any(own.listed and len(own.columns) > 1 for own in self.nested.values()):
            kept += ", listed together where one lies within another"
        rows = f"{kept if columns else ''}{f', {self._condition}' if self._condition else ''}"
        told = f"All tables and margins are about the rows{rows}." if rows else ""
        return f"{told} {self.counted.coverage.about}".strip()

    @property
    def in_order(self) -> list[tuple[Places, list[str]]]:
        """All tables and their columns by name: the same order for all who ask for the same tables."""
        workload = self.plan.workload
        found = [(table, sorted(workload.named(table))) for table in workload.closure]
        return sorted(found, key=lambda one: (len(one[0]), one[1]))

    @property
    def maximal(self) -> list[Places]:
        """The tables that are no margins of others: what is counted."""
        workload, wanted = self.plan.workload, self.plan.workload.weights
        if workload.within:
            inner = {part for table in wanted for part in workload.margins(table) if part != table}
            return [table for table in sorted(wanted, key=len, reverse=True) if table not in inner]
        # Tables of as many columns do not hold each other: of pairs alone none is compared with any.
        within = {
            margin
            for size in set(map(len, wanted))
            for table in wanted
            if len(table) > size
            for margin in combinations(table, size)
        }
        return [table for table in sorted(wanted, key=len, reverse=True) if table not in within]
