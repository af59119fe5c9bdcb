"""The two ends of a Shannon capacity, recomputed from a prior and rounded outwards.

For every prior π and every distribution q: I(π) ≤ C ≤ max_x D(W_x ‖ q), with equality at the optimum.
Source: Kemperman 1974; Gallager 1979.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.capacities.solvers.rows import RowOperator
from leakcap.numeric.logspace import Floats

__all__ = ["ShannonCertificate"]

_UNIT = 2.0**-53
_LOG_ULPS = 16
"""Roundings charged to one logarithm and the products around it (numpy's logarithm errs by < 4 ulp)."""
_TINY = 1e-290
"""Covers what underflow can lose: at most a few 10³ subnormal terms times |ln 5·10⁻³²⁴|."""
FLOOR = 1e-300
"""The least mass of a column in an output distribution: it keeps every logarithm finite."""
SMOOTHING = 2.0**-44
"""Share of the average row mixed into q: no column without mass, at a price of 6·10⁻¹⁴ nats."""


@dataclass(frozen=True)
class ShannonCertificate:
    """What does not depend on the prior: row sums of W ln W, rounding residue, the average row."""

    rows: RowOperator
    negentropy: Floats
    residue: float
    average: Floats

    @classmethod
    def of(cls, rows: RowOperator) -> ShannonCertificate:
        """One pass of W ln W."""
        return cls(rows, *rows.negentropies())

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
