"""Families: who is whose child, and exact laws over all genotypes, eliminating one person at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats

__all__ = ["Factor", "Pedigree", "cousins", "eliminate", "siblings", "transmission"]

_WIDEST = 11
"""An elimination over more people at once would need tables of 3¹² entries and more."""


@dataclass(frozen=True)
class Pedigree:
    """People by number, parents before children; `parents[i]` is (mother, father), or None for a founder.

    >>> Pedigree((None, None, (0, 1))).children(0)
    (2,)
    """

    parents: tuple[tuple[int, int] | None, ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(len(self.parents) >= 1, "parents", "Pedigree", "list at least one person", len(self.parents))
        if self.names:
            distinct = len(set(self.names)) == len(self.names) == len(self.parents)
            require(distinct, "names", "Pedigree", "be distinct, one a person", self.names)
        for child, pair in enumerate(self.parents):
            good = pair is None or (pair[0] != pair[1] and min(pair) >= 0 and max(pair) < child)
            require(good, "parents", "Pedigree", "be two different people listed before the child", pair)

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, person: int) -> tuple[int, ...]:
        """Whoever has this person as a parent."""
        return tuple(i for i, pair in enumerate(self.parents) if pair is not None and person in pair)

    def relatives(self, person: int) -> int:
        """How many people are connected with this one, by blood or through children; the person counts."""
        found, left = {person}, [person]
        while left:
            here = left.pop()
            near = {*(self.parents[here] or ()), *self.children(here)}
            near |= {p for child in self.children(here) for p in self.parents[child] or ()}
            left += near - found
            found |= near
        return len(found)

    def number(self, name: str) -> int:
        """The number of a person by name, or by the number itself as text."""
        if name in self.names:
            return self.names.index(name)
        if name.isdigit() and int(name) < len(self):
            return int(name)
        raise InvalidParameter(f"`person` must be one of the pedigree's people. Got {name!r}.")

    @classmethod
    def of(cls, rows: Mapping[str, Sequence[str]]) -> Pedigree:
        """From names to the names of mother and father, empty for founders, in any order.

        >>> Pedigree.of({"ann": ["eve", "tom"], "eve": [], "tom": []}).names
        ('eve', 'tom', 'ann')
        """
        order: list[str] = []
        waiting = dict(rows)
        while waiting:
            ready = [name for name, pair in waiting.items() if all(p in order for p in pair)]
            if not ready:
                raise InvalidParameter(
                    "Parents in a pedigree must be listed, and nobody may be their own ancestor. "
                    f"Got trouble with {', '.join(sorted(waiting)[:5])}."
                )
            order += ready
            for name in ready:
                del waiting[name]
        parents: list[tuple[int, int] | None] = []
        for name in order:
            pair = [order.index(p) for p in rows[name]]
            require(len(pair) in (0, 2), "parents", "Pedigree", "be none or two", len(pair))
            parents.append((pair[0], pair[1]) if pair else None)
        return cls(tuple(parents), tuple(order))


def siblings(children: int) -> Pedigree:
    """Two parents and their children: 0 and 1 are the parents.

    >>> siblings(2).parents
    (None, None, (0, 1), (0, 1))
    """
    require(children >= 1, "children", "siblings", "be at least 1", children)
    return Pedigree((None, None) + ((0, 1),) * children)


def cousins(branches: int, each: int) -> Pedigree:
    """Two grandparents (0, 1), `branches` children of theirs, each with a partner and `each` children.

    >>> cousins(2, 1).parents
    (None, None, (0, 1), None, (2, 3), (0, 1), None, (5, 6))
    """
    require(branches >= 1, "branches", "cousins", "be at least 1", branches)
    require(each >= 0, "each", "cousins", "not be negative", each)
    people: list[tuple[int, int] | None] = [None, None]
    for _ in range(branches):
        here = len(people)
        people += [(0, 1), None, *[(here, here + 1)] * each]
    return Pedigree(tuple(people))


def transmission() -> Floats:
    """P(child has g alleles | mother has a, father has b): one allele of each parent, at random; [a, b, g].

    >>> transmission()[1, 1].tolist()
    [0.25, 0.5, 0.25]
    """
    table = np.zeros((3, 3, 3))
    for a in range(3):
        for b in range(3):
            table[a, b] = np.convolve([1.0 - a / 2.0, a / 2.0], [1.0 - b / 2.0, b / 2.0])
    return table


@dataclass(frozen=True, eq=False)
class Factor:
    """A table over the genotypes of `scope`, in ascending order; its last axis is the number added up."""

    scope: tuple[int, ...]
    table: Floats

    def __mul__(self, other: Factor) -> Factor:
        """Both at once: entries multiply, numbers add."""
        scope = tuple(sorted({*self.scope, *other.scope}))
        left, right = self._over(scope), other._over(scope)
        if left.shape[-1] < right.shape[-1]:
            left, right = right, left
        length = left.shape[-1]
        out = np.zeros((3,) * len(scope) + (length + right.shape[-1] - 1,))
        for shift in range(right.shape[-1]):
            out[..., shift : shift + length] += left * right[..., shift, None]
        return Factor(scope, out)

    def _over(self, scope: tuple[int, ...]) -> Floats:
        shape = [3 if person in self.scope else 1 for person in scope]
        return self.table.reshape(*shape, self.table.shape[-1])

    def without(self, person: int) -> Factor:
        """Summed over the person's genotype."""
        at = self.scope.index(person)
        return Factor(self.scope[:at] + self.scope[at + 1 :], self.table.sum(axis=at))


def eliminate(factors: Iterable[Factor], keep: Sequence[int]) -> Factor:
    """Multiply everything and sum over everybody but `keep`, always next whoever joins the fewest people.

    No subtraction takes place, so that every entry is right to rounding, relatively.
    """
    left = list(factors)
    while waiting := {p for f in left for p in f.scope} - set(keep):
        width = {p: len({q for f in left if p in f.scope for q in f.scope}) for p in waiting}
        person = min(sorted(waiting), key=lambda p: width[p])
        if width[person] > _WIDEST:
            raise InvalidParameter(
                f"The pedigree must not tie more than {_WIDEST} people together. Got {width[person]}. "
                "Leave out marriages among relatives."
            )
        touched = [f for f in left if person in f.scope]
        left = [f for f in left if person not in f.scope] + [reduce(_times, touched).without(person)]
    return reduce(_times, left)


def _times(one: Factor, other: Factor) -> Factor:
    return one * other
