"""Refinement without its factorisation."""

from __future__ import annotations

import numpy as np

from leakcap.numeric.columns_solved import ColumnFactors


class Blind(ColumnFactors):
    """Singular values that see nothing: what is left is the linear program alone, the second route."""

    def weights(self, targets: np.ndarray) -> np.ndarray:
        return np.zeros((len(self.live), targets.shape[1]))

    def resisting(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.zeros_like(targets)

    def reflected(self, targets: np.ndarray, close: float) -> tuple[np.ndarray, None]:
        return self.weights(targets), None
