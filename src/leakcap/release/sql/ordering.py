"""HAVING, ORDER BY, LIMIT and OFFSET of a SELECT statement: how its noisy answer is shown.

    HAVING COUNT(*) > 100 ORDER BY 2 DESC, ward LIMIT 10

They speak of what is selected and of keys, never of rows; an aggregate that is not selected would have to be
paid for, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.release.conditions.condition import (
    Between,
    Compare,
    Condition,
    Junction,
    Negation,
    Operator,
    Scalar,
)
from leakcap.release.conditions.whitelist import literal_of
from leakcap.release.results.arranging import Arrangement, SortKey
from leakcap.release.sql.calls import Call, aggregate, call_words
from leakcap.release.sql.scope import Scope, is_key
from leakcap.release.sql.words import ENDS, SelectPart, Spelled, Words

__all__ = ["ArrangementReader"]

_COMPARED: Mapping[type[exp.Expression], tuple[Operator, str]] = {
    exp.EQ: ("=", "EQ"),
    exp.NEQ: ("<>", "NEQ"),
    exp.LT: ("<", "LT"),
    exp.LTE: ("<=", "LTE"),
    exp.GT: (">", "GT"),
    exp.GTE: (">=", "GTE"),
}
_RULE = "HAVING compares what is selected with numbers, as in HAVING COUNT(*) > 100, with AND, OR and NOT."
_PAID = "Select it: each aggregate is paid for."
_MOST = 10**9
_DEEPEST = 30


class Selected(Protocol):
    """One of the things that are selected."""

    @property
    def call(self) -> Call | None:
        """The aggregate; None of a key."""

    @property
    def column(self) -> str | None:
        """The key."""

    @property
    def alias(self) -> str | None:
        """What it is called, where that is said."""

    @property
    def head(self) -> str | None:
        """What its column is called in answers; None of an aggregate without an alias."""

    @property
    def start(self) -> int:
        """Where it stands."""


@dataclass(frozen=True)
class ArrangementReader:
    """What is selected, under which `names` its aggregates are answered, in order, and by which keys."""

    words: Words
    part: SelectPart
    scope: Scope
    items: Sequence[Selected]
    names: Sequence[str]
    by: Sequence[str]

    def read(self) -> tuple[Arrangement, list[Spelled]]:
        """How the answer is shown, and the words that say so. Raises `InvalidQuery`."""
        words, tree, heads = self.words, self.part.tree, self._heads()
        at = words.find(("HAVING", "ORDER_BY", "LIMIT", "OFFSET"), self.part.at, self.part.depth)
        given = [name for name in ("having", "order", "limit", "offset") if tree.args.get(name) is not None]
        if not given:
            return Arrangement(heads=heads), []
        if not self.by:
            raise words.refusal(
                f"{words.found(at)} needs GROUP BY", words.place(at), "Without it the answer is one row."
            )
        having, spelled = self._having()
        order, ordered = self._order()
        limit, limited = self._number("limit", "LIMIT")
        offset, skipped = self._number("offset", "OFFSET")
        found = Arrangement(having, order, limit, offset or 0, heads)
        return found, [*spelled, *ordered, *limited, *skipped]

    def _heads(self) -> dict[str, str]:
        """For each column of keys that answers show under another name, that name."""
        heads: dict[str, str] = {}
        for item in self.items:
            if item.call is not None or item.column is None or item.head is None:
                continue
            head = heads.setdefault(item.column, item.head)
            if head != item.head:
                what = f"`{head}` and `{item.head}` are the same column"
                raise self.words.refusal(what, item.start, "An answer has each key once. Leave one out.")
            if head in self.by and head != item.column and all(one.column != head for one in self._keys()):
                raise self.words.refusal(f"two columns are called `{head}`", item.start, "Rename one.")
        return {column: head for column, head in heads.items() if head != column}

    def _keys(self) -> list[Selected]:
        return [item for item in self.items if item.call is None]

    def _having(self) -> tuple[Condition | None, list[Spelled]]:
        clause = self.part.tree.args.get("having")
        if clause is None:
            return None, []
        node = self.words.only(clause, exp.Having).this
        first = self.words.find(("HAVING",), self.part.at, self.part.depth) + 1
        end = self.words.find(ENDS[2:], first, self.part.depth)
        calls = self.words.calls(call_words(), first, end)
        taken = iter(calls)
        condition, spelled = self._test(node, lambda: next(taken, first), 0)
        return condition, ["HAVING", *spelled]

    def _test(
        self, node: exp.Expression, place: Callable[[], int], depth: int
    ) -> tuple[Condition, list[Spelled]]:
        """A condition on aggregates; `place` says where the next one stands."""
        words = self.words
        if depth > _DEEPEST:
            raise words.refusal(f"HAVING must not nest more than {_DEEPEST} deep", words.start_of(node))
        if isinstance(node, exp.Paren):
            found, spelled = self._test(words.only(node, exp.Paren).this, place, depth + 1)
            return found, ["L_PAREN", *spelled, "R_PAREN"]
        if isinstance(node, exp.Not):
            found, spelled = self._test(words.only(node, exp.Not).this, place, depth + 1)
            return Negation(found), ["NOT", *spelled]
        if isinstance(node, exp.And | exp.Or):
            return self._junction(node, place, depth)
        if isinstance(node, exp.Between):
            words.only(node, exp.Between)
            name, spelled = self._value(node.this, place)
            low, first = self._constant(node.args["low"])
            high, last = self._constant(node.args["high"])
            return Between(name, low, high), [*spelled, "BETWEEN", *first, "AND", *last]
        if type(node) not in _COMPARED:
            raise words.refusal("this is no condition that HAVING takes", self._near(node), _RULE)
        operator, sign = _COMPARED[type(node)]
        words.only(node, type(node))
        name, spelled = self._value(node.this, place)
        value, number = self._constant(node.expression)
        return Compare(name, operator, value), [*spelled, sign, *number]

    def _junction(
        self, node: exp.And | exp.Or, place: Callable[[], int], depth: int
    ) -> tuple[Condition, list[Spelled]]:
        """The parts of a AND b AND c, which the parser nests to the left; a long list is not deep."""
        kind: type[exp.Expression] = type(node)
        word: Literal["AND", "OR"] = "AND" if kind is exp.And else "OR"
        rest: exp.Expression = node
        parts: list[exp.Expression] = []
        while type(rest) is kind:
            parts.append(self.words.only(rest, kind).args["expression"])
            rest = rest.this
        read = [self._test(one, place, depth + 1) for one in (rest, *reversed(parts))]
        spelled = [one for at, (_, words) in enumerate(read) for one in ([word, *words] if at else words)]
        return Junction(word, tuple(condition for condition, _ in read)), spelled

    def _near(self, node: exp.Expression) -> int:
        """Where this part of HAVING begins, or HAVING."""
        words, part = self.words, self.part
        return words.start_of(node, words.place(words.find(("HAVING",), part.at, part.depth)))

    def _constant(self, node: exp.Expression) -> tuple[Scalar, list[Spelled]]:
        negative = isinstance(node, exp.Neg)
        inner = self.words.only(node, exp.Neg).this if negative else node
        try:
            if type(inner) is not exp.Literal or self.words.only(inner, exp.Literal).is_string:
                raise InvalidQuery(_RULE)
            return literal_of(node, "HAVING"), [*(["DASH"] if negative else []), "NUMBER"]
        except InvalidQuery:
            raise self.words.refusal("HAVING compares with a number", self._near(node), _RULE) from None

    def _value(self, node: exp.Expression, place: Callable[[], int]) -> tuple[str, list[Spelled]]:
        """The name of the answer that is compared."""
        if isinstance(node, exp.Column):
            name = None if self.scope.has(node.name) else self._alias(node)
            if name is not None and name[1] is not None:
                return name[0], [node.this]
            key, _, _ = self.scope.reference(node)
            start = self.words.start_of(node)
            raise self.words.refusal(f"HAVING compares `{key}`, which is no aggregate", start, "Use WHERE.")
        if is_key(node):
            raise self.words.refusal("HAVING compares aggregates", self._near(node), _RULE)
        return self._aggregate(node, place())

    def _alias(self, node: exp.Column) -> tuple[str, Call | None] | None:
        """What goes by this name: an answer, or a key."""
        self.words.only(self.words.only(node, exp.Column).this, exp.Identifier)
        if node.args.get("table") is not None:
            return None
        for item in self.items:
            if item.alias == node.name:
                return (str(item.column), None) if item.call is None else (self._name(item), item.call)
        return None

    def _aggregate(self, node: exp.Expression, start: int) -> tuple[str, list[Spelled]]:
        call, spelled = aggregate(self.words, node, self.scope, start)
        found = [name for item, name in self._answers() if item.call == call]
        if not found:
            raise self.words.refusal(f"this {self.words.word(start)} is not selected", start, _PAID)
        if len(found) > 1:  # each has noise of its own
            what = f"this {self.words.word(start)} is selected more than once"
            raise self.words.refusal(what, start, "Name the one that is meant by AS, and say that name.")
        return found[0], spelled

    def _answers(self) -> list[tuple[Selected, str]]:
        """The aggregates, each with the name of its answer."""
        return list(zip([item for item in self.items if item.call is not None], self.names, strict=True))

    def _name(self, item: Selected) -> str:
        """The name of the answer of this aggregate, of which there may be two alike."""
        return next(name for one, name in self._answers() if one is item)

    def _order(self) -> tuple[tuple[SortKey, ...], list[Spelled]]:
        clause = self.part.tree.args.get("order")
        if clause is None:
            return (), []
        words, depth = self.words, self.part.depth
        at = words.find(("ORDER_BY",), self.part.at, depth)
        keys: list[SortKey] = []
        spelled: list[Spelled] = ["ORDER_BY"]
        for node in words.only(clause, exp.Order).expressions:
            words.only(node, exp.Ordered)
            falling = bool(node.args.get("desc"))
            name, of_keys, wanted = self._sorted_by(node.this, words.place(at + 1))
            if any((one.name, one.of_keys) == (name, of_keys) for one in keys):
                raise words.refusal(f"ORDER BY names `{name}` twice", words.place(at + 1))
            spelled += ["COMMA"] if keys else []
            spelled += [*wanted, "DESC" if falling else "ASC?"]
            keys.append(SortKey(name, of_keys, falling))
            at = words.find(("COMMA",), at + 1, depth)
        return tuple(keys), spelled

    def _sorted_by(self, node: exp.Expression, start: int) -> tuple[str, bool, list[Spelled]]:
        """The answer, or the column of keys, that groups are ordered by."""
        words = self.words
        if isinstance(node, exp.Literal) and not node.is_string:
            words.only(node, exp.Literal)
            text = str(node.this)
            place = int(text) if text.isdecimal() and len(text) < 4 else 0
            if not 0 < place <= len(self.items):
                raise words.refusal(f"nothing is selected at place {text[:20]}", start)
            item = self.items[place - 1]
            if item.call is not None:
                return self._name(item), False, ["NUMBER"]
            return str(item.column), True, ["NUMBER"]
        if isinstance(node, exp.Column):
            named = self._alias(node)
            if named is not None:
                return named[0], named[1] is None, [node.this]
        if not is_key(node):
            name, spelled = self._aggregate(node, start)
            return name, False, spelled
        name, spelled = self.scope.key(node)
        if name not in self.by:
            remedy = "Groups are ordered by their keys, or by what is selected."
            raise words.refusal(f"ORDER BY names `{name}`, which is not in GROUP BY", start, remedy)
        return name, True, spelled

    def _number(self, name: str, word: str) -> tuple[int | None, list[Spelled]]:
        clause = self.part.tree.args.get(name)
        if clause is None:
            return None, []
        words = self.words
        node = words.only(clause, exp.Limit if name == "limit" else exp.Offset).args["expression"]
        held = type(node) is exp.Literal and not words.only(node, exp.Literal).is_string
        text = str(node.this) if held else ""
        least = 1 if name == "limit" else 0
        if not (text.isdecimal() and len(text) < 12 and least <= int(text) <= _MOST):
            start = words.place(words.find((word,), self.part.at, self.part.depth) + 1)
            raise words.refusal(f"{word} takes a whole number from {least} to {_MOST:,}", start)
        return int(text), [word, "NUMBER"]
