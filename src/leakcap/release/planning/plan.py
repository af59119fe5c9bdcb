"""From a query and a policy to what is computed and which noise it gets. No data, no noise.

What a statistic is made of stands in `release/statistics/`, one family a file; the statement in
`release/planning/statements.py`; the noise in `release/measurements/measurement.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from sqlglot import exp

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger.ticks import LARGEST
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Cells, require_few, split_axis
from leakcap.release.columns.joins import joined_policy
from leakcap.release.columns.people import require_no_delta
from leakcap.release.columns.typed import Bin, Quantize, ReadColumn, tree_nodes
from leakcap.release.columns.within import require_apart_from, require_told_apart
from leakcap.release.conditions.condition import columns_named, named, to_text
from leakcap.release.conditions.declared import with_cases
from leakcap.release.conditions.where import parse_where
from leakcap.release.conditions.written import is_written, with_written
from leakcap.release.measurements.measurement import NoisyMeasurement, Offer
from leakcap.release.measurements.rho import largest_rho, pure_epsilon_of_rho
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.planning.better import better_plan, plan_as_priced
from leakcap.release.planning.thresholds import plan_with_threshold
from leakcap.release.query import QueryFields
from leakcap.release.statistics import statistic_of
from leakcap.sampling.rational import printed

__all__ = [
    "cells_of",
    "columns_in",
    "plan_at",
    "plan_query",
    "rows_text",
    "text_of",
    "used_columns",
    "with_columns",
]

# A text, or a name in double quotes: what stands in a text is no name.
_QUOTED = re.compile(r"""'[^']*'|"((?:[^"]|"")*)\"""")


def text_of(plan: Plan) -> str:
    """The query in one normal form, for the ledger."""
    query = plan.query
    statistic = statistic_of(query)
    words = [query.statistic, *statistic.canonical_text(query), *statistic.reads_as(query, plan.policy)]
    words += _decimals_read(plan)
    words += _rows_words(plan)
    words += [f"with delta {query.delta!r}"] if query.delta is not None else []
    words += [f"with {query.noise} noise"] if query.noise != "laplace" else []
    return " ".join(words)


def rows_text(plan: Plan) -> str:
    """Which rows in which groups a query is about, in its normal form; a space stands before each part."""
    return "".join(f" {words}" for words in _rows_words(plan))


def _rows_words(plan: Plan) -> list[str]:
    query = plan.query
    words = [f"join {', '.join(query.join)}"] if query.join else []
    words += [f"where {to_text(plan.condition)}"] if plan.condition is not None else []
    words += [f"by {', '.join(map(named, query.by))}"] if query.by else []
    return words + [f"cut {named(name)} at {list(edges)}" for name, edges in query.cut]


def _decimals_read(plan: Plan) -> list[str]:
    """Which columns are read as decimals: with other places the same query is another one."""
    columns, used = plan.policy.columns, plan.policy.followed(used_columns(plan))
    found = [
        f"{named(name)} ({columns[name].places})" for name in columns if name in used and columns[name].places
    ]
    return [f"with decimals {', '.join(found)}"] if found else []


def used_columns(plan: Plan) -> tuple[str, ...]:
    """The policy's columns that the statement reads: for values, cells and the condition, and all of a joined
    table, by which its rows are ordered. Ids and keys are for `check_schema` to add.
    """
    policy = plan.policy
    asked = set() if plan.condition is None else _read_for(columns_named(plan.condition), policy)
    asked |= {f"{table}.{name}" for table in plan.query.join for name in policy.tables[table].stored}
    asked |= {*columns_in((*plan.values, *(axis.tree for axis in plan.cells.axes)), policy)}
    return tuple(name for name in policy.columns if name in asked)


def columns_in(trees: Iterable[exp.Expression], policy: Policy) -> tuple[str, ...]:
    """The policy's columns that are read in what a statement is made of, in the policy's order."""
    read = {node.this.name for tree in trees for node in tree_nodes(tree, ReadColumn, Quantize, Bin)}
    return tuple(name for name in policy.columns if name in read)


def _read_for(names: Iterable[str], policy: Policy) -> set[str]:
    """The columns that a statement reads for these: stored ones, and computed ones, which it makes below."""
    seen, left = set[str](), list(names)
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += () if _is_read(policy.columns[name]) else policy.columns[name].sources
    return {name for name in seen if _is_read(policy.columns[name])}


def _is_read(known: Column) -> bool:
    return known.stored or known.calculated


def cells_of(query: QueryFields, policy: Policy) -> Cells:
    """The cells of a query. Raises `InvalidQuery` where `by` or the histogram has no public keys or bins."""
    axes = [split_axis(column, policy, query) for column in query.by]
    groups = Cells(tuple(axes))
    axes += statistic_of(query).axes(query, policy, 1 if groups.open else groups.size)
    if len({axis.column for axis in axes}) < len(axes):
        raise InvalidQuery(f"`by` of query `{query.name}` repeats the column of the {query.statistic}.")
    cells = Cells(tuple(axes))
    if any(axis.within for axis in axes):
        _check_nested(query, cells)
    if not cells.open:
        require_few(cells.size, query)
    return cells


