"""Shannon capacity under an input cost: max I(π; W) over priors with Σ π_x cost_x ≤ c.

Lagrange: for every λ ≥ 0 and every distribution q, C(c) ≤ max_x [D(W_x ‖ q) − λ(cost_x − c)]; the priors that
solve the problem on both sides of the right λ are mixed so that the cost is met, which gives the lower end.
Source: Shannon 1959; Blahut 1972.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import InputCost
from leakcap.bound import Bound
from leakcap.capacities.solvers.newton import Iterate, Search
from leakcap.capacities.solvers.rows import DenseRows
from leakcap.capacities.solvers.shannon import ShannonProblem, shannon_capacity
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats

__all__ = ["input_cost"]

_METHOD = "Shannon capacity under an input cost: Lagrangian, certified by duality"
_SOURCE = "Shannon 1959"
_ROUNDS = 80
_UNIT = 2.0**-53


@solver.register
def input_cost(adversary: InputCost, channel: Channel, divergence: Divergence) -> Bound:
    """sup I(X; Y) over priors of expected cost at most c, in nats; the witness is such a prior.

    >>> from leakcap.capacities import capacity
    >>> noiseless = Channel([[1.0, 0.0], [0.0, 1.0]])
    >>> round(capacity(noiseless, Renyi(1.0), InputCost((0.0, 1.0), 0.1)).upper, 8)  # h(0.1)
    0.32508297
    """
    if not (isinstance(divergence, Renyi) and divergence.alpha == 1.0):
        raise InvalidParameter(
            "`divergence` under an input cost must be `Renyi(1)`, "
            f"the mutual information. Got {divergence!r}."
        )
    if len(adversary.costs) != channel.shape[0]:
        raise InvalidParameter(
            f"`costs` of `InputCost` must be {channel.shape[0]} "
            f"numbers, one a secret. Got {len(adversary.costs)}."
        )
    excess = np.array(adversary.costs) - adversary.at_most
    if excess.min() > 0:
        raise InvalidParameter(
            f"`at_most` of `InputCost` must be at least the least cost, {min(adversary.costs)!r}. "
            f"Got {adversary.at_most!r}: no prior is allowed. Raise it."
        )
    rows = channel.matrix[:, channel.matrix.any(axis=0)]
    if excess.min() == 0.0:
        return _cheapest(rows, excess == 0.0)
    return _Lagrangian(ShannonProblem.of(DenseRows(rows)), excess).solve()


def _cheapest(rows: Floats, cheapest: NDArray[np.bool_]) -> Bound:
    """Only the cheapest secrets may be used."""
    bound = shannon_capacity(rows[cheapest])
    prior = np.zeros(len(rows))
    prior[cheapest] = np.asarray(bound.witness, dtype=np.float64)
    return Bound(bound.lower, bound.upper, _METHOD, _SOURCE, witness=prior)


@dataclass
class _Lagrangian:
    """The search for the price λ of the cost."""

    problem: ShannonProblem
    excess: Floats
    gap: float = 1e-9

    def solve(self) -> Bound:
        scale = 1.0 / float(np.max(np.abs(self.excess)))
        cheap, upper, cost = self._at(0.0)
        if cost <= 0.0:
            return self._bound(cheap, upper)
        dear, price, low = cheap, scale, 0.0
        while True:
            cheap, ceiling, cost = self._at(price)
            upper = min(upper, ceiling)
            if cost <= 0.0 or price > 1e12 * scale:
                break
            dear, low, price = cheap, price, 4.0 * price
        high, best = price, self._bound(self._mixed(dear, cheap), upper)
        for _ in range(_ROUNDS):
            if best.width <= self.gap or high - low <= 4 * _UNIT * high:
                break
            prior, ceiling, cost = self._at(0.5 * (low + high))
            upper = min(upper, ceiling)
            if cost <= 0.0:
                cheap, high = prior, 0.5 * (low + high)
            else:
                dear, low = prior, 0.5 * (low + high)
            found = self._bound(self._mixed(dear, cheap), upper)
            best = (
                found
                if found.lower > best.lower
                else Bound(best.lower, max(upper, best.lower), _METHOD, _SOURCE, witness=best.witness)
            )
        return best

    def _at(self, price: float) -> tuple[Floats, float, float]:
        """The best prior at a price, the bound that it proves, and its excess cost."""
        plain = self.problem
        priced = _Priced(plain.rows, plain.negentropy, plain.residue, plain.average, price * self.excess)
        certified = Search(priced).run(0.2 * self.gap, _METHOD, _SOURCE)
        prior = certified.prior / certified.prior.sum()
        return prior, certified.bound.upper, float(prior @ self.excess)

    def _mixed(self, dear: Floats, cheap: Floats) -> Floats:
        """The mixture of two priors that meets the cost, a rounding's width on the safe side."""
        over, under = float(dear @ self.excess), float(cheap @ self.excess)
        if over <= 0.0:
            return dear
        slack = 8 * _UNIT * float(np.abs(self.excess).max())
        share = min(max((-under - slack) / (over - under), 0.0), 1.0)
        return np.asarray(share * dear + (1.0 - share) * cheap)

    def _bound(self, prior: Floats, upper: float) -> Bound:
        lower = self.problem.lower(prior, self.problem.rows.mix(prior))
        return Bound(lower, max(upper, lower), _METHOD, _SOURCE, witness=prior)


@dataclass(frozen=True)
class _Priced(ShannonProblem):
    """Mutual information less the price of its cost: the same problem with distances shifted."""

    price: Floats

    def place(self, prior: Floats, image: Floats) -> Iterate:
        plain = super().place(prior, image)
        distance = plain.distance - self.price
        lower = plain.lower - float(prior @ self.price)
        upper = float(np.max(distance)) + self._margin(plain) + 4 * _UNIT * float(np.max(np.abs(self.price)))
        value = float(prior @ distance)
        return replace(plain, distance=distance, value=value, lower=lower, upper=max(upper, lower))

    def _margin(self, plain: Iterate) -> float:
        """What rounding can have taken from any row: as in the certificate, at the largest row's size."""
        base = self.negentropy
        size = float(np.max(np.abs(base)) + np.max(np.abs(base - plain.distance))) + 1.0
        slack = 1.02 * (self.rows.longest + 24) * _UNIT + 2.0 * self.residue_bound
        return max(plain.upper - float(np.max(plain.distance)), slack * size)
