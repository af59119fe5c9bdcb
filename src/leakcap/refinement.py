"""Refinement: when one channel never leaks more than another, and what shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.certificate import Proof, certificate_of
from leakcap.channel import Channel
from leakcap.channel.merging import Groups, proportional
from leakcap.errors import InvalidChannel
from leakcap.gain import Gain, matrix
from leakcap.leakage.vulnerability import posterior_vulnerability
from leakcap.numeric.columns_solved import ColumnFactors, dyadic_rows
from leakcap.numeric.logspace import Floats
from leakcap.numeric.programs import diagonal, kron, minimise_linear, stack
from leakcap.progress import tracked

__all__ = ["Refinement", "refines"]

TOLERANCE = 1e-9
"""A witness counts when it rebuilds every entry this closely; a gap when it exceeds 1e-12 of the worth."""

_GAP = 1e-12
_UNIT: float = 2.0**-53

_LARGEST_PROGRAM = 1 << 26
"""Entries of the largest linear program that is written down (1 GiB)."""

_LONGEST = 256
"""Bits of a common denominator up to which integers are multiplied instead of fractions."""

_DENOMINATOR = 10**6
"""Largest denominator tried for an exact post-processing."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """Whether A ⊑ B, with the evidence, checked after the solver and apart from it.

    `holds` is None when neither the witness nor the separation passes its check. `bool()` is True only
    where refinement is shown. `witness_post` turns A's outputs into B's (for the max-case order: B's
    outputs into mixtures of A's posteriors): fractions, or doubles that are multiples of 2⁻⁵², so that its
    rows sum to one without rounding; it rebuilds B within `residual`. `witness_gain` under `witness_prior`
    gives B more than A, by `margin`; on average that is proved, for rows that are scaled to sum to one
    exactly. `tolerance` is 0 where both channels are of fractions and the evidence is exact.
    """

    holds: bool | None
    residual: float
    margin: float
    tolerance: float = TOLERANCE
    max_case: bool = False
    witness_post: Channel | None = field(default=None, repr=False)
    witness_gain: Gain | None = field(default=None, repr=False)
    witness_prior: Floats | None = field(default=None, repr=False)
    proof: Proof | None = field(default=None, repr=False)

    def certificate(self) -> dict[str, Any]:
        """The distance min over R of max |A·R − B|, with what shows it: JSON for `leakcap-verify`.

        Its upper end is how closely the witness rebuilds B, exactly 0 for a proof in fractions; its lower
        end is above 0 where a gain shows that no R does. The max-case order is only stated.

        >>> a, post = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.75, 0.25], [0.25, 0.75]])
        >>> refines(a >> post, a).certificate()["kind"]
        'refines'
        """
        source = "McIver, Meinicke & Morgan 2010; Alvim et al. 2012"
        post, gain = self.witness_post, self.witness_gain
        low, high = 0.0, 1.0
        if post is not None:
            high = 0.0 if self.tolerance == 0.0 else self.residual + post.shape[0] * 2.0**-48
        proof = None
        if self.proof is not None and not self.max_case:
            table = None if gain is None or post is not None else gain.table
            prior = None if table is None else self.witness_prior
            if table is not None and prior is not None:
                # The checker divides by the same, in fractions; a millionth is more than all roundings here.
                most = self.proof.given["b"].shape[1] * float((table @ prior).max())
                low = max(self.margin / most * (1.0 - 1e-6), 0.0)
            proof = replace(self.proof, witness={"post": post, "gain": table, "prior": prior})
        return certificate_of(proof, (low, high), unit="probability", method="refinement", source=source)

    def __bool__(self) -> bool:
        """True only where refinement is shown."""
        return self.holds is True


def refines(a: Channel, b: Channel, *, max_case: bool = False) -> Refinement:
    """Whether B never leaks more than A (A ⊑ B), with a witness either way.

    Average case: for every prior and gain, iff B = A·R for a stochastic R; when not, duality gives a gain
    g and the uniform prior with V_g(B) > V_g(A). Max-case: for every prior and every quasi-convex
    vulnerability, iff each posterior of B is a mixture of posteriors of A; when not, a separating
    hyperplane is such a gain. A witness must rebuild B within 1e-9 an entry; for two channels of fractions
    the average case is decided exactly where the evidence rounds to fractions that prove it. What has one
    candidate for R is decided by a factorisation; a linear program is asked only elsewhere.
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
    found = _max_case(a, b) if max_case else _average(a, b)
    return replace(found, proof=Proof("refines", {"a": a, "b": b}))


