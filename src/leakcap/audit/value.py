"""What an audit finds: certified lower bounds, the evidence, and a verdict on a claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from leakcap.bound import Bound
from leakcap.cards import card, interval
from leakcap.definition import Definition
from leakcap.errors import require

__all__ = ["Audit", "CurvePoint", "Evidence", "Judgement", "Verdict"]


class Verdict(StrEnum):
    """What the samples say about a claim."""

    VIOLATED = "violated"
    """The certified lower bound exceeds the claim."""
    CONSISTENT = "consistent"
    """The most telling event found stays, with the same confidence, within the claim and its tolerance.

    That is no proof: another event or another pair of inputs may tell more.
    """
    UNDECIDED = "not enough samples to tell"


@dataclass(frozen=True)
class Evidence:
    """An event, and how often it came under each input among the certifying samples."""

    event: str
    speaks_for: str
    first: int
    second: int
    first_runs: int
    second_runs: int

    def __str__(self) -> str:
        """As a person reads it."""
        return (
            f"{self.event}: {self.first:,} of {self.first_runs:,} runs on the first input, "
            f"{self.second:,} of {self.second_runs:,} on the second"
        )


@dataclass(frozen=True)
class CurvePoint:
    """An event with P(event) ≥ `likely` under one input and ≤ `unlikely` under the other."""

    likely: float
    unlikely: float
    evidence: Evidence


@dataclass(frozen=True)
class Judgement:
    """A claim, what was certified against it, and the verdict.

    `floor` ≤ what the chosen event shows ≤ `ceiling`, each end with the audit's confidence. `needed`: about
    how many samples a side would tell, where these do not.
    """

    claim: Definition
    quantity: str
    claimed: float
    floor: float
    ceiling: float
    verdict: Verdict
    needed: int | None = None

    def __str__(self) -> str:
        """One sentence."""
        more = f"; about {self.needed:,} samples a side would be" if self.needed else ""
        return (
            f"{self.claim!r} is {self.verdict}: {self.quantity} of the event found lies in "
            f"[{self.floor:.4g}, {self.ceiling:.4g}], the claim is {self.claimed:.4g}{more}"
            if self.verdict is not Verdict.UNDECIDED
            else f"{self.claim!r}: {self.verdict}{more} ({self.quantity} lies in "
            f"[{self.floor:.4g}, {self.ceiling:.4g}], the claim is {self.claimed:.4g})"
        )


@dataclass(frozen=True)
class Audit:
    """Lower bounds on what a pair of inputs leaks, each alone with probability `confidence` over the runs.

    `epsilon`: the ε of pure DP. `information`: Shannon capacity of the channel from the binary secret, which
    MI-DP caps. `maximal_leakage`: ln(1 + total variation). All three are intervals that samples cannot close
    from above: the upper end is what a pair can leak at most. `curve` holds for all ε together.
    """

    epsilon: Bound
    information: Bound
    maximal_leakage: Bound
    curve: tuple[CurvePoint, ...]
    evidence: tuple[Evidence, ...]
    confidence: float
    samples: tuple[int, int]
    failures: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    judgement: Judgement | None = None
    looks: int = 1
    pair: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def verdict(self) -> Verdict | None:
        """On the claim; None without a claim."""
        return None if self.judgement is None else self.judgement.verdict

    def delta(self, epsilon: float) -> float:
        """A lower bound on δ(ε); with the audit's confidence, for all ε at once."""
        require(epsilon >= 0, "epsilon", "Audit.delta", "be ≥ 0", epsilon)
        factor = math.exp(min(epsilon, 700.0))
        return max([0.0, *(point.likely - factor * point.unlikely for point in self.curve)])

    def epsilon_at(self, delta: float) -> float:
        """A lower bound on ε at a given δ; with the audit's confidence, for all δ at once."""
        require(0 <= delta <= 1, "delta", "Audit.epsilon_at", "be a probability in [0, 1]", delta)
        ratios = [(p.likely - delta) / p.unlikely for p in self.curve if p.likely > delta and p.unlikely > 0]
        return max([0.0, *(math.log(ratio) for ratio in ratios)])

    def _repr_html_(self) -> str:
        """The certified bounds and the verdict as a notebook shows them."""
        shown = {
            "ε (pure DP)": self.epsilon,
            "information (MI-DP)": self.information,
            "maximal leakage": self.maximal_leakage,
        }
        rows = [(name, interval(bound.lower, math.inf, "nats")) for name, bound in shown.items()]
        runs = f"{self.samples[0]:,} and {self.samples[1]:,} runs; confidence {self.confidence:g} each"
        return card("Audit", rows, note=runs if self.judgement is None else f"{self.judgement}. {runs}")
