"""How a private decision tree grows: from noisy counts of rows by class, level by level.

Every feature is cut into bins of equal width over its public bounds. At each level, for every node and
feature, the rows of each class in each bin are counted: a row adds one to a cell of each feature.
With discrete Laplace noise on these integers they may be looked at as long as one likes: the best split of
each node is arithmetic on them. At last the rows of each class in each leaf are counted, a row in one cell.

Under add/remove-one a person of m rows moves a level's counts by m·features in L1 and the leaves' by m; under
replace-one by twice that. The ε of the levels and of the leaves add up (Dwork, McSherry, Nissim & Smith 2006,
theorem 1, adaptively).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.models.values import Floats
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale

__all__ = ["Growth", "Split", "level_counts"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Rows whose bin of this feature is `bin` or higher go to the right."""

    feature: int
    bin: int


@dataclass(frozen=True)
class Growth:
    """The shape of a tree and the noise that it is grown with.

    `level` is the scale of the noise on the counts of each level, `leaves` that on the leaves' counts.
    """

    features: int
    bins: int
    classes: int
    depth: int
    level: Fraction
    leaves: Fraction

    @classmethod
    def plan(
        cls, features: int, *, bins: int, classes: int, depth: int, epsilon: Fraction, moves: int
    ) -> Growth:
        """Half of ε for the leaves, the rest in equal parts for the levels; `moves` rows change at most.

        Raises `InvalidParameter` where ε is out of the range that noise can be drawn for exactly.

        >>> Growth.plan(3, bins=8, classes=2, depth=2, epsilon=Fraction(1), moves=1).level
        Fraction(12, 1)
        """
        for_leaves = epsilon / 2 if depth else epsilon
        for_level = epsilon / (2 * depth) if depth else epsilon
        scales = rational_scale(features * moves, for_level), rational_scale(moves, for_leaves)
        return cls(features, bins, classes, depth, *scales)

    @property
    def cells(self) -> int:
        """How many counts the deepest level has."""
        return (1 << max(self.depth - 1, 0)) * self.features * self.bins * self.classes

    def grow(
        self, bins: Integers, codes: Integers, source: ByteSource
    ) -> tuple[list[Split | None], Integers]:
        """The splits, a level after the other from left to right, and the noisy counts of the leaves.

        `bins` has a row's bin for each feature, `codes` its class. Counts have shape (leaves, classes).
        """
        node = np.zeros(len(codes), dtype=np.int64)
        splits: list[Split | None] = []
        for level in range(self.depth):
            exact = level_counts(node, bins, codes, nodes=2**level, bins_=self.bins, classes=self.classes)
            chosen = self.choose(exact + self._noise(self.level, exact.shape, source))
            splits += chosen
            node = _below(node, bins, chosen)
        leaves = 2**self.depth
        exact = np.bincount(node * self.classes + codes, minlength=leaves * self.classes)
        exact = exact.reshape(leaves, self.classes)
        return splits, exact + self._noise(self.leaves, exact.shape, source)

    def choose(self, noisy: Integers) -> list[Split | None]:
        """The split of each node that leaves the least Gini impurity; None where noise drowns the node.

        Post-processing: it sees noisy counts only, of shape (nodes, features, bins, classes).
        """
        reach = 2.0 * float(self.level) * (2.0 * self.bins * self.classes) ** 0.5
        rows = noisy.sum(axis=(2, 3)).mean(axis=1)
        counts = np.maximum(noisy, 0).astype(np.float64)
        left = counts.cumsum(axis=2)[:, :, :-1, :]
        right = counts.sum(axis=2)[:, :, None, :] - left
        impurity = _impurity(left) + _impurity(right)
        total = np.maximum(counts.sum(axis=(2, 3)), 1.0)[:, :, None]
        best = (impurity / total).reshape(len(noisy), -1).argmin(axis=1).tolist()
        found = [Split(place // (self.bins - 1), place % (self.bins - 1) + 1) for place in best]
        return [
            split if enough else None for split, enough in zip(found, (rows > reach).tolist(), strict=True)
        ]

    def leaf_of(self, bins: Integers, splits: list[Split | None]) -> Integers:
        """Which leaf each row falls into."""
        node = np.zeros(len(bins), dtype=np.int64)
        for level in range(self.depth):
            first = 2**level - 1
            node = _below(node, bins, splits[first : first + 2**level])
        return node

    @staticmethod
    def _noise(scale: Fraction, shape: tuple[int, ...], source: ByteSource) -> Integers:
        size = int(np.prod(shape))
        return np.asarray(discrete_laplace(scale, size, source), dtype=np.int64).reshape(shape)


def level_counts(
    node: Integers, bins: Integers, codes: Integers, *, nodes: int, bins_: int, classes: int
) -> Integers:
    """How many rows of each class are in each bin of each feature, node by node: exact integers.

    Shape (nodes, features, bins, classes). A row is in one cell of each feature.

    >>> one = np.zeros(1, dtype=np.int64)
    >>> level_counts(one, np.array([[2, 0]]), one, nodes=1, bins_=3, classes=2).sum().tolist()
    2
    """
    features = bins.shape[1]
    found = np.zeros((nodes, features, bins_, classes), dtype=np.int64)
    for feature in range(features):
        cell = (node * bins_ + bins[:, feature]) * classes + codes
        counted = np.bincount(cell, minlength=nodes * bins_ * classes)
        found[:, feature] = counted.reshape(nodes, bins_, classes)
    return found


def _below(node: Integers, bins: Integers, chosen: list[Split | None]) -> Integers:
    """Each row's node a level deeper; without a split all go to the left."""
    feature = np.array([0 if split is None else split.feature for split in chosen], dtype=np.int64)
    least = np.array([np.iinfo(np.int64).max if split is None else split.bin for split in chosen])
    mine = bins[np.arange(len(node)), feature[node]]
    return np.asarray(2 * node + (mine >= least[node]), dtype=np.int64)


def _impurity(counts: Floats) -> Floats:
    """n·(1 − Σp²) of the classes' counts along the last axis."""
    total = counts.sum(axis=-1)
    return np.asarray(total - (counts**2).sum(axis=-1) / np.maximum(total, 1.0))
