"""Which steps between guarantees a checker can prove, and what it needs to know of each.

A step to the ε at a given δ is stated as the δ at the ε that was found: the formula is in closed form there.
"""

from __future__ import annotations

from typing import Any

from leakcap.certificate import Proof
from leakcap.definition.base import Definition

__all__ = ["proof_of_step"]

_FIELDS: dict[str, dict[str, str]] = {
    "pure_to_kl": {"epsilon": "source.epsilon", "": "nats"},
    "pure_to_zcdp": {"epsilon": "source.epsilon", "": "rho"},
    "pure_to_mi": {"epsilon": "source.epsilon", "": "nats"},
    "pure_to_renyi": {"epsilon": "source.epsilon", "alpha": "target.alpha", "": "epsilon"},
    "gaussian_to_zcdp": {"mu": "source.mu", "": "rho"},
    "gaussian_to_renyi": {"mu": "source.mu", "alpha": "target.alpha", "": "epsilon"},
    "zcdp_to_renyi": {"rho": "source.rho", "alpha": "target.alpha", "": "epsilon"},
    "pure_to_delta": {"epsilon": "source.epsilon", "": "delta"},
    "pure_to_delta_at": {"epsilon": "source.epsilon", "at": "target.epsilon", "": "delta"},
    "gaussian_to_delta_at": {"mu": "source.mu", "at": "target.epsilon", "": "delta"},
    "renyi_to_delta_at": {
        "alpha": "source.alpha",
        "epsilon": "source.epsilon",
        "at": "target.epsilon",
        "": "delta",
    },
}
"""Of each edge that the checker knows: its numbers, and under "" the target's field that is claimed."""

_SAME = {
    "pure_to_epsilon_at": "pure_to_delta_at",
    "gaussian_to_epsilon_at": "gaussian_to_delta_at",
    "renyi_to_epsilon_at": "renyi_to_delta_at",
    "renyi_to_delta_published": "renyi_to_delta_at",
}


def proof_of_step(name: str, source: Definition, target: Definition) -> tuple[Proof | None, float]:
    """What a checker has to know, None where it knows no such edge, and the number that is claimed.

    >>> from leakcap.definition import KLDP, PureDP
    >>> proof_of_step("pure_to_kl", PureDP(1.0), KLDP(0.5))[1]
    0.5
    """
    fields = _FIELDS.get(_SAME.get(name, name))
    # One order's sharper δ has no closed form: it is stated, and not proved.
    if fields is None or name == "renyi_to_delta_at" or not _above_one(source, target):
        return None, 0.0
    sides = {"source": source, "target": target}
    given: dict[str, Any] = {"edge": _SAME.get(name, name)}
    for one, place in fields.items():
        if one:
            side, _, field = place.partition(".")
            given[one] = float(getattr(sides[side], field))
    kind = "conversion-delta" if fields[""] == "delta" else "conversion"
    return Proof(kind, given), float(getattr(target, fields[""]))


def _above_one(source: Definition, target: Definition) -> bool:
    """Whether orders, where there are any, are above one and finite."""
    return all(1.0 < getattr(one, "alpha", 2.0) < float("inf") for one in (source, target))
