"""Composition on the grid: an exponentially tilted FFT whose every error is bounded."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.accounting.contour import log_kernel_peak, log_mean, saddle_for_delta, saddle_for_epsilon
from leakcap.accounting.exact import BLOCK_ERROR, blocks
from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.grid import GridLoss, above, below
from leakcap.accounting.lattice import common_lattice
from leakcap.accounting.part import UNIT, Part
from leakcap.numeric.logspace import Floats

__all__ = ["Bracket", "GridSum", "bracket_around"]

Parts = Sequence[tuple[Part, int]]

_MOST_POINTS = 1 << 20
_LOG_NEGLIGIBLE = -36.0
_WIDTH = 2e-4
_SLACK = 2.0**-45
_ORDERS = [2.0**k for k in range(-2, 13)]


@dataclass(frozen=True, eq=False)
class GridSum:
    """Masses e^{cx − log_total}·P of the total loss on the grid, each within `error`, and what is left out.

    `outside` bounds the tilted mass beyond the window, which wraps around into it.
    """

    c: float
    start: float
    step: float
    masses: Floats
    log_total: float
    error: float
    outside: float
    infinite: float
    slack: float

    def delta(self, epsilon: float, *, upward: bool) -> float:
        """A bound on δ(ε) of the grid's loss, from above or from below; infinite losses included."""
        sign = 1.0 if upward else -1.0
        epsilon -= sign * self.slack
        begin = max(math.floor((epsilon - self.start) / self.step) + 1, 0)
        end = min(self.masses.size, begin + math.ceil((60.0 / self.c + 60.0) / self.step))
        x = self.start + np.arange(begin, end) * self.step - epsilon
        payoff = np.exp(-self.c * x) * -np.expm1(-np.maximum(x, 0.0))
        total = float(payoff @ np.maximum(self.masses[begin:end] + sign * self.error, 0.0))
        total += sign * (self.outside * math.exp(log_kernel_peak(self.c)) + total * x.size * UNIT)
        if upward and end < self.masses.size:
            total += math.exp(-60.0)
        finite = math.exp(min(self.log_total - self.c * epsilon, 700.0)) * max(total, 0.0)
        return min(max(self.infinite + finite, 0.0), 1.0)


