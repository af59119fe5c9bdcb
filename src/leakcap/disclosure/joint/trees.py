"""A tree of margins under cell keys: groups of people, and others who are known by a law alone, exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.joint.margin import checked_count
from leakcap.disclosure.joint.showing import (
    Outcome,
    Showing,
    add_law,
    channel_of_laws,
    require_chances,
    showing,
)
from leakcap.errors import require

__all__ = ["Tree", "tree_channel"]

Tree: TypeAlias = "str | Sequence[Tree]"
"""The name of a cell, or the trees whose sum is a margin."""
CountLaw: TypeAlias = Mapping[int, Fraction]
Ways: TypeAlias = dict[Outcome, np.ndarray]
"""What a tree's cells show, and in how many ways with each number of people (row) and key (column)."""
_VERB = "tree_channel"
_MOST_OUTCOMES, _MOST_NUMBERS, _MOST_TOGETHER = 1 << 14, 1 << 17, 1 << 24


def tree_channel(
    perturbation: Sequence[Sequence[int]] | CellMethod,
    tree: Tree,
    others: Sequence[tuple[Fraction, Mapping[str, CountLaw]]],
    worlds: Mapping[str, Sequence[tuple[Fraction, Mapping[str, int]]]],
    *,
    keys: int | None = None,
) -> Channel:
    """The exact channel from what is asked about some people to all cells and margins of a tree.

    `perturbation[count][key]` is as for `margin_channel`; or it is an office's method, with the number of
    `keys` that a record can have where it begins with cell keys. Of other methods each cell and margin has a
    chance of its own. `tree` nests names of cells: each cell is published
    and each bracket, the outermost too, as the margin of what it holds. `others` are the people that
    nobody asks about: chances that add up to one, each with the law of the number in every cell, independent
    of each other given which of these holds. One entry with certain numbers is an attacker who knows them.
    `worlds` are the secrets: for each its chances, and how many people it adds to which cells (a household
    in several cells, people who come together, somebody whose place is not known).

    Rows are the worlds, in fractions; an output has the cells in the order of the tree, each margin after
    what it holds. Raises `InvalidParameter` for laws that do not add up to one, names that are no cells and
    trees with more than 16,384 outcomes. Proof: docs/theory/cell-keys.md.

    >>> sure = {"f": {1: Fraction(1)}, "m": {3: Fraction(1)}}
    >>> worlds = {"absent": [(Fraction(1), {})], "present": [(Fraction(1), {"f": 1})]}
    >>> told = tree_channel([[0] * 4, [-1, 0, 0, 1]], ["f", "m"], [(Fraction(1), sure)], worlds)
    >>> told.inputs, told.outputs[0], told.as_exact()[0, 0]
    (('absent', 'present'), (0, 2, 3), Fraction(1, 16))
    """
    published = showing(perturbation, keys, _VERB)
    names = _names(tree)
    require(len(set(names)) == len(names) >= 1, "tree", _VERB, "name each cell once", names)
    require_chances("others", [chance for chance, _ in others], _VERB)
    for _, laws in others:
        require(set(laws) == set(names), "others", _VERB, f"have a law for each of {names}", sorted(laws))
        for numbers in laws.values():
            require_chances("others", list(numbers.values()), _VERB)
            for count in numbers:
                checked_count("others", count, _VERB)
    found: list[dict[Outcome, Fraction]] = []
    for added in worlds.values():
        require_chances("worlds", [chance for chance, _ in added], _VERB)
        law: dict[Outcome, Fraction] = {}
        for chance, more in added:
            unknown = sorted(set(more) - set(names))
            require(not unknown, "worlds", _VERB, f"add people to cells among {names}", unknown)
            for count in more.values():
                checked_count("worlds", count, _VERB)
            for share, laws in others:
                add_law(law, _TreeLaw(published, laws, more).law(tree), chance * share)
        found.append(law)
    return channel_of_laws(tuple(worlds), found)


@dataclass(frozen=True, eq=False)
class _TreeLaw:
    """All that a tree shows, where the numbers of people in its cells are independent."""

    published: Showing
    laws: Mapping[str, CountLaw]
    more: Mapping[str, int]
    _divisors: list[int] = field(default_factory=list)

    def law(self, tree: Tree) -> dict[Outcome, Fraction]:
        """How likely each outcome is."""
        ways = self._ways(tree)
        total = math.prod(self._divisors)
        return {shown: Fraction(int(numbers.sum()), total) for shown, numbers in ways.items()}

    def _ways(self, tree: Tree) -> Ways:
        if isinstance(tree, str):
            return self._shown({(): self._cell(tree)})
        together: Ways = {(): np.ones((1, 1), dtype=object)}
        for number, part in enumerate(tree):
            ways = self._ways(part)
            most = len(together) * len(ways)
            rule = f"leave at most {_MOST_OUTCOMES:,} outcomes"
            require(most <= _MOST_OUTCOMES, "tree", _VERB, rule, f"{most:,}")
            people = sum(len(next(iter(each.values()))) for each in (together, ways))
            size = most * people * self.published.keys
            rule = f"leave fewer people, keys or outcomes: at most {_MOST_TOGETHER:,} of all together"
            require(size <= _MOST_TOGETHER, "tree", _VERB, rule, f"{size:,}")
            together = {
                (*before, *after): _sum_of(first, second) if number else second
                for before, first in together.items()
                for after, second in ways.items()
            }
        return self._shown(together)

    def _cell(self, name: str) -> np.ndarray:
        """The ways in which a cell has so many people and a key: K of key 0 where it is empty."""
        law, more, keys = self.laws[name], self.more.get(name, 0), self.published.keys
        divisor = math.lcm(*(chance.denominator for chance in law.values()))
        self._divisors.append(divisor * keys)
        size = (max(law) + more + 1) * keys
        require(size <= _MOST_NUMBERS, "others", _VERB, "leave fewer people or keys", f"{size:,} of both")
        ways = np.zeros((max(law) + more + 1, keys), dtype=object)
        for count, chance in law.items():
            if count + more:
                ways[count + more] = int(chance * divisor)
            else:
                ways[0, 0] = keys * int(chance * divisor)
        return ways

    def _shown(self, ways: Ways) -> Ways:
        """The ways, apart by what is published of the number of people at the key."""
        alive = sorted(
            {int(count) for numbers in ways.values() for count in np.flatnonzero(numbers.any(axis=1))}
        )
        shares, divisor = self.published.shares(alive)
        self._divisors.append(divisor)
        found: Ways = {}
        for before, numbers in ways.items():
            for value, rows in shares.items():
                own = np.zeros_like(numbers)
                for count, share in rows.items():
                    own[count] = numbers[count] * share
                if own.any():
                    found[(*before, value)] = own
        return found


def _sum_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The ways of two sums of people and keys to add up, from those of each; keys modulo their number."""
    keys = first.shape[1]
    twice = np.concatenate((np.zeros((len(first), 1), dtype=object), first, first), axis=1)
    running = np.cumsum(twice, axis=1)
    total = np.zeros((len(first) + len(second) - 1, keys), dtype=object)
    for more, row in enumerate(second):
        changes = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), keys]
        for start, end in pairwise(changes):
            if row[start]:
                above = running[:, keys - start + 1 : 2 * keys - start + 1]
                below = running[:, keys - end + 1 : 2 * keys - end + 1]
                total[more : more + len(first)] += row[start] * (above - below)
    return total


def _names(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [name for part in tree for name in _names(part)]
