"""What every mechanism is: a channel with a name, exact formulas and a sampler."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

from leakcap.adversary import Adversary, AllPriors, AllPriorsJoint, Neighbours
from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.logspace import Floats
from leakcap.sampling.source import ByteSource, system_bytes

__all__ = [
    "MAX_ENTRIES",
    "MAX_EPSILON",
    "Laws",
    "Mechanism",
    "Outputs",
    "RowPair",
    "as_points",
    "as_secrets",
    "require_entries",
    "require_epsilon",
]

MAX_EPSILON = 700.0
"""e^700 is about the largest double."""

MAX_ENTRIES = 1 << 26
"""The largest matrix that `channel` builds."""

_FIRST = Digits(28)

Outputs = NDArray[Any]
"""Noisy outputs: integers, bits, coordinates or reals, one for each secret along the first axis."""


class RowPair(NamedTuple):
    """Two distributions in doubles, whose divergence is a supremum over all the mechanism's rows."""

    p: Floats
    q: Floats
    witness: Hashable = (0, 1)


class Laws(NamedTuple):
    """Two distributions over the same outcomes to any number of digits.

    Outcomes with the same likelihood ratio are merged, which changes no divergence. `mirrored` says that the
    second is the first with outcomes exchanged, so that both directions are equal.
    """

    p: Sequence[Interval]
    q: Sequence[Interval]
    mirrored: bool = True


class Mechanism(ABC):
    """A channel that can be sampled, and that knows some of its capacities in closed form.

    A mechanism is a frozen dataclass, one family a file. Its laws are tested for every instance that
    `examples` returns: each closed form lies in the solver's interval, samples follow the channel's rows.
    A mechanism states what it knows by overriding `farthest` and `central` (two distributions to any number
    of digits, from which every ruler follows) or `diameter` and `radius` (formulas).
    """

    source: ClassVar[str] = ""
    """Authors and year."""

    @abstractmethod
    def channel(self) -> Channel:
        """A finite channel that carries all the mechanism shows about the secret (a sufficient statistic).

        A mechanism with continuous output raises `InvalidParameter` naming `capacity`, which knows its
        closed forms.
        """

    @abstractmethod
    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """One noisy output for each secret."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Instances on which the laws are tested, edge cases included."""

    def statistic(self, outputs: Outputs) -> Outputs:
        """What `channel` shows of raw outputs: a sufficient statistic, the outputs themselves by default."""
        return outputs

    def claim(self) -> float:
        """The ε that the mechanism promises over all pairs of its secrets; ∞ when it promises none."""
        return math.inf

    def promised(self) -> tuple[float, float]:
        """Doubles on both sides of that ε, where it is no double."""
        return self.claim(), self.claim()

    def attained(self) -> bool:
        """Whether some output attains `claim` exactly."""
        return self.farthest(_FIRST) is not None

    def farthest(self, digits: Digits) -> Laws | None:
        """The two rows that are farthest apart by every ruler at once, or None.

        Source: Zhu, Dong & Wang 2022.
        """
        return None

    def farthest_secrets(self) -> Hashable:
        """The secrets whose rows those are."""
        return 0, 1

    def dominating_pair(self) -> RowPair | None:
        """The same two rows in doubles, each the nearest."""
        laws = self.farthest(_FIRST)
        if laws is None:
            return None
        p, q = (np.array([mass.middle() for mass in law]) for law in laws[:2])
        return RowPair(p, q, self.farthest_secrets())

    def central(self, order: Renyi, digits: Digits) -> Laws | None:
        """A row and the centre of all rows, whose D_α is the radius, or None."""
        return None

    def best_prior(self) -> object:
        """The prior that attains that radius; None where it is not told."""
        return None

    def diameter(self, divergence: Divergence) -> Bound | None:
        """The supremum over all pairs of secrets, in closed form."""
        if self.farthest(_FIRST) is None:
            return None
        secrets = self.farthest_secrets()
        if isinstance(divergence, Renyi) and math.isinf(divergence.alpha) and self.attained():
            return self._told(self.promised(), divergence, secrets)

        def farther(digits: Digits) -> Interval:
            laws = self.farthest(digits)
            assert laws is not None
            there = divergence.enclosed(laws.p, laws.q)
            return there if laws.mirrored else there.or_more(divergence.enclosed(laws.q, laws.p))

        return self.closed_form(farther, divergence, secrets)

    def radius(self, order: Renyi) -> Bound | None:
        """Sibson's capacity of the given order, in closed form."""
        if self.central(order, _FIRST) is None:
            return None

        def distance(digits: Digits) -> Interval:
            laws = self.central(order, digits)
            assert laws is not None
            return order.enclosed(laws.p, laws.q)

        return self.closed_form(distance, order, self.best_prior())

    def level(self, order: Renyi) -> Bound | None:
        """The level-α capacity, `AllPriorsJoint`; None where the solver finds it from `channel`."""
        return None

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """The capacity in closed form (or a certified interval of its own), None where there is none."""
        if isinstance(adversary, Neighbours):
            return self.diameter(divergence) if adversary.pairs is None else None
        if isinstance(adversary, AllPriors) and isinstance(divergence, Renyi):
            return self.radius(divergence)
        if isinstance(adversary, AllPriorsJoint) and isinstance(divergence, Renyi):
            return self.level(divergence)
        return None

    def closed_form(
        self, formula: Callable[[Digits], Interval], divergence: Divergence, witness: object = None
    ) -> Bound:
        """A closed form of this mechanism as a `Bound`, enclosed to the last digits of doubles."""
        return self._told(enclose(formula), divergence, witness)

    def _told(self, ends: tuple[float, float], divergence: Divergence, witness: object = None) -> Bound:
        method = f"closed form of {type(self).__name__}"
        return Bound.enclosed(ends, method=method, source=self.source, unit=divergence.unit, witness=witness)

    def _no_channel(self, known: str) -> NoReturn:
        raise InvalidParameter(
            f"`{type(self).__name__}` has no finite channel: its output is unbounded. "
            f"Ask `capacity` for what it knows in closed form: {known}."
        )


