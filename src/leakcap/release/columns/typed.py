"""What a statement may ask of a row, in words of our own that each engine says in its own way.

`ReadColumn` is a column as the policy's kind, NULL where it is missing or cannot be read so; `DatePart` a
number of a date; `Quantize` the integer that stands for a number on the grid; `Bin` the index of its bin;
`ExactSum` the exact sum of such integers; `Hashed` a number that follows from a row and a seed and looks
random; `PopCount` how many bits are set; `Constant` an integer; `OneOf` whether a value is among public keys;
`KeyFilter` a test of groups rather than of rows. The rest is plain SQL. An engine replaces these by
expressions that no value of its types can make fail (`release/engine/`); a tree that still has one cannot be
written out.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp

from leakcap.errors import InvalidParameter
from leakcap.policy.declared import Column
from leakcap.policy.zones import Offsets

__all__ = [
    "COMPARISONS",
    "CROWDED",
    "PERSONS_ROWS",
    "SOURCE",
    "Bin",
    "Calculated",
    "Chosen",
    "Constant",
    "DatePart",
    "ExactSum",
    "Hashed",
    "KeyFilter",
    "OfUnit",
    "OneOf",
    "PopCount",
    "Quantize",
    "ReadColumn",
    "SumOfSums",
    "Together",
    "aliased",
    "cast",
    "column",
    "data_type",
    "decimal_column",
    "free_name",
    "held_as",
    "identifier",
    "joined_source",
    "literal",
    "named_table",
    "number_column",
    "require_open",
    "source_table",
    "stored_column",
    "tell_sums",
    "tree_nodes",
    "utc_column",
]


def require_open(core: str) -> None:
    """Raise `InvalidParameter` where sqlglot's classes are compiled, by the file of its core: words of our
    own could not be among its trees, and the first question would end in a traceback.

    >>> require_open("sqlglot/expressions/core.py")
    >>> require_open("sqlglot/expressions/core.cpython-311.so")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: sqlglot is installed with its compiled parts, which leakcap's own ...
    """
    if not core.endswith(".py"):
        raise InvalidParameter(
            "sqlglot is installed with its compiled parts, which leakcap's own words cannot be added to. "
            "Take them out (`pip uninstall sqlglotc`), or give leakcap an environment of its own."
        )


require_open(str(sys.modules[exp.Expression.__module__].__file__))

COMPARISONS: Mapping[str, type[exp.Expression]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
"""The nodes of the six comparisons that a condition or a policy may write."""

# The name under which statements speak of the one table.
SOURCE = "leakcap_source"

# How many rows a person has, where people are counted by it.
PERSONS_ROWS = "leakcap_rows"

CROWDED = "leakcap_crowded"
"""The name under which `Chosen` speaks of rows of units that have more rows than count."""


def joined_source(name: str) -> str:
    """The name under which statements speak of another table of the policy.

    >>> joined_source("people")
    'leakcap_joined_people'
    """
    return f"leakcap_joined_{name}"


_TYPES = {
    **{"number": "DOUBLE", "text": "VARCHAR", "integer": "BIGINT", "boolean": "BOOLEAN"},
    **{"date": "DATE", "timestamp": "TIMESTAMP", "instant": "TIMESTAMP"},
}
# Integers that every engine reads from plain digits.
_PLAIN = 2**62
_EPOCH = datetime.datetime(1970, 1, 1)


class ReadColumn(exp.Expression):
    """A column of the table read as a number, double, decimal, text, integer, boolean, date, timestamp,
    instant or id.

    NULL where it is missing (NaN included) or cannot be read so; a `double` is a number that may be NaN. A
    `decimal` is rounded to so many `places`, halves away from zero: the double that is nearest to it. An
    `id` is told apart byte by byte. An `instant` is what a clock shows `zone` seconds ahead of UTC. A date or
    a timestamp may lie beyond the years 1 to 9999, or be infinite.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "zone": False, "places": False}


