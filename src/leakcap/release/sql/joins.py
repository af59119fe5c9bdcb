"""Joins of a SELECT statement: declared tables by their declared keys, and why nothing else.

visits [AS] v [INNER] JOIN people [AS] p ON v.person_id = p.person_id
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.sql.words import Spelled, Words

__all__ = ["BETWEEN", "called_in", "check_kind", "check_other", "leftmost", "listed_names", "on_words"]

_PAIRS = "It would pair every row with every other."
_PARTNER = "Only rows that meet a partner are joined."
_DECLARED = "Only tables of the policy are joined."
_REASONS = {
    "CROSS": _PAIRS,
    "NATURAL": "Name the declared key after ON.",
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "OUTER"), _PARTNER),
}
BETWEEN = ("COMMA", "JOIN", "INNER", *_REASONS, "SEMI", "ANTI", "ASOF", "POSITIONAL")
"""The words that can stand between two tables."""


def leftmost(words: Words, node: object, at: int) -> exp.Identifier:
    """The first name of a table, which must be the only one."""
    if isinstance(node, exp.Subquery | exp.Lateral) or words.kind(at) in ("L_PAREN", "LATERAL"):
        what = "LATERAL" if isinstance(node, exp.Lateral) else "a subquery or parenthesis in FROM"
        raise words.refusal(f"{what} is not supported", words.place(at), _DECLARED)
    if not isinstance(node, exp.Table):
        raise words.unsupported(getattr(node, "key", "this"), node)
    found = node.args.get("catalog") or node.args.get("db") or node.this
    if isinstance(found, exp.Identifier):
        return found
    # A function in place of a table: no table has its name.
    start = words.start_of(found)
    called = exp.to_identifier(words.word(start), quoted=False)
    called.meta["start"] = start
    return called


def called_in(words: Words, node: object, name: exp.Identifier) -> tuple[str, list[Spelled]]:
    """What the table is called in the statement, and the words for it."""
    table = words.only(node, exp.Table)
    words.only(name, exp.Identifier)
    if table.args.get("alias") is None:
        return name.name, [name]
    alias = words.alias(words.only(table.args["alias"], exp.TableAlias).this)
    if "." in alias.name:
        raise words.refusal("a table's alias may not have a dot", words.start_of(alias))
    return alias.name, [name, "ALIAS?", alias]


def check_kind(words: Words, join: exp.Join, at: int) -> int:
    """Raise where another kind of join is asked for; which word is JOIN."""
    if words.kind(at) == "COMMA":
        raise words.refusal("a comma between tables is not supported", words.place(at), _PAIRS)
    kind = str(join.args.get("method") or join.args.get("side") or join.args.get("kind") or "INNER").upper()
    if kind != "INNER":
        remedy = _REASONS.get(kind, f"{_PARTNER[:-1]}, by JOIN.")
        raise words.refusal(f"{kind} JOIN is not supported", words.place(words.find((kind,), at)), remedy)
    if join.args.get("using"):
        start = words.place(words.find(("USING",), at))
        raise words.refusal("USING is not supported", start, "Name the declared key on both sides after ON.")
    words.only(join, exp.Join)
    return words.find(("JOIN",), at)


def check_other(
    words: Words, policy: Policy, known: Collection[str], joined: Mapping[str, str], other: exp.Identifier
) -> None:
    """Raise unless this is a declared table that is not joined yet."""
    name, start = other.name, words.start_of(other)
    if name in known:
        raise words.refusal(f"`{name}` is joined with itself", start, "A row could meet other people's rows.")
    if name not in policy.tables:
        remedy = f"It declares {listed_names(policy.tables)}."
        raise words.refusal(f"`{name}` is no table of the policy", start, remedy)
    if name in joined.values():
        raise words.refusal(f"`{name}` is joined twice", start)


def on_words(words: Words, join: exp.Join, policy: Policy, data: str, alias: str, name: str) -> list[Spelled]:
    """ON data.key = table.key, in either order, and nothing more."""
    table = policy.tables[name]
    mine = table.on or policy.id_column or ""
    rule = f"Join by the declared key: ON {data}.{mine} = {alias}.{table.key_column}."
    node, at = join.args.get("on"), words.after(join.this)
    if node is None:
        raise words.refusal(f"JOIN `{name}` needs its key", words.place(at), rule)
    start = words.place(at + 1)
    equal = node
    while isinstance(equal, exp.Connector):
        equal = equal.this
    if type(equal) is not exp.EQ or not isinstance(equal.this, exp.Column):
        raise _no_key(words, equal, start, rule)
    words.only(equal, exp.EQ)
    sides = [_side(words, side, start, rule) for side in (equal.this, _more(words, equal.expression, rule))]
    if {(one.name, other.name) for one, other in sides} != {(data, mine), (alias, table.key_column)}:
        raise words.refusal("the join is not by the declared key", start, rule)
    if node is not equal:
        place = words.place(words.after(equal))
        raise words.refusal("a join by more than the declared key is not supported", place, rule)
    (one, key), (other, its_key) = sides
    return [one, "DOT", key, "EQ", other, "DOT", its_key]


def _no_key(words: Words, node: exp.Expression, start: int, rule: str) -> InvalidQuery:
    """The error for what is no equality of two columns."""
    left = node.this if isinstance(node, exp.EQ) else node
    if isinstance(left, exp.Binary) and isinstance(left.this, exp.Column):
        place = words.place(words.after(left.this))
        return words.refusal("a join by anything but equal keys is not supported", place, rule)
    return words.refusal("a join by an expression is not supported", start, rule)


def _more(words: Words, right: exp.Expression, rule: str) -> exp.Expression:
    """The right side of the equality, which must be a column."""
    if isinstance(right, exp.Column):
        return right
    if isinstance(right, exp.Binary) and isinstance(right.this, exp.Column):
        place = words.place(words.after(right.this))
        raise words.refusal("a join by more than the declared key is not supported", place, rule)
    raise words.refusal("a join by an expression is not supported", words.start_of(right), rule)


def _side(words: Words, node: exp.Expression, start: int, rule: str) -> tuple[exp.Identifier, exp.Identifier]:
    """A qualified column."""
    words.only(node, exp.Column)
    if node.args.get("table") is None:
        raise words.refusal("columns after ON are qualified by their table", start, rule)
    return words.only(node.args["table"], exp.Identifier), words.only(node.this, exp.Identifier)


def listed_names(names: Collection[str]) -> str:
    """Names as a refusal lists them."""
    return " or ".join(f"`{name}`" for name in sorted(names)) or "none"
