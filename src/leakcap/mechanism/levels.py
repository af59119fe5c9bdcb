"""The level-α capacity of noise on numbers: sup over priors on an interval of D_α(P_XY ‖ P_X × P_Y).

Below: a few secrets, their outputs merged into cells, which lengthens no divergence; and the radius of the
same order. Above: the diameter, R_α(ε), maximal leakage for α ≤ 2, Shannon capacity for α < 1, and the range
of the likelihoods output by output: r = p(y|x)/q(y) has mean one and values within e^{ε(y)} of each other,

    Σ_y q(y) E[r^α] ≤ Σ_y q(y) e^{(α−1)R_α(ε(y))} ≤ max_x Σ_y p(y|x) e^{(α−1)R_α(ε(y))}  (α > 1),

and the other way round for α < 1. Proof: docs/theory/level-capacity.md. Source: this project's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from leakcap.adversary import AllPriors
from leakcap.arrays import np
from leakcap.bound import Bound
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.capacities.solvers.level_binary import binary_level
from leakcap.capacities.solvers.level_prior import LevelObjective
from leakcap.divergence import Renyi
from leakcap.mechanism.base import Mechanism
from leakcap.mechanism.orders import bounded_range_capacity
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import up

__all__ = ["Rows", "gaussian_ranges", "gaussian_rows", "laplace_ranges", "laplace_rows", "level_of_noise"]

_SOURCE = "How to secure data with a broken wifi connection, 2022"
_CELLS = 512
_HIGHEST = 1e6
"""Beyond this order only what the diameter and lower orders say is used."""
_ROUNDING = 1e-11
"""What the rounding of cells may move a divergence by, at most, times 1 + α."""
_FEW = 0.4
"""With a Shannon capacity below this many nats two secrets do best."""

Rows = Callable[[int], Floats]
"""The rows of a number of secrets, equally far apart from end to end, over cells of the output."""


def level_of_noise(
    mechanism: Mechanism,
    order: Renyi,
    rows: Rows | None = None,
    ranges: float = math.inf,
    counts: tuple[int, ...] = (3, 5, 9, 17),
) -> Bound:
    """The level-α capacity of a mechanism without a finite channel, in nats; its diameter must be known.

    Shannon capacity at α = 1, the diameter at ∞. `ranges` is one more upper bound. The witness is the prior
    on [0, 1], in units of the sensitivity, where the lower end is that of a few secrets; `counts` are how
    many are tried beside two.
    """
    alpha = order.alpha
    apart = mechanism.diameter(order)
    same = mechanism.exact(order, AllPriors())
    assert apart is not None
    assert same is not None
    if math.isinf(alpha):
        return apart
    if alpha == 1.0:
        return same
    leakage = mechanism.exact(Renyi(math.inf), AllPriors())
    uppers = [(apart.upper, "the diameter"), (ranges, "the likelihoods' ranges")]
    uppers.append((bounded_range_capacity(order, mechanism.claim()), "R_α(ε)"))
    if alpha <= 2.0 and leakage is not None:
        uppers.append((leakage.upper, "maximal leakage"))
    shannon = mechanism.exact(Renyi(1.0), AllPriors())
    if alpha < 1.0 and shannon is not None:
        uppers.append((shannon.upper, "Shannon capacity"))
    upper, name = min(uppers)
    lower, prior = same.lower, None
    if rows is not None and alpha <= _HIGHEST:
        for value, found in _few(rows, alpha, counts if shannon is None or shannon.lower > _FEW else ()):
            if value > lower:
                lower, prior = value, found
    method = f"level {alpha:g} of noise: a few secrets below, {name} above; the truth is between"
    return Bound(min(lower, upper), upper, method, _SOURCE, witness=prior)


def _few(rows: Rows, alpha: float, counts: tuple[int, ...]) -> Iterator[tuple[float, IntervalPrior]]:
    """Lower ends, with the priors that attain them: two secrets, and more where there is room."""
    ends = rows(2)
    pair = binary_level(ends[0], ends[1], alpha)
    slack = _ROUNDING * (1.0 + alpha)
    yield pair.lower - slack, IntervalPrior(((0.0, pair.prior[0]), (1.0, pair.prior[1])))
    for count in counts:
        table = rows(count)
        objective = LevelObjective(table, alpha)
        prior = objective.ascend(np.full((1, count), 1.0 / count), 200)[0]
        prior = np.where(prior > 0.0, np.maximum(prior, 1e-150), 0.0)
        prior = prior / prior.sum()
        atoms = tuple((i / (count - 1), float(p)) for i, p in enumerate(prior) if p > 0.0)
        yield objective.lower(prior) - slack, IntervalPrior(atoms)


def laplace_rows(epsilon: float) -> Rows:
    """Laplace noise of scale one and secrets in [0, ε], through cells between the ends and one beyond each.

    >>> laplace_rows(1.0)(2).shape
    (2, 514)
    """
    edges = np.linspace(0.0, epsilon, _CELLS + 1)

    def rows(count: int) -> Floats:
        table = np.empty((count, _CELLS + 2))
        for row, x in zip(table, np.linspace(0.0, epsilon, count), strict=True):
            low, high = edges[:-1] - x, edges[1:] - x
            # A cell across x is cut at x: no difference of nearly equal numbers.
            left = np.exp(np.minimum(high, 0.0)) * -np.expm1(np.minimum(low, 0.0) - np.minimum(high, 0.0))
            right = np.exp(-np.maximum(low, 0.0)) * -np.expm1(np.maximum(low, 0.0) - np.maximum(high, 0.0))
            row[0], row[-1] = 0.5 * math.exp(-x), 0.5 * math.exp(x - epsilon)
            row[1:-1] = 0.5 * (left + right)
        return table

    return rows


def laplace_ranges(alpha: float, epsilon: float) -> float:
    """An upper bound of the level-α capacity of Laplace noise, α ≠ 1, by the ranges of its likelihoods.

    At an output y in [0, ε] they lie within e^{max(y, ε − y)} of each other, beyond within e^ε. Their
    weighted sum is largest for a secret at an end (Anderson 1955: the ranges grow from the middle).

    >>> laplace_ranges(2.0, 1.0) < bounded_range_capacity(Renyi(2.0), 1.0)
    True
    """
    edges, t = np.linspace(0.0, epsilon, 65), alpha - 1.0
    widest = np.maximum(edges[1:], epsilon - edges[:-1])
    masses = 0.5 * np.exp(-edges[:-1]) * -np.expm1(-np.diff(edges))
    levels = [bounded_range_capacity(Renyi(alpha), min(float(w), epsilon)) for w in widest]
    whole = bounded_range_capacity(Renyi(alpha), epsilon)
    beyond = 0.5 * (1.0 + math.exp(-epsilon))
    # Scaled by e^{−t·whole}: no power overflows.
    total = beyond + float(masses @ np.exp(t * (np.array(levels) - whole)))
    bound = whole + math.log(total) / t
    return up(bound, 2048, (1.0 + whole) * (1.0 + 1.0 / abs(t)))


def gaussian_rows(mu: float) -> Rows:
    """Standard normal noise and secrets in [0, μ], through cells about the middle and two tails.

    >>> gaussian_rows(1.0)(2).shape
    (2, 514)
    """
    edges = np.linspace(-mu / 2 - 9.0, mu / 2 + 9.0, _CELLS + 1)

    def rows(count: int) -> Floats:
        table = np.empty((count, _CELLS + 2))
        for row, x in zip(table, np.linspace(-mu / 2, mu / 2, count), strict=True):
            tails = np.array([0.5 * math.erfc(abs(e - x) / math.sqrt(2.0)) for e in edges])
            side = np.sign(edges - x)
            inside = np.abs(np.diff(tails))
            crossing = side[1:] * side[:-1] < 0
            inside[crossing] = 1.0 - tails[1:][crossing] - tails[:-1][crossing]
            row[0] = tails[0] if edges[0] < x else 1.0 - tails[0]
            row[-1] = tails[-1] if edges[-1] > x else 1.0 - tails[-1]
            row[1:-1] = inside
        return np.maximum(table, 1e-300)

    return rows


def gaussian_ranges(alpha: float, mu: float) -> float:
    """The same for standard normal noise and secrets in [0, μ]; ∞ where doubles do not hold it.

    At a distance s from the middle, the log-likelihoods lie within μs of each other, and where s < μ/2 within
    (s + μ/2)²/2.

    >>> 0.1114 < gaussian_ranges(1.001, 1.0) < 0.2
    True
    """
    t = alpha - 1.0
    reach = mu / 2 + max(t, 0.0) * mu + 9.0
    if t * mu * reach > 600.0 or abs(t) < 1e-6:
        return math.inf
    edges = np.linspace(0.0, reach, 193)
    outer = edges[1:]
    widest = np.where(outer < mu / 2, 0.5 * (outer + mu / 2) ** 2, mu * outer)
    levels = [bounded_range_capacity(Renyi(alpha), up(float(w), 8)) for w in widest]
    powers = np.exp(t * np.array(levels))
    near = np.array([_normal_tail(e - mu / 2) for e in edges])
    far = np.array([_normal_tail(e + mu / 2) for e in edges])
    masses = near[:-1] - near[1:] + far[:-1] - far[1:]
    # A tail's own rounding is relative, so a cell's is relative to the tail that begins with it.
    slack = math.copysign(1e-14, t) * (near[:-1] + far[:-1])
    total = float((masses + slack) @ powers)
    if t > 0.0:
        # ∫ e^{tμs} beyond the last cell, on both sides.
        turn = 0.5 * t * t * mu * mu
        total += math.exp(turn + 0.5 * t * mu * mu) * _normal_tail(reach - mu / 2 - t * mu)
        total += math.exp(turn - 0.5 * t * mu * mu) * _normal_tail(reach + mu / 2 - t * mu)
    bound = math.log(total) / t
    return up(bound, 2048, (1.0 + abs(bound)) * (1.0 + 1.0 / abs(t)))


def _normal_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))
