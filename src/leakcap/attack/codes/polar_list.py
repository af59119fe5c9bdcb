"""List decoding of a polar code: many frames and many paths at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.attack.codes.polar_tree import Frozen, Masks, Node, Repeated, SplitNode, transformed

__all__ = ["ListDecoder"]

Singles = NDArray[np.float32]
Places = NDArray[np.int64]
Signs = Singles | None
"""±1 a position for the bits 0 and 1; None: all are 0."""


class ListDecoder:
    """The likeliest paths through the tree, `size` of them at most, for a batch of frames.

    A path's cost is −ln P(its bits so far | answers), up to a constant of the frame. It is exact but for
    single precision: the ratio of a parity is 2 artanh(tanh(a/2) tanh(b/2)), and a part that is decided at
    once costs what its bits would cost one by one. Memory is never copied for a path as a whole: a part
    returns which of the paths that came in go on (the origin), and the part around it takes along what it
    still needs.

    Source: Tal & Vardy 2015; Balatsoukas-Stimming, Parizi & Burg 2015 for the costs.
    """

    def __init__(self, tree: Node, size: int, frames: int) -> None:
        self._tree, self._size = tree, size
        self._frame = np.arange(frames)[:, None]
        self._cost = np.zeros((frames, 1), dtype=np.float32)
        self._past = np.zeros((frames, 1), dtype=np.uint64)
        self._forks: list[tuple[Places, NDArray[np.bool_]]] = []

    def run(self, ratios: Singles) -> tuple[NDArray[np.uint8], Singles]:
        """Messages (frames, paths, bits) and costs (frames, paths).

        `ratios`, of shape (frames, symbols), are ln P(answer|0)/P(answer|1).
        """
        self._visit(self._tree, ratios[:, None, :])
        paths = self._cost.shape[1]
        out = np.empty((self._frame.size, paths, len(self._forks)), dtype=np.uint8)
        at = np.broadcast_to(np.arange(paths), (self._frame.size, paths))
        for j in range(len(self._forks) - 1, -1, -1):
            origin, bit = self._forks[j]
            out[:, :, j] = bit[self._frame, at]
            at = origin[self._frame, at]
        return out, self._cost

    def _visit(self, node: Node, ratios: Singles) -> tuple[Signs, Places | None]:
        if isinstance(node, SplitNode):
            return self._split(node, ratios)
        signs = self._known(node.masks)
        if isinstance(node, Repeated):
            return self._fork(signs, ratios)
        if signs is not None or ratios.shape[1] > 1:
            self._cost = self._cost + _price(ratios, signs)
        return signs, None

    def _split(self, node: SplitNode, ratios: Singles) -> tuple[Signs, Places | None]:
        half = ratios.shape[2] // 2
        first, second = ratios[:, :, :half], ratios[:, :, half:]
        left: Signs = None
        origin: Places | None = None
        # One path, and nothing to decide: its cost would be the frame's constant.
        if not (isinstance(node.left, Frozen) and node.left.masks is None and ratios.shape[1] == 1):
            left, origin = self._visit(node.left, _parity(first, second))
        if origin is not None:
            first, second = first[self._frame, origin], second[self._frame, origin]
        right, then = self._visit(node.right, second + (first if left is None else first * left))
        if then is not None:
            left = None if left is None else left[self._frame, then]
            origin = then if origin is None else origin[self._frame, then]
        if right is None:
            return (None if left is None else np.concatenate([left, np.ones_like(left)], axis=2)), origin
        return np.concatenate([right if left is None else left * right, right], axis=2), origin

    def _known(self, masks: Masks | None) -> Signs:
        """The symbols that the message bits so far make of this part, its last bit 0 if it carries."""
        if masks is None:
            return None
        bits = np.bitwise_count(self._past[:, :, None] & masks) & np.uint8(1)
        return np.float32(1.0) - np.float32(2.0) * transformed(bits).astype(np.float32)

    def _fork(self, signs: Signs, ratios: Singles) -> tuple[Signs, Places]:
        zero = self._cost + _price(ratios, signs)
        one = zero + (ratios if signs is None else ratios * signs).sum(axis=2)
        both = np.concatenate([zero, one], axis=1)
        paths = zero.shape[1]
        if 2 * paths > self._size:
            kept = np.argpartition(both, self._size - 1, axis=1)[:, : self._size]
        else:
            kept = np.broadcast_to(np.arange(2 * paths), both.shape)
        origin, bit = kept % paths, kept >= paths
        self._cost = both[self._frame, kept]
        self._cost = self._cost - self._cost.min(axis=1, keepdims=True)
        self._past = (self._past[self._frame, origin] << np.uint64(1)) | bit
        self._forks.append((origin, bit))
        sign = np.where(bit, np.float32(-1.0), np.float32(1.0))[:, :, None]
        if signs is None:
            return np.broadcast_to(sign, (*sign.shape[:2], ratios.shape[2])), origin
        return signs[self._frame, origin] * sign, origin


def _parity(first: Singles, second: Singles) -> Singles:
    """ln P(0)/P(1) of the sum of two bits."""
    half = np.float32(0.5)
    product = np.tanh(first * half) * np.tanh(second * half)
    limit = np.float32(1.0 - 1e-6)
    np.clip(product, -limit, limit, out=product)
    return np.asarray(np.float32(2.0) * np.arctanh(product))


def _price(ratios: Singles, signs: Signs) -> Singles:
    """Σ −ln P(bit), = Σ ln(1 + e^{−L}) over the part, L the ratio towards the bit."""
    towards = ratios if signs is None else ratios * signs
    missing = np.log1p(np.exp(-np.abs(towards))) - np.minimum(towards, np.float32(0.0))
    return np.asarray(missing.sum(axis=2))
