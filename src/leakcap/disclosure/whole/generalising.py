"""k-anonymous generalisation of a file: classes of k people or more, told by the box of their values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.disclosure.whole.method import WholeMethod
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["KAnonymous", "generalise"]

Whole = NDArray[np.int64]
Person: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class KAnonymous(WholeMethod[tuple[Person, ...]]):
    """A file of people, of whom the last value is secret and the others are public, told by classes.

    Published are the box of each class, from the least to the largest of its public values, and its secrets
    in order. Nothing is left to chance. Source: Sweeney 2002; LeFevre, DeWitt & Ramakrishnan 2006.

    >>> KAnonymous(2).law(((1, 0), (2, 1), (8, 1), (9, 1)))
    {((((1, 2),), (0, 1)), (((8, 9),), (1, 1))): Fraction(1, 1)}
    """

    k: int

    def __post_init__(self) -> None:
        whole = isinstance(self.k, int) and not isinstance(self.k, bool)
        require(whole and self.k >= 1, "k", "KAnonymous", "be a whole number from 1", self.k)

    def law(self, data: tuple[Person, ...]) -> dict[Hashable, Fraction]:
        """The file, for sure; of fewer than k people nothing is published: an empty one."""
        wide = isinstance(data, tuple) and len({len(one) for one in data}) <= 1
        holds = wide and all(len(one) >= 2 and all(isinstance(v, int) for v in one) for one in data)
        rule = "be people of equally many whole numbers, two or more"
        require(holds, "data", "KAnonymous", rule, "something else")
        if len(data) < self.k:
            return {(): Fraction(1)}
        people = np.array(data, dtype=np.int64)
        classes = []
        for who in generalise(people[:, :-1], self.k):
            own = people[who]
            box = tuple(zip(own[:, :-1].min(axis=0).tolist(), own[:, :-1].max(axis=0).tolist(), strict=True))
            classes.append((box, tuple(sorted(own[:, -1].tolist()))))
        return {tuple(sorted(classes)): Fraction(1)}


def generalise(register: ArrayLike, k: int) -> list[Whole]:
    """Classes of at least k people: the widest attribute is cut at its median, while both parts have k.

    `register` has a row a person and a column an attribute. A class is a box of values, which is what the
    file says of its people. Source: LeFevre, DeWitt & Ramakrishnan 2006 (Mondrian).

    >>> [who.tolist() for who in generalise([[1], [9], [2], [8]], 2)]
    [[0, 2], [1, 3]]
    """
    table = np.asarray(register, dtype=np.int64)
    require(
        table.ndim == 2 and table.size > 0, "register", "generalise", "be people × attributes", table.shape
    )
    require(1 <= k <= len(table), "k", "generalise", f"be from 1 to the {len(table)} people", k)
    spread = np.maximum(np.ptp(table, axis=0), 1)
    done: list[Whole] = []
    open_ = [np.arange(len(table))]
    while open_:
        who = open_.pop()
        halves = _cut(table[who] / spread, who, k)
        if halves is None:
            done.append(who)
        else:
            open_ += halves[::-1]
    return done


def _cut(values: Floats, who: Whole, k: int) -> list[Whole] | None:
    for attribute in np.argsort(-np.ptp(values, axis=0), kind="stable"):
        column = values[:, attribute]
        low = column <= np.sort(column)[(len(who) - 1) // 2]
        if k <= int(low.sum()) <= len(who) - k:
            return [who[low], who[~low]]
    return None
