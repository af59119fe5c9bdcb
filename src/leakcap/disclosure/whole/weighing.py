"""What all that a method for a whole table or file publishes tells of one person in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from leakcap.adversary import AllPriors, Neighbours
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.disclosure.whole.generalising import KAnonymous, Person
from leakcap.disclosure.whole.method import Table, WholeMethod
from leakcap.disclosure.whole.swapping import Record, RecordSwapping, swapping_ratio
from leakcap.divergence import Renyi
from leakcap.errors import InvalidInput
from leakcap.numeric.enclosure import enclose

__all__ = ["ExchangeRisk", "WholeRisk", "weigh_exchanges", "weigh_secrets", "weigh_table"]

_MOST_PLACES, _MOST_PEOPLE, _MOST_RECORDS = 36, 2000, 6


@dataclass(frozen=True, eq=False)
class WholeRisk:
    """What is told of one of `people`: which of the inputs of `channel` is the truth, all else being known.

    >>> half = Fraction(1, 2)
    >>> risk = WholeRisk("North, f", 1, Channel([[2 * half, 0 * half], [half, half]]))
    >>> risk.guess, risk.choices
    (Fraction(3, 4), 2)
    """

    words: str
    people: int
    channel: Channel

    @property
    def choices(self) -> int:
        """How many inputs there are."""
        return self.channel.shape[0]

    @cached_property
    def capacity(self) -> Bound:
        """Shannon's capacity in nats: the most that is told on average, under any prior."""
        return capacity(self.channel, Renyi(1.0), AllPriors())

    @cached_property
    def epsilon(self) -> Bound:
        """The ε between any two inputs in nats; ∞ where something is published of one of them alone."""
        return capacity(self.channel, Renyi(math.inf), Neighbours())

    @cached_property
    def guess(self) -> Fraction:
        """How often the best guess is right where all inputs are equally likely beforehand."""
        return sum((max(column) for column in _columns(self.channel)), Fraction(0)) / self.choices


@dataclass(frozen=True)
class ExchangeRisk:
    """What swapping tells of two people of one stratum: which of both has which value, all else being known.

    `ratio` is e^ε and `guess` how often the best guess is right, from one half: exact in strata of at most
    six records, of the two people of whom most is told. Elsewhere they are bounds, by `swapping_ratio`, and
    `worst`, the channel of these two, is None. Where no exchange makes another file nothing is told.
    """

    words: str
    people: int
    ratio: Fraction
    guess: Fraction
    worst: WholeRisk | None

    @property
    def epsilon(self) -> Bound:
        """The logarithm of `ratio` in nats."""
        return Bound.enclosed(enclose(lambda digits: digits.of(self.ratio).log()), method="closed form")


def weigh_table(
    method: WholeMethod[Table], table: Table, rows: Sequence[str], columns: Sequence[str]
) -> list[WholeRisk]:
    """In which cell somebody of each cell is, to whoever knows all others and that the person is counted.

    The worst first, by the capacity. Raises `InvalidInput` for more than 36 cells.

    >>> from leakcap.disclosure.whole.controlled_rounding import ControlledRounding
    >>> found = weigh_table(ControlledRounding(3), ((1, 2),), ["N"], ["f", "m"])
    >>> [(one.words, one.people, one.guess) for one in found]
    [('N, f', 1, Fraction(2, 3)), ('N, m', 2, Fraction(2, 3))]
    """
    places = [(row, column) for row in range(len(rows)) for column in range(len(columns))]
    if len(places) > _MOST_PLACES:
        raise InvalidInput(
            f"A whole table is weighed with at most {_MOST_PLACES} cells. Got {len(places)}: give a part."
        )
    found = []
    laws: dict[Table, Channel] = {}
    for row, column in places:
        if not table[row][column]:
            continue
        others = _moved(table, row, column, -1)
        if others not in laws:
            laws[others] = method.channel([_moved(others, *place, 1) for place in places])
        words = f"{rows[row]}, {columns[column]}"
        found.append(WholeRisk(words, table[row][column], laws[others]))
    return _worst_first(found)


