"""The broken wifi in the lab: fields of random bits, the engine's own noise, and how much gets through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakcap.attack.choice import code_for, likely_uses
from leakcap.attack.finite import least_uses
from leakcap.attack.matching import Span, match_posterior
from leakcap.attack.parities import MOST_BITS
from leakcap.attack.use import Use
from leakcap.attack.value import Finding
from leakcap.errors import require
from leakcap.progress import tracked
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale, system_bytes

__all__ = ["Transmission", "transmit", "transmit_adaptively"]

_ERROR = 1e-2
_BLOCK = 256
_AT_ONCE = 200_000
"""Uses decoded at a time: a second or two, after which the bar moves."""


@dataclass(frozen=True, kw_only=True)
class Transmission(Finding):
    """got = k·ln 2·(share of fields read right)/(uses a field), at_most = the capacity of a use.

    `best_uses` is the finite-length optimum without feedback at frame error 1e-2; `fields` were read, in
    `uses` answers each (a mean where the reading is adaptive), `wrong` of them wrongly.
    """

    bits: int
    epsilon: float
    fields: int
    wrong: int
    uses: float
    best_uses: int


def transmit(
    bits: int,
    epsilon: float,
    *,
    fields: int,
    generator: np.random.Generator,
    uses: int | None = None,
    source: ByteSource = system_bytes,
) -> Transmission:
    """Read random fields by the code for their length: parities, polar or multi-edge (`code_for`).

    `uses` is about what that code needs unless given (`likely_uses`): for parities the finite-length optimum.

    >>> transmit(4, 2.0, fields=3, generator=np.random.default_rng(0), uses=200).wrong
    0
    """
    scale, use = _channel(epsilon, fields)
    length = likely_uses(bits, use) if uses is None else uses
    require(length >= 1, "uses", "transmit", "be at least 1", length)
    code = code_for(bits, length, use, generator)
    wrong = 0
    for block in _shown(_blocks(fields, max(1, _AT_ONCE // length)), code.name):
        messages = generator.integers(0, 2, (block, bits), dtype=np.uint8)
        noise = discrete_laplace(scale, block * length, source).reshape(block, length)
        read = code.decode(use.ratios(code.encode(messages) + noise)).messages
        wrong += int((read != messages).any(axis=1).sum())
    return _sent(f"broken wifi, {code.name}", bits, use, fields, wrong, fields * length)


def transmit_adaptively(
    bits: int,
    epsilon: float,
    *,
    fields: int,
    generator: np.random.Generator,
    confidence: float = 0.99,
    source: ByteSource = system_bytes,
) -> Transmission:
    """Read random fields by posterior matching, each until it is believed with probability `confidence`.

    >>> transmit_adaptively(4, 5.0, fields=3, generator=np.random.default_rng(0)).fields
    3
    """
    require(1 <= bits <= MOST_BITS, "bits", "transmit_adaptively", f"be from 1 to {MOST_BITS}", bits)
    scale, use = _channel(epsilon, fields)
    noise = _one_by_one(scale, source)
    wrong = total = 0
    for message in tracked(_messages(bits, fields, generator), "posterior matching"):

        def ask(span: Span, message: int = message) -> float:
            return float(use.ratios(int(span.holds(message)) + next(noise)))

        found = match_posterior(ask, bits, confidence=confidence)
        total, wrong = total + found.uses, wrong + (found.message != message)
    return _sent("broken wifi, posterior matching", bits, use, fields, wrong, total)


def _channel(epsilon: float, fields: int) -> tuple[Fraction, Use]:
    """The engine's noise for a count at this ε, and the use with exactly its likelihoods."""
    require(fields >= 1, "fields", "transmit", "be at least 1", fields)
    scale = rational_scale(1, epsilon)
    return scale, Use(float(1 / scale))


def _blocks(fields: int, most: int) -> list[int]:
    """How many fields are read at a time."""
    return [min(most, fields - start) for start in range(0, fields, most)]


def _shown(blocks: list[int], title: str) -> Iterable[int]:
    """With a bar for the blocks; the only block is left to the decoder's own bar."""
    return tracked(blocks, title) if len(blocks) > 1 else blocks


def _messages(bits: int, fields: int, generator: np.random.Generator) -> list[int]:
    return [int(message) for message in generator.integers(1 << bits, size=fields)]


def _one_by_one(scale: Fraction, source: ByteSource) -> Iterator[int]:
    while True:
        yield from discrete_laplace(scale, _BLOCK, source).tolist()


def _sent(attack: str, bits: int, use: Use, fields: int, wrong: int, total: int) -> Transmission:
    return Transmission(
        attack=attack,
        got=bits * math.log(2.0) * (fields - wrong) / total,
        at_most=use.capacity,
        unit="nats a use",
        stopped_by="caps on ε and nats a person; across people the cap on nats of the table",
        bits=bits,
        epsilon=use.decay,
        fields=fields,
        wrong=wrong,
        uses=total / fields,
        best_uses=least_uses(use, bits, _ERROR),
    )
