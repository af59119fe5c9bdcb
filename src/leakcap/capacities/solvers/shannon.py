"""Shannon capacity: Newton over priors on a working set of rows, certified by the duality gap.

For every prior π and every distribution q: I(π) ≤ C ≤ max_x D(W_x ‖ q), with equality at the optimum. Both
ends are recomputed from a prior and rounded outwards. Source: Kemperman 1974; Gallager 1979.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.mirror import folded, unfolded
from leakcap.capacities.solvers.newton import Certified, Iterate, Search
from leakcap.capacities.solvers.pivots import shannon_prior
from leakcap.capacities.solvers.rows import FLOOR, DenseRows, RowOperator
from leakcap.numeric.logspace import Floats

__all__ = ["ShannonProblem", "certified_shannon", "shannon_capacity"]

_SMALL = 128
"""Secrets up to which one table holds the whole problem."""
_UNIT = 2.0**-53
_LOG_ULPS = 16
"""Roundings charged to one logarithm and the products around it (numpy's logarithm errs by < 4 ulp)."""
_TINY = 1e-290
"""Covers what underflow can lose: at most a few 10³ subnormal terms times |ln 5·10⁻³²⁴|."""
SMOOTHING = 2.0**-44
"""Share of the average row mixed into q: no column without mass, at a price of 6·10⁻¹⁴ nats."""


def shannon_capacity(rows: Floats, *, gap: float = 1e-9) -> Bound:
    """max over priors of I(π; W) in nats, as an interval no wider than `gap` where that can be reached.

    `rows` is a stochastic matrix of shape (x, y). The witness is the prior that attains the lower end.

    >>> round(shannon_capacity(np.array([[0.9, 0.1], [0.1, 0.9]])).upper, 9)
    0.368064207
    """
    return certified_shannon(DenseRows(rows), gap=gap).bound


def certified_shannon(rows: RowOperator, *, gap: float = 1e-9) -> Certified:
    """The same for any operator, with the prior and the centre that prove it."""
    problem = ShannonProblem.of(rows)
    search = Search(problem, problem.average)
    if search.gap > gap and isinstance(rows, DenseRows):
        _leap(search, problem, gap)
    return search.run(gap, "Shannon capacity", "Blahut 1972; Arimoto 1972")


def _leap(search: Search, problem: ShannonProblem, gap: float) -> None:
    """Try the priors that symmetry or small size make cheap to find; the search goes on from the best."""
    half = problem.half()
    if half is not None:
        prior = _small(half, gap)
        if prior is None:
            inner = Search(half, half.average)
            inner.run(0.9 * gap, "", "")
            prior = inner.here.prior
        search.restart_from(unfolded(prior, problem.shape[0]), gap)
    if search.gap > gap:
        prior = _small(problem, gap)
        if prior is not None:
            search.restart_from(prior, gap)


def _small(problem: ShannonProblem, gap: float) -> Floats | None:
    rows = problem.rows
    if not isinstance(rows, DenseRows) or rows.shape[0] > min(_SMALL, rows.shape[1]):
        return None
    return shannon_prior(rows.matrix, problem.negentropy, gap)


@dataclass(frozen=True)
class ShannonProblem:
    """Mutual information: distance D(W_x ‖ q), curvature W diag(1/q) Wᵀ, and what a prior certifies.

    Beside the rows it holds what does not depend on the prior: the row sums of W ln W, the largest residue of
    a row sum, and the average row.
    """

    rows: RowOperator
    negentropy: Floats
    residue: float
    average: Floats

    step_exponent: ClassVar[float] = 1.0

    @classmethod
    def of(cls, rows: RowOperator) -> Self:
        """One pass of W ln W."""
        return cls(rows, *rows.negentropies())

    def half(self) -> ShannonProblem | None:
        """The same over pairs of secrets, where the channel seems to look the same from both ends."""
        rows = self.rows
        pairs = folded(rows.matrix, self.negentropy, self.average) if isinstance(rows, DenseRows) else None
        if pairs is None:
            return None
        matrix, negentropy, average = pairs
        return ShannonProblem(DenseRows(matrix), negentropy, self.residue, average)

    @property
    def shape(self) -> tuple[int, int]:
        """(secrets, observations)."""
        return self.rows.shape

    def image(self, prior: Floats) -> Floats:
        """π·W."""
        return self.rows.mix(prior)

    def place(self, prior: Floats, image: Floats) -> Iterate:
        """The distances from the centre, and the interval that the prior proves."""
        centre = self.smooth(image)
        log_centre = np.log(centre)
        distance = self.divergences(log_centre)
        lower = self.lower(prior, image)
        upper = max(self.upper(centre, distance), lower)
        return Iterate(prior, image, log_centre, distance, float(prior @ distance), lower, upper)

    def scaled(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """Rows of W diag(q)^−½."""
        rows = self.rows.take(index)
        rows *= np.exp(-0.5 * place.log_centre)
        return rows

    def gradient(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """The distances."""
        return place.distance[index]

    def curvature_product(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """W diag(1/q) Wᵀπ = W diag(1/q) q = 1."""
        return np.ones(index.size)

    def approximate_gradient(
        self, place: Iterate, index: NDArray[np.intp], scaled: Floats, part: Floats
    ) -> Floats | None:
        """The distances from the centre of a prior on these rows alone."""
        root = np.exp(0.5 * place.log_centre)
        image = root * (part.astype(scaled.dtype) @ scaled)
        rise = np.log(np.maximum(image, FLOOR)) - place.log_centre
        return np.asarray(place.distance[index] - scaled @ (root * rise).astype(scaled.dtype))

    def smooth(self, centre: Floats) -> Floats:
        """q mixed with a little of the average row, so that D(W_x ‖ q) is finite for all x."""
        return np.maximum((1.0 - SMOOTHING) * centre + SMOOTHING * self.average, FLOOR)

    def divergences(self, log_centre: Floats) -> Floats:
        """D(W_x ‖ q) for every row from ln q, to rounding; one product."""
        return self.negentropy - self.rows.times(log_centre)

    def lower(self, prior: Floats, centre: Floats) -> float:
        """A number that is not above I(π), given q = πW as computed.

        Each q_y errs by a factor 1 ± γ_k (k positive priors), each sum by its length; row sums that are
        not exactly one move both terms by no more than twice their residue.
        """
        support = prior > 0
        energy = float(prior[support] @ self.negentropy[support])
        entropy = -float(np.sum(centre * np.log(np.maximum(centre, FLOOR))))
        terms = int(support.sum()) + self.rows.longest + centre.size + _LOG_ULPS
        slack = (terms * _UNIT * 1.01 + 2.0 * self.residue_bound) * (abs(energy) + abs(entropy) + 1.0)
        return max(energy + entropy - slack - _TINY, 0.0)

    def upper(self, centre: Floats, divergences: Floats) -> float:
        """A number that is not below max_x D(W_x ‖ q/Σq), given the divergences as computed from q."""
        total = float(centre.sum())  # of positive terms: it errs by a factor 1 ± γ of their number
        # |W ln q| summed is negentropy − divergence where q ≤ 1, and at most ln Σq more.
        magnitude = np.abs(self.negentropy) + np.abs(self.negentropy - divergences) + 1.0
        terms = self.rows.longest + _LOG_ULPS
        slack = (terms * _UNIT * 1.01 + 2.0 * self.residue_bound) * magnitude
        return float(np.max(divergences + slack)) + math.log(total) + (centre.size + 8) * 1.01 * _UNIT + _TINY

    @property
    def residue_bound(self) -> float:
        """How far the exact row sums can be from one: as computed, plus the rounding of that sum."""
        return self.residue + self.rows.longest * _UNIT * 1.01
