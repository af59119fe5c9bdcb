"""Derived columns that an analyst writes: date_trunc('month', admitted), extract(year FROM admitted).

Each is a column `from` another, as a policy declares it: the same tree, the same public keys. It goes by one
canonical text, so that one question has one name in the ledger; by the name of the policy's own column, where
the owner declared the same one.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot.errors import SqlglotError

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.policy.document import Policy
from leakcap.policy.resolving import resolved
from leakcap.policy.validation import meant
from leakcap.release.conditions.condition import named

__all__ = ["PARTS", "UNITS", "derived_name", "period_column"]

UNITS = ("year", "quarter", "month", "week", "day")
PARTS = {"year": "year", "quarter": "quarter", "month": "month", "isodow": "weekday"}
"""What EXTRACT may ask for, and what the policy calls it."""


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


def period_column(text: str, policy: Policy) -> tuple[str, Column] | None:
    """The canonical name and the column of a text like these; None of any other text.

    Raises `InvalidQuery` for one that the policy does not allow.
    """
    found = _read(text)
    if found is None:
        return None
    word, source, part = found
    name = derived_name(word, source, policy, part=part)
    if name in policy.columns:
        return name, policy.columns[name]
    asked = {"from": source, **({"part": PARTS[word]} if part else {"truncate": word})}
    return name, _column(asked, policy)


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
