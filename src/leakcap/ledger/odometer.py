"""What all answers so far tell together, read off the sums of their curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any

from leakcap.errors import require
from leakcap.ledger.claims import Certified, Provable, merely_stated
from leakcap.ledger.curve import curve_of_pure, epsilon_proved, odometer_surcharges
from leakcap.ledger.ticks import TICKS_PER_UNIT, Ticks, cap_ticks, spend_ticks
from leakcap.ledger.values import Spend
from leakcap.numeric import float_up, up

__all__ = ["OdometerReading", "added", "odometer"]


@dataclass(frozen=True)
class OdometerReading(Provable):
    """What all answers told: no odds were moved by more than e^`epsilon`, but with probability `delta`."""

    epsilon: float
    delta: float
    proved: Certified | None = field(default=None, compare=False, repr=False)
    """What makes its certificate, where a ledger was read."""

    def certificate(self) -> dict[str, Any]:
        """That all charges come to this, and passed no cap: JSON for `leakcap-verify`.

        The chain up to where it was read is verified when it is asked for. Raises `LedgerError` for one that
        does not hold, is gone, or is too long. What no ledger was read for is `stated`.

        >>> OdometerReading(0.5, 1e-9).certificate()["evidence"]
        'numerical'
        """
        if self.proved is None:
            return merely_stated(self.epsilon, "nats")
        return self.proved()


def added(spends: Sequence[Spend]) -> Ticks:
    """ε, δ and curves of many spends of a ledger, added up and rounded up.

    >>> from leakcap.ledger.values import Spend
    >>> added([Spend(epsilon=0.1)] * 3).epsilon
    300000000001
    """
    curves = zip(*(spend.curve or curve_of_pure(spend.epsilon) for spend in spends), strict=True)
    epsilon, delta = _sum(spend.epsilon for spend in spends), _sum(spend.delta for spend in spends)
    return Ticks(epsilon, delta, None, None, None, None, len(spends), tuple(map(_sum, curves)))


def _sum(amounts: Iterable[float]) -> int | None:
    terms = list(amounts)
    return spend_ticks(up(math.fsum(terms), len(terms) + 1))


def odometer(spent: Ticks, delta: float) -> OdometerReading:
    """The least ε that these sums prove, but with probability `delta` and the answers' own δ. Raises
    `InvalidParameter`.

    >>> from leakcap.ledger.values import Spend
    >>> odometer(Spend(epsilon=0.5).ticks(None), 1e-9)
    OdometerReading(epsilon=0.5, delta=1e-09)
    """
    number = isinstance(delta, Real) and not isinstance(delta, bool)
    ticks = (cap_ticks(delta) or 0) if number and 0 < delta < 1 else 0
    require(ticks > 0, "delta", "odometer", "be a number from 10⁻¹² to below 1", delta)
    epsilon = epsilon_proved(spent.epsilon, spent.curve, odometer_surcharges(ticks))
    both = None if spent.delta is None else Fraction(spent.delta, TICKS_PER_UNIT) + Fraction(delta)
    return OdometerReading(
        math.inf if epsilon is None else float_up(Fraction(epsilon, TICKS_PER_UNIT)),
        1.0 if both is None else min(1.0, float_up(both)),
    )
