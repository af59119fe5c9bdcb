"""What several questions cost together, and that it is no more than was agreed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf, isfinite, nextafter

from leakcap.errors import InvalidQuery
from leakcap.release.planning.price import Price

__all__ = ["added_up", "require_within"]


def added_up(amounts: Iterable[float]) -> float:
    """Their sum as they are written, rounded up; ∞ where one of them is.

    >>> added_up([0.1, 0.2]), added_up([0.1, inf]), added_up([])
    (0.3, inf, 0.0)
    """
    given = list(amounts)
    if not all(map(isfinite, given)):
        return inf
    exact = sum((Fraction(repr(one)) for one in given), Fraction(0))
    near = float(exact)
    return near if Fraction(repr(near)) >= exact else nextafter(near, inf)


def require_within(prices: Sequence[Price], most: Mapping[str, float]) -> None:
    """Raise `InvalidQuery` where together they cost more than `most`, by currency: `epsilon`, `rho`."""
    for name, allowed in most.items():
        if added_up(getattr(one, name) for one in prices) > allowed:
            raise InvalidQuery(
                f"These questions would now cost more {name} than the {allowed!r} for which they were let "
                "pass: the data or the policy changed since they were asked. Nothing was spent. Ask again "
                "under a new idempotency key."
            )
