"""Adversaries with an entropy floor: the log-lift over all beliefs of entropy at least b.

The log-lift is max over outputs of ln(max_x C_xy / min q_y), where q_y = Σ π_x C_xy and π ranges over the
priors with H(π) ≥ b. With KL(π ‖ uniform) = ln n − H(π), the minimum is attained at π ∝ e^{−λC_xy} for
one λ ≥ 0, and every λ > 0 gives a bound from the other side (Donsker & Varadhan's duality):

    q_y ≥ −(1/λ) [ln n − b + ln (1/n) Σ_x e^{−λC_xy}].

So a bracket of λ certifies both ends. Source: Wu, Xia & He 2017, assumption 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import EntropyFloor
from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import column_extremes, log_quotient, row_residue
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["entropy_floor"]

_METHOD = "log-lift under an entropy floor: one root per output, certified by duality"
_SOURCE = "Wu, Xia & He 2017, assumption 1"
_HALVINGS = 130
_UNIT = 2.0**-53
_LEAST = 5e-324
_WHOLE = 8 * _UNIT
"""A floor this close to ln n, relatively, is taken as ln n: only the uniform prior is left."""


@solver.register
def entropy_floor(adversary: EntropyFloor, channel: Channel, divergence: Divergence) -> Bound:
    """sup of the log-lift (the information at α = ∞) over priors of entropy ≥ b, certified at both ends.

    ε at b = 0, down to the log-lift of the uniform prior at b = ln n. The witness is a prior that attains the
    lower end; secrets that only have to be possible have mass 10⁻³⁰⁰ in it.

    >>> from leakcap.capacities import capacity
    >>> bound = capacity(Channel([[0.75, 0.25], [0.25, 0.75]]), Renyi(math.inf), EntropyFloor(math.log(2)))
    >>> round(bound.lower, 9) == round(bound.upper, 9) == round(math.log(1.5), 9)
    True
    """
    if not (isinstance(divergence, Renyi) and math.isinf(divergence.alpha)):
        raise InvalidParameter(
            "`divergence` under an entropy floor must be "
            f"`Renyi(math.inf)`, the log-lift. Got {divergence!r}. "
            "For other orders ask `AllPriors()` or `GivenPrior(prior)`."
        )
    count = channel.shape[0]
    deficit = math.log(count) - adversary.nats
    if abs(deficit) <= _WHOLE * max(math.log(count), 1.0):
        deficit = 0.0
    if deficit < 0.0:
        raise InvalidParameter(
            f"`nats` of `EntropyFloor` must be at most ln {count} "
            f"= {math.log(count):.12g}, the entropy of the uniform "
            f"prior. Got {adversary.nats!r}. Lower it."
        )
    return _solved(channel, deficit)


def _solved(channel: Channel, deficit: float) -> Bound:
    top, bottom = column_extremes(channel)
    if channel.sparse is not None and _rules_out(channel.sparse, deficit):
        return Bound.exact(math.inf, method=_METHOD, source=_SOURCE)
    live = np.flatnonzero(top > 0)
    rows, top, bottom = channel.matrix[:, live], top[live], bottom[live]
    # With mass on the least likely secrets only: entropy ln #minimisers, and the ratio of ε.
    free = np.log(len(rows) / (rows == bottom).sum(axis=0)) <= deficit
    lower, upper, slopes = np.full((3, live.size), 0.0)
    lower[free] = upper[free] = log_quotient(top, bottom)[free]
    rest = np.flatnonzero(~free)
    if rest.size:
        roots = _Roots(rows[:, rest], top[rest], bottom[rest], deficit)
        lower[rest], upper[rest], slopes[rest] = roots.solve(float(np.max(lower)))
    best = int(np.argmax(lower))
    gap = (rows[:, best] - bottom[best]) / max(top[best] - bottom[best], _LEAST)
    # The favoured secret only has to be possible: a mass of 10⁻³⁰⁰ changes nothing else.
    prior = np.maximum((gap == 0.0) * 1.0 if free[best] else np.exp(-slopes[best] * gap), 1e-300)
    slack = 2.1 * row_residue(channel)
    least = max(down(float(lower[best]), 16) - slack, 0.0)
    most = max(up(float(np.max(upper)), 16) + slack, least)
    return Bound(least, most, _METHOD, _SOURCE, witness=prior / prior.sum())


def _rules_out(csr: Any, deficit: float) -> bool:
    """Whether some output is impossible for enough secrets that a belief in those alone is allowed."""
    counts = np.bincount(csr.indices, minlength=csr.shape[1])
    zeros = csr.shape[0] - int(counts[counts > 0].min())
    return zeros > 0 and math.log(csr.shape[0] / zeros) <= deficit


class _Roots:
    """One bracket of λ per output, halved for all outputs that can still win together."""

    def __init__(self, rows: Floats, top: Floats, bottom: Floats, deficit: float) -> None:
        self.top, self.bottom, self.deficit = top, bottom, deficit
        self.units = (len(rows) + 40.0) * _UNIT
        self.fuzz = 4.0 * _UNIT * math.log(len(rows))
        self.spread = np.maximum(top - bottom, _LEAST)
        self.gap = (rows - bottom) / self.spread
        # The uniform prior is always allowed.
        self.lower = log_quotient(top, np.minimum(rows.mean(axis=0), top))
        self.upper = log_quotient(top, bottom) if deficit > 0.0 else self.lower.copy()
        self.slopes = np.zeros_like(top)

    def solve(self, known: float) -> tuple[Floats, Floats, Floats]:
        """(lower, upper, λ) for every output; one that cannot win keeps the upper end it had."""
        # ln λ for columns scaled to [0, 1]: from an all but uniform prior to the minimisers only.
        low, high = np.full_like(self.top, -45.0), np.full_like(self.top, 700.0)
        active = np.flatnonzero(self.upper > self.lower)
        for _ in range(_HALVINGS):
            if not active.size:
                break
            middle = 0.5 * (low[active] + high[active])
            allowed = self._try(np.exp(middle), active)
            low[active[allowed]], high[active[~allowed]] = middle[allowed], middle[~allowed]
            best = max(known, float(self.lower.max()))
            unsettled = high[active] - low[active] > 1e-15 * np.abs(middle)
            active = active[unsettled & (self.upper[active] > best)]
        wide = 4.0 * self.units
        return self.lower - wide, np.maximum(self.upper, self.lower) + wide, self.slopes

    def _try(self, slope: Floats, index: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tighten both ends at one λ per output; whether the priors π ∝ e^{−λ·gap} have enough entropy."""
        gap, spread, top, bottom = self.gap[:, index], self.spread[index], self.top[index], self.bottom[index]
        fall = np.expm1(-slope * gap)
        log_mean = np.log1p(fall.mean(axis=0))
        weight = fall + 1.0
        weight /= weight.sum(axis=0)
        tilt = (weight * gap).sum(axis=0)
        # KL(π ‖ uniform) and the dual are differences: what rounding may have done is charged against both.
        noise = self.fuzz + 4.0 * self.units * (slope * tilt - log_mean)
        allowed = -slope * tilt - log_mean + noise <= self.deficit
        value = log_quotient(top, np.minimum(bottom + spread * tilt, top))
        better = allowed & (value > self.lower[index])
        self.lower[index[better]], self.slopes[index[better]] = value[better], slope[better]
        floor = np.maximum(-(self.deficit + noise + log_mean) / slope, 0.0)
        ceiling = log_quotient(top, np.minimum(bottom + spread * floor, top))
        self.upper[index] = np.minimum(self.upper[index], ceiling)
        return np.asarray(allowed)
