"""The largest categories, chosen one after the other by permute-and-flip.

Each round gives every category that is left a coin of probability e^(−g/λ), g how many rows it has less than
the largest that is left, and takes one of those that show heads, all equally likely. That is the largest of
count + E, E exponential with mean λ, drawn without a floating-point number (Ding, Kifer, Saghaian N. E.,
Steinke, Wang, Xiao & Zhang 2021).

**Sensitivity.** Let the others' largest sum be M and the category's own count q: it wins with probability
min(1, e^(−(M − q)/λ)), whose logarithm moves by |Δ(M − q)|/λ at most. Where a unit comes or goes, all counts
move in one direction, by as many rows as the unit has in this group at most: so does M − q. Where it is
replaced, M may rise by the new rows while q falls by the old ones. Rows in other groups do not matter, so
that over all groups a round costs what a histogram of scale λ would: m/λ, or 2m/λ. The k rounds add up, each
given the categories that went before.

Source: McKenna & Sheldon 2020, algorithm 1; Ding et al. 2021, theorem 5, for the noise; Durfee & Rogers 2019
for peeling.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakcap.arrays import np
from leakcap.mechanism.selection import permute_and_flip
from leakcap.numeric import up
from leakcap.release.measurements.choice import ChoiceMeasurement
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.sampling import ByteSource

__all__ = ["TopMeasurement", "picked"]

_WORD = 1 << 62


@dataclass(frozen=True, kw_only=True)
class TopMeasurement(ChoiceMeasurement):
    """The `top` largest categories of each group, or all that it has; `sensitivity` counts all rounds.

    `sizes` says how many categories each group has, from the public keys.
    """

    top: int
    sizes: tuple[int, ...]

    @property
    def loss_contents(self) -> Fraction:
        """The ε between any two possible contents of one unit's data, over all rounds."""
        return self.top * super().loss_contents

    @property
    def noise_scale(self) -> float:
        """How many rows less make a category e times less likely to stay in the draw."""
        return float(self.scale)

    def draw(self, exact: ExactIntegers, source: ByteSource) -> ExactIntegers:
        """For each group the places of the chosen categories in it, as they were chosen."""
        sizes = np.array(self.sizes)
        starts, chosen = np.cumsum(sizes) - sizes, np.minimum(sizes, self.top)
        found = np.empty(chosen.sum(), dtype=np.int64)
        ends = np.cumsum(chosen)
        # Groups of one size draw together.
        for size in np.unique(sizes).tolist():
            own = np.flatnonzero(sizes == size)
            counts = exact[(starts[own][:, None] + np.arange(size)).ravel()]
            few = min(size, self.top)
            picks = picked(counts, size, few, self.scale, source)
            found[(ends[own][:, None] - few + np.arange(few)).ravel()] = picks
        return found

    def table_nats(self, units: int) -> float:
        """No more than the logarithm of how many answers there are."""
        orders = [
            count * math.log(math.perm(n, min(n, self.top))) for n, count in Counter(self.sizes).items()
        ]
        return up(sum(orders), 4 + 2 * len(orders))

    def error(self, beyond: float) -> int:
        """A category with so many rows less than the largest is the first but with that probability."""
        nats = math.log(max(max(self.sizes) - 1, 1) / beyond)
        return math.ceil(self.scale * Fraction(nats * (1 + 1e-12)))


def picked(counts: ExactIntegers, keys: int, top: int, scale: Fraction, source: ByteSource) -> ExactIntegers:
    """For each group of `keys` counts the places of the `top` chosen ones, by integers and rational coins.

    >>> from leakcap.sampling import system_bytes
    >>> picked(np.array([0, 900, 0, 500]), 4, 2, Fraction(1, 100), system_bytes).tolist()
    [1, 3]
    """
    span = max(map(abs, counts.tolist()), default=0)
    fits = max((2 * span + 1) * scale.denominator, scale.numerator) < _WORD
    left: Any = counts.astype(np.int64 if fits else object).reshape(-1, keys)
    places = np.tile(np.arange(keys), (len(left), 1))
    rounds = []
    for _ in range(top):
        gaps = (left.max(axis=1)[:, None] - left) * scale.denominator
        chosen = permute_and_flip(gaps, scale.numerator, source)
        rounds.append(places[np.arange(len(left)), chosen])
        stay = np.arange(left.shape[1])[None, :] != chosen[:, None]
        left, places = (array[stay].reshape(len(left), -1) for array in (left, places))
    return np.stack(rounds, axis=1).ravel()