@dataclass(frozen=True)
class Bracket:
    """Both ends: a loss on the grid above and one below."""

    upper: GridSum
    lower: GridSum

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of δ(ε)."""
        high = self.upper.delta(epsilon, upward=True)
        return min(self.lower.delta(epsilon, upward=False), high), high


def bracket_around(
    parts: Parts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    c: float | None = None,
    width: float = _WIDTH,
    points: int = _MOST_POINTS,
) -> Bracket:
    """A bracket that is good near one ε, or near the ε of one δ, and valid everywhere.

    `width` is the width in ε that the step is chosen for, `points` the most points of the grid; with
    neither ε nor δ the tilt is `c`, 0 for P's own masses.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> low, high = bracket_around([(GaussianLoss(1.0), 1)], epsilon=1.0).delta(1.0)
    >>> low <= 0.12693673750664397 <= high < 0.12694
    True
    """
    if delta is not None:
        c, epsilon = saddle_for_delta(parts, delta)
    elif epsilon is not None:
        c = saddle_for_epsilon(parts, epsilon)
    c, epsilon = c or 0.0, epsilon or 0.0
    goal = log_mean(parts, c) - math.log1p(c) - (math.log1p(1.0 / c) if c else 0.0) + _LOG_NEGLIGIBLE
    right, left = _reach(parts, c, goal)
    total = sum(count for _, count in parts)
    step = _fit(parts, _step(parts, c, total, width, right - left, points))
    low, high = _single_reach(parts, c, goal, goal - c * epsilon, total)
    widths = [min(part.support()[1], high) - max(part.support()[0], low) for part, _ in _dense(parts)]
    step = max(step, 2.0 * sum(widths) / points, (high - low) / points)
    slack = 0.0
    if common_lattice(parts) is None:
        grouped = [item for part, count in parts for item in blocks(part, count)]
        slack = BLOCK_ERROR * sum(count for part, count in grouped) * (list(parts) != grouped)
        low, high = (
            (low, high) if slack == 0.0 else _single_reach(grouped, c, goal, goal - c * epsilon, total)
        )
        parts = grouped
    uppers = [(above(part, step, low, high).scaled(1.0 + slack), count) for part, count in parts]
    lowers = [(below(part, step, low, high).scaled(1.0 - slack), count) for part, count in parts]
    left, right = _widened(parts, uppers, left - 2.0 * step, right + 2.0 * step)
    size = 1 << max(4, math.ceil(math.log2((right - left) / step + 16.0)))
    outside = _outside(uppers, c, left, right)
    return Bracket(*(_convolve(rows, c, step, left, size, outside, slack) for rows in (uppers, lowers)))


def _dense(parts: Parts) -> list[tuple[Part, int]]:
    return [item for item in parts if not isinstance(item[0], FiniteLoss)]


def _tilts(c: float) -> list[float]:
    return [(1.0 + c) * 2.0**k for k in range(-6, 9)]


def _falls(c: float) -> list[float]:
    """Orders c − s outside (−1, 0): there the loss above has the larger transform of the two."""
    return [c * f for f in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0) if c] + [c + 2.0**k for k in range(8)]


def _reach(parts: Parts, c: float, goal: float) -> tuple[float, float]:
    """Ends between which all but a negligible part of the tilted mass lies (Chernoff)."""
    rights = [(log_mean(parts, c + s) - goal) / s for s in _tilts(c)]
    lefts = [(goal - log_mean(parts, c - s)) / s for s in _falls(c)]
    bottom = sum(count * part.support()[0] for part, count in parts)
    top = sum(count * part.support()[1] for part, count in parts)
    right = min([v for v in rights if not math.isnan(v)] + [top + 1e-9 * abs(top)])
    left = max([v for v in lefts if not math.isnan(v)] + [bottom - 1e-9 * abs(bottom)])
    return max(right, left + 1e-6), left


def _widened(
    parts: Parts, rows: Sequence[tuple[GridLoss, int]], left: float, right: float
) -> tuple[float, float]:
    """Where the window reaches all losses, it reaches those of the grid, a step farther each."""
    if left <= sum(count * part.support()[0] for part, count in parts):
        left = min(left, sum(count * float(row.losses[0]) for row, count in rows) - rows[0][0].step)
    if right >= sum(count * part.support()[1] for part, count in parts):
        right = max(right, sum(count * float(row.losses[-1]) for row, count in rows) + rows[0][0].step)
    return left, right


def _single_reach(parts: Parts, c: float, goal: float, log_least: float, total: int) -> tuple[float, float]:
    """Ends beyond which no single loss matters.

    On the right as P's mass, below e^`log_least` for all; on the left where either that is so, or all the
    mass there, if it stood at the end, would weigh less than e^goal of the tilted mean.
    """
    level = log_least - math.log(total)
    lost = goal - log_mean(parts, c) - math.log(total)
    lows, highs = [], []
    for part, _ in parts:
        bottom, top = part.support()
        single = [(part, 1)]
        if math.isinf(top):
            top = min((log_mean(single, s) - level) / s for s in _ORDERS)
        if math.isinf(bottom):
            bottom = max((level - log_mean(single, -s)) / s for s in _ORDERS)
            if c > 0.0:
                bottom = max(bottom, (log_mean(single, c) + lost) / c)
        lows.append(bottom)
        highs.append(top)
    return min(lows), max(highs)


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


def _outside(
    rows: Sequence[tuple[GridLoss, int]], c: float, left: float, right: float
) -> tuple[float, float]:
    """ln of the tilted mass beyond each end, before normalisation, by Chernoff on the grid's own losses."""

    def mean(s: float) -> float:
        return sum(count * row.log_mean(s) for row, count in rows)

    rights = min(mean(c + s) - s * right for s in _tilts(c)[::2])
    if right >= sum(count * float(row.losses[-1]) for row, count in rows):
        rights = -math.inf
    lefts = min(mean(c - s) + s * left for s in _falls(c))
    if left <= sum(count * float(row.losses[0]) for row, count in rows):
        lefts = -math.inf
    return lefts, rights


def _convolve(
    rows: Sequence[tuple[GridLoss, int]],
    c: float,
    step: float,
    left: float,
    size: int,
    outside: tuple[float, float],
    loose: float,
) -> GridSum:
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
    lost = math.exp(min(outside[0] - log_total, 0.0)) + math.exp(min(outside[1] - log_total, 0.0))
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
