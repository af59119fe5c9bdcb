"""k-ary randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets, require_entries, require_epsilon
from leakcap.mechanism.coins import accept
from leakcap.numeric.enclosure import Digits
from leakcap.sampling import ByteSource, system_bytes, uniform_below
from leakcap.sampling.rational import printed

__all__ = ["RandomisedResponse"]


@dataclass(frozen=True)
class RandomisedResponse(Mechanism):
    """The true one of k values with probability e^ε/(e^ε+k−1), each other with 1/(e^ε+k−1).

    Source: Warner 1965 (k = 2); Kairouz, Oh & Viswanath 2014 (k-ary).

    >>> RandomisedResponse(2, math.log(3)).channel().matrix.round(12)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    k: int
    epsilon: float

    source: ClassVar[str] = "Warner 1965; Kairouz, Oh & Viswanath 2014"

    def __post_init__(self) -> None:
        require(self.k >= 2, "k", "RandomisedResponse", "be at least 2", self.k)
        require_epsilon(self.epsilon, "RandomisedResponse")

    def channel(self) -> Channel:
        """The k×k matrix of shape (x, y)."""
        require_entries(self.k, self.k, "RandomisedResponse")
        s = math.exp(-self.epsilon)
        rows = np.full((self.k, self.k), s)
        np.fill_diagonal(rows, 1.0)
        return Channel(rows / (1.0 + (self.k - 1) * s))

    def claim(self) -> float:
        """ε, attained."""
        return self.epsilon

    def farthest(self, digits: Digits) -> Laws:
        """Two rows, with the k−2 outputs on which they agree merged."""
        s = digits.of(-self.epsilon).exp()
        total = s * (self.k - 1) + 1
        kept, other, rest = 1 / total, s / total, s * (self.k - 2) / total
        return Laws((kept, other, rest), (other, kept, rest))

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """A row against the uniform output: permuting the values permutes the rows."""
        others = digits.of(-self.epsilon).exp() * (self.k - 1)
        centre = digits.of(1) / self.k, digits.of(self.k - 1) / self.k
        return Laws((1 / (others + 1), others / (others + 1)), centre)

    def best_prior(self) -> object:
        """The uniform one."""
        return (1.0 / self.k,) * self.k

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: a uniform value is kept if true, else with probability e^−ε, else drawn again."""
        x = as_secrets(secrets, 0, self.k - 1, "RandomisedResponse.sample")
        return accept(
            x.size,
            lambda index: uniform_below(self.k, index.size, source),
            lambda index, y: (y != x[index]).astype(np.int64),
            printed(self.epsilon),
            source,
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Two, three and many values, weak to strong."""
        return tuple(cls(k, e) for k, e in ((2, 1.0), (2, 0.01), (3, math.log(3)), (4, 6.0), (10, 0.5)))
