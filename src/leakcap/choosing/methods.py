"""What an office's method of disclosure control tells of a person, beside noise of the same error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from leakcap.accounting.routes import TOLERANCE, deltas_at
from leakcap.disclosure.beside import NoiseRisk, noise_of_error
from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.least_leaking import least_leaking_table
from leakcap.disclosure.most_entropy import most_entropic_table
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells, TopCoding
from leakcap.disclosure.weighing import (
    CellRisk,
    different_cells,
    largest_squared_error,
    mean_squared_error,
)
from leakcap.numeric.rounding import float_up

__all__ = ["SURE", "TIMES", "MethodTells", "OfficeMethod", "RiskTold", "tenths", "told_by", "variances"]

TIMES, SURE = (1, 10, 50), 0.95
_POINTS = 30
_QUICK = 1e-2
"""How wide intervals of guesses may be at worst: mostly they are far narrower, and pages must not wait."""


def variances(largest: int) -> tuple[Fraction, Fraction]:
    """From which variance to which there are tables with this largest change, in tenths.

    >>> variances(5)
    (Fraction(7, 10), Fraction(49, 10))
    """
    return Fraction(-(-(largest**2) // 4), 10), Fraction(10 * largest - 1, 10)


def tenths(variance: float) -> Fraction:
    """The nearest tenth: few enough variances to be known again.

    >>> tenths(0.3)
    Fraction(3, 10)
    """
    return Fraction(round(10 * variance), 10)


@dataclass(frozen=True)
class OfficeMethod:
    """A method and its numbers; those of other methods are kept, and do nothing.

    `kind` is "random" or "nearest" (rounding to `base`), "small" (counts from 1 to `below` − 1 are left out),
    "top" (larger counts are published as `top`) or "key" (a perturbation table of the `largest` change and
    `variance`, of most "entropy" or that tells "least"). Noise beside it has the same error, on "average"
    over large counts or that of the counts where it is "largest".
    """

    kind: str = "random"
    base: int = 3
    below: int = 5
    top: int = 10
    largest: int = 5
    variance: Fraction = Fraction(3)
    table: str = "entropy"
    matched: str = "average"

    @property
    def method(self) -> CellMethod:
        """The method itself."""
        if self.kind == "random":
            return RandomRounding(self.base)
        if self.kind == "nearest":
            return NearestRounding(self.base)
        if self.kind == "small":
            return SmallCells(below=self.below)
        if self.kind == "top":
            return TopCoding(self.top)
        return CellKey(_table(self.table, self.largest, self.variance))


@lru_cache(maxsize=64)
def _table(kind: str, largest: int, variance: Fraction) -> PerturbationTable:
    if kind == "least":
        return least_leaking_table(largest, variance).table
    return most_entropic_table(largest, variance)


@dataclass(frozen=True)
class RiskTold:
    """What one kind of cell, or noise, tells: `others` are the numbers of others, None for noise."""

    risk: CellRisk | NoiseRisk
    others: tuple[int, ...] | None

    @property
    def guess(self) -> float:
        """How often the best guess is right after one, at most."""
        return float_up(self.risk.guess()) if isinstance(self.risk, CellRisk) else self.guesses[0]

    @cached_property
    def guesses(self) -> tuple[float, ...]:
        """How often the best guess is right after 1, 10 and 50, at most."""
        return tuple(self.risk.success(times, _QUICK).upper for times in TIMES)

    @cached_property
    def sure(self) -> int | None:
        """After how many it is right in 95 of 100 cases; None for never."""
        return self.risk.until(SURE)

    @property
    def belief(self) -> float | None:
        """In presence after the worst published value, from one half; None for noise."""
        return self.risk.belief if isinstance(self.risk, CellRisk) else None

    @property
    def proof(self) -> float:
        """How likely a value is that proves presence, or one that proves absence: the likelier; at most."""
        if not isinstance(self.risk, CellRisk):
            return 0.0
        pairs = self.risk.told()
        sides = (sum(one[side] for one in pairs if not one[1 - side]) for side in (0, 1))
        return float_up(Fraction(max(sides)))

    def deltas(self, epsilons: tuple[float, ...]) -> list[float]:
        """The least δ at each ε, in both directions, at most."""
        loss = self.risk.loss
        if loss is None:
            return [0.0] * len(epsilons)
        places = np.array(epsilons)
        sides = [deltas_at(one.parts, places, TOLERANCE)[1] for one in (loss, loss.reverse)]
        slack = self.risk.rounded * (1.0 + np.exp(places))
        return [float(one) for one in np.minimum(np.maximum(*sides) + slack, 1.0)]

    @cached_property
    def course(self) -> list[tuple[int, float]]:
        """How often a guess is right after 1, 10, 50 and as many as are enough."""
        found = dict(zip(TIMES, self.guesses, strict=True))
        if self.sure is not None and self.sure <= 1000:
            found[self.sure] = self.risk.success(self.sure, _QUICK).upper
        return sorted(found.items())


@dataclass(frozen=True)
class MethodTells:
    """Everything that the page shows about one method; `own` is one that no slider offers."""

    asked: OfficeMethod
    own: CellMethod | None = None

    @cached_property
    def method(self) -> CellMethod:
        """The method."""
        return self.asked.method if self.own is None else self.own

    @cached_property
    def kinds(self) -> list[RiskTold]:
        """Kinds of cells, the worst first; none is left out, however large a cell is."""
        return [RiskTold(risk, others) for others, risk in different_cells(self.method)]

    @property
    def worst(self) -> RiskTold:
        """The kind of cell that tells most."""
        return self.kinds[0]

    @property
    def large(self) -> RiskTold:
        """The kind that tells least among those with many people."""
        start = self.method.start
        return [kind for kind in self.kinds if any(n >= start for n in kind.others or ())][-1]

    @property
    def cells(self) -> tuple[RiskTold, ...]:
        """The two that are compared with noise; one where there are no others."""
        return (self.worst,) if self.large is self.worst else (self.worst, self.large)

    @cached_property
    def average_error(self) -> Fraction | None:
        """The mean square of the error on average over large counts; None where words are published."""
        return mean_squared_error(self.method)

    @cached_property
    def largest_error(self) -> Fraction | None:
        """That of the large counts where it is largest."""
        return largest_squared_error(self.method)

    @property
    def error(self) -> Fraction | None:
        """The one that the noise has."""
        return self.largest_error if self.asked.matched == "largest" else self.average_error

    @cached_property
    def noise(self) -> tuple[RiskTold, ...]:
        """Discrete Laplace and Gaussian noise of this error; none where there is no error to match."""
        if self.error is None or self.error < Fraction(1, 100):
            return ()
        return tuple(RiskTold(risk, None) for risk in noise_of_error(self.error))

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """Where δ is drawn: beyond the ε of discrete Laplace noise, which has δ = 0 from there on."""
        most = max((1.5 * one.risk.epsilon.upper for one in self.noise[:1]), default=3.0)
        return tuple(max(most, 1.0) * k / _POINTS for k in range(_POINTS + 1))


@lru_cache(maxsize=64)
def told_by(asked: OfficeMethod) -> MethodTells:
    """What a method tells; asked again, nothing is computed twice.

    >>> tells = told_by(OfficeMethod())
    >>> [kind.others for kind in tells.kinds], tells.worst.sure, tells.large.sure
    ([(0,), (2,), (1,)], 6, 23)
    >>> tells.average_error, tells.largest_error
    (Fraction(4, 3), Fraction(2, 1))
    """
    return MethodTells(asked)
