"""Ridge regression by output perturbation: the minimiser, and noise as large as one row can move it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import require
from leakcap.ledger import Ledger, Spend
from leakcap.models.ball_ridge import BallRidge
from leakcap.models.budget import Account, check_epsilon, gaussian_spend, pure_spend
from leakcap.models.estimator import Estimator, Floats, table_of, targets_of
from leakcap.models.integers import ball_integers, exact_products
from leakcap.models.lattice_noise import LatticeNoise
from leakcap.models.scores import r_squared
from leakcap.numeric import up
from leakcap.release import Policy
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["RidgeRegression", "ridge_sensitivity"]

_STEPS = 2**20


def ridge_sensitivity(*, norm: float, target: float, radius: float, penalty: float, replace: bool) -> float:
    """How far one row moves the minimiser of Σ½(y − ⟨θ,x⟩)² + (Λ/2)‖θ‖² over ‖θ‖ ≤ P, in L2.

    M(N + PM)/Λ when a row comes or goes, twice that when it is replaced, which with Λ = nλ is 2M(N+PM)/(nλ).
    Rounded up. Source: Chaudhuri, Monteleoni & Sarwate 2011, lemma 7, on the sum instead of the mean.

    >>> round(ridge_sensitivity(norm=1.0, target=1.0, radius=1.0, penalty=4.0, replace=True), 9)
    1.0
    """
    return up((2 if replace else 1) * norm * (target + radius * norm) / penalty, 8)


class RidgeRegression(Estimator):
    """argmin over ‖θ‖ ≤ `radius` of Σ½(y − ⟨θ, x⟩)² + (`penalty`/2)‖θ‖², plus noise.

    Rows are shortened to ‖x‖ ≤ `row_norm` and targets clamped to ±`target_bound` before anything else; there
    is no intercept: centre the data on public numbers, or append a constant feature. `penalty` is Λ = nλ of
    the textbook's mean objective. After `fit`: `coef_`, `noise_scale_`, `sensitivity_` (L2, with what the
    solver is allowed), `spend_`, `entry_`.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, algorithm 1.

    >>> from leakcap.ledger import Caps
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(-1.0, 1.0, 4_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=Caps(epsilon=9.0)) as ledger:
    ...     model = RidgeRegression(policy=policy, ledger=ledger, epsilon=4.0).fit(x, 0.5 * x[:, 0])
    >>> bool(abs(model.coef_[0] - 0.5) < 0.6)
    True
    """

    coef_: Floats
    noise_scale_: float
    sensitivity_: float
    spend_: Spend
    entry_: int

    def __init__(
        self,
        *,
        policy: Policy | str | Path | Mapping[str, Any] | None = None,
        ledger: Ledger | str | Path | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        row_norm: float = 1.0,
        target_bound: float = 1.0,
        radius: float = 1.0,
        penalty: float = 10.0,
        analyst: str = "",
        source: ByteSource = system_bytes,
    ) -> None:
        self.policy = policy
        self.ledger = ledger
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.target_bound = target_bound
        self.radius = radius
        self.penalty = penalty
        self.analyst = analyst
        self.source = source

    def noise(self, features: int, *, replace: bool) -> LatticeNoise:
        """The noise that a fit with so many features adds. Touches no data."""
        move = ridge_sensitivity(
            norm=self.row_norm,
            target=self.target_bound,
            radius=self.radius,
            penalty=self.penalty,
            replace=replace,
        )
        return LatticeNoise.plan(
            move, allowance=_allowance(move), size=features, epsilon=self.epsilon, delta=self.delta
        )

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit to arrays whose rows are the privacy units. Rows with NaN or ±∞ are left out, unseen."""
        self._check()
        rows = table_of(X, "RidgeRegression")
        targets = table_of(targets_of(y, rows.shape[0], "RidgeRegression")[:, None], "RidgeRegression")
        with Account.opened(self.policy, self.ledger, self.analyst, "RidgeRegression") as account:
            account.check_rows(rows.shape[0])
            noise = self.noise(rows.shape[1], replace=account.replace)
            spend = _spend(noise, account.policy)
            details = {"mechanism": noise.mechanism, "noise_scale": noise.scale}
            with account.paid("ridge regression", self._text(rows.shape[1]), spend, details) as entry:
                problem, unit = self._problem(rows, targets[:, 0])
                move = self._move(account.replace)
                near = problem.near(Fraction(_allowance(move)) / unit)
                self.coef_ = noise.released([t * unit for t in near], self.source)
        self.noise_scale_, self.sensitivity_ = noise.scale, move + 2 * _allowance(move)
        self.spend_, self.entry_, self.n_features_in_ = spend, entry.id, rows.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """X·coef."""
        return np.asarray(self._inputs(X) @ self.coef_)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """R² on data that is public or your own: it is not private."""
        return r_squared(np.asarray(y, dtype=np.float64), self.predict(X))

    def _check(self) -> None:
        check_epsilon(self.epsilon, self.delta, "RidgeRegression")
        for name in ("row_norm", "target_bound", "radius", "penalty"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            good = number and 1e-30 <= value <= 1e30
            require(good, name, "RidgeRegression", "lie between 1e-30 and 1e30", value)

    def _move(self, replace: bool) -> float:
        return ridge_sensitivity(
            norm=self.row_norm,
            target=self.target_bound,
            radius=self.radius,
            penalty=self.penalty,
            replace=replace,
        )

    def _text(self, features: int) -> str:
        return (
            f"ridge coefficients of {features} features, row norm {self.row_norm!r}, target within "
            f"±{self.target_bound!r}, radius {self.radius!r}, penalty {self.penalty!r}"
        )

    def _problem(self, rows: Floats, targets: Floats) -> tuple[BallRidge, Fraction]:
        """The problem in integers: x = M·z/S and y = N·w/S, so θ = (N/M)·φ with φ the integers' minimiser."""
        complete = np.isfinite(rows).all(axis=1) & np.isfinite(targets)
        z = ball_integers(rows[complete], norm=self.row_norm, steps=_STEPS)
        w = np.trunc(np.clip(targets[complete] / self.target_bound, -1.0, 1.0) * _STEPS)
        # Σ½(y − ⟨θ,x⟩)² + Λ/2·‖θ‖² = (N/S)²·[Σ½(w − ⟨φ,z⟩)² + Λ(S/M)²/2·‖φ‖²]
        norm, target = Fraction(self.row_norm), Fraction(self.target_bound)
        unit = target / norm
        problem = BallRidge(
            exact_products(z, z, largest=_STEPS**2),
            exact_products(z, w[:, None], largest=_STEPS**2)[:, 0],
            Fraction(self.penalty) * (_STEPS / norm) ** 2,
            Fraction(self.radius) / unit,
        )
        return problem, unit


def _allowance(move: float) -> float:
    """How far the solver may stay from the minimiser: a millionth of what a row moves it, or less."""
    return 2.0 ** (math.floor(math.log2(move)) - 20)


def _spend(noise: LatticeNoise, policy: Policy) -> Spend:
    if noise.rho is None:
        return pure_spend(noise.epsilon, policy)
    return gaussian_spend(noise.epsilon, noise.delta, noise.rho, policy)
