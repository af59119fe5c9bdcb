"""A SELECT statement as queries of ours.

    SELECT ward, COUNT(*), AVG(stay) FROM visits WHERE year = 2024 GROUP BY ward

sqlglot parses the statement; a whitelist reads its tree, as `where` does: a node, or an argument of one, that
is not in this small grammar is refused where it stands. Nothing of the text goes further than this file: what
comes out are names of the policy's columns, statistics, and a condition written anew from our own tree.

    statement  = SELECT item {"," item} FROM table [[AS] alias]
                 [WHERE condition] [GROUP BY place {"," place}] [";"]
    place      = key | alias | number
    item       = key [[AS] alias] | aggregate [[AS] alias]
    key        = column | DATE_TRUNC('month', column) | EXTRACT(YEAR FROM column)
    aggregate  = COUNT(*) | COUNT(DISTINCT id) | function(column)
    function   = COUNT | SUM | AVG | MEDIAN | VAR_POP | STDDEV_POP; of two columns COVAR_POP | CORR
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from sqlglot import exp, parse_one

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.policy.validation import meant
from leakcap.release.asking.budget import divided
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.columns.joins import joined_policy
from leakcap.release.conditions.condition import named, to_text
from leakcap.release.conditions.where import check_words
from leakcap.release.conditions.worded import derived_name
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.queries import Query
from leakcap.release.sql.tables import Scope, read_from
from leakcap.release.sql.words import CONDITION, Spelled, Words
from leakcap.release.statistics import statistics

__all__ = ["sql_queries"]


@cache
def _aggregates() -> Mapping[str, str]:
    """Functions of one column, by their words."""
    return {word: name for name, statistic in statistics().items() for word in statistic.sql}


@cache
def _pairs() -> Mapping[str, str]:
    """Functions of two."""
    return {word: name for name, statistic in statistics().items() for word in statistic.sql_of_two}


def _allowed() -> str:
    words = {*_aggregates(), *_pairs(), "COUNT(DISTINCT id)"} - {"MEAN"}
    return f"Allowed are {', '.join(sorted(words))}."


@dataclass(frozen=True)
class _Item:
    """One of the things that are selected: a column, or an aggregate of one or of rows."""

    statistic: str | None
    columns: tuple[str, ...]
    alias: str | None
    start: int
    spelled: tuple[Spelled, ...]

    @property
    def column(self) -> str | None:
        """The column, or the first of two."""
        return self.columns[0] if self.columns else None


def sql_queries(
    text: str,
    policy: Policy,
    epsilon: float | None = None,
    *,
    tables: Collection[str] = (),
    weights: Sequence[float] | None = None,
    delta: float | None = None,
    objective: Objective = "shares by weight",
    noise: str = "laplace",
    rho: float | None = None,
    error: float | Sequence[float] | None = None,
) -> list[Query]:
    """The queries of a SELECT statement, which share `epsilon` or `rho` equally or by `weights`, and `delta`
    equally; all with this law of `noise`. With an `error`, one for all or one for each aggregate, each costs
    what keeps 95 % of its answers within it, of the budget where one is given.

    `FROM` names the policy's data set, or one of `tables`. A name that is not an SQL word of its own may
    stand as it is, any other in double quotes; names are matched exactly, words of SQL in either case.
    Raises `InvalidQuery` that says what is refused, and at which line and column.

    >>> from leakcap.policy.document import load_policy
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
    scope = read_from(words, policy, {policy.dataset, *tables})
    items: list[_Item] = []
    at = 0
    for node in words.tree.expressions:
        items.append(_item(words, node, policy, scope, words.place(at + 1)))
        at = words.find(("COMMA",), at + 1)
    if not items:
        raise words.unexpected(1, "a column")
    condition = _condition(words, policy, scope)
    by, grouped = _group_by(words, policy, items, scope)
    chosen = _joined([item.spelled for item in items])
    filtered = () if condition is None else ("WHERE", CONDITION)
    words.check(["SELECT", *chosen, *scope.spelled, *filtered, *grouped, "SEMICOLON?"])
    _check_columns(words, items, by)
    asked = [item for item in items if item.statistic is not None]
    if not asked:
        raise words.refusal("nothing is counted, added up or averaged", items[0].start, _allowed())
    chosen_by = {"where": condition, "by": by, "join": scope.tables, "noise": noise}
    claims = _claims_of(len(asked), weights, error)
    known = joined_policy(policy, scope.tables).columns
    truths = {name for name, column in known.items() if column.kind == "boolean"}
    templates = [
        _template(item, name, claim, chosen_by, truth=item.column in truths)
        for item, name, claim in zip(asked, _query_names(asked), claims, strict=True)
    ]
    for item, template in zip(asked, templates, strict=True):
        offered = 1.0 if epsilon is None else epsilon
        query = template.at(offered, delta) if rho is None else template.at(None, delta, rho=rho)
        _plan(words, query, policy, item.start)
    return divided(templates, policy, epsilon=epsilon, rho=rho, delta=delta, objective=objective)


