"""One query's privacy loss between two neighbouring secrets: what the accountant adds up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.logspace import Floats

__all__ = ["UNIT", "Atoms", "Ends", "LossComponent", "Numbers", "Reversed", "total_transform"]

Numbers = NDArray[Any]
"""Real or complex numbers."""

Ends = tuple[float, float]
"""Doubles on both sides of a number."""

UNIT = 2.0**-53
"""Half the spacing of doubles near one."""


class Atoms(NamedTuple):
    """Losses that occur with positive probability, and their masses under P and under Q."""

    losses: Floats
    p: Floats
    q: Floats


NO_ATOMS = Atoms(np.zeros(0), np.zeros(0), np.zeros(0))


class LossComponent(ABC):
    """The loss L = ln P(y)/Q(y) of one query, y drawn from P; frozen, so that equal parts are counted.

    The transform is M(z) = E_P[e^{zL}] over finite losses, an entire function; K = ln M. Between the two
    directions K_{Q‖P}(z) = K_{P‖Q}(−1−z).
    """

    @property
    def infinite(self) -> float:
        """P's mass where Q has none: losses of +∞."""
        return 0.0

    @property
    def lost(self) -> float:
        """Q's mass where P has none: losses of −∞ for the other direction."""
        return 0.0

    @abstractmethod
    def log_transform(self, z: Numbers) -> Numbers:
        """K(z) elementwise, for real or complex z."""

    @abstractmethod
    def error(self, z: Numbers) -> Floats:
        """A bound on the rounding error of M(z), relative to M(Re z)."""

    @abstractmethod
    def envelope(self, c: float, t: float) -> float:
        """ln of a bound on |M(c + iu)| over all |u| ≥ t."""

    def work(self, c: float, t: float) -> float:
        """How many values of an integrand K(c + it) costs, 0 for a closed form."""
        return 0.0

    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the largest finite loss; ±∞ where there is none."""

    @abstractmethod
    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """P and Q of the losses in each (edge_i, edge_{i+1}], atoms left out."""

    @abstractmethod
    def renyi(self, alpha: float) -> Ends:
        """D_α(P‖Q) in nats, enclosed."""

    @abstractmethod
    def renyi_back(self, alpha: float) -> Ends:
        """D_α(Q‖P) in nats, enclosed."""

    def atoms(self) -> Atoms:
        """The losses of positive probability."""
        return NO_ATOMS

    def hockey_stick(self, epsilon: float) -> Ends | None:
        """δ(ε) of this one query in closed form, enclosed, or None."""
        return None

    def hockey_stick_back(self, epsilon: float) -> Ends | None:
        """δ(ε) of the other direction."""
        return None

    @property
    def reverse(self) -> LossComponent:
        """The loss of the other direction, Q against P."""
        return Reversed(self)

    @classmethod
    def add_up(cls, parts: Sequence[Self], counts: Floats, z: Numbers) -> tuple[Numbers, Floats]:
        """Σ count·K and Σ count·error; a family with many members does it in one pass."""
        total, error = np.zeros_like(z), np.zeros(z.shape)
        for part, count in zip(parts, counts.tolist(), strict=True):
            log_value, off = part.log_transform(z), part.error(z)
            peak = _peak(part, z, log_value)
            relative = relative_error(off, log_value, peak)
            gone = np.isneginf(log_value.real)
            if (
                gone.any() and np.isfinite(peak.real).all()
            ):  # terms cancel but for their rounding: |M| is its error at most
                log_value = np.where(gone, peak.real + np.log(off), log_value)
                relative = np.where(gone, 2.0, relative)
            total = total + count * log_value
            error = error + count * relative
        return total, error


def _peak(part: LossComponent, z: Numbers, log_value: Numbers) -> Numbers:
    """K(Re z), each real part once: a contour has only one."""
    if not np.iscomplexobj(z):
        return log_value
    places, where = np.unique(z.real, return_inverse=True)
    return np.asarray(part.log_transform(places)[where.reshape(z.shape)])


def relative_error(error: Floats, log_value: Numbers, log_peak: Numbers) -> Floats:
    """An error relative to M(Re z) as one relative to |M(z)|.

    >>> float(relative_error(np.array(1e-16), np.array(0.0), np.array(0.0)))
    1e-16
    """
    return np.asarray(error * np.exp(np.minimum(log_peak.real - log_value.real, 700.0)))


@dataclass(frozen=True)
class Reversed(LossComponent):
    """The loss of Q against P, from that of P against Q."""

    part: LossComponent

    @property
    def infinite(self) -> float:
        """P's mass at +∞."""
        return self.part.lost

    @property
    def lost(self) -> float:
        """Q's mass at −∞."""
        return self.part.infinite

    @property
    def reverse(self) -> LossComponent:
        """The other direction."""
        return self.part

    def log_transform(self, z: Numbers) -> Numbers:
        """K(z)."""
        return self.part.log_transform(-1.0 - z)

    def error(self, z: Numbers) -> Floats:
        """Relative rounding of M."""
        return self.part.error(-1.0 - z)

    def envelope(self, c: float, t: float) -> float:
        """At the mirrored abscissa."""
        return self.part.envelope(-1.0 - c, t)

    def work(self, c: float, t: float) -> float:
        """At the mirrored abscissa."""
        return self.part.work(-1.0 - c, t)

    def support(self) -> tuple[float, float]:
        """Least and largest finite loss."""
        low, high = self.part.support()
        return -high, -low

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """P and Q of each cell."""
        p, q = self.part.masses(-edges[::-1])
        return q[::-1], p[::-1]

    def atoms(self) -> Atoms:
        """Losses of positive probability."""
        losses, p, q = self.part.atoms()
        return Atoms(-losses[::-1], q[::-1], p[::-1])

    def hockey_stick(self, epsilon: float) -> Ends | None:
        """That of the other direction, the other way about."""
        return self.part.hockey_stick_back(epsilon)

    def hockey_stick_back(self, epsilon: float) -> Ends | None:
        """δ(ε) of the other direction."""
        return self.part.hockey_stick(epsilon)

    def renyi(self, alpha: float) -> Ends:
        """D_α in nats."""
        return self.part.renyi_back(alpha)

    def renyi_back(self, alpha: float) -> Ends:
        """D_α of the other direction."""
        return self.part.renyi(alpha)


def total_transform(parts: Sequence[tuple[LossComponent, int]], z: Numbers) -> tuple[Numbers, Floats]:
    """K of the sum of all losses, and a bound on the relative error of e^K.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> float(total_transform([(GaussianLoss(1.0), 3)], np.array([1.0]))[0][0])
    3.0
    """
    families: dict[type[LossComponent], list[tuple[LossComponent, int]]] = {}
    for part, count in parts:
        families.setdefault(type(part), []).append((part, count))
    total, error = np.zeros_like(z), np.zeros(z.shape)
    for family, members in families.items():
        counts = np.array([count for _, count in members], dtype=np.float64)
        value, bound = family.add_up([part for part, _ in members], counts, z)
        total, error = total + value, error + bound
    return total, error
