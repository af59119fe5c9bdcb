"""How DuckDB says it. Two ways to sum: integers of 128 bits, and doubles that hold integers.

Adding 1.5·2⁵² to a double of size up to 2⁵¹ leaves no bits behind the point, so that adding and taking it off
again rounds to the nearest integer, halves to even, which is also what the cast to BIGINT does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot.dialects.duckdb  # noqa: F401 - else the first release waits for it
from sqlglot import exp

from leakcap.release.columns.decimals import decimal_grid
from leakcap.release.columns.typed import Bin, Chosen, ExactSum, OfUnit, Together, column, data_type
from leakcap.release.engine import moments, objects
from leakcap.release.engine.bins import Even, Powers, even, powers_of_two
from leakcap.release.engine.crowded import ordered_where_crowded
from leakcap.release.engine.doubles import ROUNDED, DoubleSums, LongSums, few_rows, long_limit
from leakcap.release.engine.lowering import FLOATS, INTEGERS, Lowering, cast, in_rows, null, signed_double

__all__ = ["Doubles", "Integers", "Longs"]

_NUMBERS = INTEGERS | {"HUGEINT", "UBIGINT", "UHUGEINT", "DECIMAL", "BOOLEAN", "FLOAT"}
_MAGIC = 1.5 * 2.0**52
# Where doubles add up exactly for fewer rows of a cell than this, a reading of the table would often be lost.
_FEW = 2**18


class Integers(Lowering):
    """Rows become BIGINT and are summed as HUGEINT, whatever their number."""

    dialect = "duckdb"

    def __init__(self, types: Mapping[str, str], sources: Mapping[str, exp.Expression] | None = None) -> None:
        super().__init__(types, sources)
        # What the columns of pandas tables come as; where there are any, ids are told apart as text.
        self._objects = {
            name: type_.removeprefix("OBJECT(").removesuffix(")")
            for name, type_ in types.items()
            if type_.startswith("OBJECT(")
        }

    def read(self, name: str, kind: str, zone: int | None = None) -> exp.Expression:
        """The column as `kind`; a pandas one cell by cell."""
        if name not in self._objects or kind in ("number", "double", "date", "timestamp", "instant"):
            return super().read(name, kind, zone)
        return objects.read_as(name, self._objects[name], "text" if kind == "id" else kind)

    def may_be_nan(self, name: str) -> bool:
        """Text and columns of unknown type can say NaN too."""
        return super().may_be_nan(name) or not self._is_number(name)

    def add_double(self, name: str) -> None:
        """No cell of a pandas table."""
        super().add_double(name)
        self._objects.pop(name, None)

    def _is_number(self, name: str) -> bool:
        return self.type_of(name) in _NUMBERS | FLOATS

    def double(self, name: str) -> exp.Expression:
        """The column itself, a cast that cannot fail, or TRY_CAST."""
        type_ = self.type_of(name)
        if name in self._objects:
            return objects.read_as(name, self._objects[name], "number")
        if type_ == "DOUBLE":
            return column(name)
        return cast(column(name), "DOUBLE") if type_ in _NUMBERS else _tried(name, "DOUBLE")

    def decimal(self, name: str, places: int) -> exp.Expression:
        """Of text the decimal that it is, rounded once; what has too many digits for one as a double."""
        if name in self._objects:
            value = objects.read_as(name, self._objects[name], "decimal", places)
        elif self._is_number(name):
            return super().decimal(name, places)
        else:
            value = objects.read_as(name, "VARCHAR", "decimal", places)
        missing = exp.If(this=self.is_nan(value.copy()), true=null())
        return decimal_grid(exp.Case(ifs=[missing], default=value), places)

    def rounded_decimal(self, name: str, places: int) -> exp.Expression:
        """ROUND, where there is something to round."""
        rounded = exp.Anonymous(this="ROUND", expressions=[column(name), exp.Literal.number(places)])
        return cast(rounded, "DOUBLE")

    def integer(self, name: str) -> exp.Expression:
        """The column itself where every value fits, or TRY_CAST."""
        return column(name) if self.type_of(name) in INTEGERS else _tried(name, "BIGINT")

    def date(self, name: str) -> exp.Expression:
        """Of text the day that it begins with, where all of it is a day, or a day with a time."""
        text = self._text(name)
        return super().date(name) if text is None else moments.date(text)

    def timestamp(self, name: str) -> exp.Expression:
        """The column itself, or TRY_CAST: seconds and milliseconds reach farther than microseconds do."""
        text = self._text(name)
        if text is not None:
            return moments.timestamp(text)
        return column(name) if self.type_of(name) == "TIMESTAMP" else _tried(name, "TIMESTAMP")

    def instant(self, name: str, zone: int) -> exp.Expression:
        """By microseconds since 1970, which know of no zone."""
        text = self._text(name)
        return moments.instant(column(name) if text is None else moments.with_zone(text), zone)

    def _text(self, name: str) -> exp.Expression | None:
        """The column's text where its type knows of no dates; None where it does."""
        if name in self._objects:
            return objects.read_as(name, self._objects[name], "text")
        known = self.type_of(name).partition(" ")[0].partition("_")[0] in ("DATE", "TIMESTAMP")
        return None if known else _tried(name, "VARCHAR")

    def boolean(self, name: str) -> exp.Expression:
        """The column itself, or TRY_CAST."""
        return column(name) if self.type_of(name) == "BOOLEAN" else _tried(name, "BOOLEAN")

    def words(self, name: str) -> exp.Expression:
        """The column as text, without a collation.

        Under a collation of the table's own, groups would merge keys that differ in case, and the row that
        comes first would say what the group is called: one person could rename a group, and so make its
        count vanish.
        """
        text = column(name) if self.type_of(name) == "VARCHAR" else _tried(name, "VARCHAR")
        return exp.Collate(this=text, expression=exp.Identifier(this="C", quoted=True))

    def identity(self, name: str) -> exp.Expression:
        """An ENUM as its text: its hash is that of a place in a list, which in a data frame is made of
        everybody's ids, so that one person more would choose anew among the rows of all others. Beside a
        pandas table all ids are text, as that table's are.
        """
        as_text = self._objects or self.type_of(name) == "ENUM"
        return self.words(name) if as_text else column(name)

    def of_unit(self, node: OfUnit) -> exp.Expression:
        """Equal whole numbers and equal texts are written in one way (a table with a collation is refused
        when it is opened), and DuckDB itself finds a unit's rows by this very hash.
        """
        one_way = self.type_of(str(node.args["unit"])) in INTEGERS | {"VARCHAR"}
        hashed: exp.Expression = node.args["hashed"]
        return hashed if one_way else super().of_unit(node)

    def number(self, value: float) -> exp.Expression:
        """With an exponent, which makes it a double without a cast to be read, bound and folded."""
        digits = repr(abs(float(value)))
        return signed_double(value, digits if "e" in digits else f"{digits}e0")

    def bin(self, node: Bin) -> exp.Expression:
        """By arithmetic, where the edges are even or powers of two; NaN lies beyond them all."""
        edges, name = tuple(node.args["edges"]), node.this.name
        by_power = powers_of_two(edges)
        if by_power is not None:
            return self._exponent(by_power, node)
        found = even(edges)
        if found is None:
            return super().bin(node)
        value, missing = self.double(name), self._missing_bin(node)
        off = exp.Sub(this=value.copy(), expression=self.number(found.middle))
        beyond: exp.Expression = exp.GT(this=exp.Abs(this=off), expression=self.number(found.half))
        if node.args.get("missing") is not None:
            beyond = exp.Or(this=beyond, expression=exp.Is(this=value.copy(), expression=exp.Null()))
        above = exp.GT(this=value.copy(), expression=self.number(found.middle))
        ends = exp.Case(
            ifs=[
                exp.If(this=self._lacking(value, name), true=missing),
                exp.If(this=above, true=exp.Literal.number(found.count - 1)),
            ],
            default=exp.Literal.number(0),
        )
        return exp.Case(ifs=[exp.If(this=beyond, true=ends)], default=self._counted(found, value))

    def _exponent(self, found: Powers, node: Bin) -> exp.Expression:
        """The bin between powers of two, by the bits of the double."""
        value, number = self.double(node.this.name), exp.Literal.number
        large = exp.GT(this=value.copy(), expression=self.number(found.most))
        low = exp.LT(this=value.copy(), expression=self.number(-found.most))
        minus = exp.LT(this=value.copy(), expression=self.number(0.0))
        ends = exp.Case(
            ifs=[
                exp.If(this=self._lacking(value, node.this.name), true=self._missing_bin(node)),
                exp.If(this=large, true=number(2 * found.zero - 1)),
                exp.If(this=low, true=number(0)),
                exp.If(this=minus, true=number(found.zero - 1)),
            ],
            default=number(found.zero),
        )

        def shifted(bits: exp.Expression) -> exp.Expression:
            return exp.Paren(this=exp.BitwiseRightShift(this=bits, expression=number(52)))

        size = _bits(exp.Abs(this=value.copy()))
        less = exp.Paren(this=exp.Sub(this=size, expression=number(1)))
        above = exp.Add(this=shifted(_bits(value.copy())), expression=cast(number(found.above), "BIGINT"))
        below = exp.Sub(this=cast(number(found.below), "BIGINT"), expression=shifted(less))
        least, most = self.number(found.least), self.number(found.most)
        positive = exp.Between(this=value.copy(), low=least, high=most)
        negative = exp.Between(
            this=value.copy(), low=self.number(-found.most), high=self.number(-found.least)
        )
        ifs = [exp.If(this=positive, true=above), exp.If(this=negative, true=below)]
        return exp.Case(ifs=ifs, default=ends)

    def _counted(self, found: Even, value: exp.Expression) -> exp.Expression:
        """The index of the bin of a value between the edges."""
        off = exp.Paren(this=exp.Sub(this=value.copy(), expression=self.number(found.low)))
        scaled = exp.Mul(this=off if found.low else value.copy(), expression=self.number(found.scale))
        index = exp.Anonymous(this="FLOOR", expressions=[scaled])
        if not found.corrected:
            return cast(index, "INTEGER")
        share = exp.Div(this=index.copy(), expression=self.number(float(found.count)))
        reach = exp.Mul(this=self.number(found.width), expression=exp.Paren(this=share))
        edge = exp.Add(this=self.number(found.low), expression=reach)
        less = cast(exp.Paren(this=exp.LT(this=value.copy(), expression=edge)), "INTEGER")
        return exp.Paren(this=exp.Sub(this=cast(index, "INTEGER"), expression=less))

    def chosen(self, node: Chosen) -> exp.Expression:
        """The rows of crowded units alone, since what a WITH names can be held here."""
        return ordered_where_crowded(node)

    def in_text(
        self, value: exp.Expression, keys: exp.Expression, between: exp.Expression, type_: str
    ) -> exp.Expression:
        """A join with the keys."""
        parts = cast(exp.Anonymous(this="STRING_SPLIT", expressions=[keys, between]), f"{type_}[]")
        return in_rows(value, parts, "UNNEST")

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """CAST rounds to the nearest, halves to even; `DuckDB` checks that it does."""
        return cast(value, "BIGINT")

    def placed(self, value: exp.Expression, centre: int, reach: int) -> exp.Expression:
        """The centre is taken off in doubles where these hold all that occurs: a difference of integers is
        checked for an overflow row by row, which costs as much as all that is done to a row before.
        """
        if centre == 0 or reach > ROUNDED:
            return super().placed(value, centre, reach)
        return cast(_less(self, value, centre), "BIGINT")

    def hashed(self, unit: exp.Expression, contents: Sequence[exp.Expression]) -> exp.Expression:
        """HASH of HASH: of several columns it is a chain of exclusive ors, whose order the second breaks."""
        seed = cast(exp.Parameter(this=exp.Var(this="seed")), "BIGINT")
        inner = exp.Anonymous(this="HASH", expressions=[seed, unit, *contents])
        return exp.Anonymous(this="HASH", expressions=[inner])

    def total(self, node: ExactSum) -> exp.Expression:
        """SUM over BIGINT is a HUGEINT."""
        return exp.Coalesce(this=exp.Sum(this=node.this), expressions=[exp.Literal.number(0)])


