"""What one published cell tells about one person: capacity, ε, guesses, and how soon they are sure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from leakcap.accounting import PrivacyLoss
from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, Law, Shown
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.numeric.rounding import down, float_down, float_up, up

__all__ = ["CellRisk", "cell_risks", "mean_squared_error", "worst_cell"]

_MOST_CELLS = 1 << 20
_ROUNDED = 2.0**-51
"""More than a law moves, in total variation, where its fractions become the nearest doubles."""


@dataclass(frozen=True)
class CellRisk:
    """What a cell tells of one person's presence to somebody who knows the `others` in it, all of them.

    Two cells that are published of the same people by independent chance, or two publications, count as two
    independent ones; a repeated publication of the same number counts once.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> risk = CellRisk(RandomRounding(3), 1)
    >>> risk.capacity, risk.guess(), risk.lift()
    (Bound(lower=0.056633..., upper=0.056633..., ...), Fraction(2, 3), Fraction(4, 3))
    >>> round(risk.success(10).upper, 3), risk.cells_until(0.95)
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
        return capacity(self.channel, Renyi(1.0), AllPriors())

    @cached_property
    def epsilon(self) -> Bound:
        """The ε of pure differential privacy; ∞ where something is published in one of the worlds only."""
        return capacity(self.channel, Renyi(math.inf))

    @cached_property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of presence against absence."""
        return PrivacyLoss.of_channel(self.channel, "present", "absent")

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

    def lift(self, prior: Fraction = Fraction(1, 2)) -> Fraction:
        """By how much the belief in presence is multiplied at most."""
        return self.posterior(prior) / prior

    def success(self, cells: int) -> Bound:
        """How often the best guess is right after so many independent cells like this one, from 50 %."""
        whole = isinstance(cells, int) and not isinstance(cells, bool)
        rule = f"be a whole number from 1 to {_MOST_CELLS:,}"
        require(whole and 1 <= cells <= _MOST_CELLS, "cells", "success", rule, cells)
        if self.absent == self.present:
            return Bound(0.5, 0.5, "nothing is told", unit="probability")
        apart = _widened((self.loss**cells).total_variation(), 2 * cells * _ROUNDED)
        return Bound((1 + apart.lower) / 2, (1 + apart.upper) / 2, apart.method, unit="probability")

    def cells_until(self, chance: float) -> int | None:
        """After how many independent cells the best guess is right with this chance; None for never.

        So many are enough; with one fewer the interval of `success` does not lie above the chance. Raises
        `InvalidParameter` unless `chance` is at least 1/2 and less than 1.
        """
        within = isinstance(chance, float | Fraction) and 0.5 <= chance < 1
        require(within, "chance", "cells_until", "be at least 1/2 and less than 1", chance)
        if self.absent == self.present:
            return None
        most = 1
        while self.success(most).lower < chance:
            if most >= _MOST_CELLS:
                return None
            most *= 2
        least = most // 2
        while most - least > 1:
            middle = (most + least) // 2
            if self.success(middle).lower >= chance:
                most = middle
            else:
                least = middle
        return most

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


def worst_cell(method: CellMethod) -> CellRisk:
    """The cell with the largest capacity, of all counts that there are; of equal ones the smallest.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> worst_cell(RandomRounding(3)).others
    0
    """
    return max(cell_risks(method), key=lambda risk: (risk.capacity.upper, -risk.others))


def mean_squared_error(method: CellMethod) -> Fraction | None:
    """The average square of published number minus count, over counts so large that they only repeat.

    None where words may be published.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> mean_squared_error(RandomRounding(3))
    Fraction(4, 3)
    """
    if method.reach is None:
        return None
    counts = range(method.start, method.start + method.period)
    squares = (
        chance * (int(shown) - count) ** 2 for count in counts for shown, chance in method.law(count).items()
    )
    return sum(squares, Fraction(0)) / method.period


def _widened(bound: Bound, slack: float) -> Bound:
    """The interval of the fractions themselves, of which the loss has the nearest doubles."""
    lower, upper = max(0.0, bound.lower - slack), min(1.0, bound.upper + slack)
    return Bound(lower, upper, bound.method, unit=bound.unit)


def _checked(prior: Fraction) -> Fraction:
    exact = isinstance(prior, Fraction | int) and not isinstance(prior, bool)
    require(exact and 0 < prior < 1, "prior", "CellRisk", "be a fraction between 0 and 1", prior)
    return Fraction(prior)
