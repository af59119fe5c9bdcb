"""From a query and a policy to the one statement that runs and the integers it returns. No data, no noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from sqlglot import exp

from leakcap.errors import DataError, InvalidParameter, InvalidQuery
from leakcap.release.cells import Cells, cells_of
from leakcap.release.condition import Condition, named, to_text, to_tree
from leakcap.release.engine import Integers
from leakcap.release.grid import Grid, grid_for
from leakcap.release.policy import Key, Policy
from leakcap.release.queries import Query
from leakcap.release.ranks import BINS, RANKS, ranks_of, shift_for
from leakcap.release.sensitivity import Contribution, Presence
from leakcap.release.spread import SPREADS, spread_grid, square_reach
from leakcap.release.typed import SOURCE, Read, Steps, Total, aliased, column, typed_column
from leakcap.release.where import parse_where
from leakcap.sampling import rational_scale

__all__ = [
    "Part",
    "Plan",
    "RankPart",
    "plan_query",
    "read_totals",
    "statement_of",
    "units_statement",
]

MOST_COUNTS = 10**6
Role: TypeAlias = Literal["count", "people", "sum", "squares", "rank"]


@dataclass(frozen=True)
class Part:
    """One noisy vector of integers: its role, what a unit adds to it, its noise, and what it cannot exceed.

    `scale` is that of the discrete Laplace noise in steps, at least sensitivity/ε; `total` the public range
    of one cell's total, to which it is clamped before noise (1-Lipschitz, so the sensitivity stays).
    """

    role: Role
    epsilon: Fraction
    contribution: Contribution
    sensitivity: int
    scale: Fraction
    total: tuple[int, int] | None


@dataclass(frozen=True)
class RankPart(Part):
    """One choice of a bin: the quantile numerator/denominator, moved by `shift`.

    All of it, `sensitivity` and `scale` too, counts in rows/denominator: see `release/ranks.py`.
    """

    numerator: int
    denominator: int
    shift: int


@dataclass(frozen=True)
class Plan:
    """A priced-to-be query: parts, cells, grid, and the statement."""

    query: Query
    policy: Policy
    condition: Condition | None
    cells: Cells
    grid: Grid | None
    centre: int
    parts: tuple[Part, ...]
    exact_count: int | None

    @property
    def text(self) -> str:
        """The query in one normal form, for the ledger."""
        query = self.query
        words: list[str] = [query.statistic]
        words += [f"of {named(query.column)}"] if query.column else []
        words += [f"at {list(query.quantiles)}"] if query.quantiles is not None else []
        words += [f"in {query.bins} bins"] if query.bins is not None else []
        words += [f"with edges {list(query.edges)}"] if query.edges is not None else []
        words += [f"where {to_text(self.condition)}"] if self.condition is not None else []
        words += [f"by {', '.join(map(named, query.by))}"] if query.by else []
        return " ".join(words)

    @property
    def bounded(self) -> bool:
        """Whether only `max_rows` rows of a unit are used. People counted all together need no such bound."""
        return self.query.statistic != "distinct" or bool(self.cells.axes)

    @property
    def groups(self) -> Cells:
        """What an answer has a row for; the bins of quantiles are not among them."""
        return Cells(self.cells.axes[:-1]) if self.query.statistic in RANKS else self.cells

    def labels(self) -> list[dict[str, Key]]:
        """The keys of each row of the answer."""
        several = self.query.quantiles or ()
        if len(several) < 2:
            return self.groups.labels()
        return [{**keys, "quantile": str(q)} for keys in self.groups.labels() for q in several]

    @cached_property
    def used_columns(self) -> tuple[str, ...]:
        """The policy's columns that the statement reads."""
        names = {node.this.name for node in self.logical().find_all(Read, Steps)}
        return tuple(name for name in self.policy.columns if name in names)

    def logical(self) -> exp.Select:
        """The statement in our own words: for each cell that is not empty its codes, then a total a part."""
        return statement_of([self])

    @property
    def tree(self) -> exp.Expression:
        """The statement for DuckDB, whatever the types of the table's columns are."""
        return Integers({}).lower(self.logical())

    def value(self) -> exp.Expression:
        """The row's integer, 1 for a count of rows, its id for one of people; NULL where it has none."""
        if self.query.statistic == "distinct":
            return Read(this=column(self.policy.id_column or ""), kind="id")
        name = self.query.column
        if self.grid is None or name is None:
            return exp.Literal.number(1)
        known = self.policy.columns[name]
        assert known.bounds is not None
        return self.grid.tree(name, known.bounds, known.fill, centre=self.centre)

    def totals(self, value: exp.Column) -> list[exp.Expression]:
        """For each part what is taken together of `value`, which is NULL or an integer, over a cell."""
        return [self._total(part, value) for part in self.parts]

    def _total(self, part: Part, value: exp.Column) -> exp.Expression:
        if part.role in ("count", "rank"):
            return exp.Count(this=exp.Star() if self.grid is None else value.copy())
        if part.role == "people":
            return exp.Count(this=exp.Distinct(expressions=[value.copy()]))
        if part.role == "sum":
            return Total(this=value.copy(), largest=self._largest())
        squared = exp.Mul(this=value.copy(), expression=value.copy())
        centre = exp.Literal.number(-part.contribution.low)
        # The squares themselves pass through the engine too, so that they are what may not be beyond.
        largest = part.contribution.high - part.contribution.low
        return Total(this=exp.Paren(this=exp.Sub(this=squared, expression=centre)), largest=largest)

    def _largest(self) -> int:
        """What no integer of a row is beyond, neither before the centre is taken off nor after."""
        assert self.grid is not None
        ends = (self.grid.low, self.grid.high)
        return max(abs(end - shift) for end in ends for shift in (0, self.centre))


