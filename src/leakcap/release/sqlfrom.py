"""FROM of a SELECT statement: the data, and the declared tables that it is joined with.

    FROM visits [AS] v [INNER] JOIN people [AS] p ON v.person_id = p.person_id

Everything else between tables is refused where it stands, with its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from leakcap.release.condition import Condition, renamed, to_text
from leakcap.release.joins import joined_policy
from leakcap.release.policy import Policy
from leakcap.release.sqlwords import Words
from leakcap.release.where import parse_where

__all__ = ["Scope", "read_from"]

_REASONS = {
    "COMMA": ("a comma between tables", "It would pair every row with every other."),
    "CROSS": ("CROSS JOIN", "It would pair every row with every other."),
    "NATURAL": ("NATURAL JOIN", "Name the declared key after ON."),
    "USING": ("USING", "Name the declared key on both sides after ON."),
    "LEFT": ("LEFT JOIN", "Only rows that meet a partner are joined."),
    "RIGHT": ("RIGHT JOIN", "Only rows that meet a partner are joined."),
    "FULL": ("FULL JOIN", "Only rows that meet a partner are joined."),
    "OUTER": ("OUTER JOIN", "Only rows that meet a partner are joined."),
    "LATERAL": ("LATERAL", "Only tables of the policy are joined."),
    "L_PAREN": ("a subquery or parenthesis in FROM", "Only tables of the policy are joined."),
}
_OTHER_JOINS = frozenset({"SEMI", "ANTI", "ASOF", "POSITIONAL", "STRAIGHT_JOIN"})
_NEXT = ("WHERE", "GROUP_BY", "SEMICOLON", "")


@dataclass(frozen=True)
class Scope:
    """By which names a statement speaks of the data and of the tables beside it."""

    data: str
    joined: Mapping[str, str] = field(default_factory=dict)
    """From what a table is called in the statement to what the policy calls it."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The joined tables, as the policy calls them."""
        return tuple(self.joined.values())

    def condition(self, text: str, policy: Policy) -> Condition:
        """The condition, with the policy's names for the tables. Raises `InvalidQuery`."""
        aliases = {alias: policy.tables[name] for alias, name in self.joined.items()}
        called = joined_policy(policy.model_copy(update={"tables": aliases}), tuple(aliases))
        names = {
            f"{alias}.{column}": f"{name}.{column}"
            for alias, name in self.joined.items()
            for column in policy.tables[name].columns
        }
        return renamed(parse_where(text, called), names)

    def text(self, text: str, policy: Policy) -> str:
        """The condition as a query has it: as it stands where nothing is joined. Raises `InvalidQuery`."""
        condition = self.condition(text, policy)
        return to_text(condition) if self.joined else text.strip()


def read_from(words: Words, policy: Policy, known: Collection[str]) -> Scope:
    """The tables after FROM. Raises `InvalidQuery` that says what is refused, and where."""
    words.expect("FROM")
    start = words.start
    name = _table(words)
    if name in policy.tables:
        raise words.refusal(
            f"FROM starts with `{name}`",
            start,
            f"It starts with the data, here called {_listed(known)}: a row of `{name}` may meet many of it.",
        )
    if name not in known:
        raise words.refusal(
            f"`{name}` is not the table", start, f"Here the table is called {_listed(known)}."
        )
    data = _alias(words) or name
    joined: dict[str, str] = {}
    while _joins(words):
        alias, other = _joined(words, policy, known, data, joined)
        joined[alias] = other
        _on(words, policy, data, alias, other)
    if words.kind() not in _NEXT:
        raise words.unexpected()
    return Scope(data, joined)


def _joins(words: Words) -> bool:
    """Go past [INNER] JOIN; raise where another kind of join is asked for."""
    _refuse_others(words)
    inner = words.take("INNER")
    if words.take("JOIN"):
        return True
    if inner:
        raise words.unexpected("JOIN")
    return False


def _refuse_others(words: Words) -> None:
    reason = _REASONS.get(words.kind())
    if reason is not None:
        raise words.refusal(f"{reason[0]} is not supported", words.start, reason[1])


def _table(words: Words) -> str:
    _refuse_others(words)
    return words.name("a table")


def _alias(words: Words) -> str | None:
    start = words.start
    alias = words.alias()
    if alias is not None and alias.upper() in _OTHER_JOINS and words.kind() == "JOIN":
        remedy = "Only rows that meet a partner are joined, by JOIN."
        raise words.refusal(f"{alias.upper()} JOIN is not supported", start, remedy)
    if alias is not None and "." in alias:
        raise words.refusal("a table's alias may not have a dot", start)
    return alias


def _joined(
    words: Words, policy: Policy, known: Collection[str], data: str, joined: Mapping[str, str]
) -> tuple[str, str]:
    start = words.start
    name = _table(words)
    if name in known:
        raise words.refusal(f"`{name}` is joined with itself", start, "A row could meet other people's rows.")
    if name not in policy.tables:
        remedy = f"It declares {_listed(policy.tables)}."
        raise words.refusal(f"`{name}` is no table of the policy", start, remedy)
    if name in joined.values():
        raise words.refusal(f"`{name}` is joined twice", start)
    alias = _alias(words) or name
    if alias == data or alias in joined:
        raise words.refusal(f"two tables are called `{alias}`", start)
    return alias, name


def _on(words: Words, policy: Policy, data: str, alias: str, name: str) -> None:
    """ON data.key = table.key, in either order, and nothing more."""
    _refuse_others(words)
    table = policy.tables[name]
    mine = f"{data}.{table.on or policy.id_column}"
    rule = f"Join by the declared key: ON {mine} = {alias}.{table.key_column}."
    if words.kind() != "ON":
        raise words.refusal(f"JOIN `{name}` needs its key", words.start, rule)
    words.take("ON")
    start = words.start
    sides = {_side(words, start, rule)}
    if not words.take("EQ"):
        raise words.refusal("a join by anything but equal keys is not supported", words.start, rule)
    sides.add(_side(words, start, rule))
    wanted = {(data, table.on or policy.id_column or ""), (alias, table.key_column)}
    if sides != wanted:
        raise words.refusal("the join is not by the declared key", start, rule)
    if words.kind() not in (*_NEXT, "JOIN", "INNER", *_REASONS):
        if words.is_clause():
            raise words.unexpected()
        raise words.refusal("a join by more than the declared key is not supported", words.start, rule)


def _side(words: Words, start: int, rule: str) -> tuple[str, str]:
    """A qualified column."""
    if words.peek_call() is not None or words.peek_name() is None:
        raise words.refusal("a join by an expression is not supported", words.start, rule)
    qualifier = words.name("a table")
    if not words.take("DOT") or words.peek_name() is None:
        raise words.refusal("columns after ON are qualified by their table", start, rule)
    return qualifier, words.name("a column")


def _listed(names: Collection[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names)) or "none"
