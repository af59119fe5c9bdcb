"""Refinement: when one channel never leaks more than another, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.channel import Channel
from leakcap.errors import InvalidChannel
from leakcap.gain import Gain, matrix
from leakcap.leakage.vulnerability import posterior_vulnerability
from leakcap.numeric.logspace import Floats
from leakcap.numeric.programs import diagonal, kron, minimise_linear, stack
from leakcap.progress import tracked

__all__ = ["Refinement", "refines"]

TOLERANCE = 1e-9
"""A witness counts when it rebuilds every entry this closely; a gap when it exceeds 1e-12 of the worth."""

_GAP = 1e-12

_DENOMINATOR = 10**6
"""Largest denominator tried for an exact post-processing."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """Whether A ⊑ B, with the evidence, checked after the linear program and apart from it.

    `holds` is None when neither the witness nor the separation passes its check. `bool()` is True only
    where refinement is shown. `witness_post` turns A's outputs into B's (for the max-case order: B's
    outputs into mixtures of A's posteriors). `witness_gain` under `witness_prior` gives B more than A, by
    `margin`. `tolerance` is 0 where both channels are of fractions and the evidence is exact.
    """

    holds: bool | None
    residual: float
    margin: float
    tolerance: float = TOLERANCE
    max_case: bool = False
    witness_post: Channel | None = field(default=None, repr=False)
    witness_gain: Gain | None = field(default=None, repr=False)
    witness_prior: Floats | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        """True only where refinement is shown."""
        return self.holds is True


def refines(a: Channel, b: Channel, *, max_case: bool = False) -> Refinement:
    """Whether B never leaks more than A (A ⊑ B), with a witness either way.

    Average case: for every prior and gain, iff B = A·R for a stochastic R; when not, duality gives a gain
    g and the uniform prior with V_g(B) > V_g(A). Max-case: for every prior and every quasi-convex
    vulnerability, iff each posterior of B is a mixture of posteriors of A; when not, a separating
    hyperplane is such a gain. A witness must rebuild B within 1e-9 an entry; for two channels of fractions
    the average case is decided exactly where the evidence rounds to fractions that prove it.
    Source: McIver, Meinicke & Morgan 2010; Alvim et al. 2012; McIver et al. 2014 (average);
    Chatzikokolakis, Fernandes & Palamidessi 2019 (max-case). Raises `InvalidChannel`.

    >>> a, post = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> refines(a, a >> post).holds, refines(a >> post, a).holds
    (True, False)
    """
    for channel in (a, b):
        if not isinstance(channel, Channel):
            raise InvalidChannel(f"`refines` compares two channels. Got {type(channel).__name__}.")
    if a.inputs != b.inputs:
        raise InvalidChannel(
            "refinement compares channels with the same inputs. "
            f"Got {len(a.inputs)} and {len(b.inputs)} inputs with other labels. Label both alike."
        )
    return _max_case(a, b) if max_case else _average(a, b)


def _average(a: Channel, b: Channel) -> Refinement:
    rows_a, rows_b = a.matrix, b.matrix
    shape = (rows_a.shape[1], rows_b.shape[1])
    post, direction = _nearest(rows_a, rows_b)
    residual = float(np.abs(rows_a @ post - rows_b).max())
    gain = matrix(_lifted(direction), actions=b.outputs)
    proven = _in_fractions(a, b, post, gain)
    if proven is not None:
        return proven
    if residual <= TOLERANCE:
        witness = Channel(post, inputs=a.outputs, outputs=b.outputs)
        return Refinement(True, residual, 0.0, witness_post=witness)
    return _separated(a, b, gain, residual, size=shape[0] * shape[1], max_case=False)


def _in_fractions(a: Channel, b: Channel, post: Floats, gain: Gain) -> Refinement | None:
    """A proof without rounding, for two channels of fractions: an exact R, or an exact gap."""
    rows_a, rows_b = a.as_exact(), b.as_exact()
    if rows_a is None or rows_b is None:
        return None
    guess = np.array([[Fraction(v).limit_denominator(_DENOMINATOR) for v in row] for row in post.tolist()])
    if (guess.sum(axis=1) == 1).all() and (rows_a @ guess == rows_b).all():
        witness = Channel(guess, inputs=a.outputs, outputs=b.outputs)
        return Refinement(True, 0.0, 0.0, tolerance=0.0, witness_post=witness)
    table = np.array([[Fraction(v) for v in row] for row in gain.table.tolist()])
    high, low = (sum(map(max, (table @ rows).T), Fraction(0)) for rows in (rows_b, rows_a))
    if high <= low:
        return None
    uniform = np.full(a.shape[0], 1.0 / a.shape[0])
    residual = float(np.abs(a.matrix @ post - b.matrix).max())
    margin = float((high - low) / a.shape[0])
    return Refinement(False, residual, margin, tolerance=0.0, witness_gain=gain, witness_prior=uniform)


def _separated(
    a: Channel, b: Channel, gain: Gain, residual: float, *, size: int, max_case: bool
) -> Refinement:
    uniform = np.full(a.shape[0], 1.0 / a.shape[0])
    high = posterior_vulnerability(b, uniform, gain, max_case=max_case)
    margin = high - posterior_vulnerability(a, uniform, gain, max_case=max_case)
    if margin <= _GAP * max(1.0, high) + size * 2.0**-52 * high:
        return Refinement(None, residual, max(margin, 0.0), max_case=max_case)
    return Refinement(False, residual, margin, max_case=max_case, witness_gain=gain, witness_prior=uniform)


def _nearest(source: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Stochastic R with source·R nearest to target in Σ|·|, and the direction G, |G| ≤ 1, that resists."""
    middle, last = source.shape[1], target.shape[1]
    fit, sums = kron(source, np.eye(last)), kron(np.eye(middle), np.ones((1, last)))
    point, direction = _closest(fit, target.ravel(), sums)
    post = point.reshape(middle, last)
    totals = post.sum(axis=1, keepdims=True)
    post = np.divide(post, totals, out=np.full_like(post, 1.0 / last), where=totals > 0)
    return post, direction.reshape(target.shape)


def _closest(fit: Any, target: Floats, sums: Any) -> tuple[Floats, Floats]:
    """min Σ|fit·v − target| over v ≥ 0 with sums·v = 1, and the multipliers of the fit.

    A solver stops at a residual near its own tolerance: what is missing is magnified and solved for again
    (Gleixner, Steffy & Wolter 2016).
    """
    count, size = fit.shape
    apart = diagonal(np.ones(count))
    both = stack([[fit, apart, -apart], [sums, None, None]])
    cost = np.concatenate([np.zeros(size), np.ones(2 * count)])
    point, direction, scale = np.zeros(size), np.zeros(count), 1.0
    for _ in range(3):
        missing = scale * np.concatenate([target - fit @ point, 1.0 - sums @ point])
        lowest = np.concatenate([-scale * point, np.zeros(2 * count)])
        solution = minimise_linear(cost, equal=(both, missing), lowest=lowest)
        if solution is None:
            break
        point = np.maximum(point + solution.point[:size] / scale, 0.0)
        direction = solution.equality_duals[:count]
        left = float(np.abs(target - fit @ point).max())
        if not 1e-14 < left < 1e-6:
            break
        scale = min(1e-3 / left, 1e9)
    return point, direction


def _lifted(direction: Floats) -> Floats:
    """A direction (x, w) as a gain (w, x) ≥ 0: a constant for each secret changes both sides alike."""
    return np.asarray((direction - direction.min(axis=1, keepdims=True)).T)


def _max_case(a: Channel, b: Channel) -> Refinement:
    corners, live = _posteriors(a.matrix)
    points, seen = _posteriors(b.matrix)
    # A distribution over A's posteriors for each posterior of B: the rows of a channel from B to A.
    mixture, direction = _mixtures(corners, points)
    residual = float(np.abs(mixture @ corners - points).max())
    if residual <= TOLERANCE:
        hull = np.full((b.shape[1], a.shape[1]), 1.0 / a.shape[1])
        hull[seen] = 0.0
        hull[np.ix_(seen, live)] = mixture
        witness = Channel(hull, inputs=b.outputs, outputs=a.outputs)
        return Refinement(True, residual, 0.0, max_case=True, witness_post=witness)
    worst = int(np.argmax((direction * points).sum(axis=1) - (direction @ corners.T).max(axis=1)))
    slope = direction[worst]
    level = float((corners @ slope).max())
    # Actions "take the bet" and "keep what A's best posterior would pay": only B's posterior takes it.
    table = np.array([slope, np.full_like(slope, level)])
    gain = matrix(table - table.min(), actions=["bet", "keep"])
    return _separated(a, b, gain, residual, size=len(slope), max_case=True)


def _posteriors(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    totals = rows.sum(axis=0)
    live = np.flatnonzero(totals > 0)
    return np.asarray((rows[:, live] / totals[live]).T), live


def _mixtures(corners: Floats, points: Floats) -> tuple[Floats, Floats]:
    found = [_mixture(corners, point) for point in tracked(points, "mixtures of posteriors")]
    return np.array([weights for weights, _ in found]), np.array([slope for _, slope in found])


def _mixture(corners: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Weights of the mixture of corners nearest to a point in Σ|·|, and the direction that resists."""
    weights, direction = _closest(
        kron(corners.T, np.eye(1)), point, kron(np.ones((1, len(corners))), np.eye(1))
    )
    total = weights.sum()
    return (weights / total if total > 0 else np.full(len(corners), 1.0 / len(corners))), direction
