"""`capacity(channel, divergence, adversary) -> Bound`."""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol, runtime_checkable

from leakcap.adversary import Adversary, Neighbours
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence
from leakcap.errors import InvalidParameter

__all__ = ["HasExact", "capacity", "solve"]


@runtime_checkable
class HasExact(Protocol):
    """A mechanism that knows some of its capacities in closed form."""

    def exact(self, divergence: Divergence, adversary: Adversary) -> Bound | None:
        """The closed form, or None where there is none."""

    def channel(self) -> Channel:
        """The finite channel that carries the same information about the secret."""


def capacity(
    channel: Channel | HasExact, divergence: Divergence, adversary: Adversary | None = None
) -> Bound:
    """The largest leakage of `channel`, measured by `divergence`, over a class of adversaries.

    - `Neighbours()` (the default): the diameter, sup over neighbouring rows of D(row ‖ row') — ε-DP at
      `Renyi(inf)`, (ε, δ) at `HockeyStick(e^ε)`, RDP at `Renyi(alpha)`.
    - `AllPriors()`: the radius, sup over priors of Sibson's information — Shannon capacity at `Renyi(1)`,
      maximal leakage at `Renyi(inf)`.
    - `GivenPrior(prior)`: the leakage under that prior.
    - `EntropyFloor(nats)`, `InputCost(costs, at_most)` and the adversaries on databases in
      `leakcap.adversary`: the same under constraints.

    Returns a `Bound`: in nats, or a probability for hockey-stick and total variation. The witness is the
    pair or the prior that attains the lower end. Raises `InvalidParameter` for a pair of ruler and
    adversary that no definition uses, `InvalidPrior` for a prior that does not fit.

    >>> from leakcap.divergence import Renyi
    >>> round(capacity(Channel([[0.75, 0.25], [0.25, 0.75]]), Renyi(float("inf"))).upper, 12)
    1.098612288668
    """
    adversary = Neighbours() if adversary is None else adversary
    if not isinstance(divergence, Divergence):
        raise InvalidParameter(
            f"`divergence` of `capacity` must be a ruler such as `Renyi(1)`. Got {divergence!r}."
        )
    if isinstance(channel, Channel):
        return solve(adversary, channel, divergence)
    if not isinstance(channel, HasExact):
        raise InvalidParameter(
            f"`channel` of `capacity` must be a `Channel` or a mechanism. Got {type(channel).__name__}. "
            "Make one with `Channel(matrix)`."
        )
    return channel.exact(divergence, adversary) or solve(adversary, channel.channel(), divergence)


@singledispatch
def solve(adversary: Adversary, channel: Channel, divergence: Divergence) -> Bound:
    """The solver for one class of adversaries; each solver file registers its own."""
    raise InvalidParameter(
        f"`adversary` must be one that leakcap has a solver for. Got {adversary!r}. See `leakcap.adversary`."
    )
