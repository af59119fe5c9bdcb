"""One published cell as a channel: from the number of people in it to what is published of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from leakcap.channel import Channel
from leakcap.errors import require

__all__ = ["SUPPRESSED", "CellMethod", "FollowedBy", "GivenMethod", "Law", "Shown", "checked_people"]

Shown: TypeAlias = int | str
"""What is published of a cell: a number, or words in its place."""
Law: TypeAlias = dict[Shown, Fraction]
"""How likely each of them is; probabilities are positive and add up to one."""
SUPPRESSED = "suppressed"
_LONGEST, _LARGEST = 1 << 20, 4096


class CellMethod(ABC):
    """A method of disclosure control for one count, whose law is exact.

    `start` and `period` say that every pair of counts (n, n + 1) from `start` on tells the same as the pair
    (n + period, n + 1 + period): so `counts` are all that have to be weighed.
    """

    start: int
    period: int = 1

    @abstractmethod
    def law(self, count: int) -> Law:
        """What is published of a cell with so many people."""

    @property
    @abstractmethod
    def reach(self) -> int | None:
        """How far a published number is from the count at most; None where words may be published."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The method in words, for a report."""

    @property
    def counts(self) -> range:
        """Numbers of other people in the cell of which every larger one is like one of these."""
        return range(self.start + self.period)

    def channel(self, upto: int) -> Channel:
        """The channel from the counts 0, …, `upto` to what is published, in fractions.

        Raises `InvalidParameter` for a matrix of more than a million entries.
        """
        checked_people("upto", upto, "channel")
        require(upto <= _LARGEST, "upto", "channel", f"be at most {_LARGEST:,}", upto)
        return _matrix({count: self.law(count) for count in range(upto + 1)})

    def presence(self, others: int) -> Channel:
        """The channel from "absent" and "present", one person, in whose cell there are so many others."""
        checked_people("others", others, "presence")
        return _matrix({"absent": self.law(others), "present": self.law(others + 1)})


@dataclass(frozen=True)
class GivenMethod(CellMethod):
    """A method known by its channel alone, from the counts 0, …, N to anything; larger counts are unknown.

    >>> given = GivenMethod(Channel([[1.0, 0.0], [0.25, 0.75]]))
    >>> given.law(1), given.counts
    ({0: Fraction(1, 4), 1: Fraction(3, 4)}, range(0, 1))
    """

    matrix: Channel
    name: str = "a given matrix"

    def __post_init__(self) -> None:
        size = self.matrix.shape[0]
        numbered = self.matrix.inputs == tuple(range(size)) and size >= 2
        rule = "have the counts 0, 1, … as its inputs, two or more of them"
        require(numbered, "matrix", "GivenMethod", rule, self.matrix.inputs[:4])

    def law(self, count: int) -> Law:
        """A row of the matrix; of doubles the fractions that they are, made to add up to one exactly."""
        rule = f"be at most {self.matrix.shape[0] - 1}, the largest that the matrix has"
        require(checked_people("count", count, "law") < self.matrix.shape[0], "count", "law", rule, count)
        exact = self.matrix.as_exact()
        row = (self.matrix.matrix if exact is None else exact)[count]
        parts = [Fraction(float(one)) if exact is None else Fraction(one) for one in row]
        total = sum(parts)
        shown = [one if isinstance(one, int) else str(one) for one in self.matrix.outputs]
        return _law(zip(shown, (part / total for part in parts), strict=True))

    @property
    def start(self) -> int:  # type: ignore[override]
        """The last pair of counts that the matrix has."""
        return self.matrix.shape[0] - 2

    @property
    def reach(self) -> int | None:
        """None where an output is no number."""
        if not all(isinstance(one, int) for one in self.matrix.outputs):
            return None
        laws = (self.law(count) for count in range(self.matrix.shape[0]))
        return max(abs(int(one) - count) for count, law in enumerate(laws) for one in law)

    @property
    def words(self) -> str:
        """The method in words."""
        return self.name


@dataclass(frozen=True)
class FollowedBy(CellMethod):
    """A method, and another that is applied to the number which the first publishes.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> from leakcap.disclosure.suppression import SmallCells
    >>> FollowedBy(RandomRounding(3), SmallCells(below=4)).law(4)
    {'suppressed': Fraction(2, 3), 6: Fraction(1, 3)}
    """

    first: CellMethod
    second: CellMethod

    def __post_init__(self) -> None:
        rule = "publish a number of every cell: another method cannot be applied to words"
        require(self.first.reach is not None, "first", "FollowedBy", rule, self.first.words)
        for method in (self.first, self.second):
            rule = "be a method for counts of any size"
            require(not isinstance(method, GivenMethod), "method", "FollowedBy", rule, method.words)

    def law(self, count: int) -> Law:
        """The second law of what the first publishes, on average."""
        steps = (
            (shown, chance * each)
            for number, chance in self.first.law(count).items()
            for shown, each in self.second.law(int(number)).items()
        )
        return _law(steps)

    @property
    def start(self) -> int:  # type: ignore[override]
        """From here on every number that the first publishes is one from which the second repeats."""
        return max(self.first.start, self.second.start + (self.first.reach or 0))

    @property
    def period(self) -> int:  # type: ignore[override]
        """One that both have."""
        return math.lcm(self.first.period, self.second.period)

    @property
    def reach(self) -> int | None:
        """Of both together."""
        after = self.second.reach
        return None if after is None else (self.first.reach or 0) + after

    @property
    def words(self) -> str:
        """The method in words."""
        return f"{self.first.words}, then {self.second.words}"


def checked_people(name: str, count: int, verb: str) -> int:
    """A number of people. Raises `InvalidParameter` for what is none."""
    whole = isinstance(count, int) and not isinstance(count, bool)
    require(whole and 0 <= count < 1 << 53, name, verb, "be a whole number from 0", count)
    return count


def _law(steps: Iterable[tuple[Shown, Fraction]]) -> Law:
    found: Law = {}
    for shown, chance in steps:
        if chance:
            found[shown] = found.get(shown, Fraction(0)) + chance
    return found


def _matrix(laws: dict[int, Law] | dict[str, Law]) -> Channel:
    """The laws as a matrix; numbers come before words."""
    outputs = sorted(
        {shown for law in laws.values() for shown in law}, key=lambda one: (isinstance(one, str), one)
    )
    size = len(laws) * len(outputs)
    require(size <= _LONGEST, "upto", "channel", f"leave at most {_LONGEST:,} entries of the matrix", size)
    rows = [[law.get(shown, Fraction(0)) for shown in outputs] for law in laws.values()]
    return Channel(rows, inputs=tuple(laws), outputs=tuple(outputs))
