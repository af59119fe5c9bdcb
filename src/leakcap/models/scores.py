"""How good a prediction is, on data that need no protection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.models.values import Floats

__all__ = ["accuracy", "r_squared"]


def r_squared(truth: Floats, predicted: Floats) -> float:
    """1 − Σ(y − ŷ)²/Σ(y − ȳ)²; 0 where y does not vary.

    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    1.0
    """
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread > 0.0 else 0.0


def accuracy(truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """The share of right answers.

    >>> accuracy(np.array([1, 0]), np.array([1, 1]))
    0.5
    """
    return float(np.mean(truth == predicted))
