"""What every mechanism is: a channel with a name, exact formulas and a sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from numpy.typing import ArrayLike, NDArray

from leakcap.adversary import Adversary
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence
from leakcap.sampling.source import ByteSource, system_bytes

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """A channel that can be sampled, and that knows some of its capacities in closed form.

    A mechanism is a frozen dataclass, one family a file. Its laws are tested for every instance that
    `examples` returns: each closed form lies in the solver's interval, samples keep the claimed trade-off.
    """

    @abstractmethod
    def channel(self) -> Channel:
        """A finite channel that carries all the mechanism shows about the secret (a sufficient statistic).

        A mechanism with continuous output raises `InvalidParameter` naming `capacity`, which knows its
        closed forms.
        """

    @abstractmethod
    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> NDArray:  # type: ignore[type-arg]
        """One noisy output for each secret."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Instances on which the laws are tested, edge cases included."""

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """The capacity in closed form (or a certified interval of its own), None where there is none."""
        return None
