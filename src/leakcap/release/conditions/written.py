"""Columns that a query writes where it needs them: periods and parts of dates, CASE, and computed numbers.

Each such column goes by one canonical text, which is read back by the same rules, and which stands in double
quotes in a condition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.conditions.bands import Bands, band_column, bands_of
from leakcap.release.conditions.cases import case_column, gives_numbers
from leakcap.release.conditions.condition import Condition, to_text
from leakcap.release.conditions.number_columns import Operand
from leakcap.release.conditions.numbers import check_signs, computed_number, operand_of
from leakcap.release.conditions.where import condition_of
from leakcap.release.conditions.whitelist import bare, check_words, parsed, unread_within
from leakcap.release.conditions.worded import derived_name, period_column
from leakcap.release.query import QueryFields

__all__ = ["WrittenColumns", "is_written", "read_condition", "with_written"]

Asked = TypeVar("Asked", bound=QueryFields)
# So that a name like `first-visit` is none.
_SIGN = re.compile(r"\S\s[-+*/]\s\S")


def is_written(name: str) -> bool:
    """Whether a name can be one that writes a column, rather than that of one.

    >>> [is_written(name) for name in ("date_trunc('month', admitted)", "price * quantity", "case", "a-b")]
    [True, True, False, False]
    """
    return "(" in name or name[:5].upper() == "CASE " or _SIGN.search(name) is not None


def with_written(query: Asked, policy: Policy) -> tuple[Asked, Policy]:
    """The query with canonical names of the columns that it writes, and the policy with these.

    Raises `InvalidQuery` for one that the policy does not allow.
    """
    written = WrittenColumns(policy)
    changed: dict[str, Any] = {}
    for field in ("by", "columns"):
        given: Sequence[str] | None = getattr(query, field)
        if given:
            changed[field] = tuple(map(written.name_of, given))
    if query.cut:
        changed["cut"] = tuple(sorted((written.name_of(name), edges) for name, edges in query.cut))
    for field in ("column", "over"):
        name: str | None = getattr(query, field)
        if name:
            changed[field] = written.name_of(name)
    for field in ("where", "when"):
        text: str | None = getattr(query, field)
        if text is not None:
            changed[field] = to_text(written.read(text))
    return replace(query, **changed), written.policy


def read_condition(text: str, policy: Policy) -> Condition:
    """The condition, which may write columns of its own. Raises `InvalidQuery` as `parse_where` does.

    >>> import datetime
    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"day": {"bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]}}})
    >>> to_text(read_condition("EXTRACT(MONTH FROM day) = 2", policy))
    '"extract(month FROM day)" = 2'
    """
    return WrittenColumns(policy).read(text)


class WrittenColumns:
    """The `policy` with the columns that were written so far."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def name_of(self, text: str) -> str:
        """The canonical name of a text, whose column is added; the text itself where it writes none."""
        if text in self.policy.columns:
            return text
        if not is_written(text):
            return text
        try:
            if text[:5].upper() == "CASE ":
                node, tokens = parsed(text)
                check_words(node, tokens)
                return str(self.number(node)) if gives_numbers(node) else self.case(node)
            found = period_column(text, self.policy)
            if found is not None:
                return self.added(*found)
            banded = self._banded(text)
            if banded is not None:
                return banded
            number = computed_number(text)
            return text if number is None else str(self.number(number))
        except InvalidQuery as error:
            raise InvalidQuery(str(error)) from None  # without a place, which would be one in this text alone

    def read(self, text: str) -> Condition:
        """The condition that a text is, whose columns are added."""
        node, tokens = parsed(text)
        found = self.condition(node)
        check_words(node, tokens)
        return found

    def condition(self, node: exp.Expression) -> Condition:
        """The condition that a part of a longer text is, whose columns are added."""
        return condition_of(node.copy().transform(self._named, copy=False), self.policy)

    def _named(self, node: exp.Expression) -> exp.Expression:
        """The name in place of what is written."""
        name: str | None = None
        bands = bands_of(node)
        if isinstance(node, exp.Case):
            name = self.case(node)
        elif bands is not None and not list(unread_within(node)):
            name = self.bands(self._called(bands.source), bands)
        elif not isinstance(node, exp.Column | exp.Extract) or list(unread_within(node)):
            pass  # `where` reads it, or refuses it
        elif isinstance(node, exp.Column) and not node.args.get("table") and is_written(node.name):
            name = self.name_of(node.name)
        elif isinstance(node, exp.Extract):
            name = self._part(node)
        if name is None:
            return node
        column = exp.Column(this=exp.to_identifier(name, quoted=True))
        start = min((one.meta["start"] for one in node.walk() if "start" in one.meta), default=None)
        if start is not None:
            column.this.meta["start"] = start
        return column

    def _part(self, node: exp.Extract) -> str | None:
        """The part of a column of dates; None where it is for `where` to say what is wrong, and of a year,
        which is a comparison of dates there.
        """
        source = bare(node.expression)
        if not isinstance(node.this, exp.Var) or not isinstance(source, exp.Column):
            return None
        known, part = self._called(source), node.this.name.lower()
        if part == "year" or known not in self.policy.columns:
            return None
        return self.name_of(derived_name(part, known, self.policy, part=True))

    @staticmethod
    def _called(source: exp.Column) -> str:
        """What the policy calls a column, one of a joined table by both of its names."""
        table = source.args.get("table")
        return source.name if table is None else f"{table.name}.{source.name}"

    def bands(self, source: str, bands: Bands) -> str:
        """The canonical name of bands of a column, which are added. Raises `InvalidQuery`."""
        if source not in self.policy.columns and is_written(source):
            source = self.name_of(source)
        return self.added(*band_column(source, bands, self.policy))

    def _banded(self, text: str) -> str | None:
        """The same of a text; None of any other text."""
        try:
            node, tokens = parsed(text)
        except InvalidQuery:
            return None
        bands = bands_of(node)
        if bands is None or list(unread_within(node)):
            return None
        check_words(node, tokens)
        check_signs(node, tokens)
        return self.bands(self._called(bands.source), bands)

    def case(self, node: exp.Expression) -> str:
        """The canonical name of a CASE with keys, whose column is added; the name of the policy's own column
        where that is the same CASE. Raises `InvalidQuery`.
        """
        text, column = case_column(node, self)
        for name, known in self.policy.columns.items():
            if isinstance(known, CaseColumn) and known.text == text:
                return name
        return self.added(text, column)

    def declared_case(self, text: str) -> CaseColumn:
        """The column of a CASE with keys that the policy declares. Raises `InvalidQuery`."""
        node, tokens = parsed(text)
        found = case_column(node, self)[1]
        check_words(node, tokens)
        return found

    def number(self, node: exp.Expression) -> Operand:
        """The column that a number of a row is, which is added, or a constant. Raises `InvalidQuery`."""
        return operand_of(node, self)

    def added(self, name: str, column: Column) -> str:
        """The name, whose column is in the policy from here on."""
        known = self.policy.columns.get(name)
        if known is None:
            columns = {**self.policy.columns, name: column}
            self.policy = self.policy.model_copy(update={"columns": columns})
        elif known != column:
            raise InvalidQuery(
                f"`{name[:100]}` is a column of the policy, and can be read as something else too. Give the "
                "column another name in the policy."
            )
        return name
