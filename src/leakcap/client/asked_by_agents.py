"""What an agent asks and is told: short text, and the numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from leakcap.client.table import RemoteTable
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger import Balance
from leakcap.plain import plain
from leakcap.policy import Policy
from leakcap.release import Preview, Query, Release, preview, query_from
from leakcap.release.sql.select import SelectStatement, StatementTerms
from leakcap.report.records import CapRecord
from leakcap.report.words.promises import protects
from leakcap.report.words.wording import in_short

__all__ = ["AgentQuestion", "AgentTable", "about_columns", "paid_for", "preview_told", "told_of"]

Told: TypeAlias = tuple[str, dict[str, Any]]
"""Short text, and the same as values."""
_MOST_KEYS = 20
_MOST_QUERIES = 100


@dataclass(frozen=True)
class AgentQuestion:
    """Queries, and the statement that they are of, where it is SQL."""

    queries: list[Query]
    statement: SelectStatement | None = None
    text: str = ""
    terms: Mapping[str, Any] | None = None

    def previews(self, policy: Policy) -> list[Preview]:
        """What each would cost and tell."""
        if self.statement is not None:
            return self.statement.previews(policy)
        return list(preview(self.queries, policy=policy))


class AgentTable:
    """A remote table as the tools need it."""

    def __init__(self, table: RemoteTable) -> None:
        self._table = table

    @property
    def policy(self) -> Policy:
        """The public part of the policy."""
        return self._table.policy

    @property
    def unit(self) -> str:
        """Whom the answers protect, in a sentence."""
        return protects(self.policy)

    def asked(
        self, sql: str | None, queries: Sequence[Mapping[str, Any]] | None, price: Mapping[str, Any]
    ) -> AgentQuestion:
        """The question, checked against the policy. Raises `InvalidQuery`."""
        if (sql is None) == (queries is None):
            raise InvalidQuery("Ask with `sql` or with `queries`, one of them.")
        if sql is not None:
            terms = StatementTerms(**price)
            statement = self._table.statement_asked(sql, terms)
            return AgentQuestion(statement.queries, statement, sql, dict(price))
        if not 0 < len(queries or ()) <= _MOST_QUERIES:
            raise InvalidQuery(f"`queries` must be a list of 1 to {_MOST_QUERIES} queries.")
        if price.get("epsilon") is not None or price.get("rho") is not None:
            raise InvalidQuery("`epsilon` must be left out beside `queries`: each has its own, or `rho`.")
        return AgentQuestion([query_from(one) for one in queries or ()])

    def release(self, asked: AgentQuestion, *, fresh: bool, request: str | None) -> list[Release]:
        """The answers, paid for."""
        if asked.statement is not None:
            return self._table.sql(asked.text, **(asked.terms or {}), fresh=fresh, request=request)
        return self._table.release(asked.queries, fresh=fresh, request=request)

    def budget(self) -> list[Balance]:
        """What all have spent and what is left."""
        return self._table.budget()

    def accounts(self) -> Told:
        """The caps on everything, and one's own."""
        record = self._table.accounts()
        lines = [f"everybody: {_left(one)}" for one in record.caps if one.limit is not None]
        for account in record.accounts:
            who = "you" if account.scope == "analyst" else f"{account.scope} {account.name}"
            lines += [f"{plain(who)}: {_left(one)}" for one in account.caps if one.limit is not None]
        content = {
            "caps": [one.to_dict() for one in record.caps],
            "accounts": [one.to_dict() for one in record.accounts],
            "answers": len(record.entries),
        }
        return "\n".join(lines) or "Nothing is capped.", content

    def explained(self) -> Told:
        """What was told so far, in words."""
        try:
            statement = self._table.statement()
        except InvalidQuery as error:
            return str(error), {"sentences": []}
        told = [*([statement.caveat] if statement.caveat else []), *in_short(statement)]
        exposure = statement.exposure
        content = {
            "sentences": [line.sentence for line in statement.lines],
            "epsilon": _finite(exposure.epsilon),
            "nats_person": _finite(exposure.nats.upper),
        }
        return "\n".join(told), content


def about_columns(policy: Policy) -> dict[str, str]:
    """Each column that a question may name, in a few words."""
    return {plain(name): _kind(column) for name, column in policy.columns.items()}


def paid_for(queries: Sequence[Query]) -> None:
    """Nothing is paid without a stated price: each query has ε or ρ. Raises `InvalidParameter`."""
    for query in queries:
        if query.epsilon is None and query.rho is None:
            raise InvalidParameter(f"`epsilon` of `{query.name}` is missing: state what the answer may cost.")


def preview_told(found: Sequence[Preview], queries: Sequence[Query]) -> Told:
    """Prices and errors."""
    lines, listed = [], []
    for one, query in zip(found, queries, strict=True):
        price = one.price
        paid = f"rho = {query.rho:g}" if query.rho is not None else f"epsilon = {price.epsilon:g}"
        lines.append(f"{one.name}: ± {one.error:.6g} (95 %) {one.remark} for {paid}".replace("  ", " "))
        if one.useless:
            lines.append(one.useless)
        listed.append(
            {
                "name": one.name,
                "error_95": _finite(one.error),
                "remark": one.remark,
                "epsilon": _finite(price.epsilon),
                "rho": query.rho,
                "nats_person": _finite(price.nats_person.upper),
                "useless": one.useless,
            }
        )
    told = math.fsum(one.price.epsilon for one in found)
    lines.append(f"All together epsilon = {told:.6g}. Nothing was spent.")
    return "\n".join(lines), {"previews": listed, "epsilon": _finite(told)}


def told_of(releases: Sequence[Release], balances: Sequence[Balance], *, most: int) -> Told:
    """Answers with their intervals, what they cost, and what is left."""
    listed = []
    for one in releases:
        record = one.record
        rows = [row.to_dict() for row in record.values]
        listed.append(
            {
                "name": one.name,
                "values": rows[:most],
                "left_out": max(0, len(rows) - most) + one.left_out,
                "repeated": one.repeated,
                "epsilon": 0.0 if one.repeated else _finite(one.price.epsilon),
                "nats_person": 0.0 if one.repeated else _finite(one.price.nats_person.upper),
            }
        )
    caps = [CapRecord.of(one) for one in balances]
    left = "; ".join(_left(one) for one in caps if one.limit is not None)
    text = "\n".join([*map(str, releases), *([f"Left of everybody's caps: {left}"] if left else [])])
    return plain(text), {"answers": listed, "caps": [one.to_dict() for one in caps]}


def _left(cap: CapRecord) -> str:
    left, limit = (math.nan if one is None else one for one in (cap.left, cap.limit))
    return f"{plain(cap.cap)} {left:.6g} of {limit:.6g} left ({plain(cap.unit)})"


def _kind(column: Any) -> str:
    if column.keys:
        named = ", ".join(str(key)[:40] for key in column.keys[:_MOST_KEYS])
        more = f", and {len(column.keys) - _MOST_KEYS:,} more" if len(column.keys) > _MOST_KEYS else ""
        return plain(f"keys {named}{more}")
    if column.bounds is not None:
        return plain(f"{column.kind} from {column.bounds[0]} to {column.bounds[1]}")
    return f"{column.kind}, keys are private: groups by it need `delta`"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
