"""Newton's method over priors, on a working set of rows, for any capacity with a certified interval.

Every Sibson capacity is a maximum over the simplex whose optimality condition is "all secrets that are
used are equally far from the centre, none is farther". Near a prior π it is a quadratic programme

    max  pᵀz − ½ (z − π)ᵀ A (z − π),    A = R Rᵀ with R the scaled rows,

solved in `simplex`; the interval is recomputed from each prior, so that a bad step can cost time but
never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.simplex import Inverse, interior_step, pivoting_step
from leakcap.numeric.logspace import Floats

__all__ = ["Certified", "Iterate", "Problem", "Search"]

_ROUNDS = 60
_STALL = 8
_WARM_UPS = (6, 30, 60, 60)
_FAST = 0.3
"""The gap must fall to this share for the farthest rows alone to be believed."""
_WORTH = 0.6
"""An old curvature is kept while each step takes the gap to this share: a step is cheap, a curvature not."""
_NEAR = 0.2
"""Rows short of the value by this share of the gap join too: the next step may want them."""
_POLISH = 6
_ROUGH = 1e-7
"""Gaps below this are not for single precision to tell."""
_FALLBACK_STEPS = 400
_RIDGE = 1e-11
"""A proximal term, relative to the curvature's diagonal: it makes A definite and moves no fixed point."""
_LARGEST = 400
_MEMORY = 4096
"""No more rows than this in a working set: a curvature of 128 MiB."""
_LARGE = 128
"""Working sets for which a curvature costs much more than a step."""
_SINGLE = 64
"""Working sets for which single precision does, and is quicker."""
_FEW = 128
_NEGLIGIBLE = 1e-13
_STEPS = (1.0, 0.5, 0.2, 0.05, 0.01, 1e-3)


