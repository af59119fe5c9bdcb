"""The broken wifi in the lab: fields of random bits, the engine's own noise, and how much gets through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakcap.attack.chance import CONFIDENCE, binomial_interval, mean_interval
from leakcap.attack.codes.matching import Span, match_posterior
from leakcap.attack.codes.parities import MOST_BITS
from leakcap.attack.codes.use import Use
from leakcap.attack.value import Finding
from leakcap.attack.wifi.choice import code_for, likely_uses
from leakcap.attack.wifi.finite import fano_told, least_uses
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
    """got = what the readings tell about the fields, in nats a use; at_most = the capacity of a use.

    A reading of k bits that is wrong with probability e tells ln 2ᵏ − h(e) − e·ln(2ᵏ − 1) nats at least
    (Fano), which no code brings above the capacity: a field that is guessed right by chance counts for
    nothing. `best_uses` is the finite-length optimum without feedback at frame error 1e-2; `fields` were
    read, in `uses` answers each (a mean where the reading is adaptive), `wrong` of them wrongly. Every 99 %
    interval holds for any number of fields; that of `got` rests on those of the error and of the uses.
    """

    bits: int
    epsilon: float
    fields: int
    wrong: int
    error_lower: float
    error_upper: float
    uses: float
    uses_lower: float
    uses_upper: float
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
    return _sent(f"broken wifi, {code.name}", bits, use, wrong, [float(length)] * fields)


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

    A field that is not believed after twice the finite-length optimum is taken for the likeliest one.

    >>> transmit_adaptively(4, 5.0, fields=3, generator=np.random.default_rng(0)).fields
    3
    """
    require(1 <= bits <= MOST_BITS, "bits", "transmit_adaptively", f"be from 1 to {MOST_BITS}", bits)
    scale, use = _channel(epsilon, fields)
    noise = _one_by_one(scale, source)
    wrong, uses, most = 0, [], 2 * least_uses(use, bits, _ERROR)
    for message in tracked(_messages(bits, fields, generator), "posterior matching"):

        def ask(span: Span, message: int = message) -> float:
            return float(use.ratios(int(span.holds(message)) + next(noise)))

        found = match_posterior(ask, bits, confidence=confidence, most_uses=most)
        uses.append(float(found.uses))
        wrong += found.message != message
    return _sent("broken wifi, matching", bits, use, wrong, uses, most)


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


def _sent(
    attack: str, bits: int, use: Use, wrong: int, uses: list[float], most: int | None = None
) -> Transmission:
    """`uses` of each field: fixed beforehand, or found on the way and then `most` at most."""
    fields, mean = len(uses), math.fsum(uses) / len(uses)
    # Where two intervals stand behind that of `got`, each may fail half as often.
    each = CONFIDENCE if most is None else 0.5 + CONFIDENCE / 2.0
    error = binomial_interval(wrong, fields, each)
    spent = (mean, mean) if most is None else mean_interval(uses, 1.0, most, each)
    return Transmission(
        attack=attack,
        got=fano_told(bits, wrong / fields) / mean,
        got_lower=fano_told(bits, error[1]) / spent[1],
        got_upper=fano_told(bits, error[0]) / spent[0],
        error_lower=error[0],
        error_upper=error[1],
        uses_lower=spent[0],
        uses_upper=spent[1],
        at_most=use.capacity,
        unit="nats a use",
        stopped_by="caps on ε and nats a person; across people the cap on nats of the table",
        bits=bits,
        epsilon=use.decay,
        fields=fields,
        wrong=wrong,
        uses=mean,
        best_uses=least_uses(use, bits, _ERROR),
    )
