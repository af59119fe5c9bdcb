"""One run of a training whose trade-off curve is claimed to be Gaussian, audited by canaries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakcap.audit.pilot import GuessedCanaries, guessed_canaries, read_canaries
from leakcap.audit.right_guesses import gaussian_reverse
from leakcap.audit.value import Verdict
from leakcap.bound import Bound
from leakcap.definition import ApproxDP, GaussianDP, convert
from leakcap.errors import require

__all__ = ["GaussianCanaryAudit", "audit_gaussian_canaries"]

_MOST_MU = 40.0


@dataclass(frozen=True)
class GaussianCanaryAudit:
    """What one run gave away about which canaries were in: a lower bound on the μ of Gaussian DP.

    The training is not μ-GDP for any μ below `mu.lower`, with the stated confidence. That is no bound on the
    ε of (ε, δ)-DP, for which a training that is (1, 0)-DP is no better than Gaussian with an ε(10⁻⁵) above 4.
    `audit_canaries` gives one.
    """

    mu: Bound
    canaries: int
    guesses: int
    right: int
    confidence: float
    claim: GaussianDP | None = None
    verdict: Verdict | None = None

    def epsilon_if_gaussian(self, delta: float) -> float:
        """ε(δ) of the μ that is certified: a lower bound of the training's only if its curve is Gaussian.

        >>> found = GaussianCanaryAudit(Bound(1.0, math.inf, "example"), 100, 50, 50, 0.95)
        >>> round(found.epsilon_if_gaussian(1e-5), 3)
        4.377
        """
        if self.mu.lower <= 0.0:
            return 0.0
        return convert(GaussianDP(self.mu.lower), ApproxDP, delta=delta).epsilon * (1.0 - 1e-6)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mu": self.mu.lower,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "confidence": self.confidence,
            "claim": None if self.claim is None else repr(self.claim),
            "verdict": None if self.verdict is None else str(self.verdict),
        }


def audit_gaussian_canaries(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    claim: GaussianDP | None = None,
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> GaussianCanaryAudit:
    """The least μ for which a single training run can have been μ-GDP, from canaries by fair coins.

    `scores` and `included` as in `audit_canaries`. The guesses are the highest and the lowest scores, half of
    `guesses` each; without `guesses` a tenth of the canaries, drawn by `seed`, settles their number, and the
    bound comes from the others. Source: Mahloujifar, Melis & Chaudhuri 2024; proof in
    docs/theory/black-boxes.md.

    >>> coins = np.random.default_rng(0)
    >>> inside = coins.random(1000) < 0.5
    >>> audit_gaussian_canaries(4.0 * inside + coins.normal(size=1000), inside).mu.lower > 1.5
    True
    """
    seen = read_canaries(scores, included, "audit_gaussian_canaries")
    require(
        0 < confidence < 1,
        "confidence",
        "audit_gaussian_canaries",
        "lie strictly between 0 and 1",
        confidence,
    )
    level = 1.0 - confidence
    found = guessed_canaries(
        seen, guesses, lambda each: _least_mu(each, level, 0.01), np.random.default_rng(seed)
    )
    lower = _least_mu(found, level)
    verdict = None
    if claim is not None:
        verdict = Verdict.VIOLATED if lower > claim.mu else Verdict.UNDECIDED
    bound = Bound(
        lower,
        math.inf,
        "one run with canaries",
        "Mahloujifar, Melis & Chaudhuri 2024",
        unit="standard deviations",
    )
    return GaussianCanaryAudit(bound, found.canaries, found.guesses, found.right, confidence, claim, verdict)


def _least_mu(found: GuessedCanaries, level: float, width: float = 1e-7) -> float:
    """The largest μ that so many right guesses refute; zero if none."""

    def refuted(mu: float) -> bool:
        return found.refute(gaussian_reverse(mu), level)

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high) and high < _MOST_MU:
        low, high = high, 2.0 * high
    while high - low > width * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
