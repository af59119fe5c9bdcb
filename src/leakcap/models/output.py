"""Ridge regression by output perturbation: the minimiser, and noise as large as one row can move it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import require
from leakcap.ledger import Entry, Request, Spend
from leakcap.models.ball_ridge import BallRidge
from leakcap.models.budget import FitAccount, asked_of, check_epsilon, gaussian_spend, pure_spend
from leakcap.models.examples import Examples, Rows
from leakcap.models.integers import ball_integers, exact_products
from leakcap.models.lattice_noise import LatticeNoise
from leakcap.models.private_model import PrivateModel
from leakcap.models.reading import doubles_of
from leakcap.models.scores import r_squared
from leakcap.models.values import Floats
from leakcap.numeric import up
from leakcap.release import Policy, PrivateTable

__all__ = ["RidgeRegression", "ridge_sensitivity"]

_STEPS = 2**20
_DRAWS = 20_000
_SEED = 20_11


def ridge_sensitivity(
    *, norm: float, target: float, radius: float, penalty: float, replace: bool, rows: int = 1
) -> float:
    """How far a person of `rows` rows moves the minimiser of Σ½(y − ⟨θ,x⟩)² + (Λ/2)‖θ‖² over ‖θ‖ ≤ P, in L2.

    M(N + PM)/Λ for each row that comes or goes, twice that when replaced, which with Λ = nλ is 2M(N+PM)/(nλ).
    Rounded up. Source: Chaudhuri, Monteleoni & Sarwate 2011, lemma 7, on the sum instead of the mean.

    >>> round(ridge_sensitivity(norm=1.0, target=1.0, radius=1.0, penalty=4.0, replace=True), 9)
    1.0
    """
    return up((2 if replace else 1) * rows * norm * (target + radius * norm) / penalty, 8)


@dataclass(kw_only=True, eq=False, repr=False)
class RidgeRegression(PrivateModel):
    """argmin over ‖θ‖ ≤ `radius` of Σ½(y − ⟨θ, x⟩)² + (`penalty`/2)‖θ‖², plus noise.

    Rows are shortened to ‖x‖ ≤ `row_norm` and targets clamped to ±`target_bound` before anything else; there
    is no intercept in `fit`: centre the data on public numbers, or append a constant feature. `penalty` is
    Λ = nλ of the textbook's mean objective. After `fit`: `coef_`, `noise_scale_`, `sensitivity_` (L2, with
    what the solver is allowed), `spend_`, `entry_`, `repeated_` (whether the ledger knew the answer).
    Source: Chaudhuri, Monteleoni & Sarwate 2011, algorithm 1.

    >>> from leakcap.ledger import Caps, Ledger
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

    epsilon: float = 1.0
    delta: float = 0.0
    row_norm: float = 1.0
    target_bound: float = 1.0
    radius: float = 1.0
    penalty: float = 10.0

    coef_: Floats = field(init=False)
    intercept_: float = field(init=False)
    noise_scale_: float = field(init=False)
    sensitivity_: float = field(init=False)
    _errors: Floats = field(init=False)

    def noise(self, features: int, *, replace: bool, rows: int = 1) -> LatticeNoise:
        """The noise that a fit with so many features adds, for people of so many rows. Touches no data."""
        move = self._move(replace, rows)
        return LatticeNoise.plan(
            move, allowance=_allowance(move), size=features, epsilon=self.epsilon, delta=self.delta
        )

    def fit_table(
        self,
        table: PrivateTable,
        *,
        features: Sequence[str],
        target: str,
        where: str | None = None,
        fresh: bool = False,
        request: Request | None = None,
    ) -> Self:
        """Fit to a table behind a policy, which with its ledger counts instead of the model's.

        Rows come from its engine, bounded as the policy says. Features and target are scaled by their bounds
        to [−1, 1] and a constant is added, so that no row is longer than √(k+1) and no target beyond 1, which
        stand in for `row_norm` and `target_bound`; `radius` and `penalty` are in these units.
        """
        account, examples = self._behind(table, features, target, where)
        inner = self.__sklearn_clone__().set_params(
            row_norm=up(math.sqrt(len(features) + 1.0)), target_bound=1.0
        )
        inner._check()
        inner._run(replace(account, request=request), _with_constant(examples), fresh=fresh)
        kept = {name: value for name, value in vars(inner).items() if name.endswith("_")}
        vars(self).update(kept)
        scaling, theta = examples.scaling, inner.coef_
        self.coef_, last = scaling.named(theta[1:], theta[0])
        self.intercept_, self.n_features_in_ = float(last), len(features)
        errors = replace(scaling, target=(0.0, scaling.target[1]))
        slopes, first = errors.named(inner._errors[:, 2:], inner._errors[:, 1])
        self._errors = np.column_stack([first, slopes])
        return self

    def _targets(self, y: NDArray[Any]) -> Floats:
        return doubles_of(y)

    def _run(self, account: FitAccount, examples: Examples, *, fresh: bool) -> Self:
        noise = self.noise(examples.features, replace=account.replace, rows=examples.most)
        spend = _spend(noise, account.policy)
        details: dict[str, str | float | int] = {"mechanism": noise.mechanism, "noise_scale": noise.scale}
        move = self._move(account.replace, examples.most)

        def draw(entry: Entry) -> Floats:
            rows, targets, _ = examples.read()
            problem, unit = self._problem(rows, targets)
            near = problem.near(Fraction(_allowance(move)) / unit)
            return noise.released([t * unit for t in near], self.source)

        asked = asked_of(self.epsilon, self.delta)
        charge = account.charge("ridge regression", self._text(examples), spend, details, asked=asked)
        found = account.answered(charge, draw, data=examples.data, fresh=fresh)
        self.coef_, self.intercept_ = found.values.ravel(), 0.0
        self.noise_scale_, self.sensitivity_ = noise.scale, move + 2 * _allowance(move)
        self._note(spend, found)
        self.n_features_in_ = examples.features
        self._errors = np.hstack([np.zeros((_DRAWS, 1)), noise.imitations(_DRAWS, _SEED)])
        return self

    def table_intervals(self, *, level: float = 0.95) -> Floats:
        """Intervals of the ridge minimiser's (intercept, coef₁, …) on this table's rows: noise alone.

        They need no assumption: the noise has a known law. They are about the minimiser with its ridge and
        within its radius, which is not what plain least squares would give.
        """
        self._require_fitted()
        require(0 < level < 1, "level", "RidgeRegression", "lie between 0 and 1", level)
        reach = np.quantile(np.abs(self._errors), level, axis=0)
        middle = np.append(self.intercept_, self.coef_)
        return np.column_stack([middle - reach, middle + reach])

    def predict(self, X: ArrayLike) -> Floats:
        """X·coef, and the intercept of a fit to a table."""
        return np.asarray(self._inputs(X) @ self.coef_ + self.intercept_)

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

    def _move(self, replaced: bool, rows: int) -> float:
        return ridge_sensitivity(
            norm=self.row_norm,
            target=self.target_bound,
            radius=self.radius,
            penalty=self.penalty,
            replace=replaced,
            rows=rows,
        )

    def _text(self, examples: Examples) -> str:
        return (
            f"ridge coefficients of {examples.text}, row norm {self.row_norm!r}, target within "
            f"±{self.target_bound!r}, radius {self.radius!r}, penalty {self.penalty!r}"
        )

    def _problem(self, rows: Floats, targets: Floats) -> tuple[BallRidge, Fraction]:
        """The problem in integers: x = M·z/S and y = N·w/S, so θ = (N/M)·φ with φ the integers' minimiser."""
        complete = np.isfinite(rows).all(axis=1) & np.isfinite(targets)
        z = ball_integers(rows[complete], norm=self.row_norm, steps=_STEPS)
        bound = self.target_bound
        w = np.trunc(np.clip(targets[complete], -bound, bound) / bound * _STEPS)
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


def _with_constant(examples: Examples) -> Examples:
    """A constant feature before the others."""

    def read() -> Rows:
        X, y, people = examples.read()
        return np.hstack([np.ones((X.shape[0], 1)), X]), y, people

    return replace(examples, features=examples.features + 1, read=read)


def _allowance(move: float) -> float:
    """How far the solver may stay from the minimiser: a millionth of what a row moves it, or less."""
    return 2.0 ** (math.floor(math.log2(move)) - 20)


def _spend(noise: LatticeNoise, policy: Policy) -> Spend:
    if noise.rho is None:
        return pure_spend(noise.epsilon, policy)
    return gaussian_spend(noise.epsilon, noise.delta, noise.rho, policy, exact=True)
