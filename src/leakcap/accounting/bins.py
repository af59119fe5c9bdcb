"""Batches that split a whole pass over the data: balls in bins, and shuffled. Both as brackets.

A pass has T batches, each answered with Gaussian noise, and a person is in one of them, nobody knows which.
In units of the noise's distance μ, the pair of balls in bins is the mean of N(μe_t, 1) over t against N(0,
1): its ratio is a mean of T independent lognormals, so that δ(γ) = E[(S − γ)₊] comes out of a T-fold
convolution, which grows where masses are spread with their means kept, and falls where they are merged.
Source: Chua, Ghazi, Harrison, Leeman, Kamath, Kumar, Manurangsi, Sinha & Zhang 2025 (the pair dominates);
Choquette-Choo, Ganesh, Haque, Steinke & Thakurta 2025, who sample it; the bracket is derived here.
"""

from __future__ import annotations

import math

import numpy as np

from leakcap.accounting.bracket import LossBracket
from leakcap.accounting.finite import finite_loss
from leakcap.accounting.grid import merged_masses
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.normal import GaussianLoss, normal_cells
from leakcap.accounting.part import UNIT
from leakcap.accounting.table import LossTable, from_pld
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats

__all__ = ["balls_in_bins", "shuffled"]

_POINTS = 1 << 18
_TAIL = 7.2
"""Standard deviations after which the noise of one batch counts as telling all: 3·10⁻¹³."""
_LOG_CELLS = 1 << 14
_ROUNDING = 2.0**-44
_LEVELS = 400


def balls_in_bins(noise: PrivacyLoss, bins: int) -> LossBracket:
    """One pass in which each person's batch is drawn from `bins` ones, apart from all others'.

    For add/remove-one, the side of removal, and Gaussian noise: `noise` is the loss of one batch with the
    person in it for certain. A certified bracket; it is narrow for noise that a single batch does not give
    away, σ ≥ 1 or so.

    >>> from leakcap.mechanism import Gaussian
    >>> found = balls_in_bins(PrivacyLoss.of_mechanism(Gaussian(1.0)), 100).epsilon(1e-5)
    >>> 0.2 < found.lower <= found.upper < 2.0
    True
    """
    mu = _distance(noise, bins, "balls_in_bins")
    if bins == 1:
        return LossBracket((noise,), (noise,))
    top = math.exp(0.5 * mu * mu + _TAIL * mu)
    spread = math.sqrt(bins * math.expm1(min(mu * mu, 50.0)))
    step = (bins + 8.0 * spread + 1.2 * top) / _POINTS
    levels: Floats = np.asarray(step * np.arange(math.floor(top / step) + 2), dtype=np.float64)
    points = np.append(-np.inf, (np.log(levels[1:]) + 0.5 * mu * mu) / mu)
    q, p = normal_cells(points), normal_cells(points - mu)
    ends = [_spread(p, q, levels), _lowered(p, q, levels)]
    high, low = (_summed(masses, levels, bins, step) for masses in ends)
    lower, upper = from_pld(_table(*low, bins, False)), from_pld(_table(*high, bins, True))
    return LossBracket((lower,), (upper, noise))


def shuffled(noise: PrivacyLoss, batches: int) -> LossBracket:
    """One pass over the table in a random order, cut into `batches` of equal size.

    For tables in which one person's record is replaced by one that adds nothing, and Gaussian noise:
    `noise` is the loss of one batch with the person in it for certain. Only a bracket is known. Above: as
    if the batch were known, one query of the pass (by convexity over orders). Below: everybody else adds
    nothing, which is balls in bins, and everybody else adds −1, where the largest batch is looked at.
    Source: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha & Zhang 2024.

    >>> from leakcap.mechanism import Gaussian
    >>> found = shuffled(PrivacyLoss.of_mechanism(Gaussian(0.5)), 1000).epsilon(1e-6)
    >>> 0.99 < found.lower / found.upper < 1.0
    True
    """
    mu = _distance(noise, batches, "shuffled")
    if batches == 1:
        return LossBracket((noise,), (noise,))
    lowers = (*balls_in_bins(noise, batches).lowers, _largest(mu, batches))
    return LossBracket(lowers, (noise,))


def _distance(noise: PrivacyLoss, count: int, function: str) -> float:
    name = "bins" if function == "balls_in_bins" else "batches"
    require(count >= 1, name, function, "be at least 1", count)
    part = noise.parts[0][0]
    if noise.queries != 1 or not isinstance(part, GaussianLoss):
        raise InvalidParameter(
            f"`noise` of `{function}` must be the loss of one query with Gaussian noise. Got {noise!r}."
        )
    require(part.mu <= 4.0, "noise", function, "have a distance of at most 4 standard deviations", part.mu)
    return part.mu


def _spread(p: Floats, q: Floats, levels: Floats) -> Floats:
    """Q's masses moved to the ends of their cells, with their means kept."""
    above = np.clip((p - levels[:-1] * q) / np.diff(levels) * (1.0 + _ROUNDING), 0.0, q)
    return np.asarray(np.append(q - above, 0.0) + np.append(0.0, above), dtype=np.float64)


