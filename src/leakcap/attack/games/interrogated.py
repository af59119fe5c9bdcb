"""A black box as an attack: what an attacker got who learned from samples, and what nobody can get."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from leakcap.attack.value import Finding
from leakcap.audit import black_box
from leakcap.bound import Bound

__all__ = ["Interrogated", "interrogate"]


@dataclass(frozen=True, kw_only=True)
class Interrogated(Finding):
    """An end that an attacker reached on fresh samples, one that nobody passes, and the truth between.

    Both ends of one finding hold with the `confidence`, whatever the system is; `without` is the most got
    without the output.
    """

    attacker: str
    confidence: float
    samples: int
    secrets: int
    outputs: int
    without: float


def interrogate(
    secrets: Sequence[Hashable], outputs: Sequence[Any], **options: Any
) -> tuple[Interrogated, Interrogated, Interrogated]:
    """`leakcap.audit.black_box` as findings: one guess, min-entropy leakage, information. It has the options.

    >>> guess, leakage, nats = interrogate([0, 1] * 500, [0, 1] * 500, prior="uniform")
    >>> guess.at_most, 0.98 < guess.got < 1.0, leakage.got < 0.69314718 < leakage.at_most
    (1.0, True, True)
    """
    found = black_box(secrets, outputs, **options)
    guesser, teller = found.attackers

    def finding(what: str, bound: Bound, attacker: str, without: float) -> Interrogated:
        return Interrogated(
            attack=f"black box, {what}",
            got=bound.lower,
            at_most=bound.upper,
            unit=bound.unit,
            stopped_by=f"the samples: the truth lies between, with confidence {found.confidence:.6g}",
            attacker=attacker,
            confidence=found.confidence,
            samples=found.samples,
            secrets=len(found.secrets),
            outputs=found.outputs,
            without=without,
        )

    return (
        finding("one guess", found.vulnerability, guesser, found.prior_vulnerability.upper),
        finding("min-entropy leakage", found.min_entropy_leakage, guesser, 0.0),
        finding("information", found.information, teller, 0.0),
    )
