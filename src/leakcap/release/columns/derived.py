"""What a row is for a column of the policy, stored or derived, in the words of `columns/typed.py`.

A derived column is an expression over stored ones, or over computed numbers, which are columns of a reading
below (`columns/computed.py`). Most operations give a **code** in a key's place, an integer that every engine
finds alike: `codes` says which key it stands for. What is missing is NULL, as is the period of a date outside
its bounds; and what could make an engine stop, such as the year of a date that is infinite, is only computed
within the bounds.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import cached_property

from pydantic import ConfigDict, Field
from sqlglot import exp

from leakcap.policy.arithmetic import days_of
from leakcap.policy.decimals import decimal_steps
from leakcap.policy.declared import Column, Key
from leakcap.policy.derived import periods
from leakcap.policy.document import Policy
from leakcap.release.columns.typed import (
    COMPARISONS,
    Bin,
    DatePart,
    Quantize,
    cast,
    column,
    literal,
    number_column,
    stored_column,
    utc_column,
)

__all__ = [
    "CaseColumn",
    "NumberColumn",
    "WrittenColumn",
    "code_column",
    "code_literal",
    "codes",
    "day_behind",
    "day_of_column",
    "typed_column",
]

_NUMBERED = {"quarter": 4, "month": 12}


class WrittenColumn(Column):
    """A column that a query writes, as the `tree` that each row becomes; NULL where it is missing.

    It is of no policy, and made without validation, in `conditions/`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    tree: exp.Expression = Field(exclude=True, repr=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(sorted({one.name for one in self.tree.find_all(exp.Column)}))


class CaseColumn(WrittenColumn):
    """CASE WHEN … THEN … END with keys: `tree` is the place among `keys` of that of the first condition that
    is true, `text` the one way to write it.
    """

    text: str = Field(default="", exclude=True, repr=False)


class NumberColumn(WrittenColumn):
    """CASE WHEN … THEN … END with numbers: `tree` is a double within the `bounds`, or NULL."""

    @cached_property
    def calculated(self) -> bool:
        """It stands in a reading of its own."""
        return True


def typed_column(name: str, policy: Policy) -> exp.Expression:
    """A column as the policy's kind, a derived one as its code; NULL where it is missing."""
    known = policy.columns[name]
    if known.stored:
        return stored_column(name, known)
    if known.calculated:
        return number_column(name)
    if isinstance(known, CaseColumn):
        return known.tree.copy()
    assert known.case is None, "a CASE of the policy has to be read: conditions/declared.py"
    first = policy.columns[known.sources[0]]
    if known.compare is not None:
        # Clocks that are put back show an hour twice: instants are compared, not what clocks show.
        sources = [
            utc_column(one) if policy.columns[one].kind == "instant" else typed_column(one, policy)
            for one in known.sources
        ]
        return exp.Paren(this=COMPARISONS[known.compare](this=sources[0], expression=sources[1]))
    if known.cuts is not None:
        return _band(known, known.sources[0], first)
    if known.truncate is not None or known.part is not None:
        return _of_date(known, day_of_column(known.sources[0], first), *days_of(first))
    if known.groups is None:
        return _prefix(known, policy)
    return _group(known, policy)


def _prefix(known: Column, policy: Policy) -> exp.Expression:
    """The value that a column is from, or as much of it as is asked for."""
    value = typed_column(known.sources[0], policy)
    if known.prefix is None:
        return value
    one, length = exp.Literal.number(1), exp.Literal.number(known.prefix)
    return exp.Substring(this=value, start=one, length=length)


def _group(known: Column, policy: Policy) -> exp.Expression:
    """The number of the group, in the order of the keys. Groups of groups are groups of what these hold."""
    base = known
    members = [(known.groups or {})[str(key)] for key in known.keys or ()]
    while (below := policy.columns[base.sources[0]]).groups is not None and base.prefix is None:
        held = below.groups
        members = [tuple(one for name in names for one in held[str(name)]) for names in members]
        base = below
    value, source = _prefix(base, policy), base.sources[0]
    coded = base.prefix is None and not policy.columns[source].stored

    def said(member: Key) -> exp.Expression:
        return code_literal(member, source, policy) if coded else literal(member, _kind_of(member))

    ifs = [
        exp.If(
            this=exp.In(this=value.copy(), expressions=[said(one) for one in names]),
            true=exp.Literal.number(place),
        )
        for place, names in enumerate(members)
    ]
    return exp.Case(ifs=ifs)


def _kind_of(member: Key) -> str:
    return "text" if isinstance(member, str) else "integer"


def code_column(name: str, policy: Policy) -> exp.Expression:
    """A column as what stands for its keys: `typed_column`, and of decimals with keys the number of steps,
    NULL beyond the least and the largest of these.
    """
    known = policy.columns[name]
    if known.places is None or known.keys is None:
        return typed_column(name, policy)
    steps = [int(code) for code in codes(name, policy)]
    least, most = min(steps), max(steps)
    low, high = least / 10**known.places, most / 10**known.places
    within = exp.Between(this=number_column(name), low=literal(low, "number"), high=literal(high, "number"))
    ends = {"low": low, "high": high, "least": least, "most": most}
    whole = Quantize(this=column(name), scale=10.0**known.places, centre=0, **ends)
    return exp.Case(ifs=[exp.If(this=within, true=whole)])


def codes(name: str, policy: Policy) -> Mapping[Key, Key]:
    """From what `code_column` is to the public key that it stands for.

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
    if _placed(known):
        return dict(enumerate(keys))
    if known.places is not None:
        return {decimal_steps(float(key), known.places) or 0: key for key in keys}
    return {key: key for key in keys}


def _placed(known: Column) -> bool:
    """Whether its codes are the places of its keys."""
    return known.cuts is not None or known.groups is not None or isinstance(known, CaseColumn)


def code_literal(value: Key | float | datetime.date, name: str, policy: Policy) -> exp.Expression:
    """A constant as `typed_column` has it: of a key its code."""
    known = policy.columns[name]
    if known.truncate is None and not _placed(known):
        return literal(value, known.kind)
    (code,) = [code for code, key in codes(name, policy).items() if key == value]
    return literal(code, "integer")


def day_of_column(name: str, known: Column) -> exp.Expression:
    """A date, or the date of a moment."""
    value = stored_column(name, known)
    return value if known.dates is not None else cast(value, "DATE")


def day_behind(name: str, tree: exp.Expression, policy: Policy) -> tuple[exp.Expression, int] | None:
    """The day from which the code `tree` of a column follows, and how many days there are within its bounds.

    None where it does not follow from a day: from several columns, say, or from the time of a moment.
    """
    known = policy.columns[name]
    while not known.stored and len(known.sources) == 1:
        name = known.sources[0]
        known = policy.columns[name]
    if known.moments is None or tree.find(exp.Column) is None:
        return None
    day = day_of_column(name, known)
    rest = tree.transform(lambda node: exp.Null() if node == day else node)
    first, last = days_of(known)
    return None if rest == day or rest.find(exp.Column) else (day, (last - first).days + 1)


def _band(known: Column, name: str, source: Column) -> exp.Expression:
    """The number of the band, from 0 on."""
    cuts = known.cuts or ()
    if source.bounds is not None:
        low, high = source.bounds
        numbers = [float(cut) for cut in cuts if not isinstance(cut, datetime.date)]
        return Bin(this=column(name), edges=(low, *numbers, high))
    value = day_of_column(name, source)
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
    if unit in ("year", "week", "day"):
        return part("year" if unit == "year" else f"{unit}s")
    years = exp.Mul(this=part("year"), expression=exp.Literal.number(_NUMBERED[unit]))
    return exp.Add(this=years, expression=part(unit))
