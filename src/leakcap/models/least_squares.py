"""From noisy moments to coefficients and their intervals. Post-processing: it costs nothing.

θ̂ = (Ã + λI)⁻¹ b̃ with λ as in AdaSSP: as much as the noise needs, less what the data have already. A level
below which the noise's spectral norm stays, B, is known from the noise's law; the data's smallest eigenvalue
is at least λ_min(Ã) − B, and λ = max(0, B − max(0, λ_min(Ã) − B)).
Source: Wang 2018, algorithm 2 (there a third of the budget buys λ_min; here the noisy matrix shows it).

Intervals: the true moments are the released ones less the noise, whose law is known. So draw the noise again,
take it off, keep what could be moments of a table (positive semidefinite), weigh it by the inverse of its
smallest eigenvalue, and solve for the table's own coefficients, without a ridge. For the population add the
sampling error of least squares: with equal variances, or as large as any variances could make it.

Where a person has up to m rows, these may depend on each other in any way. For a linear form g of the scores
x_i·e_i, (Σ g·x_i·e_i)² over the rows of one person is at most m times Σ (g·x_i·e_i)² (Cauchy and Schwarz), so
the deviation is at most √m times that of independent rows, and attains it where a person's rows are alike.
n rows are of n/m people at least. If a person's rows are alike and each has m, the residuals leave n/m − p
numbers to tell the spread by, p the number of coefficients: so the sampling error is Student's with so many
degrees of freedom, and its variance m·n/(n − m·p) that of independent rows. With fewer rows of a person it is
less. Of p people or fewer nothing can be said. n is the noisy number of rows, so that all this is public.
Compare Cameron & Miller 2015, section VI, on few clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.models.moments import Moments
from leakcap.models.values import Floats

__all__ = ["Frame", "Intervals", "coefficients", "moments_frame", "noise_level", "possible_coefficients"]

_DRAWS = 4000
_FEWEST = 200
_SEED = 20_18


@dataclass(frozen=True)
class Frame:
    """Which directions of (1, u, w) are regressors and target, and how to name coefficients.

    Rows of `regressors` and `target` are linear forms in (1, u, w); `back` takes θ to (intercept, coef).
    """

    regressors: Floats
    target: Floats
    back: Floats
    offset: Floats

    def split(self, moments: Floats) -> tuple[Floats, Floats, Floats]:
        """A, b and the target's square, from one matrix or a stack of them."""
        left = moments @ self.regressors.T
        a = self.regressors @ left
        b = np.squeeze(self.target[None, :] @ left, axis=-2)
        c = np.squeeze(self.target @ moments @ self.target[:, None], axis=-1)
        return a, b, np.asarray(c)

    def named(self, theta: Floats) -> Floats:
        """(intercept, coef₁, …) in the columns' units, for one θ or a stack."""
        return np.asarray(theta @ self.back.T + self.offset)


def moments_frame(plan: Moments, *, fit_intercept: bool) -> Frame:
    """The frame of a plan: about the middles with an intercept, about zero without.

    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> plan = Moments.plan([(0.0, 4.0), (0.0, 2.0)], policy, epsilon=1.0, delta=0.0)
    >>> moments_frame(plan, fit_intercept=True).named(np.array([0.0, 1.0])).tolist()
    [0.0, 0.5]
    """
    middle = np.array([axis.middle for axis in plan.axes])
    half = np.array([axis.half for axis in plan.axes])
    k = plan.factors
    if fit_intercept:
        # y = m_y + h_y·(θ₀ + Σ θᵢ(xᵢ − mᵢ)/hᵢ)
        slopes = half[-1] / half[:-1]
        back = np.zeros((k - 1, k - 1))
        back[1:, 1:] = np.diag(slopes)
        back[0] = np.concatenate([[half[-1]], -slopes * middle[:-1]])
        offset = np.zeros(k - 1)
        offset[0] = middle[-1]
        return Frame(np.eye(k)[:-1], np.eye(k)[-1], back, offset)
    size = np.abs(middle) + half
    forms = np.diag(np.concatenate([[1.0], half / size]))
    forms[1:, 0] = middle / size
    back = np.zeros((k - 1, k - 2))
    back[1:] = np.diag(size[-1] / size[:-1])
    return Frame(forms[1:-1], forms[-1], back, np.zeros(k - 1))


def noise_level(plan: Moments, frame: Frame) -> float:
    """The level that the spectral norm of A's noise passes once in twenty times, by simulation."""
    noise, _, _ = frame.split(plan.imitations(400, _SEED + 1))
    return float(np.quantile(np.abs(np.linalg.eigvalsh(noise)).max(axis=1), 0.95))


def coefficients(moments: Floats, frame: Frame, level: float) -> tuple[Floats, float]:
    """θ̂ and the ridge λ, in units of the bounds."""
    a, b, _ = frame.split(moments)
    values, vectors = np.linalg.eigh(a)
    certain = max(0.0, float(values[0]) - level)
    ridge = max(0.0, level - certain)
    # Where the noisy matrix is not even positive after the ridge, its eigenvalues count as the ridge.
    raised = np.maximum(values + ridge, max(level, 1e-12))
    return vectors @ ((vectors.T @ b) / raised), ridge


