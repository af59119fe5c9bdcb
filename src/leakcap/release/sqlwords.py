"""The words of an SQL text, taken one after the other, each refusal with its line and column."""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery

__all__ = ["Words"]

_LONGEST = 10_000
_MOST = 1_000
# Words that end a list of names, so that they are no aliases, nor columns without quotes.
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


class Words:
    """A cursor over the words of one statement. Raises `InvalidQuery` where they are not what is expected."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise InvalidQuery(f"The SQL must be from 1 to {_LONGEST:,} characters long.")
        self._text = text
        self._tokens = self._cut()
        self._at = 0
        self._qualifiers: list[tuple[str, int]] = []

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

    @property
    def start(self) -> int:
        """Where the next word starts."""
        return self._tokens[self._at].start if self._at < len(self._tokens) else len(self._text)

    def refusal(self, what: str, start: int, remedy: str = "") -> InvalidQuery:
        """The error for what stands at this place of the text."""
        before = self._text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        return InvalidQuery(f"Line {line}, column {column}: {what}. {remedy}".rstrip())

    def take(self, kind: str) -> bool:
        """Go past the next word if it is of this kind."""
        found = self._kind() == kind
        self._at += found
        return found

    def kind(self) -> str:
        """The kind of the next word; empty at the end."""
        return self._kind()

    def mark(self) -> int:
        """This place, to come back to."""
        return self._at

    def back(self, mark: int) -> None:
        """Go to a place that was marked."""
        self._at = mark

    def skip_to(self, kind: str) -> bool:
        """Go to the next word of this kind outside parentheses, if there is one."""
        depth = 0
        for place in range(self._at, len(self._tokens)):
            type_ = self._tokens[place].token_type
            depth += (type_ == TokenType.L_PAREN) - (type_ == TokenType.R_PAREN)
            if depth == 0 and type_.name == kind:
                self._at = place
                return True
        return False

    def is_qualified(self) -> bool:
        """Whether the next word is followed by a dot."""
        following = self._tokens[self._at + 1 : self._at + 2]
        return bool(following) and following[0].token_type == TokenType.DOT

    def is_clause(self) -> bool:
        """Whether the next word begins a clause that is refused by its name."""
        return self._found_clause() is not None

    def expect(self, kind: str) -> None:
        """Go past the next word, which must be of this kind."""
        if not self.take(kind):
            raise self._unexpected(kind.replace("_", " "))

    def end(self) -> None:
        """There must be no further word."""
        if self._at < len(self._tokens):
            raise self._unexpected("")

    def name(self, what: str) -> str:
        """Go past a name, in double quotes or as it is."""
        name = self.peek_name()
        if name is None:
            raise self._unexpected(what)
        self._at += 1
        return name

    def peek_name(self) -> str | None:
        """The next word if it is a name."""
        if self._at >= len(self._tokens):
            return None
        token = self._tokens[self._at]
        if token.token_type == TokenType.IDENTIFIER:
            return str(token.text) or None
        plain = token.text.isidentifier() and token.text.upper() not in _RESERVED
        same = self._text[token.start : token.end + 1] == token.text
        return str(token.text) if plain and same else None

    def peek_call(self) -> str | None:
        """The next word if it is a name without quotes and followed by a parenthesis."""
        following = self._tokens[self._at + 1 : self._at + 2]
        if not following or following[0].token_type != TokenType.L_PAREN:
            return None
        token = self._tokens[self._at]
        return str(token.text) if token.text.isidentifier() else None

    def call(self) -> None:
        """Go past the name of a function and its parenthesis."""
        self._at += 2

    def close(self, rule: str) -> None:
        """Go past the closing parenthesis."""
        if not self.take("R_PAREN"):
            raise self.refusal(rule, self.start, f"Found {self._found()}.")

    def alias(self) -> str | None:
        """The alias, if there is one."""
        if self._kind() == "ALIAS":
            self._at += 1
            return self._printable("an alias")
        return self._printable("an alias") if self.peek_name() is not None else None

    def _printable(self, what: str) -> str:
        start = self.start
        name = self.name(what)
        if not name.strip() or not name.isprintable():
            raise self.refusal("an alias must be printable text", start)
        return name

    def qualified(self, qualifier: str, start: int) -> None:
        """Remember what a column is qualified by until the table is known."""
        self._qualifiers.append((qualifier, start))

    def check_qualifiers(self, names: Collection[str]) -> None:
        """All columns so far must be qualified by one of these names."""
        for qualifier, start in self._qualifiers:
            if qualifier not in names:
                raise self.refusal(f"`{qualifier}` is not the table", start, "There is only one.")

    def until(self, kind: str, *, names: Collection[str]) -> str:
        """The text up to the next word of this kind outside parentheses, or to the end.

        Qualifiers by the table's own names become blanks, so that every word stays in its place.
        """
        first, depth = self._at, 0
        while self._at < len(self._tokens):
            type_ = self._tokens[self._at].token_type
            depth += (type_ == TokenType.L_PAREN) - (type_ == TokenType.R_PAREN)
            if depth == 0 and type_.name in (kind, "SEMICOLON"):
                break
            if depth == 0 and self._found_clause() is not None:
                raise self._unexpected("")
            self._at += 1
        start, end = self._position(first), self._position(self._at)
        text = list(self._text)
        for place in range(first, self._at - 2):
            token, dot = self._tokens[place], self._tokens[place + 1]
            if dot.token_type == TokenType.DOT and token.text in names and self._may_qualify(place):
                text[token.start : dot.end + 1] = " " * (dot.end + 1 - token.start)
        return "".join(text[start:end])

    def _may_qualify(self, place: int) -> bool:
        """Whether this word can be a table's name: no text, no number, no part of a longer name."""
        if self._tokens[place].token_type in (TokenType.STRING, TokenType.NUMBER):
            return False
        beyond = self._tokens[place + 3 : place + 4]
        if beyond and beyond[0].token_type == TokenType.DOT:
            return False
        return place == 0 or self._tokens[place - 1].token_type != TokenType.DOT

    def _position(self, place: int) -> int:
        return self._tokens[place].start if place < len(self._tokens) else len(self._text)

    def _kind(self) -> str:
        return self._tokens[self._at].token_type.name if self._at < len(self._tokens) else ""

    def _found_clause(self) -> str | None:
        kind = self._kind()
        return kind.replace("_", " ") if kind in _CLAUSES else None

    def _found(self) -> str:
        if self._at >= len(self._tokens):
            return "the end"
        token = self._tokens[self._at]
        shown = self._text[token.start : token.end + 1][:40]
        return repr(shown) if not shown.isidentifier() else shown

    def unexpected(self, wanted: str = "") -> InvalidQuery:
        """The error for the next word, in place of what is wanted."""
        return self._unexpected(wanted)

    def _unexpected(self, wanted: str) -> InvalidQuery:
        clause = self._found_clause()
        if clause is not None:
            return self.refusal(f"{clause} is not supported", self.start, _GRAMMAR)
        what = (
            f"{wanted} is expected here, not {self._found()}"
            if wanted
            else f"{self._found()} is not supported"
        )
        return self.refusal(what, self.start, _GRAMMAR)


_CLAUSES = frozenset(
    {
        *("HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "JOIN"),
        *("CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "OUTER", "USING", "ON", "WITH"),
        *("WINDOW", "QUALIFY", "DISTINCT", "OVER", "FILTER", "LATERAL", "TABLE_SAMPLE", "PIVOT"),
        *("UNPIVOT", "INTO", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "COPY"),
        *("COMMAND", "EXECUTE", "PRAGMA", "SET", "ATTACH", "DETACH", "VALUES", "CASE", "CAST"),
    }
)
_GRAMMAR = "Supported is SELECT … FROM … WHERE … GROUP BY …"
