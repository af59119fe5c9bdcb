"""Answers column by column: of each group a value with its 95 % interval. Rows are made when read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, overload

from leakcap.arrays import NDArray, np
from leakcap.policy.declared import Key
from leakcap.release.numbers.exact_integers import doubles, exact_integers, objects
from leakcap.uncollected import uncollected

__all__ = [
    "Answers",
    "Interval",
    "Labels",
    "Number",
    "Row",
    "Rows",
    "as_numbers",
    "heads_of",
    "nested",
    "own_heads",
    "rows_listed",
]

Number: TypeAlias = int | float
Interval: TypeAlias = tuple[float, float]
Labels: TypeAlias = dict[str, NDArray[Any]]
"""For each column of the keys what a person reads in each row."""


def rows_listed(rows: Sequence[Mapping[str, Key]]) -> Labels:
    """The labels of rows that all have the same columns.

    >>> {name: words.tolist() for name, words in rows_listed([{"d": "a"}, {"d": "b"}]).items()}
    {'d': ['a', 'b']}
    """
    names = list(rows[0]) if rows else []
    return {name: objects([row[name] for row in rows]) for name in names}


def nested(outer: Labels, groups: int, inner: Labels, each: int) -> Labels:
    """For each of the `groups` of `outer` all `each` rows of `inner`.

    >>> outer, inner = rows_listed([{"d": "a"}, {"d": "b"}]), rows_listed([{"end": "low"}, {"end": "high"}])
    >>> labels = nested(outer, 2, inner, 2)
    >>> [words.tolist() for words in labels.values()]
    [['a', 'a', 'b', 'b'], ['low', 'high', 'low', 'high']]
    """
    return {
        **{name: np.repeat(words, each) for name, words in outer.items()},
        **{name: np.tile(words, groups) for name, words in inner.items()},
    }


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Values, integers or doubles, and both ends of their intervals.

    `exact` says that the ends are decimals, found in whole numbers: the same doubles on every processor.
    """

    values: NDArray[Any]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exact: bool = field(default=False, kw_only=True)

    @classmethod
    def of(cls, found: Iterable[tuple[Number, Interval]], *, exact: bool = False) -> Answers:
        """From values with their intervals.

        >>> Answers.of([(2, (1.0, 3.0))]).values.tolist()
        [2]
        """
        pairs = list(found)
        ends = np.array([interval for _, interval in pairs], dtype=np.float64).reshape(-1, 2)
        return cls(as_numbers([value for value, _ in pairs]), ends[:, 0], ends[:, 1], exact=exact)

    @property
    def off(self) -> float | None:
        """What makes each interval the value ± so much, to the last bit; None where nothing does."""
        values = doubles(self.values)
        if not len(values):
            return None
        off = float(self.upper[0] - values[0])
        same = np.array_equal(values - off, self.lower) and np.array_equal(values + off, self.upper)
        return off if same else None

    def steady(self) -> Answers:
        """With ends that are the same on every processor: what was searched for in doubles is rounded
        outward to 27 bits, since its last digits are others where vector units are.

        >>> Answers.of([(2, (1 / 3, 4.0))]).steady().pairs()
        [(2, (0.3333333320915699, 4.0))]
        """
        if self.exact or self.off is not None:
            return self
        return replace(self, lower=_outward(self.lower, np.floor), upper=_outward(self.upper, np.ceil))

    def drowned(self) -> NDArray[np.bool_]:
        """Which values are no larger than their noise: 0 lies in the interval, half of which is as wide.

        >>> Answers.of([(12, (-18.0, 42.0)), (99, (69.0, 129.0)), (0, (0.0, 0.0))]).drowned().tolist()
        [True, False, False]
        """
        half = self.upper / 2 - self.lower / 2
        holds = (self.lower <= 0.0) & (self.upper >= 0.0)
        return np.asarray(holds & (half > 0.0) & (half >= np.abs(doubles(self.values))))

    def pairs(self) -> list[tuple[Number, Interval]]:
        """Each value with its interval."""
        ends = zip(self.lower.tolist(), self.upper.tolist(), strict=True)
        return list(zip(self.values.tolist(), ends, strict=True))


def _outward(ends: NDArray[np.float64], toward: np.ufunc) -> NDArray[np.float64]:
    """The ends with 27 bits, rounded down or up: by exact operations alone."""
    part, power = np.frexp(ends)
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(toward(np.ldexp(part, 27)), power - 27))


