"""Small compositions by brute force: every combination of outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations_with_replacement

import numpy as np

from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.part import UNIT, LossComponent
from leakcap.numeric.logspace import Floats

__all__ = ["BLOCK_ERROR", "Enumeration", "blocks", "enumerate_losses"]

_MOST = 1 << 17
_BLOCK = 1 << 12
BLOCK_ERROR = 1e-11
"""More than the relative error of a block's masses, and than the error of its losses, up to 10⁴ queries."""


class Enumeration:
    """All finite total losses with their probabilities, largest first."""

    def __init__(self, losses: Floats, logs: Floats, queries: int, units: float) -> None:
        """Sort once; `units` is how many halves of a last place all masses together can be off by."""
        order = np.argsort(losses)[::-1]
        self.losses, self.logs, self.queries, self.units = losses[order], logs[order], queries, units

    def delta(self, epsilon: float) -> tuple[float, float]:
        """An enclosure of the finite part of δ(ε)."""
        above = int(np.searchsorted(-self.losses, -epsilon))
        gaps = self.losses[:above] - epsilon
        masses = np.exp(self.logs[:above])
        value = float(np.sum(masses * -np.expm1(-gaps)))
        reach = float(np.abs(self.losses).max(initial=0.0)) + abs(epsilon)
        mass = float(np.sum(masses))
        noise = UNIT * ((64.0 + 16.0 * self.queries) * value + 16.0 * self.queries * reach * mass)
        noise += 3.0 * UNIT * self.units * mass
        return max(value - noise, 0.0), value + noise


def enumerate_losses(parts: Sequence[tuple[LossComponent, int]]) -> Enumeration | None:
    """Every total loss of finite rows, or None where there are more than 131,072 combinations.

    >>> from leakcap.accounting.finite import finite_loss
    >>> enumerate_losses([(finite_loss([0.75, 0.25], [0.25, 0.75]), 3)]).losses.size
    4
    """
    rows = [(part, count) for part, count in parts if isinstance(part, FiniteLoss)]
    if len(rows) < len(parts) or not rows or any(not part.losses for part, _ in rows):
        return None
    size = 1
    for part, count in rows:
        fewer, rest = sorted((count, len(part.losses) - 1))
        size *= _MOST + 1 if fewer > 1 and rest > _MOST else math.comb(fewer + rest, fewer)
        if size > _MOST:
            return None
    losses, logs = np.zeros(1), np.zeros(1)
    for part, count in rows:
        more, weights = _powers(part, count)
        losses = (losses[:, None] + more).reshape(-1)
        logs = (logs[:, None] + weights).reshape(-1)
    units = sum(count * (part.units + part.missing / UNIT) for part, count in rows)
    return Enumeration(losses, logs, sum(count for _, count in rows), units)


def blocks(part: LossComponent, count: int) -> list[tuple[LossComponent, int]]:
    """The same queries in blocks of a few thousand outcomes, for rows of more than two losses.

    Merging on a grid loses little where losses lie dense, and much where they lie alone.

    >>> from leakcap.accounting.finite import finite_loss
    >>> [count for _, count in blocks(finite_loss([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]), 1000)]
    [11, 1]
    """
    if not isinstance(part, FiniteLoss) or len(part.losses) < 3:
        return [(part, count)]
    size = 1
    while size < count and math.comb(size + len(part.losses), len(part.losses) - 1) <= _BLOCK:
        size += 1
    if size == 1:
        return [(part, count)]
    whole, rest = divmod(count, size)
    return [(_block(part, size), whole), *([(_block(part, rest), 1)] if rest else [])]


def _block(part: FiniteLoss, size: int) -> FiniteLoss:
    losses, logs = _powers(part, size)
    order = np.argsort(losses)
    losses, p = losses[order], np.exp(logs[order])
    return FiniteLoss(
        tuple(losses.tolist()),
        tuple(p.tolist()),
        tuple((p * np.exp(-losses)).tolist()),
        -math.expm1(size * math.log1p(-part.infinite)),
        -math.expm1(size * math.log1p(-part.lost)),
        size * part.units,
    )


def _powers(part: FiniteLoss, count: int) -> tuple[Floats, Floats]:
    """Sums of `count` losses by how often each came, with multinomial probabilities."""
    if count == 1:  # a table has a hundred thousand losses
        return np.array(part.losses), np.log(np.array(part.p))
    if count < len(part.losses):
        return _picked(part, count)
    counts = np.zeros((1, 0), dtype=np.int64)
    left = np.array([count])
    for _ in range(len(part.losses) - 1):
        sizes = left + 1
        counts = np.repeat(counts, sizes, axis=0)
        taken = np.arange(len(counts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        left = np.repeat(left, sizes) - taken
        counts = np.column_stack([counts, taken])
    counts = np.column_stack([counts, left])
    factorials = np.array([math.lgamma(k + 1.0) for k in range(count + 1)])
    logs = factorials[count] - factorials[counts].sum(axis=1) + counts @ np.log(np.array(part.p))
    return counts @ np.array(part.losses), logs


def _picked(part: FiniteLoss, count: int) -> tuple[Floats, Floats]:
    """The same where there are more losses than queries: which loss came first, second, …, in order."""
    picks = combinations_with_replacement(range(len(part.losses)), count)
    places = np.fromiter(chain.from_iterable(picks), dtype=np.int64).reshape(-1, count)
    logs, run = np.full(len(places), math.lgamma(count + 1.0)), np.ones(len(places))
    for before, after in zip(places.T, places.T[1:], strict=False):
        run = np.where(before == after, run + 1.0, 1.0)  # a loss that came k times divides by k!
        logs -= np.log(run)
    return np.array(part.losses)[places].sum(axis=1), logs + np.log(np.array(part.p))[places].sum(axis=1)