class DatePart(exp.Expression):
    """The `part` of the date `this`, an integer: year, quarter, month, weekday (1, Monday, to 7), or whole
    `weeks` or `days` since 1 January of the year 1. The date must lie in the years 1 to 9999.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "part": True}


class Quantize(exp.Expression):
    """The column `this` as an integer: round(clamp(x, low, high)·scale) − centre, halves to even.

    `scale` is a power of two or of ten. `least` and `most` are what the bounds become before `centre` is
    taken off; `missing` what a missing value becomes, or None for NULL.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "low", "high", "scale", "least", "most"), True),
        **dict.fromkeys(("centre", "missing"), False),
    }


class Bin(exp.Expression):
    """Between which of the `edges` the number column `this` lies, from 0 on; each bin has its lower edge.

    What lies outside is in the outer bins. `missing` is the bin of a missing value, or None for NULL.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "edges": True, "missing": False}


class ExactSum(exp.Expression):
    """The exact sum of the integers `this`, none of which is beyond ±`largest`; 0 where there are none.

    `cells` says of how many cells it is one, where that is public; `positive` that none of the integers is
    negative; `counted` that COUNT of them is asked beside it, which an engine makes once.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "largest"), True),
        **dict.fromkeys(("cells", "positive", "counted"), False),
    }


class SumOfSums(exp.Expression):
    """The sum of the column `this` of exact sums; NULL where one of them is, since it may not be exact."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Together(exp.Expression):
    """The value `this`, NULL where one of the other values `expressions` is. `numbers` says that all of them
    are `Quantize` or NULL.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True, "numbers": True}


class KeyFilter(exp.Expression):
    """The test `this` of a group's keys, for after its rows were added up: a test per group, not per row."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class OneOf(exp.Expression):
    """Whether `this` is one of the public `keys`, all of the same `kind`; there may be very many."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "keys": True, "kind": True}


class Hashed(exp.Expression):
    """64 bits that follow from the `seed`, the `purpose`, the id `this` and `expressions` alone.

    Each engine has a hash of its own, and different rows may meet in one number: who orders by it needs a
    second order for these. The seed does not stand in a statement's text; the engine hands it over beside it.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "purpose": True, "seed": True}


class OfUnit(exp.Expression):
    """A number that is one for all rows of a unit, of which `unit` is the column with the id.

    `this` is so in any case. `hashed` follows from the id as it is written, and equal ids may be written in
    two ways: 0.0 and -0.0, or text under a collation. It is taken where that cannot be.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "hashed": True, "unit": True}


class Chosen(exp.Expression):
    """The query `this`, which chooses at most `most` rows of each unit, as a source of rows.

    It reads the query `rows`, whose rows' id is `unit`, as a table called `CROWDED`, in which the second of
    the `names` is how many rows a unit has there. It keeps all rows of a unit with no more than `most`, so
    that an engine need not show it those: it may add them itself with `others`, and leave them out without.
    The first of the `names` is one that no column of `rows` has.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True, "rows": True, "unit": True, "most": True, "names": True, "others": True,
    }  # fmt: skip


class Constant(exp.Expression):
    """The integer `this`, of size up to 2⁵³, as the type in which integers of rows are held."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Calculated(exp.Expression):
    """The double `this`, no NaN, which is the column `name` of a reading for what stands above it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "name": True}


class PopCount(exp.Expression):
    """How many binary digits of the integer `this`, of 64 bits, are ones; NULL for NULL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def identifier(name: str) -> exp.Identifier:
    """A quoted identifier: a column may be called anything."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str) -> exp.Column:
    """The raw column of the table."""
    return exp.Column(this=identifier(name))


def source_table() -> exp.Table:
    """The one table."""
    return exp.Table(this=identifier(SOURCE))


def named_table(name: str) -> exp.Table:
    """A table by a name of our own. sqlglot would parse the name, which takes longer than to write the rest.

    >>> named_table(CROWDED).sql()
    'leakcap_crowded'
    """
    return exp.Table(this=exp.Identifier(this=name, quoted=False))


def held_as(
    query: exp.Query, name: str, rows: exp.Expression, *, materialized: bool | None = None
) -> exp.Query:
    """The query, which is used up, `WITH` these rows under a name of our own, also not parsed.

    >>> rows = exp.Select(expressions=[column("a")])
    >>> held_as(exp.Select(expressions=[column("b")]).from_(named_table("held")), "held", rows).sql()
    'WITH held AS (SELECT "a") SELECT "b" FROM held'
    """
    alias = exp.TableAlias(this=exp.Identifier(this=name, quoted=False))
    return query.with_(alias, as_=rows, materialized=materialized, copy=False)


def aliased(tree: exp.Expression, name: str) -> exp.Alias:
    """`tree` AS "name"."""
    return exp.Alias(this=tree, alias=identifier(name))


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name that no column bears, whatever its case: another one would be read in its place.

    >>> free_name("place", ["id", "Place"])
    'place_'
    """
    lowered = {other.lower() for other in taken}
    while name in lowered:
        name += "_"
    return name


