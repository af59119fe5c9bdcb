"""From a statement in our own words to one in an engine's: what is the same for all engines.

No value of a row may make the engine stop, because the stop would tell. Rounding is to the nearest integer,
halves to even, on every engine, so that all of them return the same integers for the same doubles.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from leakcap.policy.declared import Key
from leakcap.release.columns.decimals import decimal_grid
from leakcap.release.columns.typed import (
    Bin,
    Calculated,
    Chosen,
    Constant,
    DatePart,
    ExactSum,
    Hashed,
    KeyFilter,
    OfUnit,
    OneOf,
    PopCount,
    Quantize,
    ReadColumn,
    SumOfSums,
    Together,
    cast,
    column,
    literal,
    tree_nodes,
)
from leakcap.release.engine.crowded import ordered_at_once
from leakcap.release.engine.within import ball

__all__ = ["FLOATS", "INTEGERS", "Lowering", "cast", "fitting", "in_rows", "null", "seed_in", "signed_double"]

INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
"""Types whose values all fit into 64 signed bits."""

FLOATS = frozenset({"FLOAT", "DOUBLE"})


# More keys than this are handed over as one text, separated by a character that occurs in none of them.
_MANY = 1_000
_BETWEEN = [chr(code) for code in (31, 30, 29, 28, *range(1, 9))]
_WRITTEN = {"text": "TEXT", "integer": "BIGINT"}
_OWN = (
    ReadColumn, DatePart, Quantize, Bin, ExactSum, Hashed, OfUnit, PopCount, Constant, OneOf, KeyFilter,
    Calculated, Chosen, SumOfSums, Together, exp.Table,
)  # fmt: skip


class Lowering(ABC):
    """How one engine says the words of `columns/typed.py` for a table with columns of these `types`."""

    dialect: ClassVar[str]

    def __init__(self, types: Mapping[str, str], sources: Mapping[str, exp.Expression] | None = None) -> None:
        self._types = {name: type_.partition("(")[0].strip() for name, type_ in types.items()}
        self._sources = dict(sources or {})
        self._finite = set[str]()

    def text(self, tree: exp.Expression) -> str:
        """The statement in the engine's dialect. The tree is used up."""
        return self.lower(tree).sql(dialect=self.dialect, copy=False)

    def lower(self, tree: exp.Expression) -> exp.Expression:
        """The tree with all of our own words replaced, the innermost first."""
        own = tree_nodes(tree, *_OWN)
        decimals = [node for node in own if isinstance(node, ReadColumn) and node.args["kind"] == "decimal"]
        for read in decimals:
            said = self.decimal(read.this.name, int(read.args["places"]))
            tree = said if read is tree else tree
            read.replace(said)
        if decimals:
            own = tree_nodes(tree, *_OWN)
        for computed in own:
            if isinstance(computed, Calculated):
                self.add_double(str(computed.args["name"]))
        for node in reversed(own):
            said = self._say(node)
            if said is node:
                continue
            if node is tree:
                tree = said
            else:
                node.replace(said)
        return tree

    def _say(self, node: exp.Expression) -> exp.Expression:
        if isinstance(node, Quantize):
            return self.steps(node)
        if isinstance(node, Bin):
            return self.bin(node)
        if isinstance(node, ExactSum):
            return self.total(node)
        if isinstance(node, SumOfSums):
            return self.sum_of_sums(node.this)
        if isinstance(node, PopCount):
            return self.ones(node.this)
        if isinstance(node, Constant):
            return self.constant(int(node.this))
        if isinstance(node, OneOf):
            return self.one_of(node.this, node.args["keys"], node.args["kind"])
        if isinstance(node, KeyFilter):
            return self.kept(node.this)
        if isinstance(node, OfUnit):
            return self.of_unit(node)
        if isinstance(node, Together):
            return self.together(node)
        if isinstance(node, Chosen):
            return self.chosen(node)
        if isinstance(node, Calculated):
            found: exp.Expression = node.this
            return found
        if isinstance(node, ReadColumn):
            return self.read(node.this.name, str(node.args["kind"]), node.args.get("zone"))
        if isinstance(node, DatePart):
            return self.part(node.this, str(node.args["part"]))
        if isinstance(node, Hashed):
            purpose = exp.Literal.number(int(node.args["purpose"]))
            return self.hashed(node.this, [purpose, *node.expressions])
        source = self._sources.get(node.name)
        return node if source is None else source.copy()

    def add_double(self, name: str) -> None:
        """From here on this column is a double that is finite or NULL, whatever the table has by its name."""
        self._types[name] = "DOUBLE"
        self._finite.add(name)

    def type_of(self, name: str) -> str:
        """The first word of the column's type, as DuckDB would call it; empty where it is not known."""
        return self._types.get(name, "")

    def read(self, name: str, kind: str, zone: int | None = None) -> exp.Expression:
        """The column as `kind`; NULL where it is missing or cannot be read so."""
        if kind in ("date", "timestamp"):
            return self.date(name) if kind == "date" else self.timestamp(name)
        if kind == "instant":
            return self.instant(name, zone or 0)
        if kind == "number":
            return self._number(name)
        if kind == "double":
            return self.double(name)
        if kind == "integer":
            return self.integer(name)
        if kind == "boolean":
            return self.boolean(name)
        return self.words(name) if kind == "text" else self.identity(name)

    def _number(self, name: str) -> exp.Expression:
        value = self.double(name)
        if not self.may_be_nan(name):
            return value
        return exp.Case(ifs=[exp.If(this=self.is_nan(value.copy()), true=null())], default=value)

    def steps(self, node: Quantize) -> exp.Expression:
        """The integer of one row. Rows beyond the bounds are chosen, not those within, which costs less.

        NaN is beyond them, which every engine has to show when it is opened. NULL is not, and stays NULL
        where nothing is filled in for it.
        """
        given, name = node.args, node.this.name
        value, centre, filled = self.double(name), given.get("centre") or 0, given.get("missing")
        beyond, missing = self._beyond(value, given), list[exp.Expression]()
        if filled is not None:
            missing = [exp.Is(this=value.copy(), expression=exp.Null())]
            beyond = exp.Or(this=beyond, expression=missing[0].copy())
        if self.may_be_nan(name):
            missing.append(self.is_nan(value.copy()))
        default = null() if filled is None else self.constant(filled - centre)
        above = exp.GT(this=value.copy(), expression=self.number(given["high"]))
        ends = exp.Case(
            ifs=[
                *(exp.If(this=one, true=default.copy()) for one in missing),
                exp.If(this=above, true=self.constant(given["most"] - centre)),
            ],
            default=self.constant(given["least"] - centre),
        )
        reach = max(abs(given["least"]), abs(given["most"]))
        within = self.placed(self.scaled(value, given["scale"]), centre, reach)
        return exp.Case(ifs=[exp.If(this=beyond, true=ends)], default=within)

    def bin(self, node: Bin) -> exp.Expression:
        """The index of the bin, by halving: a row with a number meets log₂(bins) comparisons."""
        value, edges = self.double(node.this.name), node.args["edges"]
        missing = self._lacking(value, node.this.name)
        found = _search(value, [self.number(edge) for edge in edges], 0, len(edges) - 2)
        return exp.Case(ifs=[exp.If(this=missing, true=self._missing_bin(node))], default=found)

    def _lacking(self, value: exp.Expression, name: str) -> exp.Expression:
        """Whether there is no number."""
        lacks: exp.Expression = exp.Is(this=value.copy(), expression=exp.Null())
        return exp.Or(this=lacks, expression=self.is_nan(value.copy())) if self.may_be_nan(name) else lacks

    def _missing_bin(self, node: Bin) -> exp.Expression:
        missing = node.args.get("missing")
        return null() if missing is None else exp.Literal.number(missing)

    def _beyond(self, value: exp.Expression, given: Mapping[str, Any]) -> exp.Expression:
        """Whether a number lies beyond the bounds, or is NaN."""
        bounds, ends = (given["low"], given["high"]), (given["least"], given["most"])
        found = ball(bounds, given["scale"], ends)
        if found is None:
            low, high = map(self.number, bounds)
            return exp.Not(this=exp.Between(this=value.copy(), low=low, high=high))
        middle, half = map(self.number, found)
        off = value.copy() if found[0] == 0.0 else exp.Sub(this=value.copy(), expression=middle)
        return exp.GT(this=exp.Abs(this=off), expression=half)

    def scaled(self, value: exp.Expression, scale: float) -> exp.Expression:
        """value·scale for a value within the bounds: exact, or far below one half where it is not; of a
        decimal within a quarter of its step.
        """
        if scale == 1.0:
            return value.copy()
        return exp.Mul(this=value.copy(), expression=self.number(scale))

    def placed(self, value: exp.Expression, centre: int, reach: int) -> exp.Expression:
        """The integer nearest to a double, less `centre`; neither is beyond ±`reach`."""
        return self.shifted(self.rounded(value), -centre)

    def shifted(self, tree: exp.Expression, by: int) -> exp.Expression:
        """tree + by."""
        if by == 0:
            return tree
        kind = exp.Add if by > 0 else exp.Sub
        return exp.Paren(this=kind(this=tree, expression=self.constant(abs(by))))

    def number(self, value: float) -> exp.Expression:
        """A constant double, to the last bit."""
        return literal(value, "number")

    def constant(self, value: int) -> exp.Expression:
        """An integer as the type in which this engine sums."""
        return cast(exp.Literal.number(int(value)), "BIGINT")

    def may_be_nan(self, name: str) -> bool:
        """Whether `double(name)` can be NaN."""
        return self.type_of(name) in FLOATS and name not in self._finite

    @abstractmethod
    def double(self, name: str) -> exp.Expression:
        """The column as a double; NULL where it is missing, NaN where it is no number."""

    def decimal(self, name: str, places: int) -> exp.Expression:
        """The column as a decimal with so many places, by the double nearest to it.

        Decimals are rounded as such. A double is: what is off a half by less than it is rounded itself counts
        as one, on every engine.
        """
        if self.type_of(name) == "DECIMAL":
            return self.rounded_decimal(name, places)
        value = self._number(name)
        return decimal_grid(value, places) if self.type_of(name) not in INTEGERS | {"BOOLEAN"} else value

    @abstractmethod
    def rounded_decimal(self, name: str, places: int) -> exp.Expression:
        """A column of the engine's own decimals, rounded to so many places, halves away from zero."""

    @abstractmethod
    def integer(self, name: str) -> exp.Expression:
        """The column as an integer of 64 bits."""

    @abstractmethod
    def boolean(self, name: str) -> exp.Expression:
        """The column as true or false."""

    @abstractmethod
    def words(self, name: str) -> exp.Expression:
        """The column as text that is compared byte by byte."""

    def date(self, name: str) -> exp.Expression:
        """The column as a date; of a timestamp its day."""
        return column(name) if self.type_of(name) == "DATE" else cast(self.timestamp(name), "DATE")

    def timestamp(self, name: str) -> exp.Expression:
        """The column as a timestamp without a zone."""
        return column(name)

    @abstractmethod
    def instant(self, name: str, zone: int) -> exp.Expression:
        """What a clock shows, `zone` seconds ahead of UTC, at the column's instants of the years 2 to 9998.

        NULL at others, for which an engine may have no such time.
        """

    def part(self, day: exp.Expression, part: str) -> exp.Expression:
        """A number that a date of the years 1 to 9999 has."""
        if part == "days":
            first = cast(exp.Literal.string("0001-01-01"), "DATE")
            return exp.Paren(this=exp.Sub(this=day, expression=first))
        if part == "weeks":
            return exp.IntDiv(this=self.part(day, "days"), expression=exp.Literal.number(7))
        return exp.Extract(this=exp.Var(this="ISODOW" if part == "weekday" else part.upper()), expression=day)

    def of_unit(self, node: OfUnit) -> exp.Expression:
        """A number that all rows of a unit share. What is not taken is not computed by an engine."""
        shared: exp.Expression = node.this
        return shared

    def identity(self, name: str) -> exp.Expression:
        """The column as an id, two of which are equal only where they are the same value."""
        return column(name)

    def is_nan(self, value: exp.Expression) -> exp.Expression:
        """Whether a double is NaN."""
        return exp.Anonymous(this="ISNAN", expressions=[value])

    def ones(self, value: exp.Expression) -> exp.Expression:
        """How many bits of an integer are ones, as a type in which many such numbers add up."""
        return cast(exp.Anonymous(this="BIT_COUNT", expressions=[value]), "BIGINT")

    def one_of(self, value: exp.Expression, keys: Sequence[Key], kind: str) -> exp.Expression:
        """Whether a value is one of these keys: many are passed as one text that the engine splits.

        As literals each would be a node of the statement, here and in the engine, and 10⁶ take some GiB.
        """
        words = [str(key) for key in keys] if len(keys) > _MANY and kind in _WRITTEN else []
        between = next((one for one in _BETWEEN if not any(one in word for word in words)), None)
        if not words or between is None:
            return exp.In(this=value, expressions=[literal(key, kind) for key in keys])
        text, separator = exp.Literal.string(between.join(words)), exp.Literal.string(between)
        return self.in_text(value, text, separator, _WRITTEN[kind])

    @abstractmethod
    def in_text(
        self, value: exp.Expression, keys: exp.Expression, between: exp.Expression, type_: str
    ) -> exp.Expression:
        """Whether the value is one of those that the text holds: found by its hash, not one by one."""

    def together(self, node: Together) -> exp.Expression:
        """A choice."""
        missing = [exp.Paren(this=exp.Is(this=one.copy(), expression=null())) for one in node.expressions]
        known = exp.and_(*(exp.Not(this=one) for one in missing), copy=False)
        return exp.Case(ifs=[exp.If(this=known, true=node.this)], default=null())

    def chosen(self, node: Chosen) -> exp.Expression:
        """The rows of all units put in order, each read once."""
        return ordered_at_once(node)

    def kept(self, test: exp.Expression) -> exp.Expression:
        """A test of a group's keys. An engine that moves it in front of the addition may."""
        return test

    @abstractmethod
    def rounded(self, value: exp.Expression) -> exp.Expression:
        """The integer nearest to a double of size up to 2⁵³, halves to even."""

    @abstractmethod
    def hashed(self, unit: exp.Expression, contents: Sequence[exp.Expression]) -> exp.Expression:
        """A number that follows from the statement's parameter, the unit's id and the contents."""

    def sum_of_sums(self, sums: exp.Expression) -> exp.Expression:
        """The sum, as wide as can be, where all of them are known."""
        known = exp.EQ(this=exp.Count(this=sums.copy()), expression=exp.Count(this=exp.Star()))
        return exp.Case(ifs=[exp.If(this=known, true=exp.Sum(this=sums))], default=null())

    @abstractmethod
    def total(self, node: ExactSum) -> exp.Expression:
        """The exact sum, 0 where there is nothing to add."""