def _average(a: Channel, b: Channel) -> Refinement:
    """Factorisation first: it decides wherever the post-processing is unique; a linear program comes last.

    A gap ends the search where it shows that no R rebuilds B within the tolerance: ⟨G, B − AR⟩ ≤ 1e-9·Σ|G|.
    """
    exact = _both_exact(a, b)
    residual, narrow = math.inf, None
    for post, direction in _proposals(a, b, exact is not None):
        witness = dyadic_rows(post)
        left = _residual(a.matrix, witness, b.matrix)
        residual = min(residual, left)
        gain = None if direction is None else matrix(_lifted(direction), actions=b.outputs)
        if exact is not None:
            proven = _in_fractions(a, b, exact, post, gain)
            if proven is not None:
                return replace(proven, residual=0.0 if proven.holds else residual)
            continue
        if left <= TOLERANCE:
            return _shown(a, b, witness, left)
        if direction is not None and gain is not None:
            margin = _proved_margin(a, b, gain)
            if margin * a.shape[0] > TOLERANCE * float(np.abs(direction).sum()):
                return _not_shown(a, residual, margin, gain)
            narrow = _not_shown(a, residual, margin, gain) if margin > _GAP else narrow
    if exact is not None and left <= TOLERANCE:
        return _shown(a, b, witness, left)
    return Refinement(None, residual, 0.0) if narrow is None else narrow


def _proposals(a: Channel, b: Channel, exact: bool) -> Iterator[tuple[Floats, Floats | None]]:
    """Post-processings and directions that resist, the cheap ones first; the last is a linear program's."""
    if a.shape == b.shape and np.abs(a.matrix - b.matrix).max() <= TOLERANCE:
        yield np.eye(a.shape[1]), None
    groups, firsts = _merged(a)
    rows, targets = _columns(a.matrix, groups, len(firsts)), b.matrix
    factors = ColumnFactors(rows)

    def spread(weights: Floats) -> Floats:
        """Weights of the columns that are not zero, as rows for all outputs of A."""
        whole = np.zeros((rows.shape[1], targets.shape[1]))
        whole[factors.live] = weights
        return np.asarray(np.vstack([whole, np.zeros((1, targets.shape[1]))])[groups])

    weights = factors.weights(targets)
    direction = factors.resisting(targets, weights)
    yield spread(weights), _scaled(direction)
    if not factors.unique and not exact:
        weights, found = factors.reflected(targets, TOLERANCE)
        yield spread(weights), None if found is None else _scaled(found)
    size = rows.size * targets.shape[1]
    if size > _LARGEST_PROGRAM:
        raise InvalidChannel(
            f"`refines` needs a linear program here, which may have at most {_LARGEST_PROGRAM} entries. Got "
            f"{size}, for channels of shapes {a.shape} and {b.shape}. "
            "Merge outputs, or take fewer secrets (`Channel.restricted`)."
        )
    nearest, direction = _nearest(rows, targets)
    yield spread(nearest[factors.live]), direction


def _merged(a: Channel) -> Groups:
    """Proportional columns of A as one: what one of them shows, the others show."""
    exact = a.as_exact()
    return proportional(a.matrix if exact is None else exact)


def _columns(rows: Floats, groups: NDArray[np.intp], count: int) -> Floats:
    kept = groups >= 0
    sums = np.zeros((count, rows.shape[0]))
    np.add.at(sums, groups[kept], rows.T[kept])
    return sums.T