def weigh_secrets(
    method: KAnonymous, people: Mapping[Person, int], words: Mapping[Person, str], secrets: Sequence[int]
) -> list[WholeRisk]:
    """Which of `secrets` each kind of people has, to whoever knows all others and the person's other values.

    The worst first, by the capacity. Raises `InvalidInput` for more than 2,000 people.
    """
    count = sum(people.values())
    if count > _MOST_PEOPLE:
        raise InvalidInput(
            f"A file is weighed with at most {_MOST_PEOPLE:,} people. Got {count:,}: give a part of it."
        )
    file = [person for person, many in people.items() for _ in range(many)]
    found = []
    for person, many in people.items():
        if many:
            others = list(file)
            others.remove(person)
            among = [(*others, (*person[:-1], secret)) for secret in secrets]
            found.append(WholeRisk(words[person], many, method.channel(among)))
    return _worst_first(found)


def weigh_exchanges(method: RecordSwapping, records: Sequence[Record]) -> list[ExchangeRisk]:
    """What is told of two people of each stratum who exchange their swapped values, the worst first."""
    strata: dict[object, list[Record]] = {}
    for record in records:
        strata.setdefault(record[0], []).append(record)
    found = []
    known: dict[tuple[tuple[int, int], ...], list[WholeRisk]] = {}
    for name, own in strata.items():
        if len(own) > _MOST_RECORDS:
            differ = len({one[2] for one in own}) > 1 and len({one[1] for one in own}) > 1
            ratio = swapping_ratio(len(own), method.rate) if differ else Fraction(1)
            found.append(ExchangeRisk(str(name), len(own), ratio, ratio / (1 + ratio), None))
            continue
        alike = _numbered(own)
        if alike not in known:
            known[alike] = _exchanges(method, own)
        pairs = known[alike]
        worst = max(pairs, key=lambda one: one.guess, default=None)
        guess = Fraction(1, 2) if worst is None else worst.guess
        ratio = max((_ratio(one.channel) for one in pairs), default=Fraction(1))
        found.append(ExchangeRisk(str(name), len(own), ratio, guess, worst))
    return sorted(found, key=lambda one: (-one.guess, one.words))


def _numbered(own: list[Record]) -> tuple[tuple[int, int], ...]:
    """The records with numbers for values: strata with the same ones tell the same."""
    kept, swapped = (list(dict.fromkeys(one[at] for one in own)) for at in (1, 2))
    return tuple(sorted((kept.index(one[1]), swapped.index(one[2])) for one in own))


def _exchanges(method: RecordSwapping, own: list[Record]) -> list[WholeRisk]:
    """Every two people who make another file when they exchange their swapped values."""
    found = []
    for one in range(len(own)):
        for two in range(one):
            other = list(own)
            other[one] = (*own[one][:2], own[two][2])
            other[two] = (*own[two][:2], own[one][2])
            if sorted(map(repr, other)) != sorted(map(repr, own)):
                found.append(WholeRisk("", len(own), method.channel([tuple(own), tuple(other)])))
    return found


def _ratio(channel: Channel) -> Fraction:
    """The largest ratio of probabilities, in both directions: swapping gives every file some chance."""
    return max(max(one / two, two / one) for one, two in _columns(channel))


def _columns(channel: Channel) -> list[list[Fraction]]:
    """For each output its probabilities, in fractions."""
    exact = channel.as_exact()
    assert exact is not None, "whole methods have channels of fractions"
    return [[Fraction(one) for one in column] for column in exact.T.tolist()]


def _moved(table: Table, row: int, column: int, step: int) -> Table:
    rows = [list(one) for one in table]
    rows[row][column] += step
    return tuple(map(tuple, rows))


def _worst_first(found: list[WholeRisk]) -> list[WholeRisk]:
    return sorted(found, key=lambda one: (-round(one.capacity.upper, 9), one.people, one.words))
