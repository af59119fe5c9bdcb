"""The square root of running totals, on integers.

Running totals of n steps are L·x, L lower triangular of ones. Let C be lower triangular, C[t,s] = f_{t−s},
f_k = binom(2k, k)/4^k: then C·C = L, for Σf_k·x^k = 1/√(1−x). Whoever releases C·x with noise z of variance
σ² on each number estimates L·x by C(C·x + z), which errs by σ·√(Σf²) at worst; and one row moves C·x by
√(Σf²) at most. In units of the noise that one count alone would have, the worst step errs by Σf².

Here C is rounded to integers, g_k = round(2^12·f_k), so that what is released is whole. Estimates use the
exact inverse of the rounded matrix and so are unbiased; the worst step is within a millionth of the above.

Source: Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay & Upadhyay 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from leakcap.errors import require
from leakcap.tables.plan import root_up

__all__ = ["MOST_STEPS", "SquareRootFactor"]

MOST_STEPS = 1100
"""Three years of days. Exact inverses grow with the square of the steps."""

_BITS = 12


@dataclass(frozen=True)
class SquareRootFactor:
    """The factor for so many steps, a triangular Toeplitz matrix of whole numbers.

    >>> SquareRootFactor(5).weights
    (4096, 2048, 1536, 1280, 1120)
    >>> round(SquareRootFactor(365).worst, 3)
    2.944
    """

    steps: int

    def __post_init__(self) -> None:
        whole = isinstance(self.steps, int) and not isinstance(self.steps, bool)
        good = whole and 1 <= self.steps <= MOST_STEPS
        rule = f"be a whole number from 1 to {MOST_STEPS:,}"
        require(good, "steps", "SquareRootFactor", rule, self.steps)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What a row counts for in the number of its own step, of the next, and so on: they never rise."""
        found, exact = [], Fraction(1 << _BITS)
        for k in range(self.steps):
            found.append(round(exact))
            exact *= Fraction(2 * k + 1, 2 * k + 2)
        return tuple(found)

    @cached_property
    def squared_column(self) -> int:
        """Σg², the squared length by which a row of the first step moves the numbers; later ones less."""
        return sum(weight**2 for weight in self.weights)

    @cached_property
    def _inverse(self) -> tuple[int, ...]:
        """a_k of 1/Σg_k·x^k = Σ a_k/2^{12(k+1)}·x^k, by Σ_j g_j·h_{k−j} = [k = 0]."""
        found = [1]
        for k in range(1, self.steps):
            terms = (self.weights[j] * found[k - j] << _BITS * (j - 1) for j in range(1, k + 1))
            found.append(-sum(terms))
        return tuple(found)

    @cached_property
    def count_weights(self) -> tuple[Fraction, ...]:
        """h_k: the count of step t is Σ_k h_k·(C·x)_{t−k}."""
        return tuple(Fraction(top, 1 << _BITS * (k + 1)) for k, top in enumerate(self._inverse))

    @cached_property
    def _total_tops(self) -> tuple[int, ...]:
        """h_0 + … + h_k in units of 1/2^{12(k+1)}."""
        found, top = [], 0
        for own in self._inverse:
            top = (top << _BITS) + own
            found.append(top)
        return tuple(found)

    @cached_property
    def total_weights(self) -> tuple[Fraction, ...]:
        """r_k = h_0 + … + h_k: the running total at step t is Σ_k r_k·(C·x)_{t−k}."""
        return tuple(Fraction(top, 1 << _BITS * (k + 1)) for k, top in enumerate(self._total_tops))

    def window_tops(self, start: int, end: int) -> tuple[list[int], int]:
        """v and b with Σ_{start ≤ t ≤ end} x_t = Σ_s v_s·(C·x)_s/2^b: a total less an earlier one.

        >>> SquareRootFactor(3).window_tops(0, 0), SquareRootFactor(3).window_tops(1, 1)
        (([1], 12), ([-2048, 4096], 24))
        """
        tops = []
        for step in range(end + 1):
            top = self._total_tops[end - step] << _BITS * step
            if step < start:
                top -= self._total_tops[start - 1 - step] << _BITS * (end - start + 1 + step)
            tops.append(top)
        return tops, _BITS * (end + 1)

    def spread(self, wanted: Sequence[int | Fraction]) -> list[Fraction]:
        """v with Σ_t wanted_t·x_t = Σ_t v_t·(C·x)_t, for weights of the first so many steps.

        >>> factor = SquareRootFactor(3)
        >>> factor.spread([1, 1, 1]) == list(reversed(factor.total_weights))
        True
        """
        weights, size = self.count_weights, len(wanted)
        return [
            sum((wanted[t] * weights[t - s] for t in range(s, size) if wanted[t]), Fraction(0))
            for s in range(size)
        ]

    @cached_property
    def worst(self) -> float:
        """The error of the last running total in units of the noise that one count alone would have for the
        same price, rounded up. No other step errs more."""
        return root_up(self.squared_column * sum((one**2 for one in self.total_weights), Fraction(0)))
