"""What the columns of a regression are as numbers, and which sums over rows it needs.

A key is a number where all keys of its column are whole numbers; of truth values `true` is 1, and of text
each key but the first is a number of its own, 1 or 0. Least squares of such numbers need nothing but Σ u·v
over rows for any two of them, which is a sum over a table of two columns with public weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.tables import TablesQuestion
from leakcap.tables.question import Number, PlannedTables
from leakcap.tables.workload import Places

__all__ = ["Matrix", "RegressionAsked", "RegressionTerms", "Term"]

Matrix: TypeAlias = list[list[Fraction]]

_MOST_TERMS = 20
"""Numbers beside the constant: their sums are some two hundred."""


class RegressionAsked(BaseModel):
    """Which column of a file is regressed on which others; with a price tables are released for it.

    Without `rho` and `epsilon` the tables that the file is made of are asked, for nothing more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    features: Annotated[tuple[str, ...], Field(min_length=1)]
    rho: Number | None = None
    epsilon: Number | None = None

    @property
    def priced(self) -> bool:
        """Whether it has a price of its own."""
        return self.rho is not None or self.epsilon is not None

    def question(self, of: TablesQuestion) -> TablesQuestion | None:
        """The tables that are released for it, about the rows that `of` asks about; None without a price."""
        if not self.priced:
            return None
        return TablesQuestion(
            name=f"regression of {self.target}"[:200],
            columns=tuple(dict.fromkeys((self.target, *self.features))),
            ways=2,
            rho=self.rho,
            epsilon=self.epsilon,
            where=of.where,
        )


@dataclass(frozen=True)
class Term:
    """A number v = middle + half·u that each key of the column at `place` stands for; of none, the constant.

    u is `weights` over `scale`, whole numbers by key. A number lies about the middle of all keys, in [−1, 1];
    of an indicator, whose key is `key` where it is text, u is v, 0 for most keys: so few cells, and little
    noise, are in its sums.
    """

    place: int | None
    weights: tuple[int, ...] = ()
    scale: int = 1
    middle: Fraction = Fraction(0)
    half: Fraction = Fraction(1)
    key: Key | None = None

    @classmethod
    def of_numbers(cls, place: int, values: Sequence[int]) -> Term:
        """A number that each key is."""
        low, high = min(values), max(values)
        weights = tuple(2 * value - low - high for value in values)
        return cls(place, weights, high - low, Fraction(low + high, 2), Fraction(high - low, 2))


_CONSTANT = Term(None)


