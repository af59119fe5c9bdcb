"""What one published cell tells about one person: capacity, ε, guesses, and how soon they are sure."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist

from leakcap.accounting import PrivacyLoss
from leakcap.accounting.routes import TOLERANCE
from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, Law, Shown
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.numeric.rounding import down, float_down, float_up, up

__all__ = [
    "CellRisk",
    "RepeatedRisk",
    "cell_risks",
    "different_cells",
    "largest_squared_error",
    "mean_squared_error",
    "worst_cell",
]

_MOST_TIMES = 1 << 20
_ROUGH, _TURNS = 1e-3, 5
_NORMAL = NormalDist()
_ALIKE = 9
"""Digits of capacities beyond which cells are equally bad: the solver's intervals are as wide."""
_ROUNDED = 2.0**-51
"""More than a law moves, in total variation, where its fractions become the nearest doubles."""


class RepeatedRisk(ABC):
    """How soon somebody is sure who sees one thing after the other, each by independent chance, from 50 %."""

    @property
    @abstractmethod
    def loss(self) -> PrivacyLoss | None:
        """The privacy loss of one of them; None where it tells nothing."""

    rounded: float = 0.0
    """By how much the loss is off, in total variation."""

    def success(self, times: int, tolerance: float = TOLERANCE) -> Bound:
        """How often the best guess is right after so many; `tolerance` is how wide the interval should be."""
        whole = isinstance(times, int) and not isinstance(times, bool)
        rule = f"be a whole number from 1 to {_MOST_TIMES:,}"
        require(whole and 1 <= times <= _MOST_TIMES, "times", "success", rule, times)
        if self.loss is None:
            return Bound(0.5, 0.5, "nothing is told", unit="probability")
        return self._guessed(self.loss, times, tolerance)

    def _guessed(self, loss: PrivacyLoss, times: int, tolerance: float) -> Bound:
        apart = (loss**times).delta(0.0, tolerance)
        slack = times * self.rounded
        lower, upper = max(0.0, apart.lower - slack), min(1.0, apart.upper + slack)
        return Bound((1 + lower) / 2, (1 + upper) / 2, apart.method, unit="probability")

    def until(self, chance: float) -> int | None:
        """After how many the best guess is right with this chance; None for never, or beyond a million.

        So many are enough; with one fewer the interval of `success` does not lie above the chance. Raises
        `InvalidParameter` unless `chance` is at least 1/2 and less than 1.
        """
        within = isinstance(chance, float | Fraction) and 0.5 <= chance < 1
        require(within, "chance", "until", "be at least 1/2 and less than 1", chance)
        if self.loss is None:
            return None
        least, most, times = 0, _MOST_TIMES + 1, 1
        for turn in range(64):
            found = self._guessed(self.loss, times, _ROUGH)
            if found.lower < chance <= found.upper:
                found = self.success(times)
            if found.lower >= chance:
                most = times
            else:
                least = times
            if most - least == 1:
                break
            # Sums of many losses are nearly normal: what is told grows as √k. Halves, where that misleads.
            right = min(max(found.lower, 0.5 + 1e-9), 1 - 1e-16)
            likely = math.ceil(times * (_NORMAL.inv_cdf(chance) / _NORMAL.inv_cdf(right)) ** 2)
            times = min(max(likely, least + 1), most - 1) if turn < _TURNS else (least + most) // 2
        return most if most <= _MOST_TIMES else None


