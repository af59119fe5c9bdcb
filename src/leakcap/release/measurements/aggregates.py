"""What is taken together of the rows of one cell, in our own words.

A statistic turns each row into a few integers, its values; an aggregate says what is made of them. Every
aggregate is an integer, whatever the rows are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from leakcap.release.columns.typed import ExactSum

__all__ = ["Aggregate", "Joint", "Known", "People", "RowCount", "Squares", "Sum"]


class Aggregate(ABC):
    """One integer for each cell, from the columns that hold the rows' values: integers, an id, or NULL.

    `together` says that a row counts only with all of its values: the statement makes the others NULL where
    one is.
    """

    together: ClassVar[bool] = False

    @abstractmethod
    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """The aggregate of the values in the statistic's own order."""


@dataclass(frozen=True)
class RowCount(Aggregate):
    """How many rows."""

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """COUNT(*)."""
        return exp.Count(this=exp.Star())


@dataclass(frozen=True)
class Known(Aggregate):
    """How many rows have a first value."""

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """COUNT(value)."""
        return exp.Count(this=values[0].copy())


@dataclass(frozen=True)
class People(Aggregate):
    """How many different values at `place`, which are ids."""

    place: int = 0

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """COUNT(DISTINCT id)."""
        return exp.Count(this=exp.Distinct(expressions=[values[self.place].copy()]))


@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of the first values; none is beyond `largest`, before its centre is taken off or after, and
    with `positive` none is negative."""

    largest: int
    positive: bool = False

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """SUM(value), exact."""
        return ExactSum(this=values[0].copy(), largest=self.largest, positive=self.positive)


@dataclass(frozen=True)
class Squares(Aggregate):
    """The sum of v² − `centre`, none of which is above `largest`, nor v² itself."""

    centre: int
    largest: int

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """SUM(value·value − centre), exact."""
        squared = exp.Mul(this=values[0].copy(), expression=values[0].copy())
        less = exp.Sub(this=squared, expression=exp.Literal.number(self.centre))
        return ExactSum(this=exp.Paren(this=less), largest=self.largest)


@dataclass(frozen=True)
class Joint(Aggregate):
    """Over rows that have all of their values: Σ (`less` + `sign`·Π v_i), i in `places`.

    Without places the rows are counted. Nothing that is added up is beyond `largest`, nor the product itself.
    """

    places: tuple[int, ...]
    largest: int = 1
    less: int = 0
    sign: int = 1
    together: ClassVar[bool] = True

    def tree(self, values: Sequence[exp.Column]) -> exp.Expression:
        """SUM of the product, exact: NULL where one value is, as all are then."""
        if not self.places:
            return exp.Count(this=values[0].copy())
        term: exp.Expression = values[self.places[0]].copy()
        for place in self.places[1:]:
            term = exp.Mul(this=term, expression=values[place].copy())
        if self.sign < 0:
            term = exp.Sub(this=exp.Literal.number(self.less), expression=exp.Paren(this=term))
        return ExactSum(this=exp.Paren(this=term), largest=self.largest)
