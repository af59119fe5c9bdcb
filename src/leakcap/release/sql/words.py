"""The words of an SQL text: its limits, its tree, refusals by line and column, and that no word is lost.

sqlglot is generous. It drops `ALL` and trailing commas, and takes `n: x`, `{fn f(x)}` and `'n'` for other
ways to write a name or a call. So a reader of its tree also says how it would spell what it read, and
`Words.check` holds that against the words of the text, one by one: a word that nobody read is refused where
it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import sqlglot
from sqlglot import Token, exp
from sqlglot.errors import ParseError, SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.release.conditions.numbers import check_signs
from leakcap.release.conditions.remedies import remedy_for
from leakcap.release.conditions.whitelist import check_words, unread

__all__ = ["CONDITION", "ENDS", "SelectPart", "Spelled", "Words"]

Node = TypeVar("Node", bound=exp.Expression)
Spelled: TypeAlias = str | exp.Identifier | exp.Case | frozenset[str]
"""A kind of word, with a question mark where it may be missing; a name; a CASE; the words for a function."""

CONDITION = "CONDITION"
"""In what is spelled: all words up to the next clause; the whitelist of `where` reads them."""

_LONGEST = 10_000
_MOST = 1_000
_DEEPEST = 40
_OPENING, _CLOSING = ("L_PAREN", "L_BRACKET", "L_BRACE"), ("R_PAREN", "R_BRACKET", "R_BRACE")
_CLAUSES = ("FROM", "WHERE", "GROUP_BY")
ENDS = ("GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "SEMICOLON")
"""The words that can follow a condition."""

_GRAMMAR = "Supported is SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT …"
# Words that end a list of names, so that without quotes they are no aliases, nor columns.
_RESERVED = frozenset(
    {
        *("ALL", "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CROSS", "DESC", "DISTINCT"),
        *("ELSE", "END", "EXCEPT", "EXISTS", "FALSE", "FETCH", "FILTER", "FOR", "FROM", "FULL"),
        *("GROUP", "HAVING", "ILIKE", "IN", "INNER", "INTERSECT", "INTO", "IS", "JOIN", "LATERAL"),
        *("LEFT", "LIKE", "LIMIT", "NATURAL", "NOT", "NULL", "OFFSET", "ON", "OR", "ORDER", "OUTER"),
        *("OVER", "PIVOT", "QUALIFY", "RIGHT", "SELECT", "TABLE", "TABLESAMPLE", "THEN", "TRUE"),
        *("UNION", "UNPIVOT", "USING", "VALUES", "WHEN", "WHERE", "WINDOW", "WITH"),
    }
)
# Where the word for it is called otherwise than sqlglot's argument or node.
_WORDS = {
    "groupingsets": ("GROUPING_SETS",),
    "limit": ("LIMIT", "FETCH"),
    "sample": ("TABLE_SAMPLE", "USING"),
    "window": ("OVER",),
}


class SelectPart(NamedTuple):
    """One SELECT of a statement: its tree, and where its words are."""

    tree: exp.Select
    at: int
    """Which word is its SELECT."""
    depth: int = 0
    """In how many brackets it stands."""


class Words:
    """The words and the tree of one statement. Raises `InvalidQuery` where it is not a single SELECT."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise InvalidQuery(f"The SQL must be from 1 to {_LONGEST:,} characters long.")
        self._text = text
        self._tokens = self._cut()
        self._depths = self._nesting()
        self.tree = self._parsed()

    def _cut(self) -> list[Token]:
        if "\0" in self._text:
            raise self.refusal("null characters are not allowed", self._text.index("\0"))
        try:
            tokens = list(sqlglot.tokenize(self._text, dialect="duckdb"))
        except (SqlglotError, RecursionError):
            tokens = []
        if not tokens:
            raise InvalidQuery("The SQL cannot be cut into words. Is a quote left open?")
        if len(tokens) > _MOST:
            raise InvalidQuery(f"The SQL must have at most {_MOST:,} words and signs.")
        for token in tokens:
            if token.comments:
                raise self.refusal("comments are not supported", token.start)
        return tokens

    def _nesting(self) -> list[int]:
        """How many brackets each word stands in. Raises where they are too many for the parser."""
        depths, depth = [], 0
        for token in self._tokens:
            depth -= token.token_type.name in _CLOSING
            depths.append(depth)
            depth += token.token_type.name in _OPENING
            if depth > _DEEPEST:
                raise self.refusal(f"brackets must not nest more than {_DEEPEST} deep", token.start)
        return depths

    def _parsed(self) -> exp.Select:
        kinds = [token.token_type.name for token in self._tokens]
        if kinds[0] not in ("SELECT", "WITH"):
            raise self.unexpected(0)
        if "SEMICOLON" in kinds[:-1]:
            raise self.unexpected(kinds.index("SEMICOLON") + 1)
        try:
            (tree,) = sqlglot.parse(self._text, dialect="duckdb")
        except ParseError as error:
            raise self._unparsed(error) from None
        except (SqlglotError, RecursionError, ValueError):
            raise self.refusal("this does not parse", 0, _GRAMMAR) from None
        if type(tree) is not exp.Select:
            raise self.unsupported(tree.key if tree is not None else "nothing", None)
        return self.only(tree, exp.Select)

    def _unparsed(self, error: ParseError) -> InvalidQuery:
        found = error.errors[0] if error.errors else {}
        place = (found.get("line"), found.get("col"))
        at = next((at for at, one in enumerate(self._tokens) if (one.line, one.col) == place), 0)
        if at == len(self._tokens) - 1 and found.get("description", "").startswith(("Required", "Expect")):
            return self.unexpected(at + 1, "more")
        return self.refusal(f"{self.found(at)} is not expected here", self.place(at), _GRAMMAR)

    def refusal(self, what: str, start: int, remedy: str = "") -> InvalidQuery:
        """The error for what stands at this place of the text."""
        before = self._text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        return InvalidQuery(f"Line {line}, column {column}: {what}. {remedy}".rstrip())

    def only(self, node: object, kind: type[Node]) -> Node:
        """The node, which must be of this kind and have no arguments but those that are read."""
        if not isinstance(node, kind) or type(node) is not kind:
            raise self.unsupported(node.key if isinstance(node, exp.Expression) else "this", node)
        names = unread(node)
        refusals = [self.near(name, node.args[name]) for name in names or ()]
        if refusals:
            start, called = min(refusals)
            raise self.refusal(f"{called} is not supported", start, remedy_for(called, _GRAMMAR))
        return node

    def unsupported(self, key: str, node: object) -> InvalidQuery:
        """The error for a part of the tree that is not read, by its name and place."""
        if isinstance(node, exp.Binary):
            return self.unexpected(self.after(node.this))
        start, called = self.near(key, node)
        return self.refusal(f"{called} is not supported", start, remedy_for(called, _GRAMMAR))

    def near(self, key: str, value: object) -> tuple[int, str]:
        """Where the word for an argument or a node stands, or its contents, and what it is called."""
        key = key.rstrip("_")
        kinds = _WORDS.get(key, (key.upper(), key.upper().rstrip("S")))
        near = self.start_of(value, 0)
        found = [one for one in self._tokens[1:] if one.token_type.name.removesuffix("_BY") in kinds]
        if not found:
            return near, key.upper()
        token = min(found, key=lambda one: abs(one.start - near))
        return token.start, token.token_type.name.replace("_", " ")

    def start_of(self, value: object, default: int = 0) -> int:
        """Where a part of the tree begins."""
        parts = value if isinstance(value, list) else [value]
        starts = [
            one.meta["start"]
            for part in parts
            if isinstance(part, exp.Expression)
            for one in part.walk()
            if "start" in one.meta
        ]
        return min(starts, default=default)

    def word(self, start: int) -> str:
        """The word that begins here, as it stands."""
        return next((self._text[start : one.end + 1] for one in self._tokens if one.start == start), "")

    def after(self, node: exp.Expression) -> int:
        """Which word follows this part of the tree and the brackets that close after it."""
        end = max((one.meta["end"] for one in node.walk() if "end" in one.meta), default=0)
        at, start = sum(token.start <= end for token in self._tokens), self.start_of(node)
        outer = next(
            (depth for depth, one in zip(self._depths, self._tokens, strict=True) if one.start == start), 0
        )
        while self.kind(at) == "R_PAREN" and self._depths[at] >= outer:
            at += 1
        return at

    def place(self, at: int) -> int:
        """Where this word begins; the end of the text after the last."""
        return self._tokens[at].start if at < len(self._tokens) else len(self._text)

    def kind(self, at: int) -> str:
        """The kind of this word; empty at the end."""
        return self._tokens[at].token_type.name if 0 <= at < len(self._tokens) else ""

    def alias(self, node: object) -> exp.Identifier:
        """An alias, which becomes a name in answers and reports."""
        alias = self.only(node, exp.Identifier)
        if not alias.name.strip() or not alias.name.isprintable():
            raise self.refusal("an alias must be printable text", self.start_of(alias))
        return alias

    def find(self, kinds: Collection[str], since: int = 0, depth: int = 0) -> int:
        """The first word of these kinds that stands in so many brackets; where these end if there is none."""
        for at in range(since, len(self._tokens)):
            if self._depths[at] < depth:
                return at
            text = "" if self.kind(at) in ("STRING", "IDENTIFIER") else self._tokens[at].text.upper()
            if self._depths[at] == depth and (self.kind(at) in kinds or text in kinds):
                return at
        return len(self._tokens)

    def depth(self, at: int) -> int:
        """In how many brackets this word stands."""
        return self._depths[at]

    def condition(self, first: int) -> list[Token]:
        """The words of the condition that begins here."""
        return self._tokens[first : self.find(ENDS, first, self._depths[first - 1])]

    def filter_of(self, start: int) -> int:
        """Which word is the FILTER of the call that begins here."""
        at = next(at for at, one in enumerate(self._tokens) if one.start == start)
        return self.find(("FILTER",), at, self._depths[at])

    def calls(self, names: Collection[str], first: int, end: int) -> list[int]:
        """Where the calls of these functions begin, from one word to before another."""
        called = (at for at in range(first, end) if self.kind(at + 1) == "L_PAREN")
        return [self.place(at) for at in called if self._tokens[at].text.upper() in names]

    def _end_of_case(self, at: int) -> int:
        """Which word is the END of the CASE that begins here."""
        opened = 0
        for place in range(at, len(self._tokens)):
            opened += (self.kind(place) == "CASE") - (self.kind(place) == "END")
            if not opened:
                return place
        return len(self._tokens)

    def found(self, at: int) -> str:
        """This word, as a refusal shows it."""
        if at >= len(self._tokens):
            return "the end"
        shown = self.word(self.place(at))[:40]
        if not shown.replace(" ", "").isidentifier():
            return repr(shown)
        return shown if self.kind(at) == "VAR" else shown.upper()

    def unexpected(self, at: int, wanted: str = "") -> InvalidQuery:
        """The error for this word, in place of what is wanted."""
        what = (
            f"{wanted} is expected here, not {self.found(at)}"
            if wanted
            else f"{self.found(at)} is not supported"
        )
        return self.refusal(what, self.place(at), remedy_for(self.found(at).strip("'"), _GRAMMAR))

    def check(self, spelled: Sequence[Spelled]) -> None:
        """The words of the text must be these, in this order, and no others."""
        at = 0
        for wanted in spelled:
            if isinstance(wanted, str) and wanted.endswith("?"):
                at += self.kind(at) == wanted[:-1]
            elif wanted == CONDITION:
                at += len(self.condition(at))
            elif isinstance(wanted, exp.Case) and self.kind(at) == "CASE":
                end = self._end_of_case(at) + 1
                self._check_case(wanted, at, end)
                at = end
            elif self._is(at, wanted):
                at += 1
            else:
                raise self.unexpected(at, str(wanted).replace("_", " ") if wanted in _CLAUSES else "")
        if at < len(self._tokens):
            raise self.unexpected(at)

    def _check_case(self, node: exp.Case, at: int, end: int) -> None:
        """No word of a CASE is lost; those of its constants stand alone."""
        try:
            check_words(node, self._tokens[at:end])
            check_signs(node, self._tokens[at:end])
        except InvalidQuery as error:
            raise self.refusal(str(error).rstrip("."), self.place(at)) from None

    def _is(self, at: int, wanted: Spelled) -> bool:
        if at >= len(self._tokens) or isinstance(wanted, str | exp.Case):
            return self.kind(at) == wanted
        token = self._tokens[at]
        if isinstance(wanted, frozenset):
            return token.text.upper() in wanted
        if self.kind(at) == "IDENTIFIER":
            return bool(token.text == wanted.name)
        plain = wanted.name.isidentifier() and wanted.name.upper() not in _RESERVED
        return plain and self.word(token.start) == wanted.name
