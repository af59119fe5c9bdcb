"""Aggregates of a SELECT statement: which statistic a call asks for, of which columns, in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlglot import exp, parse_one

from leakcap.errors import InvalidQuery
from leakcap.release.conditions.condition import Condition
from leakcap.release.conditions.remedies import REMEDIES, remedy_for
from leakcap.release.conditions.whitelist import check_words
from leakcap.release.sql.arithmetic import chosen_column, is_computed, known_rows, numbers, spelled_number
from leakcap.release.sql.scope import Scope, both_conditions
from leakcap.release.sql.words import CONDITION, Spelled, Words
from leakcap.release.statistics import statistics

__all__ = ["Call", "aggregate", "allowed_aggregates", "call_words"]

_ORDERED = "PERCENTILE_CONT"
_RANK = re.compile(r"0?\.\d{0,14}[1-9]\d*", re.ASCII)
"""A number above 0 and below 1."""


@cache
def _aggregates() -> Mapping[str, str]:
    """Functions of one column, by their words."""
    return {word: name for name, statistic in statistics().items() for word in statistic.sql}


@cache
def _pairs() -> Mapping[str, str]:
    """Functions of two."""
    return {word: name for name, statistic in statistics().items() for word in statistic.sql_of_two}


def call_words() -> frozenset[str]:
    """The words that call an aggregate."""
    return frozenset({*_aggregates(), *_pairs(), _ORDERED})


def allowed_aggregates() -> str:
    """What may be asked for, as a sentence."""
    words = {*call_words(), "COUNT(DISTINCT id)"} - {"MEAN"}
    return f"Allowed are {', '.join(sorted(words))}."


@dataclass(frozen=True)
class Call:
    """A statistic, of no column, of one or of two; of a quantile its rank, of a share its `when`.

    With a `condition` it is of the rows that meet it, beside those that the statement is about.
    """

    statistic: str
    columns: tuple[str, ...] = ()
    rank: float | None = None
    condition: Condition | None = None
    when: Condition | None = None


def aggregate(words: Words, node: exp.Expression, scope: Scope, start: int) -> tuple[Call, list[Spelled]]:
    """What the call that begins here asks for, and its words. Raises `InvalidQuery`."""
    if isinstance(node, exp.Filter):
        return _filtered(words, node, scope, start)
    called = words.word(start).strip('"').upper()
    if called == _ORDERED and isinstance(node, exp.WithinGroup):
        return _quantile(words, node, scope, start)
    known = called in _aggregates() or called in _pairs()
    if not known and called in REMEDIES:
        raise words.refusal(f"{called} is not supported", start, REMEDIES[called])
    if not known or type(node) is not type(_plain_call(called)):
        if not isinstance(node, exp.Func) or isinstance(node, exp.Cast | exp.Case | exp.Binary):
            raise words.unsupported(node.key, node)
        raise words.refusal(f"{called} is not supported", start, remedy_for(called, allowed_aggregates()))
    found = _arguments(words, node, called, start)
    if called in _aggregates():
        call, spelled = _argument(words, found[0], called, scope, start)
    else:
        (first, left), (second, right) = (_number(words, one, called, scope, start) for one in found)
        if first == second:
            raise words.refusal(f"{called} takes two different columns", start, "Ask for VAR_POP.")
        call, spelled = Call(_pairs()[called], (first, second)), [*left, "COMMA", *right]
    return call, [frozenset({called}), "L_PAREN", *spelled, "R_PAREN"]


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
        if isinstance(one, exp.Predicate | exp.Connector | exp.Not):
            remedy = "Count rows by COUNT(*) FILTER (WHERE …)."
            raise words.refusal(f"{rule}, not a condition", words.start_of(one, start), remedy)
        if not is_computed(one) and isinstance(one, exp.Binary):
            at = words.after(one.this)
            sign = words.found(at)
            raise words.refusal(rule, words.place(at), remedy_for(sign.strip("'"), f"Found {sign}."))
    return found


def _listed(value: object) -> list[Any]:
    """What an argument holds, as a list; nothing if it is not set."""
    return value if isinstance(value, list) else [] if value is None or value is False else [value]


def _filtered(words: Words, node: exp.Filter, scope: Scope, start: int) -> tuple[Call, list[Spelled]]:
    """aggregate FILTER (WHERE condition)."""
    clause = words.only(words.only(node, exp.Filter).expression, exp.Where).this
    call, spelled = aggregate(words, node.this, scope, start)
    first = words.filter_of(start) + 3
    condition = scope.where(clause)
    try:
        check_words(clause, words.condition(first))
    except InvalidQuery as error:
        raise words.refusal(str(error).rstrip("."), words.place(first)) from None
    both = both_conditions(condition, call.condition)
    return replace(call, condition=both), [*spelled, "FILTER", "L_PAREN", "WHERE", CONDITION, "R_PAREN"]


def _number(
    words: Words, node: exp.Expression, called: str, scope: Scope, start: int
) -> tuple[str, list[Spelled]]:
    """A column of numbers, stored or computed."""
    if not is_computed(node):
        return scope.column(node)
    operand = scope.number(node)
    if not isinstance(operand, str):
        raise _constant(words, called, start)
    return operand, spelled_number(words, scope, node)


def _constant(words: Words, called: str, start: int) -> InvalidQuery:
    return words.refusal(f"{called} is of a number that is the same in every row", start, "Use COUNT(*).")


def _of_numbers(
    words: Words, node: exp.Expression, called: str, scope: Scope, start: int
) -> tuple[Call, list[Spelled]]:
    """A function of one column of numbers, or of what is computed; of a CASE of the rows that meet it."""
    statistic = _aggregates()[called]
    if not is_computed(node):
        name, spelled = scope.column(node)
        return Call(statistic, (name,)), spelled
    found, spelled = numbers(scope, node), spelled_number(words, scope, node)
    zero = found.otherwise == 0.0
    skipped = found.otherwise is None or (zero and statistic == "sum")
    if isinstance(found.operand, str) and skipped:
        return Call(statistic, (found.operand,), condition=found.condition), spelled
    if found.operand == 1.0 and found.condition is not None:
        if statistic == "sum" and skipped:
            return Call("count", condition=found.condition), spelled
        if statistic == "mean" and zero:
            return Call("ratio", when=found.condition), spelled
    operand = found.operand if found.condition is None else scope.number(node)
    if not isinstance(operand, str):
        raise _constant(words, called, start)
    return Call(statistic, (operand,)), spelled


def _argument(
    words: Words, node: exp.Expression, called: str, scope: Scope, start: int
) -> tuple[Call, list[Spelled]]:
    """What is between the parentheses of a function of one column, or of rows, or of people."""
    statistic = _aggregates()[called]
    if statistic == "count" and isinstance(node, exp.Star):
        words.only(node, exp.Star)
        return Call(statistic), ["STAR"]
    if statistic == "count" and isinstance(node, exp.Distinct):
        listed = words.only(node, exp.Distinct).expressions
        place = words.near("distinct", node)[0]
        if len(listed) != 1:
            raise words.refusal("COUNT(DISTINCT …) takes one column", place)
        counted, condition = chosen_column(scope, listed[0])
        if not isinstance(counted, exp.Column):
            raise words.refusal("COUNT(DISTINCT …) takes one column", place)
        name, _, spelled = scope.reference(counted)
        unit = scope.policy.id_column
        if unit is None or name != unit:
            known = "The unit is a row" if unit is None else f"The unit is `{unit}`"
            remedy = f"{known}; other columns have as many values as the policy says."
            raise words.refusal("DISTINCT is not supported but for the id of the unit", place, remedy)
        spelled = spelled if condition is None else spelled_number(words, scope, listed[0])
        return Call("distinct", condition=condition), ["DISTINCT", *spelled]
    if statistic == "count" and not isinstance(node, exp.Column):
        if isinstance(node, exp.Null):
            raise words.refusal("COUNT(NULL) is 0 whatever the table is", start, "Leave it out.")
        if not (is_computed(node) or isinstance(node, exp.Literal)):
            raise words.unsupported(node.key, node)
        return Call("count", condition=known_rows(scope, node)), spelled_number(words, scope, node)
    return _of_numbers(words, node, called, scope, start)


def _quantile(words: Words, node: exp.WithinGroup, scope: Scope, start: int) -> tuple[Call, list[Spelled]]:
    """PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY column)."""
    rule = f"{_ORDERED} is written {_ORDERED}(0.5) WITHIN GROUP (ORDER BY column)"
    words.only(node, exp.WithinGroup)
    call, order = node.this, node.expression
    if type(call) is not exp.PercentileCont or type(order) is not exp.Order or len(order.expressions) != 1:
        raise words.refusal(rule, start)
    ordered = words.only(words.only(order, exp.Order).expressions[0], exp.Ordered)
    rank = words.only(call, exp.PercentileCont).this
    if (
        type(rank) is not exp.Literal
        or words.only(rank, exp.Literal).is_string
        or not _RANK.fullmatch(rank.this)
    ):
        raise words.refusal(rule, start, "The number is above 0 and below 1.")
    if ordered.args.get("desc"):
        raise words.refusal(rule, start, "Leave DESC out, and take 1 less the number.")
    share = float(rank.this)
    call_of, spelled = _of_numbers(words, ordered.this, "MEDIAN", scope, start)
    found = call_of if share == 0.5 else replace(call_of, statistic="quantiles", rank=share)
    wanted: list[Spelled] = [frozenset({_ORDERED}), "L_PAREN", "DOT?", "NUMBER", "R_PAREN"]
    wanted += [frozenset({"WITHIN"}), frozenset({"GROUP"}), "L_PAREN", "ORDER_BY", *spelled]
    return found, [*wanted, "ASC?", "R_PAREN"]
