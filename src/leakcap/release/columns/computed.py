"""Columns that are computed from others, as columns of a reading of their own that stands under a statement.

Each is a double that every engine finds alike: sums, differences, products and quotients of doubles are
rounded to the nearest by all of them (IEEE 754). A number is first clamped to its bounds, so that what is
missing stays missing, infinities count as the bounds, and nothing overflows. A factor or a dividend closer to
zero than `SMALLEST` counts as zero: PostgreSQL stops at a product that is too small for a double.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence

from sqlglot import exp

from leakcap.policy.arithmetic import days_of, exact_places, is_dated, range_of
from leakcap.policy.derived import SMALLEST
from leakcap.policy.document import Policy
from leakcap.release.columns.decimals import rounded_away
from leakcap.release.columns.derived import NumberColumn, day_of_column, typed_column
from leakcap.release.columns.typed import Calculated, DatePart, aliased, cast, column, literal, number_column

__all__ = ["clamped", "plainly_named", "with_computed"]

_LONGEST = 40
_OPERATIONS: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div}


def with_computed(
    rows: exp.Expression, wanted: Sequence[str], policy: Policy, beside: Sequence[str]
) -> exp.Expression:
    """The `rows`, with the computed columns `wanted` beside those of `beside`, which are stored.

    `rows` has the stored columns that they follow from. What is computed from what is computed is a reading
    above it: so every number is computed once, however often it is asked about.
    """
    kept = dict.fromkeys((*beside, *policy.stored_of(wanted)))
    followed = policy.followed(wanted)
    every = [name for name in policy.columns if name in followed and _computed(name, policy)]
    below = {name: set(every) & policy.followed(policy.columns[name].sources) for name in every}
    names, done = list(kept), set[str]()
    while len(done) < len(every):
        ready = [name for name in every if name not in done and below[name] <= done]
        added = [aliased(Calculated(this=_tree(one, policy), name=one), one) for one in ready]
        layer = exp.Select(expressions=[*map(column, names), *added]).from_(rows, copy=False)
        rows = layer.subquery(f"computed{len(done)}", copy=False)
        names, done = [*names, *ready], done | set(ready)
    return rows


def _computed(name: str, policy: Policy) -> bool:
    return policy.columns[name].calculated


def _tree(name: str, policy: Policy) -> exp.Expression:
    known = policy.columns[name]
    if isinstance(known, NumberColumn):
        return known.tree.copy()
    sources = [policy.columns[one] for one in known.sources]
    if len(sources) == 2 and all(map(is_dated, sources)):
        days = [_days(one, policy) for one in known.sources]
        return cast(exp.Paren(this=exp.Sub(this=days[0], expression=days[1])), "DOUBLE")
    left, right = known.operands
    one = _operand(name, left, policy, factor=known.compute in ("*", "/"))
    other = _operand(name, right, policy, factor=known.compute == "*")
    found = exp.Paren(this=_OPERATIONS[known.compute or "+"](this=one, expression=other))
    exact = exact_places(known, policy.columns)
    if exact is None or known.places is None:
        return found
    return rounded_away(found, min(known.places, exact), exact)


def clamped(operand: str | float, policy: Policy) -> exp.Expression:
    """A number, or a column with bounds as a double within them; NULL where it is missing."""
    return _operand(str(operand), operand, policy, factor=False)


def _operand(name: str, operand: str | float, policy: Policy, *, factor: bool) -> exp.Expression:
    """A number, or a column as one that is clamped to its bounds."""
    if not isinstance(operand, str):
        return literal(operand, "number")
    if policy.columns[operand].bounds is None:
        return cast(typed_column(operand, policy), "DOUBLE")
    # As a double also where it has integers as keys: no integer type holds the size of its least number.
    value = number_column(operand)
    low, high = range_of(name, operand, policy.columns)
    ifs = [
        exp.If(
            this=exp.GT(this=value.copy(), expression=literal(high, "number")), true=literal(high, "number")
        ),
        exp.If(
            this=exp.LT(this=value.copy(), expression=literal(low, "number")), true=literal(low, "number")
        ),
    ]
    if factor:
        small = exp.LT(this=exp.Abs(this=value.copy()), expression=literal(SMALLEST, "number"))
        ifs.append(exp.If(this=small, true=literal(0.0, "number")))
    return exp.Case(ifs=ifs, default=value)


def _days(name: str, policy: Policy) -> exp.Expression:
    """The day's number; of a date outside the bounds that of the nearest day within."""
    known = policy.columns[name]
    day, ends = day_of_column(name, known), [_literal(one) for one in days_of(known)]
    ifs = [
        exp.If(this=exp.LT(this=day.copy(), expression=ends[0]), true=ends[0].copy()),
        exp.If(this=exp.GT(this=day.copy(), expression=ends[1]), true=ends[1].copy()),
    ]
    return DatePart(this=exp.Case(ifs=ifs, default=day), part="days")


def _literal(day: datetime.date) -> exp.Expression:
    return literal(day, "date")


def plainly_named(tree: exp.Select, policy: Policy) -> exp.Select:
    """The same with short names of columns that are made here and called by the text that makes them.

    Engines cut long names, and hold `"CASE WHEN a = 'x' …"` and `"CASE WHEN a = 'X' …"` for one.
    """
    made = [name for name, known in policy.columns.items() if known.calculated]
    long = {name: _short(name) for name in made if not name.isidentifier() or len(name) > _LONGEST}
    if long:
        for node in tree.find_all(exp.Identifier, Calculated):
            key = "this" if isinstance(node, exp.Identifier) else "name"
            if node.args[key] in long:
                node.set(key, long[node.args[key]])
    return tree


def _short(name: str) -> str:
    return f"leakcap_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
