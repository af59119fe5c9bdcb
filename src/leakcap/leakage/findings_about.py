"""What a channel on X leaks about another secret Z, correlated with X, for the terminal and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator

from numpy.typing import ArrayLike

from leakcap import leakage
from leakcap.capacities import capacity
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Renyi
from leakcap.gain import Gain
from leakcap.leakage.findings import Leak, evaluated

__all__ = ["correlated_findings"]

UNDER, ANY_BELIEF, ANY_CORRELATION = (
    "about it, under the prior",
    "about it, whatever is believed",
    "about anything correlated",
)


def correlated_findings(
    channel: Channel, correlation: Channel, prior: ArrayLike, gain: Gain | None
) -> list[Leak]:
    """First under the prior about Z, then over all of them, then what no correlation can pass.

    Raises `InvalidPrior`, and `InvalidChannel` where the correlation's outputs are not the channel's secrets.

    >>> noise, disease = Channel([[0.9, 0.1], [0.2, 0.8]]), Channel([[0.7, 0.3], [0.4, 0.6]])
    >>> found = correlated_findings(noise, disease, [0.5, 0.5], None)
    >>> [round(f.bound.upper, 9) for f in found if f.name == "lift capacity (e^ε)"]
    [1.677419355, 8.0]
    """
    cascade = correlation >> channel
    belief = as_prior(prior, cascade.shape[0])
    parts = [_under(cascade, belief), _towards(cascade, belief, gain)]
    parts += [_limits(cascade, ANY_BELIEF), _limits(channel, ANY_CORRELATION)]
    return [finding for part in parts for finding in part]


def _under(cascade: Channel, prior: ArrayLike) -> Iterator[Leak]:
    for name, value, unit in (
        ("mutual information", leakage.mutual_information(cascade, prior), "nats"),
        ("lift", leakage.lift(cascade, prior), "ratio"),
        ("log-lift", leakage.log_lift(cascade, prior), "nats"),
    ):
        yield Leak(UNDER, name, evaluated(value, cascade, unit))


def _towards(cascade: Channel, prior: ArrayLike, gain: Gain | None) -> Iterator[Leak]:
    if gain is None:
        return
    before = leakage.g_vulnerability(prior, gain)
    yield Leak(UNDER, "vulnerability before", evaluated(before, cascade, "worth"))
    for case, max_case in (("on average", False), ("worst output", True)):
        after = leakage.posterior_vulnerability(cascade, prior, gain, max_case=max_case)
        yield Leak(UNDER, f"vulnerability after, {case}", evaluated(after, cascade, "worth"))
        if gain.nonnegative:
            ratio = leakage.g_leakage(cascade, prior, gain, max_case=max_case)
            name = f"multiplicative leakage, {case}"
            yield Leak(UNDER, name, evaluated(ratio, cascade, "ratio"))


def _limits(channel: Channel, where: str) -> Iterator[Leak]:
    yield Leak(where, "ε, the largest log ratio", capacity(channel, Renyi(math.inf)))
    yield Leak(where, "Bayes capacity", leakage.dalenius_capacity(channel))
    yield Leak(where, "lift capacity (e^ε)", leakage.dalenius_capacity(channel, max_case=True))
