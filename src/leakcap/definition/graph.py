"""The implication graph: an edge is a formula, its source, and what attains it."""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from leakcap.definition.base import Definition

__all__ = ["FACTS", "Implication", "enrolled", "implies"]

Rule = Callable[..., Definition | None]

FACTS: Mapping[str, str] = {
    "values": "the number of values of the record (for a capacity: or of outputs, if they are fewer)",
}
"""Keywords that state a fact about the setting. A bound that does not use a fact still holds."""

ROUNDED = 5e-15
"""The relative error of an ordinary rule's double: a dozen correctly rounded steps, several times over."""

_EDGES: list[Implication] = []


@dataclass(frozen=True)
class Implication:
    """One edge: every channel that keeps `source` keeps the `target` that `rule` computes.

    `attained_by` names the mechanism or channel for which the value is exact (for a limit it names the
    limit); it is empty where the best constant is not known. A `loose` edge is a published bound that
    another edge sharpens: it is listed beside it, and routes do not take it. A rule returns None where
    it says nothing. What it returns is raised by `error`, the relative error of its double; that is zero
    for a rule that copies a number or rounds up by itself.
    """

    source: type[Definition]
    target: type[Definition]
    rule: Rule
    formula: str
    citation: str
    attained_by: str
    loose: bool
    error: float
    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def tight(self) -> bool:
        """Whether some mechanism attains the value."""
        return bool(self.attained_by)

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.__name__

    @property
    def keywords(self) -> tuple[str, ...]:
        """All free parameters that the rule takes."""
        return self.required + self.optional

    def __call__(self, source: Definition, **free: Any) -> Definition | None:
        """The implied guarantee, None where the edge says nothing; facts that it does not use are ignored."""
        known = {k: v for k, v in free.items() if k not in FACTS or k in self.keywords}
        found = self.rule(source, **known)
        return found if found is None or self.error == 0.0 else _raised(found, known, self.error)

    def __str__(self) -> str:
        """One line: from, to, formula, citation, and what attains it."""
        tight = f"; attained by {self.attained_by}" if self.tight else ""
        return f"{self.source.__name__} → {self.target.__name__}: {self.formula} [{self.citation}{tight}]"


def _raised(found: Definition, given: Mapping[str, Any], error: float) -> Definition:
    """The same guarantee with its one computed number made larger by a relative error."""
    (name,) = (f.name for f in fields(found) if not f.kw_only and f.name not in given)
    value: float = getattr(found, name)
    if not 0.0 < value < math.inf:
        return found
    raised = max(value * (1.0 + error), math.nextafter(value, math.inf))
    changed: dict[str, Any] = {name: min(raised, 1.0) if name == "delta" else raised}
    return replace(found, **changed)


def implies(
    *, formula: str, citation: str, attained_by: str = "", loose: bool = False, error: float = ROUNDED
) -> Callable[[Rule], Rule]:
    """Enrol a rule as an edge of the graph.

    Source and target are read from its annotations, free parameters from its keyword-only ones.
    """

    def enrol(rule: Rule) -> Rule:
        hints = typing.get_type_hints(rule)
        parameters = list(inspect.signature(rule).parameters.values())
        target = next(
            t for t in (typing.get_args(hints["return"]) or (hints["return"],)) if t is not type(None)
        )
        free = [p for p in parameters[1:] if p.kind is p.KEYWORD_ONLY]
        required = tuple(p.name for p in free if p.default is p.empty)
        optional = tuple(p.name for p in free if p.default is not p.empty)
        source = hints[parameters[0].name]
        _EDGES.append(
            Implication(
                source, target, rule, formula, citation, attained_by, loose, error, required, optional
            )
        )
        return rule

    return enrol


def target_fields(target: type[Definition]) -> frozenset[str]:
    """Names of the target's own fields, which a caller may fix by keyword."""
    return frozenset(f.name for f in fields(target)) - {"neighbours"}


def enrolled() -> tuple[Implication, ...]:
    """The edges of the files that were imported so far; all of them are `leakcap.definition.edges()`."""
    return tuple(_EDGES)
