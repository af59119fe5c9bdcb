"""Composition on the grid: an exponentially tilted FFT whose every error is bounded."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np

from leakcap.accounting.contour import chernoff, chernoff_for, saddle_for_epsilon, saddle_of
from leakcap.accounting.exact import BLOCK_ERROR, blocks
from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.grid import GridLoss, rounded_down, rounded_up
from leakcap.accounting.gridsum import Bracket, GridSum
from leakcap.accounting.lattice import common_lattice
from leakcap.accounting.part import UNIT, LossComponent
from leakcap.accounting.window import Means, of_one, of_sum, outside
from leakcap.errors import LeakcapError
from leakcap.numeric.logspace import Floats

__all__ = ["OffTheGrid", "bracket_around", "convolved"]

Parts = Sequence[tuple[LossComponent, int]]

_MOST_POINTS = 1 << 20
_NEGLIGIBLE = 1e-12
_ASIDE = 22.0
"""ln of how much more of the tilted mass is kept: it is weighed against Chernoff's bound, not against δ."""
_NEAR = 0.2
"""Of the window: so much more is cheap."""
_WIDTH = 2e-4
_SLACK = 2.0**-45
_MOST_LOSS = 700.0
"""e to this is still a double: the grid works with odds."""
_OFF = (
    "Losses above 700 nats do not fit on a grid. Ask `PrivacyLoss.epsilon` or `delta`, which go another way."
)


class OffTheGrid(LeakcapError):
    """Losses so large that a double cannot hold the odds that they stand for."""


def bracket_around(
    parts: Parts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    c: float | None = None,
    width: float = _WIDTH,
    points: int = _MOST_POINTS,
    negligible: float = _NEGLIGIBLE,
) -> Bracket:
    """A bracket that is good near one ε, or near the ε of one δ, and valid everywhere. Raises `OffTheGrid`.

    `width` is the width in ε that the step is chosen for, `points` the most points of the grid, `negligible`
    the share of δ that may be left out. The tilt is `c`, or what suits ε or δ, or 0 for P's own masses. With
    both, δ says what is negligible and ε where the grid is good.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = bracket_around([(GaussianLoss(1.0), 1)], epsilon=1.0).delta(1.0)
    >>> low <= 0.12693673750664397 <= high < 0.12694
    True
    """
    total, share = sum(count for _, count in parts), math.log(negligible)
    low, high = of_one(parts, share + _log_size(parts, epsilon, delta))
    means = Means(parts, low, high)
    if c is None and epsilon is not None:
        c = saddle_of(means, epsilon)
    elif c is None and delta is not None:
        c = chernoff_for(means, delta)[0]
    c = c or 0.0
    goal = means(c) - math.log1p(c) - (math.log1p(1.0 / c) if c else 0.0) + share - _ASIDE
    left, right = of_sum(means, c, goal)
    low = max(low, means.bottom_at(c, goal - means(c) - math.log(total)))
    step = _fit(parts, _step(parts, c, total, width, right - left, points))
    widths = [min(part.support()[1], high) - max(part.support()[0], low) for part, _ in _dense(parts)]
    step = max(step, 2.0 * sum(widths) / points, (high - low) / points)
    if high + 2.0 * step > _MOST_LOSS:
        raise OffTheGrid(_OFF)
    slack = 0.0
    if common_lattice(parts) is None:
        grouped = [item for part, count in parts for item in blocks(part, count)]
        slack = BLOCK_ERROR * sum(count for part, count in grouped) * (list(parts) != grouped)
        if slack > 0.0:
            low, high = of_one(grouped, share + _log_size(parts, epsilon, delta))
        parts = grouped
    uppers = [(rounded_up(part, step, low, high).scaled(1.0 + slack), count) for part, count in parts]
    lowers = [(rounded_down(part, step, low, high).scaled(1.0 - slack), count) for part, count in parts]
    left, right = _widened(means, uppers, left - 2.0 * step, right + 2.0 * step)
    size = 1 << max(4, math.ceil(math.log2((right - left) / step + 16.0)))
    return Bracket(*(convolved(rows, c, step, left, right, size, slack) for rows in (uppers, lowers)))


def _log_size(parts: Parts, epsilon: float | None, delta: float | None) -> float:
    """ln δ where it is known, else Chernoff's bound on it: losses rarer than a share of it do not count."""
    if delta is not None:
        return math.log(delta)
    if epsilon is None:
        return 0.0
    return min(chernoff(parts, epsilon, saddle_for_epsilon(parts, epsilon)), 0.0)


def _dense(parts: Parts) -> list[tuple[LossComponent, int]]:
    return [item for item in parts if not isinstance(item[0], FiniteLoss)]


def _widened(
    means: Means, rows: Sequence[tuple[GridLoss, int]], left: float, right: float
) -> tuple[float, float]:
    """Where the window nearly reaches all losses, it reaches those of the grid, so that none is left out."""
    near, step = _NEAR * (right - left), rows[0][0].step
    if left - near <= means.bottom:
        left = min(left, sum(count * float(row.losses[0]) for row, count in rows) - step)
    if right + near >= means.top:
        right = max(right, sum(count * float(row.losses[-1]) for row, count in rows) + step)
    return left, right


