"""Shannon capacity of a large sparse channel: projected Newton steps by conjugate gradients.

Without the constraint Σπ = 1 the problem keeps only its signs: with q = μW over all μ ≥ 0,

    minimise Σ_y (q_y ln q_y − q_y) − Σ_x μ_x Σ_y W_xy ln W_xy,

whose gradient is −D(W_x ‖ q), whose Hessian is W diag(1/q) Wᵀ, and whose optimum is e^C times the best prior.
Every step needs products with W and Wᵀ only. Whatever the steps do, the interval is recomputed from the
prior.
Source: Bertsekas 1982 (projected Newton); the programme is the dual of Arimoto's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.shannon import ShannonProblem
from leakcap.capacities.solvers.sparse_rows import SparseRows
from leakcap.numeric.logspace import Floats
from leakcap.progress import Progress, progress

__all__ = ["large_shannon_capacity"]

_WARM = 60
_ROUNDS = 150
_CONJUGATE = 80
_STEPS = (1.0, 0.5, 0.1)
_STIFFEST = 1e6
_PRECISION = 1e-9


def large_shannon_capacity(rows: SparseRows, *, gap: float = 1e-6) -> Bound:
    """max over priors of I(π; W) in nats, as an interval no wider than `gap` where that can be reached.

    >>> from scipy import sparse
    >>> rows = SparseRows(sparse.csr_array([[0.9, 0.1], [0.1, 0.9]]))
    >>> round(large_shannon_capacity(rows).upper, 6)
    0.368064
    """
    return _Descent(rows).run(gap)


class _Descent:
    """Where the descent stands, and the best interval so far."""

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows
        self.problem = ShannonProblem.of(rows)
        count = rows.shape[0]
        self.lower, self.upper, self.ridge = 0.0, np.inf, 0.0
        self.best = np.full(count, 1.0 / count)
        self._stand(self.best)

    def run(self, gap: float) -> Bound:
        """Over-relaxed Blahut–Arimoto steps first, then Newton."""
        with progress("Shannon capacity of a sparse channel") as tick:
            self._approach(tick)
            self._refine(gap, tick)
        method = "Shannon capacity: projected Newton by conjugate gradients, certified by the duality gap"
        return Bound(self.lower, self.upper, method, "Blahut 1972; Arimoto 1972", witness=self.best)

    def _approach(self, tick: Progress) -> None:
        relax = 1.0
        for step in range(_WARM):
            tick(None, f"step {step}, {self._width()}")
            before, value = self.weight, self.value
            tilted = self.weight * np.exp(relax * (self.distance - self.distance.max()))
            self._stand(tilted * np.exp(self.level) / tilted.sum())
            if self.value > value:
                self._stand(before)
                relax /= 4.0
            else:
                relax *= 1.5

    def _refine(self, gap: float, tick: Progress) -> None:
        for step in range(_ROUNDS):
            tick(None, f"Newton step {step}, {self._width()}")
            if self.upper - self.lower <= gap or self.ridge > _STIFFEST:
                break
            eased = self._newton()
            self.ridge = self.ridge / 10.0 if eased else max(100.0 * self.ridge, 1e-6)

    def _width(self) -> str:
        return f"interval {self.upper - self.lower:.0e} nats"

    def _stand(self, weight: Floats) -> None:
        """Evaluate μ: the objective, D(W_x ‖ q) for all rows, and the interval that the prior μ/Σμ proves."""
        total = float(weight.sum())
        prior = weight / total
        centre = self.rows.mix(prior)
        smooth = self.problem.smooth(centre)
        plain = self.problem.divergences(np.log(smooth))
        lower = self.problem.lower(prior, centre)
        if lower > self.lower:
            self.lower, self.best = lower, prior
        self.upper = max(min(self.upper, self.problem.upper(smooth, plain)), self.lower)
        self.weight, self.centre = weight, total * smooth
        self.distance = plain - np.log(total)
        self.level = float(prior @ plain)
        self.value = -total * (float(prior @ self.distance) + 1.0)

    def _newton(self) -> bool:
        """One projected Newton step; False where no length of it makes progress."""
        weight, value, distance = self.weight, self.value, self.distance
        used = (weight > 1e-12 * weight.max()) | (distance > 0.0)
        free = np.flatnonzero(used)
        direction = np.zeros_like(weight)
        direction[free] = self._solve(free)
        base = np.where(used, weight, 0.0)
        noise = 1e-14 * abs(value)
        for step in _STEPS:
            moved = np.maximum(base + step * direction, 0.0)
            if moved.any():
                self._stand(moved)
                if self.value < value + noise:
                    return True
        self._stand(weight)
        return False

    def _solve(self, free: NDArray[np.intp]) -> Floats:
        """(W diag(1/q) Wᵀ + ridge) d = D on the free rows, by conjugate gradients with the diagonal."""
        inverse = 1.0 / self.centre
        diagonal = self.rows.squares(inverse)[free]
        ridge = self.ridge * diagonal
        scale = 1.0 / (diagonal + ridge)
        whole = np.zeros_like(self.weight)
        side = self.distance[free]
        solution = np.zeros_like(side)
        residual = side.copy()
        scaled = scale * residual
        push = scaled.copy()
        energy = first = float(residual @ scaled)
        for _ in range(_CONJUGATE):
            whole[free] = push
            image = self.rows.times(inverse * self.rows.mix(whole))[free] + ridge * push
            curvature = float(push @ image)
            if curvature <= 0.0:
                break
            length = energy / curvature
            solution += length * push
            residual -= length * image
            scaled = scale * residual
            after = float(residual @ scaled)
            if after <= _PRECISION * first:
                break
            push = scaled + (after / energy) * push
            energy = after
        return np.asarray(solution)
