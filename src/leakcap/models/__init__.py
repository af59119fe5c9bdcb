"""Models whose fit is a private release: paid from a ledger before any noise is drawn.

    LinearRegression            noisy second moments; a table's in one aggregate of its engine
    RidgeRegression             output perturbation with the right sensitivity
    LogisticRegression          objective perturbation, inexact minima accounted for
    LinearSVC                   the same with a smooth hinge
    PrivateDecisionTree         thresholds chosen from noisy counts
    PrivateGradientDescent      clipped gradients on Poisson samples; its guarantee is a `RenyiCurve`
    SquaredLoss, LogisticLoss, SoftmaxLoss, CustomLoss      what it descends on
    noise_multiplier_for        from (ε, δ) to its noise
    lecture                     a bound that does not hold, shown; it releases nothing

They follow scikit-learn's estimator interface without needing it. See `docs/models.md`.
"""

from __future__ import annotations

from leakcap.models import lecture
from leakcap.models.curve import RenyiCurve, noise_multiplier_for
from leakcap.models.descent import PrivateGradientDescent
from leakcap.models.linear import LinearRegression
from leakcap.models.logistic import LogisticRegression
from leakcap.models.losses import CustomLoss, LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from leakcap.models.output import RidgeRegression
from leakcap.models.svm import LinearSVC
from leakcap.models.tree import PrivateDecisionTree

__all__ = [
    "CustomLoss",
    "LinearRegression",
    "LinearSVC",
    "LogisticLoss",
    "LogisticRegression",
    "Loss",
    "PrivateDecisionTree",
    "PrivateGradientDescent",
    "RenyiCurve",
    "RidgeRegression",
    "SoftmaxLoss",
    "SquaredLoss",
    "lecture",
    "noise_multiplier_for",
]
