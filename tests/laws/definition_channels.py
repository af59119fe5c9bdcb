"""Channels for the laws of the implication graph, and what each guarantee measures on them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.definition import Centre, Definition, Implication, LocalInformationPrivacy

__all__ = [
    "CHANNELS",
    "Free",
    "binned_normal",
    "block",
    "choices",
    "erasure",
    "exceeds",
    "forget",
    "hiding",
    "kinds",
    "leaky",
    "measured",
    "pair",
    "pairs",
    "response",
]

Free = dict[str, Any]

KEYWORDS: dict[str, tuple[Any, ...]] = {
    "alpha": (0.4, 1.0, 2.0, 9.0, math.inf),
    "epsilon": (0.0, 0.2, 1.0),
    "delta": (1e-6, 0.05, 0.4),
}


def response(epsilon: float, k: int = 2) -> Channel:
    """k-ary randomised response."""
    a = math.exp(epsilon)
    return Channel((np.ones((k, k)) + (a - 1) * np.eye(k)) / (a + k - 1))


def hiding(epsilon: float, k: int) -> Channel:
    """One value of k at the low likelihood, the others at e^ε times it."""
    a = math.exp(epsilon)
    return Channel((a * np.ones((k, k)) + (1 - a) * np.eye(k)) / (1 + a * (k - 1)))


def block(epsilon: float, k: int, size: int) -> Channel:
    """Likelihood e^ε on a cyclic block of `size` out of k secrets: the subset mechanism with k outputs."""
    high = sum(np.roll(np.eye(k), shift, axis=1) for shift in range(size))
    rows = 1.0 + (math.exp(epsilon) - 1.0) * high
    return Channel(rows / rows.sum(axis=1, keepdims=True))


def erasure(delta: float, k: int) -> Channel:
    return Channel(np.hstack([delta * np.eye(k), np.full((k, 1), 1 - delta)]))


def leaky(epsilon: float, delta: float) -> Channel:
    """Binary randomised response that reveals all with probability δ."""
    return Channel(np.hstack([delta * np.eye(2), (1 - delta) * response(epsilon).matrix]))


def pairs(epsilon: float, k: int = 6) -> Channel:
    """One output a pair (i, j): lift e^ε for i, e^{−ε} for j, the same for all others."""
    rest = (k - 2 * math.cosh(epsilon)) / (k - 2)
    columns = [(i, j) for i in range(k) for j in range(k) if i != j]
    lift = np.full((k, len(columns)), rest)
    for y, (i, j) in enumerate(columns):
        lift[i, y], lift[j, y] = math.exp(epsilon), math.exp(-epsilon)
    return Channel(lift / len(columns))


def pair(a: float, b: float) -> Channel:
    return Channel([[a, 1 - a], [b, 1 - b]])


def binned_normal(mu: float, width: float) -> Channel:
    """N(0,1) and N(μ,1) seen through bins of the given width."""
    edges_ = np.arange(-9.0, 9.0 + mu, width)

    def row(shift: float) -> list[float]:
        tail = [0.5 * math.erfc((e - shift) / math.sqrt(2)) for e in edges_]
        head = [0.5 * math.erfc((shift - e) / math.sqrt(2)) for e in edges_]
        cells = [
            a - b if a < 0.5 else d - c for a, b, c, d in zip(tail, tail[1:], head, head[1:], strict=False)
        ]
        return [head[0], *cells, tail[-1]]

    return Channel([row(0.0), row(mu)])


def some_channels() -> Iterator[Channel]:
    rng = np.random.default_rng(20)
    for x, y in ((2, 2), (2, 4), (3, 2), (3, 3), (4, 6), (5, 3)):
        for concentration in (0.2, 1.0, 30.0):
            yield Channel(rng.dirichlet(np.full(y, concentration), size=x))
    near = rng.dirichlet(np.ones(4)) * (1 + 1e-4 * rng.standard_normal((3, 4)))
    yield Channel(near / near.sum(axis=1, keepdims=True))
    yield Channel(np.eye(3))
    yield Channel(np.full((3, 2), 0.5))
    yield Channel([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    yield Channel([[1.0, 0.0], [0.5, 0.5]])
    yield from (response(0.3), response(2.0, 4), hiding(1.0, 4), block(1.0, 5, 2), pairs(0.5), pairs(0.2, 4))
    yield from (erasure(0.1, 4), leaky(0.5, 0.1), pair(0.9, 0.2), binned_normal(1.0, 0.5))


CHANNELS = tuple(some_channels())


def choices(edge: Implication, channel: Channel) -> Iterator[Free]:
    """Keyword combinations for an edge; a record's values are the channel's."""
    size = channel.shape[0] if edge.target is LocalInformationPrivacy else min(channel.shape)
    known = {**KEYWORDS, "values": (max(size, 2),), "centre": tuple(Centre)}
    names = edge.required + tuple(name for name in edge.optional if name == "centre")
    for combination in itertools.product(*(known[name] for name in names)):
        yield dict(zip(names, combination, strict=True))


def kinds(source: type[Definition]) -> tuple[Definition, ...]:
    """One example for each setting of the fields beside the threshold."""
    distinct = {repr(e.with_threshold(0.0)): e for e in source.examples()}
    return tuple(distinct.values())


def exceeds(target: Definition, channel: Channel) -> bool:
    """Whether the channel certainly breaks the guarantee, rounding aside."""
    return measured(target, channel).lower > target.threshold * (1 + 1e-9) + 1e-12


@functools.cache
def _measured(kind: Definition, channel: Channel) -> Bound:
    return kind.measure(channel)


def measured(definition: Definition, channel: Channel) -> Bound:
    """The capacity, which depends on the kind of guarantee and not on its threshold."""
    return _measured(definition.with_threshold(0.0), channel)


def forget() -> None:
    """Drop what was measured, where channels are many and each is met once."""
    _measured.cache_clear()
