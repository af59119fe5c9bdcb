"""The rows of those people whose own caps have room, before anything else is done with the data.

Where the policy limits the rows of a person, an answer describes the rows kept.

The least cap that is still counted is public: it follows from the prices of earlier queries alone, and the
ledger says it with the entry (`docs/ledger.md`). Whether a person's rows are kept follows from it and from
these rows alone, so that a person's rows are all kept or all dropped, whatever other people have set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.typed import ReadColumn, aliased, column, free_name, literal, source_table

__all__ = [
    "TABLE",
    "Coverage",
    "Covers",
    "counted_people",
    "counted_words",
    "groups_kept",
    "require_no_delta",
    "rows_kept",
]

Covers: TypeAlias = Literal["table", "rows kept"]
"""Whose figure an interval holds: that of all the rows asked about, or that of the rows kept. Of a survey the
row called `population` is about the population, and its `RowRecord` says so."""


@dataclass(frozen=True)
class Coverage:
    """Whose figure the intervals of an answer hold, and in words what else a reader has to know of it.

    >>> Coverage().covers
    'table'
    """

    covers: Covers = "table"
    about: str = ""


TABLE = Coverage()
"""Of an answer that uses all the rows that it asks about."""


def counted_people(policy: Policy, read: Sequence[str], people_from: float | None) -> exp.Expression:
    """The data, with its columns of `read` and the id: of people whose cap is `people_from` or more.

    A person whose rows disagree has the least of their caps. One with a cap that is missing, is no number or
    lies below every level in any row is left out; so are rows without an id.
    """
    source = source_table()
    if people_from is None or policy.caps_column is None:
        return source
    enough = exp.GTE(
        this=ReadColumn(this=column(policy.caps_column), kind="number"),
        expression=literal(people_from, "number"),
    )
    names = list(dict.fromkeys([*_id(policy), policy.caps_column, *read]))
    if policy.id_column is None:
        some = exp.Select(expressions=[*map(column, names)]).from_(source, copy=False)
        return some.where(enough, copy=False).subquery("counted", copy=False)
    unit = ReadColumn(this=column(policy.id_column), kind="id")
    mark = free_name("leakcap_counted", names)
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    each = exp.Case(ifs=[exp.If(this=enough, true=one)], default=none)
    every = exp.Window(this=exp.Min(this=each), partition_by=[unit])
    known = exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null()))
    marked = exp.Select(expressions=[*map(column, names), aliased(every, mark)]).from_(source, copy=False)
    marked = marked.where(known, copy=False)
    kept = exp.EQ(this=column(mark), expression=one.copy())
    chosen = exp.Select(expressions=[*map(column, names)])
    chosen = chosen.from_(marked.subquery("marked", copy=False), copy=False)
    return chosen.where(kept, copy=False).subquery("counted", copy=False)


def _id(policy: Policy) -> list[str]:
    return [] if policy.id_column is None else [policy.id_column]


def require_no_delta(policy: Policy, name: str) -> None:
    """Raise `InvalidQuery` for a query, which has a δ, where people have caps of their own."""
    if policy.caps_column is not None:
        raise InvalidQuery(
            f"Query `{name}` has a `delta`, and people's own caps (`unit.caps`) are caps on ε alone. Ask for "
            "what needs no `delta`: groups with public keys."
        )


def counted_words(people_from: float | None) -> str:
    """Whom an answer counts, and of whom it tells nothing; empty where people have no caps of their own.

    >>> counted_words(0.5)
    'Counted: people whose own cap is 0.5 or more. Of people with a smaller cap, or none, nothing is.'
    """
    if people_from is None:
        return ""
    return (
        f"Counted: people whose own cap is {people_from:.12g} or more. Of people with a smaller cap, or "
        "none, nothing is."
    )


def rows_kept(policy: Policy, *, grouped: bool) -> Coverage:
    """The coverage of an answer that uses at most `max_rows` rows of a person.

    From the policy alone: whether anybody has more is private. The law of the noise says nothing about rows
    that were cut before it.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "unit": {"id": "person", "max_rows": 3}, "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> rows_kept(policy, grouped=False).covers
    'rows kept'
    """
    rows, groups = policy.rows_per_unit, policy.groups_per_unit
    within = f", in at most {groups:,} group{'s' * (groups > 1)}" if grouped and groups < rows else ""
    about = (
        f"About the rows kept, at most {rows:,} of each {policy.id_column}{within}: the 95 % are over the "
        "noise alone, and the figure of all rows may lie further off."
    )
    return Coverage("rows kept", about)


def groups_kept(policy: Policy) -> Coverage:
    """The coverage of an answer about people that counts each in so many groups as the policy uses."""
    groups = policy.groups_per_unit
    about = (
        f"About at most {groups:,} group{'s' * (groups > 1)} of each {policy.id_column}, with all their rows "
        "there: the 95 % are over the noise alone, and the figure of all groups may lie further off."
    )
    return Coverage("rows kept", about)