def _lowered(p: Floats, q: Floats, levels: Floats) -> Floats:
    """Q's masses merged until their means are points of the grid; what finds no partner falls."""
    seen = q > 0.0
    index = np.arange(q.size)[seen]
    means = np.clip(p[seen] / q[seen] * (1.0 - _ROUNDING), levels[:-1][seen], levels[1:][seen])
    return merged_masses(q[seen].tolist(), means.tolist(), index.tolist(), levels)


def _summed(masses: Floats, levels: Floats, bins: int, step: float) -> tuple[Floats, Floats, float]:
    """Of the mean over bins: ratios, P's masses there, and by how much each can be off.

    P draws one bin by size, the others as Q does. What lies beyond the grid is left out.
    """
    total, base, rest = masses * levels, masses, bins - 1
    error = own = 0.0
    while rest:
        if rest & 1:
            total, error = _times(total, error, base, own)
        rest >>= 1
        if rest:
            base, own = _times(base, own, base, own)
    ratios = step * np.arange(total.size) / bins
    return ratios, total, error


def _times(a: Floats, error_a: float, b: Floats, error_b: float) -> tuple[Floats, float]:
    """The convolution up to the last point, and a bound on each entry's error; masses are at most one."""
    size = min(a.size + b.size - 1, _POINTS)
    fast = 1 << math.ceil(math.log2(a.size + b.size))
    both = np.fft.irfft(np.fft.rfft(a, fast) * np.fft.rfft(b, fast), fast)[:size]
    noise = 8.0 * UNIT * math.log2(fast)
    norm_a, norm_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    each = 1.01 * noise * (norm_a + norm_b + 2.0 * norm_a * norm_b)
    error = (error_a + error_b) * 1.01 + error_a * error_b * size + each
    return np.maximum(both, 0.0), error


def _table(ratios: Floats, masses: Floats, error: float, bins: int, pessimistic: bool) -> LossTable:
    """P's masses at ratios as a table of losses, above or below."""
    masses = np.maximum(masses + (error if pessimistic else -error), 0.0)[1:]
    ratios = ratios[1:]
    seen = masses > 0.0
    rounding = _ROUNDING * (bins + 1) * (1.0 if pessimistic else -1.0)  # of each bin's masses
    masses, ratios = masses[seen] * (1.0 + rounding), ratios[seen]
    losses = np.log(ratios)
    bottom = max(float(losses[0]), math.log(1e-4))
    step = (float(losses[-1]) - bottom) / _LOG_CELLS
    first, last = math.floor(bottom / step), math.ceil(float(losses[-1]) / step) + 1
    levels = np.exp(step * np.arange(first, last + 1))
    index = np.clip(np.floor(losses / step).astype(np.intp) - first, 0, last - first - 1)
    q = masses / ratios
    if pessimistic:
        # Below the grid all of it is moved up.
        share = (masses - levels[index] * q) / np.diff(levels)[index]
        share = share * levels[index + 1] + masses * (_ROUNDING / min(math.expm1(step), 1.0))
        share = np.where(losses < step * first, 0.0, np.clip(share, 0.0, masses))
        p = np.bincount(index, masses - share, minlength=levels.size) + np.bincount(
            index + 1, share, minlength=levels.size
        )
        excess = math.fsum([*p.tolist(), -1.0])
        p = np.minimum(p, np.maximum(np.cumsum(p) - max(excess, 0.0), 0.0))
        return LossTable(step, first, p, max(-excess, 0.0), True)
    kept = losses >= step * first
    means = np.clip(ratios[kept] * (1.0 - _ROUNDING), levels[index[kept]], levels[index[kept] + 1])
    at_q = merged_masses(q[kept].tolist(), means.tolist(), index[kept].tolist(), levels)
    return LossTable(step, first, at_q * levels * (1.0 - _ROUNDING), 0.0, False)


def _largest(mu: float, batches: int) -> PrivacyLoss:
    """The largest of T batches, one of them at 2μ under P and at μ under Q: cells of it, which is less to
    see."""
    edges = np.linspace(-3.0, 2.0 * mu + 9.0, _LEVELS)
    tails = [_tail_of_largest(edges, shift, batches) for shift in (2.0 * mu, mu)]
    rows = [np.append(-np.diff(np.append(1.0, tail)), tail[-1]) for tail in tails]
    seen = (rows[0] > 0.0) & (rows[1] > 0.0)
    p, q = (np.append(row[seen], max(1.0 - float(row[seen].sum()), 0.0)) for row in rows)
    return PrivacyLoss(((finite_loss(p, q, units=4096.0), 1),))


def _tail_of_largest(edges: Floats, shift: float, batches: int) -> Floats:
    def log_below(x: Floats) -> Floats:
        above = [0.5 * math.erfc(each / math.sqrt(2.0)) for each in x.tolist()]
        return np.asarray(np.log1p(-np.array(above)), dtype=np.float64)

    return np.asarray(-np.expm1(log_below(edges - shift) + (batches - 1) * log_below(edges)))