def as_secrets(secrets: ArrayLike, low: int | None, high: int | None, owner: str) -> NDArray[np.int64]:
    """A vector of integers from `low` to `high` (None: no limit); errors never show a secret.

    >>> as_secrets([0, 1], 0, 1, "example")
    array([0, 1])
    """
    array = np.atleast_1d(np.asarray(secrets))
    whole = (array.dtype.kind in "iub" or array.size == 0) and array.ndim == 1
    below = whole and array.size > 0 and low is not None and bool(array.min() < low)
    above = whole and array.size > 0 and high is not None and bool(array.max() > high)
    if not whole or below or above:
        limits = "" if low is None else f" from {low} to {high}"
        raise InvalidParameter(
            f"`secrets` of `{owner}` must be a vector of integers{limits}. Got something else "
            "(not shown: it is secret)."
        )
    return array.astype(np.int64)


def as_points(secrets: ArrayLike, width: int, owner: str) -> Floats:
    """Real secrets: shape (n,) for width 1, else shape (n, width), one row of coordinates a secret.

    >>> as_points([[0, 1]], 2, "example")
    array([[0., 1.]])
    """
    array = np.asarray(secrets, dtype=np.float64)
    array = np.atleast_1d(array) if width == 1 else np.atleast_2d(array)
    shaped = array.ndim == 1 if width == 1 else array.ndim == 2 and array.shape[1] == width
    if not shaped or not np.isfinite(array).all():
        what = "a vector of finite numbers" if width == 1 else f"finite numbers of shape (n, {width})"
        raise InvalidParameter(f"`secrets` of `{owner}` must be {what}. Got something else (not shown).")
    return array


def require_entries(rows: int, columns: int, owner: str) -> None:
    """Raise `InvalidParameter` for a matrix of more than 2^26 entries (half a gibibyte).

    >>> require_entries(10, 10, "example")
    """
    if rows * columns > MAX_ENTRIES:
        raise InvalidParameter(
            f"`channel` of `{owner}` must have at most {MAX_ENTRIES} entries. Got {rows}×{columns}. "
            "Ask `capacity`, whose closed forms need no matrix."
        )


def require_epsilon(epsilon: float, owner: str, name: str = "epsilon") -> None:
    """Raise `InvalidParameter` unless 0 < ε ≤ 700 nats (beyond that e^ε is no double).

    >>> require_epsilon(1.0, "example")
    """
    require(0 < epsilon <= MAX_EPSILON, name, owner, f"be positive and at most {MAX_EPSILON:g} nats", epsilon)
