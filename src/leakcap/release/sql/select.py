"""A SELECT statement as queries of ours.

    SELECT ward, COUNT(*), AVG(stay) FROM visits WHERE year = 2024 GROUP BY ward ORDER BY 2 DESC LIMIT 5

sqlglot parses the statement; a whitelist reads its tree, as `where` does: a node, or an argument of one, that
is not in this small grammar is refused where it stands. Nothing of the text goes further than this file: what
comes out are names of the policy's columns, statistics, a condition written anew from our own tree, and how
the noisy answer is shown.

    statement  = [WITH name AS "(" rows ")" {"," …}] select [";"]
    select     = SELECT item {"," item} FROM source [WHERE condition] [GROUP BY groups]
                 [HAVING test] [ORDER BY order {"," order}] [LIMIT number] [OFFSET number]
    source     = table [[AS] alias] {join} | name [[AS] alias] | "(" rows ")" [[AS] alias]
    rows       = SELECT * FROM source [WHERE condition] | SELECT key [[AS] alias] {"," …} FROM …
    groups     = group {"," group}
    group      = place | (CUBE | ROLLUP) "(" place {"," place} ")" | GROUPING SETS "(" set {"," set} ")"
    set        = place | "(" [place {"," place}] ")"
    place      = key | alias | number
    item       = key [[AS] alias] | aggregate [[AS] alias]
    key        = column | DATE_TRUNC('month', column) | EXTRACT(YEAR FROM column)
               | CASE {WHEN condition THEN constant} [ELSE constant] END
    aggregate  = call [FILTER "(" WHERE condition ")"]
    call       = COUNT(*) | COUNT(DISTINCT id) | function(value)
               | PERCENTILE_CONT(number) WITHIN GROUP (ORDER BY value)
    value      = column | number | value + value | COALESCE(value, number)
               | CASE {WHEN condition THEN value} [ELSE value] END
    function   = COUNT | SUM | AVG | MEDIAN | VAR_POP | STDDEV_POP; of two columns COVAR_POP | CORR
    order      = (key | alias | number | aggregate) [ASC | DESC]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.asking.accuracy import Preview, preview
from leakcap.release.asking.budget import divided
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.conditions.declared import with_cases
from leakcap.release.conditions.written import WrittenColumns
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.queries import Query
from leakcap.release.results.arranging import Arrangement
from leakcap.release.results.margins import largest_margin, margins_fit, with_margins
from leakcap.release.results.result import Release
from leakcap.release.sql.calls import allowed_aggregates
from leakcap.release.sql.grouping import SUMMING, read_grouping, summing_word
from leakcap.release.sql.items import SelectedItem, answer_names, query_content, selected_items
from leakcap.release.sql.ordering import ArrangementReader
from leakcap.release.sql.scope import both_conditions
from leakcap.release.sql.tables import Tables, listed_words
from leakcap.release.sql.words import SelectPart, Words
from leakcap.release.statistics import statistic_of

__all__ = ["SelectStatement", "StatementTerms", "select_statement", "sql_queries"]

_Claim: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True)
class StatementTerms:
    """What a statement may cost, how its aggregates share that, and their law of noise, as `sql_queries` has
    them.
    """

    epsilon: float | None = None
    rho: float | None = None
    error: float | Sequence[float] | None = None
    delta: float | None = None
    weights: Sequence[float] | None = None
    objective: Objective = "shares by weight"
    noise: str = "laplace"

    def claims(self, count: int) -> list[_Claim]:
        """For each aggregate its weight or its wanted error. Raises `InvalidQuery`."""
        weights, error = self.weights, self.error
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

    def whole(self, template: QueryTemplate) -> Query:
        """The query as if the whole price were its own."""
        if self.rho is not None:
            return template.at(None, self.delta, rho=self.rho)
        return template.at(1.0 if self.epsilon is None else self.epsilon, self.delta)

    def shared(self, templates: Sequence[QueryTemplate], policy: Policy) -> list[Query]:
        """The queries, each at its share of the price."""
        return divided(
            templates,
            policy,
            epsilon=self.epsilon,
            rho=self.rho,
            delta=self.delta,
            objective=self.objective,
        )


@dataclass(frozen=True)
class SelectStatement:
    """What a statement asks, and how its answer is shown."""

    queries: list[Query]
    arrangement: Arrangement
    margins: tuple[tuple[str, ...], ...] = ()
    """For each margin that CUBE, ROLLUP or GROUPING SETS ask for the columns that it keeps."""
    finest: bool = True
    """Whether the cells are shown before their margins."""

    def shown(self, releases: Sequence[Release], policy: Policy) -> list[Release]:
        """The answers with their margins, ordered, cut and under their heads: all of it post-processing."""
        if self.margins:
            releases = [
                with_margins(release, policy, self.margins, cells=self.finest) for release in releases
            ]
        return self.arrangement.of(releases)

    def previews(self, policy: Policy) -> list[Preview]:
        """Price and accuracy of what is shown: where the cells are not, that of the largest margin."""
        found = preview(self.queries, policy=policy)
        if self.finest:
            return found
        return [self._of_margins(one, query, policy) for one, query in zip(found, self.queries, strict=True)]

    def _of_margins(self, cells: Preview, query: Query, policy: Policy) -> Preview:
        plan, margin = largest_margin(query, policy, self.margins)
        kept = ", ".join(name for name, keep in zip(query.by, margin.kept, strict=True) if keep)
        own = cells.remark.removesuffix("for each group").rstrip(" ,")
        remark = f"in ({kept}), whose numbers are sums over {margin.cells:,} groups that are not shown"
        return replace(
            cells,
            error=statistic_of(query).expected(plan).error,
            remark=f"{own}, {remark}" if own else remark,
            useful_epsilon=None,
            ways=(),
        )


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
    Raises `InvalidQuery` that says what is refused, and at which line and column; also for HAVING, ORDER BY,
    LIMIT, OFFSET, CUBE, ROLLUP and GROUPING SETS, which are no part of a query: `PrivateTable.sql`
    follows them.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "visits", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"stay": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["a", "b"]}}})
    >>> text = "SELECT ward, COUNT(*), AVG(stay) AS days FROM visits WHERE stay > 1 GROUP BY ward"
    >>> [(q.name, q.statistic, q.by, q.epsilon) for q in sql_queries(text, policy, 0.5)]
    [('count', 'count', ('ward',), 0.25), ('days', 'mean', ('ward',), 0.25)]
    >>> sql_queries("SELECT stay FROM visits GROUP BY stay + 1", policy, 0.5)
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: Line 1, column 39: '+' is not supported. ...
    """
    terms = StatementTerms(epsilon, rho, error, delta, weights, objective, noise)
    found = select_statement(text, policy, terms, tables)
    if found.arrangement or found.margins:
        raise InvalidQuery(
            f"`text` of `sql_queries` must not have HAVING, ORDER BY, LIMIT, OFFSET, {SUMMING}: queries "
            "do not keep them. Ask `PrivateTable.sql`, or leave them out."
        )
    return found.queries


