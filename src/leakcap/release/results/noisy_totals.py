"""The noisy integers that an answer was made of, with the public facts about their noise.

They were paid for with the answer. Kept for public groups whose parts all have noise on every
cell: of groups with private keys nothing is kept but what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from leakcap.errors import InvalidQuery
from leakcap.mechanism.additive import AdditiveNoise

__all__ = ["Covariances", "NoisyTotal", "NoisyTotals"]


@dataclass(frozen=True)
class NoisyTotal:
    """One measurement's noisy integers, cell by cell: the noise in steps, each worth `unit`."""

    role: str
    noise: AdditiveNoise
    unit: Fraction
    numbers: tuple[int, ...] = field(repr=False)

    @property
    def variance(self) -> float:
        """The variance of the noise, in steps squared; of Gaussian noise σ², which it is never above."""
        return self.noise.variance()

    @property
    def scale(self) -> Fraction:
        """The scale of Laplace noise, or the standard deviation of Gaussian noise."""
        return self.noise.width


@dataclass(frozen=True)
class Covariances:
    """The covariance matrix of an answer's numbers; those in `approximate` by the delta method."""

    names: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    approximate: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoisyTotals:
    """All parts. Values were counted from `centre` steps and lie between the `ends`;
    `rows` is their public number."""

    parts: tuple[NoisyTotal, ...]
    centre: int = 0
    rows: int | None = None
    ends: tuple[int, int] = (0, 0)

    def at(self, place: int) -> NoisyTotals:
        """Those of one cell."""
        return self.taken([place])

    def taken(self, places: Sequence[int]) -> NoisyTotals:
        """Those of these cells, in this order."""
        parts = (replace(p, numbers=tuple(p.numbers[place] for place in places)) for p in self.parts)
        return replace(self, parts=tuple(parts))

    def covariances(self, name: str) -> Covariances:
        """Of the numbers of one cell: exact for counts and sums, by the delta method for a mean.

        With T = u(S + cN): Var T = u²(Var S + c² Var N), Cov(T, N) = u·c·Var N; a mean has the slopes u/N and
        −uS/N² in S and N.
        """
        first = self.parts[0]
        unit, exact = float(first.unit), (float(first.unit) ** 2 * first.variance)
        if name != "mean":
            return Covariances((name,), ((exact,),))
        if self.rows is not None:
            return Covariances(("mean",), ((exact / self.rows**2,),))
        count = self.parts[1]
        spread, n = count.variance, max(count.numbers[0], 1)
        # Of each number what a step of the sum and one more row do to it.
        slopes = ((unit, unit * self.centre), (0.0, 1.0), (unit / n, -unit * first.numbers[0] / n**2))
        matrix = tuple(
            tuple(a[0] * b[0] * first.variance + a[1] * b[1] * spread for b in slopes) for a in slopes
        )
        return Covariances(("sum", "count", "mean"), matrix, ("mean",))


def missing(name: str) -> InvalidQuery:
    """The error of an answer that has none."""
    return InvalidQuery(
        f"The noisy parts of `{name}` are not kept: it was recorded by an earlier version, its groups have "
        "private keys, or its noise is of another kind."
    )
