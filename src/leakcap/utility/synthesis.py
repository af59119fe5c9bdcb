"""The mechanism of least expected loss under ε-local privacy or d-privacy, repaired until it keeps it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel, as_prior
from leakcap.errors import InvalidParameter, LeakcapError, require, require_number
from leakcap.numeric.logspace import Floats, safe_log
from leakcap.numeric.programs import LinearSolution, diagonal, kron, minimise_linear, stack
from leakcap.progress import progress
from leakcap.utility.distortion import least_distortion, loss_matrix

__all__ = ["least_epsilon", "optimal_mechanism"]

_DUST = 1e-9
"""Outputs that a solver uses less than this are not used at all."""

_NOTHING = 1e-7
"""Log-ratios below which an output that ignores the secret is as good as any, to a solver's tolerance."""


def optimal_mechanism(
    prior: ArrayLike,
    loss: ArrayLike,
    *,
    epsilon: float,
    metric: ArrayLike | None = None,
    inputs: Sequence[Hashable] | None = None,
    outputs: Sequence[Hashable] | None = None,
) -> Channel:
    """The channel of least expected loss Σ π_x C_xy l(x, y) among those that are ε-private.

    Without `metric`: ε-local differential privacy, C_xy ≤ e^ε C_x'y for all x, x'. With one: d-privacy,
    C_xy ≤ e^{ε d(x, x')} C_x'y. A linear program; its solution is mixed with the smallest share of
    its own output distribution that makes every measured ratio keep the bound, so the loss exceeds the
    optimum by the solver's tolerance and the result *is* private.
    Source: Ghosh, Roughgarden & Sundararajan 2009 (counts); Bordenabe, Chatzikokolakis & Palamidessi 2014
    (metrics). Raises `InvalidParameter`, `InvalidPrior`, `LeakcapError`.

    >>> channel = optimal_mechanism([0.5, 0.5], [[0, 1], [1, 0]], epsilon=math.log(3))
    >>> channel.matrix.round(6).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    table = loss_matrix("optimal_mechanism", loss)
    weights = as_prior(prior, table.shape[0])
    require_number("epsilon", "optimal_mechanism", epsilon)
    ok = epsilon >= 0 and math.isfinite(epsilon)
    require(ok, "epsilon", "optimal_mechanism", "be a finite number ≥ 0", epsilon)
    distances = _all_alike(len(weights)) if metric is None else _as_metric(metric, len(weights))
    cost = weights[:, None] * table
    rows = constant = _constant(cost)
    if epsilon > 0.0 and len(weights) > 1:
        limits = epsilon * distances
        scaled = cost / max(float(np.abs(cost).max()), 1e-300)
        solution = _local(scaled, epsilon) if metric is None else _metric(scaled, epsilon, distances)
        if solution is not None:
            # What rounding can add to the ε of a table of doubles is taken off before.
            kept = limits * (1.0 - 2.0**-47) - (sum(cost.shape) + 64) * 2.0**-50
            rows = _repaired(_cleaned(solution.point[: cost.size].reshape(cost.shape)), np.maximum(kept, 0.0))
        elif float(limits.max()) > _NOTHING:
            raise LeakcapError(
                "the linear program for the best mechanism was not solved. Ask for an `epsilon` (times "
                "distance) below 30, or for fewer secrets."
            )
        if float((cost * rows).sum()) >= float((cost * constant).sum()):
            rows = constant
    return Channel(rows, inputs=inputs, outputs=outputs)


def least_epsilon(prior: ArrayLike, loss: ArrayLike, *, max_loss: float, tolerance: float = 1e-6) -> Bound:
    """The least ε at which some ε-locally private mechanism keeps the expected loss within `max_loss`.

    Found by halving between programs; the witness is the channel of the upper end, measured. The lower
    end rests on the solver's optimum to 1e-9 of the loss. ∞ is never needed: a finite ε comes as near the
    least possible loss as asked. Raises `InvalidParameter` where not even that is enough.

    >>> bound = least_epsilon([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.25)
    >>> abs(bound.upper - math.log(3)) < 1e-5
    True
    """
    table = loss_matrix("least_epsilon", loss)
    weights = as_prior(prior, table.shape[0])
    floor, _ = least_distortion(weights, table)
    scale = max(float(np.abs(table).max()), 1e-300)
    rule = f"exceed the least possible loss {floor!r}"
    require(max_loss > floor, "max_loss", "least_epsilon", rule, max_loss)
    slack = 1e-9 * scale

    def within(epsilon: float) -> Channel | None:
        channel = optimal_mechanism(weights, table, epsilon=epsilon)
        return channel if float(weights @ (channel.matrix * table).sum(axis=1)) <= max_loss + slack else None

    low, high, best = 0.0, 1.0, within(0.0)
    if best is not None:
        return Bound(0.0, 0.0, "constant output", witness=best)
    while (best := within(high)) is None:
        low, high = high, 2.0 * high
        require(high <= 64.0, "max_loss", "least_epsilon", "be reached at an ε below 64", max_loss)
    with progress("least ε") as tick:
        while high - low > tolerance:
            tick(None, f"ε in [{low:.6g}, {high:.6g}]")
            middle = 0.5 * (low + high)
            channel = within(middle)
            if channel is None:
                low = middle
            else:
                high, best = middle, channel
    return Bound(low, high, "halving between linear programs", "Ghosh et al. 2009", witness=best)


def _constant(cost: Floats) -> Floats:
    rows = np.zeros_like(cost)
    rows[:, int(np.argmin(cost.sum(axis=0)))] = 1.0
    return rows


def _all_alike(count: int) -> Floats:
    return 1.0 - np.eye(count)


def _as_metric(metric: ArrayLike, count: int) -> Floats:
    try:
        d = np.array(metric, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("`metric` must be a square matrix of numbers.") from None
    if d.shape != (count, count):
        raise InvalidParameter(f"`metric` must be a matrix of shape ({count}, {count}). Got {d.shape}.")
    if np.isnan(d).any() or not np.array_equal(d, d.T) or np.diag(d).any():
        raise InvalidParameter("`metric` must be symmetric with a zero diagonal. Got another matrix.")
    if count > 1 and d[~np.eye(count, dtype=bool)].min() <= 0:
        raise InvalidParameter(
            "`metric` must be positive between different secrets. Got 0 or less. Merge secrets at distance 0."
        )
    return d


def _local(cost: Floats, epsilon: float) -> LinearSolution | None:
    """Every entry between a floor of its output and e^ε times it: one more variable an output."""
    count, last = cost.shape
    every, floors = diagonal(np.ones(count * last)), np.tile(np.eye(last), (count, 1))
    return minimise_linear(
        np.concatenate([cost.ravel(), np.zeros(last)]),
        at_most=(
            stack([[-every, floors], [math.exp(-epsilon) * every, -floors]]),
            np.zeros(2 * count * last),
        ),
        equal=(stack([[kron(np.eye(count), np.ones((1, last))), np.zeros((count, last))]]), np.ones(count)),
    )


def _metric(cost: Floats, epsilon: float, distances: Floats) -> LinearSolution | None:
    """C_xy e^{−εd} ≤ C_x'y for the pairs that no path of shorter steps implies."""
    count, last = cost.shape
    pairs = _direct(distances)
    differences = np.zeros((len(pairs), count))
    for row, (x, other) in enumerate(pairs):
        differences[row, x] = math.exp(-epsilon * distances[x, other])
        differences[row, other] = -1.0
    return minimise_linear(
        cost.ravel(),
        at_most=(kron(differences, np.eye(last)), np.zeros(len(pairs) * last)) if pairs else None,
        equal=(kron(np.eye(count), np.ones((1, last))), np.ones(count)),
    )


def _direct(distances: Floats) -> list[tuple[int, int]]:
    count, kept = len(distances), []
    for x in range(count):
        for other in range(count):
            if x == other or not math.isfinite(distances[x, other]):
                continue
            path = distances[x] + distances[:, other]
            path[[x, other]] = math.inf
            if not (path <= distances[x, other]).any():
                kept.append((x, other))
    return kept


def _cleaned(rows: Floats) -> Floats:
    rows = np.maximum(rows, 0.0)
    rows[:, rows.max(axis=0) < _DUST] = 0.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _repaired(rows: Floats, limits: Floats) -> Floats:
    """Mix with the mean row q just enough: (a + λq) ≤ e^l (b + λq) iff λ q (1 − e^−l) ≥ a e^−l − b."""
    mean = rows.mean(axis=0)
    share = _violation(rows, limits, mean)
    nudge = 2.0**-52
    while True:
        mixed = Channel((rows + share * mean) / (1.0 + share)).matrix
        if _keeps(mixed, limits):
            return mixed
        share, nudge = share + nudge, 4.0 * nudge


def _violation(rows: Floats, limits: Floats, mean: Floats) -> float:
    worst, used = 0.0, mean > 0
    for x in range(len(rows)):
        for other in range(len(rows)):
            limit = float(limits[x, other])
            if x != other and math.isfinite(limit):
                excess = (rows[x, used] * math.exp(-limit) - rows[other, used]) / mean[used]
                most, room = float(excess.max()), -math.expm1(-limit)
                # Where nothing may differ only the mean itself will do.
                worst = max(worst, most / room if room > 0.0 else float(most > 0.0))
    return worst


def _keeps(rows: Floats, limits: Floats) -> bool:
    """Whether every log-ratio is within its limit, whichever way it is measured in doubles."""
    logs = safe_log(rows[:, rows.max(axis=0) > 0])
    bottom = np.where(np.isfinite(logs), logs, -1e9)
    # Logarithms, quotients and their logarithm err by a unit each; equal entries by nothing.
    slack = 8 * 2.0**-53 * (1.0 - np.maximum(logs, -750.0))
    for x in range(len(rows)):
        gaps = logs[x] - bottom
        gaps = np.where(gaps > 0.0, gaps + slack[x] + slack, gaps)
        if not (gaps <= limits[x][:, None]).all():
            return False
    return True
