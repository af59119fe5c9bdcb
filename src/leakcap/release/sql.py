"""A SELECT statement as queries of ours.

    SELECT ward, COUNT(*), AVG(stay) FROM visits WHERE year = 2024 GROUP BY ward

The statement is cut into words by sqlglot and read word by word: what is not in this small grammar is refused
where it stands. Nothing of the text goes further than this file: what comes out are names of the policy's
columns, statistics, and a condition that `parse_where` reads into a tree of its own.

    statement  = SELECT item {"," item} FROM table [[AS] alias]
                 [WHERE condition] [GROUP BY column {"," column}] [";"]
    item       = column [[AS] alias] | aggregate [[AS] alias]
    aggregate  = COUNT(*) | COUNT(DISTINCT id) | function(column)
    function   = COUNT | SUM | AVG | MEDIAN | VAR_POP | STDDEV_POP; of two columns COVAR_POP | CORR
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakcap.errors import InvalidQuery
from leakcap.release.joins import joined_policy
from leakcap.release.plan import plan_query
from leakcap.release.policy import Policy
from leakcap.release.queries import Query
from leakcap.release.shares import Aim, Draft, divided
from leakcap.release.sqlfrom import Scope, read_from
from leakcap.release.sqlwords import Words
from leakcap.release.statistics import statistics
from leakcap.release.validation import meant

__all__ = ["sql_queries"]

_AGGREGATES = {word: name for name, statistic in statistics().items() for word in statistic.sql}
_PAIRS = {word: name for name, statistic in statistics().items() for word in statistic.sql_of_two}
_ALLOWED = f"Allowed are {', '.join(sorted({*_AGGREGATES, *_PAIRS, 'COUNT(DISTINCT id)'} - {'MEAN'}))}"


@dataclass(frozen=True)
class _Item:
    """One of the things that are selected: a column, or an aggregate of one or of rows."""

    statistic: str | None
    column: str | None
    alias: str | None
    start: int
    second: str | None = None


def sql_queries(
    text: str,
    policy: Policy,
    epsilon: float,
    *,
    tables: Collection[str] = (),
    weights: Sequence[float] | None = None,
    delta: float | None = None,
    aim: Aim = "shares by weight",
) -> list[Query]:
    """The queries of a SELECT statement, which share `epsilon` equally or by `weights`, and `delta` equally.

    `FROM` names the policy's data set, or one of `tables`. A name that is not an SQL word of its own may
    stand as it is, any other in double quotes; names are matched exactly, words of SQL in either case.
    Raises `InvalidQuery` that says what is refused, and at which line and column.

    >>> from leakcap.release.policy import load_policy
    >>> policy = load_policy({"dataset": "visits", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"stay": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["a", "b"]}}})
    >>> text = "SELECT ward, COUNT(*), AVG(stay) AS days FROM visits WHERE stay > 1 GROUP BY ward"
    >>> [(q.name, q.statistic, q.by, q.epsilon) for q in sql_queries(text, policy, 0.5)]
    [('count', 'count', ('ward',), 0.25), ('days', 'mean', ('ward',), 0.25)]
    >>> sql_queries("SELECT stay FROM visits ORDER BY stay", policy, 0.5)
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: Line 1, column 25: ORDER BY is not supported. ...
    """
    words = Words(text)
    words.expect("SELECT")
    scope, after = _ahead(words, policy, {policy.dataset, *tables})
    items = [_item(words, policy, scope)]
    while words.take("COMMA"):
        items.append(_item(words, policy, scope))
    scope = _table(words, policy, {policy.dataset, *tables}, scope, after)
    condition = _condition(words, policy, scope)
    by = _group_by(words, policy, items, scope)
    words.take("SEMICOLON")
    words.end()
    _check_columns(words, items, by)
    asked = [item for item in items if item.statistic is not None]
    if not asked:
        raise words.refusal("nothing is counted, added up or averaged", items[0].start, f"{_ALLOWED}.")
    weights = [1.0] * len(asked) if weights is None else list(weights)
    if len(weights) != len(asked):
        raise InvalidQuery(f"`weights` must be one for each aggregate. Got {len(weights)} for {len(asked)}.")
    if not all(isinstance(weight, int | float) and 0.0 < weight < float("inf") for weight in weights):
        raise InvalidQuery("`weights` must be positive finite numbers.")
    drafts = [
        _draft(item, name, weight, {"where": condition, "by": by, "join": scope.tables})
        for item, name, weight in zip(asked, _query_names(asked), weights, strict=True)
    ]
    for item, draft in zip(asked, drafts, strict=True):
        _plan(words, draft.at(epsilon, delta), policy, item.start)
    return divided(drafts, policy, epsilon=epsilon, delta=delta, aim=aim)


def _ahead(words: Words, policy: Policy, known: Collection[str]) -> tuple[Scope | None, int]:
    """The tables, read before the columns that speak of them; only where the policy declares any."""
    mark, scope, after = words.mark(), None, 0
    if policy.tables and words.skip_to("FROM"):
        scope = read_from(words, policy, known)
        after = words.mark()
        words.back(mark)
    return scope, after


def _item(words: Words, policy: Policy, scope: Scope | None) -> _Item:
    start = words.start
    called = words.peek_call()
    if called is None:
        column = _column(words, policy, scope)
        return _Item(None, column, words.alias(), start)
    if called.upper() in _PAIRS:
        return _pair(words, policy, scope, called.upper())
    statistic = _AGGREGATES.get(called.upper())
    if statistic is None:
        raise words.refusal(f"{called.upper()} is not supported", start, f"{_ALLOWED}.")
    words.call()
    place = words.start
    if statistic == "count" and words.take("DISTINCT"):
        _people(words, policy, place, scope)
        words.close("COUNT(DISTINCT …) takes one column")
        return _Item("distinct", None, words.alias(), start)
    argument = None if statistic == "count" and words.take("STAR") else _column(words, policy, scope)
    words.close(f"{called.upper()} takes one column" + (" or *" if statistic == "count" else ""))
    return _Item(statistic, argument, words.alias(), start)


def _pair(words: Words, policy: Policy, scope: Scope | None, called: str) -> _Item:
    """A function of two columns."""
    start = words.start
    words.call()
    first = _column(words, policy, scope)
    words.expect("COMMA")
    second = _column(words, policy, scope)
    words.close(f"{called} takes two columns")
    if first == second:
        raise words.refusal(f"{called} takes two different columns", start, "Ask for VAR_POP.")
    return _Item(_PAIRS[called], first, words.alias(), start, second)


def _people(words: Words, policy: Policy, place: int, scope: Scope | None) -> None:
    """The only column whose values are counted once each is the unit's id."""
    name, _ = _reference(words, scope)
    if policy.id_column is None or name != policy.id_column:
        known = "The unit is a row" if policy.id_column is None else f"The unit is `{policy.id_column}`"
        remedy = f"{known}; other columns have as many values as the policy says."
        raise words.refusal("DISTINCT is not supported but for the id of the unit", place, remedy)