class Doubles(DoubleSums, Integers):
    """Rows become doubles that hold integers. So do squares, of which only few add up exactly in doubles:
    each is made an integer before it is added, and with `long` added up in 64 bits.
    """

    def __init__(self, types: Mapping[str, str], *, long: bool = False) -> None:
        super().__init__(types)
        self._long = long

    def limit(self, node: ExactSum) -> int | None:
        """None where any number of rows adds up exactly."""
        found = super().limit(node)
        if found is None or found == 0 or found >= _FEW:
            return found
        return long_limit(node) if self._long else None

    def room(self, node: ExactSum, cells: int | None) -> int | None:
        """Of all cells together where 64 bits hold the sum."""
        limit = self.limit(node)
        return super().room(node, cells) if limit == super().limit(node) else limit

    def total(self, node: ExactSum) -> exp.Expression:
        """A sum of doubles, or of the integers that they hold.

        Where no number is negative, what comes out says whether it is exact; and rows without a number add
        nothing, so that those with one may be counted, where they are anyhow.
        """
        found, limit = super().limit(node), self.limit(node)
        if limit is not None and limit == found:
            if not node.args.get("positive") and not node.args.get("counted"):
                return super().total(node)
            summed = exp.Coalesce(this=exp.Sum(this=node.this), expressions=[self.number(0.0)])
            few = self.small(summed.copy())
            if not node.args.get("positive"):
                counted = exp.Count(this=node.this.copy())
                few = exp.LTE(this=counted, expression=exp.Literal.number(limit))
            return exp.Case(ifs=[exp.If(this=few, true=cast(summed, "BIGINT"))], default=null())
        whole = cast(node.this, "BIGINT")
        return Integers.total(self, ExactSum(this=whole)) if limit is None else few_rows(limit, _long(whole))

    def together(self, node: Together) -> exp.Expression:
        """value + (other − other), where all are such doubles: 0 and NULL at half of what a choice costs."""
        found: exp.Expression = node.this
        if not node.args["numbers"]:
            return super().together(node)
        for other in node.expressions:
            none = exp.Paren(this=exp.Sub(this=other.copy(), expression=other.copy()))
            found = exp.Add(this=found, expression=none)
        return exp.Paren(this=found)

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """(value + 1.5·2⁵²) − 1.5·2⁵²."""
        return _less(self, value, 0)

    def placed(self, value: exp.Expression, centre: int, reach: int) -> exp.Expression:
        """A double; beyond what doubles round `limit` leaves the sum to integers."""
        return _less(self, value, centre)


