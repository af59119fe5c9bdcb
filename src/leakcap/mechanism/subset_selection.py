"""Subset selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets, require_epsilon
from leakcap.mechanism.coins import accept
from leakcap.numeric.enclosure import Digits
from leakcap.sampling import ByteSource, system_bytes, uniform_below
from leakcap.sampling.rational import printed

__all__ = ["SubsetSelection"]

_MAX_OUTPUTS = 1 << 18


@dataclass(frozen=True)
class SubsetSelection(Mechanism):
    """A subset of `size` of the k values, e^ε times as likely if it holds the true one.

    As k grows with size ≈ f·k it attains the largest capacity that ε allows, at every order.
    Source: Ye & Barg 2018; Wang, Huang, Wang, Nie, Xu & Yang 2016.

    >>> SubsetSelection(3, 1, math.log(2)).channel().matrix.tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    """

    k: int
    size: int
    epsilon: float

    source: ClassVar[str] = "Ye & Barg 2018; Wang et al. 2016"

    def __post_init__(self) -> None:
        require(self.k >= 2, "k", "SubsetSelection", "be at least 2", self.k)
        require(1 <= self.size < self.k, "size", "SubsetSelection", "be from 1 to k−1", self.size)
        require_epsilon(self.epsilon, "SubsetSelection")

    def channel(self) -> Channel:
        """The k×C(k, size) matrix; outputs are increasing tuples. Raises beyond 2^18 subsets."""
        count = math.comb(self.k, self.size)
        if count > _MAX_OUTPUTS:
            raise InvalidParameter(
                f"`channel` of `SubsetSelection` must have at most {_MAX_OUTPUTS} outputs. Got {count}. "
                "Ask `capacity`, whose closed forms need no matrix."
            )
        subsets = list(combinations(range(self.k), self.size))
        rows = np.full((self.k, count), math.exp(-self.epsilon))
        rows[np.array(subsets).ravel(), np.repeat(np.arange(count), self.size)] = 1.0
        return Channel(rows / rows.sum(axis=1, keepdims=True), outputs=subsets)

    def claim(self) -> float:
        """ε, attained."""
        return self.epsilon

    def farthest(self, digits: Digits) -> Laws:
        """Two rows: subsets holding the one value, the other value, both or neither."""
        k, size, s = self.k, self.size, digits.of(-self.epsilon).exp()
        # In units of 1/(k(k−1)): how many of the subsets hold just the one, both and neither.
        only, both, neither = size * (k - size), size * (size - 1), (k - size) * (k - size - 1)
        total = (s * (k - size) + size) * (k - 1)
        same = (s * neither + both) / total
        return Laws((only / total, s * only / total, same), (s * only / total, only / total, same))

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """A row against the uniform subset: permuting the values permutes the rows."""
        outside = digits.of(-self.epsilon).exp() * (self.k - self.size)
        total = outside + self.size
        centre = digits.of(self.size) / self.k, digits.of(self.k - self.size) / self.k
        return Laws((self.size / total, outside / total), centre)

    def best_prior(self) -> object:
        """The uniform one."""
        return (1.0 / self.k,) * self.k

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: a uniform subset is kept if it holds the secret, else with probability e^−ε, else redrawn.

        Shape (n, size), each row increasing.
        """
        x = as_secrets(secrets, 0, self.k - 1, "SubsetSelection.sample")
        return accept(
            x.size,
            lambda index: self._subsets(index.size, source),
            lambda index, y: (~(y == x[index, None]).any(axis=1)).astype(np.int64),
            printed(self.epsilon),
            source,
        )

    def _subsets(self, count: int, source: ByteSource) -> NDArray[np.int64]:
        """Uniform subsets: the first `size` steps of a Fisher–Yates shuffle, sorted."""
        cards = np.tile(np.arange(self.k), (count, 1))
        row = np.arange(count)
        for i in range(self.size):
            j = i + uniform_below(self.k - i, count, source)
            cards[row, i], cards[row, j] = cards[row, j], cards[row, i].copy()
        return np.sort(cards[:, : self.size], axis=1)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Single values, halves, all but one, many."""
        return tuple(cls(k, w, e) for k, w, e in ((3, 1, 1.0), (4, 2, 0.3), (5, 4, 2.0), (9, 3, 1.0)))
