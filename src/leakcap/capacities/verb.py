"""`capacity(channel, divergence, adversary) -> Bound`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache, singledispatch
from pathlib import Path
from typing import Protocol, runtime_checkable

from leakcap.adversary import Adversary, Neighbours
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Divergence
from leakcap.errors import InvalidParameter

__all__ = ["HasExact", "capacity", "solve", "solver"]


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


def solve(adversary: Adversary, channel: Channel, divergence: Divergence) -> Bound:
    """What the solver for this class of adversaries finds, without a closed form."""
    _import_solvers()
    return solver(adversary, channel, divergence)


@singledispatch
def solver(adversary: Adversary, channel: Channel, divergence: Divergence) -> Bound:
    """One solver a file, which registers itself when it is imported."""
    raise InvalidParameter(
        f"`adversary` must be one that leakcap has a solver for. Got {adversary!r}. See `leakcap.adversary`."
    )


@cache
def _import_solvers() -> None:
    """All of them, when the first capacity is asked for: a preview asks for none and need not wait."""
    for folder in (Path(__file__).parent, Path(__file__).parent / "records"):
        package = "leakcap.capacities" if folder.name == "capacities" else "leakcap.capacities.records"
        for module in pkgutil.iter_modules([str(folder)]):
            importlib.import_module(f"{package}.{module.name}")
