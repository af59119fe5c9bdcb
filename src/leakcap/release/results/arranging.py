"""HAVING, ORDER BY, LIMIT and OFFSET: which groups of an answer are shown, and in which order.

All of it is post-processing of noisy numbers: the answer is paid for, drawn and recorded whole, and only
then ordered and cut. So neither is a part of the question, and another order of the same answer is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakcap.release.conditions.condition import Condition, named, to_text
from leakcap.release.numbers.answers import Number, Rows, own_heads
from leakcap.release.planning.attainability import truth_of
from leakcap.release.results.result import Release

__all__ = ["Arrangement", "SortKey"]


@dataclass(frozen=True)
class SortKey:
    """What groups are ordered by: the values of an answer, or a column of keys, by its `name`."""

    name: str
    of_keys: bool
    descending: bool = False


@dataclass(frozen=True)
class Arrangement:
    """How several answers about the same groups are shown, all of them alike.

    `having` is a condition on the answers' values, by the answers' names. Keys are ordered as numbers, as
    text character by character, FALSE before TRUE; equal ones stay in the policy's order. `heads` are the
    names under which an answer shows columns of keys: by themselves they order and cut nothing.

    >>> Arrangement(order=(SortKey("count", of_keys=False, descending=True),)).told
    'ordered by count (noisy), descending'
    >>> Arrangement(limit=3, offset=2).told
    'only groups 3 to 5 are shown'
    """

    having: Condition | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    heads: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        """Whether anything is ordered or cut."""
        return replace(self, heads={}) != Arrangement()

    @property
    def told(self) -> str:
        """What is done, in words."""
        said: list[str] = []
        if self.having is not None:
            said.append(f"only groups with {to_text(self.having)} are shown, by the noisy values")
        if self.order:
            words = [
                f"{named(self._head(one.name)) if one.of_keys else f'{named(one.name)} (noisy)'}"
                f"{', descending' if one.descending else ''}"
                for one in self.order
            ]
            said.append(f"ordered by {', then by '.join(words)}")
        if self.limit is not None:
            said.append(f"only {self._cut(self.limit)} shown")
        elif self.offset:
            said.append(f"the first {self.offset:,} groups are left out")
        if self._chosen_by_noise:
            said.append(
                "the noise has a say in which groups these are, so their intervals hold less often than for "
                "groups named beforehand"
            )
        return "; ".join(said)

    def _cut(self, limit: int) -> str:
        """Which groups LIMIT leaves, in words."""
        if not self.offset:
            return f"the first {limit:,} groups are" if limit > 1 else "the first group is"
        first, last = self.offset + 1, self.offset + limit
        return f"groups {first:,} to {last:,} are" if first < last else f"group {first:,} is"

    def _head(self, name: str) -> str:
        """What a column of keys is called in answers."""
        return self.heads.get(name, name)

    @property
    def _chosen_by_noise(self) -> bool:
        cut = self.limit is not None or self.offset > 0
        return self.having is not None or (cut and any(not one.of_keys for one in self.order))

    def of(self, releases: Sequence[Release]) -> list[Release]:
        """The answers with their groups in this order, those that are left out left out, keys under their
        heads."""
        if not self or not releases:
            return [self._headed(release) for release in releases]
        shown = self._shown([_Table.of(release) for release in releases])
        return [self._one(release, shown) for release in releases]

    def _one(self, release: Release, shown: Sequence[tuple[Any, ...]]) -> Release:
        table = _Table.of(release)
        kept = [key for key in shown if key in table.places]
        places = [place for key in kept for place in table.places[key]]
        drawn = release.drawn
        whole = drawn is not None and all(len(part.numbers) == len(release.rows) for part in drawn.parts)
        found = replace(
            release,
            rows=release.rows.taken(places),
            drawn=drawn.taken(places) if drawn is not None and whole else None,
            arranged=self.told,
            left_out=len(table.places) - len(kept),
        )
        return self._headed(found)

    def _headed(self, release: Release) -> Release:
        """The answer with its keys under their heads; its text keeps the names of columns.

        Labels that a statistic gives its rows itself, such as `column` and `with`, give way to a head.
        """
        if not self.heads:
            return release
        labels = release.rows.labels
        heads = {name: self._head(name) for name in release.query.by}
        own = [name for name in labels if name not in heads]
        heads |= dict(zip(own, own_heads(heads.values(), own), strict=True))
        named_anew = {heads[name]: words for name, words in labels.items()}
        totals = {heads[name]: word for name, word in release.totals.items()}
        columns = {head: name for name, head in heads.items() if head != name}
        rows = Rows(named_anew, release.rows.answers)
        return replace(release, rows=rows, totals=totals, columns=columns)

    def _shown(self, tables: Sequence[_Table]) -> list[tuple[Any, ...]]:
        """The keys of the groups that are shown. Private ones may be in some of the answers alone."""
        groups = list(dict.fromkeys(key for table in tables for key in table.places))
        values: dict[tuple[Any, ...], dict[str, Number | None]] = {
            key: {table.name: table.value(key) for table in tables} for key in groups
        }
        if self.having is not None:
            groups = [key for key in groups if truth_of(self.having, values[key])]
        for one in reversed(self.order):
            if one.of_keys:
                at = tables[0].columns.index(one.name)
                groups.sort(key=lambda key, at=at: key[at], reverse=one.descending)  # type: ignore[misc]
            else:
                groups = _by_value(
                    groups, {key: values[key][one.name] for key in groups}, falling=one.descending
                )
        end = None if self.limit is None else self.offset + self.limit
        return groups[self.offset : end]


def _by_value(
    groups: Sequence[tuple[Any, ...]], values: Mapping[tuple[Any, ...], Number | None], *, falling: bool
) -> list[tuple[Any, ...]]:
    """Ordered by values, equal ones as they were; those without one last."""
    found = {key: value for key in groups if (value := values[key]) is not None}
    known = sorted(found, key=found.__getitem__, reverse=falling)
    return [*known, *(key for key in groups if key not in found)]


@dataclass(frozen=True)
class _Table:
    """An answer by the keys of its groups, of which each may have several rows: a covariance matrix."""

    name: str
    columns: tuple[str, ...]
    places: Mapping[tuple[Any, ...], Sequence[int]]
    values: Mapping[tuple[Any, ...], Number]

    @classmethod
    def of(cls, release: Release) -> _Table:
        """With the places of each group, and its value: of a matrix that of the two columns."""
        labels, by = release.rows.labels, tuple(release.query.by)
        own = [words.tolist() for name, words in labels.items() if name not in by]
        numbers = release.rows.answers.values.tolist()
        places: dict[tuple[Any, ...], list[int]] = {}
        values: dict[tuple[Any, ...], Number] = {}
        for place, key in enumerate(zip(*(labels[name].tolist() for name in by), strict=True)):
            places.setdefault(key, []).append(place)
            # On the diagonal of a matrix stand the variances.
            if len(own) < 2 or len({words[place] for words in own}) > 1:
                values[key] = numbers[place]
        return cls(release.name, by, places, values)

    def value(self, key: tuple[Any, ...]) -> Number | None:
        """The value of a group; None where the answer does not have it."""
        return self.values.get(key)