@dataclass(frozen=True)
class Intervals:
    """Draws of what the truth may be, with weights: rows of (intercept, coef₁, …). Few draws: nothing can be
    said, and the intervals are the `widest`: the whole line, and 0 for an intercept that is left out.
    """

    table: Floats
    population: Floats
    any_variance: Floats
    weights: Floats
    widest: Floats

    def of(self, draws: Floats, level: float) -> Floats:
        """Equal-tailed intervals, (coefficients, 2); the whole line where the noise hides everything."""
        if draws.shape[0] < _FEWEST:
            return self.widest.copy()
        return np.array([_between(column, self.weights, level) for column in draws.T])


def _between(values: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """The ends that leave (1 − level)/2 of the weight outside on each side, or a little less."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    tail = (1.0 - level) / 2.0 * below[-1]
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, below[-1] - tail, side="left"))
    return float(values[order[low]]), float(values[order[min(high, values.size - 1)]])


def possible_coefficients(moments: Floats, plan: Moments, frame: Frame) -> Intervals:
    """Coefficients of the tables that could have given these moments, and of their populations."""
    truth = moments - plan.imitations(_DRAWS, _SEED)
    truth = truth[_positive(truth)]
    a, b, c = frame.split(truth)
    # Without an intercept it is 0, and nothing moves it.
    moved = np.asarray(frame.back.any(axis=1))
    widest = np.where(moved[:, None], [-np.inf, np.inf], frame.offset[:, None])
    if truth.shape[0] == 0:
        nothing = np.zeros((0, frame.back.shape[0]))
        return Intervals(nothing, nothing, nothing, np.zeros(0), widest)
    # By eigenvalues: what is all but singular gives a wide draw here, and not an error after the spend.
    values, vectors = np.linalg.eigh(a)
    values = np.maximum(values, 1e-12 * values[:, -1:])
    turned = (np.swapaxes(vectors, 1, 2) @ b[..., None])[..., 0]
    theta: Floats = np.asarray((vectors @ (turned / values)[..., None])[..., 0], dtype=np.float64)
    residual = np.maximum(c.reshape(-1) - (b * theta).sum(axis=1), 0.0)
    # A person's rows may be all alike: then there are no more people than this, each with m of them.
    people = truth[:, 0, 0] / plan.policy.rows_per_unit
    student = _student(people - frame.regressors.shape[0], theta.shape[1])
    error = (vectors @ (student * np.sqrt(residual[:, None] / values))[..., None])[..., 0]
    inverse = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    spread = _widest(inverse, residual, theta, frame) * np.sqrt(truth[:, 0, 0])[:, None]
    population, anyhow = frame.named(theta + error), frame.named(theta) + spread * student[:, :1]
    # As many coefficients as people, or more: any sampling error is possible.
    unknown = people <= frame.regressors.shape[0]
    open_ = np.ix_(unknown, moved)
    population[open_] = anyhow[open_] = np.copysign(np.inf, student[unknown, :1])
    # A flat belief about moments all but excludes nearly singular ones; this one favours no scale of λ_min.
    weights: Floats = 1.0 / values[:, 0]
    return Intervals(frame.named(theta), population, anyhow, weights, widest)


def _positive(matrices: Floats) -> NDArray[np.bool_]:
    """Which symmetric matrices are positive definite: those whose pivots all are. A tenth of the time that
    their eigenvalues take. Source: Golub & Van Loan 2013, theorem 4.1.3.
    """
    rest = np.ascontiguousarray(np.moveaxis(matrices, 0, -1))
    found = np.ones(rest.shape[-1], dtype=np.bool_)
    with np.errstate(all="ignore"):  # what overflows is all but singular
        while rest.shape[0]:
            pivot = rest[0, 0]
            found &= pivot > 0.0
            rest = rest[1:, 1:] - rest[1:, :1] * (rest[:1, 1:] / np.where(found, pivot, np.inf))
    return found


def _student(freedom: Floats, columns: int) -> Floats:
    """Normal numbers over the root of a χ² of so many degrees of freedom, the same for a row: times the root
    of a sum of squared residuals they are errors. Where there is no freedom only their signs mean something.
    """
    generator = np.random.default_rng(_SEED + 2)
    normal = generator.standard_normal((freedom.size, columns))
    squares = generator.chisquare(np.maximum(freedom, 1e-3))
    return np.asarray(normal / np.sqrt(np.maximum(squares, 1e-300))[:, None])


def _widest(inverse: Floats, residual: Floats, theta: Floats, frame: Frame) -> Floats:
    """At most the deviation of each named coefficient, whatever the errors' variances: (draws, coefficients).

    For g = A⁻¹f, f the coefficient as a linear form of θ, it is √Σ eᵢ²⟨g,xᵢ⟩², where Σeᵢ² is known, |⟨g,xᵢ⟩|
    is at most ‖g‖₁ and |eᵢ| at most 1 + ‖θ‖₁, since regressors and target lie in [−1, 1].
    Source of the sum: White 1980, theorem 1; of the bounds: Hölder's inequality.
    """
    forms = inverse @ frame.back.T
    by_length = np.abs(forms).sum(axis=1) ** 2 * residual[:, None]
    own = np.einsum("jk,nkj->nj", frame.back, forms)
    by_size = own * (1.0 + np.abs(theta).sum(axis=1))[:, None] ** 2
    return np.asarray(np.sqrt(np.maximum(np.minimum(by_length, by_size), 0.0)))
