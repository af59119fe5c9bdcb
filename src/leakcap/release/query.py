"""What a query says, as plain fields: which statistic of what, and the price that is offered for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pydantic import Strict

__all__ = ["QueryFields"]

# Strict: text is no number, and true is not 1.
Text: TypeAlias = Annotated[str, Strict()]
Number: TypeAlias = Annotated[float, Strict()]
Whole: TypeAlias = Annotated[int, Strict()]


@dataclass(frozen=True, kw_only=True)
class QueryFields:
    """The fields of a query. A `Query` has been checked, too.

    `column` is what is summed, averaged or binned; `where` a condition in SQL; `by` the key columns that
    split the table into disjoint groups, which together cost once. `cut` names number columns among them, or
    among `columns`, each with the edges of its bins. `join` names tables of the policy whose
    columns are then called `people.sex`. A histogram of a number needs `bins`
    (equal widths over the policy's bounds) or `edges`; a histogram of a key column has its keys. `quantiles`
    are chosen from bins too, 256 of equal width unless they are given. `delta` is for groups whose keys are
    private, and for nothing else. `columns` are those of a contingency table or a matrix; `over` and `when`
    belong to ratios: the column below the line, and the condition that rows above it fulfil; `top` says how
    many of the largest categories are wanted; `up_to` how many rows of a person are looked at; `formula`
    is computed of each row and clamped to `range`; `design_weight` is the column of a survey's weights.
    `slot` names a slot of the policy's `plan` that pays for the answer.

    `noise` is laplace, gaussian, or best: whichever errs less for as much of the policy's caps. With Gaussian
    noise `epsilon` goes with the `delta` of the policy's caps. `rho`, of zero-concentrated privacy, is a
    price in its place.
    """

    name: Text
    statistic: Text
    epsilon: Number | None = None
    column: Text | None = None
    where: Text | None = None
    by: tuple[Text, ...] = ()
    cut: tuple[tuple[Text, tuple[Number, ...]], ...] = ()
    join: tuple[Text, ...] = ()
    bins: Whole | None = None
    edges: tuple[Number, ...] | None = None
    quantiles: tuple[Number, ...] | None = None
    delta: Number | None = None
    columns: tuple[Text, ...] | None = None
    over: Text | None = None
    when: Text | None = None
    top: Whole | None = None
    up_to: Whole | None = None
    formula: Text | None = None
    range: tuple[Number, ...] | None = None
    design_weight: Text | None = None
    slot: Text | None = None
    rho: Number | None = None
    noise: Text = "laplace"
