"""Records that depend on each other: what a noisy sum tells about one of them, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from leakcap.attack.sums import Sums, equal_copies
from leakcap.attack.use import Use
from leakcap.attack.value import Finding
from leakcap.capacities import geometric_capacity
from leakcap.capacities.laplace import laplace_capacity
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require
from leakcap.numeric import binary_entropy, xlogx
from leakcap.numeric.logspace import Floats

__all__ = ["Correlated", "copies_curve", "correlated_record", "output_law"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True, kw_only=True)
class Correlated(Finding):
    """I(X;Y) of one record in a noisy sum of dependent ones, and who promised what.

    got = I(X;Y); at_most = the least of what holds for dependent records: H(X), `table_cap`, `group_cap` (the
    MI-DP of a kε-DP mechanism) and `extent_cap` = ε + d. `independent_cap` is the MI-DP of the sum, which
    holds for `given_others` = I(X;Y|others) and not for dependent records. `posterior` is the largest belief
    that any output leads to, in either value.
    """

    joint: str
    records: int
    epsilon: float
    independent_cap: float
    given_others: float
    group_cap: float
    extent_cap: float
    table_cap: float
    posterior: float
    posterior_at_most: float


def correlated_record(sums: Sums, epsilon: float, *, continuous: bool = False) -> Correlated:
    """What Y = (sum of all records) + noise of scale 1/ε tells about one of them.

    A noisy mean, of noise 1/(nε), tells the same. The noise is discrete Laplace, the engine's, or with
    `continuous` Laplace. The laws of the output come by convolution, one pass forth and one back over the
    sums: to rounding for thousands of records.

    Source: Cuff & Yu 2016, example 4.1; Wu, Xia & He 2017, theorem 1 (kε).

    >>> from leakcap.attack.sums import equal_copies
    >>> round(correlated_record(equal_copies(1), 1.0).got, 10)
    0.1109440717
    >>> crowd = correlated_record(equal_copies(100), 1.0)
    >>> round(crowd.got, 10) == round(math.log(2.0), 10), crowd.given_others
    (True, 0.0)
    """
    require(0.0 < epsilon <= 700.0, "epsilon", "correlated_record", "be positive and at most 700", epsilon)
    law = _laplace if continuous else output_law
    alone = law(equal_copies(1).given, epsilon)
    group = min(sums.together * epsilon, 700.0)
    reach = sums.records * epsilon
    table = laplace_capacity(reach) if continuous else geometric_capacity(sums.records, epsilon)
    single = laplace_capacity(epsilon) if continuous else geometric_capacity(1, epsilon)
    caps = (binary_entropy(sums.prior), table.upper, Use(group).capacity, epsilon + sums.extent)
    top = max(sums.prior, 1.0 - sums.prior)
    return Correlated(
        attack="correlated records",
        got=_information(law(sums.given, epsilon), sums.prior),
        at_most=min(caps),
        unit="nats",
        stopped_by="the cap on nats of the table; a person's cap speaks of independent records",
        joint=sums.name,
        records=sums.records,
        epsilon=epsilon,
        independent_cap=single.upper,
        given_others=math.fsum(weight * _information(alone, p) for weight, p in sums.left_open),
        group_cap=caps[2],
        extent_cap=caps[3],
        table_cap=table.upper,
        posterior=_surest(output_law(sums.given, epsilon), sums.prior),
        posterior_at_most=min(
            posterior_bound(sums.together * epsilon, top),
            top * math.exp(min(caps[3], 1.0 - math.log(top))),
            1.0,
        ),
    )


def copies_curve(
    sizes: Sequence[int], epsilon: float, *, continuous: bool = False, prior: float = 0.5
) -> tuple[Correlated, ...]:
    """`correlated_record` of n equal copies for each n: I(X;Y) → H(X), I(X;Y|others) = 0. Data for a plot.

    Source: Cuff & Yu 2016, example 4.1.

    >>> [round(point.got, 4) for point in copies_curve([1, 10, 100], 0.1)]
    [0.0012, 0.0888, 0.6826]
    """
    return tuple(
        correlated_record(equal_copies(n, prior=prior), epsilon, continuous=continuous) for n in sizes
    )


def _passes(law: Floats, decay: float) -> tuple[Floats, Floats]:
    """F_j = Σ_{s ≤ j} p_s e^{−η(j−s)} and B_j = Σ_{s ≥ j} p_s e^{−η(s−j)}."""
    r = math.exp(-decay)

    def run(values: Floats) -> Floats:
        return np.array(list(accumulate(values.tolist(), lambda sofar, p: sofar * r + p)))

    return run(law), run(law[::-1])[::-1]


def output_law(given: Floats, decay: float) -> Floats:
    """P(Y = y | X) under discrete Laplace noise for y in 0, …, n, from the laws of the sum given X.

    All outputs ≤ 0 have one likelihood ratio, so have all ≥ n: they are merged.

    >>> output_law(np.eye(2), math.log(3.0)).round(12).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    rows = []
    for law in given:
        forth, back = _passes(law, decay)
        row = (forth + back - law) * math.tanh(decay / 2.0)
        row[0], row[-1] = back[0] / (1.0 + math.exp(-decay)), forth[-1] / (1.0 + math.exp(-decay))
        rows.append(row)
    return np.array(rows)


def _laplace(given: Floats, epsilon: float) -> Floats:
    """Masses of the output's density at the nodes of a quadrature, and of the two tails."""
    panels = max(math.ceil(epsilon / 2.0), 1)
    inside = ((np.arange(panels)[:, None] + 0.5 * (1.0 + _NODES)) / panels).ravel()
    weights = np.tile(_WEIGHTS, panels) / (2.0 * panels) * epsilon / 2.0
    rows = []
    for law in given:
        forth, back = _passes(law, epsilon)
        density = forth[:-1, None] * np.exp(-epsilon * inside) + back[1:, None] * np.exp(
            -epsilon * (1.0 - inside)
        )
        rows.append(np.concatenate([[back[0] / 2.0], (density * weights).ravel(), [forth[-1] / 2.0]]))
    return np.array(rows)


def _information(rows: Floats, prior: float) -> float:
    """Σ_x π_x Σ_y P(y|x) ln(P(y|x)/q(y)): per output q·(h(π) − h(posterior)) as a divergence, no term < 0."""
    if prior in (0.0, 1.0):
        return 0.0
    joint = rows * np.array([[1.0 - prior], [prior]])
    seen = joint.sum(axis=0)
    joint, seen = joint[:, seen > 0.0], seen[seen > 0.0]
    belief = np.array([[1.0 - prior], [prior]])
    posterior = joint / seen
    terms = (xlogx(posterior) - posterior * np.log(belief)).sum(axis=0)
    return max(float((seen * terms).sum()), 0.0)


def _surest(rows: Floats, prior: float) -> float:
    """The largest posterior: between two sums it is monotone in the output, so that integers suffice."""
    joint = rows * np.array([[1.0 - prior], [prior]])
    seen = joint.sum(axis=0)
    return float((joint.max(axis=0)[seen > 0.0] / seen[seen > 0.0]).max())
