"""What every model has in common: parameters by name, fitted attributes, scikit-learn's manners.

Nothing of scikit-learn is imported. A clone keeps the ledger of its original and spends from it.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import InvalidInput, InvalidParameter, NotFitted
from leakcap.models.reading import features_of
from leakcap.models.values import Floats

__all__ = ["Estimator", "Floats"]


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
        # These rows are public or one's own, so that an error may speak of them.
        rows = features_of(np.asarray(X) if isinstance(X, list | tuple) else X, type(self).__name__)
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
