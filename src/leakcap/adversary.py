"""Who looks: the class of adversaries over which a leakage is maximised.

For any channel: `Neighbours`, `AllPriors`, `AllPriorsJoint`, `GivenPrior`, `EntropyFloor`, `InputCost`,
`PowerConstraint`. For
channels on databases, whose inputs are tuples with one entry a record: `StrongAdversary`,
`BayesianAdversary`, `BayesianNeighbours`, `DependentRecords`, `LimitedKnowledge`; there `AllPriors` is
free-lunch privacy and `GivenPrior` adversarial privacy.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from enum import StrEnum

from leakcap.arrays import ArrayLike, np
from leakcap.errors import InvalidPrior, require, require_number

__all__ = [
    "Adversary",
    "AllPriors",
    "AllPriorsJoint",
    "BayesianAdversary",
    "BayesianNeighbours",
    "Centre",
    "DependentRecords",
    "EntropyFloor",
    "GivenPrior",
    "InputCost",
    "LimitedKnowledge",
    "Neighbours",
    "PowerConstraint",
    "StrongAdversary",
]


class Centre(StrEnum):
    """Which Q stands in D_α(P_XY ‖ P_X × Q) for a capacity at level α.

    The two agree at α = 1. `MARGINAL` is never smaller: at α = ∞ it is ε, and `SIBSON` maximal leakage.
    """

    MARGINAL = "marginal"
    """The output's own distribution, Q = P_Y: ε-privacy at level α in the broken-wifi article."""
    SIBSON = "sibson"
    """The best Q: Sibson's information, whose capacity is the radius of the rows (Cuff & Yu 2016, §7)."""


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
        object.__setattr__(self, "prior", _vector(prior))


@dataclass(frozen=True)
class EntropyFloor(Adversary):
    """Any belief about the secret whose Shannon entropy is at least `nats`.

    Source: Wu, Xia & He 2017, Assumption 1.
    """

    nats: float

    def __post_init__(self) -> None:
        require_number("nats", "EntropyFloor", self.nats)
        ok = self.nats >= 0 and math.isfinite(self.nats)
        require(ok, "nats", "EntropyFloor", "be a finite number ≥ 0", self.nats)


@dataclass(frozen=True)
class InputCost(Adversary):
    """Any belief about the secret whose expected cost is at most `at_most`: Σ π_x cost_x ≤ at_most.

    With squared distances as costs, the beliefs of bounded variance. Source: Shannon 1959; the article
    *Differential Privacy and Information Theory* 2022 asks for it.
    """

    costs: tuple[float, ...]
    at_most: float

    def __post_init__(self) -> None:
        for value in (*self.costs, self.at_most):
            require_number("costs", "InputCost", value)
        finite = all(math.isfinite(c) for c in self.costs) and len(self.costs) > 0
        require(finite, "costs", "InputCost", "be finite numbers, one a secret", self.costs)
        require(math.isfinite(self.at_most), "at_most", "InputCost", "be a finite number", self.at_most)


@dataclass(frozen=True)
class PowerConstraint(Adversary):
    """Any belief about a real secret, or a vector of `dimensions` of them, with E‖X‖² ≤ `power`.

    Shannon's constraint on a transmitter. At order α it asks the information of Augustin and Csiszár,
    min_Q E[D_α(W_X ‖ Q)]; Sibson's is infinite here for large α, because rare secrets may lie far out.
    Source: Shannon 1949; Augustin 1978; Csiszár 1995; Nakiboğlu 2019.
    """

    power: float
    dimensions: int = 1

    def __post_init__(self) -> None:
        owner = "PowerConstraint"
        require_number("power", owner, self.power)
        ok = self.power >= 0 and math.isfinite(self.power)
        require(ok, "power", owner, "be a finite number ≥ 0", self.power)
        whole = isinstance(self.dimensions, int) and not isinstance(self.dimensions, bool)
        ok = whole and self.dimensions >= 1
        require(ok, "dimensions", owner, "be an integer of at least 1", self.dimensions)


