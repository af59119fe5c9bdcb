"""The worst of many pairs of neighbouring inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakcap.audit.run import audit
from leakcap.audit.value import Audit
from leakcap.definition import Definition
from leakcap.errors import require

__all__ = ["answer_patterns", "audit_pairs"]

PILOT = 0.25
"""The part of the runs that goes to finding the pair."""
LEAST = 100
"""Runs a side of a pilot audit, at least."""


def audit_pairs(
    mechanism: object,
    pairs: Sequence[tuple[Any, Any]],
    *,
    samples: int = 10_000,
    claim: Definition | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.1,
    bits: bool = True,
    seed: int | None = None,
) -> Audit:
    """Find the pair that tells most by pilot audits, and audit it with fresh runs.

    Pairs are halved in rounds with ever more runs each; all pilots together take about a quarter of the
    `samples` of the final audit (more where there are very many pairs). The pair is chosen on other runs than
    it is certified on, so that there is nothing to correct for; `Audit.pair` says which it was.

    >>> from leakcap.mechanism import RandomisedResponse
    >>> pairs = [(0, 0), (0, 1)]
    >>> audit_pairs(RandomisedResponse(2, 3.0), pairs, samples=1000, seed=0).pair
    (0, 1)
    """
    require(len(pairs) > 0, "pairs", "audit_pairs", "hold at least one pair", len(pairs))
    coins = iter(np.random.SeedSequence(seed).generate_state(4 * len(pairs) + 64).tolist())
    left = list(pairs)
    rounds = max(1, (len(left) - 1).bit_length())
    while len(left) > 1:
        runs = max(LEAST, int(PILOT * samples / rounds / len(left)))
        # The pilots' coins are their own: the final audit's must know nothing of how its pair was chosen.
        told = [_told(mechanism, pair, runs, bits, next(coins)) for pair in left]
        ranked = sorted(range(len(left)), key=lambda i: told[i], reverse=True)
        left = [left[i] for i in sorted(ranked[: (len(left) + 1) // 2])]
    first, second = left[0]
    return audit(
        mechanism,
        first,
        second,
        samples=samples,
        claim=claim,
        confidence=confidence,
        tolerance=tolerance,
        bits=bits,
        seed=next(coins),
    )


def _told(mechanism: object, pair: tuple[Any, Any], runs: int, bits: bool, seed: int) -> float:
    """How much a pilot of a pair tells, in nats; a low confidence and an even split suit so few runs."""
    found = audit(mechanism, *pair, samples=runs, confidence=0.6, learn=0.3, bits=bits, seed=seed)
    return found.epsilon.lower + found.maximal_leakage.lower


def answer_patterns(length: int) -> list[tuple[list[float], list[float]]]:
    """Pairs of vectors of query answers that differ by at most one in each place: the usual suspects.

    One answer moves, all move, half up and half down, one up and the rest down, and their mirror images.
    Source: Ding, Wang, Wang, Zhang & Kifer 2018, table 2.

    >>> answer_patterns(2)[0]
    ([1.0, 1.0], [2.0, 1.0])
    """
    require(length >= 1, "length", "answer_patterns", "be at least 1", length)
    ones, half = [1.0] * length, length // 2
    pairs = [
        (ones, [2.0, *ones[1:]]),
        (ones, [0.0, *ones[1:]]),
        (ones, [2.0] + [0.0] * (length - 1)),
        (ones, [0.0] + [2.0] * (length - 1)),
        (ones, [0.0] * half + [2.0] * (length - half)),
        (ones, [2.0] * length),
        ([1.0] * half + [0.0] * (length - half), [0.0] * half + [1.0] * (length - half)),
    ]
    unique: list[tuple[list[float], list[float]]] = []
    for pair in pairs:
        if pair not in unique and pair[0] != pair[1]:
            unique.append(pair)
    return unique
