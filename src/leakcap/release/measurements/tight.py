"""What no ε-DP mechanism can exceed."""

from __future__ import annotations

from leakcap.definition.hyperbolic import shannon_of_pure
from leakcap.numeric import up

__all__ = ["tight_mutual_information"]


def tight_mutual_information(epsilon: float) -> float:
    """D − 1 − ln D with D = ε/(1−e^{−ε}): no ε-DP mechanism tells more about one record, in nats. Rounded up.

    Source: Dong, Durfee & Rogers 2020 (bounded range).

    >>> round(tight_mutual_information(1.0), 11)
    0.12330156148
    """
    return up(shannon_of_pure(epsilon), 64)
