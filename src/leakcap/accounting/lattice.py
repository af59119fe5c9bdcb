"""Losses that all lie on one lattice o + bℤ: one period of the transform says everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.part import LossComponent, Numbers
from leakcap.numeric.logspace import Floats

__all__ = ["Lattice", "common_lattice"]

_SNAP = 1e-13
_FINEST = 24
_SLACK = 1e-10


@dataclass(frozen=True)
class Lattice:
    """Total losses on `offset` + `step`·ℤ, but for rounding: each total is within `slack` of its point."""

    offset: float
    step: float
    slack: float

    def kernel(self, z: Numbers, epsilon: Floats | float) -> Numbers:
        """b·Σ_{x > 0} (1 − e^{−x})e^{−zx} over the points x of the lattice seen from ε.

        Replaces 1/(z(z+1)), its sum over all periods.

        >>> kernel = Lattice(0.0, 1e-9, 0.0).kernel(np.array([2.0 + 0j]), 0.3)
        >>> round(float(kernel[0].real), 6)
        0.166667
        """
        b = self.step
        first = self.offset - epsilon
        first = first - b * np.floor(first / b)
        near = np.exp(-z * first) / -np.expm1(-z * b)
        return np.asarray(b * (near - np.exp(-(z + 1.0) * first) / -np.expm1(-(z + 1.0) * b)))


def common_lattice(parts: Sequence[tuple[LossComponent, int]]) -> Lattice | None:
    """The lattice of the sum of all losses, or None; only rows of finitely many losses have one.

    >>> from leakcap.accounting.finite import finite_loss
    >>> round(common_lattice([(finite_loss([0.75, 0.25], [0.25, 0.75]), 2)]).step, 12)
    2.197224577336
    """
    rows = [(np.array(part.losses), count) for part, count in parts if isinstance(part, FiniteLoss)]
    if len(rows) < len(parts) or not rows or any(losses.size == 0 for losses, _ in rows):
        return None
    gaps = np.concatenate([losses - losses[0] for losses, _ in rows])
    gaps = gaps[gaps > 0]
    if gaps.size == 0:
        return Lattice(sum(count * float(losses[0]) for losses, count in rows), 1.0, 0.0)
    for divisor in range(1, _FINEST + 1):
        step = float(gaps.min()) / divisor
        step = float(gaps.max()) / round(float(gaps.max()) / step)
        slack = _misfit(rows, step)
        if slack is not None:
            return Lattice(sum(count * float(losses[0]) for losses, count in rows), step, slack)
    return None


def _misfit(rows: Sequence[tuple[Floats, int]], step: float) -> float | None:
    total = 0.0
    for losses, count in rows:
        places = (losses - losses[0]) / step
        miss = float(np.abs(places - np.rint(places)).max()) * step
        if miss > _SNAP * max(1.0, float(np.abs(losses).max())):
            return None
        total += count * (miss + 2.0**-52 * float(np.abs(losses).max()))
    return total if total <= _SLACK else None
