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
from leakcap.release.engine.lowering import FLOATS, INTEGERS, Lowering, cast, fitting, null, signed

__all__ = ["SparkDoubles", "SparkSQL"]

# Sums of integers below this need no halves for up to 2⁴³ rows.
_SMALL = 2**20


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

    def integer(self, name: str) -> exp.Expression:
        """Integers as they are; decimals where they fit, rounded halves away from zero."""
        type_ = self.type_of(name)
        if type_ == "DECIMAL":
            rounded = exp.Anonymous(this="ROUND", expressions=[column(name), exp.Literal.number(0)])
            return fitting(name, rounded)
        return cast(column(name), "INTEGER") if type_ == "BOOLEAN" else column(name)

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
        return signed(value, f"{abs(float(value))!r}D")

    def kept(self, test: exp.Expression) -> exp.Expression:
        """With a count in it, or Spark would test every row instead, for a tenth of the whole time."""
        some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=some, true=test)], default=exp.false())

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """RINT rounds halves to even, the cast only cuts off what is not there any more."""
        rint = exp.Anonymous(this="RINT", expressions=[value])
        return cast(rint, "BIGINT")

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
