"""What of sqlglot's tree may be read: for each node that a condition or a SELECT may have, its arguments.

A reader of the tree goes where it expects something. What it does not expect it would not see: a clause that
sqlglot, today's or next year's, keeps in an argument of its own. So every argument that is set must be listed
here, as must every node; whatever is not is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

__all__ = ["unread", "unread_within"]

_TWO = ("this", "expression")
_TWO_SIDED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Is)
_READ: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((*_TWO_SIDED, exp.Mod, exp.Add, exp.BitwiseAnd), _TWO),
    **dict.fromkeys(
        (exp.Not, exp.Neg, exp.Paren, exp.Where, exp.From, exp.Boolean, exp.TableAlias), ("this",)
    ),
    **dict.fromkeys((exp.Star, exp.Null), ()),
    **dict.fromkeys((exp.Distinct, exp.Group), ("expressions",)),
    **dict.fromkeys((exp.In, exp.Anonymous), ("this", "expressions")),
    **dict.fromkeys((exp.Table, exp.Alias), ("this", "alias")),
    # Only of a date's text: `conditions/dates.py`.
    exp.Cast: ("this", "to"),
    exp.DataType: ("this",),
    # Only of a column of dates, in what is selected and GROUP BY: `sql/select.py`.
    exp.TimestampTrunc: ("this", "unit"),
    exp.Extract: ("this", "expression"),
    exp.Var: ("this",),
    exp.Select: ("expressions", "from", "from_", "joins", "where", "group"),
    exp.Join: ("this", "on", "kind"),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
    exp.Literal: ("this", "is_string"),
    exp.Between: ("this", "low", "high"),
}


def unread(node: exp.Expr) -> list[str] | None:
    """The node's arguments that are set and that no reader reads; none of it is read if it is not listed.

    >>> unread(exp.column("age")), unread(exp.column("age", db="main")), unread(exp.Abs())
    ([], ['db'], None)
    """
    known = _READ.get(type(node))
    if known is None:
        return None
    empty = (None, False)
    return [
        name for name, value in node.args.items() if name not in known and value not in empty and value != []
    ]


def unread_within(root: exp.Expression) -> Iterator[str]:
    """The names of what no reader reads, in this node and below it.

    >>> list(unread_within(exp.and_(exp.column("age", db="main"), exp.Abs())))
    ['DB', 'ABS']
    """
    for node in root.walk():
        names = unread(node)
        yield from [node.key.upper()] if names is None else (name.rstrip("_").upper() for name in names)