def _scaled(direction: Floats) -> Floats | None:
    """With entries up to one, as multiples of 2⁻⁴⁰: short rationals; None where nothing resists."""
    most = float(np.abs(direction).max(initial=0.0))
    if not 0.0 < most < math.inf:
        return None
    return np.asarray(np.round(direction / most * 2.0**40) / 2.0**40)


def _both_exact(a: Channel, b: Channel) -> tuple[NDArray[Any], NDArray[Any]] | None:
    rows_a, rows_b = a.as_exact(), b.as_exact()
    return None if rows_a is None or rows_b is None else (rows_a, rows_b)


def _shown(a: Channel, b: Channel, witness: Floats, residual: float) -> Refinement:
    return Refinement(True, residual, 0.0, witness_post=Channel(witness, inputs=a.outputs, outputs=b.outputs))


def _not_shown(
    a: Channel, residual: float, margin: float, gain: Gain, tolerance: float = TOLERANCE
) -> Refinement:
    uniform = np.full(a.shape[0], 1.0 / a.shape[0])
    return Refinement(False, residual, margin, tolerance=tolerance, witness_gain=gain, witness_prior=uniform)


def _unsure(rows: Floats) -> float:
    """How far, relatively, a row may be from the one that sums to one exactly, with each entry rounded."""
    off = float(np.abs(rows.sum(axis=1) - 1.0).max())
    roundings: int = rows.shape[1] + 2
    return off + 2.0 * roundings * _UNIT


def _residual(rows: Floats, post: Floats, targets: Floats) -> float:
    """max |A·R − B| of rows that sum to one exactly, rounded up."""
    spare: float = 4.0 * _UNIT * (rows.shape[1] + 4) + 2.0 * (_unsure(rows) + _unsure(targets))
    off: float = np.abs(rows @ post - targets).max()
    return float(off) + spare


def _proved_margin(a: Channel, b: Channel, gain: Gain) -> float:
    """V_g(B) − V_g(A) under the uniform prior, less all that rounding can have added; > 0 proves it.

    A sum of n products of non-negative doubles is off by n units in the last place at most, relatively,
    in any order (Higham 2002, §3.1); products that underflow by 2⁻¹⁰⁷⁴ each.
    """
    table = np.asarray(gain.table, dtype=np.float64)
    worth, unsure = [], 0.0
    for rows in (a.matrix, b.matrix):
        value = float((table @ rows).max(axis=0).sum())
        relative = 2.0 * ((sum(rows.shape) + 8.0) * _UNIT + _unsure(rows))
        unsure += relative * value + float(rows.size) * 2.0**-1072 * max(1.0, float(table.max()))
        worth.append(value)
    return (worth[1] - worth[0] - unsure) / float(a.shape[0])


def _in_fractions(
    a: Channel, b: Channel, exact: tuple[NDArray[Any], NDArray[Any]], post: Floats, gain: Gain | None
) -> Refinement | None:
    """A proof without rounding, for two channels of fractions: an exact R, or an exact gap."""
    rows_a, rows_b = exact
    guess = _rounded_post(post)
    if (guess.sum(axis=1) == 1).all() and (guess >= 0).all() and _rebuilds(rows_a, guess, rows_b):
        witness = Channel(guess, inputs=a.outputs, outputs=b.outputs)
        return Refinement(True, 0.0, 0.0, tolerance=0.0, witness_post=witness)
    if gain is None:
        return None
    margin = _proved_margin(a, b, gain)
    if margin <= 0:
        table = np.array([[Fraction(v) for v in row] for row in gain.table.tolist()])
        high, low = (sum(map(max, (table @ rows).T), Fraction(0)) for rows in (rows_b, rows_a))
        margin = float((high - low) / a.shape[0])
        if high <= low:
            return None
    return _not_shown(a, 0.0, margin, gain, tolerance=0.0)


