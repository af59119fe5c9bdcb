"""FROM of a SELECT statement: the data, and the declared tables that it is joined with.

    FROM visits [AS] v [INNER] JOIN people [AS] p ON v.person_id = p.person_id

Everything else between tables is refused where it stands, with its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.joins import joined_policy
from leakcap.release.conditions.condition import Condition, renamed
from leakcap.release.conditions.where import condition_of
from leakcap.release.sql.words import Spelled, Words

__all__ = ["Scope", "read_from"]

_PAIRS = "It would pair every row with every other."
_PARTNER = "Only rows that meet a partner are joined."
_DECLARED = "Only tables of the policy are joined."
_REASONS = {
    "CROSS": _PAIRS,
    "NATURAL": "Name the declared key after ON.",
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "OUTER"), _PARTNER),
}
_BETWEEN = ("COMMA", "JOIN", "INNER", *_REASONS, "SEMI", "ANTI", "ASOF", "POSITIONAL")


@dataclass(frozen=True)
class Scope:
    """By which names a statement speaks of the data and of the tables beside it."""

    data: str
    joined: Mapping[str, str] = field(default_factory=dict)
    """From what a table is called in the statement to what the policy calls it."""
    spelled: tuple[Spelled, ...] = ()
    """The words of FROM."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The joined tables, as the policy calls them."""
        return tuple(self.joined.values())

    def condition(self, node: exp.Expression, policy: Policy) -> Condition:
        """The condition, with the policy's names for the tables. Raises `InvalidQuery`."""
        for column in node.find_all(exp.Column):
            own = column.args.get("table")
            if own is not None and own.name == self.data and not column.args.get("db"):
                column.set("table", None)
        aliases = {alias: policy.tables[name] for alias, name in self.joined.items()}
        called = joined_policy(policy.model_copy(update={"tables": aliases}), tuple(aliases))
        names = {
            f"{alias}.{column}": f"{name}.{column}"
            for alias, name in self.joined.items()
            for column in policy.tables[name].columns
        }
        return renamed(condition_of(node, called), names)


def read_from(words: Words, policy: Policy, known: Collection[str]) -> Scope:
    """The tables after FROM. Raises `InvalidQuery` that says what is refused, and where."""
    found = words.tree.args.get("from_") or words.tree.args.get("from")
    if found is None:
        raise words.unexpected(words.find(("WHERE", "GROUP_BY", "SEMICOLON")), "FROM")
    at = words.find(("FROM",))
    node = words.only(found, exp.From).this
    first = _leftmost(words, node, at + 1)
    name, start = first.name, words.start_of(first)
    if name in policy.tables:
        remedy = (
            f"It starts with the data, here called {_listed(known)}: a row of `{name}` may meet many of it."
        )
        raise words.refusal(f"FROM starts with `{name}`", start, remedy)
    if name not in known:
        remedy = f"Here the table is called {_listed(known)}."
        raise words.refusal(f"`{name}` is not the table", start, remedy)
    data, spelled = _called(words, node, first)
    spelled = ["FROM", *spelled]
    joined: dict[str, str] = {}
    for join in words.tree.args.get("joins") or ():
        at = words.find(_BETWEEN, at + 1)
        if not policy.tables:
            raise words.unexpected(at)
        at = _check_kind(words, join, at)
        first = _leftmost(words, join.this, at + 1)
        _check_other(words, policy, known, joined, first)
        alias, called = _called(words, join.this, first)
        if alias == data or alias in joined:
            raise words.refusal(f"two tables are called `{alias}`", words.start_of(first))
        joined[alias] = first.name
        spelled += ["INNER?", "JOIN", *called, "ON", *_on(words, join, policy, data, alias, first.name)]
    return Scope(data, joined, tuple(spelled))


def _leftmost(words: Words, node: object, at: int) -> exp.Identifier:
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


def _called(words: Words, node: exp.Table, name: exp.Identifier) -> tuple[str, list[Spelled]]:
    """What the table is called in the statement, and the words for it."""
    words.only(node, exp.Table)
    words.only(name, exp.Identifier)
    if node.args.get("alias") is None:
        return name.name, [name]
    alias = words.alias(words.only(node.args["alias"], exp.TableAlias).this)
    if "." in alias.name:
        raise words.refusal("a table's alias may not have a dot", words.start_of(alias))
    return alias.name, [name, "ALIAS?", alias]


def _check_kind(words: Words, join: exp.Join, at: int) -> int:
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


def _check_other(
    words: Words, policy: Policy, known: Collection[str], joined: Mapping[str, str], other: exp.Identifier
) -> None:
    name, start = other.name, words.start_of(other)
    if name in known:
        raise words.refusal(f"`{name}` is joined with itself", start, "A row could meet other people's rows.")
    if name not in policy.tables:
        remedy = f"It declares {_listed(policy.tables)}."
        raise words.refusal(f"`{name}` is no table of the policy", start, remedy)
    if name in joined.values():
        raise words.refusal(f"`{name}` is joined twice", start)


def _on(words: Words, join: exp.Join, policy: Policy, data: str, alias: str, name: str) -> list[Spelled]:
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


def _listed(names: Collection[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names)) or "none"
