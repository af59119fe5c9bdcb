"""What is selected: keys and aggregates, what answers are called, and the query that each aggregate is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.conditions.condition import Condition, Missing, Negation, named, to_text
from leakcap.release.sql.calls import Call, aggregate
from leakcap.release.sql.scope import Scope, both_conditions, is_key
from leakcap.release.sql.words import SelectPart, Spelled, Words

__all__ = ["SelectedItem", "answer_names", "query_content", "selected_items"]

_LONGEST_NAME = 120


@dataclass(frozen=True)
class SelectedItem:
    """One of the things that are selected: a column, or an aggregate of one or of rows."""

    call: Call | None
    column: str | None
    """The key; of an aggregate its first column."""
    alias: str | None
    head: str | None
    """What its column is called in answers; None of an aggregate without an alias."""
    start: int
    spelled: tuple[Spelled, ...]


def selected_items(words: Words, part: SelectPart, scope: Scope) -> list[SelectedItem]:
    """What stands between SELECT and FROM. Raises `InvalidQuery`."""
    items: list[SelectedItem] = []
    at = part.at
    heads: dict[str, SelectedItem] = {}
    for node in part.tree.expressions:
        item = _item(words, node, scope, words.place(at + 1))
        same = item if item.head is None else heads.setdefault(item.head, item)
        # One key may stand twice: it is one column. An aggregate that stands twice is paid for twice.
        if same is not item and (item.call or same.call or item.column != same.column):
            raise words.refusal(f"two columns are called `{item.head}`", item.start, "Rename one.")
        items.append(item)
        at = words.find(("COMMA",), at + 1, part.depth)
    if not items:
        raise words.unexpected(part.at + 1, "a column")
    return items


def _item(words: Words, node: exp.Expression, scope: Scope, start: int) -> SelectedItem:
    alias: exp.Identifier | None = None
    call: Call | None = None
    column: str | None
    if isinstance(node, exp.Alias):
        alias = words.alias(words.only(node, exp.Alias).args["alias"])
        node = node.this
    if is_key(node):
        column, spelled = scope.key(node)
    else:
        call, spelled = aggregate(words, node, scope, start)
        column = call.columns[0] if call.columns else None
    if alias is not None:
        return SelectedItem(call, column, alias.name, alias.name, start, (*spelled, "ALIAS?", alias))
    named = scope.names is not None and isinstance(node, exp.Column) and node.name in scope.names
    head = node.name if named else column
    return SelectedItem(call, column, None, head if call is None else None, start, tuple(spelled))


def answer_names(items: Sequence[SelectedItem]) -> list[str]:
    """What the answers of these aggregates are called: by their aliases, or by what they are."""
    names: list[str] = []
    for item in items:
        name = base = item.alias or _described(item.call)
        number = 2
        while name in names:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _described(call: Call | None) -> str:
    """The statistic and its columns."""
    assert call is not None
    words = call.statistic if call.rank is None else f"quantile {call.rank}"
    if call.when is not None:
        words = f"share where {to_text(call.when)}"
    of = " and ".join(call.columns)
    where = "" if call.condition is None else f" where {to_text(call.condition)}"
    name = f"{words} of {of}{where}" if of else f"{words}{where}"
    return name if name.isprintable() and len(name) <= _LONGEST_NAME else words


def query_content(item: SelectedItem, name: str, rows: Condition | None, policy: Policy) -> dict[str, Any]:
    """The statistic, what it is of, and of which of the `rows`."""
    call = item.call
    assert call is not None
    content: dict[str, Any] = {"name": name, "statistic": call.statistic, "column": item.column}
    content["where"] = _where(item, rows, policy)
    if call.statistic == "count":
        content["column"] = None
    if call.when is not None:
        content["when"] = to_text(call.when)
    if call.rank is not None:
        content["quantiles"] = (call.rank,)
    if _of_truth(item, policy):
        # The mean of true and false is the share of true among the rows that have either.
        content |= {"statistic": "ratio", "column": None, "when": named(item.column or "")}
    if len(call.columns) == 2:
        content |= {"column": None, "columns": call.columns}
    return content


def _of_truth(item: SelectedItem, policy: Policy) -> bool:
    mean = item.call is not None and item.call.statistic == "mean"
    known = policy.columns.get(item.column or "")
    return mean and known is not None and known.kind == "boolean"


def _where(item: SelectedItem, rows: Condition | None, policy: Policy) -> str | None:
    """Of which rows it is; a count of a column, and a share, is of those that have it."""
    call = item.call
    assert call is not None
    found = both_conditions(rows, call.condition)
    if (call.statistic == "count" and call.columns) or _of_truth(item, policy):
        found = both_conditions(found, Negation(Missing(call.columns[0])))
    return None if found is None else to_text(found)
