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
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.models.moments import Moments
from leakcap.models.values import Floats

__all__ = ["Frame", "Intervals", "coefficients", "frame_of", "noise_level", "possible"]

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


def frame_of(plan: Moments, *, fit_intercept: bool) -> Frame:
    """The frame of a plan: about the middles with an intercept, about zero without.

    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> plan = Moments.plan([(0.0, 4.0), (0.0, 2.0)], policy, epsilon=1.0, delta=0.0)
    >>> frame_of(plan, fit_intercept=True).named(np.array([0.0, 1.0])).tolist()
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
    said.
    """

    table: Floats
    population: Floats
    any_variance: Floats
    weights: Floats

    def of(self, draws: Floats, level: float) -> Floats:
        """Equal-tailed intervals, (coefficients, 2); the whole line where the noise hides everything."""
        if draws.shape[0] < _FEWEST:
            return np.tile([-np.inf, np.inf], (draws.shape[1], 1))
        return np.array([_between(column, self.weights, level) for column in draws.T])


def _between(values: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """The ends that leave (1 − level)/2 of the weight outside on each side, or a little less."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    tail = (1.0 - level) / 2.0 * below[-1]
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, below[-1] - tail, side="left"))
    return float(values[order[low]]), float(values[order[min(high, values.size - 1)]])


def possible(moments: Floats, plan: Moments, frame: Frame) -> Intervals:
    """Coefficients of the tables that could have given these moments, and of their populations."""
    truth = moments - plan.imitations(_DRAWS, _SEED)
    truth = truth[np.linalg.eigvalsh(truth)[:, 0] > 0.0]
    truth = truth[truth[:, 0, 0] > frame.regressors.shape[0]]
    a, b, c = frame.split(truth)
    if truth.shape[0] == 0:
        nothing = np.zeros((0, frame.back.shape[0]))
        return Intervals(nothing, nothing, nothing, np.zeros(0))
    # By eigenvalues: what is all but singular gives a wide draw here, and not an error after the spend.
    values, vectors = np.linalg.eigh(a)
    values = np.maximum(values, 1e-12 * values[:, -1:])
    turned = (np.swapaxes(vectors, 1, 2) @ b[..., None])[..., 0]
    theta: Floats = np.asarray((vectors @ (turned / values)[..., None])[..., 0], dtype=np.float64)
    residual = np.maximum(c.reshape(-1) - (b * theta).sum(axis=1), 0.0)
    normal = np.random.default_rng(_SEED + 2).standard_normal(theta.shape)
    variance = residual / (truth[:, 0, 0] - frame.regressors.shape[0])
    error = (vectors @ (normal * np.sqrt(variance[:, None] / values))[..., None])[..., 0]
    # A person's rows may be all alike.
    error *= math.sqrt(plan.policy.rows_per_unit)
    inverse = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    rows = truth[:, 0, 0] / (truth[:, 0, 0] - frame.regressors.shape[0])
    spread = _widest(inverse, residual, theta, frame) * np.sqrt(rows * plan.policy.rows_per_unit)[:, None]
    anyhow: Floats = frame.named(theta) + spread * normal[:, :1]
    # A flat belief about moments all but excludes nearly singular ones; this one favours no scale of λ_min.
    weights: Floats = 1.0 / values[:, 0]
    return Intervals(frame.named(theta), frame.named(theta + error), anyhow, weights)


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