def statement_of(plans: Sequence[Plan]) -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all."""
    first = plans[0]
    axes = first.cells.axes
    names = [f"v{index}" for index in range(len(plans))]
    values = [aliased(plan.value(), name) for plan, name in zip(plans, names, strict=True)]
    keys = [aliased(axis.tree.copy(), f"k{index}") for index, axis in enumerate(axes)]
    inner = exp.Select(expressions=keys + values).from_(
        _base(first.policy, bounded=first.bounded), copy=False
    )
    if first.condition is not None:
        inner = inner.where(to_tree(first.condition, first.policy), copy=False)
    codes = [column(f"k{index}") for index in range(len(axes))]
    totals = [total for plan, name in zip(plans, names, strict=True) for total in plan.totals(column(name))]
    outer = exp.Select(expressions=[*(code.copy() for code in codes), *totals])
    outer = outer.from_(inner.subquery("cells", copy=False), copy=False)
    # Keys that are not public are dropped after they were added up: a test per group, not per row. Engines
    # that move such a test in front of the addition by themselves may.
    for axis, code in zip(axes, codes, strict=True):
        outer = outer.having(axis.listed(code.copy()), copy=False)
    return outer.group_by(*codes, copy=False) if codes else outer


def _base(policy: Policy, *, bounded: bool = True) -> exp.Expression:
    """The table; where an id is the unit, at most `max_rows` rows of each id and none without an id.

    Rows without an id are left out because strangers would share one quota. Which rows are kept follows from
    the unit's own rows alone: they are ordered by all that a query can see, so that ties do not matter.
    """
    source = exp.Table(this=exp.Identifier(this=SOURCE, quoted=True))
    if policy.id_column is None or not bounded:
        return source
    order = exp.Order(
        expressions=[
            exp.Ordered(this=typed_column(name, policy), nulls_first=False) for name in policy.columns
        ]
    )
    unit = Read(this=column(policy.id_column), kind="id")
    number = exp.Window(this=exp.RowNumber(), partition_by=[unit], order=order)
    known = exp.Not(this=exp.Is(this=column(policy.id_column), expression=exp.Null()))
    # By name: under a star, a column of the table could bear the name of the row number and replace it.
    seen = [column(name) for name in dict.fromkeys((policy.id_column, *policy.columns))]
    place = _free_name("leakcap_row_number", (policy.id_column, *policy.columns))
    ranked = exp.Select(expressions=[*seen, aliased(number, place)]).from_(source).where(known)
    kept = exp.LTE(this=column(place), expression=exp.Literal.number(policy.rows_per_unit))
    return exp.Select(expressions=[exp.Star()]).from_(ranked.subquery("ranked")).where(kept).subquery("units")


def _free_name(name: str, taken: Sequence[str]) -> str:
    """A name that no column bears, whatever its case: another one would be read in its place."""
    lowered = {other.lower() for other in taken}
    while name in lowered:
        name += "_"
    return name


def units_statement(policy: Policy) -> exp.Select:
    """The statement, in our own words, that counts the privacy units of the table."""
    source = exp.Table(this=exp.Identifier(this=SOURCE, quoted=True))
    counted: exp.Expression = exp.Star()
    if policy.id_column is not None:
        counted = exp.Distinct(expressions=[Read(this=column(policy.id_column), kind="id")])
    return exp.Select(expressions=[exp.Count(this=counted)]).from_(source)


def plan_query(query: Query, policy: Policy) -> Plan:
    """Check a query against the policy and plan it. Raises `InvalidQuery`; touches no data."""
    condition = None if query.where is None else parse_where(query.where, policy)
    if query.statistic in RANKS and query.bins is None and query.edges is None:
        query = replace(query, bins=BINS)
    cells = cells_of(query, policy)
    try:
        return _plan(query, policy, condition, cells)
    except InvalidParameter:
        raise InvalidQuery(
            f"`epsilon` of query `{query.name}` is out of the range that noise can be drawn for exactly. "
            f"Got {query.epsilon!r}."
        ) from None


def _plan(query: Query, policy: Policy, condition: Condition | None, cells: Cells) -> Plan:
    if query.statistic in ("count", "histogram"):
        counts = (_part("count", (1, 1), _as_printed(query.epsilon), policy, cells.size),)
        return Plan(query, policy, condition, cells, None, 0, counts, None)
    if query.statistic in RANKS:
        return _plan_ranks(query, policy, condition, cells)
    if query.statistic == "distinct":
        return _plan_people(query, policy, condition, cells)
    known = policy.columns.get(query.column or "")
    if known is None:
        raise InvalidQuery(
            f"`column` of query `{query.name}` names `{query.column}`, which is not a column of the policy."
        )
    if known.bounds is None:
        raise InvalidQuery(
            f"`{query.column}` has no `bounds` in the policy, which a {query.statistic} needs."
        )
    everyone = (
        policy.neighbours == "replace-one"
        and policy.rows_per_unit == 1
        and not (condition or query.by)
        and known.fill is not None
    )
    if query.statistic in SPREADS:
        return _plan_spread(query, policy, condition, cells, everyone=everyone)
    # A mean over a public number of units needs no noisy count; any other mean pays for both.
    shared = query.statistic == "mean" and not everyone
    epsilon = _as_printed(query.epsilon) / (2 if shared else 1)
    low, high = Fraction(known.bounds[0]), Fraction(known.bounds[1])
    furthest = high - low if everyone or shared else 2 * max(abs(low), abs(high))
    grid = grid_for(known.bounds, scale=policy.rows_per_unit * furthest / epsilon)
    centre = (grid.low + grid.high) // 2 if shared else 0
    reach = (grid.low - centre, grid.high - centre)
    parts: tuple[Part, ...] = (_part("sum", reach, epsilon, policy, cells.size, every=everyone),)
    if shared:
        parts += (_part("count", (1, 1), epsilon, policy, cells.size),)
    exact = policy.rows if query.statistic == "mean" and everyone else None
    return Plan(query, policy, condition, cells, grid, centre, parts, exact)


def _plan_people(query: Query, policy: Policy, condition: Condition | None, cells: Cells) -> Plan:
    """How many units have a row that counts; in groups a unit is in as many as it has rows, at most."""
    if policy.id_column is None:
        raise InvalidQuery(
            f"Query `{query.name}` counts people, but the policy's unit is a row. "
            "Count rows, or give the policy a unit with an `id`."
        )
    cellwise = Presence(0, 1, min(policy.rows_per_unit, cells.size), cells.size)
    people = _priced("people", _as_printed(query.epsilon), cellwise, policy)
    return Plan(query, policy, condition, cells, None, 0, (people,), None)


def _plan_ranks(query: Query, policy: Policy, condition: Condition | None, cells: Cells) -> Plan:
    """For each quantile the bin itself, for half of its ε, and the two ends of its interval."""
    wanted = ranks_of(query.statistic, query.quantiles)
    bins = len(cells.axes[-1].labels)
    needed = cells.size * len(wanted)
    if needed > MOST_COUNTS:
        raise InvalidQuery(
            f"Query `{query.name}` needs {needed:,} counts; at most {MOST_COUNTS:,} are allowed. "
            "Take fewer bins, groups or quantiles."
        )
    # The ends of a range of quartiles must hold together.
    beyond = 0.05 / (2 * (len(wanted) if query.statistic == "interquartile_range" else 1))
    parts: list[Part] = []
    for rank in map(_as_printed, wanted):
        share = _as_printed(query.epsilon) / len(wanted)
        end = _rank_part(rank, share / 4, policy, cells.size // bins)
        shift = shift_for(end.scale, bins, beyond)
        parts.append(_rank_part(rank, share / 2, policy, cells.size // bins))
        parts += [replace(end, shift=-shift), replace(end, shift=shift)]
    return Plan(query, policy, condition, cells, None, 0, tuple(parts), None)


def _rank_part(rank: Fraction, epsilon: Fraction, policy: Policy, groups: int) -> RankPart:
    above, per_row = rank.numerator, rank.denominator
    contribution = Contribution(-above, per_row - above, policy.rows_per_unit, groups)
    sensitivity = contribution.sensitivity(replace=policy.neighbours == "replace-one")
    rational_scale(1, epsilon)  # ε within the range of all the other statistics
    total = None if policy.units is None else (0, policy.units * policy.rows_per_unit)
    scale = Fraction(sensitivity) / epsilon
    return RankPart("rank", epsilon, contribution, sensitivity, scale, total, above, per_row, 0)


def _plan_spread(
    query: Query, policy: Policy, condition: Condition | None, cells: Cells, *, everyone: bool
) -> Plan:
    """Rows, sum and sum of squares; the count is free where the number of units is public."""
    bounds = policy.columns[query.column or ""].bounds
    assert bounds is not None
    epsilon = _as_printed(query.epsilon) / (2 if everyone else 3)
    grid = spread_grid(bounds, rows=policy.rows_per_unit, epsilon=epsilon)
    centre = (grid.low + grid.high) // 2
    reach = (grid.low - centre, grid.high - centre)
    parts: tuple[Part, ...] = (
        _part("sum", reach, epsilon, policy, cells.size, every=everyone),
        _part("squares", square_reach(reach)[1], epsilon, policy, cells.size, every=everyone),
    )
    if not everyone:
        parts += (_part("count", (1, 1), epsilon, policy, cells.size),)
    return Plan(query, policy, condition, cells, grid, centre, parts, policy.rows if everyone else None)


def _part(
    role: Role, reach: tuple[int, int], epsilon: Fraction, policy: Policy, cells: int, *, every: bool = False
) -> Part:
    return _priced(
        role, epsilon, Contribution(reach[0], reach[1], policy.rows_per_unit, cells, every), policy
    )


def _priced(role: Role, epsilon: Fraction, contribution: Contribution, policy: Policy) -> Part:
    sensitivity = contribution.sensitivity(replace=policy.neighbours == "replace-one")
    scale = rational_scale(sensitivity, epsilon)
    total = None if policy.units is None else contribution.total(policy.units)
    return Part(role, epsilon, contribution, sensitivity, scale, total)


def _as_printed(number: float) -> Fraction:
    """The decimal that was asked for: 0.3 is 3/10, and its halves add up to it."""
    return Fraction(Decimal(repr(float(number))))


def read_totals(plan: Plan, rows: list[tuple[object, ...]]) -> list[list[int]]:
    """For each part the clamped total of every cell, empty ones included, in the order of the cells."""
    width = len(plan.cells.axes)
    found = {tuple(row[:width]): row[width:] for row in rows}
    nothing = (0,) * len(plan.parts)
    answer: list[list[int]] = []
    for index, part in enumerate(plan.parts):
        totals = [found.get(code, nothing)[index] for code in plan.cells.codes()]
        answer.append([_clamped(total, part.total) for total in totals])
    return answer


def _clamped(total: object, reach: tuple[int, int] | None) -> int:
    if not isinstance(total, int):
        raise DataError("The engine did not return integers.")
    return total if reach is None else max(reach[0], min(reach[1], total))
