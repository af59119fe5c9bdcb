"""Who looks: the class of adversaries over which a leakage is maximised."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import InvalidPrior, require

__all__ = ["Adversary", "AllPriors", "AllPriorsJoint", "EntropyFloor", "GivenPrior", "Neighbours"]


class Adversary(ABC):  # noqa: B024 — a name for a set of adversaries; the solvers in `capacities` do the work
    """Which points of a channel are compared, and under which beliefs."""


@dataclass(frozen=True)
class Neighbours(Adversary):
    """Everything known but which of two neighbouring secrets holds: the diameter of the rows.

    `pairs` lists the neighbouring secrets by index, compared in both directions; every two secrets are
    neighbours when it is left out, as they are for one replaced record or in the local model.
    """

    pairs: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class AllPriors(Adversary):
    """Any belief about the secret: the radius min_Q max_x D(row_x ‖ Q).

    At order α this is Sibson's capacity: Shannon's at α = 1, maximal leakage at α = ∞.
    Source: Csiszár 1995; Verdú 2015; Issa, Wagner & Kamath 2020.
    """


@dataclass(frozen=True)
class AllPriorsJoint(Adversary):
    """Any belief about the secret, with the joint law compared to the product of its own marginals.

    At order α this is the level-α capacity sup over priors of D_α(P_XY ‖ P_X × P_Y). `AllPriors` minimises
    over the second marginal instead, so that radius ≤ level ≤ diameter at every order; radius and level
    agree at α = 1 (Shannon), level and diameter at α = ∞ (ε). It is not concave in the prior for α > 1.
    Source: *Differential Privacy and Information Theory — how to secure data with a broken wifi
    connection*, 2022.
    """


@dataclass(frozen=True, eq=False)
class GivenPrior(Adversary):
    """One belief about the secret, a distribution over the channel's inputs."""

    prior: tuple[float, ...]

    def __init__(self, prior: ArrayLike) -> None:
        """Take any vector; it is checked against the channel when a capacity is asked."""
        vector = np.asarray(prior, dtype=np.float64)
        if vector.ndim != 1 or vector.size == 0:
            raise InvalidPrior(f"a prior must be a non-empty vector. Got shape {vector.shape}.")
        object.__setattr__(self, "prior", tuple(float(v) for v in vector))


@dataclass(frozen=True)
class EntropyFloor(Adversary):
    """Any belief about the secret whose Shannon entropy is at least `nats`.

    Source: Wu, Xia & He 2017, Assumption 1.
    """

    nats: float

    def __post_init__(self) -> None:
        ok = self.nats >= 0 and math.isfinite(self.nats)
        require(ok, "nats", "EntropyFloor", "be a finite number ≥ 0", self.nats)