@dataclass(frozen=True)
class Iterate:
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
    def step_exponent(self) -> float:
        """The exponent of a plain multiplicative step on the prior; one for Blahut–Arimoto."""

    def image(self, prior: Floats) -> Floats:
        """The linear image of a prior under the rows."""

    def place(self, prior: Floats, image: Floats) -> Iterate:
        """Evaluate a prior."""

    def scaled(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """Some rows, scaled so that R Rᵀ is the curvature at a place."""

    def gradient(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """The gradient for those rows, up to a constant."""

    def curvature_product(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        """A π for those rows, A the whole curvature: known without a product."""

    def approximate_gradient(
        self, place: Iterate, index: NDArray[np.intp], scaled: Floats, part: Floats
    ) -> Floats | None:
        """The gradient at a prior on those rows alone, roughly, from their scaled copies; None if dear."""


@dataclass(frozen=True)
class _Frame:
    """A working set with its curvature, and the inverse of that."""

    index: NDArray[np.intp]
    scaled: Floats
    curvature: Floats
    inverse: Inverse | None


class Search:
    """Where the search stands and the best interval so far."""

    def __init__(self, problem: Problem, average: Floats | None = None) -> None:
        """Stand at the uniform prior, whose image may be known: the average row."""
        self.problem = problem
        count = problem.shape[0]
        uniform = np.full(count, 1.0 / count)
        self.here = problem.place(uniform, problem.image(uniform) if average is None else average)
        self.lower, self.upper = self.here.lower, self.here.upper
        self.best, self.log_centre = uniform, self.here.log_centre
        self.single = True

    @property
    def gap(self) -> float:
        """The width of the best interval."""
        return self.upper - self.lower

    def visit(self, prior: Floats, image: Floats | None = None) -> Iterate:
        """Evaluate a prior and keep what it certifies."""
        place = self.problem.place(prior, self.problem.image(prior) if image is None else image)
        if place.lower > self.lower:
            self.lower, self.best = place.lower, prior
        if place.upper < self.upper:
            self.upper, self.log_centre = place.upper, place.log_centre
        self.upper = max(self.upper, self.lower)
        return place

    def restart_from(self, prior: Floats, gap: float) -> None:
        """Go to a prior found elsewhere if it is better, and on from there."""
        there = self.visit(prior)
        if there.value > self.here.value:
            self.here = there
            self.newton(gap)

    def run(self, gap: float, method: str, source: str) -> Certified:
        """Newton steps after a short warm-up, after longer ones where they stall; at last without them."""
        how = "Newton on a working set of rows"
        if self.gap > gap and not self._farthest(gap) and not self._alternate(gap):
            self.blahut_arimoto(_FALLBACK_STEPS, gap)
            how = "Blahut–Arimoto steps"
        text = f"{method}: {how}, certified by the duality gap"
        bound = Bound(self.lower, self.upper, text, source, witness=self.best)
        return Certified(bound, self.best, self.log_centre)

    def _alternate(self, gap: float) -> bool:
        """Multiplicative steps revive what a Newton step starved; most channels need one turn."""
        for steps in _WARM_UPS:
            self.blahut_arimoto(steps, gap)
            if self.newton(gap):
                return True
        return False

    def blahut_arimoto(self, steps: int, gap: float) -> None:
        """Over-relaxed Blahut–Arimoto: π ∝ π·e^{βD}, β raised while the information rises."""
        relax = self.problem.step_exponent
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
        stalled, frame = 0, None
        for _ in range(_ROUNDS):
            if self.gap <= gap:
                return True
            before, here = self.gap, self.here.upper - self.here.lower
            fresh = frame is None
            frame = frame or self._frame(self._working_set())
            moved = self._step(frame, polish=fresh and here > 1000.0 * _ROUGH)
            if fresh and not moved:
                break
            if not moved or self.here.upper - self.here.lower > _WORTH * here or not self._lasting(frame):
                frame = None
            stalled = stalled + 1 if self.gap > 0.9 * before else 0
            if stalled > _STALL:
                break
        return self.gap <= gap

    def _farthest(self, gap: float) -> bool:
        """Newton from the rows that are farthest at first: often they carry the whole capacity."""
        count = self.problem.shape[0]
        if count <= _FEW:
            return False
        index, start = np.argpartition(self.here.distance, count - _FEW)[-_FEW:], self.here
        before = start.upper - start.lower
        if self._step(self._frame(np.sort(index))) and self.here.upper - self.here.lower <= _FAST * before:
            return self.newton(gap)
        self.here = start
        return False

    def _frame(self, index: NDArray[np.intp]) -> _Frame:
        scaled = self.problem.scaled(self.here, index)
        # Single precision is enough for a direction; the place it leads to is evaluated in double.
        if self.single and index.size >= _SINGLE:
            scaled = scaled.astype(np.float32)
        curvature = scaled @ scaled.T
        curvature[np.diag_indices_from(curvature)] += _RIDGE * curvature.diagonal().mean()
        try:
            return _Frame(index, scaled, curvature, Inverse(curvature))
        except np.linalg.LinAlgError:
            self.single = False
            return (
                _Frame(index, scaled, curvature, None)
                if curvature.dtype == np.float64
                else self._frame(index)
            )

    def _lasting(self, frame: _Frame) -> bool:
        """Whether a frame serves again: it was dear, and no row outside it would raise the value."""
        excess = self.here.distance - self.here.value
        excess[frame.index] = 0.0
        return frame.index.size >= _SINGLE and float(excess.max()) <= 0.0

    def _step(self, frame: _Frame, *, polish: bool = False) -> bool:
        """Solve the model on the rows of the frame and go there."""
        index = frame.index
        old, pull = self.here.prior[index], self.problem.gradient(self.here, index)
        share = float(old.sum())
        # Moving everything onto the frame's rows changes the centre: account for the rows left behind.
        if share < 1.0 - 1e-12:
            pull = pull + self.problem.curvature_product(self.here, index) - frame.curvature @ old
        if frame.inverse is not None:
            solution = pivoting_step(frame.inverse, pull, old)
            if solution is not None:
                if polish and frame.scaled.dtype == np.float32:
                    solution = self._polished(frame, frame.inverse, solution)
                if self._towards(self._spread(index, solution)):
                    return True
            if frame.curvature.dtype == np.float32:
                self.single = False
                return self._step(self._frame(index))
        curvature = frame.curvature.astype(np.float64)
        if self._towards(self._spread(index, interior_step(curvature, pull, old))):
            return True
        # The frame's rows may be too few to carry the whole prior: move only their own share.
        if share > 1.0 - 1e-12 or share <= 0.0:
            return False
        part = interior_step(share * curvature, self.problem.gradient(self.here, index), old / share)
        goal = self.here.prior.copy()
        goal[index] = share * part
        return self._towards(goal)

    def _polished(self, frame: _Frame, inverse: Inverse, part: Floats) -> Floats:
        """More steps with the same inverse on the frame's rows alone, while they close the gap there."""
        least, best = np.inf, part
        for _ in range(_POLISH):
            pull = self.problem.approximate_gradient(self.here, frame.index, frame.scaled, part)
            if pull is None:
                break
            spread = float(pull.max() - part @ pull)
            if not spread < least:
                break
            worth, least, best = spread < _WORTH * least and spread > _ROUGH, spread, part
            step = pivoting_step(inverse, pull, part) if worth else None
            if step is None:
                break
            part = step
        return best

    def _spread(self, index: NDArray[np.intp], part: Floats) -> Floats:
        whole = np.zeros_like(self.here.prior)
        whole[index] = part
        return whole

    def _towards(self, goal: Floats) -> bool:
        origin = self.here
        noise = 1e-14 * (1.0 + abs(origin.value))
        image = self.problem.image(goal)
        longest = _keeping(origin.image, image)
        for step in longest * np.array(_STEPS):
            if step == 1.0:
                there = self.visit(goal, image)
            else:
                # The image is computed afresh: its error bound is that of one product, not of many steps.
                prior = origin.prior + step * (goal - origin.prior)
                there = self.visit(prior / prior.sum())
            if there.value >= origin.value - noise:
                self.here = there
                return True
        return False

    def _working_set(self) -> NDArray[np.intp]:
        """Rows with a share in the prior, and those that would raise the value, or nearly."""
        prior, excess = self.here.prior, self.here.distance - self.here.value
        near = max(_NEAR * (self.here.upper - self.here.value), 1e-12)
        index = np.flatnonzero((prior > 1e-7 / prior.size) | (excess > -near))
        most = min(max(4 * self.problem.shape[1] + 8, _LARGEST), _MEMORY)
        if index.size > most:
            score = prior[index] + np.maximum(excess[index], 0.0)
            index = np.sort(index[np.argsort(score)[-most:]])
        return index


def _keeping(image: Floats, goal: Floats) -> float:
    """The longest step that leaves every column a tenth of its mass: at zero the slope is infinite."""
    falling = (goal < 0.1 * image) & (image > _NEGLIGIBLE)
    return min(1.0, 0.9 * float(np.min(image[falling] / (image[falling] - goal[falling]), initial=2.0)))