_Claim: TypeAlias = tuple[float | None, float | None]


def _claims_of(
    count: int, weights: Sequence[float] | None, error: float | Sequence[float] | None
) -> list[_Claim]:
    """For each aggregate its weight or its wanted error. Raises `InvalidQuery`."""
    if error is not None:
        if weights is not None:
            raise InvalidQuery("`weights` must be left out beside `error`, which says what each costs.")
        errors = [error] * count if isinstance(error, int | float) else list(error)
        if len(errors) != count:
            raise InvalidQuery(
                f"`error` must be one for all or for each aggregate. Got {len(errors)} for {count}."
            )
        return [(None, one) for one in errors]
    weights = [1.0] * count if weights is None else list(weights)
    if len(weights) != count:
        raise InvalidQuery(f"`weights` must be one for each aggregate. Got {len(weights)} for {count}.")
    if not all(isinstance(weight, int | float) and 0.0 < weight < float("inf") for weight in weights):
        raise InvalidQuery("`weights` must be positive finite numbers.")
    return [(one, None) for one in weights]


def _joined(lists: Sequence[Sequence[Spelled]]) -> list[Spelled]:
    """The words of a list, with commas between."""
    return [word for place, words in enumerate(lists) for word in (("COMMA", *words) if place else words)]


def _item(words: Words, node: exp.Expression, policy: Policy, scope: Scope, start: int) -> _Item:
    alias: exp.Identifier | None = None
    statistic: str | None = None
    columns: tuple[str, ...]
    if isinstance(node, exp.Alias):
        alias = words.alias(words.only(node, exp.Alias).args["alias"])
        node = node.this
    if isinstance(node, exp.Column | exp.Star | exp.Literal | exp.TimestampTrunc | exp.Extract):
        name, spelled = _key(words, node, policy, scope)
        columns = (name,)
    else:
        statistic, columns, spelled = _aggregate(words, node, policy, scope, start)
    if alias is None:
        return _Item(statistic, columns, None, start, tuple(spelled))
    return _Item(statistic, columns, alias.name, start, (*spelled, "ALIAS?", alias))


def _aggregate(
    words: Words, node: exp.Expression, policy: Policy, scope: Scope, start: int
) -> tuple[str, tuple[str, ...], list[Spelled]]:
    """The statistic, its columns and the words of a call."""
    called = words.word(start).strip('"').upper()
    known = called in _aggregates() or called in _pairs()
    if not known or type(node) is not type(_plain_call(called)):
        if not isinstance(node, exp.Func) or isinstance(node, exp.Cast | exp.Case | exp.Binary):
            raise words.unsupported(node.key, node)
        raise words.refusal(f"{called} is not supported", start, _allowed())
    found = _arguments(words, node, called, start)
    if called in _aggregates():
        statistic, columns, spelled = _argument(words, found[0], called, policy, scope)
    else:
        (first, left), (second, right) = (_column(words, one, policy, scope) for one in found)
        if first == second:
            raise words.refusal(f"{called} takes two different columns", start, "Ask for VAR_POP.")
        statistic, columns, spelled = _pairs()[called], (first, second), [*left, "COMMA", *right]
    return statistic, columns, [frozenset({called}), "L_PAREN", *spelled, "R_PAREN"]


@cache
def _plain_call(called: str) -> exp.Expr:
    """How sqlglot reads a call of this function with plain columns."""
    return parse_one(f"{called}({'a, b' if called in _pairs() else 'a'})", dialect="duckdb")


