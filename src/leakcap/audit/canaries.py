"""One run of a training algorithm, audited by canaries that were in or out by a fair coin each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakcap.audit.pilot import GuessedCanaries, guessed_canaries, read_canaries
from leakcap.audit.right_guesses import approximate_reverse
from leakcap.audit.tails import binomial_tail, log_odds_lower, logistic, masses_below
from leakcap.audit.value import Verdict
from leakcap.bound import Bound
from leakcap.definition import ApproxDP, Definition, PureDP
from leakcap.errors import require

__all__ = ["CanaryAudit", "audit_canaries", "canary_p_value"]

_MOST_EPSILON = 30.0
"""Beyond this e^ε/(1 + e^ε) is one, to a double."""


@dataclass(frozen=True)
class CanaryAudit:
    """What one run gave away about which canaries were in: a lower bound on its ε at the given δ."""

    epsilon: Bound
    delta: float
    canaries: int
    guesses: int
    right: int
    confidence: float
    claim: Definition | None = None
    verdict: Verdict | None = None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "epsilon": self.epsilon.lower,
            "delta": self.delta,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "confidence": self.confidence,
            "claim": None if self.claim is None else repr(self.claim),
            "verdict": None if self.verdict is None else str(self.verdict),
            "needed": self.needed,
        }


def canary_p_value(*, canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """The chance, at most, of so many right guesses when training is (ε, δ)-DP.

    P(W ≥ v) + 2mδ·max_i P(v > W ≥ v − i)/i for W ~ Bin(r, e^ε/(1+e^ε)), m canaries, r guesses, v right ones.
    The guesses may depend on the whole output. Source: Steinke, Nasr & Jagielski 2023, theorem 5.2.

    >>> round(canary_p_value(canaries=10, guesses=2, right=2, epsilon=0.0), 6)
    0.25
    """
    ordered = 0 <= right <= guesses <= canaries
    require(
        ordered, "right", "canary_p_value", "be 0 ≤ right ≤ guesses ≤ canaries", (right, guesses, canaries)
    )
    require(epsilon >= 0, "epsilon", "canary_p_value", "be ≥ 0", epsilon)
    require(0 <= delta <= 1, "delta", "canary_p_value", "be a probability in [0, 1]", delta)
    chance = logistic(epsilon)
    plain = binomial_tail(right, guesses, chance)
    if delta == 0.0 or right == 0:
        return plain
    below = np.cumsum(masses_below(right, guesses, chance))
    slope = float((below / np.arange(1, len(below) + 1)).max())
    return min(1.0, plain + 2.0 * canaries * delta * slope)


def audit_canaries(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    claim: PureDP | ApproxDP | None = None,
    delta: float | None = None,
    guesses: int | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.1,
    seed: int = 0,
) -> CanaryAudit:
    """Audit a single training run: each canary was in the training set by an independent fair coin.

    `scores` are what the attacker computes of each canary from the trained model (high for what seems to have
    been in), without knowing `included`. The `guesses`/2 highest are guessed in, the lowest out; without
    `guesses` a tenth of the canaries, drawn by `seed`, settles their number, and the bound comes from the
    others. Neighbours are training sets in which one canary is in or out.

    `delta` is the claim's unless given. The bound is the better of two on the same chance: theorem 5.2 of
    Steinke, Nasr & Jagielski 2023, and the recursion of Mahloujifar, Melis & Chaudhuri 2024 for (ε, δ).

    >>> coins = np.random.default_rng(0)
    >>> inside = coins.random(1000) < 0.5
    >>> audit_canaries(inside + 0.5 * coins.normal(size=1000), inside).epsilon.lower > 1.5
    True
    """
    seen = read_canaries(scores, included, "audit_canaries")
    require(0 < confidence < 1, "confidence", "audit_canaries", "lie strictly between 0 and 1", confidence)
    given = getattr(claim, "delta", 0.0) if delta is None else delta
    require(0 <= given <= 1, "delta", "audit_canaries", "be a probability in [0, 1]", given)
    level = 1.0 - confidence
    found = guessed_canaries(
        seen, guesses, lambda each: _least_epsilon(each, given, level, 0.02), np.random.default_rng(seed)
    )
    lower = _least_epsilon(found, given, level)
    verdict, needed = _judged(claim, lower, found.right, found.guesses, level, len(seen), tolerance)
    bound = Bound(lower, math.inf, "one run with canaries", "Steinke, Nasr & Jagielski 2023")
    return CanaryAudit(
        bound, given, found.canaries, found.guesses, found.right, confidence, claim, verdict, needed
    )


def _least_epsilon(found: GuessedCanaries, delta: float, level: float, width: float = 1e-9) -> float:
    """The largest ε that so many right guesses refute, by either bound of their chance.

    For δ = 0 the first is the chance itself.
    """

    def excess(epsilon: float) -> float:
        chance = canary_p_value(
            canaries=found.canaries,
            guesses=found.guesses,
            right=found.right,
            epsilon=epsilon,
            delta=delta,
        )
        return chance - level

    def beyond(epsilon: float) -> bool:
        if excess(epsilon) < 0.0:
            return True
        return delta > 0.0 and found.refute(approximate_reverse(epsilon, delta), level)

    if not beyond(0.0):
        return 0.0
    if beyond(_MOST_EPSILON):
        return _MOST_EPSILON
    low, high = 0.0, _MOST_EPSILON
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return low


def _judged(
    claim: PureDP | ApproxDP | None,
    lower: float,
    right: int,
    size: int,
    level: float,
    total: int,
    tolerance: float,
) -> tuple[Verdict | None, int | None]:
    if claim is None:
        return None, None
    if lower > claim.epsilon:
        return Verdict.VIOLATED, None
    upper = -log_odds_lower(size - right, size, level)
    allowed = claim.epsilon * (1.0 + tolerance)
    if upper <= allowed:
        return Verdict.CONSISTENT, None
    estimate = math.log((right + 0.5) / (size - right + 0.5))
    gap = max(estimate - claim.epsilon, allowed - estimate)
    width = max(min(upper, 2 * _MOST_EPSILON) - estimate, estimate - lower)
    factor = 1e6 if gap <= 0 else min(max(2.3 * (width / gap) ** 2, 1.25), 1e6)
    return Verdict.UNDECIDED, math.ceil(total * factor)
