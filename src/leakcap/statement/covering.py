"""Whether what is told of everything is no less than what a part of it tells alone."""

from __future__ import annotations

from leakcap.statement.exposure import Exposure
from leakcap.statement.tally import Tally

__all__ = ["shortfall"]

_ROUNDED = 1e-9
"""Relative: a ledger counts in ticks, and rounds up."""
_PUBLIC = ("relation", "unit", "units")
_NUMBERS = ("queries", "epsilon", "epsilon_contents", "delta", "delta_contents", "table_nats")


def shortfall(whole: Exposure, part: Exposure) -> str:
    """The first number, by its name, that `whole` states lower than `part`, which is said to be a part of it,
    states alone; empty where it states none so.

    All that is stated adds up over answers, or is read off sums that do: whatever came beside `part` moves
    no number down. What came beside it nobody can tell from the numbers.

    >>> from dataclasses import replace
    >>> from leakcap.bound import Bound
    >>> one = Exposure("a count", 0.1, 0.1, Bound.exact(0.00125, method="m"), 1.0, "replace-one")
    >>> shortfall(one.repeated(2), one), shortfall(replace(one, table_nats=0.5), one)
    ('', 'table_nats')
    """
    for name in _PUBLIC:
        if getattr(whole, name) != getattr(part, name):
            return name
    for name in _NUMBERS:
        if _below(getattr(whole, name), getattr(part, name)):
            return name
    if _below(whole.nats.upper, part.nats.upper):
        return "nats_person"
    if part.exact_totals and not whole.exact_totals:
        return "exact_totals"
    if whole.composed is None:
        return ""
    if part.composed is None or _less(whole.composed.neighbours, part.composed.neighbours):
        return "composed.neighbours"
    contents, own = whole.composed.contents, part.composed.contents
    return "composed.contents" if contents is not None and (own is None or _less(contents, own)) else ""


def _less(whole: Tally, part: Tally) -> bool:
    """Whether some sum is lower than what the part adds to it, or covers what it has no sum for."""
    if whole.usable and (
        not part.usable
        or _below(whole.gaussian, part.gaussian)
        or _below(whole.epsilon, part.epsilon)
        or _below(whole.delta, part.delta)
        or (bool(part.pure) and _below(whole.laplace, part.laplace))
    ):
        return True
    return bool(whole.curve) and (
        not part.curve
        or any(_below(one, other) for one, other in zip(whole.curve, part.curve, strict=True))
        or _below(whole.leak, part.leak)
    )


def _below(one: float, other: float) -> bool:
    return one < other * (1.0 - _ROUNDED)
