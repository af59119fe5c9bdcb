"""What a price is counted in: ε or ρ, and how errors depend on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["EPSILON", "RHO", "Currency", "Objective"]

Objective: TypeAlias = Literal["shares by weight", "least total error", "equal errors"]


@dataclass(frozen=True)
class Currency:
    """A price in `name`: an error is c/price^`exponent`.

    `powers`: a share for an objective is in proportion to weight^a·c^b; the proof is in `asking/budget.py`.
    """

    name: Literal["epsilon", "rho"]
    sign: str
    exponent: float
    powers: Mapping[Objective, tuple[float, float]]

    def of_error(self, price: float) -> float:
        """What an error is divided by at this price."""
        return price if self.exponent == 1 else math.sqrt(price)

    def priced(self, price: float) -> dict[str, float]:
        """The field of a query that says this price."""
        return {self.name: price}


EPSILON = Currency("epsilon", "ε", 1.0, {"least total error": (1 / 3, 2 / 3), "equal errors": (1.0, 1.0)})
RHO = Currency("rho", "ρ", 0.5, {"least total error": (0.5, 1.0), "equal errors": (2.0, 2.0)})
