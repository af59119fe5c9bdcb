"""How DuckDB reads a pandas column, cell by cell, so that a dtype that other rows induced changes nothing.

A column comes as doubles (of any NumPy number), as true and false, as exact integers, as text, or as pairs of
a double and a text (`engine/readings.py`). A cell that holds the same number is read alike in all of them:

    number    it, or what its text says
    decimal   it, or what its text says, rounded to so many places
    integer   it where it is whole and below 2⁵³, beyond which a double no longer tells integers apart
    boolean   whether it is not zero
    text, id  its digits where it is whole and below 2⁵³; other numbers as DuckDB writes them
"""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

from leakcap.release.columns.typed import column, tree_nodes

__all__ = ["read_as"]

# One missing value makes doubles of all integers, and from here on a double is several integers.
_LIMIT = 2**53 - 1
_NUMBER, _TEXT = "STRUCT_EXTRACT(x, 'number')", "STRUCT_EXTRACT(x, 'text')"
_LACKS = f"({_NUMBER} IS NULL OR ISNAN({_NUMBER}))"

_PLACES = "so_many_places"

# By kind, from a double, a text, a truth value, an exact integer.
_OF_NUMBER = {
    "number": "{0}",
    "decimal": "{0}",
    "integer": f"CASE WHEN ABS({{0}}) <= {_LIMIT} AND {{0}} = TRUNC({{0}}) "
    "THEN TRY_CAST({0} AS BIGINT) END",
    "boolean": "{0} <> 0",
    "text": f"CASE WHEN ABS({{0}}) > {_LIMIT} THEN NULL WHEN {{0}} = TRUNC({{0}}) "
    "THEN CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) ELSE CAST({0} AS VARCHAR) END",
}
_OF_TEXT = {
    "number": "TRY_CAST({0} AS DOUBLE)",
    # The cast rounds halves away from zero; of a text with an exponent or too many digits there may be none.
    "decimal": "CASE WHEN TRY_CAST({0} AS DOUBLE) IS NOT NULL THEN COALESCE(CAST(TRY_CAST({0} AS "
    f"DECIMAL(38, {_PLACES})) AS DOUBLE), TRY_CAST({{0}} AS DOUBLE)) END",
    "integer": f"CASE WHEN TRY_CAST({{0}} AS BIGINT) BETWEEN -{_LIMIT} AND {_LIMIT} "
    "THEN TRY_CAST({0} AS BIGINT) END",
    "boolean": "TRY_CAST({0} AS BOOLEAN)",
    "text": "{0}",
}
_OF_TRUTH = {
    "number": "CAST(x AS DOUBLE)",
    "decimal": "CAST(x AS DOUBLE)",
    "integer": "CAST(x AS BIGINT)",
    "boolean": "x",
    "text": "CAST(x AS VARCHAR)",
}
_OF_INTEGER = {
    "number": "CAST(x AS DOUBLE)",
    "decimal": "CAST(x AS DOUBLE)",
    "integer": "TRY_CAST(x AS BIGINT)",
    "boolean": "x <> 0",
    "text": "CAST(x AS VARCHAR)",
}


def read_as(name: str, held: str, kind: str, places: int = 0) -> exp.Expression:
    """The column as `kind` (number, decimal, integer, boolean or text); `held` is the DuckDB type that it
    comes as. Numbers are not rounded to the `places` of a decimal, texts are.

    >>> read_as("age", "DOUBLE", "boolean").sql("duckdb")
    '"age" <> 0'
    """
    tree = _tree(held.partition("(")[0], kind, places).copy()
    for place in tree_nodes(tree, exp.Column):
        place.replace(column(name))
    return column(name) if isinstance(tree, exp.Column) else tree


@cache
def _tree(held: str, kind: str, places: int) -> exp.Expression:
    said = _said(held, kind).replace(_PLACES, str(places))
    tree = sqlglot.parse_one(said, dialect="duckdb")
    assert isinstance(tree, exp.Expression)
    return tree


def _said(held: str, kind: str) -> str:
    if held == "STRUCT":
        number, text = _OF_NUMBER[kind].format(_NUMBER), _OF_TEXT[kind].format(_TEXT)
        if kind == "text":  # of what is both, the word
            return f"COALESCE({text}, {number})"
        return f"CASE WHEN {_LACKS} THEN {text} ELSE {number} END"
    if held == "VARCHAR":
        return _OF_TEXT[kind].format("x")
    if held == "DOUBLE":
        return _OF_NUMBER[kind].format("x")
    return (_OF_TRUTH if held == "BOOLEAN" else _OF_INTEGER)[kind]
