"""What proves δ or ε of a composition to who has not computed it: parts, a line, a step, and its end.

The checker sums the trapezoid rule of `contour.py` in balls. It needs to be told the abscissa, the step, how
many nodes, how far each part's line of integration is lifted for the bound beyond the last node, and the
abscissa of Chernoff's bound on the aliases. Whatever it is told, it believes only what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from leakcap.accounting.contour import (
    log_kernel_peak,
    log_mean,
    make_contour,
    saddle_for_delta,
    saddle_for_epsilon,
)
from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import LossComponent, Reversed
from leakcap.accounting.sampled import SampledGaussianLoss
from leakcap.certificate import Proof

__all__ = ["line_at", "proof_of_delta", "proof_of_epsilon", "proof_of_renyi"]

Parts = Sequence[tuple[LossComponent, int]]
Witness = dict[str, Any]

_KINDS = (GaussianLoss, SampledGaussianLoss, LaplaceLoss, FiniteLoss)
_MOST_NODES, _MOST_INTEGRALS = 1 << 10, 1 << 8
"""In all parts together; of sampled parts a node is an integral, of which many take a checker minutes."""
_MOST_PARTS, _MOST_TIMES = 64, 10**7
_GOAL = math.log(1e-18)
"""What aliases and the end of a line may add, relative to δ: closed forms are known as well."""
_LOOSER = (0.0, math.log(1e6), math.log(1e10))


def proof_of_delta(parts: Parts, epsilon: float) -> Proof | None:
    """What proves δ at an ε, None where a part is of a kind that no checker knows.

    >>> proof_of_delta([(GaussianLoss(1.0), 1)], 1.0).kind
    'delta-composed'
    """
    if not _known(parts):
        return None
    given = {"losses": _Event(parts), "at": epsilon}
    return Proof("delta-composed", given, partial(_at_epsilon, parts, epsilon))


def proof_of_epsilon(parts: Parts, delta: float) -> Proof | None:
    """What proves ε at a δ: δ at a place on either side.

    >>> proof_of_epsilon([(GaussianLoss(1.0), 1)], 1e-6).given["delta"]
    1e-06
    """
    if not _known(parts):
        return None
    given = {"losses": _Event(parts), "delta": delta}
    return Proof("epsilon-composed", given, partial(_at_delta, parts, delta))


def proof_of_renyi(parts: Parts, alpha: float) -> Proof | None:
    """What proves Rényi's divergence of an order above one.

    >>> proof_of_renyi([(GaussianLoss(1.0), 1)], 2.0).given["order"]
    2.0
    """
    if not _known(parts) or not 1.0 < alpha < math.inf:
        return None
    return Proof("renyi", {"losses": _Event(parts), "order": alpha})


@dataclass(frozen=True)
class _Event:
    """Parts that are written down, as an event, when a certificate is asked for: that of a table is long."""

    parts: Parts

    def tolist(self) -> dict[str, Any]:
        """The event: the checker's parts are in the order of these."""
        each = [
            {"name": "SelfComposedDpEvent", "event": _written(part), "count": count}
            for part, count in self.parts
        ]
        return {"name": "ComposedDpEvent", "events": each}


def _known(parts: Parts) -> bool:
    """Whether a checker knows all kinds, and would take so many."""
    fits = len(parts) <= _MOST_PARTS and all(count <= _MOST_TIMES for _, count in parts)
    return fits and all(isinstance(_inner(part), _KINDS) for part, _ in parts)


def _inner(part: LossComponent) -> LossComponent:
    return part.part if isinstance(part, Reversed) else part


def _written(part: LossComponent) -> dict[str, Any]:
    if isinstance(part, Reversed):
        return {"name": "ReversedDpEvent", "event": _written(part.part)}
    if isinstance(part, GaussianLoss):
        return _noise("Gaussian", part.mu if part.exact is None else part.exact)
    if isinstance(part, SampledGaussianLoss):
        event = _noise("Gaussian", part.mu)
        return {"name": "PoissonSampledDpEvent", "sampling_probability": part.rate, "event": event}
    if isinstance(part, LaplaceLoss):
        return _noise("Laplace", part.epsilon if part.exact is None else part.exact)
    assert isinstance(part, FiniteLoss)
    # The rows as doubles: what is claimed holds for all rows that near to them.
    p, q = [*part.p, part.at_infinity, 0.0], [*part.q, 0.0, part.at_minus_infinity]
    return {"name": "RowsDpEvent", "p": p, "q": q}


