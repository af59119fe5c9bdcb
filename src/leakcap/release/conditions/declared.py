"""CASE with keys that the policy declares: its text, read by the rules of an analyst's CASE.

The policy keeps the text, in which it may say no more than a query may: conditions of one row, which no row
can make fail. So what is refused in a query is refused here, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.conditions.written import WrittenColumns

__all__ = ["with_cases"]


def with_cases(policy: Policy) -> Policy:
    """The policy, with each `case` of its columns read. Raises `InvalidPolicy` for one that may not be read.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]},
    ...         "who": {"case": "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END"}}})
    >>> with_cases(policy).columns["who"].keys, with_cases(policy).text() == policy.text()
    (('child', 'adult'), True)
    """
    for name, table in policy.tables.items():
        if _unread(table.columns):
            _read(policy.model_copy(update={"columns": table.columns}), f"tables.{name}.columns")
    return _read(policy, "columns") if _unread(policy.columns) else policy


def _unread(columns: Mapping[str, Column]) -> list[str]:
    """The columns that are a CASE of the policy's, and only its text so far; those that others follow from
    come first."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        known = columns[name]
        if name in found or known.stored or isinstance(known, CaseColumn):
            return
        for source in known.sources:
            visit(source)
        if known.case is not None:
            found[name] = None

    for name in columns:
        visit(name)
    return list(found)


def _read(policy: Policy, place: str) -> Policy:
    for name in _unread(policy.columns):
        known = policy.columns[name]
        owner = f"`case` of `{place}.{name}`"
        try:
            read = WrittenColumns(policy).declared_case(known.case or "")
        except InvalidQuery as error:
            said = str(error)
            told = said.replace("`where`", owner, 1) if said.startswith("`where`") else f"{owner}: {said}"
            raise InvalidPolicy(told) from None
        fields = {field: getattr(known, field) for field in Column.model_fields}
        column = CaseColumn.model_construct(**fields, tree=read.tree, text=read.text)
        policy = policy.model_copy(update={"columns": {**policy.columns, name: column}})
    return policy
