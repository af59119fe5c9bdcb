"""What a row is for a column of the policy, stored or derived, in the words of `columns/typed.py`.

A derived column is an expression over stored ones. Most operations give a **code** in a key's place, an
integer that every engine finds alike: `codes` says which key it stands for. What is missing is NULL, as is
the period of a date outside its bounds; and what could make an engine stop, such as the year of a date that
is infinite, is only computed within the bounds.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from sqlglot import exp

from leakcap.policy.declared import Column, Key
from leakcap.policy.derived import periods
from leakcap.policy.document import Policy
from leakcap.policy.resolving import days_of
from leakcap.release.columns.typed import COMPARISONS, Bin, DatePart, cast, column, literal, stored_column

__all__ = ["code_literal", "codes", "typed_column"]

_NUMBERED = {"quarter": 4, "month": 12}


def typed_column(name: str, policy: Policy) -> exp.Expression:
    """A column as the policy's kind, a derived one as its code; NULL where it is missing."""
    known = policy.columns[name]
    if known.stored:
        return stored_column(name, known)
    sources = [stored_column(one, policy.columns[one]) for one in known.sources]
    first = policy.columns[known.sources[0]]
    if known.compare is not None:
        return exp.Paren(this=COMPARISONS[known.compare](this=sources[0], expression=sources[1]))
    if known.cuts is not None:
        return _band(known, known.sources[0], first)
    if known.truncate is not None or known.part is not None:
        return _of_date(known, _day(sources[0], first), *days_of(first))
    value = sources[0]
    if known.prefix is not None:
        one, length = exp.Literal.number(1), exp.Literal.number(known.prefix)
        value = exp.Substring(this=value, start=one, length=length)
    return value if known.groups is None else _group(value, _members(known), first.kind)


def _members(known: Column) -> list[tuple[str | int, ...]]:
    """What each group stands for, in the order of the keys."""
    groups = known.groups or {}
    return [groups[str(key)] for key in known.keys or ()]


def codes(name: str, policy: Policy) -> Mapping[Key, Key]:
    """From what `typed_column` is to the public key that it stands for.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0, 120]}, "band": {"from": "age", "cuts": [65]}}})
    >>> codes("band", policy)
    {0: 'under 65', 1: '65 and over'}
    """
    known = policy.columns[name]
    if known.truncate is not None:
        named = periods(known.truncate, *days_of(policy.columns[known.sources[0]]))
        return {code: named[code] for code in named}
    keys = known.keys or ()
    if known.cuts is not None or known.groups is not None:
        return dict(enumerate(keys))
    return {key: key for key in keys}


def code_literal(value: Key | float | datetime.date, name: str, policy: Policy) -> exp.Expression:
    """A constant as `typed_column` has it: of a key its code."""
    known = policy.columns[name]
    if known.truncate is None and known.cuts is None and known.groups is None:
        return literal(value, known.kind)
    (code,) = [code for code, key in codes(name, policy).items() if key == value]
    return literal(code, "integer")


def _day(value: exp.Expression, source: Column) -> exp.Expression:
    """A date, or the date of a moment."""
    return value if source.dates is not None else cast(value, "DATE")


def _band(known: Column, name: str, source: Column) -> exp.Expression:
    """The number of the band, from 0 on."""
    cuts = known.cuts or ()
    if source.bounds is not None:
        low, high = source.bounds
        numbers = [float(cut) for cut in cuts if not isinstance(cut, datetime.date)]
        return Bin(this=column(name), edges=(low, *numbers, high))
    value = _day(stored_column(name, source), source)
    ifs = [
        exp.If(
            this=exp.LT(this=value.copy(), expression=literal(cut, "date")),
            true=exp.Literal.number(place),
        )
        for place, cut in enumerate(cuts)
    ]
    last = exp.GTE(this=value.copy(), expression=literal(cuts[-1], "date"))
    return exp.Case(ifs=[*ifs, exp.If(this=last, true=exp.Literal.number(len(cuts)))])


def _of_date(known: Column, day: exp.Expression, first: datetime.date, last: datetime.date) -> exp.Expression:
    """The number of the date's period, or a part of it; NULL outside the bounds."""
    low, high = literal(first, "date"), literal(last, "date")
    within = exp.Between(this=day.copy(), low=low, high=high)
    return exp.Case(ifs=[exp.If(this=within, true=_number(known, day))])


def _number(known: Column, day: exp.Expression) -> exp.Expression:
    def part(name: str) -> exp.Expression:
        return DatePart(this=day.copy(), part=name)

    unit = known.truncate
    if unit is None:
        return part(known.part or "year")
    if unit in ("year", "day"):
        return part("year" if unit == "year" else "days")
    if unit == "week":
        days = exp.Paren(this=exp.Mod(this=part("days"), expression=exp.Literal.number(7)))
        return exp.Sub(this=part("days"), expression=days)
    years = exp.Mul(this=part("year"), expression=exp.Literal.number(_NUMBERED[unit]))
    return exp.Add(this=years, expression=part(unit))


def _group(value: exp.Expression, groups: Sequence[Sequence[Key]], kind: str) -> exp.Expression:
    ifs = [
        exp.If(
            this=exp.In(this=value.copy(), expressions=[literal(one, kind) for one in members]),
            true=exp.Literal.number(place),
        )
        for place, members in enumerate(groups)
    ]
    return exp.Case(ifs=ifs)