def data_type(name: str) -> exp.DataType:
    """A type by the name DuckDB has for it. Parsed once; a tree owns its nodes, so each caller has a copy.

    >>> data_type("DOUBLE").sql("postgres")
    'DOUBLE PRECISION'
    """
    return _parsed(name).copy()


@cache
def _parsed(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def cast(tree: exp.Expression, type_: str) -> exp.Cast:
    """CAST(tree AS type), the type by its DuckDB name."""
    return exp.Cast(this=tree, to=data_type(type_))


def literal(value: str | int | bool | float | datetime.date, kind: str) -> exp.Expression:
    """A constant of the column's kind; doubles in their shortest exact decimal form.

    >>> literal(0.1, "number").sql("duckdb")
    "CAST('0.1' AS DOUBLE)"
    """
    if kind == "boolean":
        return exp.Boolean(this=bool(value))
    if kind == "text":
        return exp.Literal.string(str(value))
    if isinstance(value, datetime.date):
        shown = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        return cast(exp.Literal.string(shown), _TYPES[kind])
    if kind == "integer" and abs(int(value)) < _PLAIN:
        return exp.Literal.number(int(value))
    text = repr(float(value)) if kind == "number" else str(int(value))
    return cast(exp.Literal.string(text), _TYPES[kind])


def number_column(name: str) -> exp.Expression:
    """The column as a double; NULL where it is missing, NaN included."""
    return ReadColumn(this=column(name), kind="number")


def decimal_column(name: str, places: int) -> exp.Expression:
    """The column as a decimal, by the double nearest to it; NULL where it is missing."""
    return ReadColumn(this=column(name), kind="decimal", places=places)


def stored_column(name: str, known: Column) -> exp.Expression:
    """A stored column as the policy's kind; NULL where it is missing or cannot be read so."""
    if known.offsets is None:
        return ReadColumn(this=column(name), kind=known.kind, zone=known.ahead)
    return _at_place(name, known.offsets)


def _at_place(name: str, offsets: Offsets) -> exp.Expression:
    """An instant as a clock shows it where it is so far ahead of UTC; the offset is found by halving."""
    if len(offsets) == 1:
        return ReadColumn(this=column(name), kind="instant", zone=offsets[0][1])
    middle = len(offsets) // 2
    change = _EPOCH + datetime.timedelta(seconds=offsets[middle][0])
    before = exp.LT(this=utc_column(name), expression=literal(change, "timestamp"))
    earlier = exp.If(this=before, true=_at_place(name, offsets[:middle]))
    return exp.Case(ifs=[earlier], default=_at_place(name, offsets[middle:]))


def utc_column(name: str) -> exp.Expression:
    """A column of instants in UTC, in which they have the order that they have."""
    return ReadColumn(this=column(name), kind="instant", zone=0)


def tree_nodes(tree: exp.Expression, *kinds: type[exp.Expression]) -> list[Any]:
    """All nodes, or those of these kinds, breadth first: those of sqlglot's `find_all`, in half the time.

    >>> [node.name for node in tree_nodes(exp.Neg(this=column("a")), exp.Column)]
    ['a']
    """
    nodes: list[Any] = [tree]
    for node in nodes:  # which grows on the way
        nodes.extend(node.iter_expressions())
    return [node for node in nodes if isinstance(node, kinds)] if kinds else nodes


def tell_sums(totals: Sequence[exp.Expression], cells: int | None) -> None:
    """Tell the sums among the `totals` of how many cells they are, and which of them are counted, too."""
    counted = [total.this for total in totals if isinstance(total, exp.Count)]
    for node in (one for total in totals for one in tree_nodes(total, ExactSum)):
        node.set("cells", cells)
        node.set("counted", node.this in counted)
