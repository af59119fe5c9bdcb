"""Derived columns that an analyst writes: date_trunc('month', admitted), extract(year FROM admitted).

Each is a column `from` another, as a policy declares it: the same tree, the same public keys. It goes by one
canonical text, so that one question has one name in the ledger; by the name of the policy's own column, where
the owner declared the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import sqlglot
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.policy.resolving import resolved
from leakcap.policy.validation import meant
from leakcap.release.conditions.condition import named
from leakcap.release.query import QueryFields

__all__ = ["PARTS", "UNITS", "derived_name", "with_derived"]

UNITS = ("year", "quarter", "month", "week", "day")
PARTS = {"year": "year", "quarter": "quarter", "month": "month", "isodow": "weekday"}
"""What EXTRACT may ask for, and what the policy calls it."""

Asked = TypeVar("Asked", bound=QueryFields)


def derived_name(word: str, source: str, policy: Policy, *, part: bool) -> str:
    """What a period (`part`: a part) of a column of dates goes by. Raises `InvalidQuery` where it has none.

    >>> import datetime
    >>> from leakcap.policy.document import load_policy
    >>> year = [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"admitted": {"bounds": year}, "m": {"from": "admitted", "truncate": "month"}}})
    >>> derived_name("isodow", "admitted", policy, part=True)
    'extract(isodow FROM admitted)'
    >>> derived_name("month", "admitted", policy, part=False)
    'm'
    """
    if word not in (PARTS if part else UNITS):
        raise InvalidQuery(
            f"`{word}` is no {'part' if part else 'period'} of a date that can be asked for. "
            f"Allowed are {', '.join(PARTS if part else UNITS)}."
        )
    asked = {"from": source, **({"part": PARTS[word]} if part else {"truncate": word})}
    column = _column(asked, policy)
    for name, known in policy.columns.items():
        if known.source == source and (known.part, known.truncate) == (column.part, column.truncate):
            return name
    return f"extract({word} FROM {_shown(source)})" if part else f"date_trunc('{word}', {_shown(source)})"


def _shown(name: str) -> str:
    """The column in the text; one of a joined table by both of its names."""
    return ".".join(map(named, name.split("."))) if "." in name else named(name)


def _column(asked: Mapping[str, str], policy: Policy) -> Column:
    source = asked["from"]
    known = policy.columns.get(source)
    if known is None:
        raise InvalidQuery(f"`{source}` is not a column of the policy. {meant(source, policy.columns)}")
    if known.moments is None:
        raise InvalidQuery(f"`{source}` has no dates as `bounds` in the policy.")
    try:
        return resolved({source: known, "asked": Column.model_validate(dict(asked))})["asked"]
    except ValueError as error:
        raise InvalidQuery(f"{str(error).replace('columns.asked', source)}.") from None


def with_derived(query: Asked, policy: Policy) -> tuple[Asked, Policy]:
    """The query with canonical names of the derived columns that it writes, and the policy with these.

    Raises `InvalidQuery` for one that the policy does not allow.
    """
    changed: dict[str, Any] = {}
    added: dict[str, Column] = {}
    for field in ("by", "columns"):
        given: Sequence[str] | None = getattr(query, field)
        if given and any("(" in name and name not in policy.columns for name in given):
            changed[field] = tuple(_named(name, policy, added) for name in given)
    if query.column and "(" in query.column and query.column not in policy.columns:
        changed["column"] = _named(query.column, policy, added)
    if not changed:
        return query, policy
    columns = {**policy.columns, **added}
    return replace(query, **changed), policy.model_copy(update={"columns": columns})


def _named(text: str, policy: Policy, added: dict[str, Column]) -> str:
    """The canonical name of a text, whose column is added; the text itself where it is not of that form."""
    found = None if text in policy.columns else _read(text)
    if found is None:
        return text
    word, source, part = found
    name = derived_name(word, source, policy, part=part)
    if name not in policy.columns:
        asked = {"from": source, **({"part": PARTS[word]} if part else {"truncate": word})}
        added[name] = _column(asked, policy)
    return name


def _read(text: str) -> tuple[str, str, bool] | None:
    """The period or part, the column, and whether it is a part; by the words, so that none is left over."""
    try:
        tokens = sqlglot.tokenize(text[:500], dialect="duckdb")
    except (SqlglotError, RecursionError):
        return None
    kinds = [token.token_type.name for token in tokens]
    words = [token.text for token in tokens]
    if len(text) > 500 or any(token.comments for token in tokens) or len(words) < 6:
        return None
    called, inner = words[0].lower(), words[2:-1]
    if kinds[1] != "L_PAREN" or kinds[-1] != "R_PAREN":
        return None
    part = called == "extract" and kinds[3] == "FROM"
    if not part and not (called == "date_trunc" and kinds[2] == "STRING" and kinds[3] == "COMMA"):
        return None
    source = inner[2:]
    if "STRING" in kinds[4:] or (part and kinds[2] == "STRING"):
        return None
    if len(source) not in (1, 3) or (len(source) == 3 and kinds[5] != "DOT"):
        return None
    return inner[0].lower(), "".join(source), part