def _step(parts: Parts, c: float, total: int, width: float, span: float, points: int) -> float:
    wanted = math.sqrt(1.2 * width / ((1.0 + c) * total))
    if sum(1 for part, _ in parts if part.atoms().losses.size) > 1:
        # Atoms of several kinds do not all lie on one grid, which costs the lower end order 3/2.
        wanted *= 0.4
    spans = [high - low for low, high in (part.support() for part, _ in parts) if high > low]
    return max(min(wanted, span / 1024.0, min(spans, default=1.0) / 8.0), span / (points - 32))


def _fit(parts: Parts, step: float) -> float:
    """A step that divides the distance of the extreme atoms of the most frequent loss."""
    part = max(parts, key=lambda item: (item[1], item[0].atoms().losses.size))[0]
    losses = part.atoms().losses
    gap = float(losses[-1] - losses[0]) if losses.size > 1 else 0.0
    if gap < step:
        return step
    finest = float(np.diff(losses).min())
    base = finest if finest >= step else gap
    return base / math.floor(base / step) if base / step < 2**40 else step


def convolved(
    rows: Sequence[tuple[GridLoss, int]],
    c: float,
    step: float,
    left: float,
    right: float,
    size: int,
    loose: float,
) -> GridSum:
    """The sum of losses on one grid, tilted by e^{cx}, on `size` points from `left` on."""
    beyond = outside(rows, c, left, right)
    product = np.zeros(size // 2 + 1, dtype=np.complex128)
    log_slack = np.zeros(size // 2 + 1)
    relative = np.zeros(size // 2 + 1)
    noise = 8.0 * UNIT * math.log2(size)
    log_total, shift, offset, finite, count_all = 0.0, 0, 0.0, 0.0, 0
    singles: list[Floats] = []
    tilted: list[tuple[Floats, int, float]] = []
    for row, count in rows:
        level = row.log_mean(c)
        with np.errstate(divide="ignore", under="ignore"):
            values = np.exp(np.log(row.masses) + c * row.losses - level)
        if count == 1:
            singles.append(values)
        else:
            tilted.append((values, count, noise))
        log_total += count * level
        shift += count * row.first
        offset += count * row.offset
        finite += count * math.log1p(-row.infinite) if row.infinite < 1.0 else -math.inf
        count_all += count
    merged = _multiplied(singles, size)
    alone = len(merged) == 1 and not tilted
    tilted.extend((values, 1, noise + error * values.size) for values, error in merged)
    for values, count, inexact in tilted:
        transform = np.fft.rfft(_wrapped(values, size))
        magnitude = np.abs(transform)
        product += count * np.log(np.where(magnitude > 0, transform, 1e-300))
        log_slack += count * np.log1p(inexact / np.maximum(magnitude, 1e-300))
        relative += count * inexact / (magnitude + inexact)
    with np.errstate(under="ignore", over="ignore"):
        values = np.exp(product)
        errors = np.exp(np.minimum(product.real + log_slack, 1.0)) * np.minimum(
            relative + 8.0 * UNIT * count_all, 1.0
        )
    error = float(2.0 * errors.mean()) + noise * float(2.0 * np.abs(values).mean())
    masses = np.fft.irfft(values, size)
    if alone:
        masses, error = _wrapped(merged[0][0], size), merged[0][1] * (1.0 + merged[0][0].size / size)
    origin = math.floor((left - offset) / step)
    masses = np.roll(masses, (shift - origin) % size)
    start = offset + origin * step
    lost = math.exp(min(beyond[0] - log_total, 0.0)) + math.exp(min(beyond[1] - log_total, 0.0))
    slack = loose + count_all * _SLACK + abs(offset) * 8 * UNIT + abs(start) * 8 * UNIT
    return GridSum(c, start, step, masses, log_total, error, lost, -math.expm1(finite), slack)


def _multiplied(rows: list[Floats], size: int) -> list[tuple[Floats, float]]:
    """Convolutions of short rows two by two, shortest first, up to `size`; with bounds on max |error|.

    An FFT's output errs by at most 8u·log₂N·Σ|x|; the mean over frequencies of |â| is at most ‖a‖₂, and
    that of |âb̂| at most ‖a‖₂‖b‖₂. Rows sum to one, so entrywise errors add up.
    """
    heap = [(row.size, index, row, 0.0) for index, row in enumerate(rows)]
    heapq.heapify(heap)
    index, done = len(heap), []
    while len(heap) > 1:
        _, _, a, error_a = heapq.heappop(heap)
        _, _, b, error_b = heapq.heappop(heap)
        length = a.size + b.size - 1
        if length > size:
            done.extend([(a, error_a), (b, error_b)])
            continue
        fast = 1 << math.ceil(math.log2(max(length, 2)))
        both = np.fft.irfft(np.fft.rfft(a, fast) * np.fft.rfft(b, fast), fast)[:length]
        noise = 8.0 * UNIT * math.log2(fast)
        norm_a, norm_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        each = 1.01 * noise * (norm_a + norm_b + 2.0 * norm_a * norm_b)
        error = (error_a + error_b) * (1.0 + 1e-9) + error_a * error_b * length + each
        heapq.heappush(heap, (length, index, np.maximum(both, 0.0), error))
        index += 1
    return [*done, *((row, error) for _, _, row, error in heap)]


def _wrapped(masses: Floats, size: int) -> Floats:
    if masses.size <= size:
        return masses if masses.size == size else np.concatenate([masses, np.zeros(size - masses.size)])
    rows = -(-masses.size // size)
    return np.asarray(
        np.concatenate([masses, np.zeros(rows * size - masses.size)]).reshape(rows, size).sum(axis=0)
    )
