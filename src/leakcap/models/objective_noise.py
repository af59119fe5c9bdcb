"""Objective perturbation: how much noise in the objective, how strong a ridge, how exact a solver.

J(θ) = Σ ℓ(⟨v,θ⟩) + (Λ/2)‖θ‖² + ⟨b, θ⟩, v = ±x, ‖v‖ ≤ B, with ℓ(m) = h·ln(1 + e^{(s − m)/h}) as in
`margin_objective.py`: gradient −w·v with 0 < w < 1, Hessian of rank one and norm at most β = B²/(4h), h being
1 for the logistic loss. For *continuous* noise b the minimiser θ* has
the density ν(b(θ))·det(∇²Σℓ + ΛI), b(θ) = −∇Σℓ(θ) − Λθ, and between neighbours

- the determinants differ by a factor of at most 1 + β/Λ, by either relation (a rank-one update);
- b(θ) moves by wv, or wv − w'v': in L2 at most sB, s = 1 (add/remove-one) or 2 (replace-one).

**(ε, 0)**: independent Laplace noise of scale c: √k·sB/c + ln(1+β/Λ) bounds the log-ratio.
**(ε, δ)**: Gaussian noise: the log-ratio of ν is (2⟨b,Δ⟩ + ‖Δ‖²)/(2σ²), convex in w and w', so at most the
largest of its values at w, w' ∈ {0, 1}: 0, and those of v, −v' and v − v', each the privacy loss of Gaussian
noise with μ = B/σ, or 2B/σ for the last. With ε₃ left of ε, δ = E[(1 − e^(ε₃ − log-ratio))₊] is at most the
δ(ε₃) of Balle & Wang (2018) at B/σ where a row comes or goes, and the sum of three where it is replaced.

*No solver is exact and no noise continuous.* If the point θ̂ that is found has ‖∇J(θ̂)‖ ≤ γ, it is within γ/Λ
of θ*, on any table; as a function of θ* it moves by at most 2γ/Λ between neighbours, which a little noise of
its own hides at the price ε₂. The noise b is drawn on a grid, as the rounding of a continuous b: towards zero
for Laplace, whose magnitude is then exactly geometric; to the nearest for the Gaussian, whose law is then
within k/(8s²) of the discrete Gaussian's in total variation, s its deviation in steps (midpoint rule).
The rounding is part of γ.

Source: Chaudhuri, Monteleoni & Sarwate 2011, theorem 9; Kifer, Smith & Thakurta 2012; Iyengar, Near, Song,
Thakkar, Thakurta & Wang 2019 (approximate minima). The (ε, δ) part is derived anew here for linear models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter
from leakcap.models.calibrate import gaussian_delta
from leakcap.models.lattice_noise import LatticeNoise
from leakcap.models.values import Floats
from leakcap.numeric import down, up
from leakcap.numeric.search import doubled_until, last_where
from leakcap.sampling import ByteSource, discrete_gaussian, discrete_laplace, rational_scale
from leakcap.sampling.source import fair_bits

__all__ = ["ObjectiveNoise", "laplace_towards_zero"]

_SOLVER_SHARE = 0.01
_GAUSSIAN_STEPS = 40
_LAPLACE_STEPS = 40


@dataclass(frozen=True)
class ObjectiveNoise:
    """The noise of one fit with k coefficients and rows of norm at most B.

    `scale` is b's Laplace scale or standard deviation, `gradient` what the solver must reach, `output` the
    noise that hides how it stopped.

    >>> noise = ObjectiveNoise.plan(
    ...     2, norm=1.0, epsilon=1.0, delta=0.0, replace=False, penalty=None, rows=1000)
    >>> 0.8 < noise.penalty < 0.9, 1.9 < noise.scale < 2.0
    (True, True)
    """

    size: int
    scale: float
    penalty: float
    exponent: int
    gradient: float
    gaussian: bool
    sampler: Fraction
    output: LatticeNoise

    @classmethod
    def plan(
        cls,
        size: int,
        *,
        norm: float,
        epsilon: float,
        delta: float,
        replace: bool,
        penalty: float | None,
        rows: int,
        width: float = 1.0,
        owner: str = "LogisticRegression",
    ) -> ObjectiveNoise:
        """Split ε between determinants, noise and solver; `rows` is the public number that may come.

        `width` is h of the loss; `owner` is named in errors.
        """
        curvature, moves = up(norm * norm / (4.0 * width), 2), 2 if replace else 1
        solver = _SOLVER_SHARE * epsilon
        if penalty is None:
            ridge = max(curvature / math.expm1(min((epsilon - solver) / 4.0, 50.0)), norm * norm / 100.0)
        else:
            ridge = float(penalty)
        left = down(epsilon - solver - up(math.log1p(up(curvature / ridge)), 4), 8, epsilon)
        if left <= 0.0:
            least = curvature / math.expm1(epsilon - solver)
            raise InvalidParameter(
                f"`penalty` of `{owner}` must be above {least:.3g} at this ε, which pays for the "
                f"curvature first. Got {penalty!r}."
            )
        if delta > 0:
            scale = _deviation(left, delta, norm, replace=replace, epsilon=epsilon, size=size, owner=owner)
            exponent = _GAUSSIAN_STEPS - math.floor(math.log2(scale))
            sampler = Fraction(math.ceil(Fraction(scale) ** 2 * Fraction(4) ** exponent))
        else:
            move = up(moves * norm * math.sqrt(size), 4)
            exponent = _LAPLACE_STEPS - math.ceil(math.log2(move / left))
            steps = math.ceil(Fraction(move) * Fraction(2) ** exponent)
            sampler = rational_scale(steps, Fraction(left))
            scale = float(sampler) * 2.0**-exponent
        # What floating point leaves of a gradient of so many rows: see `margin_objective.exact_gradient`.
        wide = size * norm * 2.0**-53 * max(1.0, 1.0 / width) if size > 128 else 0.0
        slack = rows * norm * (2.0**-47 + wide) + scale * 2.0**-30
        gradient = up(2.0 * slack + 2.0 * math.sqrt(size) * 2.0**-exponent, 4)
        apart = up(2.0 * gradient / ridge, 4)
        output = LatticeNoise.plan(apart, allowance=0.0, size=size, epsilon=solver, delta=0.0)
        return cls(size, scale, ridge, exponent, slack, delta > 0, sampler, output)

    def draw(self, source: ByteSource) -> Floats:
        """The linear term b, on its grid. The noise is drawn here."""
        if self.gaussian:
            steps = discrete_gaussian(self.sampler, self.size, source)
        else:
            steps = laplace_towards_zero(self.sampler, self.size, source)
        return np.asarray(steps * 2.0**-self.exponent, dtype=np.float64)


def laplace_towards_zero(scale: Fraction, size: int, source: ByteSource) -> NDArray[np.int64]:
    """Continuous Laplace variables of this scale, rounded towards zero: exactly.

    The magnitude of a Laplace variable is exponential, its floor geometric: P(k) ∝ e^{−k/scale}, which is the
    discrete Laplace law given that it is not negative. The sign is a fair coin.

    >>> laplace_towards_zero(Fraction(10), 3, __import__("os").urandom).shape
    (3,)
    """
    found = np.zeros(0, dtype=np.int64)
    while found.size < size:
        draws = discrete_laplace(scale, 2 * (size - found.size) + 8, source)
        found = np.concatenate([found, draws[draws >= 0]])
    magnitude = found[:size]
    return np.where(fair_bits(size, source), -magnitude, magnitude)


def _deviation(
    left: float, delta: float, norm: float, *, replace: bool, epsilon: float, size: int, owner: str
) -> float:
    """The least σ that keeps δ, less what the grid takes of it, found from above."""
    grid = size / 8.0 * 4.0 ** -(_GAUSSIAN_STEPS - 1) * (1.0 + math.exp(min(epsilon, 700.0)))
    room = down(delta - grid, 8, delta)
    if room <= 0.0:
        raise InvalidParameter(
            f"`delta` of `{owner}` must be larger beside this ε. Got {delta!r}. The noise's grid "
            "alone takes as much."
        )

    def told(sigma: float) -> float:
        mu = up(norm / sigma, 2)
        one = gaussian_delta(mu, left)
        return up(2.0 * one + gaussian_delta(2.0 * mu, left), 4) if replace else one

    def keeps(sigma: float) -> bool:
        return sigma > 0.0 and told(sigma) <= room

    low, high = doubled_until(keeps, norm / left, math.inf)
    return last_where(keeps, high, low, width=1e-9)[0]
