"""Newton's method over priors, on a working set of rows, for any capacity with a certified interval.

Every Sibson capacity is a maximum over the simplex whose optimality condition is "all secrets that are
used are equally far from the centre, none is farther". Near a prior π it is a quadratic programme

    max  pᵀz − ½ (z − π)ᵀ A (z − π),    A = R Rᵀ with R the scaled rows,

solved in `simplex`; the interval is recomputed from each prior, so that a bad step can
cost time but never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.simplex import simplex_quadratic
from leakcap.numeric.logspace import Floats

__all__ = ["Certified", "Place", "Problem", "Search"]

_ROUNDS = 60
_STALL = 8
_WARM_STEPS = 30
_FALLBACK_STEPS = 400
_RIDGE = 1e-11
_LARGEST = 400
_NEGLIGIBLE = 1e-13
_STEPS = (1.0, 0.5, 0.2, 0.05, 0.01, 1e-3)


@dataclass(frozen=True)
class Place:
    """A prior, its image under the rows, each row's distance from the centre, and what they certify."""

    prior: Floats
    image: Floats
    log_centre: Floats
    distance: Floats
    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Certified:
    """An interval with both of its proofs.

    `prior` attains the lower end; no row is farther than the upper end from the distribution
    e^`log_centre`/Σ over the columns.
    """

    bound: Bound
    prior: Floats
    log_centre: Floats


class Problem(Protocol):
    """A capacity: how to stand at a prior, and its quadratic model there."""

    @property
    def shape(self) -> tuple[int, int]:
        """(secrets, observations)."""

    @property
    def stride(self) -> float:
        """The exponent of a plain multiplicative step on the prior; one for Blahut–Arimoto."""

    def image(self, prior: Floats) -> Floats:
        """The linear image of a prior under the rows."""

    def place(self, prior: Floats, image: Floats) -> Place:
        """Evaluate a prior."""

    def model(self, place: Place, index: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """The scaled rows R and the pull p of some rows; and the image of the whole prior, scaled alike."""


class Search:
    """Where the search stands and the best interval so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        count = problem.shape[0]
        uniform = np.full(count, 1.0 / count)
        self.here = problem.place(uniform, problem.image(uniform))
        self.lower, self.upper = self.here.lower, self.here.upper
        self.best, self.log_centre = uniform, self.here.log_centre

    @property
    def gap(self) -> float:
        """The width of the best interval."""
        return self.upper - self.lower

    def visit(self, prior: Floats, image: Floats | None = None) -> Place:
        """Evaluate a prior and keep what it certifies."""
        place = self.problem.place(prior, self.problem.image(prior) if image is None else image)
        if place.lower > self.lower:
            self.lower, self.best = place.lower, prior
        if place.upper < self.upper:
            self.upper, self.log_centre = place.upper, place.log_centre
        self.upper = max(self.upper, self.lower)
        return place

    def run(self, gap: float, method: str, source: str) -> Certified:
        """Warm up, take Newton steps, and fall back to multiplicative ones where those stall."""
        self.warm(_WARM_STEPS, gap)
        how = "Newton on a working set of rows"
        if not self.newton(gap):
            self.warm(_FALLBACK_STEPS, gap)
            how = "Blahut–Arimoto steps"
        text = f"{method}: {how}, certified by the duality gap"
        bound = Bound(self.lower, self.upper, text, source, witness=self.best)
        return Certified(bound, self.best, self.log_centre)

    def warm(self, steps: int, gap: float) -> None:
        """Over-relaxed Blahut–Arimoto: π ∝ π·e^{βD}, β raised while the information rises."""
        relax = self.problem.stride
        for _ in range(steps):
            if self.gap <= gap:
                return
            tilted = self.here.prior * np.exp(relax * (self.here.distance - self.here.distance.max()))
            there = self.visit(tilted / tilted.sum())
            if there.value >= self.here.value:
                self.here = there
                relax *= 1.5
            else:
                relax /= 4.0

    def newton(self, gap: float) -> bool:
        """Newton steps until the gap closes; False when they stall."""
        stalled = 0
        for _ in range(_ROUNDS):
            before = self.gap
            if before <= gap:
                return True
            if not self._step():
                break
            stalled = stalled + 1 if self.gap > 0.9 * before else 0
            if stalled > _STALL:
                break
        return self.gap <= gap

    def _step(self) -> bool:
        index = self._working_set()
        rows, pull, image = self.problem.model(self.here, index)
        curvature = rows @ rows.T
        old = self.here.prior[index]
        ridge = _RIDGE * float(np.mean(np.diagonal(curvature)))
        curvature[np.diag_indices_from(curvature)] += ridge
        solution = simplex_quadratic(curvature, pull + rows @ image + ridge * old, old > 0)
        goal = np.zeros_like(self.here.prior)
        goal[index] = solution
        if self._towards(goal):
            return True
        # The working set alone may be too small to carry the whole prior: move only its own share.
        share = float(old.sum())
        if share > 1.0 - 1e-12 or share <= 0.0:
            return False
        target = pull + curvature @ old
        goal = self.here.prior.copy()
        goal[index] = share * simplex_quadratic(share * curvature, target, old > 0)
        return self._towards(goal)

    def _towards(self, goal: Floats) -> bool:
        origin = self.here
        noise = 1e-14 * (1.0 + abs(origin.value))
        image = self.problem.image(goal)
        longest = _keeping(origin.image, image)
        for step in longest * np.array(_STEPS):
            prior = origin.prior + step * (goal - origin.prior)
            there = self.visit(prior / prior.sum(), origin.image + step * (image - origin.image))
            if there.value >= origin.value - noise:
                self.here = there
                return True
        return False

    def _working_set(self) -> NDArray[np.intp]:
        """Rows with a share in the prior, and those that would raise the value."""
        prior, excess = self.here.prior, self.here.distance - self.here.value
        index = np.flatnonzero((prior > 1e-7 / prior.size) | (excess > -1e-12))
        most = max(4 * self.problem.shape[1] + 8, _LARGEST)
        if index.size > most:
            score = prior[index] + np.maximum(excess[index], 0.0)
            index = np.sort(index[np.argsort(score)[-most:]])
        return index


def _keeping(image: Floats, goal: Floats) -> float:
    """The longest step that leaves every column a tenth of its mass: at zero the slope is infinite."""
    falling = (goal < 0.1 * image) & (image > _NEGLIGIBLE)
    return min(1.0, 0.9 * float(np.min(image[falling] / (image[falling] - goal[falling]), initial=2.0)))
