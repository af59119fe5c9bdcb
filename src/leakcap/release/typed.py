"""Columns and literals as SQL that no value can make fail, whatever the engine's own type for them is."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from leakcap.release.policy import Policy

__all__ = ["SOURCE", "aliased", "cast", "column", "literal", "number_column", "typed_column"]

# The name under which every engine shows the one table.
SOURCE = "leakcap_source"

_TYPES = {"number": "DOUBLE", "text": "VARCHAR", "integer": "BIGINT", "boolean": "BOOLEAN"}


def identifier(name: str) -> exp.Identifier:
    """A quoted identifier: a column may be called anything."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str) -> exp.Column:
    """The raw column of the table."""
    return exp.Column(this=identifier(name))


def aliased(tree: exp.Expression, name: str) -> exp.Alias:
    """`tree` AS "name"."""
    return exp.Alias(this=tree, alias=identifier(name))


def cast(tree: exp.Expression, kind: str) -> exp.TryCast:
    """TRY_CAST: NULL where the value cannot be read, never an error."""
    return exp.TryCast(this=tree, to=exp.DataType.build(_TYPES[kind], dialect="duckdb"))


def literal(value: str | int | bool | float, kind: str) -> exp.Expression:
    """A constant of the column's kind; doubles in their shortest exact decimal form.

    >>> literal(0.1, "number").sql("duckdb")
    "CAST('0.1' AS DOUBLE)"
    """
    if kind == "boolean":
        return exp.Boolean(this=bool(value))
    if kind == "text":
        return exp.Literal.string(str(value))
    text = repr(float(value)) if kind == "number" else str(int(value))
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(_TYPES[kind], dialect="duckdb"))


def number_column(name: str) -> exp.Expression:
    """The column as DOUBLE with NaN turned into NULL: both mean that the value is missing."""
    value = cast(column(name), "number")
    missing = exp.Anonymous(this="ISNAN", expressions=[value.copy()])
    return exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=value)


def _key_reader(kind: str) -> Callable[[str], exp.Expression]:
    return lambda name: cast(column(name), kind)


def _text_column(name: str) -> exp.Expression:
    """The column as text that is compared byte by byte.

    Under a collation of the table's own, groups would merge keys that differ in case, and the row that comes
    first would say what the group is called: one person could rename a group, and so make its count vanish.
    """
    return exp.Collate(this=cast(column(name), "text"), expression=identifier("C"))


_READERS: dict[str, Callable[[str], exp.Expression]] = {
    "number": number_column,
    "text": _text_column,
    "integer": _key_reader("integer"),
    "boolean": _key_reader("boolean"),
}


def typed_column(name: str, policy: Policy) -> exp.Expression:
    """The column as the policy's kind; NULL where it is missing or cannot be read so."""
    return _READERS[policy.columns[name].kind](name)
