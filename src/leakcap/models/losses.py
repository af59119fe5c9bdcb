"""Losses as gradients, one row at a time.

Each row's gradient depends on nothing but the row and θ, to the last bit: sums run within a row, and
exponentials are taken number by number. A matrix product, or a vectorised exponential, may round a row
differently beside other rows; after rounding to integers, a person would then move more than its own integer.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.models.reading import doubles_of
from leakcap.models.scores import accuracy, r_squared
from leakcap.models.values import Floats, label_codes

__all__ = ["CustomLoss", "LogisticLoss", "Loss", "SoftmaxLoss", "SquaredLoss"]


class Loss(ABC):
    """A loss Σ ℓ(θ; x, y): how many parameters, each row's gradient, predictions."""

    kind: ClassVar[str] = "regressor"

    remembered: ClassVar[bool] = False
    """Whether `text` says all that there is to the loss, so that a repeated fit is the same fit."""

    @property
    def text(self) -> str:
        """How the ledger calls it: with its settings, or by its kind alone where it is not remembered."""
        return repr(self) if self.remembered else type(self).__name__

    def size(self, features: int) -> int:
        """The number of parameters."""
        return features

    def encode(self, y: NDArray[Any]) -> Floats:
        """Targets as numbers, shape (rows,); NaN where a row does not count."""
        return doubles_of(y)

    def check(self, size: int) -> None:
        """Raise `InvalidParameter` for what is wrong whatever the data, before anything is paid."""
        self.encode(np.zeros(0))

    @abstractmethod
    def gradients(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """∇ℓ(θ; x, y) of each row, shape (rows, parameters), before it is clipped."""

    @abstractmethod
    def predict(self, theta: Floats, X: Floats) -> NDArray[Any]:
        """What the model says about each row, shape (rows,)."""

    def score(self, truth: NDArray[Any], predicted: NDArray[Any]) -> float:
        """R², or the share of right answers of a classifier."""
        if self.kind == "classifier":
            return accuracy(truth, predicted)
        return r_squared(np.asarray(truth, dtype=np.float64), predicted)


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """½(⟨θ,x⟩ − y)².

    >>> SquaredLoss().gradients(np.array([1.0]), np.array([[2.0]]), np.array([1.0])).tolist()
    [[2.0]]
    """

    remembered: ClassVar[bool] = True

    def gradients(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """(⟨θ,x⟩ − y)·x of each row, shape (rows, parameters)."""
        return np.asarray((_margins(theta, X) - y)[:, None] * X)

    def predict(self, theta: Floats, X: Floats) -> NDArray[Any]:
        """⟨θ,x⟩ of each row."""
        return np.asarray(X @ theta)


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """ln(1 + e^{∓⟨θ,x⟩}) for two public classes.

    >>> LogisticLoss().gradients(np.zeros(1), np.array([[2.0]]), np.array([1.0])).tolist()
    [[-1.0]]
    """

    kind: ClassVar[str] = "classifier"
    remembered: ClassVar[bool] = True

    classes: Sequence[Any] = (0, 1)

    def encode(self, y: NDArray[Any]) -> Floats:
        """0 for the first class, 1 for the second, NaN for any other label."""
        return label_codes(y, self.classes)

    def gradients(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """(1/(1 + e^{−⟨θ,x⟩}) − y)·x of each row, shape (rows, parameters)."""
        margins = _margins(theta, X)
        small = _each_exp(-np.abs(margins))
        share = np.where(margins > 0, 1.0, small) / (1.0 + small)
        return np.asarray((share - y)[:, None] * X)

    def predict(self, theta: Floats, X: Floats) -> NDArray[Any]:
        """The more probable class of each row."""
        return np.asarray(np.array(self.classes)[(X @ theta > 0).astype(int)])


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """−ln of the softmax probability of the right one of several public classes.

    >>> SoftmaxLoss((0, 1, 2)).gradients(np.zeros(3), np.array([[3.0]]), np.array([0.0])).round(9).tolist()
    [[-2.0, 1.0, 1.0]]
    """

    kind: ClassVar[str] = "classifier"
    remembered: ClassVar[bool] = True

    classes: Sequence[Any] = (0, 1)

    def size(self, features: int) -> int:
        """A weight for each class and feature."""
        return len(self.classes) * features

    def encode(self, y: NDArray[Any]) -> Floats:
        """The place of each label among the classes, NaN for any other label."""
        return label_codes(y, self.classes)

    def _scores(self, theta: Floats, X: Floats) -> Floats:
        weights = theta.reshape(len(self.classes), -1)
        return np.column_stack([_margins(row, X) for row in weights])

    def gradients(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """(p − e_y) ⊗ x of each row, p the softmax probabilities: shape (rows, classes·features)."""
        scores = self._scores(theta, X)
        powers = _each_exp(scores - scores.max(axis=1, keepdims=True))
        share = np.ascontiguousarray(powers / powers.sum(axis=1, keepdims=True))
        share[np.arange(y.size), y.astype(np.int64)] -= 1.0
        return np.asarray((share[:, :, None] * X[:, None, :]).reshape(X.shape[0], theta.size))

    def predict(self, theta: Floats, X: Floats) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(np.array(self.classes)[self._scores(theta, X).argmax(axis=1)])


@dataclass(frozen=True)
class CustomLoss(Loss):
    """A loss by its gradient for one row: (θ, x, y) → ∇ℓ. It is called row by row, which is slow and safe.

    It is tried on zeros before a fit is paid. A row at which it fails later counts as nothing, without a
    word: the error would tell that there is such a row.

    >>> absolute = CustomLoss(lambda theta, x, y: np.sign(x @ theta - y) * x, lambda theta, X: X @ theta)
    >>> absolute.gradients(np.zeros(1), np.array([[2.0]]), np.array([1.0])).tolist()
    [[-2.0]]
    """

    gradient: Callable[[Floats, Floats, float], Floats]
    prediction: Callable[[Floats, Floats], NDArray[Any]]

    def check(self, size: int) -> None:
        """Try the gradient on zeros."""
        tried = np.shape(self._quietly(np.zeros(size), np.zeros(size), 0.0))
        rule = f"give one number for each of {size} parameters"
        require(tried == (size,), "gradient", "CustomLoss", rule, f"shape {tried}")

    def gradients(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """One call for each row; NaN where it fails."""
        found = np.full((X.shape[0], theta.size), np.nan)
        for i in range(X.shape[0]):
            with suppress(Exception):
                found[i] = self._quietly(theta.copy(), X[i].copy(), float(y[i]))
        return found

    def _quietly(self, theta: Floats, x: Floats, y: float) -> Floats:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.gradient(theta, x, y)

    def predict(self, theta: Floats, X: Floats) -> NDArray[Any]:
        """What the given function says."""
        return self.prediction(theta, X)


def _margins(theta: Floats, X: Floats) -> Floats:
    return np.asarray((np.ascontiguousarray(X) * theta).sum(axis=1))


def _each_exp(values: Floats) -> Floats:
    flat = [math.exp(value) if value < 700.0 else math.inf for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)