def select_statement(
    text: str, policy: Policy, terms: StatementTerms, tables: Collection[str] = ()
) -> SelectStatement:
    """As `sql_queries`, with HAVING, ORDER BY, LIMIT and OFFSET beside the queries."""
    words = Words(text)
    sources = Tables(words, policy, {policy.dataset, *tables}, WrittenColumns(with_cases(policy)))
    part, leading = sources.outermost()
    scope = sources.scope(part)
    items = selected_items(words, part, scope)
    condition, filtered = sources.condition(part, scope)
    (by, margins, finest), grouped = read_grouping(words, part, items, scope)
    names = answer_names([item for item in items if item.call is not None])
    arrangement, arranged = ArrangementReader(words, part, scope, items, names, by).read()
    chosen = listed_words([item.spelled for item in items])
    words.check([*leading, "SELECT", *chosen, *scope.spelled, *filtered, *grouped, *arranged, "SEMICOLON?"])
    _check_columns(words, items, by)
    if margins and arrangement:
        place = words.place(words.find(("GROUP_BY",), part.at, part.depth))
        raise words.refusal(
            f"{SUMMING} is not followed by HAVING, ORDER BY, LIMIT or OFFSET", place, "Leave one out."
        )
    if terms.error is not None and not finest:
        said = f"`error` is that of the groups by {', '.join(by)}, which GROUPING SETS does not show"
        remedy = f"Name ({', '.join(by)}) among them, or give `epsilon` or `rho`."
        raise words.refusal(said, summing_word(words, part), remedy)
    asked = [item for item in items if item.call is not None]
    if not asked:
        raise words.refusal("nothing is counted, added up or averaged", items[0].start, allowed_aggregates())
    rows = both_conditions(scope.condition, condition)
    chosen_by = {"by": by, "join": scope.tables, "noise": terms.noise}
    templates = [
        QueryTemplate(query_content(item, name, rows, scope.policy) | chosen_by, *claim)
        for item, name, claim in zip(asked, names, terms.claims(len(asked)), strict=True)
    ]
    for item, template in zip(asked, templates, strict=True):
        _plan(words, terms.whole(template), policy, item.start)
    queries = terms.shared(templates, policy)
    if margins:
        _check_margins(words, part, asked, queries, policy, margins)
    return SelectStatement(queries, arrangement, margins, finest)


def _check_columns(words: Words, items: Sequence[SelectedItem], by: Sequence[str]) -> None:
    for item in items:
        if item.call is None and item.column not in by:
            remedy = "Rows never leave the table; only what is counted, added up or averaged does."
            raise words.refusal(f"`{item.column}` is selected but not in GROUP BY", item.start, remedy)


def _check_margins(
    words: Words,
    part: SelectPart,
    asked: Sequence[SelectedItem],
    queries: Sequence[Query],
    policy: Policy,
    margins: Sequence[Sequence[str]],
) -> None:
    for item, query in zip(asked, queries, strict=True):
        called = words.word(item.start).strip('"').upper()
        if not statistic_of(query).adds_up:
            called += "(DISTINCT)" if query.statistic == "distinct" else ""
            remedy = f"{SUMMING} goes with COUNT, SUM, AVG, VAR_POP, STDDEV_POP, COVAR_POP and CORR."
            raise words.refusal(f"{called} has no margins", item.start, remedy)
        place = summing_word(words, part)
        if plan_query(query, policy).cells.open:
            said = "groups with few rows are missing where keys are private, so that there are no margins"
            raise words.refusal(said, place, "Ask for each by a GROUP BY of its own.")
        try:
            margins_fit(query, policy, margins)
        except InvalidQuery as error:
            raise words.refusal(str(error).rstrip("."), place) from None


def _plan(words: Words, query: Query, policy: Policy, start: int) -> None:
    """What the policy does not allow is said with the place of the aggregate that asks for it."""
    try:
        plan_query(query, policy)
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), start) from None
