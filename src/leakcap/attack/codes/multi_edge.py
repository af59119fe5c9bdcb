"""Multi-edge low-density codes with belief propagation, for fields of a thousand bits and more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from leakcap.attack.codes.belief import propagate
from leakcap.attack.codes.code import Bits, Code, Readings
from leakcap.attack.codes.multi_edge_graph import Ensemble, Graph, random_graph
from leakcap.attack.codes.use import Use
from leakcap.errors import require
from leakcap.progress import progress

__all__ = [
    "ENSEMBLE",
    "LEAST_MULTI_EDGE_BITS",
    "SHORT_ENSEMBLE",
    "MultiEdgeCode",
    "multi_edge_code",
    "multi_edge_uses",
]

LEAST_MULTI_EDGE_BITS = 64
"""Below, a random graph of these degrees has short loops everywhere."""
_LEAST_USES = 5
"""Uses a bit of the message: the degrees are those of bad channels."""
ENSEMBLE = Ensemble(
    parities=((2, 0.61), (3, 0.39)),
    bits=((2, 0.24), (3, 0.76)),
    checks=((1, 0.5425), (3, 0.035), (5, 0.4225)),
)
"""From the published degrees for rate 0.02, by density evolution and trial with an accumulator."""
SHORT_ENSEMBLE = Ensemble(
    parities=((2, 0.64), (3, 0.36)),
    bits=((2, 0.2), (3, 0.8)),
    checks=((1, 0.5325), (3, 0.035), (5, 0.4325)),
)
"""More parities of two bits, which a short code needs to start: fewer frame errors at 10⁵ uses."""
_SHORT = 8000
_ROUNDS = 250
_THRESHOLD = 0.97
"""Of the capacity, by density evolution."""
_SPREADS = 2.5
"""Standard deviations of the channel's own luck that frame error 0.1 takes at a finite length; by trial."""


class MultiEdgeCode(Code):
    """An accumulator code of rate one half, its bits and parities of two or three of them sent as symbols.

    As many parities are sent as there are answers, so that one core serves every rate. The message is the
    first K symbols.

    Source: Richardson & Urbanke 2004 (multi-edge types); Jouguet, Kunz-Jacques & Leverrier 2011 (the degrees
    at rate 0.02); Jin, Khandekar & McEliece 2000 (accumulators).

    >>> code = multi_edge_code(64, 640, Use(1.0), np.random.default_rng(0))
    >>> message = np.zeros((1, 64), dtype=np.uint8)
    >>> bool((code.decode(-1.0 + 2.0 * code.encode(message)).messages == message).all())
    True
    """

    def __init__(self, graph: Graph, *, rounds: int = _ROUNDS) -> None:
        require(rounds >= 1, "rounds", "MultiEdgeCode", "be at least 1", rounds)
        self._graph, self._rounds = graph, rounds

    @property
    def name(self) -> str:
        """With the size of the core."""
        return f"multi-edge, core of {2 * self.bits}"

    @property
    def bits(self) -> int:
        """As many as there are checks in the core."""
        return self._graph.bits

    @property
    def uses(self) -> int:
        """The core bits and the parities."""
        return 2 * self.bits + sum(layer.size for layer in self._graph.layers)

    def encode(self, messages: Bits) -> Bits:
        """The message, the accumulator's bits, the parities layer by layer."""
        core = self._graph.core(self.checked_messages(messages))
        return np.concatenate([core, *(layer.bits(core) for layer in self._graph.layers)], axis=1)

    def decode(self, ratios: ArrayLike) -> Readings:
        """Belief propagation; the confidence is the product of the bits' beliefs, as if independent."""
        soft = self.checked_ratios(ratios)
        messages = np.empty((len(soft), self.bits), dtype=np.uint8)
        confidences = np.empty(len(soft))
        with progress(self.name) as tick:
            for row, answers in enumerate(soft):

                def step(part: float, row: int = row) -> None:
                    tick((row + part) / len(soft), f"{row:,} of {len(soft):,}")

                towards_zero = (-answers).astype(np.float32)
                found = propagate(self._graph, towards_zero, rounds=self._rounds, step=step)
                beliefs = found.ratios[: self.bits].astype(np.float64)
                messages[row] = beliefs < 0.0
                confidences[row] = np.exp(-np.log1p(np.exp(-np.abs(beliefs))).sum())
        return Readings(messages, confidences)


def multi_edge_code(bits: int, uses: int, use: Use, generator: np.random.Generator) -> MultiEdgeCode:
    """A random code of these degrees; the generator chooses the graph, not noise: any will do.

    The degrees were chosen for uses of capacity 0.02 bit, and serve worse ones as well. Raises
    `InvalidParameter` for fewer than 5 uses a bit, where they are no good.

    >>> multi_edge_code(2000, 120_000, Use(0.336), np.random.default_rng(0)).name
    'multi-edge, core of 4000'
    """
    require(
        bits >= LEAST_MULTI_EDGE_BITS, "bits", "multi_edge_code", f"be at least {LEAST_MULTI_EDGE_BITS}", bits
    )
    require(uses >= _LEAST_USES * bits, "uses", "multi_edge_code", f"be at least {_LEAST_USES} a bit", uses)
    ensemble = SHORT_ENSEMBLE if bits < _SHORT else ENSEMBLE
    return MultiEdgeCode(random_graph(bits, uses - 2 * bits, ensemble, generator))


def multi_edge_uses(bits: int, use: Use) -> int:
    """About how many uses make the frame error 0.1: K ln 2 = 0.97·nC − 2.5·√(nV), and 5 a bit at least.

    >>> from leakcap.attack.codes.use import use_of_capacity
    >>> [round(k / (0.02 * multi_edge_uses(k, use_of_capacity(0.02))), 2) for k in (1700, 19_000)]
    [0.87, 0.94]
    """
    require(
        bits >= LEAST_MULTI_EDGE_BITS, "bits", "multi_edge_uses", f"be at least {LEAST_MULTI_EDGE_BITS}", bits
    )
    rate, spread = _THRESHOLD * use.capacity, _SPREADS * math.sqrt(use.dispersion)
    root = (spread + math.sqrt(spread**2 + 4.0 * rate * bits * math.log(2.0))) / (2.0 * rate)
    return max(math.ceil(root**2), _LEAST_USES * bits)
