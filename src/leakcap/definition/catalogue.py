"""All edges of the implication graph: whoever asks for them here has every file of theorems imported."""

from __future__ import annotations

from leakcap.definition import theorems  # noqa: F401 (each file of it enrols its edges)
from leakcap.definition.base import Definition
from leakcap.definition.graph import Implication, enrolled
from leakcap.errors import InvalidParameter

__all__ = ["edges", "implications"]


def edges() -> tuple[Implication, ...]:
    """All edges of the graph.

    >>> from leakcap.definition import edges
    >>> len(edges()) > 70
    True
    """
    return enrolled()


def implications(source: type[Definition], target: type[Definition] | None = None) -> tuple[Implication, ...]:
    """All edges from `source`, or those from `source` to `target`; looser published ones come last.

    >>> from leakcap.definition import MIDP, PureDP, implications
    >>> for edge in implications(PureDP, MIDP):
    ...     print(round(edge(PureDP(1.0), values=2).nats, 4), edge.citation.split(",")[0])
    0.1233 Dong
    0.1109 Kairouz
    0.4621 Cuff & Yu 2016
    """
    for kind in (source, target):
        if kind is not None and not (isinstance(kind, type) and issubclass(kind, Definition)):
            raise InvalidParameter(f"`implications` must be asked between definitions. Got {kind!r}.")
    found = [e for e in enrolled() if e.source is source and target in (None, e.target)]
    return tuple(sorted(found, key=lambda e: e.loose))
