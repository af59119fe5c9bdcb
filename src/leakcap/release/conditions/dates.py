"""Dates and moments as an analyst writes them: DATE '2024-03-01', TIMESTAMP '2024-03-01 12:00:00'."""

from __future__ import annotations

import datetime
import re

from sqlglot import exp

from leakcap.errors import InvalidQuery

__all__ = ["date_of"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?", re.ASCII)
_DATES = (exp.DataType.Type.DATE,)
_MOMENTS = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)


def date_of(node: exp.Expression, column: str, *, timed: bool) -> datetime.date:
    """The date, or where `timed` the moment, that a literal beside a column says. Raises `InvalidQuery`.

    >>> date_of(exp.Literal.string("2024-03-01"), "admitted", timed=False)
    datetime.date(2024, 3, 1)
    """
    if isinstance(node, exp.Null):
        raise InvalidQuery(f"`where` compares `{column}` with NULL, which is never true. Use IS NULL.")
    if isinstance(node, exp.Column):
        raise InvalidQuery(f"`where` must compare `{column}` with a literal, not with another column.")
    if type(node) is exp.Cast and (node.to.this in _DATES or (timed and node.to.this in _MOMENTS)):
        node = node.this
    text = str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""
    example = "TIMESTAMP '2024-12-31 23:59:00'" if timed else "DATE '2024-12-31'"
    if not (_MOMENT if timed else _DAY).fullmatch(text):
        raise InvalidQuery(f"`where` must compare `{column}` with a date like {example}.")
    try:
        return datetime.datetime.fromisoformat(text) if timed else datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidQuery(f"`where` compares `{column}` with {text!r}, a day that there is not.") from None
