"""The polar transform, and its tree, cut where a whole part can be decided at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frozen", "Masks", "Node", "Repeated", "SplitNode", "plant", "transformed"]

Masks = NDArray[np.uint64]


@dataclass(frozen=True)
class Frozen:
    """A part without message bits. `masks`: whose parities its bits are; None: all are zero."""

    size: int
    masks: Masks | None


@dataclass(frozen=True)
class Repeated:
    """A part whose last bit alone carries message: what the others make of it, or its complement."""

    size: int
    masks: Masks | None


@dataclass(frozen=True)
class SplitNode:
    """Two halves: first that of the parities, then that of the sums."""

    left: Node
    right: Node


Node = Frozen | Repeated | SplitNode


def plant(carries: NDArray[np.bool_], masks: Masks) -> Node:
    """The tree over the positions that `carries` a message bit or not; `masks` has one mask a position.

    >>> plant(np.array([False, False, False, True]), np.zeros(4, dtype=np.uint64))
    Repeated(size=4, masks=None)
    """
    size = carries.size
    some = masks if bool(masks.any()) else None
    if not carries.any():
        return Frozen(size, some)
    if carries[-1] and carries.sum() == 1:
        return Repeated(size, some)
    half = size // 2
    return SplitNode(plant(carries[:half], masks[:half]), plant(carries[half:], masks[half:]))


def transformed(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bits times the m-th Kronecker power of ((1, 0), (1, 1)) over GF(2), along the last axis.

    >>> transformed(np.array([0, 0, 0, 1], dtype=np.uint8))
    array([1, 1, 1, 1], dtype=uint8)
    """
    out, half = bits.copy(), 1
    while half < bits.shape[-1]:
        pairs = out.reshape(-1, 2, half)
        pairs[:, 0] ^= pairs[:, 1]
        half *= 2
    return out
