"""The exact MI-DP of the Gaussian mechanism: an amplitude-constrained capacity, certified by duality."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from numbers import Real

import numpy as np

from leakcap.bound import Bound
from leakcap.capacities.noise.gaussian_atoms import best_atoms
from leakcap.capacities.noise.gaussian_ceiling import ceiling
from leakcap.capacities.noise.gaussian_line import Line, line
from leakcap.capacities.noise.gaussian_long import SHORTEST, long_range_lower, long_range_upper
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.capacities.noise.proofs import proof_of_ends
from leakcap.capacities.noise.tilt import tilt_information
from leakcap.errors import require
from leakcap.numeric import down, up

__all__ = ["gaussian_capacity"]

_SOURCE = "Smith 1971; certificate: leakcap, docs/theory/additive-noise.md"
_OPERATIONS = 512
_LONGEST = SHORTEST
"""Up to this range the atoms are found and certified (0.1 s); the cost grows with the cube of the range."""
_SHORT = 3.4
"""Two atoms suffice up to a range of 3.3318…; beyond this there is no need to ask."""
_SLACK = 1e-9


def gaussian_capacity(ratio: float) -> Bound:
    """Shannon capacity of Gaussian noise for a secret in [0, Δ], `ratio` = Δ/σ, in nats.

    It is the exact MI-DP of the Gaussian mechanism with sensitivity Δ. The optimal prior is discrete (Smith
    1971); lower = I of the atoms found, upper = a rigorous maximum of D(N(x, σ²) ‖ q) over all x, at most
    1e−8 apart up to a ratio of 32, and relatively exact while two atoms suffice (ratio ≤ 3.33). Beyond 32 a
    bracket of width about 0.15/ratio: I of an explicit prior ≤ C ≤ ln(1 + ratio/√(2πe)). The witness is the
    prior on [0, 1] (in units of Δ), where there is one. Raises `InvalidParameter` unless 0 < ratio < ∞.

    Source: Smith 1971; McKellips 2004 for the bracket.

    >>> round(gaussian_capacity(4.0).upper, 8)
    0.65286881
    """
    number = isinstance(ratio, Real) and 0.0 < ratio < math.inf
    require(number, "ratio", "gaussian_capacity", "be a positive finite number", ratio)
    return _capacity(float(ratio))


@lru_cache(maxsize=1024)
def _capacity(ratio: float) -> Bound:
    if ratio > _LONGEST:
        return _bracket(ratio)
    nodes = line(ratio / 2)
    if ratio < _SHORT and _ends_suffice(nodes):
        return replace(_two_atoms(nodes), proof=proof_of_ends("gaussian", ratio))
    return _atoms(nodes)


def _ends_suffice(nodes: Line) -> bool:
    """D(0) ≤ D(±half) for the two ends.

    D''(x) = 1 − half²·E sech²(half·Y) grows with |x|, so D falls then rises on [0, half], or only rises, as
    it does when half ≤ 1: its maximum is at 0 or at the end.
    """
    if nodes.half <= 1.0:
        return True
    log_q = nodes.log_output(np.array([nodes.half]), np.array([1.0]))
    value = nodes.divergence(np.array([0.0, nodes.half]), log_q)[0]
    return bool(value[0] + 2.0 * nodes.error <= value[1])


def _two_atoms(nodes: Line) -> Bound:
    """∫ q(y) J(half·y) dy, J(t) = t tanh t − ln cosh t: every term is positive.

    On the strip of the quadrature |J(w)| ≤ 2|w|², which keeps its error below 1e−15 of the value.
    """
    half = nodes.half
    tilt = half * nodes.nodes
    density = (
        np.exp(-0.5 * (nodes.nodes - half) ** 2)
        * 0.5
        * (1.0 + np.exp(-2.0 * tilt))
        / math.sqrt(2.0 * math.pi)
    )
    told = np.array([tilt_information(t) for t in tilt.tolist()])
    value = float(np.sum(nodes.weights * density * told))
    low = math.nextafter(down(value, _OPERATIONS), 0.0)
    high = math.nextafter(up(value, _OPERATIONS), math.inf)
    prior = IntervalPrior(((0.0, 0.5), (1.0, 0.5)))
    return Bound(low, high, "two atoms: one integral", _SOURCE, witness=prior)


def _atoms(nodes: Line) -> Bound:
    x, p = best_atoms(nodes, _SLACK / 8)
    p = p / p.sum()
    information = float(p @ nodes.divergence(x, nodes.log_output(x, p))[0])
    low, high = information - nodes.error, ceiling(nodes, x, p, _SLACK)
    sides = [
        (0.5 - t / (2 * nodes.half), w / (2 if t else 1)) for t, w in zip(x.tolist(), p.tolist(), strict=True)
    ]
    mirrored = [(1.0 - t, w) for t, w in sides if t != 0.5]
    prior = IntervalPrior(tuple(sorted(sides + mirrored)))
    method = f"{len(prior.atoms)} atoms; duality, maximum over the secret by branch and bound"
    return Bound(low, max(low, high), method, _SOURCE, witness=prior)


def _bracket(ratio: float) -> Bound:
    low = down(long_range_lower(ratio), _OPERATIONS)
    high = up(long_range_upper(ratio), _OPERATIONS)
    method = "bracket: a prior of four atoms at each end and flat between, McKellips' output law"
    return Bound(low, high, method, "Shannon 1948; McKellips 2004")