def as_numbers(values: Sequence[Number]) -> NDArray[Any]:
    """Integers as such where all of them are, else doubles."""
    counts = all(type(value) is int for value in values)
    return exact_integers([int(value) for value in values]) if counts else np.array(values, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Row:
    """One group of an answer: its keys, the private value, and its 95 % interval."""

    keys: dict[str, Key]
    value: Number
    interval: Interval


class Rows(Sequence[Row]):
    """The groups of an answer. A sequence of rows that are made when they are looked at, equal to any other
    sequence of the same rows; `columns` has all of them at once.

    >>> wards = rows_listed([{"ward": "a"}, {"ward": "b"}])
    >>> rows = Rows(wards, Answers.of([(5, (2.0, 8.0)), (9, (6.0, 12.0))]))
    >>> rows[1]
    Row(keys={'ward': 'b'}, value=9, interval=(6.0, 12.0))
    >>> rows.columns()
    {'ward': ['a', 'b'], 'value': [5, 9], 'lower': [2.0, 6.0], 'upper': [8.0, 12.0]}
    """

    __slots__ = ("answers", "labels")
    __hash__ = None  # type: ignore[assignment] # equal to lists too

    def __init__(self, labels: Labels, answers: Answers) -> None:
        self.labels = labels
        self.answers = answers

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """From rows with the same columns of keys."""
        return cls(
            rows_listed([row.keys for row in rows]), Answers.of((row.value, row.interval) for row in rows)
        )

    def __len__(self) -> int:
        return len(self.answers.values)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Rows: ...

    def __getitem__(self, place: int | slice) -> Row | Rows:
        if not isinstance(place, slice):
            index = range(len(self))[place]
            return self[index : index + 1]._list()[0]
        labels = {name: words[place] for name, words in self.labels.items()}
        a = self.answers
        return Rows(labels, Answers(a.values[place], a.lower[place], a.upper[place]))

    def __iter__(self) -> Iterator[Row]:
        return iter(self._list())

    def _list(self) -> list[Row]:
        with uncollected():
            pairs = self.answers.pairs()
            if not self.labels:
                return [Row({}, *pair) for pair in pairs]
            return [Row(keys, *pair) for keys, pair in zip(self._keys(), pairs, strict=True)]

    def _keys(self) -> Iterator[dict[str, Key]]:
        """The keys of each row."""
        names = list(self.labels)
        for key in zip(*(words.tolist() for words in self.labels.values()), strict=True):
            yield dict(zip(names, key, strict=True))

    def taken(self, places: Sequence[int]) -> Rows:
        """Those at these places, in this order."""
        chosen, a = np.array(places, dtype=np.int64), self.answers
        labels = {name: words[chosen] for name, words in self.labels.items()}
        return Rows(labels, Answers(a.values[chosen], a.lower[chosen], a.upper[chosen]))

    def told(self) -> list[dict[str, Any]]:
        """For each row what a record says of it.

        >>> Rows.of([Row({"ward": "a"}, 5, (2.0, 8.0))]).told()
        [{'value': 5, 'interval': (2.0, 8.0), 'keys': {'ward': 'a'}}]
        """
        with uncollected():
            found: list[dict[str, Any]] = [
                {"value": value, "interval": ends} for value, ends in self.answers.pairs()
            ]
            if self.labels:
                for one, keys in zip(found, self._keys(), strict=True):
                    one["keys"] = keys
            return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self[:5]))
        return f"<{len(self)} rows: {few}{', …' if len(self) > 5 else ''}>"

    def columns(self) -> dict[str, list[Any]]:
        """The keys' columns, then `value`, `lower` and `upper`, as a data frame is made of.

        A name that a column of keys bears gets an underscore.
        """
        answers = self.answers
        columns = (*self.labels.values(), answers.values, answers.lower, answers.upper)
        heads = heads_of(self.labels)
        return {name: column.tolist() for name, column in zip(heads, columns, strict=True)}

    def places(self, keys: Mapping[str, Key]) -> list[int]:
        """Where these keys are."""
        if not keys.keys() <= self.labels.keys():
            return []
        fits = np.ones(len(self), dtype=bool)
        for name, key in keys.items():
            fits &= np.fromiter((word == key for word in self.labels[name].tolist()), bool, len(self))
        return [int(place) for place in fits.nonzero()[0]]


def heads_of(keys: Iterable[str]) -> list[str]:
    """The heads of a table of an answer: its keys' columns, then `value`, `lower` and `upper`.

    A name that a column of keys bears gets an underscore.

    >>> heads_of(["ward", "value"])
    ['ward', 'value', 'value_', 'lower', 'upper']
    """
    keys = list(keys)
    return [*keys, *own_heads(keys, ("value", "lower", "upper"))]


def own_heads(keys: Iterable[str], names: Iterable[str]) -> list[str]:
    """Heads for our own columns beside keys, which keep theirs: ours get as many underscores as it takes.

    >>> own_heads(["flag", "flag_"], ["value", "flag"])
    ['value', 'flag__']
    """
    taken, heads = set(keys), []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        heads.append(name)
    return heads
