"""Noisy second moments: everything that a linear regression needs, as one vector of integers.

A row is v = (1, u₁, …, u_d, w): the features and the target as integers |vᵢ| ≤ Lᵢ about the middle of their
bounds. A unit of at most m rows adds Σ vᵢvⱼ, i ≤ j, to K(K+1)/2 totals, K = d+2. In units of LᵢLⱼ:

- **L1**, add/remove-one: Σ|vᵢvⱼ| ≤ m·K(K+1)/2, attained by |vᵢ| = Lᵢ.
- **L1**, replace-one: the same. With v = p+q, v' = p−q the distance of one row is Σ_{i<j} 2|pᵢqⱼ+qᵢpⱼ| +
  Σ 4|pᵢqᵢ|, at most with aᵢ = |pᵢ| = 1−|qᵢ|: 2A(K−A) + 2A − 2Σaᵢ², A = Σaᵢ. By Σaᵢ² ≥ A²/K that is at most
  K(K+1)/2, at aᵢ = ½: a full row against none. Replacing a row costs no more than removing it.
- **L2²**, add/remove-one: Σ (vᵢvⱼ)² ≤ m²·K(K+1)/2.
- **L2²**, replace-one: with bᵢ = 2aᵢ−1 one row's is Σ_{i<j}(1−bᵢbⱼ)² + Σ(1−bᵢ²)² =
  K(K+1)/2 − (Σb)² − Σb² + ½(Σb²)² + ½Σb⁴ ≤ max(K(K+1)/2, K²) = K², attained where K is even; m²·K² in all.

Each total has noise in proportion to LᵢLⱼ, so that it is the same for all of them in these units. Gaussian
noise is drawn on a grid of 2¹⁸ steps to its deviation or more, where it is rounded continuous noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakcap.capacities import geometric_capacity
from leakcap.errors import InvalidParameter
from leakcap.ledger import Spend
from leakcap.models.budget import gaussian_spend, pure_spend
from leakcap.models.calibrate import ROUNDED, exact_rho, gaussian_variance
from leakcap.models.integers import GridAxis
from leakcap.models.values import Floats
from leakcap.numeric import up
from leakcap.release import Policy
from leakcap.sampling import ByteSource, discrete_gaussian, discrete_laplace, rational_scale

__all__ = ["Moments", "sensitivity_l1", "sensitivity_l2_squared"]

_MOST_BITS = 20
_FINE_BITS = 12
_LEAST_BITS = 6
_LAPLACE_LOG2, _GAUSSIAN_LOG2 = 44, 43
_FINEST_LOG2 = 20


def sensitivity_l1(factors: int, rows: int) -> int:
    """m·K(K+1)/2: the L1 distance between the moments of neighbours, by either relation, in units of LᵢLⱼ.

    >>> sensitivity_l1(3, 1)
    6
    """
    return rows * factors * (factors + 1) // 2


def sensitivity_l2_squared(factors: int, rows: int, *, replace: bool) -> int:
    """m²·K(K+1)/2 under add/remove-one, m²·K² under replace-one, in units of LᵢLⱼ.

    >>> sensitivity_l2_squared(3, 1, replace=False), sensitivity_l2_squared(3, 1, replace=True)
    (6, 9)
    """
    return rows**2 * (factors**2 if replace else factors * (factors + 1) // 2)


@dataclass(frozen=True)
class Moments:
    """A planned release of the second moments of features and target; δ = 0 means Laplace noise.

    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> plan = Moments.plan([(0.0, 1.0), (0.0, 9.0)], policy, epsilon=1.0, delta=0.0)
    >>> len(plan.pairs), plan.relative_scale
    (6, 6.0)
    """

    axes: tuple[GridAxis, ...]
    policy: Policy
    epsilon: float
    delta: float
    rho: float | None

    @classmethod
    def plan(
        cls, bounds: Sequence[tuple[float, float]], policy: Policy, *, epsilon: float, delta: float
    ) -> Moments:
        """Grids as fine as the samplers allow at this budget. Touches no data."""
        rho = exact_rho(float(epsilon), float(delta)) if delta > 0 else None
        factors, rows = len(bounds) + 1, policy.rows_per_unit
        replace = policy.neighbours == "replace-one"
        if rho is None:
            room = _LAPLACE_LOG2 - math.ceil(math.log2(sensitivity_l1(factors, rows) / epsilon))
        else:
            variance = sensitivity_l2_squared(factors, rows, replace=replace) / (2 * rho)
            room = _GAUSSIAN_LOG2 - math.ceil(math.log2(variance) / 2)
        bits = min(_MOST_BITS, room // 2)
        if policy.units is not None:  # so coarse that doubles hold every sum, which is the quick way
            bits = min(bits, max(_FINE_BITS, (53 - math.ceil(math.log2(policy.units * rows))) // 2))
        if bits < _LEAST_BITS:
            raise InvalidParameter(
                f"`epsilon` of `LinearRegression` must be larger for {factors - 1} columns of {rows} rows a "
                f"unit. Got {epsilon!r}."
            )
        return cls(tuple(GridAxis.of(pair, bits=bits) for pair in bounds), policy, epsilon, delta, rho)

    @property
    def replace(self) -> bool:
        """Whether neighbours differ in contents rather than presence."""
        return self.policy.neighbours == "replace-one"

    @property
    def factors(self) -> int:
        """K: the constant, the features, the target."""
        return len(self.axes) + 1

    @cached_property
    def largest(self) -> tuple[int, ...]:
        """Lᵢ."""
        return (1, *(axis.largest for axis in self.axes))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """i ≤ j in the order of the totals."""
        return tuple((i, j) for i in range(self.factors) for j in range(i, self.factors))

    def _finer(self, i: int, j: int) -> int:
        """Steps of the noise's grid to one of a total: so many that `ROUNDED` is next to nothing."""
        if self.rho is None:
            return 1
        squared = sensitivity_l2_squared(self.factors, self.policy.rows_per_unit, replace=self.replace)
        wide = max(0, math.floor(math.log2(squared / (2 * self.rho)) / 2))
        return 1 << max(0, _FINEST_LOG2 - wide - (self.largest[i] * self.largest[j]).bit_length())

    def _scale(self, i: int, j: int) -> Fraction:
        """Laplace scale, or Gaussian variance, of one total in steps of the noise's grid."""
        size, rows = self.largest[i] * self.largest[j] * self._finer(i, j), self.policy.rows_per_unit
        if self.rho is None:
            epsilon = Fraction(Decimal(repr(float(self.epsilon))))
            return rational_scale(size * sensitivity_l1(self.factors, rows), epsilon)
        squared = sensitivity_l2_squared(self.factors, rows, replace=self.replace)
        return gaussian_variance(size**2 * squared, self.rho) + ROUNDED

    @property
    def relative_scale(self) -> float:
        """The noise's scale (Laplace) or standard deviation (Gaussian) in units of LᵢLⱼ, the same for all."""
        scale = self._scale(0, 0)
        return float(scale) if self.rho is None else math.sqrt(scale) / self._finer(0, 0)

    @property
    def mechanism(self) -> str:
        """The name of the noise."""
        return "discrete Laplace" if self.rho is None else "discrete Gaussian"

    @property
    def fits_doubles(self) -> bool:
        """Whether no total can pass 2⁵³, where doubles that hold integers stop adding up exactly."""
        units = self.policy.units
        return units is not None and units * self.policy.rows_per_unit * max(self.largest) ** 2 <= 2**53

    def _range(self, i: int, j: int) -> tuple[int, int] | None:
        if self.policy.units is None:
            return None
        reach = self.policy.units * self.policy.rows_per_unit * self.largest[i] * self.largest[j]
        return (0 if i == j else -reach), reach

    @property
    def spend(self) -> Spend:
        """The price in every currency."""
        table = self._table()
        if self.rho is None:
            return pure_spend(self.epsilon, self.policy, nats_table=table)
        return gaussian_spend(self.epsilon, self.delta, self.rho, self.policy, nats_table=table, exact=True)

    def _table(self) -> float:
        """Totals are clamped to public ranges before noise; capacities of noisy numbers add up."""
        total = 0.0
        for i, j in self.pairs:
            reach = self._range(i, j)
            if reach is None:
                return math.inf
            width, scale = (reach[1] - reach[0]) * self._finer(i, j), self._scale(i, j)
            if self.rho is None:
                total = up(total + geometric_capacity(width, up(float(1 / scale))).upper)
            else:
                total = up(total + _gaussian_capacity(width, scale), 4)
        return total

    def clamped(self, totals: Sequence[int]) -> list[int]:
        """Totals within their public ranges: 1-Lipschitz in each, so that no sensitivity grows."""
        kept = []
        for (i, j), total in zip(self.pairs, totals, strict=True):
            reach = self._range(i, j)
            kept.append(total if reach is None else max(reach[0], min(reach[1], total)))
        return kept

    def noisy(self, totals: Sequence[int], source: ByteSource) -> Floats:
        """The released matrix in units of LᵢLⱼ: symmetric, K × K. The noise is drawn here."""
        return np.asarray(self.releases(totals, 1, source)[0])

    def releases(self, totals: Sequence[int], count: int, source: ByteSource) -> Floats:
        """So many independent releases, each of which costs as much as one: (count, K, K)."""
        matrices = np.zeros((count, self.factors, self.factors))
        for (i, j), total in zip(self.pairs, self.clamped(totals), strict=True):
            scale, finer = self._scale(i, j), self._finer(i, j)
            size = self.largest[i] * self.largest[j] * finer
            draw = discrete_laplace if self.rho is None else discrete_gaussian
            released = [(total * finer + int(z)) / size for z in draw(scale, count, source)]
            matrices[:, i, j] = matrices[:, j, i] = released
        return matrices

    def imitations(self, count: int, seed: int) -> Floats:
        """Noise matrices of the same law to within the grid, for post-processing: (count, K, K)."""
        generator = np.random.default_rng(seed)
        i, j = np.array(self.pairs).T
        size = (count, len(self.pairs))
        draws = generator.laplace(size=size) if self.rho is None else generator.standard_normal(size)
        matrices = np.zeros((count, self.factors, self.factors))
        matrices[:, i, j] = matrices[:, j, i] = draws * self.relative_scale
        return matrices


def _gaussian_capacity(width: int, variance: Fraction) -> float:
    """½ ln(1 + (width²/4 + 1/12)/σ²) and a little: what a number in a range shows through discrete noise.

    H(T+Z) ≤ ½ ln(2πe(Var + 1/12)) for integers; H(Z) ≥ ½ ln(2πσ²) + Var Z/(2σ²), and Var Z lies between
    σ²(1 − 10⁻⁶) and σ² from σ = 1 on; a narrower σ shows at most ln(width + 1).
    Source: Cover & Thomas 2006, theorem 8.6.5 and problem 8.7.
    """
    if variance < 1:
        return up(math.log1p(width), 4)
    return up(0.5 * math.log1p(float((Fraction(width) ** 2 / 4 + Fraction(1, 12)) / variance)) + 1e-6, 8)
