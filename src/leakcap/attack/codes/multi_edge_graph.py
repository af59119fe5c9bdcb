"""The graph of a multi-edge code: an accumulator with the message hung into it, and layers of parities.

The core has 2K bits, of which K are the message. K checks bind them: check c holds the accumulator's bits
c − 1 and c and a few bits of the message, so that the other K bits are running sums. On the channel go the
core bits themselves and, in layers, parities of two or three core bits each: as many as there are answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ensemble", "Graph", "Layer", "random_graph"]

Indices = NDArray[np.intp]
Degrees = NDArray[np.int64]

_APART = 8
"""A bit of the message comes back to the accumulator no sooner: closer, the code has words of low weight."""
_NEAR = 400
"""Checks around one that are near it, for the same reason: some ten steps."""
_ATTEMPTS = 200


@dataclass(frozen=True)
class Ensemble:
    """Shares of degrees, of which a graph is drawn.

    `parities`: of the channel's parities, the share with so many core bits; `bits`: of the message's bits,
    the share in so many checks; `checks`: of the checks, the share with so many bits of the message.
    """

    parities: tuple[tuple[int, float], ...]
    bits: tuple[tuple[int, float], ...]
    checks: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Layer:
    """Parities j < size of the core bits order[j + s mod 2K], one for each shift s, starting with 0.

    The shifts are distinct and `order` is a permutation, so that no bit comes twice in a parity, and each
    comes equally often in a full layer.
    """

    order: Indices
    inverse: Indices
    shifts: tuple[int, ...]
    size: int

    def bits(self, core: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The parities, of shape (frames, size), of core bits of shape (frames, 2K)."""
        ordered = core[:, self.order]
        twice = np.concatenate([ordered, ordered], axis=1)
        columns = [twice[:, shift : shift + self.size] for shift in self.shifts]
        return np.asarray(np.bitwise_xor.reduce(columns, axis=0), dtype=np.uint8)