def _noise(name: str, distance: float | Fraction) -> dict[str, Any]:
    return {"name": f"{name}DpEvent", "noise_multiplier": 1 / Fraction(distance)}


def line_at(parts: Parts, epsilon: float) -> Witness | None:
    """The line along which a checker sums δ at an ε; None where too many nodes would be needed.

    >>> sorted(line_at([(GaussianLoss(1.0), 1)], 1.0))
    ['abscissa', 'lifts', 'nodes', 'right', 'step']
    """
    return _line(parts, epsilon, saddle_for_epsilon(parts, epsilon))


def _at_epsilon(parts: Parts, epsilon: float, lower: float, upper: float) -> Witness | None:
    return line_at(parts, epsilon)


def _at_delta(parts: Parts, delta: float, lower: float, upper: float) -> Witness | None:
    """Lines for the ends of a claim on ε: none for an end that claims nothing."""
    c = saddle_for_delta(parts, delta)[0]
    found: Witness = {"lower": None, "upper": None}
    for side, place in (("lower", lower), ("upper", upper)):
        if 0.0 < place < math.inf or (side == "upper" and place == 0.0):
            line = _line(parts, place, c)
            if line is None:
                return None
            found[side] = {"at": place, **line}
    return found


def _line(parts: Parts, epsilon: float, near: float) -> Witness | None:
    """Where δ at an ε is summed; None where too many nodes would be needed."""
    contour = make_contour(parts, near, epsilon, None)
    c = contour.c
    sampled = any(isinstance(_inner(part), SampledGaussianLoss) for part, _ in parts)
    most = (_MOST_INTEGRALS if sampled else _MOST_NODES) // len(parts)
    height = log_mean(parts, c) - c * epsilon
    # ln δ is near this; a place more or less does not matter.
    goal = min(height - math.log(c) - math.log1p(c), 0.0) + _GOAL - 8.0
    rights = [
        (log_mean(parts, s) - s * epsilon + log_kernel_peak(s), s)
        for s in (c * (1.0 + 2.0**-k) for k in range(-4, 12))
    ]
    falls = [((level - goal) / (s - c), s) for level, s in rights if math.isfinite(level)]
    if not falls:
        return None
    period, right = min(falls)
    period = max(period, -goal / c)
    step = 2.0 * math.pi / period
    for more in _LOOSER:
        nodes = _last(parts, c, step, goal + more + c * epsilon, most)
        if nodes is not None:
            lifts = [_lifted(part, c, step * nodes)[0] for part, _ in parts]
            return {"abscissa": c, "step": step, "right": right, "lifts": lifts, "nodes": nodes}
    return None


def _last(parts: Parts, c: float, step: float, goal: float, most: int) -> int | None:
    """The least number of nodes, up to a 16th, behind which what is left out is below a goal."""

    def enough(nodes: int) -> bool:
        t = step * nodes
        return sum(count * _lifted(part, c, t)[1] for part, count in parts) - math.log(math.pi * t) <= goal

    if not enough(most):
        return None
    low, high = 0, most
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _lifted(part: LossComponent, c: float, t: float) -> tuple[float, float]:
    """How far a part's own line is lifted, below a quarter of its period, and ln of what then bounds |M|."""
    inner = _inner(part)
    if isinstance(inner, SampledGaussianLoss):
        return inner.lift(-1.0 - c if isinstance(part, Reversed) else c, t)
    if isinstance(inner, GaussianLoss):
        return 1.0 / inner.mu, part.envelope(c, t)
    if isinstance(inner, LaplaceLoss):
        return 1.0, _laplace_bound(inner.epsilon, c, t)
    return 1.0, log_mean(((part, 1),), c)


def _laplace_bound(epsilon: float, c: float, t: float) -> float:
    """Both atoms in phase, and the density, which falls with t."""
    low = math.exp(-(1.0 + 2.0 * c) * epsilon)
    return c * epsilon + math.log(0.5 * (1.0 + low) * (1.0 + 1.0 / math.hypot(1.0 + 2.0 * c, 2.0 * t)))
