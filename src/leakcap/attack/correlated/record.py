"""Records that depend on each other: what a noisy sum tells about one of them, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from leakcap.attack.codes.use import Use
from leakcap.attack.correlated.sums import Sums, equal_copies
from leakcap.attack.value import Finding, raised
from leakcap.capacities import geometric_capacity
from leakcap.capacities.noise.laplace import laplace_capacity
from leakcap.definition import MIDP, PureDP, convert
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require
from leakcap.numeric import xlogx
from leakcap.numeric.logspace import Floats

__all__ = [
    "Correlated",
    "copies_curve",
    "correlated_fields",
    "correlated_record",
    "entropy_of",
    "information_of",
    "laplace_law",
    "output_law",
]

_RAREST = 1e-250
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True, kw_only=True)
class Correlated(Finding):
    """I(X;Y) of one record in a noisy sum of dependent ones, and who promised what.

    got = I(X;Y); at_most = the least of what holds for dependent records: H(X), `table_cap`, `group_cap` (the
    MI-DP of a kε-DP mechanism) and `extent_cap` = ε + d. `independent_cap` is the MI-DP of the sum, which
    holds for `given_others` = I(X;Y|others) and not for dependent records. `posterior` is the largest belief
    that any output leads to, in any value; `lift` is the largest ln P(x|y)/P(x), at most min(kε, ε + d). Both
    leave out outputs rarer than 10⁻²⁵⁰.
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
    lift: float
    lift_at_most: float


def correlated_record(sums: Sums, epsilon: float, *, continuous: bool = False) -> Correlated:
    """What Y = (sum of all records) + noise of scale step/ε tells about one of them.

    A noisy mean, of noise step/(nε), tells the same. The noise is discrete Laplace, the engine's, or with
    `continuous` Laplace. The laws of the output come by convolution, one pass forth and one back over the
    sums: to rounding for thousands of records.

    Source: Cuff & Yu 2016, example 4.1; Wu, Xia & He 2017, theorem 1 (kε).

    >>> from leakcap.attack.correlated.sums import equal_copies
    >>> round(correlated_record(equal_copies(1), 1.0).got, 10)
    0.1109440717
    >>> crowd = correlated_record(equal_copies(100), 1.0)
    >>> round(crowd.got, 10) == round(math.log(2.0), 10), crowd.given_others
    (True, 0.0)
    """
    return Correlated(**correlated_fields(sums, epsilon, continuous=continuous))


def correlated_fields(sums: Sums, epsilon: float, *, continuous: bool = False) -> dict[str, Any]:
    """The fields of `Correlated`, for those who have more to say."""
    require(0.0 < epsilon <= 700.0, "epsilon", "correlated_record", "be positive and at most 700", epsilon)
    law, decay = laplace_law if continuous else output_law, epsilon / sums.step
    alone = law(np.eye(sums.step + 1)[list(sums.values)], decay)
    group, reach = sums.together * epsilon, sums.given.shape[1] - 1
    table = laplace_capacity(reach * decay) if continuous else geometric_capacity(reach, decay)
    single = laplace_capacity(epsilon) if continuous else geometric_capacity(sums.step, decay)
    caps = (entropy_of(sums.prior), table.upper, _group(group, len(sums.values)), epsilon + sums.extent)
    top, rows = max(sums.prior), law(sums.given, decay)
    surest, lift = _surest(rows if not continuous else output_law(sums.given, decay), sums.prior)
    return {
        "attack": "correlated records",
        "got": information_of(rows, sums.prior),
        "at_most": raised(min(caps)),
        "unit": "nats",
        "stopped_by": "the cap on nats of the table; a person's cap speaks of independent records",
        "joint": sums.name,
        "records": sums.records,
        "epsilon": epsilon,
        "independent_cap": single.upper,
        "given_others": math.fsum(
            weight * information_of(alone, belief) for weight, belief in sums.left_open
        ),
        "group_cap": caps[2],
        "extent_cap": caps[3],
        "table_cap": table.upper,
        "posterior": surest,
        "posterior_at_most": raised(
            min(posterior_bound(group, top), top * math.exp(min(caps[3], 1.0 - math.log(top)))), 1.0
        ),
        "lift": lift,
        "lift_at_most": raised(min(group, caps[3], -math.log(min(sums.prior)))),
    }


def entropy_of(law: Sequence[float]) -> float:
    """H(X), nats.

    >>> round(entropy_of([0.5, 0.5]), 6)
    0.693147
    """
    return -math.fsum(float(x) for x in xlogx(law)) + 0.0


def _group(epsilon: float, values: int) -> float:
    """The MI-DP of an ε-DP mechanism for a record with so many values."""
    if values == 2:
        return Use(min(epsilon, 700.0)).capacity
    return convert(PureDP(epsilon), MIDP).nats


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


def laplace_law(given: Floats, epsilon: float) -> Floats:
    """Masses of the output's density at the nodes of a quadrature, and of the two tails, given X.

    >>> round(float(laplace_law(np.eye(2), 1.0).sum()), 12)
    2.0
    """
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


def information_of(rows: Floats, prior: Sequence[float]) -> float:
    """Σ_x π_x Σ_y P(y|x) ln(P(y|x)/q(y)): per output q·(h(π) − h(posterior)) as a divergence, no term < 0.

    >>> round(information_of(np.eye(2), [0.5, 0.5]), 6)
    0.693147
    """
    belief = np.asarray(prior, dtype=np.float64)
    if belief.max() >= 1.0:
        return 0.0
    joint, possible = rows[belief > 0.0] * belief[belief > 0.0, None], belief[belief > 0.0, None]
    seen = joint.sum(axis=0)
    joint, seen = joint[:, seen > 0.0], seen[seen > 0.0]
    posterior = joint / seen
    terms = (xlogx(posterior) - posterior * np.log(possible)).sum(axis=0)
    return max(float((seen * terms).sum()), 0.0)


def _surest(rows: Floats, prior: Sequence[float]) -> tuple[float, float]:
    """The largest posterior and log-lift: between two sums both are monotone in y, so integers suffice."""
    belief = np.asarray(prior, dtype=np.float64)[:, None]
    joint = rows * belief
    seen = joint.sum(axis=0)
    likely = seen > _RAREST  # rarer outputs have been rounded to nothing here and there
    posterior = joint[:, likely] / seen[likely]
    return float(posterior.max()), max(math.log(float((posterior / belief).max())), 0.0)
