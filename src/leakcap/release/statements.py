"""The one statement that runs, in our own words: bounded units, values of rows, totals of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from leakcap.release.condition import to_tree
from leakcap.release.policy import Policy
from leakcap.release.typed import SOURCE, Read, aliased, column, data_type, typed_column

if TYPE_CHECKING:
    from leakcap.release.plan import Plan

__all__ = ["statement_of", "units_statement"]

_LONGEST = 200


def statement_of(plans: Sequence[Plan], seed: str = "") -> exp.Select:
    """One statement for plans over the same cells and condition, so that the table is read once for all.

    `seed` is the ledger's secret, by which rows of a unit that has too many are chosen.
    """
    first = plans[0]
    axes = first.cells.axes
    values = [value for plan in plans for value in plan.values]
    names = [column(f"v{index}") for index in range(len(values))]
    inner = exp.Select(
        expressions=[
            *(aliased(axis.tree.copy(), f"k{index}") for index, axis in enumerate(axes)),
            *(aliased(value.copy(), name.name) for value, name in zip(values, names, strict=True)),
            *([] if axes or values else [aliased(exp.Literal.number(1), "v0")]),
        ]
    ).from_(_base(first, seed), copy=False)
    if first.condition is not None:
        inner = inner.where(to_tree(first.condition, first.policy), copy=False)
    codes = [column(f"k{index}") for index in range(len(axes))]
    totals: list[exp.Expression] = []
    for plan in plans:
        mine, names = names[: len(plan.values)], names[len(plan.values) :]
        totals += [part.aggregate.tree(mine) for part in plan.parts]
    outer = exp.Select(expressions=[*(code.copy() for code in codes), *totals])
    outer = outer.from_(inner.subquery("cells", copy=False), copy=False)
    # Keys that are not public are dropped after they were added up: a test per group, not per row. Engines
    # that move such a test in front of the addition by themselves may.
    for axis, code in zip(axes, codes, strict=True):
        outer = outer.having(axis.listed(code.copy()), copy=False)
    return outer.group_by(*codes, copy=False) if codes else outer


def _base(plan: Plan, seed: str) -> exp.Expression:
    """The table; where an id is the unit, at most `max_rows` rows of each id and none without an id.

    Rows without an id are left out because strangers would share one quota. Which rows are kept follows from
    the unit's own rows alone. They are ordered by a keyed hash of all that a query can see, so that neither
    small nor large values are preferred and nobody without the seed can say which rows are kept; rows that
    are alike in all of it are interchangeable. Where groups are bounded too the groups are ordered by a hash
    of their own before the rows in them: one order serves both bounds.
    """
    policy, source = plan.policy, exp.Table(this=exp.Identifier(this=SOURCE, quoted=True))
    if policy.id_column is None or not plan.bounded:
        return source
    unit = Read(this=column(policy.id_column), kind="id")
    groups = _groups(plan)
    seen = [typed_column(name, policy) for name in policy.columns]
    by_group = _hashed_order(f"g{seed}", [unit, *groups]) if groups else []
    number = _window(exp.RowNumber(), unit, [*by_group, *_hashed_order(f"r{seed}", [unit, *seen])])
    # By name: under a star, a column of the table could bear the name of the row number and replace it.
    names = tuple(dict.fromkeys((policy.id_column, *policy.columns)))
    place, rank = (_free_name(name, names) for name in ("leakcap_row_number", "leakcap_group_number"))
    chosen = [*map(column, names), aliased(number, place)]
    kept: exp.Expression = exp.LTE(this=column(place), expression=exp.Literal.number(policy.rows_per_unit))
    if groups:
        number = _window(exp.Anonymous(this="DENSE_RANK"), unit, by_group)
        chosen.append(aliased(number, rank))
        few = exp.LTE(this=column(rank), expression=exp.Literal.number(policy.groups_per_unit))
        kept = exp.And(this=few, expression=kept)
    known = exp.Not(this=exp.Is(this=column(policy.id_column), expression=exp.Null()))
    ranked = exp.Select(expressions=chosen).from_(source).where(known)
    return exp.Select(expressions=[exp.Star()]).from_(ranked.subquery("ranked")).where(kept).subquery("units")


def _groups(plan: Plan) -> list[exp.Expression]:
    """What the groups that a unit may be in so many of are told apart by; nothing where any number may be."""
    if plan.policy.groups_per_unit >= plan.policy.rows_per_unit:
        return []
    return [axis.tree for axis in plan.cells.axes[: len(plan.query.by)]]


def _window(function: exp.Expression, unit: exp.Expression, order: Sequence[exp.Expression]) -> exp.Window:
    ordered = [exp.Ordered(this=one.copy(), nulls_first=False) for one in order]
    return exp.Window(this=function, partition_by=[unit.copy()], order=exp.Order(expressions=ordered))


def _hashed_order(key: str, contents: Sequence[exp.Expression]) -> list[exp.Expression]:
    """MD5 of the key, the unit and the contents; then, for the case that two hashes meet, the contents.

    Under the unit's id as a part of it, each unit has an order of its own.
    """
    text: exp.Expression = exp.Literal.string(key)
    for content in contents:
        # Of long texts only the start counts: put together they could be longer than an engine allows.
        said: exp.Expression = exp.Cast(this=content.copy(), to=data_type("VARCHAR"))
        said = exp.Left(this=said, expression=exp.Literal.number(_LONGEST))
        said = exp.Coalesce(this=said, expressions=[exp.Literal.string("")])
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("/")), expression=said)
    return [exp.MD5(this=text), *(content.copy() for content in contents[1:])]


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
