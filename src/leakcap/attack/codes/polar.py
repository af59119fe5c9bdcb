"""Polar codes with repetition, for fields of some dozen to some thousand bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.attack.codes.code import Bits, Code, Readings
from leakcap.attack.codes.polar_design import chosen_bits, combined_means, even_repeats, evolved_means
from leakcap.attack.codes.polar_list import ListDecoder
from leakcap.attack.codes.polar_tree import Masks, plant, transformed
from leakcap.attack.codes.use import Use
from leakcap.errors import require
from leakcap.progress import tracked

__all__ = ["MOST_POLAR_BITS", "PolarCode", "PolarDesign", "polar_code", "polar_design"]

MOST_POLAR_BITS = 2048
"""Beyond, belief propagation on long codes comes nearer to the capacity."""

_LOCAL = 64
"""A frozen position is a random parity where some bit of its block of so many carries message, else zero:
parities in long frozen blocks cost time, and changed no measured error rate."""
_MEMORY = 64
"""A random parity is of the last so many message bits, one word a path."""
_AT_ONCE = 1 << 20
"""Ratios held at a time: what the second cache of a core takes."""


@dataclass(frozen=True)
class PolarDesign:
    """`size` symbols of the transform, a choice with a `tilt` to Reed-Muller, and `paths` in the list."""

    size: int
    tilt: float
    paths: int

    def __post_init__(self) -> None:
        require(self.size.bit_count() == 1, "size", "PolarDesign", "be a power of two", self.size)
        require(self.paths >= 1, "paths", "PolarDesign", "be at least 1", self.paths)
        require(math.isfinite(self.tilt), "tilt", "PolarDesign", "be finite", self.tilt)


class PolarCode(Code):
    """A polar code whose frozen bits are parities of earlier message bits, and whose symbols repeat.

    `carriers` are the positions of the message bits in the transform, in order; `masks` says of every other
    position which of the last 64 message bits it is the parity of (lowest bit: the last); `repeats` how often
    each symbol is sent. Such parities thin out the words of small weight, so that a long list comes close to
    the best code.

    Source: Arıkan 2009 and 2019; Tal & Vardy 2015; Trifonov & Miloslavskaya 2016.

    >>> code = PolarCode(np.array([1, 3]), np.zeros(4, dtype=np.uint64), np.array([1, 1, 1, 2]), 4)
    >>> code.encode(np.array([[1, 0], [0, 1]], dtype=np.uint8))
    array([[1, 1, 0, 0, 0],
           [1, 1, 1, 1, 1]], dtype=uint8)
    >>> code.decode([[3.0, 3.0, -3.0, -3.0, 1.0]]).messages
    array([[1, 0]], dtype=uint8)
    """

    def __init__(
        self, carriers: NDArray[np.int64], masks: Masks, repeats: NDArray[np.int64], paths: int
    ) -> None:
        size = masks.size
        require(repeats.size == size, "repeats", "PolarCode", f"be {size} in number", repeats.size)
        self._carries = np.isin(np.arange(size), carriers)
        self._masks = np.where(self._carries, np.uint64(0), masks)
        self._ends = np.cumsum(repeats)
        self._where = np.repeat(np.arange(size), repeats)
        self._tree = plant(self._carries, self._masks)
        self._paths = paths

    @property
    def name(self) -> str:
        """With the size of the transform and of the list."""
        return f"polar {self._masks.size}, list of {self._paths}"

    @property
    def bits(self) -> int:
        """As many as there are carriers."""
        return int(self._carries.sum())

    @property
    def uses(self) -> int:
        """The sum of the repeats."""
        return int(self._where.size)

    def encode(self, messages: Bits) -> Bits:
        """The transform of message and parities, with repetition."""
        rows = self.checked_messages(messages)
        before = np.zeros((rows.shape[0], self._masks.size), dtype=np.uint8)
        past = np.zeros(rows.shape[0], dtype=np.uint64)
        taken = 0
        for i in np.flatnonzero(self._carries | (self._masks > 0)):
            if self._carries[i]:
                before[:, i] = rows[:, taken]
                past = (past << np.uint64(1)) | rows[:, taken]
                taken += 1
            else:
                before[:, i] = np.bitwise_count(past & self._masks[i]) & np.uint8(1)
        return transformed(before)[:, self._where]

    def decode(self, ratios: ArrayLike) -> Readings:
        """The best of the list; its confidence is its share of the likelihood of the whole list."""
        towards_zero = -self._summed(self.checked_ratios(ratios))
        frames = max(1, _AT_ONCE // (self._masks.size * self._paths))
        starts = tracked(range(0, towards_zero.shape[0], frames), self.name)
        found = [self._best(towards_zero[start : start + frames]) for start in starts]
        empty = [(np.empty((0, self.bits), dtype=np.uint8), np.empty(0))]
        return Readings(*(np.concatenate(parts) for parts in zip(*(empty + found), strict=True)))

    def _summed(self, soft: NDArray[np.float64]) -> NDArray[np.float32]:
        """The ratio of each symbol of the transform: repeats add up; what is never asked for has ratio 0."""
        upto = np.pad(np.cumsum(soft, axis=1), ((0, 0), (1, 0)))[:, self._ends]
        return np.diff(upto, axis=1, prepend=0.0).astype(np.float32)

    def _best(self, ratios: NDArray[np.float32]) -> tuple[Bits, NDArray[np.float64]]:
        messages, costs = ListDecoder(self._tree, self._paths, ratios.shape[0]).run(ratios)
        frames, best = np.arange(ratios.shape[0]), costs.argmin(axis=1)
        above = (costs - costs[frames, best][:, None]).astype(np.float64)
        return messages[frames, best], 1.0 / np.exp(-above).sum(axis=1)


def polar_code(
    bits: int, uses: int, use: Use, generator: np.random.Generator, *, design: PolarDesign | None = None
) -> PolarCode:
    """A polar code for these uses; the generator chooses parities, not noise: any will do.

    >>> code = polar_code(32, 400, Use(1.0), np.random.default_rng(0))
    >>> code.bits, code.uses, code.name
    (32, 400, 'polar 512, list of 1024')
    """
    require(1 <= bits <= MOST_POLAR_BITS, "bits", "polar_code", f"be from 1 to {MOST_POLAR_BITS}", bits)
    require(uses >= bits, "uses", "polar_code", "be at least `bits`", uses)
    chosen = polar_design(bits, uses) if design is None else design
    repeats = even_repeats(uses, chosen.size)
    means = evolved_means(combined_means(use, repeats))
    carriers = chosen_bits(means, bits, chosen.tilt)
    return PolarCode(carriers, _random_masks(carriers, chosen.size, generator), repeats, chosen.paths)


def polar_design(bits: int, uses: int) -> PolarDesign:
    """What did best at capacity 0.02 bit a use at 0.1 million uses a second or more.

    >>> polar_design(64, 5479)
    PolarDesign(size=1024, tilt=2.5, paths=1024)
    """
    largest, tilt, paths = next(row[1:] for row in _MEASURED if bits <= row[0])
    return PolarDesign(min(largest, 1 << (uses - 1).bit_length()), tilt, paths)


_MEASURED = (
    (64, 1024, 2.5, 1024),
    (128, 4096, 1.2, 1024),
    (256, 8192, 0.7, 1024),
    (512, 16384, 0.4, 512),
    (MOST_POLAR_BITS, 32768, 0.4, 512),
)
"""Bits up to, largest transform, tilt, paths."""


def _random_masks(carriers: NDArray[np.int64], size: int, generator: np.random.Generator) -> Masks:
    carries = np.isin(np.arange(size), carriers)
    masks = generator.integers(0, 1 << _MEMORY, size=size, dtype=np.uint64)
    blocks = carries.reshape(-1, min(_LOCAL, size)).any(axis=1)
    seen = np.cumsum(carries)
    known = np.array([(1 << min(int(s), _MEMORY)) - 1 for s in seen], dtype=np.uint64)
    near = np.repeat(blocks, min(_LOCAL, size)) & ~carries
    return np.where(near, masks & known, np.uint64(0))