def _arguments(words: Words, node: exp.Expression, called: str, start: int) -> list[exp.Expression]:
    """What stands between the parentheses. All else of the node must be as in a plain call."""
    rule = f"{called} takes {'two columns' if called in _pairs() else 'one column'}"
    rule += " or *" if called == "COUNT" else ""
    plain = {name: _listed(value) for name, value in _plain_call(called).args.items()}
    columns = [name for name, value in plain.items() if any(type(one) is exp.Column for one in value)]
    for name, value in node.args.items():
        # An unknown function's name is compared with the text's word later on.
        its_name = name == "this" and type(node) is exp.Anonymous
        if name not in columns and not its_name and _listed(value) != plain.get(name, []):
            raise words.refusal(rule, words.start_of(value, start))
    found = [one for name in columns for one in _listed(node.args.get(name))]
    if len(found) != 1 + (called in _pairs()):
        raise words.refusal(rule, start, f"It has {len(found)}.")
    for one in found:
        if isinstance(one, exp.Binary):
            at = words.after(one.this)
            raise words.refusal(rule, words.place(at), f"Found {words.found(at)}.")
    return found


def _listed(value: object) -> list[Any]:
    """What an argument holds, as a list; nothing if it is not set."""
    return value if isinstance(value, list) else [] if value is None or value is False else [value]


def _argument(
    words: Words, node: exp.Expression, called: str, policy: Policy, scope: Scope
) -> tuple[str, tuple[str, ...], list[Spelled]]:
    """What is between the parentheses of a function of one column, or of rows, or of people."""
    statistic = _aggregates()[called]
    if statistic == "count" and isinstance(node, exp.Star):
        words.only(node, exp.Star)
        return statistic, (), ["STAR"]
    if statistic == "count" and isinstance(node, exp.Distinct):
        listed = words.only(node, exp.Distinct).expressions
        place = words.near("distinct", node)[0]
        if len(listed) != 1 or not isinstance(listed[0], exp.Column):
            raise words.refusal("COUNT(DISTINCT …) takes one column", place)
        name, _, spelled = _reference(words, listed[0], scope)
        if policy.id_column is None or name != policy.id_column:
            known = "The unit is a row" if policy.id_column is None else f"The unit is `{policy.id_column}`"
            remedy = f"{known}; other columns have as many values as the policy says."
            raise words.refusal("DISTINCT is not supported but for the id of the unit", place, remedy)
        return "distinct", (), ["DISTINCT", *spelled]
    name, spelled = _column(words, node, policy, scope)
    return statistic, (name,), spelled


def _reference(words: Words, node: exp.Expression, scope: Scope) -> tuple[str, int, list[Spelled]]:
    """A column as the policy calls it, where its own name stands, and its words."""
    if not isinstance(node, exp.Column):
        start = words.start_of(node, -1)
        if start < 0 or isinstance(node, exp.Distinct | exp.Func | exp.Binary):
            raise words.unsupported(node.key, node)
        raise words.refusal(f"a column is expected here, not {words.word(start)}", start)
    qualifier = words.only(node, exp.Column).args.get("table")
    own = words.only(node.this, exp.Identifier)
    start = words.start_of(own)
    if qualifier is None:
        return own.name, start, [own]
    table = words.only(qualifier, exp.Identifier).name
    if table != scope.data and table not in scope.joined:
        what = "a table of FROM" if scope.joined else "the table. There is only one"
        raise words.refusal(f"`{table}` is not {what}", words.start_of(qualifier))
    joined = scope.joined.get(table)
    return (f"{joined}.{own.name}" if joined else own.name), start, [qualifier, "DOT", own]


def _column(words: Words, node: exp.Expression, policy: Policy, scope: Scope) -> tuple[str, list[Spelled]]:
    name, start, spelled = _reference(words, node, scope)
    known = joined_policy(policy, scope.tables).columns
    if name not in known:
        raise words.refusal(f"`{name}` is not a column of the policy", start, meant(name, known))
    return name, spelled


def _key(words: Words, node: exp.Expression, policy: Policy, scope: Scope) -> tuple[str, list[Spelled]]:
    """A column, or a period or a part of one of dates, and its words."""
    if not isinstance(node, exp.TimestampTrunc | exp.Extract):
        return _column(words, node, policy, scope)
    part = isinstance(node, exp.Extract)
    held = words.only(node, exp.Extract if part else exp.TimestampTrunc)
    unit = words.only(held.this if part else held.args.get("unit"), exp.Var).name
    source, spelled = _column(words, held.expression if part else held.this, policy, scope)
    start = words.start_of(node)
    try:
        name = derived_name(unit.lower(), source, joined_policy(policy, scope.tables), part=part)
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), start) from None
    if part:
        wanted: list[Spelled] = [frozenset({"EXTRACT"}), "L_PAREN", frozenset({unit.upper()}), "FROM"]
    else:
        wanted = [frozenset({"DATE_TRUNC"}), "L_PAREN", "STRING", "COMMA"]
    return name, [*wanted, *spelled, "R_PAREN"]


