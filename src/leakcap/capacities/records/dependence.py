"""Adversaries who believe that some records depend on each other: log-lift of one record of a database.

Write C_aw for a database with x_i = a and the other dependent records w (all others known), and d for the
extent, I_∞(X_i; X_{−i}) ≤ d. For every output

    p(y|x_i)/p(y) ≤ C_aw / (e^{−d} min_b C_bw + (1 − e^{−d}) min_{b,w'} C_bw'),

because p(w) ≥ e^{−d} p(w|x_i), and a ratio of linear functions of the prior is largest at a vertex. It is
attained, as P(X_i = a) → 0, by w always together with a, P(w) = e^{−d} and another w' otherwise: when both
minima can be taken at the same b, and when d ≥ ln 2 with any. The bound lies below both kε and ε + d.
Source: Wu, Xia & He 2017, theorem 1; the closed form was derived for this project.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import DependentRecords
from leakcap.bound import Bound
from leakcap.capacities.records.databases import record_codes
from leakcap.capacities.solvers.columns import log_quotient, row_residue
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["dependent_records"]


@solver.register
def dependent_records(adversary: DependentRecords, channel: Channel, divergence: Divergence) -> Bound:
    """sup of ln p(x_i|y)/p(x_i) over records and beliefs with limited dependence.

    With `extent` = ∞ it is the ε of databases at distance at most k (Wu, Xia & He 2017, theorem 1).
    Exact from extent ln 2 on; below, a bracket where the favoured databases differ in the record.

    >>> from leakcap.capacities import capacity
    >>> rows = [[0.8, 0.2], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]
    >>> count = Channel(rows, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> round(math.exp(capacity(count, Renyi(math.inf), DependentRecords(2)).upper), 9)
    4.0
    """
    if not (isinstance(divergence, Renyi) and math.isinf(divergence.alpha)):
        raise InvalidParameter(
            "`divergence` with dependent records must be "
            f"`Renyi(math.inf)`, the log-lift. Got {divergence!r}."
        )
    codes, rows = record_codes(channel), channel.matrix
    attained, limit = 0.0, 0.0
    for record in range(codes.shape[1]):
        others = np.delete(codes, record, axis=1)
        for x, row in enumerate(rows):
            apart = (others != others[x]).sum(axis=1)
            near, far = apart == 0, apart < adversary.records
            low, high = _ends(row, rows, near, far, codes[:, record], adversary.extent)
            attained, limit = max(attained, low), max(limit, high)
    method = "log-lift with dependent records: worst pair of contexts"
    # Roundings of the means and of the logarithm, and rows that do not sum to exactly one.
    slack = 2.1 * row_residue(channel) + 2.0**-48 if limit > 0.0 else 0.0
    attained, limit = max(down(attained, 16) - slack, 0.0), up(limit, 16) + slack
    return Bound(attained, max(limit, attained), method, "Wu, Xia & He 2017, theorem 1")


def _ends(
    row: Floats,
    rows: Floats,
    near: NDArray[np.bool_],
    far: NDArray[np.bool_],
    values: NDArray[np.intp],
    extent: float,
) -> tuple[float, float]:
    """What one database gives at least and at most over all outputs."""
    share = math.exp(-extent)
    high = _log_ratio(row, share * rows[near].min(axis=0) + (1.0 - share) * rows[far].min(axis=0))
    if extent >= math.log(2.0):
        return high, high
    low = 0.0
    for value in np.unique(values[near]):
        held = values == value
        least = share * rows[near & held].min(axis=0) + (1.0 - share) * rows[far & held].min(axis=0)
        low = max(low, _log_ratio(row, least))
    return low, high


def _log_ratio(row: Floats, centre: Floats) -> float:
    return float(np.max(log_quotient(row, np.minimum(centre, row))))
