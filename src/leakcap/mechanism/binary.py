"""Binary channels: erasure, symmetric, Z."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets
from leakcap.mechanism.coins import coin
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.logspace import Floats
from leakcap.sampling import ByteSource, system_bytes
from leakcap.sampling.rational import printed

__all__ = ["ERASED", "BinaryErasure", "BinarySymmetric", "ZChannel", "erasure_laws"]

ERASED = -1
"""What an erasure shows."""


def _require_probability(value: float, name: str, owner: str) -> None:
    require(0 <= value <= 1, name, owner, "be a probability", value)


def erasure_laws(messages: int, told: Interval, order: Renyi) -> Laws:
    """A row and Sibson's centre of "one of k messages told with probability `told`, else erased".

    Outcomes: this message, the other messages, the erasure. The centre gives each message
    k^(−1/α)·told and the erasure 1 − told, in proportion (Sibson 1969 at the uniform prior).

    >>> laws = erasure_laws(2, Digits(28).of(0.5), Renyi(1))
    >>> [mass.middle() for mass in laws.q]
    [0.25, 0.25, 0.5]
    """
    digits = told.digits
    share, erased = told, 1 - told
    if not math.isinf(order.alpha):
        share = told * digits.of(messages).power(-1 / digits.of(order.alpha))
    centre = share, share * (messages - 1), erased
    total = digits.sum(centre)
    return Laws((told, digits.of(0), erased), tuple(mass / total for mass in centre))


@dataclass(frozen=True)
class BinaryErasure(Mechanism):
    """The secret bit, or with probability `erasure` an erasure (shown as −1).

    It leaks everything with probability δ = 1 − erasure: (0, δ)-private, ε = ∞, and the tight example for
    total variation against Shannon capacity, δ ln 2. Source: Elias 1955.

    >>> BinaryErasure(0.75).channel().matrix.tolist()
    [[0.25, 0.0, 0.75], [0.0, 0.25, 0.75]]
    """

    erasure: float

    source: ClassVar[str] = "Elias 1955"

    def __post_init__(self) -> None:
        _require_probability(self.erasure, "erasure", "BinaryErasure")

    def channel(self) -> Channel:
        """Outputs 0, 1 and −1 for the erasure."""
        told = 1.0 - self.erasure
        rows = [[told, 0.0, self.erasure], [0.0, told, self.erasure]]
        return Channel(rows, outputs=(0, 1, ERASED))

    def claim(self) -> float:
        """∞ unless everything is erased."""
        return 0.0 if self.erasure == 1.0 else math.inf

    def farthest(self, digits: Digits) -> Laws:
        """The two rows."""
        erased, none = digits.of(self.erasure), digits.of(0)
        return Laws((1 - erased, none, erased), (none, 1 - erased, erased))

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """(α/(α−1)) ln[erasure + (1−erasure)·2^((α−1)/α)]; (1−erasure) ln 2 at order 1."""
        return erasure_laws(2, 1 - digits.of(self.erasure), order)

    def best_prior(self) -> object:
        """The fair coin."""
        return 0.5, 0.5

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact, for the decimal number that `erasure` prints as."""
        x = as_secrets(secrets, 0, 1, "BinaryErasure.sample")
        return np.where(coin(printed(self.erasure), x.size, source), ERASED, x)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Nothing, some, nearly all and all erased."""
        return tuple(cls(e) for e in (0.0, 0.5, 0.999, 1.0))


@dataclass(frozen=True)
class BinarySymmetric(Mechanism):
    """The secret bit, flipped with probability `crossover`: randomised response at ε = ln(1/crossover − 1).

    Source: Shannon 1948; Warner 1965.

    >>> BinarySymmetric(0.25).channel().matrix.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    crossover: float

    source: ClassVar[str] = "Shannon 1948; Warner 1965"

    def __post_init__(self) -> None:
        _require_probability(self.crossover, "crossover", "BinarySymmetric")

    def _row(self) -> Floats:
        return np.array([1.0 - self.crossover, self.crossover])

    def channel(self) -> Channel:
        """The 2×2 matrix of shape (x, y)."""
        return Channel([self._row(), self._row()[::-1]])

    def claim(self) -> float:
        """|ln(1/crossover − 1)|, attained; ∞ for a noiseless channel."""
        return self.promised()[1]

    def promised(self) -> tuple[float, float]:
        """The logarithm, enclosed."""
        if self.crossover in (0.0, 1.0):
            return math.inf, math.inf
        return enclose(lambda d: (1 / d.of(self.crossover) - 1).log().size())

    def farthest(self, digits: Digits) -> Laws:
        """The two rows."""
        kept, flipped = self._masses(digits)
        return Laws((kept, flipped), (flipped, kept))

    def _masses(self, digits: Digits) -> tuple[Interval, Interval]:
        flipped = digits.of(self.crossover)
        return 1 - flipped, flipped

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """A row against the fair coin; ln 2 − h(crossover) at order 1."""
        half = digits.of(0.5)
        return Laws(self._masses(digits), (half, half))

    def best_prior(self) -> object:
        """The fair coin."""
        return 0.5, 0.5

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact, for the decimal number that `crossover` prints as."""
        x = as_secrets(secrets, 0, 1, "BinarySymmetric.sample")
        return np.asarray(x ^ coin(printed(self.crossover), x.size, source))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Noiseless, noisy, useless and inverting."""
        return tuple(cls(c) for c in (0.0, 0.11, 0.499, 0.5, 0.9))


