"""Which columns of a question lie within each other, and the keys that can occur together.

Declared with `within`, or derived: the keys of one follow from those of the other. Columns form chains; a
column that would be in two is in the longer one, and beside the other as any other column is, with cells that
nobody can be in. Columns that the policy declares as lying within one are never taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.axis import Axis
from leakcap.release.columns.within import places_among
from leakcap.tables.nested.chains import Within
from leakcap.tables.nested.following import Followed, roots_of, that_follow

__all__ = ["NestedKeys", "nested_keys"]

_Ranks: TypeAlias = dict[tuple[type, Key], int]


@dataclass(frozen=True, eq=False)
class NestedKeys:
    """A column within others of a question: `columns`, the outermost first and itself last, and the `paths`
    of its keys, those within one key together.

    `listed` says that pairs are declared, so that a row can have one that is not; else its own key says the
    others.
    """

    columns: tuple[str, ...]
    paths: tuple[tuple[Key, ...], ...]
    listed: bool

    @property
    def within(self) -> Within:
        """For each key the place of the one that it lies within."""
        heads = list(dict.fromkeys(path[:-1] for path in self.paths))
        rank = {head: place for place, head in enumerate(heads)}
        return Within(self.columns[-2], tuple(rank[path[:-1]] for path in self.paths))

    @cached_property
    def _indices(self) -> tuple[list[_Ranks], NDArray[np.int64], NDArray[np.int64]]:
        """By column the place of each key, all paths by these, rising, and which path each is."""
        columns = [[(type(one), one) for one in own] for own in zip(*self.paths, strict=True)]
        ranks = [{key: place for place, key in enumerate(dict.fromkeys(own))} for own in columns]
        told = zip(ranks, columns, strict=True)
        found = np.array([[rank[one] for one in own] for rank, own in told], dtype=np.int64)
        order = np.lexsort(found[::-1])
        return ranks, found[:, order], order

    def places(self, axes: Sequence[Axis], places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Which path each row is, from the places of its keys on the axes of `columns`; −1 for none."""
        ranks, paths, order = self._indices
        own = []
        for rank, axis, place in zip(ranks, axes, places, strict=True):
            known = [rank.get((type(one), one), -1) for one in axis.labels.values()]
            own.append(np.where(place >= 0, np.array([*known, -1], dtype=np.int64)[place], -1))
        found = places_among(paths, np.array(own), [len(rank) for rank in ranks])
        return np.where(found >= 0, order[found], -1)


def nested_keys(axes: Sequence[Axis], policy: Policy, owner: str) -> tuple[list[str], dict[str, NestedKeys]]:
    """The columns in an order in which each stands right after the one that it lies within, and what is known
    of those that are in a chain: the outermost of each has paths of one key.

    Raises `InvalidQuery` where two columns are declared within one that do not lie within each other.
    """
    names = [axis.column for axis in axes]
    known = {axis.column: axis for axis in axes}
    above = _relations(axes, policy)
    left, chains = list(names), list[list[str]]()
    while chain := _longest(left, above, known):
        chains.append(chain)
        left = [name for name in left if name not in chain]
    found: dict[str, NestedKeys] = {}
    for chain in chains:
        found |= _of_chain(chain, known, above, owner)
    for name in names:
        for outer in known[name].within:
            if outer in known and (name not in found or outer not in found[name].columns):
                raise InvalidQuery(
                    f"{owner} must not have two columns within `{outer}` of which neither lies within the "
                    f"other. Got `{name}` beside another. Ask for them in two questions."
                )
    heads = {chain[0]: chain for chain in chains}
    within = {name: chain for chain in chains for name in chain}
    order: list[str] = []
    for name in names:
        line = within.get(name, [name])
        if line[0] not in order:
            order += heads.get(line[0], [name])
    return order, found


def _relations(axes: Sequence[Axis], policy: Policy) -> dict[tuple[str, str], Followed | None]:
    """By inner and outer column what key follows; None where pairs are declared."""
    roots = {axis.column: roots_of(axis.column, policy) for axis in axes}
    found: dict[tuple[str, str], Followed | None] = {}
    for inner in axes:
        for outer in axes:
            pair = inner.column, outer.column
            if inner is outer:
                continue
            if outer.column in inner.within:
                found[pair] = None
                continue
            if not roots[pair[0]].intersection(roots[pair[1]]) or inner.within:
                continue
            follow = that_follow(pair[1], pair[0], policy)
            # Of two columns that say the same the one with more keys lies within the other.
            later = (len(inner.labels), inner.column) > (len(outer.labels), outer.column)
            if follow and (later or not that_follow(pair[0], pair[1], policy)):
                found[pair] = follow
    return found


def _longest(
    names: Sequence[str],
    above: Mapping[tuple[str, str], Followed | None],
    axes: Mapping[str, Axis],
) -> list[str]:
    """The chain with most declared pairs, then most columns, then most keys, the outermost first; the same
    however the columns are ordered. Empty where no column lies within another."""
    best: dict[str, list[str]] = {}

    def worth(chain: list[str]) -> tuple[int, int, int, list[str]]:
        declared = sum(
            (inner, outer) in above and above[inner, outer] is None for outer in chain for inner in chain
        )
        return declared, len(chain), sum(len(axes[name].labels) for name in chain), chain

    def up_from(name: str) -> list[str]:
        if name not in best:
            chains = [[name]]
            for outer in names:
                if (name, outer) in above:
                    longer = [one for one in up_from(outer) if (name, one) in above]
                    chains.append([*longer, name])
            best[name] = max(chains, key=worth)
        return best[name]

    found = max((up_from(name) for name in names), key=worth, default=[])
    return found if len(found) > 1 else []


def _of_chain(
    chain: Sequence[str],
    axes: Mapping[str, Axis],
    above: Mapping[tuple[str, str], Followed | None],
    owner: str,
) -> dict[str, NestedKeys]:
    """The paths of each column of a chain, without those that no path of the innermost goes through."""
    paths: list[tuple[Key, ...]] = [(key,) for key in axes[chain[0]].labels.values()]
    for depth, name in enumerate(chain[1:], 1):
        axis, inner = axes[name], dict[tuple[Key, ...], list[Key]]()
        follow = [above[name, outer] for outer in chain[:depth]]
        if any(one is None for one in follow):
            kept = [axis.within.index(outer) for outer in chain[:depth] if outer in axis.within]
            for path in axis.paths:
                inner.setdefault(tuple(path[one] for one in kept), []).append(path[-1])
        else:
            for key in axis.labels.values():
                told = [one.get(key) for one in follow if one is not None]
                if None not in told:
                    inner.setdefault(tuple(one for one in told if one is not None), []).append(key)
        paths = [(*path, key) for path in paths for key in dict.fromkeys(inner.get(path, ()))]
    if not paths:
        raise InvalidQuery(
            f"{owner} must have keys that can occur together. No row has one of each of "
            f"{', '.join(f'`{name}`' for name in chain)}."
        )
    found: dict[str, NestedKeys] = {}
    for depth, name in enumerate(chain, 1):
        own = tuple(dict.fromkeys(path[:depth] for path in paths))
        listed = any(axes[one].within for one in chain[:depth])
        found[name] = NestedKeys(tuple(chain[:depth]), own, listed)
    return found
