"""A model file: whose data, under which policy and ledger, and what to fit.

    [model]
    kind = "linear"          noisy second moments; also ridge, logistic, svm, tree, descent, lecture
    features = ["age", "bmi"]
    target = "stay"
    epsilon = 1.0

Each kind has fields of its own, and any other is refused. Paths start at the file's own folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from leakcap.errors import InvalidQuery
from leakcap.ledger import Edition
from leakcap.models.descent import PrivateGradientDescent
from leakcap.models.linear import LinearRegression
from leakcap.models.logistic import LogisticRegression
from leakcap.models.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from leakcap.models.output import RidgeRegression
from leakcap.models.svm import LinearSVC
from leakcap.models.tree import PrivateDecisionTree
from leakcap.policy.validation import complaints, read_checked
from leakcap.release import Policy
from leakcap.release.planning.queries import locations
from leakcap.release.results.publication import Publication

__all__ = ["Descent", "Lecture", "ModelFile", "asked_fit", "load_model"]

Model = (
    LinearRegression
    | RidgeRegression
    | LogisticRegression
    | LinearSVC
    | PrivateDecisionTree
    | PrivateGradientDescent
)


class _Fit(BaseModel, ABC):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    features: list[str] = Field(min_length=1)
    target: str
    where: str | None = None
    slot: str = ""

    @abstractmethod
    def model(self, policy: Policy, analyst: str) -> Model:
        """The estimator, unfitted. Raises `InvalidQuery` where the policy does not allow it."""

    def columns(self) -> dict[str, Any]:
        """What `fit_table` is asked for."""
        return {"features": self.features, "target": self.target, "where": self.where}

    def _settings(self) -> dict[str, Any]:
        """The fields that are the estimator's own, which has them under the same names."""
        return {name: value for name, value in self if name not in ("kind", "features", "target", "where")}


class Linear(_Fit):
    """Least squares by noisy sufficient statistics."""

    kind: Literal["linear"]
    epsilon: float
    delta: float = 0.0
    fit_intercept: bool = True

    def model(self, policy: Policy, analyst: str) -> LinearRegression:
        """The estimator."""
        return LinearRegression(**self._settings(), analyst=analyst)


class Ridge(_Fit):
    """Ridge regression by output perturbation."""

    kind: Literal["ridge"]
    epsilon: float
    delta: float = 0.0
    radius: float = 1.0
    penalty: float = 10.0

    def model(self, policy: Policy, analyst: str) -> RidgeRegression:
        """The estimator."""
        return RidgeRegression(**self._settings(), analyst=analyst)


class _Classifier(_Fit):
    """The classes are the policy's keys of the target unless given."""

    epsilon: float
    classes: list[bool | int | str] | None = None

    def _of(self, policy: Policy) -> dict[str, Any]:
        classes = self.classes or _keys(policy, self.target) or (0, 1)
        return {**self._settings(), "classes": classes}


class _Margin(_Classifier):
    delta: float = 0.0
    row_norm: float = 1.0
    penalty: float | None = None
    fit_intercept: bool = True


class Logistic(_Margin):
    """Two classes by objective perturbation."""

    kind: Literal["logistic"]

    def model(self, policy: Policy, analyst: str) -> LogisticRegression:
        """The estimator."""
        return LogisticRegression(**self._of(policy), analyst=analyst)


class SupportVectors(_Margin):
    """Two classes by a smooth hinge, objective perturbation."""

    kind: Literal["svm"]
    smoothing: float = 0.5

    def model(self, policy: Policy, analyst: str) -> LinearSVC:
        """The estimator."""
        return LinearSVC(**self._of(policy), analyst=analyst)


class Tree(_Classifier):
    """A decision tree from noisy counts."""

    kind: Literal["tree"]
    depth: int = 3
    bins: int = 16

    def model(self, policy: Policy, analyst: str) -> PrivateDecisionTree:
        """The estimator."""
        return PrivateDecisionTree(**self._of(policy), analyst=analyst)


class Descent(_Fit):
    """Private gradient descent: on classes where the target has public keys, else on squares."""

    kind: Literal["descent"]
    delta: float
    noise_multiplier: float = 2.0
    clip: float = 1.0
    sample_rate: float = 0.1
    steps: int = Field(default=100, ge=1, le=10**7)
    learning_rate: float = 0.5
    expected_rows: int | None = Field(default=None, ge=1)
    fit_intercept: bool = True
    checkpoint_every: int = Field(default=50, ge=1)

    def model(self, policy: Policy, analyst: str) -> PrivateGradientDescent:
        """The estimator."""
        rate = Fraction(str(self.sample_rate))
        settings = {**self._settings(), "sample_rate": rate, "loss": self._loss(policy)}
        return PrivateGradientDescent(**settings, analyst=analyst)

    def _loss(self, policy: Policy) -> Loss:
        keys = _keys(policy, self.target)
        if keys is None:
            return SquaredLoss()
        return LogisticLoss(keys) if len(keys) == 2 else SoftmaxLoss(keys)


class Lecture(_Fit):
    """The lecture's way, which is not private: it is shown, and nothing is released."""

    kind: Literal["lecture"]
    rows: int = Field(default=1000, ge=2, le=10**6)

    def model(self, policy: Policy, analyst: str) -> Model:
        """There is none."""
        raise InvalidQuery(
            "The lecture's way releases nothing: its bound is wrong. Take `linear` or `ridge`."
        )


Kind = Linear | Ridge | Logistic | SupportVectors | Tree | Descent | Lecture
Fit = Annotated[Kind, Field(discriminator="kind")]
_FIT: TypeAdapter[Kind] = TypeAdapter(Fit)


def asked_fit(content: Mapping[str, Any]) -> Kind:
    """A fit from the fields of a model file's `model`. Raises `InvalidQuery`, one line per broken rule.

    >>> asked_fit({"kind": "ridge", "target": "cost", "features": ["age"], "epsilon": 1.0}).kind
    'ridge'
    """
    try:
        return _FIT.validate_python(dict(content))
    except ValidationError as error:
        raise InvalidQuery(complaints(error, "model")) from None


def _keys(policy: Policy, target: str) -> tuple[Any, ...] | None:
    known = policy.columns.get(target)
    return None if known is None or known.keys is None else tuple(known.keys)


class _Contents(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    policy: str
    data: str
    table: str | None = None
    ledger: str
    publication: Publication | None = None
    model: Fit


@dataclass(frozen=True)
class ModelFile:
    """A model file with its paths resolved; `data` is a path, or the URL of a server."""

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    fit: Kind
    edition: Edition | None = None


def load_model(path: str | Path) -> ModelFile:
    """Read a model file. Raises `InvalidQuery`, one line per broken rule."""
    path = Path(path)
    contents = read_checked(_Contents, path, InvalidQuery)
    folder = path.resolve().parent
    data, ledger = locations(folder, contents.data, contents.ledger)
    edition = None if contents.publication is None else contents.publication.edition
    return ModelFile(folder / contents.policy, data, contents.table, ledger, contents.model, edition)
