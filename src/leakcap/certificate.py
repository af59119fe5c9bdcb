"""Certificates: what a bound claims, of what, and what proves it, as JSON that others check.

`leakcap_verify`, a file of its own beside the package that imports nothing of it, says of each whether it is
proved. Numbers are written exactly: doubles in hex, fractions as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["FORMULAS", "Proof", "bundle", "certificate_of", "exactly"]

_PROBABILITIES = ("hockey-finite", "refines", "conversion-delta", "delta-composed")
SCHEMA = "leakcap.certificate/1"
_ENTRIES = 1 << 20
"""Of a channel that a certificate holds; that of a larger one is only stated."""

FORMULAS: Mapping[str, str] = {
    "ratio": "ln max_{x,x',y} P(y|x)/P(y|x')",
    "hockey-finite": "max_{x,x'} Σ_y (P(y|x) − γ P(y|x'))₊",
    "renyi-finite": "max_{x,x'} D_α(P(·|x) ‖ P(·|x'))",
    "shannon": "I(prior) ≤ sup_π I(π) ≤ max_x KL(P(·|x) ‖ centre)",
    "sibson": "I_α(prior) ≤ sup_π I_α(π) ≤ max_x D_α(P(·|x) ‖ centre)",
    "additive-geometric": "sup_π I(X; X + Z), X whole",
    "additive": "sup_π I(X; X + Z), 0 ≤ X ≤ range",
    "renyi": "D_α = ln E[e^{(α−1)L}]/(α−1), L a sum of losses",
    "delta-composed": "δ(ε) = E[(1 − e^{ε−L})₊], L a sum of losses",
    "epsilon-composed": "min ε ≥ 0: δ(ε) ≤ δ, L a sum of losses",
    "information": "I_α(prior), Sibson's",
    "conversion": "what follows from a guarantee",
    "conversion-delta": "the δ that follows from a guarantee",
    "price": "D_α of an event between neighbours, at most",
    "filter": "ε of a chain's charges, each no less than its event; its caps hold",
    "filter-as-charged": "ε of a chain's charges, as they stand; its caps hold",
    "balance": "sum in a currency of a chain's charges, each no less than its event; its caps hold",
    "balance-as-charged": "sum in a currency of a chain's charges, as they stand; its caps hold",
    "refines": "min over post-processings R of max |AR − B|",
}
"""What each kind of certificate claims; the checker knows the same sentences."""


@dataclass(frozen=True)
class Proof:
    """What a bound is of, and what proves it: of which `kind`, with which numbers.

    A channel stands as itself, and is written when a certificate is asked for. A witness may be a function of
    the claim's two ends, which is called only then; it says None where there is no proof after all.
    """

    kind: str
    given: Mapping[str, Any]
    witness: Mapping[str, Any] | Callable[[float, float], Mapping[str, Any] | None] = field(
        default_factory=dict
    )

    @property
    def unit(self) -> str:
        """`nats` or `probability`; of a ledger's balance the name of its currency."""
        if "currency" in self.given:
            return str(self.given["currency"])
        return "probability" if self.kind in _PROBABILITIES else "nats"

    @property
    def small(self) -> bool:
        """Whether it can be written down."""
        sizes = (getattr(value, "shape", (1, 1)) for value in self.given.values())
        return all(shape[0] * shape[-1] <= _ENTRIES for shape in sizes)


def exactly(value: Any) -> Any:
    """A number, an array, or a channel with its rows, as JSON that loses nothing.

    >>> exactly(0.1), exactly(Fraction(1, 3)), exactly(float("inf")), exactly([1, 0.5])
    ('0x1.999999999999ap-4', '1/3', 'inf', [1, '0x1.0000000000000p-1'])
    """
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):
        return "inf" if value == float("inf") else float(value).hex()
    if hasattr(value, "outputs"):
        rows = value.as_exact()
        return exactly(value.matrix.tolist() if rows is None else rows.tolist())
    if hasattr(value, "tolist"):
        return exactly(value.tolist())
    if isinstance(value, list | tuple):
        return [exactly(one) for one in value]
    if isinstance(value, dict):
        return {name: exactly(one) for name, one in value.items()}
    return value


def certificate_of(
    proof: Proof | None, claim: tuple[float, float], *, unit: str, method: str, source: str
) -> dict[str, Any]:
    """The certificate of a claim: `stated`, without a proof, where no checker knows the problem.

    >>> found = certificate_of(None, (0.0, 1.0), unit="nats", method="by definition", source="")
    >>> found["kind"], found["evidence"], found["claim"]["upper"]
    ('stated', 'numerical', '0x1.0000000000000p+0')
    """
    known = proof if proof is not None and proof.small and unit == proof.unit else None
    witness: Mapping[str, Any] | None = {}
    if known is not None:
        witness = known.witness(*claim) if callable(known.witness) else known.witness
        known = None if witness is None else known
    return {
        "schema": SCHEMA,
        "kind": "stated" if known is None else known.kind,
        "evidence": "numerical" if known is None else "proved",
        "claim": {"lower": exactly(float(claim[0])), "upper": exactly(float(claim[1])), "unit": unit},
        "problem": {} if known is None else {name: exactly(one) for name, one in known.given.items()},
        "witness": {} if known is None else {name: exactly(one) for name, one in (witness or {}).items()},
        "formula": method if known is None else FORMULAS[known.kind],
        "source": source,
    }


def bundle(certificates: Iterable[Mapping[str, Any]]) -> str:
    """Several certificates as the text of one file.

    >>> bundle([])
    '{"schema": "leakcap.certificates/1", "certificates": []}'
    """
    return json.dumps({"schema": "leakcap.certificates/1", "certificates": list(certificates)})