def _rounded_post(post: Floats) -> NDArray[Any]:
    """Rows divided by their sums, as fractions of small denominators."""
    kept = np.maximum(np.where(np.isfinite(post), post, 0.0), 0.0)
    totals = kept.sum(axis=1, keepdims=True)
    first = np.zeros_like(kept)
    first[:, 0] = 1.0
    kept = np.where(totals > 0, kept / np.where(totals > 0, totals, 1.0), first)
    return np.array([[Fraction(v).limit_denominator(_DENOMINATOR) for v in row] for row in kept.tolist()])


def _rebuilds(rows: NDArray[Any], post: NDArray[Any], targets: NDArray[Any]) -> bool:
    """Whether A·R = B, in integers over one denominator a matrix where those are short."""
    scales = [math.lcm(*(v.denominator for v in part.flat)) for part in (rows, post)]
    if max(scales).bit_length() > _LONGEST:
        return bool((rows @ post == targets).all())
    left, right = (
        np.array([[v.numerator * (scale // v.denominator) for v in row] for row in part], dtype=object)
        for part, scale in zip((rows, post), scales, strict=True)
    )
    return bool((left @ right == targets * (scales[0] * scales[1])).all())


def _separated(a: Channel, b: Channel, gain: Gain, residual: float, *, size: int) -> Refinement:
    """The max-case answer where a gain tells the channels apart, None where it does not."""
    uniform = np.full(a.shape[0], 1.0 / a.shape[0])
    high = posterior_vulnerability(b, uniform, gain, max_case=True)
    margin = high - posterior_vulnerability(a, uniform, gain, max_case=True)
    if margin <= _GAP * max(1.0, high) + size * 2.0**-52 * high:
        return Refinement(None, residual, max(margin, 0.0), max_case=True)
    return Refinement(False, residual, margin, max_case=True, witness_gain=gain, witness_prior=uniform)


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
        hull = np.zeros((b.shape[1], a.shape[1]))
        hull[np.ix_(seen, live)] = mixture
        witness = Channel(dyadic_rows(hull), inputs=b.outputs, outputs=a.outputs)
        return Refinement(True, residual, 0.0, max_case=True, witness_post=witness)
    worst = int(np.argmax((direction * points).sum(axis=1) - (direction @ corners.T).max(axis=1)))
    slope = direction[worst]
    level = float((corners @ slope).max())
    # Actions "take the bet" and "keep what A's best posterior would pay": only B's posterior takes it.
    table = np.array([slope, np.full_like(slope, level)])
    gain = matrix(table - table.min(), actions=["bet", "keep"])
    return _separated(a, b, gain, residual, size=len(slope))


def _posteriors(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    totals = rows.sum(axis=0)
    live = np.flatnonzero(totals > 0)
    return np.asarray((rows[:, live] / totals[live]).T), live


def _mixtures(corners: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Mixtures nearest to the points and directions that resist: unique ones at once, others one by one."""
    factors = ColumnFactors(corners.T)
    found = factors.weights(points.T)
    slopes = factors.resisting(points.T, found).T
    weights = np.zeros((len(points), len(corners)))
    weights[:, factors.live] = np.maximum(found.T, 0.0)
    weights = dyadic_rows(weights)
    left = np.abs(weights @ corners - points).max(axis=1)
    gaps = (slopes * points).sum(axis=1) - (slopes @ corners.T).max(axis=1)
    unclear = np.flatnonzero((left > TOLERANCE) & (gaps <= TOLERANCE * np.abs(slopes).sum(axis=1)))
    if len(unclear) and len(unclear) + (left <= TOLERANCE).sum() < len(points):
        return weights, slopes  # one posterior that is separated answers for all
    for at in tracked(unclear, "mixtures of posteriors"):
        weights[at], slopes[at] = _mixture(corners, points[at])
    return dyadic_rows(weights), slopes


def _mixture(corners: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Weights of the mixture of corners nearest to a point in Σ|·|, and the direction that resists."""
    weights, direction = _closest(
        kron(corners.T, np.eye(1)), point, kron(np.ones((1, len(corners))), np.eye(1))
    )
    total = weights.sum()
    return (weights / total if total > 0 else np.full(len(corners), 1.0 / len(corners))), direction