def _reference(words: Words, scope: Scope | None) -> tuple[str, int]:
    """A column as the policy calls it, and where its own name stands."""
    start = words.start
    name = words.name("a column")
    if not words.take("DOT"):
        return name, start
    if scope is None:
        words.qualified(name, start)
    elif name != scope.data and name not in scope.joined:
        raise words.refusal(f"`{name}` is not a table of FROM", start)
    table = "" if scope is None else scope.joined.get(name, "")
    start = words.start
    own = words.name("a column")
    return (f"{table}.{own}" if table else own), start


def _column(words: Words, policy: Policy, scope: Scope | None) -> str:
    name, start = _reference(words, scope)
    tables = () if scope is None else scope.tables
    known = joined_policy(policy, tables)
    if name not in known.columns:
        raise words.refusal(f"`{name}` is not a column of the policy", start, meant(name, known.columns))
    return name


def _table(words: Words, policy: Policy, known: Collection[str], scope: Scope | None, after: int) -> Scope:
    """FROM: the names by which columns may be qualified."""
    if scope is not None:
        words.expect("FROM")
        words.back(after)
        return scope
    words.expect("FROM")
    start = words.start
    name = words.name("a table")
    if name not in known:
        remedy = f"Here the table is called {' or '.join(f'`{one}`' for one in sorted(known))}."
        raise words.refusal(f"`{name}` is not the table", start, remedy)
    found = Scope(words.alias() or name)
    words.check_qualifiers({found.data})
    return found


def _condition(words: Words, policy: Policy, scope: Scope) -> str | None:
    if not words.take("WHERE"):
        return None
    start = words.start
    text = words.until("GROUP_BY", names={scope.data})
    try:
        return scope.text(text, policy)
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), start + (error.start or 0)) from None


def _group_by(words: Words, policy: Policy, items: Sequence[_Item], scope: Scope) -> tuple[str, ...]:
    if not words.take("GROUP_BY"):
        return ()
    aliases = {item.alias: item.column for item in items if item.alias and item.statistic is None}
    by: list[str] = []
    while True:
        start, name = words.start, words.peek_name() or ""
        own = name in policy.columns or words.is_qualified()
        column = None if own else aliases.get(name)
        column = words.name("a column") and column if column else _column(words, policy, scope)
        if column in by:
            raise words.refusal(f"GROUP BY names `{column}` twice", start)
        by.append(column)
        if not words.take("COMMA"):
            return tuple(by)


def _check_columns(words: Words, items: Sequence[_Item], by: Sequence[str]) -> None:
    for item in items:
        if item.statistic is None and item.column not in by:
            remedy = "Rows never leave the table; only what is counted, added up or averaged does."
            raise words.refusal(f"`{item.column}` is selected but not in GROUP BY", item.start, remedy)


def _query_names(items: Sequence[_Item]) -> list[str]:
    names: list[str] = []
    for item in items:
        name = base = item.alias or (
            f"{item.statistic} of {item.column}" if item.column else str(item.statistic)
        )
        base = name = f"{base} and {item.second}" if item.second and not item.alias else base
        number = 2
        while name in names:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _draft(item: _Item, name: str, weight: float, chosen: Mapping[str, Any]) -> Draft:
    column, condition = item.column, chosen["where"]
    if item.statistic == "count" and column is not None:
        quoted = '"' + column.replace('"', '""') + '"'
        present = f"{quoted} IS NOT NULL"
        condition, column = (f"({condition}) AND {present}" if condition else present), None
    content = {"name": name, "statistic": item.statistic, "column": column, **chosen, "where": condition}
    if item.second is not None:
        content |= {"column": None, "columns": (column, item.second)}
    return Draft(content, weight=weight)


def _plan(words: Words, query: Query, policy: Policy, start: int) -> None:
    """What the policy does not allow is said with the place of the aggregate that asks for it."""
    try:
        plan_query(query, policy)
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), start) from None
