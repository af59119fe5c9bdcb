"""Belief propagation on a multi-edge graph: one frame at a time, a layer of parities at a time.

Beliefs are log likelihood ratios of 0 against 1. A parity whose answer has tanh(L/2) = g sends each of its
bits 2·atanh(g·∏ tanh(m/2)) over the others' messages m. A bit's message is its belief without what this
parity said before, which in the tanh domain is the difference (t − u)/(1 − t·u); so hyperbolic tangents are
taken of bits, not of edges. Single precision, which serves answers of ratios up to about 2; no approximation
besides.

Source: Gallager 1963; Richardson & Urbanke 2008, chapters 2 and 7; Hocevar 2004 (layers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.attack.codes.multi_edge_graph import Graph, Layer

__all__ = ["Belief", "propagate"]

Singles = NDArray[np.float32]

_SURE = np.float32(1.0 - 2.0**-22)
"""No message says more than 16: beyond, 1 − tanh is lost in single precision."""
_EVERY = 5
"""Layers of parities between two visits to the accumulator: the core is small, and decides."""
_AFTER = 5
"""More rounds once all checks hold, for beliefs as sure as they get."""
_DOUBT = 1e-3


@dataclass(frozen=True)
class Belief:
    """Log likelihood ratios of 0 against 1 of the core bits; whether all checks hold; the rounds taken."""

    ratios: Singles
    consistent: bool
    rounds: int

    @property
    def doubt(self) -> float:
        """Σ 1/(1 + e^|L|): how many core bits are wrong, if the beliefs were exact."""
        return float(np.sum(1.0 / (1.0 + np.exp(np.minimum(np.abs(self.ratios.astype(float)), 700.0)))))


class _Parities:
    """One layer: what each parity last told each of its bits, as u = tanh(m/2) and as m."""

    def __init__(self, layer: Layer, answers: Singles, core: int) -> None:
        self.layer = layer
        self.gain: Singles = np.tanh(answers / 2)
        shape = (len(layer.shifts), layer.size)
        self.u: Singles = np.zeros(shape, np.float32)
        self.m: Singles = np.zeros(shape, np.float32)
        self.x: Singles = np.empty(shape, np.float32)
        self.y: Singles = np.empty(shape, np.float32)
        self.sums: Singles = np.empty(2 * core, np.float32)
        self.core = core

    def visit(self, belief: Singles) -> None:
        """Update `belief` in place with what the parities now say instead of what they said."""
        layer, core, x, y, u = self.layer, self.core, self.x, self.y, self.u
        t = np.tanh(belief.take(layer.order) * np.float32(0.5))
        twice = np.concatenate([t, t])
        for row, shift in enumerate(layer.shifts):
            x[row] = twice[shift : shift + layer.size]
        np.multiply(x, u, out=y)
        np.subtract(1.0, y, out=y)
        np.subtract(x, u, out=x)
        np.divide(x, y, out=x)
        _others(x, self.gain, u)
        np.add(1.0, u, out=x)
        np.subtract(1.0, u, out=y)
        np.divide(x, y, out=x)
        np.log(x, out=x)
        np.subtract(x, self.m, out=y)
        self.m, self.x = x, self.m
        sums = self.sums
        sums.fill(0.0)
        for row, shift in enumerate(layer.shifts):
            sums[shift : shift + layer.size] += y[row]
        sums[:core] += sums[core:]
        belief += sums[:core].take(layer.inverse)


def _others(x: Singles, gain: Singles, out: Singles) -> None:
    """gain · ∏ of the other rows, row by row."""
    last = len(x) - 1
    ahead = gain
    for row in range(last):
        np.copyto(out[row], ahead)
        ahead = ahead * x[row]
    np.copyto(out[last], ahead)
    behind = x[last]
    for row in range(last - 1, -1, -1):
        out[row] *= behind
        if row:
            behind = behind * x[row]


class _Accumulator:
    """The checks of the core; messages in rows: to the sum before, to the sum, to the message's bits."""

    def __init__(self, graph: Graph) -> None:
        self.members, self.places, self.bits = graph.members, graph.places, graph.bits
        shape = (2 + len(graph.members), graph.bits)
        self.m: Singles = np.zeros(shape, np.float32)
        self.x: Singles = np.empty(shape, np.float32)
        self.u: Singles = np.empty(shape, np.float32)
        self.ones: Singles = np.ones(graph.bits, np.float32)
        self.absent = graph.members == graph.bits
        self.padded: Singles = np.empty(graph.bits + 1, np.float32)
        self.flat: Singles = np.zeros(graph.members.size + 1, np.float32)

    def visit(self, belief: Singles) -> None:
        """Update `belief` in place: all checks at once."""
        bits, x = self.bits, self.x
        sums = belief[bits:]
        self.padded[:bits] = belief[:bits]
        self.padded[bits] = 0.0
        x[0, 1:] = sums[:-1]
        x[1] = sums
        np.take(self.padded, self.members, out=x[2:], mode="clip")
        x -= self.m
        x *= np.float32(0.5)
        np.tanh(x, out=x)
        x[0, 0] = 1.0
        x[2:][self.absent] = 1.0
        _others(x, self.ones, self.u)
        np.clip(self.u, -_SURE, _SURE, out=self.u)
        fresh = np.log((1.0 + self.u) / (1.0 - self.u))
        fresh[0, 0] = 0.0
        change = fresh - self.m
        self.m = fresh
        sums += change[1]
        sums[:-1] += change[0, 1:]
        self.flat[:-1] = change[2:].ravel()
        belief[:bits] += self.flat.take(self.places).sum(axis=0)


def propagate(
    graph: Graph, answers: Singles, *, rounds: int, step: Callable[[float], None] = lambda _: None
) -> Belief:
    """Belief propagation from the answers' log likelihood ratios of 0 against 1: core bits, then layers.

    It stops when all checks hold and the beliefs are sure, or after so many rounds; `step` hears the share of
    them that is done.
    """
    core = 2 * graph.bits
    belief: Singles = answers[:core].copy()
    ends = np.cumsum([core, *(layer.size for layer in graph.layers)])
    layers = [
        _Parities(layer, answers[start : start + layer.size], core)
        for layer, start in zip(graph.layers, ends[:-1], strict=True)
    ]
    accumulator = _Accumulator(graph)
    held = 0
    for done in range(1, rounds + 1):
        step((done - 1) / rounds)
        for index, layer in enumerate(layers, 1):
            layer.visit(belief)
            if index % _EVERY == 0 or index == len(layers):
                accumulator.visit(belief)
        consistent = bool(graph.satisfied((belief < 0).astype(np.uint8)[None]).all())
        held = held + 1 if consistent else 0
        found = Belief(belief, consistent, done)
        if consistent and (held > _AFTER or found.doubt < _DOUBT):
            break
    return found
