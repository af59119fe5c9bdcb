"""What every model has in common: parameters by name, fitted attributes, scikit-learn's manners.

Nothing of scikit-learn is imported. A clone keeps the ledger of its original and spends from it.
"""

from __future__ import annotations

import inspect
import math
import sys
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidInput, InvalidParameter, NotFitted

__all__ = ["Estimator", "Floats", "doubles_of", "numbers_of", "table_of", "targets_of"]

Floats = NDArray[np.float64]


class Estimator:
    """A model whose `__init__` only keeps its parameters and whose `fit` pays."""

    kind: ClassVar[str] = "regressor"
    """``regressor`` or ``classifier``, in scikit-learn's words."""

    n_features_in_: int

    def _kind(self) -> str:
        return self.kind

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. No model holds another, so that `deep` changes nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they count from the next `fit`."""
        for name, value in params.items():
            if name not in self._names():
                raise InvalidParameter(
                    f"Invalid parameter `{name}` of `{type(self).__name__}`. "
                    f"It has: {', '.join(self._names())}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The parameters that differ from their defaults; never the ledger."""
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in ("ledger", "policy", "source") and value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_clone__(self) -> Self:
        """An unfitted twin with the same ledger: what it fits is paid from there too."""
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` returned."""
        return "n_features_in_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know; it is loaded when it asks."""
        utils = sys.modules["sklearn.utils"]
        tags = utils.Tags(
            estimator_type=self._kind(),
            target_tags=utils.TargetTags(required=True),
            regressor_tags=utils.RegressorTags(poor_score=True) if self._kind() == "regressor" else None,
            classifier_tags=utils.ClassifierTags(poor_score=True) if self._kind() == "classifier" else None,
        )
        tags.non_deterministic = True
        return tags

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"`{type(self).__name__}` is not fitted yet. Call `fit` first.")

    def _inputs(self, X: ArrayLike) -> Floats:
        """What to predict for: as many features as were fitted."""
        self._require_fitted()
        rows = table_of(X, type(self).__name__)
        if rows.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return rows


def _not_fitted() -> type[NotFitted]:
    """Our error; where scikit-learn is in use, one that is its error too."""
    theirs = sys.modules.get("sklearn.exceptions")
    return NotFitted if theirs is None else type("NotFitted", (NotFitted, theirs.NotFittedError), {})


def table_of(X: ArrayLike, owner: str) -> Floats:
    """`X` as a matrix of doubles with a row for each example. NaN and ±∞ stay: see `complete`.

    >>> table_of([[1, 2], [3, 4]], "LinearRegression").shape
    (2, 2)
    """
    if hasattr(X, "tocsr"):
        raise InvalidInput(f"`{owner}` reads no sparse matrix: clamping would fill it. Give a dense one.")
    raw = np.asarray(X)
    if np.iscomplexobj(raw):
        raise InvalidInput(f"Complex data not supported by `{owner}`.")
    if raw.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {raw.ndim}D array instead in `{owner}`. Reshape your data: one row for "
            "each example."
        )
    if raw.dtype.kind not in "biufOUS":
        raise InvalidInput(f"`X` of `{owner}` must hold numbers. Got an array of {raw.dtype}.")
    rows = doubles_of(raw)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InvalidInput(
            f"Found array with {rows.shape[0]} sample(s) and {rows.shape[1]} feature(s) "
            f"(shape={rows.shape}) while a minimum of 1 is required by `{owner}`."
        )
    return rows


def doubles_of(raw: NDArray[Any]) -> Floats:
    """The array in doubles, row after row in memory: a row is then computed alike whatever the others are.

    An error would tell that somebody's value is no number: it counts as missing, which is NaN.

    >>> doubles_of(np.array(["2", "?"])).tolist()
    [2.0, nan]
    """
    if raw.dtype.kind in "OUS":
        numbers = [_number(value) for value in raw.ravel().tolist()]
        raw = np.array(numbers, dtype=np.float64).reshape(raw.shape)
    return np.ascontiguousarray(raw, dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # whatever a person's own object raises, its row must not be told from others
        return math.nan


def targets_of(y: ArrayLike | None, rows: int, owner: str) -> NDArray[Any]:
    """`y` as a vector with as many entries as there are rows.

    >>> targets_of([1, 2], 2, "LinearRegression").tolist()
    [1, 2]
    """
    if y is None:
        raise InvalidInput(f"`{owner}` requires y to be passed, but the target y is None.")
    targets = np.asarray(y)
    if np.iscomplexobj(targets):
        raise InvalidInput(f"Complex data not supported by `{owner}`.")
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1:
        raise InvalidInput(f"y should be a 1d array, got an array of shape {targets.shape} in `{owner}`.")
    if targets.shape[0] != rows:
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples in `{owner}`: {rows} rows of X "
            f"and {targets.shape[0]} of y."
        )
    return targets


def numbers_of(y: NDArray[Any], owner: str) -> Floats:
    """Targets as doubles; NaN stands for what is no number.

    >>> numbers_of(np.array(["2", "?"]), "LinearRegression").tolist()
    [2.0, nan]
    """
    return table_of(y[:, None], owner)[:, 0]