@dataclass(frozen=True)
class StrongAdversary(Adversary):
    """Knows every record but `size` of them (one, when left out), with any belief about the rest.

    At order one this is MI-DP, sup I(X_i; Y | X^{−i}) over all database distributions, at order ∞ it is ε;
    `centre` says what the joint law is compared with at the other orders. `records` restricts which records
    may be the unknown ones, for personal budgets. Source: Cuff & Yu 2016, definition 2, §6.1.
    """

    size: int = 1
    records: tuple[int, ...] | None = None
    centre: Centre = Centre.MARGINAL

    def __post_init__(self) -> None:
        require(self.size >= 1, "size", "StrongAdversary", "be at least 1", self.size)
        object.__setattr__(self, "centre", Centre(self.centre))


@dataclass(frozen=True, eq=False)
class BayesianAdversary(Adversary):
    """One belief about the whole database, any subset of the other records known: sup I(X_i; Y | X_S).

    Without a prior, the supremum over all beliefs as well, which also covers records that move together.
    Source: Cuff & Yu 2016, equation 61 and the remark after it; Yang, Sato & Nakagawa 2015.
    """

    prior: tuple[float, ...] | None
    centre: Centre

    def __init__(self, prior: ArrayLike | None = None, centre: Centre = Centre.MARGINAL) -> None:
        """Take any vector; it is checked against the channel when a capacity is asked."""
        object.__setattr__(self, "prior", None if prior is None else _vector(prior))
        object.__setattr__(self, "centre", Centre(centre))


@dataclass(frozen=True, eq=False)
class BayesianNeighbours(Adversary):
    """One belief about the whole database, any subset S known: two values of one record are compared.

    sup D(P_{Y | x_i, x_S} ‖ P_{Y | x_i', x_S}).
    Source: Cuff & Yu 2016, equation 60; Yang, Sato & Nakagawa 2015.
    """

    prior: tuple[float, ...]

    def __init__(self, prior: ArrayLike) -> None:
        """Take any vector; it is checked against the channel when a capacity is asked."""
        object.__setattr__(self, "prior", _vector(prior))


@dataclass(frozen=True)
class DependentRecords(Adversary):
    """Believes that at most `records` records depend on each other, with I_∞(X_i; X_{−i}) ≤ `extent` nats.

    Source: Wu, Xia & He 2017, §4.
    """

    records: int
    extent: float = math.inf

    def __post_init__(self) -> None:
        require(self.records >= 1, "records", "DependentRecords", "be at least 1", self.records)
        require(self.extent >= 0, "extent", "DependentRecords", "be at least 0 nats (∞ allowed)", self.extent)


@dataclass(frozen=True)
class LimitedKnowledge(Adversary):
    """Any belief about the database within four limits; what is measured is told about one record.

    - `floor`: H(X) ≥ `floor` nats for the whole database (assumption 1).
    - `dependents`: records fall into groups of at most so many, independent of each other; None is no limit.
    - `extent`: I_∞(X_i; X_{−i}) ≤ `extent` nats for the record that is looked at.
    - `unknown`, `uncertainty`: at least so many records have H(X_j) ≥ `uncertainty` nats each.

    `EntropyFloor` measures what is told about the whole database instead.
    Source: Wu, Xia & He 2017, assumption 1 and §4: k, the extent, ℓ and t.

    >>> LimitedKnowledge(floor=1.5, dependents=2)
    LimitedKnowledge(floor=1.5, dependents=2, extent=inf, unknown=0, uncertainty=0.0)
    """

    floor: float = 0.0
    dependents: int | None = None
    extent: float = math.inf
    unknown: int = 0
    uncertainty: float = 0.0

    def __post_init__(self) -> None:
        owner = "LimitedKnowledge"
        for name in ("floor", "uncertainty"):
            value = getattr(self, name)
            require_number(name, owner, value)
            require(value >= 0 and math.isfinite(value), name, owner, "be a finite number ≥ 0", value)
        require_number("extent", owner, self.extent)
        require(self.extent >= 0, "extent", owner, "be at least 0 nats (∞ allowed)", self.extent)
        for name, least in (("dependents", 1), ("unknown", 0)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
            nothing = name == "dependents" and value is None
            require(whole or nothing, name, owner, f"be an integer of at least {least}", value)


def _vector(prior: ArrayLike) -> tuple[float, ...]:
    try:
        vector = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior("a prior must be a vector of numbers, one a secret.") from None
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidPrior(f"a prior must be a non-empty vector. Got shape {vector.shape}.")
    return tuple(float(v) for v in vector)
