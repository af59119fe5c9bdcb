"""Logistic regression by objective perturbation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Entry, Ledger
from leakcap.models.budget import Account, approximate_spend, asked_of, check_epsilon, pure_spend
from leakcap.models.examples import Examples
from leakcap.models.integers import ball_integers
from leakcap.models.logistic_loss import LogisticObjective
from leakcap.models.objective_noise import ObjectiveNoise
from leakcap.models.private_model import PrivateModel
from leakcap.models.scores import accuracy
from leakcap.models.values import Floats, label_codes
from leakcap.numeric import down, up
from leakcap.release import Policy, PrivateTable
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["LogisticRegression"]

_STEPS = 2**20
_MOST_ROWS = 2**30


class LogisticRegression(PrivateModel):
    """Two classes, by noise in the objective; (ε, 0) with Laplace noise, (ε, δ) with Gaussian noise.

    Rows are shortened to ‖x‖ ≤ `row_norm`; rows whose label is not one of the two public `classes` are left
    out. With `fit_intercept` a feature as large as `row_norm` is appended. `penalty` is Λ for coefficients in
    units of 1/`row_norm`; by default a quarter of ε pays for the curvature that it tames. After `fit`:
    `coef_`, `intercept_`, `classes_`, `penalty_`, `noise_scale_` (of the objective's linear term),
    `solver_noise_` (what hides how the solver stopped), `spend_`, `entry_`.
    Source: Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Iyengar et al. 2019.

    >>> from leakcap.ledger import Caps
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(-1.0, 1.0, 4_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=Caps(epsilon=9.0)) as ledger:
    ...     model = LogisticRegression(policy=policy, ledger=ledger, epsilon=4.0).fit(x, x[:, 0] > 0)
    >>> model.score(x, x[:, 0] > 0) > 0.9
    True
    """

    kind: ClassVar[str] = "classifier"

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]
    penalty_: float
    noise_scale_: float
    solver_noise_: float

    def __init__(
        self,
        *,
        policy: Policy | str | Path | Mapping[str, Any] | None = None,
        ledger: Ledger | str | Path | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        row_norm: float = 1.0,
        penalty: float | None = None,
        classes: Sequence[Any] = (0, 1),
        fit_intercept: bool = True,
        n_features: int | None = None,
        analyst: str = "",
        source: ByteSource = system_bytes,
    ) -> None:
        self.policy = policy
        self.ledger = ledger
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.penalty = penalty
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.n_features = n_features
        self.analyst = analyst
        self.source = source

    def noise(
        self, features: int, *, replace: bool, rows: int | None = None, most: int = 1
    ) -> ObjectiveNoise:
        """The noise of a fit with so many features, at most so many rows, and `most` of a person.

        For people of m rows each row has ε/m and δ·(e^{ε/m} − 1)/(e^ε − 1), which is (ε, δ) for m rows.
        Source: Vadhan 2017, lemma 2.2 (group privacy). Touches no data.
        """
        extra = 1 if self.fit_intercept else 0
        share = self.epsilon if most == 1 else down(self.epsilon / most, 2)
        weight = math.exp(share - self.epsilon) * math.expm1(-share) / math.expm1(-self.epsilon)
        return ObjectiveNoise.plan(
            features + extra,
            norm=up(math.sqrt(1.0 + extra)),
            epsilon=share,
            delta=self.delta if most == 1 else down(self.delta * weight, 16),
            replace=replace,
            penalty=self.penalty,
            rows=_MOST_ROWS if rows is None else rows * most,
        )

    def fit_table(
        self,
        table: PrivateTable,
        *,
        features: Sequence[str],
        target: str,
        where: str | None = None,
        fresh: bool = False,
    ) -> Self:
        """Fit to a table behind a policy, which with its ledger counts instead of the model's.

        Rows come from its engine, bounded as the policy says; features are scaled by their bounds to [−1, 1],
        and `row_norm` is in these units. `coef_` and `intercept_` are in the columns' units.
        """
        self._check()
        account, examples = self._behind(
            table, features, target, where, classes=True, centred=self.fit_intercept
        )
        return self._run(account, examples, fresh=fresh)

    def _run(self, account: Account, examples: Examples, *, fresh: bool) -> Self:
        noise = self.noise(
            examples.features, replace=account.replace, rows=account.policy.units, most=examples.most
        )
        if self.delta > 0:
            spend = approximate_spend(self.epsilon, self.delta)
        else:
            spend = pure_spend(self.epsilon, account.policy)
        details: dict[str, str | float | int] = {
            "mechanism": "objective perturbation",
            "noise_scale": noise.scale,
            "penalty": noise.penalty,
            "solver_noise": noise.output.scale,
        }

        def draw(entry: Entry) -> Floats:
            rows, labels, _ = examples.read()
            z = self._signed(rows, labels)
            objective = LogisticObjective(z, _STEPS, noise.penalty, noise.draw(self.source))
            return noise.output.released(objective.minimise(noise.gradient), self.source)

        asked = asked_of(self.epsilon, self.delta)
        charge = account.charge("logistic regression", self._text(examples), spend, details, asked=asked)
        found = account.answered(charge, draw, data=examples.data, fresh=fresh)
        self._keep(found.values.ravel(), examples)
        self.penalty_, self.noise_scale_, self.solver_noise_ = noise.penalty, noise.scale, noise.output.scale
        self._note(spend, found)
        return self

    def _keep(self, theta: Floats, examples: Examples) -> None:
        features = examples.features
        inner = theta[features:] if self.fit_intercept else np.zeros(1)
        self.coef_, self.intercept_ = examples.scaling.named(theta[None, :features] / self.row_norm, inner)
        self.classes_ = np.array(self.classes)
        self.n_features_in_ = features

    def _signed(self, rows: Floats, labels: NDArray[Any]) -> Floats:
        """Integer rows times ±1, of the rows that count."""
        codes = label_codes(labels, self.classes)
        counts = np.isfinite(codes) & np.isfinite(rows).all(axis=1)
        z = ball_integers(rows[counts], norm=self.row_norm, steps=_STEPS)
        if self.fit_intercept:
            z = np.hstack([z, np.full((z.shape[0], 1), float(_STEPS))])
        return z * np.where(codes[counts] == 1.0, 1.0, -1.0)[:, None]

    def _check(self) -> None:
        owner = "LogisticRegression"
        check_epsilon(self.epsilon, self.delta, owner)
        require(
            1e-30 <= self.row_norm <= 1e30, "row_norm", owner, "lie between 1e-30 and 1e30", self.row_norm
        )
        good = self.penalty is None or 1e-3 <= self.penalty <= 1e30
        require(good, "penalty", owner, "be None or lie between 1e-3 and 1e30", self.penalty)
        if len(self.classes) != 2:
            raise InvalidParameter(f"`classes` of `{owner}` must be two public labels. Got {self.classes!r}.")
        label_codes(np.zeros(0), self.classes, f"`{owner}`")

    def _text(self, examples: Examples) -> str:
        return (
            f"logistic coefficients of {examples.text}, row norm {self.row_norm!r}, penalty "
            f"{self.penalty!r}, intercept {self.fit_intercept!r}, classes {list(self.classes)!r}"
        )

    def decision_function(self, X: ArrayLike) -> Floats:
        """The log-odds of the second class."""
        return np.asarray(self._inputs(X) @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of both classes."""
        odds = self.decision_function(X)
        second = np.exp(-np.logaddexp(0.0, -odds))
        return np.column_stack([1.0 - second, second])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more probable class."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """The share of right answers on data that is public or your own: it is not private."""
        return accuracy(np.asarray(y), self.predict(X))
