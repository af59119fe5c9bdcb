"""Record swapping: a value is exchanged among records of one stratum; what stays as it was is invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TypeAlias

from leakcap.disclosure.whole.method import WholeMethod
from leakcap.errors import require

__all__ = ["Record", "RecordSwapping", "SwappingInvariants", "swapping_ratio"]

Record: TypeAlias = tuple[Hashable, Hashable, Hashable]
"""Of a household: the stratum within which it is swapped, what it keeps, and what is swapped (its place)."""
_MOST = 7


def _deranged(people: int) -> int:
    """In how many ways all of so many can change places."""
    found = [1, 0]
    while len(found) <= people:
        found.append((len(found) - 1) * (found[-1] + found[-2]))
    return found[people]


def _weight(moved: int, odds: Fraction) -> Fraction:
    return odds**moved / _deranged(moved)


def _checked(rate: Fraction, owner: str) -> Fraction:
    exact = isinstance(rate, Fraction | int) and not isinstance(rate, bool)
    require(exact and 0 < rate < 1, "rate", owner, "be a fraction between 0 and 1", rate)
    return Fraction(rate)


@dataclass(frozen=True)
class RecordSwapping(WholeMethod[tuple[Record, ...]]):
    """The permutation swapping algorithm: what is published is the table of swapped records.

    In each stratum every record is selected with probability `rate`; if it is exactly one, all are selected
    anew; then the swapped values of those selected change places, no one staying where it was, all ways
    equally likely. Source: Bailie, Gong & Meng 2025 (arXiv:2501.08449), a model of the 2010 US census.

    >>> files = (("s", "old", 1), ("s", "young", 2)), (("s", "old", 2), ("s", "young", 1))
    >>> RecordSwapping(Fraction(1, 3)).channel(files).as_exact().tolist()
    [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]
    """

    rate: Fraction

    def __post_init__(self) -> None:
        _checked(self.rate, "RecordSwapping")

    def law(self, data: tuple[Record, ...]) -> dict[Hashable, Fraction]:
        """The sorted swapped records. Raises `InvalidParameter` for strata of more than seven."""
        strata: dict[Hashable, list[Record]] = {}
        for record in _records(data):
            strata.setdefault(record[0], []).append(record)
        found: dict[tuple[Record, ...], Fraction] = {(): Fraction(1)}
        for own in strata.values():
            after: dict[tuple[Record, ...], Fraction] = {}
            for head, chance in found.items():
                for tail, share in self._stratum(own).items():
                    file = tuple(sorted((*head, *tail), key=repr))
                    after[file] = after.get(file, Fraction(0)) + chance * share
            found = after
        return dict(found.items())

    def _stratum(self, own: list[Record]) -> dict[tuple[Record, ...], Fraction]:
        rule = f"have at most {_MOST} records in a stratum"
        require(len(own) <= _MOST, "data", "RecordSwapping", rule, len(own))
        odds = Fraction(self.rate) / (1 - Fraction(self.rate))
        found: dict[tuple[Record, ...], Fraction] = {}
        for places in permutations(range(len(own))):
            moved = sum(at != place for at, place in enumerate(places))
            file = tuple((own[at][0], own[at][1], own[place][2]) for at, place in enumerate(places))
            found[file] = found.get(file, Fraction(0)) + _weight(moved, odds)
        total = sum(found.values())
        return {file: weight / total for file, weight in found.items()}


@dataclass(frozen=True)
class SwappingInvariants(WholeMethod[tuple[Record, ...]]):
    """What swapping leaves as it was: how often each stratum has each kept value, and each swapped value.

    >>> len(SwappingInvariants().law((("s", "old", 1), ("s", "young", 2))))
    1
    """

    def law(self, data: tuple[Record, ...]) -> dict[Hashable, Fraction]:
        """Both tables, for sure."""
        records = _records(data)
        tables = (Counter((one[0], one[at]) for one in records) for at in (1, 2))
        return {tuple(tuple(sorted(table.items(), key=repr)) for table in tables): Fraction(1)}


def swapping_ratio(size: int, rate: Fraction) -> Fraction:
    """e^ε of swapping in strata of at most `size` records, for files with the same invariants in which two
    records of a stratum have each other's swapped value: the largest ratio of probabilities, exactly.

    A permutation that moves m records has a weight of oᵐ/Dₘ, o = rate/(1 − rate), Dₘ of them moving all of m;
    an exchange turns it into one that moves up to two more or fewer. So the ratio is the largest of wₘ/wₘ₊₁
    and wₘ/wₘ₊₂ or their inverses, without m = 1. Attained where all swapped values are different.

    >>> swapping_ratio(3, Fraction(1, 3)), swapping_ratio(10, Fraction(1, 10)) > 800
    (Fraction(4, 1), True)
    """
    whole = isinstance(size, int) and not isinstance(size, bool)
    require(whole and 1 <= size <= 10_000, "size", "swapping_ratio", "be from 1 to 10,000", size)
    odds = _checked(rate, "swapping_ratio") / (1 - Fraction(rate))
    deranged = [1, 0]
    while len(deranged) <= size:
        deranged.append((len(deranged) - 1) * (deranged[-1] + deranged[-2]))
    best = Fraction(1)
    for low in range(size + 1):
        for high in (low + 1, low + 2):
            if high <= size and 1 not in (low, high):
                ratio = Fraction(deranged[high], deranged[low]) / odds ** (high - low)
                best = max(best, ratio, 1 / ratio)
    return best


def _records(data: tuple[Record, ...]) -> tuple[Record, ...]:
    holds = isinstance(data, tuple) and all(isinstance(one, tuple) and len(one) == 3 for one in data)
    rule = "be records of three: stratum, what is kept, what is swapped"
    require(holds, "data", "RecordSwapping", rule, "something else")
    return data