@dataclass(frozen=True)
class RegressionTerms:
    """What the columns of a regression are as numbers: the constant, those of the features, the target."""

    planned: PlannedTables
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, asked: RegressionAsked, planned: PlannedTables) -> RegressionTerms:
        """Raises `InvalidQuery` where the columns are not there, or are no numbers to regress."""
        columns = list(planned.plan.workload.columns)
        named = (asked.target, *asked.features)
        for name in named:
            if name not in columns:
                raise InvalidQuery(
                    f"`target` and `features` of a regression must be columns of the tables: "
                    f"{', '.join(columns)}. Got `{name}`."
                )
            if named.count(name) > 1:
                raise InvalidQuery(
                    f"`target` and `features` of a regression must be columns, each once. Got `{name}` twice."
                )
        each = {name: tuple(_terms(planned, columns.index(name))) for name in named}
        for name, own in each.items():
            if not own:
                raise InvalidQuery(
                    f"`target` and `features` of a regression must have two keys or more. Got `{name}`, "
                    "which has one. Leave it out."
                )
        if len(each[asked.target]) > 1:
            raise InvalidQuery(
                "`target` of a regression must be a column of numbers, of true and false, or of two keys. "
                f"Got `{asked.target}`, which has {len(each[asked.target]) + 1:,} keys that are text. Derive "
                "a column from it, in the policy."
            )
        found = (_CONSTANT, *(term for name in asked.features for term in each[name]), *each[asked.target])
        if len(found) - 2 > _MOST_TERMS:
            raise InvalidQuery(
                f"`features` of a regression must make no more than {_MOST_TERMS} numbers: each key of text "
                f"but the first is one. Got {len(found) - 2}. Leave columns out."
            )
        return cls(planned, found)

    @property
    def keys(self) -> dict[str, tuple[Key, ...]]:
        """The keys of each of its columns, in the policy's order."""
        columns = list(self.planned.plan.workload.columns)
        places = sorted({term.place for term in self.terms if term.place is not None})
        return {columns[place]: tuple(self.planned.axes[place].labels.values()) for place in places}

    @property
    def missing(self) -> list[tuple[str, ...]]:
        """Pairs of columns whose tables are not among those that were asked for, or their margins."""
        workload = self.planned.plan.workload
        places = sorted({term.place for term in self.terms if term.place is not None})
        known = set(workload.closure)
        return [workload.named(pair) for pair in combinations(places, 2) if pair not in known]

    def require_released(self) -> None:
        """Raise `InvalidQuery` where the tables do not have all pairs of the columns."""
        if kinds := self.planned.plan.workload.kinds:
            raise InvalidQuery(
                f"A regression needs released cells, and of `{next(iter(kinds))}` the tables have "
                f"{next(iter(kinds.values()))}. Ask for tables without them."
            )
        if missing := self.missing:
            listed = " × ".join(missing[0])
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise InvalidQuery(
                "A regression for nothing more needs released tables of all pairs of its columns. Not "
                f"released: {listed}{more}. Ask for these tables or leave columns out; where a ledger is "
                "asked, a `rho` or an `epsilon` of its own will do."
            )

    def pairs(self) -> Iterator[tuple[int, int, Places, dict[int, tuple[int, ...]]]]:
        """For any two terms the table that Σ u·v is a sum over, and the weights of its keys."""
        for i, one in enumerate(self.terms):
            for j, other in enumerate(self.terms[i:], start=i):
                if one.place is not None and one.place == other.place:
                    both = tuple(a * b for a, b in zip(one.weights, other.weights, strict=True))
                    yield i, j, (one.place,), {one.place: both}
                    continue
                own = {term.place: term.weights for term in (one, other) if term.place is not None}
                yield i, j, tuple(sorted(own)), own

    def filled(self, entries: Sequence[Fraction]) -> Matrix:
        """The symmetric matrix of these sums, in the order of `pairs`, each term over its scale."""
        size = len(self.terms)
        found = [[Fraction(0)] * size for _ in range(size)]
        for (i, j, _, _), entry in zip(self.pairs(), entries, strict=True):
            found[i][j] = found[j][i] = entry / (self.terms[i].scale * self.terms[j].scale)
        return found

    def named(self, solution: Sequence[Fraction]) -> list[Fraction]:
        """The constant and the coefficients in the columns' own numbers, from those of the terms."""
        target, features = self.terms[-1], self.terms[1:-1]
        slopes = [target.half * own / one.half for one, own in zip(features, solution[1:], strict=True)]
        level = target.middle + target.half * solution[0]
        return [level - sum(s * one.middle for s, one in zip(slopes, features, strict=True)), *slopes]

    def widths(self, radius: Sequence[Fraction]) -> list[Fraction]:
        """How far these are off where those of the terms are off by `radius`."""
        target, features = self.terms[-1], self.terms[1:-1]
        slopes = [target.half * own / one.half for one, own in zip(features, radius[1:], strict=True)]
        moved = sum(s * abs(one.middle) for s, one in zip(slopes, features, strict=True))
        return [target.half * radius[0] + moved, *slopes]

    @property
    def names(self) -> list[tuple[str, Key | None]]:
        """For each term but the target its column, "" of the constant, and the key of an indicator."""
        columns = list(self.planned.plan.workload.columns)
        return [("" if one.place is None else columns[one.place], one.key) for one in self.terms[:-1]]


def _terms(planned: PlannedTables, place: int) -> Iterator[Term]:
    keys = tuple(planned.axes[place].labels.values())
    if len(keys) < 2:
        return
    if all(isinstance(key, bool) for key in keys):
        yield Term(place, tuple(map(int, keys)))
    elif all(isinstance(key, int) for key in keys):
        yield Term.of_numbers(place, [int(key) for key in keys])
    else:
        for index, key in enumerate(keys[1:], start=1):
            yield Term(place, tuple(int(own == index) for own in range(len(keys))), key=key)
