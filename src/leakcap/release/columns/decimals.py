"""Columns of decimals, as columns of a reading of their own that stands under a statement.

There a decimal is the double nearest to it, on every engine: rounded to its places once, before anything is
asked of it. What stands above compares doubles, and so compares decimals (`policy/decimals.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from leakcap.policy.document import Policy
from leakcap.release.columns.typed import Calculated, aliased, column, decimal_column, literal

__all__ = ["decimal_grid", "rounded_away", "with_decimals"]

# The double below one half: with it the sum of what is below a half is below one.
_HALF = 0.49999999999999994
# So many steps are told apart; beyond the bounds of any column nothing is rounded.
_MOST = 2.0**50


def with_decimals(rows: exp.Expression, names: Sequence[str], policy: Policy) -> exp.Expression:
    """The `rows` with these stored columns, those of decimals as such."""
    found = dict(_decimals(names, policy))
    read: list[exp.Expression] = [
        aliased(Calculated(this=decimal_column(name, found[name]), name=name), name)
        if name in found
        else column(name)
        for name in dict.fromkeys(names)
    ]
    return exp.Select(expressions=read).from_(rows, copy=False).subquery("decimals", copy=False)


def _decimals(names: Iterable[str], policy: Policy) -> Iterable[tuple[str, int]]:
    for name in names:
        known = policy.columns.get(name)
        if known is not None and known.stored and known.places is not None:
            yield name, known.places


def decimal_grid(value: exp.Expression, places: int) -> exp.Expression:
    """The double nearest to the decimal that a double is rounded to; as it is beyond all bounds, or missing.

    >>> decimal_grid(column("x"), 2).sql("duckdb").count("FLOOR")
    2
    """
    within = exp.LTE(this=exp.Abs(this=value.copy()), expression=literal(_MOST / 10.0**places, "number"))
    return exp.Case(ifs=[exp.If(this=within, true=rounded_away(value.copy(), places))], default=value)


def rounded_away(value: exp.Expression, places: int, exact: int | None = None) -> exp.Expression:
    """A double of up to 2⁵⁰ steps, rounded to a whole number of them, halves away from zero.

    Where it is within half a step of a decimal of `exact` places, which are more, it is that decimal that is
    rounded: in whole numbers of its steps, so that a half is one.
    """
    finest = places if exact is None else max(places, exact)
    steps = _whole(exp.Paren(this=exp.Mul(this=value, expression=_power(finest))))
    if finest > places:
        steps = _whole(
            exp.Paren(this=exp.Div(this=exp.Paren(this=steps), expression=_power(finest - places)))
        )
    return exp.Paren(this=exp.Div(this=exp.Paren(this=steps), expression=_power(places)))


def _whole(value: exp.Expression) -> exp.Expression:
    """A double of size up to 2⁵⁰, rounded to a whole number, halves away from zero.

    For |y| < 2⁵¹ the floor of |y| + pred(1/2), in doubles, is |y| rounded to the nearest, halves up: the sum
    is below the next whole number where |y| is below its half, and rounds up to it where |y| is the half.
    """
    half = literal(_HALF, "number")
    below = exp.LT(this=value.copy(), expression=literal(0.0, "number"))
    up = exp.Floor(this=exp.Add(this=value, expression=half))
    down = exp.Neg(this=exp.Floor(this=exp.Sub(this=half.copy(), expression=value.copy())))
    return exp.Case(ifs=[exp.If(this=below, true=down)], default=up)


def _power(places: int) -> exp.Expression:
    """10^places, which is a double up to 10²²."""
    return literal(10.0**places, "number")
