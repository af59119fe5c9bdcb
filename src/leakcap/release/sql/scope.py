"""By which names a statement speaks of columns, and the columns that it writes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.conditions.bands import Bands, bands_of
from leakcap.release.conditions.condition import Condition, Junction
from leakcap.release.conditions.number_columns import Operand
from leakcap.release.conditions.whitelist import unread_within
from leakcap.release.conditions.worded import derived_name
from leakcap.release.conditions.written import WrittenColumns
from leakcap.release.sql.words import Spelled, Words

Read = TypeVar("Read")

__all__ = ["Scope", "both_conditions", "is_key"]

_NO_COLUMNS = (exp.Distinct, exp.Func, exp.Binary, exp.Rollup, exp.Cube, exp.GroupingSets)
_KEYS = (exp.Column, exp.Star, exp.Literal, exp.TimestampTrunc, exp.Extract, exp.Case)


def is_key(node: exp.Expression) -> bool:
    """Whether it stands where a key can stand, rather than an aggregate."""
    return isinstance(node, _KEYS) or bands_of(node) is not None


@dataclass(frozen=True)
class Scope:
    """By which names a part of a statement speaks of the data and of the tables beside it.

    `names` are those that a subquery gives its columns, each with the policy's; None where all of the
    policy's own are in sight. `condition` is what a subquery asks of the rows.
    """

    words: Words
    data: str
    written: WrittenColumns
    joined: Mapping[str, str] = field(default_factory=dict)
    """From what a table is called in the statement to what the policy calls it."""
    spelled: tuple[Spelled, ...] = ()
    """The words of FROM."""
    tables: tuple[str, ...] = ()
    """The joined tables, as the policy calls them."""
    names: Mapping[str, str] | None = None
    condition: Condition | None = None

    @property
    def policy(self) -> Policy:
        """The policy with the joined columns, and those written so far."""
        return self.written.policy

    def has(self, name: str) -> bool:
        """Whether a name without a table is that of a column."""
        return name in (self.policy.columns if self.names is None else self.names)

    def reference(self, node: exp.Expression) -> tuple[str, int, list[Spelled]]:
        """A column as the policy calls it, where its own name stands, and its words."""
        words = self.words
        if not isinstance(node, exp.Column):
            start = words.start_of(node, -1)
            if start < 0 or isinstance(node, _NO_COLUMNS):
                raise words.unsupported(node.key, node)
            raise words.refusal(f"a column is expected here, not {words.word(start)}", start)
        qualifier = words.only(node, exp.Column).args.get("table")
        own = words.only(node.this, exp.Identifier)
        start = words.start_of(own)
        if qualifier is None:
            return self._known(own.name, start), start, [own]
        table = words.only(qualifier, exp.Identifier).name
        self._check_table(qualifier)
        joined = self.joined.get(table)
        name = f"{joined}.{own.name}" if joined else self._known(own.name, start)
        return name, start, [qualifier, "DOT", own]

    def _check_table(self, qualifier: exp.Expression) -> None:
        if qualifier.name != self.data and qualifier.name not in self.joined:
            what = "a table of FROM" if self.joined else "the table. There is only one"
            start = self.words.start_of(qualifier)
            raise self.words.refusal(f"`{qualifier.name}` is not {what}", start)

    def _known(self, name: str, start: int) -> str:
        """What the policy calls a column of the subquery, or of the data."""
        if self.names is None:
            return name
        if name not in self.names:
            remedy = meant(name, self.names)
            raise self.words.refusal(f"`{name}` is not a column of the subquery", start, remedy)
        return self.names[name]

    def column(self, node: exp.Expression) -> tuple[str, list[Spelled]]:
        """A column of the policy, or of the subquery, and its words."""
        name, start, spelled = self.reference(node)
        if name not in self.policy.columns:
            remedy = meant(name, self.policy.columns)
            raise self.words.refusal(f"`{name}` is not a column of the policy", start, remedy)
        return name, spelled

    def key(self, node: exp.Expression) -> tuple[str, list[Spelled]]:
        """A column, or what the statement makes of some, and its words."""
        if isinstance(node, exp.Case):
            return self._case(node)
        bands = bands_of(node)
        if bands is not None:
            return self._bands(node, bands)
        if not isinstance(node, exp.TimestampTrunc | exp.Extract):
            return self.column(node)
        words, part = self.words, isinstance(node, exp.Extract)
        held = words.only(node, exp.Extract if part else exp.TimestampTrunc)
        unit = words.only(held.this if part else held.args.get("unit"), exp.Var).name
        source, spelled = self.column(held.expression if part else held.this)
        try:
            name = self.written.name_of(derived_name(unit.lower(), source, self.policy, part=part))
        except InvalidQuery as error:
            raise words.refusal(str(error).rstrip("."), words.start_of(node)) from None
        if part:
            wanted: list[Spelled] = [frozenset({"EXTRACT"}), "L_PAREN", frozenset({unit.upper()}), "FROM"]
        else:
            wanted = [frozenset({"DATE_TRUNC"}), "L_PAREN", "STRING", "COMMA"]
        return name, [*wanted, *spelled, "R_PAREN"]

    def number(self, node: exp.Expression) -> Operand:
        """The column of numbers that this is of each row, or the number that it is in all."""
        return self._placed(self.written.number, node)

    def where(self, node: exp.Expression) -> Condition:
        """The condition of FILTER, or of a CASE."""
        return self._placed(self.written.condition, node)

    def _case(self, node: exp.Expression) -> tuple[str, list[Spelled]]:
        assert isinstance(node, exp.Case)
        return self._placed(self.written.case, node), [node]

    def _bands(self, node: exp.Expression, bands: Bands) -> tuple[str, list[Spelled]]:
        """Bands of equal width of a column of numbers."""
        words = self.words
        read = node.expression if isinstance(node.expression, exp.Mod) else node
        for part in (node, read, *node.find_all(exp.Floor, exp.Div)):
            words.only(part, type(part))
        source, own = self.column(bands.source)
        try:
            name = self.written.bands(source, bands)
        except InvalidQuery as error:
            raise words.refusal(str(error).rstrip("."), words.start_of(node)) from None
        if bands.parity:
            return name, [*own, "DASH", *own, "MOD", "NUMBER"]
        floor: list[Spelled] = [frozenset({"FLOOR"}), "L_PAREN", *own, "SLASH", "NUMBER", "R_PAREN"]
        if bands.factor is None:
            return name, floor
        first = isinstance(node.this, exp.Floor)
        return name, [*floor, "STAR", "NUMBER"] if first else ["NUMBER", "STAR", *floor]

    def _placed(self, read: Callable[[exp.Expression], Read], node: exp.Expression) -> Read:
        """What is read, a refusal with its place."""
        resolved = self.resolved(node)
        try:
            return read(resolved)
        except InvalidQuery as error:
            start = self.words.start_of(node) if error.start is None else error.start
            raise self.words.refusal(str(error).rstrip("."), start) from None

    def resolved(self, node: exp.Expression) -> exp.Expression:
        """A copy that calls columns what the policy calls them. Raises `InvalidQuery` for other tables."""
        node = node.copy()
        for column in list(node.find_all(exp.Column)):
            own, table = column.this, column.args.get("table")
            if list(unread_within(column)) or not isinstance(own, exp.Identifier):
                continue  # refused where the condition is read
            if table is not None and table.name in self.joined:
                self._call(column, f"{self.joined[table.name]}.{own.name}")
            else:
                if table is not None:
                    self._check_table(table)
                start = own.meta.get("start", 0)
                self._call(column, own.name if self.names is None else self._known(own.name, start))
        return node

    def _call(self, column: exp.Column, name: str) -> None:
        column.set("table", None)
        if column.name != name:
            called = exp.to_identifier(name, quoted=True)
            called.meta.update(column.this.meta)
            column.set("this", called)


def both_conditions(one: Condition | None, other: Condition | None) -> Condition | None:
    """Where both conditions are true: as one list, the way AND is written."""
    found = [part for condition in (one, other) if condition is not None for part in _all(condition)]
    return Junction("AND", tuple(found)) if len(found) > 1 else next(iter(found), None)


def _all(condition: Condition) -> tuple[Condition, ...]:
    held = isinstance(condition, Junction) and condition.word == "AND"
    return condition.parts if held and isinstance(condition, Junction) else (condition,)
