"""Guarantees about beliefs: how far an output moves what is believed about a person."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

from leakcap.adversary import Neighbours
from leakcap.arrays import np
from leakcap.bound import Bound
from leakcap.capacities import HasExact, capacity
from leakcap.capacities.solvers.columns import row_residue
from leakcap.channel import Channel, as_prior
from leakcap.definition.base import Definition
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.numeric.rounding import down, product_up, sum_up, up

__all__ = ["InformationPrivacy", "LocalInformationPrivacy", "dependence_price"]


def dependence_price(epsilon: float, records: float, extent: float) -> float:
    """min(kε, ε+d): what ε-DP still promises to one of k dependent records of dependence extent d.

    Rounded up.

    >>> dependence_price(1.0, 5, 0.25), dependence_price(1.0, 1, math.inf)
    (1.25, 1.0)
    """
    return min(product_up(records, epsilon), sum_up([epsilon, extent]) if records > 1 else epsilon)


@dataclass(frozen=True, repr=False)
class InformationPrivacy(Definition):
    """ε-information privacy: ln p(x_i|y)/p(x_i) ≤ ε nats for every person, value, output and adversary.

    The adversaries are those who believe at most `records` records to depend on one another, with
    dependence extent d = I_∞(X_i; X_{−i}) at most `extent` nats. One record means independence.
    Source: Wu, Xia & He 2017, theorem 1.

    >>> InformationPrivacy(1.0, records=5)
    InformationPrivacy(epsilon=1.0, records=5)
    """

    epsilon: float
    records: float = field(default=1, kw_only=True)
    extent: float = field(default=math.inf, kw_only=True)

    symbol: ClassVar[str] = "information privacy"

    def __post_init__(self) -> None:
        self._require_level("epsilon")
        self._require_level("extent")
        owner = type(self).__name__
        require(self.records >= 1, "records", owner, "be at least 1 (∞ for any number)", self.records)

    def measure(self, channel: Channel | HasExact) -> Bound:
        """The largest log-lift of one record, in nats, for a channel from one record.

        Exact for independent beliefs, where it is the channel's ε; else between ε and min(kε, ε+d).
        """
        alone = capacity(channel, Renyi(math.inf), Neighbours())
        upper = dependence_price(alone.upper, self.records, self.extent)
        return Bound(alone.lower, upper, "log-lift over all priors", source="Wu, Xia & He 2017, Thm 1")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Independent, dependent, and of bounded extent."""
        return (
            cls(0.5),
            cls(2.0, records=3),
            cls(1.5, records=4, extent=0.5),
            cls(1.0, records=math.inf, extent=0.1),
        )


@dataclass(frozen=True, repr=False)
class LocalInformationPrivacy(Definition):
    """ε-local information privacy: |ln p(x|y)/p(x)| ≤ ε nats for every x and y, under one given prior.

    `prior` None is the uniform one. Demanded for every prior it would be ε-LDP itself; under one prior it
    gives 2ε-LDP. Source: Jiang, Seif, Tandon & Li 2021.

    >>> round(LocalInformationPrivacy(0.0).tightest(Channel([[0.75, 0.25], [0.25, 0.75]])).epsilon, 12)
    0.69314718056
    """

    epsilon: float
    prior: tuple[float, ...] | None = field(default=None, kw_only=True)

    symbol: ClassVar[str] = "LIP"
    of_a_pair: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._require_level("epsilon")
        if self.prior is not None:
            as_prior(self.prior, len(self.prior))
            object.__setattr__(self, "prior", tuple(float(p) for p in self.prior))
            ok = min(self.prior) > 0.0
            require(ok, "prior", type(self).__name__, "give every secret some probability", min(self.prior))

    def measure(self, channel: Channel | HasExact) -> Bound:
        """max |ln C_xy/q_y| over secrets and outputs that occur, in nats."""
        rows = (channel if isinstance(channel, Channel) else channel.channel()).matrix
        size = rows.shape[0]
        prior = np.full(size, 1.0 / size) if self.prior is None else as_prior(self.prior, size)
        mixture = prior @ rows
        seen = mixture > 0
        with np.errstate(divide="ignore"):
            lift = np.abs(np.log(rows[:, seen]) - np.log(mixture[seen]))
        value = float(lift.max())
        # A mixture errs by its terms, a logarithm by its size.
        missing = 2.1 * row_residue(channel if isinstance(channel, Channel) else channel.channel())
        size = value + float(np.abs(np.log(rows[rows > 0])).max())
        slack = missing + 2.0**-53 * (8.0 * (1.0 + size) + 2.0 * len(rows)) if 0.0 < value < math.inf else 0.0
        return Bound.enclosed((down(value - slack), up(value + slack)), method="largest |log-lift|, one pass")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Uniform and skewed beliefs."""
        return cls(0.1), cls(1.0), cls(1.0, prior=(0.7, 0.2, 0.1))