@dataclass(frozen=True)
class CellRisk(RepeatedRisk):
    """What a cell tells of one person's presence to somebody who knows the `others` in it, all of them.

    Two cells that are published of the same people by independent chance, or two publications, count as two
    independent ones; a repeated publication of the same number counts once.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> risk = CellRisk(RandomRounding(3), 1)
    >>> risk.capacity, risk.guess(), risk.lift()
    (Bound(lower=0.056633..., upper=0.056633..., ...), Fraction(2, 3), Fraction(4, 3))
    >>> round(risk.success(10).upper, 3), risk.until(0.95)
    (0.855, 23)
    """

    method: CellMethod
    others: int

    @cached_property
    def absent(self) -> Law:
        """What is published without the person."""
        return self.method.law(self.others)

    @cached_property
    def present(self) -> Law:
        """The same with the person."""
        return self.method.law(self.others + 1)

    @cached_property
    def channel(self) -> Channel:
        """From "absent" and "present" to what is published."""
        return self.method.presence(self.others)

    @cached_property
    def capacity(self) -> Bound:
        """Shannon's capacity in nats: the most that the cell tells on average, under any prior."""
        if self.absent == self.present:
            return Bound(0.0, 0.0, "nothing is told")
        return capacity(self.channel, Renyi(1.0), AllPriors())

    @cached_property
    def epsilon(self) -> Bound:
        """The ε of pure differential privacy; ∞ where something is published in one of the worlds only."""
        if self.absent == self.present:
            return Bound(0.0, 0.0, "nothing is told")
        return capacity(self.channel, Renyi(math.inf))

    @cached_property
    def loss(self) -> PrivacyLoss | None:
        """The privacy loss of presence against absence; None where both are published alike."""
        if self.absent == self.present:
            return None
        return PrivacyLoss.of_channel(self.channel, "present", "absent")

    rounded = 2 * _ROUNDED

    def delta(self, epsilon: float) -> Bound:
        """The least δ with which the cell keeps this ε, in both directions: a probability.

        >>> from leakcap.disclosure.rounding import RandomRounding
        >>> CellRisk(RandomRounding(3), 0).delta(1.0).upper
        0.333...
        """
        require(
            isinstance(epsilon, float | int) and 0 <= epsilon <= 700,
            "epsilon",
            "delta",
            "lie between 0 and 700",
            epsilon,
        )
        factor = math.exp(epsilon)
        ends = (up(factor), down(factor)) if epsilon else (1.0, 1.0)
        lower, upper = (self._excess(Fraction(one)) for one in ends)
        return Bound(float_down(lower), float_up(upper), "exact sums", unit="probability")

    def guess(self, prior: Fraction = Fraction(1, 2)) -> Fraction:
        """How often the best guess is right, exactly, where presence has this probability beforehand."""
        chance = _checked(prior)
        return sum(
            (max(chance * here, (1 - chance) * there) for _, there, here in self._shown()), Fraction(0)
        )

    def posterior(self, prior: Fraction = Fraction(1, 2)) -> Fraction:
        """The most that can be believed of presence after the worst published value, exactly."""
        chance = _checked(prior)
        return max(
            chance * here / (chance * here + (1 - chance) * there) for _, there, here in self._shown() if here
        )

    @property
    def belief(self) -> float:
        """The largest posterior from one half, rounded up."""
        return float_up(self.posterior())

    def lift(self, prior: Fraction = Fraction(1, 2)) -> Fraction:
        """By how much the belief in presence is multiplied at most."""
        return self.posterior(prior) / prior

    def told(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The probabilities of each published value without and with the person, whatever the values are."""
        return tuple(sorted((there, here) for _, there, here in self._shown()))

    def _excess(self, factor: Fraction) -> Fraction:
        """Σ max(0, P − factor·Q), the larger of both directions."""
        pairs = [(there, here) for _, there, here in self._shown()]
        nothing = Fraction(0)
        return max(
            sum((max(nothing, one - factor * other) for one, other in each), nothing)
            for each in (pairs, [(here, there) for there, here in pairs])
        )

    def _shown(self) -> Iterator[tuple[Shown, Fraction, Fraction]]:
        nothing = Fraction(0)
        for shown in self.absent | self.present:
            yield shown, self.absent.get(shown, nothing), self.present.get(shown, nothing)


def cell_risks(method: CellMethod) -> list[CellRisk]:
    """One for each number of other people from 0 on; every larger number is like one of these."""
    return [CellRisk(method, others) for others in method.counts]


def different_cells(method: CellMethod) -> list[tuple[tuple[int, ...], CellRisk]]:
    """Numbers of others whose cells tell the same of a person, and what these tell; the worst first.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> [others for others, _ in different_cells(RandomRounding(3))]
    [(0,), (2,), (1,)]
    """
    alike: dict[tuple[tuple[Fraction, Fraction], ...], list[int]] = {}
    for risk in cell_risks(method):
        alike.setdefault(risk.told(), []).append(risk.others)
    found = [(tuple(others), CellRisk(method, others[0])) for others in alike.values()]
    return sorted(found, key=lambda one: (-round(one[1].capacity.upper, _ALIKE), one[0]))


def worst_cell(method: CellMethod) -> CellRisk:
    """The cell with the largest capacity, of all counts that there are; of equal ones the smallest.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> worst_cell(RandomRounding(3)).others
    0
    """
    return different_cells(method)[0][1]


def mean_squared_error(method: CellMethod) -> Fraction | None:
    """The average square of published number minus count, over counts so large that they only repeat.

    None where words may be published.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> mean_squared_error(RandomRounding(3))
    Fraction(4, 3)
    """
    squares = _squares(method)
    return None if squares is None else sum(squares, Fraction(0)) / method.period


def largest_squared_error(method: CellMethod) -> Fraction | None:
    """The same of the large counts whose error is largest: of rounding, of those between multiples.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> largest_squared_error(RandomRounding(3))
    Fraction(2, 1)
    """
    squares = _squares(method)
    return None if squares is None else max(squares)


def _squares(method: CellMethod) -> list[Fraction] | None:
    """The mean square of the error of each large count that is unlike the others; None for words."""
    if method.reach is None:
        return None
    counts = range(method.start, method.start + method.period)
    laws = ((count, method.law(count)) for count in counts)
    return [
        sum((chance * (int(shown) - count) ** 2 for shown, chance in law.items()), Fraction(0))
        for count, law in laws
    ]


def _checked(prior: Fraction) -> Fraction:
    exact = isinstance(prior, Fraction | int) and not isinstance(prior, bool)
    require(exact and 0 < prior < 1, "prior", "CellRisk", "be a fraction between 0 and 1", prior)
    return Fraction(prior)
