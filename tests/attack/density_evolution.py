"""Density evolution: what belief propagation does on an endless graph of given degrees.

Densities of messages are symmetric, p(−m) = e^{−m} p(m), so that the law of |m| says all; it is kept on a
grid. At a check tanh(|m|/2) multiplies; at a bit messages add, signs included. The many weak messages that
parities of bad channels send to one bit are taken together as one normal law of variance twice its mean.

Source: Richardson & Urbanke 2001 and 2008, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from leakcap.attack.codes.multi_edge_graph import Ensemble
from leakcap.attack.codes.use import Use
from leakcap.numeric.logspace import Floats

__all__ = ["Evolution", "Nodes", "evolve", "from_ensemble", "weak_use"]

Spectrum = NDArray[np.complex128]

_TOP = 24.0
_CELLS = 400
_STEP = _TOP / _CELLS
_WIDE = 8192
"""Cells of the transforms: sums reach further than messages."""

_GRID = np.arange(_CELLS + 1) * _STEP
_TANH = np.tanh(_GRID / 2)
_RIGHT = 1.0 / (1.0 + np.exp(-_GRID))
_ROWS, _COLUMNS = np.triu_indices(_CELLS + 1)
_OUT = 2 * np.arctanh(np.minimum(_TANH[_ROWS] * _TANH[_COLUMNS], 1 - 1e-12)) / _STEP
_LOW = np.minimum(_OUT.astype(np.int64), _CELLS - 1)
_HIGH_SHARE = np.minimum(_OUT - _LOW, 1.0)
_OFF_DIAGONAL = _ROWS != _COLUMNS
_OFFSETS = np.fft.fftfreq(_WIDE, 1.0 / _WIDE) * _STEP
_CONVERGED = 1e-5
_STUCK = 1e-7


@dataclass(frozen=True)
class Nodes:
    """The core of a multi-edge ensemble, per core bit.

    `bits`: share, and edges of each type to checks; `checks`: how many per core bit, and edges of each type;
    `parities`: degree and how many per core bit.
    """

    bits: Sequence[tuple[float, tuple[int, ...]]]
    checks: Sequence[tuple[float, tuple[int, ...]]]
    parities: Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Evolution:
    """Whether the bit error goes to nought, after how many rounds, and the bit error where it ended."""

    decodes: bool
    rounds: int
    error: float


def weak_use(use: Use) -> tuple[float, float, float]:
    """E[tanh²], E[tanh⁴], E[tanh⁶] of half the log likelihood ratio of a use.

    >>> [round(x, 4) for x in weak_use(Use(0.336))]
    [0.0277, 0.0008, 0.0]
    """
    g = np.tanh(use.decay / 2)
    return float(g**2), float(g**4), float(g**6)


def from_ensemble(ensemble: Ensemble, uses_a_bit: float) -> Nodes:
    """The endless graph of `Ensemble`: edges to the accumulator's sums, and to the message's bits.

    >>> ensemble = Ensemble(((2, 0.6), (3, 0.4)), ((2, 0.25), (3, 0.75)), ((1, 0.5), (5, 0.5)))
    >>> from_ensemble(ensemble, 50.0).parities
    [(2, 14.399999999999999), (3, 9.600000000000001)]
    """
    each = uses_a_bit / 2 - 1
    return Nodes(
        [(0.5, (2, 0)), *((0.5 * share, (0, degree)) for degree, share in ensemble.bits)],
        [(0.5 * share, (2, degree)) for degree, share in ensemble.checks],
        [(degree, share * each) for degree, share in ensemble.parities],
    )


def evolve(nodes: Nodes, channel: tuple[float, float, float], *, rounds: int = 500) -> Evolution:
    """Density evolution of flooding belief propagation; every core bit is sent once.

    `channel` are the moments E[tanh²], E[tanh⁴], E[tanh⁶] of half the log likelihood ratio of an answer.

    >>> ensemble = Ensemble(((2, 0.6), (3, 0.4)), ((2, 0.25), (3, 0.75)), ((1, 0.5), (5, 0.5)))
    >>> evolve(from_ensemble(ensemble, 40.0), weak_use(Use(0.336)), rounds=8).decodes  # above capacity
    False
    """
    kinds = range(len(nodes.bits[0][1]))
    edges = [sum(share * degrees[kind] for share, degrees in nodes.bits) for kind in kinds]
    fan = sum(degree * count for degree, count in nodes.parities)
    told = _mean(channel, (1.0, 1.0, 1.0), 1)
    from_checks = [_nothing() for _ in kinds]
    mean, before = 0.0, 1.0
    for done in range(1, rounds + 1):
        spectra = [np.fft.rfft(_signed(law)) for law in from_checks]
        strong = _normal(told + fan * mean)
        whole = _mixed([(share, _sum(strong, spectra, degrees)) for share, degrees in nodes.bits])
        error = float((whole * (1.0 - _RIGHT)).sum())
        if error < _CONVERGED:
            return Evolution(True, done, error)
        if done > 5 and before - error < _STUCK:
            break
        before = error
        to_checks = [
            _mixed(
                [
                    (share * degrees[kind] / edges[kind], _sum(strong, spectra, _less(degrees, kind)))
                    for share, degrees in nodes.bits
                    if degrees[kind]
                ]
            )
            for kind in kinds
        ]
        others = _normal(told + (fan - 1.0) * mean)
        away = _mixed([(share, _sum(others, spectra, degrees)) for share, degrees in nodes.bits])
        moments = tuple(float((away * _TANH**power).sum()) for power in (2, 4, 6))
        mean = sum(d * count * _mean(channel, moments, d) for d, count in nodes.parities) / fan
        from_checks = [_from_checks(nodes, to_checks, kind, edges[kind]) for kind in kinds]
    return Evolution(False, done, error)


def _mean(channel: Sequence[float], moments: Sequence[float], degree: int) -> float:
    """E[m] of what a parity says: m = 2·atanh(u), and by symmetry E[m] = E[2·atanh(|u|)·|u|]."""
    return sum(
        2.0 / (2 * k + 1) * c * t ** (degree - 1)
        for k, (c, t) in enumerate(zip(channel, moments, strict=True))
    )


def _less(degrees: tuple[int, ...], kind: int) -> tuple[int, ...]:
    return tuple(degree - (other == kind) for other, degree in enumerate(degrees))


def _nothing() -> Floats:
    law = np.zeros(_CELLS + 1)
    law[0] = 1.0
    return law


def _mixed(parts: Sequence[tuple[float, Floats]]) -> Floats:
    law = np.sum([share * part for share, part in parts], axis=0)
    return np.asarray(law / law.sum())


def _signed(law: Floats) -> Floats:
    """The law of m from that of |m|, on a circle."""
    out = np.zeros(_WIDE)
    out[: _CELLS + 1] = law * _RIGHT
    out[-_CELLS:] = (law * (1.0 - _RIGHT))[:0:-1]
    out[0] = law[0]
    return out


def _normal(mean: float) -> Spectrum:
    """The spectrum of a normal law of this mean and twice the variance."""
    law = np.exp(-((_OFFSETS - mean) ** 2) / (4.0 * mean))
    return np.asarray(np.fft.rfft(law / law.sum()))


def _sum(strong: Spectrum, spectra: Sequence[Spectrum], degrees: Sequence[int]) -> Floats:
    """The law of |m| of a sum of messages."""
    product = reduce(
        lambda left, right: left * right, (s**d for s, d in zip(spectra, degrees, strict=True)), strong
    )
    law = np.fft.irfft(product, _WIDE)
    folded = law[: _WIDE // 2].copy()
    folded[1:] += law[: _WIDE // 2 : -1]
    out = np.maximum(folded[: _CELLS + 1], 0.0)
    out[-1] += folded[_CELLS + 1 :].sum()
    return np.asarray(out / out.sum())


def _both(one: Floats, other: Floats) -> Floats:
    """The law of |m| behind a check of two messages; each product is shared between the cells around it."""
    mass = one[_ROWS] * other[_COLUMNS] + _OFF_DIAGONAL * one[_COLUMNS] * other[_ROWS]
    high = mass * _HIGH_SHARE
    law = np.bincount(_LOW, mass - high, _CELLS + 1) + np.bincount(_LOW + 1, high, _CELLS + 1)
    return np.asarray(law / law.sum())


def _from_checks(nodes: Nodes, to_checks: Sequence[Floats], kind: int, edges: float) -> Floats:
    powers: dict[tuple[int, int], Floats] = {}

    def power(of: int, degree: int) -> Floats:
        if degree == 1:
            return to_checks[of]
        if (of, degree) not in powers:
            half = power(of, degree // 2)
            square = _both(half, half)
            powers[of, degree] = _both(square, to_checks[of]) if degree % 2 else square
        return powers[of, degree]

    parts = []
    for count, degrees in nodes.checks:
        if degrees[kind]:
            others = [power(of, d) for of, d in enumerate(_less(degrees, kind)) if d]
            parts.append((count * degrees[kind] / edges, reduce(_both, others)))
    return _mixed(parts)
