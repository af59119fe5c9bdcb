"""How Spark SQL says it, the same under ANSI mode and without.

SUM over BIGINT is a BIGINT in Spark and stops, or wraps, when it overflows. So each integer is cut into two
halves whose sums cannot: with integers below 2^m, for up to 2^(63 − m/2) rows in a cell, which is 2³⁶ at the
least and 2⁴⁶ with a usual grid. The halves are put together as decimals after all rows are added up, so that
a row costs two additions of machine integers.

There is no TRY_CAST here: sqlglot writes one as a plain CAST for Spark unless it is of text, and a plain CAST
stops under ANSI mode. Every cast is of a value that is known to fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from leakcap.release.columns.typed import ExactSum, column
from leakcap.release.engine.doubles import DoubleSums
from leakcap.release.engine.lowering import (
    FLOATS,
    INTEGERS,
    Lowering,
    cast,
    fitting,
    in_rows,
    null,
    signed_double,
)

__all__ = ["SparkDoubles", "SparkSQL"]

# Sums of integers below this need no halves for up to 2⁴³ rows.
_SMALL = 2**20
# Microseconds from 1970 to the years 2 and 9999: whatever the zone, a clock then shows a year from 1 to 9999.
_FIRST, _LAST = -62_104_060_800_000_000, 253_370_764_800_000_000


class SparkSQL(Lowering):
    """Spark SQL from version 4 on."""

    dialect = "spark"

    def double(self, name: str) -> exp.Expression:
        """Casts from numbers cannot fail: the largest decimal is far below the largest double."""
        type_ = self.type_of(name)
        if type_ == "DOUBLE":
            return column(name)
        known = type_ in INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN"}
        return cast(column(name), "DOUBLE") if known else null()

    def rounded_decimal(self, name: str, places: int) -> exp.Expression:
        """ROUND, which has room for what it rounds up."""
        rounded = exp.Anonymous(this="ROUND", expressions=[column(name), exp.Literal.number(places)])
        return cast(rounded, "DOUBLE")

    def integer(self, name: str) -> exp.Expression:
        """Integers as they are; decimals where they fit, rounded halves away from zero."""
        type_ = self.type_of(name)
        if type_ == "DECIMAL":
            rounded = exp.Anonymous(this="ROUND", expressions=[column(name), exp.Literal.number(0)])
            return fitting(name, rounded)
        return cast(column(name), "INTEGER") if type_ == "BOOLEAN" else column(name)

    def instant(self, name: str, zone: int) -> exp.Expression:
        """By microseconds since 1970, which know of no zone, nor of the session's."""
        micros = exp.Anonymous(this="UNIX_MICROS", expressions=[column(name)])
        low, high = exp.Literal.number(_FIRST), exp.Literal.number(_LAST)
        ahead = exp.Paren(this=exp.Add(this=micros, expression=exp.Literal.number(zone * 10**6)))
        seconds = exp.Div(this=_decimal(ahead, 18), expression=exp.Literal.number(10**6))
        nothing = [exp.Literal.number(0) for _ in range(3)]
        since = exp.Anonymous(
            this="MAKE_DT_INTERVAL", expressions=[*nothing, cast(seconds, "DECIMAL(18, 6)")]
        )
        start = cast(exp.Literal.string("1970-01-01 00:00:00"), "TIMESTAMP")
        known = exp.Between(this=micros.copy(), low=low, high=high)
        return exp.Case(ifs=[exp.If(this=known, true=exp.Add(this=start, expression=since))])

    def part(self, day: exp.Expression, part: str) -> exp.Expression:
        """Days by DATEDIFF; weekdays have another name."""
        if part == "days":
            first = cast(exp.Literal.string("0001-01-01"), "DATE")
            return exp.Anonymous(this="DATEDIFF", expressions=[day, first])
        if part == "weekday":
            return exp.Extract(this=exp.Var(this="DAYOFWEEK_ISO"), expression=day)
        return super().part(day, part)

    def boolean(self, name: str) -> exp.Expression:
        """Booleans as they are; an integer is true where it is not zero."""
        if self.type_of(name) == "BOOLEAN":
            return column(name)
        return exp.Paren(this=exp.NEQ(this=column(name), expression=exp.Literal.number(0)))

    def words(self, name: str) -> exp.Expression:
        """Text, which compares byte by byte: columns with a collation are refused by their type.

        Spark reads any bytes as text. Those that are no UTF-8 are written out: Spark Connect stops at a group
        that is called so, and a classic session makes one of two.
        """
        if self.type_of(name) != "TEXT":
            return cast(column(name), "TEXT")
        known = exp.Anonymous(this="TRY_VALIDATE_UTF8", expressions=[column(name)])
        digits = exp.Anonymous(this="HEX", expressions=[cast(column(name), "BLOB")])
        written = exp.Anonymous(this="CONCAT", expressions=[exp.Literal.string("\ufffd"), digits])
        return exp.Coalesce(this=known, expressions=[written])

    def identity(self, name: str) -> exp.Expression:
        """Text with what is no Unicode written out; other ids as they are."""
        return self.words(name) if self.type_of(name) == "TEXT" else column(name)

    def number(self, value: float) -> exp.Expression:
        """With a D, which makes it a double without a cast to be folded."""
        return signed_double(value, f"{abs(float(value))!r}D")

    def sum_of_sums(self, sums: exp.Expression) -> exp.Expression:
        """Of decimals: a SUM over BIGINT is a BIGINT, which stops when it overflows."""
        return super().sum_of_sums(cast(sums, "DECIMAL(38, 0)"))

    def kept(self, test: exp.Expression) -> exp.Expression:
        """With a count in it, or Spark would test every row instead, for a tenth of the whole time."""
        some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=some, true=test)], default=exp.false())

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """RINT rounds halves to even, the cast only cuts off what is not there any more."""
        rint = exp.Anonymous(this="RINT", expressions=[value])
        return cast(rint, "BIGINT")

    def in_text(
        self, value: exp.Expression, keys: exp.Expression, between: exp.Expression, type_: str
    ) -> exp.Expression:
        """A join with the keys. SPLIT takes a pattern; a control character stands for itself in one."""
        parts = cast(exp.Anonymous(this="SPLIT", expressions=[keys, between]), f"{type_}[]")
        return in_rows(value, parts, "EXPLODE")

    def hashed(self, unit: exp.Expression, contents: Sequence[exp.Expression]) -> exp.Expression:
        """XXHASH64, in which the hash of each column is the key of the next one's."""
        seed = cast(exp.Placeholder(this="seed"), "BIGINT")
        return exp.Anonymous(this="XXHASH64", expressions=[seed, unit, *contents])

    def total(self, node: ExactSum) -> exp.Expression:
        """SUM(high)·2^k + SUM(low) in decimals."""
        bits = int(node.args["largest"]).bit_length()
        if node.args["largest"] < _SMALL:
            return exp.Coalesce(this=exp.Sum(this=node.this), expressions=[exp.Literal.number(0)])
        shift = (bits + 1) // 2
        high = exp.Anonymous(this="SHIFTRIGHT", expressions=[node.this.copy(), exp.Literal.number(shift)])
        mask = cast(exp.Literal.number(2**shift - 1), "BIGINT")
        low = exp.BitwiseAnd(this=node.this.copy(), expression=mask)
        weight = _decimal(exp.Literal.number(2**shift), 10)
        product = exp.Mul(this=_decimal(exp.Sum(this=high), 20), expression=weight)
        whole = exp.Add(this=product, expression=_decimal(exp.Sum(this=low), 20))
        return exp.Coalesce(this=whole, expressions=[exp.Literal.number(0)])


class SparkDoubles(DoubleSums, SparkSQL):
    """Rows become doubles that hold integers, one addition a row."""

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """RINT rounds halves to even."""
        return exp.Anonymous(this="RINT", expressions=[value])


def _decimal(tree: exp.Expression, digits: int) -> exp.Cast:
    return cast(tree, f"DECIMAL({digits}, 0)")
