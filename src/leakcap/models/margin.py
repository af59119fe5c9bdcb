"""Linear classifiers for two classes by objective perturbation: what they share, whatever their loss."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Entry
from leakcap.models.budget import FitAccount, approximate_spend, asked_of, check_epsilon, pure_spend
from leakcap.models.examples import Examples
from leakcap.models.integers import ball_integers
from leakcap.models.margin_objective import MarginObjective
from leakcap.models.objective_noise import ObjectiveNoise
from leakcap.models.private_model import PrivateModel
from leakcap.models.scores import accuracy
from leakcap.models.values import Floats, label_codes
from leakcap.numeric import down, up

__all__ = ["MarginClassifier"]

_STEPS = 2**20
_MOST_ROWS = 2**30


@dataclass(kw_only=True, eq=False, repr=False)
class MarginClassifier(PrivateModel):
    """Two classes, told apart by a line; (ε, 0) with Laplace noise, (ε, δ) with Gaussian noise.

    A loss is its shift and its width, see `margin_objective.py`.
    Source: Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Iyengar et al. 2019.
    """

    kind: ClassVar[str] = "classifier"
    _title: ClassVar[str]

    epsilon: float = 1.0
    delta: float = 0.0
    row_norm: float = 1.0
    penalty: float | None = None
    classes: Sequence[Any] = (0, 1)
    fit_intercept: bool = True

    coef_: Floats = field(init=False)
    intercept_: Floats = field(init=False)
    classes_: NDArray[Any] = field(init=False)
    penalty_: float = field(init=False)
    noise_scale_: float = field(init=False)
    solver_noise_: float = field(init=False)

    @abstractmethod
    def _loss(self) -> tuple[float, float]:
        """The shift and the width of the loss."""

    @abstractmethod
    def _coefficients(self) -> str:
        """What the coefficients are called in the ledger, with the settings of the loss."""

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
            width=self._loss()[1],
            owner=type(self).__name__,
            epsilon=share,
            delta=self.delta if most == 1 else down(self.delta * weight, 16),
            replace=replace,
            penalty=self.penalty,
            rows=_MOST_ROWS if rows is None else rows * most,
        )

    def _centred(self) -> bool:
        return self.fit_intercept

    def _run(self, account: FitAccount, examples: Examples, *, fresh: bool) -> Self:
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
            objective = MarginObjective(z, _STEPS, noise.penalty, noise.draw(self.source), *self._loss())
            return noise.output.released(objective.minimise(noise.gradient), self.source)

        asked = asked_of(self.epsilon, self.delta)
        charge = account.charge(self._title, self._text(examples), spend, details, asked=asked)
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
        owner = type(self).__name__
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
            f"{self._coefficients()} of {examples.text}, row norm {self.row_norm!r}, penalty "
            f"{self.penalty!r}, intercept {self.fit_intercept!r}, classes {list(self.classes)!r}"
        )

    def decision_function(self, X: ArrayLike) -> Floats:
        """⟨coef, x⟩ + intercept, above zero for the second class: log-odds where the loss is logistic."""
        return np.asarray(self._inputs(X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more probable class."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """The share of right answers on data that is public or your own: it is not private."""
        return accuracy(np.asarray(y), self.predict(X))