def _search(value: exp.Expression, edges: Sequence[exp.Expression], first: int, last: int) -> exp.Expression:
    if first == last:
        return exp.Literal.number(first)
    middle = (first + last + 1) // 2
    below = exp.LT(this=value.copy(), expression=edges[middle].copy())
    left, right = _search(value, edges, first, middle - 1), _search(value, edges, middle, last)
    return exp.Case(ifs=[exp.If(this=below, true=left)], default=right)


def signed_double(value: float, digits: str) -> exp.Expression:
    """A constant double with these digits for its size."""
    double = exp.Literal.number(digits)
    return exp.Neg(this=double) if math.copysign(1.0, value) < 0 else double


def seed_in(tree: exp.Expression) -> int | None:
    """The seed of a statement in our own words; None where nothing in it is chosen."""
    found = tree_nodes(tree, Hashed)
    return int(found[0].args["seed"]) if found else None


def fitting(name: str, value: exp.Expression) -> exp.Expression:
    """A decimal column's `value` as BIGINT where the column lies in the range of 64 bits, else NULL."""
    low, high = exp.Literal.number(-(2**63)), exp.Literal.number(2**63 - 1)
    fits = exp.Between(this=column(name), low=low, high=high)
    return exp.Case(ifs=[exp.If(this=fits, true=cast(value, "BIGINT"))], default=null())


def in_rows(value: exp.Expression, array: exp.Expression, function: str) -> exp.Expression:
    """Whether the value is one of an array's, which this function makes rows of: a join."""
    each = exp.Anonymous(this=function, expressions=[array])
    return exp.In(this=value, query=exp.Select(expressions=[each]).subquery(copy=False))


def null() -> exp.Null:
    """NULL."""
    return exp.Null()