def _condition(words: Words, policy: Policy, scope: Scope) -> str | None:
    where = words.tree.args.get("where")
    if where is None:
        return None
    node = words.only(where, exp.Where).this
    try:
        found = to_text(scope.condition(node, policy))
        check_words(node, words.condition())
        return found
    except InvalidQuery as error:
        start = error.start or words.place(words.find(("WHERE",)) + 1)
        raise words.refusal(str(error).rstrip("."), start) from None


def _group_by(
    words: Words, policy: Policy, items: Sequence[_Item], scope: Scope
) -> tuple[tuple[str, ...], list[Spelled]]:
    group = words.tree.args.get("group")
    if group is None:
        return (), []
    aliases = {item.alias: item.column for item in items if item.alias and item.statistic is None}
    by: list[str] = []
    lists: list[list[Spelled]] = []
    for node in words.only(group, exp.Group).expressions:
        own = isinstance(node, exp.Column) and (node.name in policy.columns or node.args.get("table"))
        column = None if own or not isinstance(node, exp.Column) else aliases.get(node.name)
        if column is not None:
            spelled: list[Spelled] = [words.only(words.only(node, exp.Column).this, exp.Identifier)]
        elif isinstance(node, exp.Literal) and not node.is_string:
            column, spelled = _at(words, words.only(node, exp.Literal), items), ["NUMBER"]
        else:
            column, spelled = _key(words, node, policy, scope)
        if column in by:
            raise words.refusal(f"GROUP BY names `{column}` twice", words.start_of(node))
        by.append(column)
        lists.append(spelled)
    if not by:
        raise words.unexpected(words.find(("GROUP_BY",)) + 1, "a column")
    return tuple(by), ["GROUP_BY", *_joined(lists)]


def _at(words: Words, node: exp.Literal, items: Sequence[_Item]) -> str:
    """The column that is selected at this place, from 1 on."""
    place = int(node.this) if str(node.this).isdecimal() and len(str(node.this)) < 4 else 0
    column = items[place - 1].column if 0 < place <= len(items) else None
    if column is None or items[place - 1].statistic is not None:
        start = words.start_of(node, words.place(words.find(("GROUP_BY",))))
        raise words.refusal(f"no column is selected at place {str(node.this)[:20]}", start)
    return column


def _check_columns(words: Words, items: Sequence[_Item], by: Sequence[str]) -> None:
    for item in items:
        if item.statistic is None and item.column not in by:
            remedy = "Rows never leave the table; only what is counted, added up or averaged does."
            raise words.refusal(f"`{item.column}` is selected but not in GROUP BY", item.start, remedy)


def _query_names(items: Sequence[_Item]) -> list[str]:
    names: list[str] = []
    for item in items:
        name = base = item.alias or (
            " of ".join([str(item.statistic), *([" and ".join(item.columns)] if item.columns else [])])
        )
        number = 2
        while name in names:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _template(
    item: _Item, name: str, claim: _Claim, chosen: Mapping[str, Any], *, truth: bool
) -> QueryTemplate:
    column, condition = item.column, chosen["where"]
    if item.statistic == "count" and column is not None:
        quoted = '"' + column.replace('"', '""') + '"'
        present = f"{quoted} IS NOT NULL"
        condition, column = (f"({condition}) AND {present}" if condition else present), None
    content = {"name": name, "statistic": item.statistic, "column": column, **chosen, "where": condition}
    if item.statistic == "mean" and truth:
        # The mean of true and false is the share of true among the rows that have either.
        quoted = named(column or "")
        present = f"{quoted} IS NOT NULL"
        where = f"({condition}) AND {present}" if condition else present
        content |= {"statistic": "ratio", "column": None, "when": quoted, "where": where}
    if len(item.columns) == 2:
        content |= {"column": None, "columns": item.columns}
    weight, error = claim
    return QueryTemplate(content, weight=weight, error=error)


def _plan(words: Words, query: Query, policy: Policy, start: int) -> None:
    """What the policy does not allow is said with the place of the aggregate that asks for it."""
    try:
        plan_query(query, policy)
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), start) from None
