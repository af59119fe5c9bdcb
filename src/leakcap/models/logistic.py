"""Logistic regression by objective perturbation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from leakcap.models.margin import MarginClassifier
from leakcap.models.values import Floats

__all__ = ["LogisticRegression"]


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(MarginClassifier):
    """Two classes, by noise in the objective; (ε, 0) with Laplace noise, (ε, δ) with Gaussian noise.

    Rows are shortened to ‖x‖ ≤ `row_norm`; rows whose label is not one of the two public `classes` are left
    out. With `fit_intercept` a feature as large as `row_norm` is appended. `penalty` is Λ for coefficients in
    units of 1/`row_norm`; by default a quarter of ε pays for the curvature that it tames. After `fit`:
    `coef_`, `intercept_`, `classes_`, `penalty_`, `noise_scale_` (of the objective's linear term),
    `solver_noise_` (what hides how the solver stopped), `spend_`, `entry_`.
    Source: Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Iyengar et al. 2019.

    >>> from leakcap.ledger import Caps, Ledger
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

    _title: ClassVar[str] = "logistic regression"

    def _loss(self) -> tuple[float, float]:
        return 0.0, 1.0

    def _coefficients(self) -> str:
        return "logistic coefficients"

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of both classes."""
        odds = self.decision_function(X)
        second = np.exp(-np.logaddexp(0.0, -odds))
        return np.column_stack([1.0 - second, second])