@dataclass(frozen=True)
class ZChannel(Mechanism):
    """A 0 is always shown as 0; a 1 as 0 with probability `crossover`.

    Seeing 1 proves the secret, so ε = ∞; seeing 0 never proves anything. Source: Golomb 1980.

    >>> ZChannel(0.25).channel().matrix.tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """

    crossover: float

    source: ClassVar[str] = "Golomb 1980"

    def __post_init__(self) -> None:
        _require_probability(self.crossover, "crossover", "ZChannel")

    def channel(self) -> Channel:
        """The 2×2 matrix of shape (x, y)."""
        return Channel([[1.0, 0.0], [self.crossover, 1.0 - self.crossover]])

    def claim(self) -> float:
        """∞ unless every 1 is shown as 0."""
        return 0.0 if self.crossover == 1.0 else math.inf

    def farthest(self, digits: Digits) -> Laws:
        """The two rows; `diameter` takes both directions."""
        hidden = digits.of(self.crossover)
        return Laws((digits.of(1), digits.of(0)), (hidden, 1 - hidden), mirrored=False)

    def radius(self, order: Renyi) -> Bound:
        """ln(1+r) where both rows are equally far from the centre (1, r)/(1+r), p the crossover.

        r^(1−α) = (1−p^α)/(1−p)^α, so r = (1−p)·p^(p/(1−p)) at order 1 and 1−p at ∞.
        """
        if self.crossover in (0.0, 1.0):
            return self.closed_form(lambda d: d.of(2).log() * (1 - d.of(self.crossover)), order)

        def formula(digits: Digits) -> Interval:
            p = digits.of(self.crossover)
            log_r = (1 - p).log()
            if order.alpha == 1.0:
                log_r = log_r + p * p.log() / (1 - p)
            elif math.isfinite(order.alpha):
                t = digits.of(order.alpha) - 1
                log_r = log_r - ((1 - p.power(t + 1)) / (1 - p)).log() / t
            return (log_r.exp() + 1).log()

        return self.closed_form(formula, order)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact, for the decimal number that `crossover` prints as."""
        x = as_secrets(secrets, 0, 1, "ZChannel.sample")
        return np.asarray(x * ~coin(printed(self.crossover), x.size, source))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Noiseless, noisy and useless."""
        return tuple(cls(c) for c in (0.0, 0.3, 0.95, 1.0))
