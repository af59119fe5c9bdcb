"""How PostgreSQL says it, where there is no TRY_CAST and doubles stop at overflow *and* at underflow.

So nothing is cast that could fail: text is read as text only (a column of text with bounds is refused when
the schema is checked), decimals are compared before they become doubles, and a value too small to reach half
a step becomes 0 before a multiplication could underflow. SUM over bigint is a numeric: exact, without limit.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from leakcap.release.columns.typed import ExactSum, column, literal
from leakcap.release.engine.lowering import FLOATS, INTEGERS, Lowering, cast, fitting, null

__all__ = ["PostgreSQL15"]

# Decimals beyond these are no doubles; they count as infinite, and as zero.
_HUGE, _TINY = "1e300", "1e-300"


class PostgreSQL15(Lowering):
    """SQL for PostgreSQL from version 15 on."""

    dialect = "postgres"

    def double(self, name: str) -> exp.Expression:
        """Floats and integers by casts that cannot fail; decimals after a look at their size."""
        type_ = self.type_of(name)
        if type_ == "DOUBLE":
            return column(name)
        if type_ == "DECIMAL":
            return _decimal(column(name))
        if type_ == "BOOLEAN":
            return cast(cast(column(name), "INTEGER"), "DOUBLE")
        return cast(column(name), "DOUBLE") if type_ in INTEGERS | FLOATS else null()

    def rounded_decimal(self, name: str, places: int) -> exp.Expression:
        """ROUND, which stops at what it rounds up to more digits than there are: so of no such value."""
        rounded = exp.Anonymous(this="ROUND", expressions=[column(name), exp.Literal.number(places)])
        return _decimal(column(name), rounded)

    def integer(self, name: str) -> exp.Expression:
        """Integers as they are; decimals where they fit, rounded."""
        type_ = self.type_of(name)
        if type_ == "BOOLEAN":
            return cast(column(name), "INTEGER")
        return fitting(name, column(name)) if type_ == "DECIMAL" else column(name)

    def instant(self, name: str, zone: int) -> exp.Expression:
        """AT TIME ZONE, which stops where there is no such time: so instants beyond are NULL before it."""
        ends = [
            cast(exp.Literal.string(f"{year}-01-01 00:00:00+00"), "TIMESTAMPTZ") for year in ("0002", "9999")
        ]
        known = exp.Between(this=column(name), low=ends[0], high=ends[1])
        ahead = cast(exp.Literal.string(f"{zone} seconds"), "INTERVAL")
        shown = exp.Anonymous(this="TIMEZONE", expressions=[ahead, column(name)])
        return exp.Case(ifs=[exp.If(this=known, true=shown)])

    def part(self, day: exp.Expression, part: str) -> exp.Expression:
        """EXTRACT is a numeric here, and so is DIV; the quotient of two integers is cut off."""
        if part == "weeks":
            return exp.Div(this=self.part(day, "days"), expression=exp.Literal.number(7), typed=True)
        found = super().part(day, part)
        return found if part == "days" else cast(found, "INTEGER")

    def boolean(self, name: str) -> exp.Expression:
        """Booleans as they are; an integer is true where it is not zero."""
        if self.type_of(name) == "BOOLEAN":
            return column(name)
        return exp.Paren(this=exp.NEQ(this=column(name), expression=exp.Literal.number(0)))

    def words(self, name: str) -> exp.Expression:
        """Text without the column's collation, under which two keys could be one."""
        text = column(name) if self.type_of(name) == "TEXT" else cast(column(name), "TEXT")
        return exp.Collate(this=text, expression=exp.Identifier(this="C", quoted=True))

    def identity(self, name: str) -> exp.Expression:
        """Text without the column's collation, under which two people could be one."""
        return self.words(name) if self.type_of(name) == "TEXT" else column(name)

    def is_nan(self, value: exp.Expression) -> exp.Expression:
        """In PostgreSQL NaN equals itself."""
        return exp.EQ(this=value, expression=cast(exp.Literal.string("NaN"), "DOUBLE"))

    def scaled(self, value: exp.Expression, scale: float) -> exp.Expression:
        """value·scale, or 0 where that is below a quarter and could underflow, which is an error."""
        product = super().scaled(value, scale)
        if scale >= 1.0:
            return product
        small = exp.LT(this=exp.Abs(this=value.copy()), expression=literal(0.25 / scale, "number"))
        return exp.Case(ifs=[exp.If(this=small, true=literal(0.0, "number"))], default=product)

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """The cast rounds halves to even; the engine checks that it does."""
        return cast(value, "BIGINT")

    def ones(self, value: exp.Expression) -> exp.Expression:
        """BIT_COUNT of a bit string, which PostgreSQL has from version 14 on."""
        return exp.Anonymous(this="BIT_COUNT", expressions=[cast(value, "BIT(64)")])

    def in_text(
        self, value: exp.Expression, keys: exp.Expression, between: exp.Expression, type_: str
    ) -> exp.Expression:
        """= ANY of a constant array, which the server hashes whatever its `work_mem`; not so a subquery."""
        parts = cast(exp.Anonymous(this="STRING_TO_ARRAY", expressions=[keys, between]), f"{type_}[]")
        return exp.EQ(this=value, expression=exp.Any(this=exp.Paren(this=parts)))

    def hashed(self, unit: exp.Expression, contents: Sequence[exp.Expression]) -> exp.Expression:
        """The hash of a record, under a key that is the hash of the unit under the seed.

        A record's hash is a weighted sum of its columns': with the unit as a column everybody's rows would
        lie on one circle, each starting elsewhere, and rows after a gap would be preferred.
        """
        seed = cast(exp.Parameter(this=exp.Literal.number(1)), "BIGINT")
        return _hash_of_record(contents, _hash_of_record([unit], seed))

    def total(self, node: ExactSum) -> exp.Expression:
        """SUM over bigint is numeric."""
        return exp.Coalesce(this=exp.Sum(this=node.this), expressions=[exp.Literal.number(0)])


def _hash_of_record(contents: Sequence[exp.Expression], seed: exp.Expression) -> exp.Expression:
    record = exp.Anonymous(this="ROW", expressions=list(contents))
    return exp.Anonymous(this="HASH_RECORD_EXTENDED", expressions=[record, seed])


def _decimal(value: exp.Expression, said: exp.Expression | None = None) -> exp.Expression:
    """A decimal as a double, or what is `said` of it where it is neither huge nor tiny.

    It is the decimal as it is stored that is looked at, since whatever is made of it could stop. NaN is the
    largest numeric there is, so it is asked for first.
    """

    def number(text: str) -> exp.Expression:
        unbounded = exp.DataType(this=exp.DataType.Type.DECIMAL)
        return exp.Cast(this=exp.Literal.string(text), to=unbounded)

    def double(text: str) -> exp.Expression:
        return cast(exp.Literal.string(text), "DOUBLE")

    nan = exp.EQ(this=value.copy(), expression=number("NaN"))
    above = exp.GT(this=value.copy(), expression=number(_HUGE))
    below = exp.LT(this=value.copy(), expression=number("-" + _HUGE))
    small = exp.LT(this=exp.Abs(this=value.copy()), expression=number(_TINY))
    ifs = [
        exp.If(this=nan, true=null()),
        exp.If(this=above, true=double("Infinity")),
        exp.If(this=below, true=double("-Infinity")),
        exp.If(this=small, true=literal(0.0, "number")),
    ]
    return exp.Case(ifs=ifs, default=cast(value if said is None else said, "DOUBLE"))