@dataclass(frozen=True)
class Graph:
    """`members[i, c]` is the i-th bit of the message in check c, or K where the check has fewer."""

    members: Indices
    layers: tuple[Layer, ...]

    @property
    def bits(self) -> int:
        """K."""
        return int(self.members.shape[1])

    @cached_property
    def places(self) -> Indices:
        """The transpose: column v lists where bit v stands in `members`, flat, padded with its size."""
        flat = self.members.ravel()
        edges = np.flatnonzero(flat < self.bits)
        edges = edges[np.argsort(flat[edges], kind="stable")]
        degrees = np.bincount(flat[edges], minlength=self.bits)
        out = np.full((int(degrees.max()), self.bits), flat.size, dtype=np.intp)
        rank = np.arange(edges.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
        out[rank, flat[edges]] = edges
        return out

    def core(self, messages: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The 2K core bits of each message: itself, then the accumulator."""
        padded = np.concatenate([messages, np.zeros((len(messages), 1), np.uint8)], axis=1)
        sums = np.bitwise_xor.reduce(padded[:, self.members], axis=1)
        return np.concatenate([messages, np.bitwise_xor.accumulate(sums, axis=1)], axis=1)

    def satisfied(self, core: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which checks hold, of shape (frames, K)."""
        message, sums = core[:, : self.bits], core[:, self.bits :]
        before = np.concatenate([np.zeros((len(core), 1), np.uint8), sums[:, :-1]], axis=1)
        padded = np.concatenate([message, np.zeros((len(core), 1), np.uint8)], axis=1)
        return np.asarray((np.bitwise_xor.reduce(padded[:, self.members], axis=1) ^ before ^ sums) == 0)


def random_graph(bits: int, parities: int, ensemble: Ensemble, generator: np.random.Generator) -> Graph:
    """A graph of the ensemble for K = `bits`, with so many parities besides the 2K core bits.

    >>> ensemble = Ensemble(((2, 0.6), (3, 0.4)), ((2, 0.25), (3, 0.75)), ((1, 0.5), (5, 0.5)))
    >>> graph = random_graph(100, 1000, ensemble, np.random.default_rng(0))
    >>> core = graph.core(np.eye(100, dtype=np.uint8))
    >>> sum(layer.size for layer in graph.layers), bool(graph.satisfied(core).all())
    (1000, True)
    """
    members = _accumulated(bits, ensemble, generator)
    layers: list[Layer] = []
    left = parities
    for index, (degree, _) in enumerate(ensemble.parities):
        last = index == len(ensemble.parities) - 1
        size = left if last else round(parities * ensemble.parities[index][1])
        left -= size
        layers += _layers(2 * bits, degree, size, generator)
    return Graph(members, tuple(layers[i] for i in generator.permutation(len(layers))))


def _layers(core: int, degree: int, size: int, generator: np.random.Generator) -> list[Layer]:
    layers = []
    while size > 0:
        order = generator.permutation(core).astype(np.intp)
        shifts = 1 + generator.choice(core - 1, degree - 1, replace=False)
        layers.append(Layer(order, np.argsort(order), (0, *map(int, shifts)), min(size, core)))
        size -= core
    return layers


def _spread(count: int, shares: tuple[tuple[int, float], ...]) -> Degrees:
    """`count` degrees in these shares, by largest remainder in turn."""
    ends = np.rint(np.cumsum([share for _, share in shares]) * count).astype(np.int64)
    ends[-1] = count
    return np.repeat([degree for degree, _ in shares], np.diff(ends, prepend=0))


def _accumulated(bits: int, ensemble: Ensemble, generator: np.random.Generator) -> Indices:
    """Edges between the message and the checks: degrees as the ensemble says, the rest at random."""
    of_bits = _spread(bits, ensemble.bits)
    slots = generator.permutation(np.repeat(np.arange(bits), _check_degrees(of_bits, ensemble, generator)))
    twos = int((of_bits == 2).sum())
    chords, others = _chords(slots, twos, bits)
    others = _set_apart(others, np.repeat(np.arange(twos, bits), of_bits[twos:]), generator)
    ends = np.concatenate([chords, others])
    owners = np.concatenate([np.repeat(np.arange(twos), 2), np.repeat(np.arange(twos, bits), of_bits[twos:])])
    order = np.argsort(ends, kind="stable")
    degrees = np.bincount(ends, minlength=bits)
    rank = np.arange(ends.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    members = np.full((int(degrees.max()), bits), bits, dtype=np.intp)
    members[rank, ends[order]] = owners[order]
    return members


def _check_degrees(of_bits: Degrees, ensemble: Ensemble, generator: np.random.Generator) -> Degrees:
    """How many bits of the message each check has, as many edges in all as the bits have."""
    degrees = generator.permutation(_spread(of_bits.size, ensemble.checks))
    highest = max(degree for degree, _ in ensemble.checks)
    while (missing := int(of_bits.sum() - degrees.sum())) != 0:
        fits = np.flatnonzero(degrees < highest) if missing > 0 else np.flatnonzero(degrees > 1)
        degrees[generator.permutation(fits)[: abs(missing)]] += 1 if missing > 0 else -1
    return degrees


def _chords(slots: Degrees, count: int, checks: int) -> tuple[Degrees, Degrees]:
    """Two slots for each bit in two checks, and the slots that are left.

    Such a bit is a chord of the path of checks that the accumulator is, and a cycle of chords and steps is a
    word of the core of that weight: so a chord joins no two checks that are near already.
    Source: Hu, Eleftheriou & Arnold 2005 (progressive edge growth).
    """
    queue, taken = slots.tolist(), []
    joined: list[list[int]] = [[] for _ in range(checks)]
    for _ in range(count):
        one = queue.pop()
        near = _near(one, joined, min(_NEAR, checks // 8))
        back = next((i for i in range(1, min(len(queue), _ATTEMPTS)) if queue[-i] not in near), 1)
        other = queue.pop(-back)
        joined[one].append(other)
        joined[other].append(one)
        taken += [one, other]
    return np.array(taken, dtype=np.int64), np.array(queue, dtype=np.int64)


def _near(start: int, joined: list[list[int]], most: int) -> set[int]:
    """The checks around one, in full circles of steps and chords, until there are so many."""
    near, circle = {start}, [start]
    while circle and len(near) < most:
        around = {
            there
            for here in circle
            for there in (here - 1, here + 1, *joined[here])
            if 0 <= there < len(joined)
        }
        circle = list(around - near)
        near |= around
    return near


def _set_apart(slots: Degrees, owners: Degrees, generator: np.random.Generator) -> Degrees:
    """The slots in another order, in which none is close to another one of the same owner."""
    slots = slots.copy()
    apart = min(_APART, slots.size // 64)
    for _ in range(_ATTEMPTS):
        keys = owners * (int(slots.max()) + apart + 1) + slots
        order = np.argsort(keys)
        close = order[1:][np.diff(keys[order]) <= apart]
        if not close.size:
            break
        for one, other in zip(close, generator.integers(slots.size, size=close.size), strict=True):
            slots[one], slots[other] = slots[other], slots[one]
    return slots