class Longs(LongSums, Integers):
    """Rows become BIGINT and are summed as such."""

    def long_sum(self, value: exp.Expression) -> exp.Expression:
        """What DuckDB itself takes where it knows all values."""
        return _long(value)

    def wide_sum(self, node: ExactSum) -> exp.Expression:
        """A HUGEINT."""
        return Integers.total(self, node)


def _long(value: exp.Expression) -> exp.Expression:
    summed = exp.Anonymous(this="SUM_NO_OVERFLOW", expressions=[value])
    return exp.Coalesce(this=summed, expressions=[exp.Literal.number(0)])


def _less(lowering: Lowering, value: exp.Expression, centre: int) -> exp.Expression:
    """(value + 1.5·2⁵²) − (1.5·2⁵² + centre), of sizes up to 2⁵⁰: both are integers of [2⁵², 2⁵³), which are
    all doubles, so that the sum rounds to the nearest one, halves to even, and what is between both is exact.
    """
    raised = exp.Paren(this=exp.Add(this=value, expression=lowering.number(_MAGIC)))
    return exp.Paren(this=exp.Sub(this=raised, expression=lowering.number(_MAGIC + centre)))


def _bits(value: exp.Expression) -> exp.Expression:
    """The 64 bits of a double as an integer."""
    return cast(cast(value, "BIT"), "BIGINT")


def _tried(name: str, type_: str) -> exp.TryCast:
    return exp.TryCast(this=column(name), to=data_type(type_))
