"""One of several pairs, drawn by chance and told: what a loss comes to when a bound is a mean of profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.accounting.part import NO_ATOMS, UNIT, Atoms, Ends, LossComponent, Numbers, Reversed
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["LabelledLoss"]

_SMALL = 0.5


@dataclass(frozen=True)
class LabelledLoss(LossComponent):
    """A pair is drawn, each with its weight, and shown with its answer; the rest of the weights tells all.

    δ(ε) is the weighted mean of the pairs' own, so that it is what advanced joint convexity leaves of a
    mechanism with several cases. Source: Balle, Barthe & Gaboardi 2018, theorem 2.

    >>> from leakcap.accounting.laplacian import LaplaceLoss
    >>> LabelledLoss(((LaplaceLoss(1.0), 0.75), (LaplaceLoss(2.0), 0.25))).renyi(math.inf)
    (2.0, 2.0)
    """

    kinds: tuple[tuple[LossComponent, float], ...]
    rest: float = 0.0

    @property
    def infinite(self) -> float:
        """P's mass at +∞."""
        return min(self.rest + sum(weight * part.infinite for part, weight in self.kinds), 1.0)

    @property
    def lost(self) -> float:
        """Q's mass at −∞."""
        return min(self.rest + sum(weight * part.lost for part, weight in self.kinds), 1.0)

    @property
    def reverse(self) -> LossComponent:
        """Each pair the other way about."""
        return self if all(part.reverse == part for part, _ in self.kinds) else Reversed(self)

    def log_transform(self, z: Numbers) -> Numbers:
        """ln Σ w·M."""
        z = np.asarray(z)
        logs = [np.asarray(part.log_transform(z)) for part, _ in self.kinds]
        weights = [weight for _, weight in self.kinds]
        top = np.max([each.real for each in logs], axis=0)
        with np.errstate(under="ignore", invalid="ignore"):
            small = sum(w * np.expm1(each) for w, each in zip(weights, logs, strict=True))
            total = sum(w * np.exp(each - top) for w, each in zip(weights, logs, strict=True))
            near = np.abs(small) < _SMALL
            short = _short(weights)
            return np.asarray(
                np.where(near, np.log1p(np.where(near, small - short, 0.0)), np.log(total) + top)
            )

    def error(self, z: Numbers) -> Floats:
        """The parts' rounding, relative to all."""
        z = np.asarray(z)
        own = [np.asarray(part.log_transform(z.real)).real for part, _ in self.kinds]
        top = np.max(own, axis=0)
        shares = [w * np.exp(each - top) for (_, w), each in zip(self.kinds, own, strict=True)]
        errors = sum(
            share * (part.error(z) + 16.0 * UNIT) for (part, _), share in zip(self.kinds, shares, strict=True)
        )
        return np.asarray(errors / np.sum(shares, axis=0))

    def envelope(self, c: float, t: float) -> float:
        """All parts in phase."""
        logs = [math.log(weight) + part.envelope(c, t) for part, weight in self.kinds]
        return max(logs) + math.log(sum(math.exp(each - max(logs)) for each in logs)) + 1e-12

    def work(self, c: float, t: float) -> float:
        """That of all parts."""
        return sum(part.work(c, t) for part, _ in self.kinds)

    def support(self) -> tuple[float, float]:
        """The least and the largest of all."""
        ends = [part.support() for part, _ in self.kinds]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """The weighted sums of the parts'."""
        p, q = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
        for part, weight in self.kinds:
            more_p, more_q = part.masses(edges)
            p, q = p + weight * more_p, q + weight * more_q
        return p, q

    def atoms(self) -> Atoms:
        """Those of all parts, in order."""
        found = [(part.atoms(), weight) for part, weight in self.kinds]
        if not any(atoms.losses.size for atoms, _ in found):
            return NO_ATOMS
        losses = np.concatenate([atoms.losses for atoms, _ in found])
        places, where = np.unique(losses, return_inverse=True)
        rows = [np.concatenate([weight * atoms[k] for atoms, weight in found]) for k in (1, 2)]
        p, q = (np.bincount(where, row, minlength=places.size).astype(np.float64) for row in rows)
        return Atoms(places, p, q)

    def hockey_stick(self, epsilon: float) -> Ends | None:
        """Σ w·δ, where all of them have closed forms."""
        return self._mean([part.hockey_stick(epsilon) for part, _ in self.kinds])

    def hockey_stick_back(self, epsilon: float) -> Ends | None:
        """The same for the other direction."""
        return self._mean([part.hockey_stick_back(epsilon) for part, _ in self.kinds])

    def _mean(self, ends: list[Ends | None]) -> Ends | None:
        known = [each for each in ends if each is not None]
        if len(known) < len(ends):
            return None
        low, high = (
            math.fsum(weight * each[side] for (_, weight), each in zip(self.kinds, known, strict=True))
            for side in (0, 1)
        )
        return max(down(low, 4), 0.0), up(high, 4)

    def renyi(self, alpha: float) -> Ends:
        """ln Σ w·e^{(α−1)D} over α − 1; ∞ where the rest tells all."""
        return self._renyi([part.renyi(alpha) for part, _ in self.kinds], alpha)

    def renyi_back(self, alpha: float) -> Ends:
        """The same for the other direction."""
        return self._renyi([part.renyi_back(alpha) for part, _ in self.kinds], alpha)

    def _renyi(self, ends: list[Ends], alpha: float) -> Ends:
        if alpha >= 1.0 and self.rest > 0.0:
            return math.inf, math.inf
        if math.isinf(alpha):
            return max(low for low, _ in ends), max(high for _, high in ends)
        found = [_of_moments(self.kinds, [end[side] for end in ends], alpha) for side in (0, 1)]
        return max(down(found[0], 64), 0.0), up(found[1], 64)


def _of_moments(
    kinds: tuple[tuple[LossComponent, float], ...], divergences: list[float], alpha: float
) -> float:
    weights, z = [weight for _, weight in kinds], alpha - 1.0
    if math.inf in divergences:
        return math.inf
    if z == 0.0:
        return math.fsum(w * d for w, d in zip(weights, divergences, strict=True))
    top = max(z * d for d in divergences)
    if abs(top) < _SMALL:
        rises = math.fsum(w * math.expm1(z * d) for w, d in zip(weights, divergences, strict=True))
        return math.log1p(rises - _short(weights)) / z
    total = math.fsum(w * math.exp(z * d - top) for w, d in zip(weights, divergences, strict=True))
    return (top + math.log(total)) / z


def _short(weights: list[float]) -> float:
    """What the weights lack of one, unless it is a rounding."""
    missing = 1.0 - math.fsum(weights)
    return missing if abs(missing) > 1e-14 else 0.0
