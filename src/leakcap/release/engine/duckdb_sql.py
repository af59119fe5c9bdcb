"""How DuckDB says it. Two ways to sum: integers of 128 bits, and doubles that hold integers.

Adding 1.5·2⁵² to a double of size up to 2⁵¹ leaves no bits behind the point, so that adding and taking it off
again rounds to the nearest integer, halves to even, which is also what the cast to BIGINT does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot.dialects.duckdb  # noqa: F401 - else the first release waits for it
from sqlglot import exp

from leakcap.release.engine import objects
from leakcap.release.engine.doubles import DoubleSums
from leakcap.release.engine.lowering import FLOATS, INTEGERS, Lowering, cast, signed
from leakcap.release.typed import Total, column, data_type

__all__ = ["Doubles", "Integers"]

_NUMBERS = INTEGERS | {"HUGEINT", "UBIGINT", "UHUGEINT", "DECIMAL", "BOOLEAN", "FLOAT"}
_MAGIC = 1.5 * 2.0**52


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

    def read(self, name: str, kind: str) -> exp.Expression:
        """The column as `kind`; a pandas one cell by cell."""
        if name not in self._objects:
            return super().read(name, kind)
        if kind in ("number", "double"):
            return super().read(name, kind)
        return objects.read(name, self._objects[name], "text" if kind == "id" else kind)

    def may_be_nan(self, name: str) -> bool:
        """Text and columns of unknown type can say NaN too."""
        return self.type_of(name) in FLOATS or not self._is_number(name)

    def _is_number(self, name: str) -> bool:
        return self.type_of(name) in _NUMBERS | FLOATS

    def double(self, name: str) -> exp.Expression:
        """The column itself, a cast that cannot fail, or TRY_CAST."""
        type_ = self.type_of(name)
        if name in self._objects:
            return objects.read(name, self._objects[name], "number")
        if type_ == "DOUBLE":
            return column(name)
        return cast(column(name), "DOUBLE") if type_ in _NUMBERS else _tried(name, "DOUBLE")

    def integer(self, name: str) -> exp.Expression:
        """The column itself where every value fits, or TRY_CAST."""
        return column(name) if self.type_of(name) in INTEGERS else _tried(name, "BIGINT")

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

    def number(self, value: float) -> exp.Expression:
        """With an exponent, which makes it a double without a cast to be read, bound and folded."""
        digits = repr(abs(float(value)))
        return signed(value, digits if "e" in digits else f"{digits}e0")

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """CAST rounds to the nearest, halves to even; `DuckDB` checks that it does."""
        return cast(value, "BIGINT")

    def hashed(self, unit: exp.Expression, contents: Sequence[exp.Expression]) -> exp.Expression:
        """HASH of HASH: of several columns it is a chain of exclusive ors, whose order the second breaks."""
        seed = cast(exp.Parameter(this=exp.Var(this="seed")), "BIGINT")
        inner = exp.Anonymous(this="HASH", expressions=[seed, unit, *contents])
        return exp.Anonymous(this="HASH", expressions=[inner])

    def total(self, node: Total) -> exp.Expression:
        """SUM over BIGINT is a HUGEINT."""
        return exp.Coalesce(this=exp.Sum(this=node.this), expressions=[exp.Literal.number(0)])


class Doubles(DoubleSums, Integers):
    """Rows become doubles that hold integers."""

    def rounded(self, value: exp.Expression) -> exp.Expression:
        """(value + 1.5·2⁵²) − 1.5·2⁵²."""
        raised = exp.Paren(this=exp.Add(this=value, expression=self.number(_MAGIC)))
        return exp.Paren(this=exp.Sub(this=raised, expression=self.number(_MAGIC)))


def _tried(name: str, type_: str) -> exp.TryCast:
    return exp.TryCast(this=column(name), to=data_type(type_))