def _check_nested(query: QueryFields, cells: Cells) -> None:
    """Raise `InvalidQuery` where keys within others are asked for in a way that is not one cell for each."""
    by, own = cells.axes[: len(query.by)], cells.axes[len(query.by) :]
    owner, whole = f"`by` of query `{query.name}`", f"The {statistic_of(query).label} of query `{query.name}`"
    require_told_apart(by, owner)
    for axes in [[axis] for axis in own] if statistic_of(query).nests else [own]:
        inner = [axis for axis in by if any(one.column in axis.within for one in axes)]
        require_apart_from(axes, inner if statistic_of(query).nests_in_groups else by, whole)
    require_told_apart(cells.axes, whole)
    if cells.open and cells.nested:
        raise InvalidQuery(
            f"{owner} must not have private keys beside a column within another: groups of pairs that the "
            "policy does not list could appear. Leave the outer column out."
        )


def plan_query(query: QueryFields, policy: Policy) -> Plan:
    """Check a query against the policy and plan it. Raises `InvalidQuery`; touches no data."""
    if query.noise == "best":
        return better_plan(query, policy, plan_at)
    return plan_at(query, policy, None) if query.rho is None else plan_as_priced(query, policy, plan_at)


def plan_at(query: QueryFields, policy: Policy, offer: Offer | None) -> Plan:
    """The plan of a query whose noise is known, for what it offers, or for this offer in its place."""
    for money, price in (("epsilon", query.epsilon), ("rho", query.rho)):
        if price is not None and price > LARGEST:
            raise InvalidQuery(
                f"`{money}` of query `{query.name}` must be at most {LARGEST:,}, which is no protection at "
                f"all. Got {price!r}."[:200]
            )
    query, policy = with_columns(query, policy)
    if query.delta is not None:
        require_no_delta(policy, query.name)
    called = f"`where` of query `{query.name}`"
    condition = None if query.where is None else parse_where(query.where, policy, called=called)
    query = statistic_of(query).with_defaults(query)
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
        return _accounted(statistic_of(query).plan(asked))
    except InvalidParameter:
        name, price = ("epsilon", query.epsilon) if query.rho is None else ("rho", query.rho)
        raise InvalidQuery(
            f"`{name}` of query `{query.name}` is out of the range that noise can be drawn for exactly. "
            f"Got {price!r}."
        ) from None


def with_columns(query: QueryFields, policy: Policy) -> tuple[QueryFields, Policy]:
    """The query, and the policy with the columns that it joins and those that it derives."""
    if query.join:
        policy = joined_policy(policy, query.join, owner=f"query `{query.name}`")
    if policy.has_cases:
        policy = with_cases(policy)
    return with_written(query, policy) if _writes(query) else (query, policy)


def _writes(query: QueryFields) -> bool:
    """Whether it may write columns of its own: those have parentheses or signs, or are a CASE or bands."""
    names = filter(None, (*query.by, *(query.columns or ()), query.column, query.over))
    conditions = (query.where or "", query.when or "")
    quoted = (one[1] or "" for text in conditions for one in _QUOTED.finditer(text))
    return any(map(is_written, (*names, *quoted))) or any(
        word in condition.upper()
        for condition in conditions
        for word in ("CASE", "EXTRACT", "DATE_TRUNC", "FLOOR", "%")
    )


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


def _offer(query: QueryFields, policy: Policy) -> Offer:
    """What a query offers: ε, or the ρ that its ε buys at the policy's δ, or the other way round."""
    if query.noise == "gaussian":
        if query.rho is not None:
            return Offer(policy, rho=printed(query.rho))
        assert query.epsilon is not None
        if not policy.caps.delta:
            raise InvalidQuery(
                f"`epsilon` of query `{query.name}` says nothing of Gaussian noise without a δ, and the "
                "policy's `caps` have no `delta`. Ask for a `rho`."
            )
        return Offer(policy, rho=Fraction(largest_rho(query.epsilon, policy.caps.delta)))
    epsilon = query.epsilon if query.rho is None else pure_epsilon_of_rho(query.rho)
    assert epsilon is not None
    return Offer(policy, epsilon=printed(epsilon))


def _check_noise(query: QueryFields, policy: Policy, *, open_: bool) -> None:
    """Raise `InvalidQuery` where Gaussian noise has no place."""
    if query.noise == "laplace":
        return
    owner = f"`noise` of query `{query.name}`"
    if not statistic_of(query).has_noise:
        raise InvalidQuery(
            f"{owner} must be left out of a {statistic_of(query).label}, which is drawn in its own way."
        )
    if open_:
        raise InvalidQuery(f"{owner} must be laplace, or left out, where groups have private keys.")
    # From a slot it is paid for already, at the plan's own δ.
    if not (policy.caps.has_room_for_gaussian or (query.slot and policy.caps.delta)):
        raise InvalidQuery(
            f"{owner} must be laplace, or left out: Gaussian noise needs a δ for all answers together beside "
            "a cap on ε, and the policy's `caps` leave none (`delta`). Only the owner can allow one."
        )
    if policy.caps.each_person:
        raise InvalidQuery(
            f"{owner} must be laplace, or left out: the caps that people bring themselves "
            "(`caps.each_person`) are on ε alone, and Gaussian noise has none without a δ."
        )
