"""A linear support vector machine by objective perturbation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leakcap.errors import require
from leakcap.models.margin import MarginClassifier

__all__ = ["LinearSVC"]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(MarginClassifier):
    """Two classes by the hinge loss max(0, 1 − margin), its corner rounded; (ε, 0) or (ε, δ).

    The loss is h·ln(1 + e^{(1 − m)/h}), h = `smoothing`: above the hinge by h·ln 2 at most, and smooth, as
    the proof of objective perturbation wants it. A smaller h is nearer to the hinge, but its curvature 1/(4h)
    costs more. All else is as for `LogisticRegression`, but there are no probabilities: a hinge has none.
    After `fit`: `coef_`, `intercept_`, `classes_`, `penalty_`, `noise_scale_`, `solver_noise_`, `spend_`,
    `entry_`.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, section 3.4 (there with Huber's corner); Lee & Mangasarian
    2001 for this one.

    >>> import numpy as np
    >>> from leakcap.ledger import Caps, Ledger
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(-1.0, 1.0, 4_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=Caps(epsilon=9.0)) as ledger:
    ...     model = LinearSVC(policy=policy, ledger=ledger, epsilon=4.0).fit(x, x[:, 0] > 0)
    >>> model.score(x, x[:, 0] > 0) > 0.9
    True
    """

    _title: ClassVar[str] = "support vector machine"

    smoothing: float = 0.5

    def _loss(self) -> tuple[float, float]:
        return 1.0, float(self.smoothing)

    def _coefficients(self) -> str:
        return f"support vector coefficients with smoothing {self.smoothing!r}"

    def _check(self) -> None:
        super()._check()
        good = isinstance(self.smoothing, int | float) and 1 / 16 <= self.smoothing <= 16
        require(good, "smoothing", "LinearSVC", "lie between 1/16 and 16", self.smoothing)
