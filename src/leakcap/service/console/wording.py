"""What was asked, when, and what is left, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from leakcap.report.words.publication import cap_name
from leakcap.report.words.wording import at_least, sum_text
from leakcap.service.configuration import ApprovalRule
from leakcap.web.reading import plain_number

__all__ = ["account_rows", "accounts", "approval_words", "day_and_time", "question_words"]

_MOST = 400
_TITLES = {"analyst": "Your own account", "group": "The group {}, of which you are a member"}


def day_and_time(text: str) -> str:
    """A moment as a page shows it, in UTC.

    >>> day_and_time("2026-11-27T10:02:51+00:00")
    '2026-11-27 10:02'
    """
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")


def question_words(body: object) -> str:
    """What a request asks, in a line.

    >>> question_words({"queries": [{"name": "n", "statistic": "count", "by": ["ward"], "epsilon": 0.5}]})
    'count by ward, ε = 0.5'
    >>> question_words({"sql": "SELECT COUNT(*) FROM ward", "epsilon": 1.0})
    'SELECT COUNT(*) FROM ward, ε = 1'
    """
    if not isinstance(body, Mapping):
        return "…"
    if isinstance(body.get("sql"), str):
        return _cut(f"{body['sql']}{_price(body)}")
    queries = body.get("queries")
    listed = queries if isinstance(queries, list) else []
    return _cut("; ".join(_query(one) for one in listed[:10] if isinstance(one, Mapping))) or "…"


def approval_words(rule: ApprovalRule | None) -> str:
    """Which questions wait for somebody; empty where none do.

    >>> approval_words(ApprovalRule(above_epsilon=0.5, approvers=2)).partition(", where")[0]
    'A question waits until 2 different people have approved of it'
    >>> approval_words(ApprovalRule())
    'Every question waits until somebody has approved of it.'
    """
    if rule is None:
        return ""
    limits = [
        f"{sign} = {plain_number(limit)}"
        for sign, limit in (("ε", rule.above_epsilon), ("ρ", rule.above_rho))
        if limit is not None
    ]
    people = "somebody has" if rule.approvers == 1 else f"{rule.approvers} different people have"
    if not limits:
        return f"Every question waits until {people} approved of it."
    days = "a day" if rule.days == 1 else f"{rule.days} days"
    return (
        f"A question waits until {people} approved of it, where with it you, or a group that you are in, "
        f"would have asked for more than {' or '.join(limits)} without approval within {days}."
    )


def accounts(budget: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The account of all and those of one's own, as tables."""
    found = [{"title": "Everything that anybody asked", "rows": account_rows(budget["caps"])}]
    for one in budget["accounts"]:
        title = _TITLES.get(one["scope"], f"This {one['scope']}, {{}}").replace("{}", one["name"])
        found.append({"title": title, "rows": account_rows(one["caps"])})
    return found


def account_rows(caps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of one account: what was spent of each currency, and what is left. What has no cap and was
    not spent has no line."""
    return [
        {
            "name": cap_name(one["cap"], one["unit"]),
            "spent": "" if one["spent"] is None else sum_text(one["spent"]),
            "cap": "not capped" if one["limit"] is None else at_least(one["limit"]),
            "left": "" if one["left"] is None else at_least(one["left"]),
            "share": min(1.0, one["spent"] / one["limit"])
            if one["limit"] and one["spent"] is not None
            else None,
        }
        for one in caps
        if one["limit"] is not None or one["spent"]
    ]


def _query(query: Mapping[str, Any]) -> str:
    parts = [str(query.get("statistic", "?"))]
    parts += [f"of {query['column']}"] if query.get("column") else []
    parts += [f"where {query['where']}"] if query.get("where") else []
    by = query.get("by")
    parts += [f"by {', '.join(map(str, by))}"] if isinstance(by, list) and by else []
    return " ".join(parts) + _price(query)


def _price(terms: Mapping[str, Any]) -> str:
    for name, sign in (("epsilon", "ε"), ("rho", "ρ")):
        if isinstance(terms.get(name), int | float):
            return f", {sign} = {plain_number(terms[name])}"
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]} …"
