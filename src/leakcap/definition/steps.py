"""Routes through the implication graph, step by step, as values that print themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from leakcap.certificate import certificate_of
from leakcap.definition.base import Definition
from leakcap.definition.graph import Implication
from leakcap.definition.proofs import proof_of_step

__all__ = ["Route", "Step"]

T = TypeVar("T", bound=Definition)


@dataclass(frozen=True)
class Step:
    """One edge of a route with what went in and what came out."""

    edge: Implication
    source: Definition
    target: Definition

    def certificate(self) -> dict[str, Any]:
        """That the target's number is no less than what the source implies: JSON for `leakcap-verify`.

        >>> from leakcap.definition import KLDP, PureDP, route
        >>> route(PureDP(1.0), KLDP).steps[0].certificate()["problem"]["edge"]
        'pure_to_kl'
        """
        proof, claimed = proof_of_step(self.edge.name, self.source, self.target)
        unit = "nats" if proof is None else proof.unit
        claim = (0.0, claimed if proof is not None else float("inf"))
        return certificate_of(proof, claim, unit=unit, method=self.edge.formula, source=self.edge.citation)

    def __str__(self) -> str:
        """The step as a person reads it."""
        tight = f"\n      attained by {self.edge.attained_by}" if self.edge.tight else ""
        return f"{self.source!r} ⇒ {self.target!r}\n      {self.edge.formula}  [{self.edge.citation}]{tight}"


@dataclass(frozen=True)
class Route(Generic[T]):
    """The steps from a guarantee to what follows from it; `str` prints them with their citations."""

    source: Definition
    target: T
    steps: tuple[Step, ...]

    @property
    def tight(self) -> bool:
        """Whether the value is attained by some mechanism: one tight step (none for the same guarantee)."""
        return len(self.steps) == 0 or (len(self.steps) == 1 and self.steps[0].edge.tight)

    @property
    def citations(self) -> tuple[str, ...]:
        """The sources of the steps, in order."""
        return tuple(step.edge.citation for step in self.steps)

    def __str__(self) -> str:
        """Numbered steps."""
        lines = [f"{i}. {step}" for i, step in enumerate(self.steps, start=1)]
        return "\n".join([f"{self.source!r} implies {self.target!r}", *lines])
