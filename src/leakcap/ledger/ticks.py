"""Money without drift: every spend is a whole number of ticks, and integers add up exactly.

A tick is 1e-12 of the unit (of ε, of δ, of a nat); queries are counted one by one. A spend is rounded up to
the next tick and a cap down, so rounding can only protect. A float counts as the decimal number that it
prints as: 0.1 is a tenth, and nine of them are exactly 0.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

__all__ = [
    "AMOUNTS",
    "LARGEST",
    "NOTHING",
    "TICKS_PER_UNIT",
    "Curve",
    "Ticks",
    "cap_ticks",
    "countable",
    "decimal",
    "spend_ticks",
    "total",
    "units",
    "units_left",
    "units_spent",
]

TICKS_PER_UNIT = 10**12
LARGEST = 1_000_000
"""No single spend or cap is larger: sums then stay far inside a 64-bit column."""


Curve: TypeAlias = tuple[int | None, ...]
"""Ticks at each of a ledger's orders (`curve.ORDERS`): of a spend its Rényi curve, None where no bound is
known; of caps what each order adds, None where it is not looked at. Empty: nothing, or no order."""


class Ticks(NamedTuple):
    """One amount in each currency, in ticks. None: no bound (of a spend), no cap (of caps)."""

    epsilon: int | None
    delta: int | None
    nats_person: int | None
    nats_table: int | None
    nats_level: int | None = 0
    rho: int | None = 0
    queries: int | None = 0
    curve: Curve = ()

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """All but the curve."""
        return self[:-1]

    def on_everything(self, slot: str) -> Ticks:
        """What an answer is charged on the account of everything: from a slot, only that it was asked.

        >>> Ticks(5, 0, 5, 5, 5, 5, 1).on_everything("monthly").numbers
        (0, 0, 0, 0, 0, 0, 1)
        """
        return NOTHING._replace(queries=self.queries) if slot else self

    def times(self, count: int) -> Ticks:
        """So many times the same; what is unbounded stays so.

        >>> Ticks(5, 0, None, 5, 5, 5, 1).times(3).numbers
        (15, 0, None, 15, 15, 15, 3)
        """
        return Ticks.of(_each_times(self.numbers, count), _each_times(self.curve, count))

    @classmethod
    def of(cls, numbers: Iterable[int | None], curve: Curve = ()) -> Ticks:
        """From the numbers in their order, and the curve."""
        return cls._make([*numbers, curve])


AMOUNTS = ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho")
"""The currencies in ticks: all but the number of queries."""

NOTHING = Ticks(0, 0, 0, 0)


@lru_cache(maxsize=4096)
def spend_ticks(amount: float) -> int | None:
    """Ticks of a spend, rounded up; None for an infinite one.

    >>> spend_ticks(0.1), spend_ticks(1e-13), spend_ticks(math.inf)
    (100000000000, 1, None)
    """
    return None if math.isinf(amount) else math.ceil(_exact(amount))


def countable(nats: float) -> float:
    """A bound in nats as a spend may state it: one beyond what a ledger counts is none.

    >>> countable(2.5), countable(2e6)
    (2.5, inf)
    """
    return nats if nats <= LARGEST else math.inf


def cap_ticks(amount: float | None) -> int | None:
    """Ticks of a cap, rounded down; None where there is no cap.

    >>> cap_ticks(0.9), cap_ticks(1e-13), cap_ticks(None)
    (900000000000, 0, None)
    """
    return None if amount is None else math.floor(_exact(amount))


def units(ticks: int) -> float:
    """The float nearest to so many ticks.

    >>> units(9 * spend_ticks(0.1))
    0.9
    """
    return ticks / TICKS_PER_UNIT


def units_left(ticks: int) -> float:
    """The float nearest to so many ticks that is no more than they are, when it is asked for.

    >>> units_left(900_000_000_000), units_left(99_999_999_999_999_999)
    (0.9, 99999.99999999999)
    """
    found = units(ticks)
    return found if _exact(found) <= ticks else math.nextafter(found, -math.inf)


def units_spent(ticks: int) -> float:
    """The float nearest to so many ticks that is no less than they are.

    >>> units_spent(900_000_000_000), units_spent(123_456_123_456_789_012)
    (0.9, 123456.12345678902)
    """
    found = units(ticks)
    return found if _exact(found) >= ticks else math.nextafter(found, math.inf)


def decimal(ticks: int) -> str:
    """So many ticks as an exact decimal number, for messages.

    >>> decimal(50_000_000_000), decimal(-1), decimal(3 * TICKS_PER_UNIT)
    ('0.05', '-0.000000000001', '3')
    """
    whole, part = divmod(abs(ticks), TICKS_PER_UNIT)
    digits = f"{'-' if ticks < 0 else ''}{whole}.{part:012d}"
    return digits.rstrip("0").rstrip(".")


def total(amounts: Iterable[Ticks]) -> Ticks:
    """The sum, currency by currency; unbounded as soon as one term is.

    >>> total([Ticks(1, 0, 2, 3), Ticks(1, 0, 2, None)])
    Ticks(epsilon=2, delta=0, nats_person=4, nats_table=None, nats_level=0, rho=0, queries=0, curve=())
    """
    terms = list(amounts)
    numbers = zip(*(term.numbers for term in terms), strict=True)
    curves = [term.curve for term in terms if term.curve]
    return Ticks.of(map(_sum, numbers), tuple(map(_sum, zip(*curves, strict=True))))


def _each_times(amounts: Iterable[int | None], count: int) -> Curve:
    return tuple(None if one is None else one * count for one in amounts)


def _sum(column: tuple[int | None, ...]) -> int | None:
    return None if None in column else sum(column)  # type: ignore[arg-type]


def _exact(amount: float) -> Fraction:
    return Fraction(repr(float(amount))) * TICKS_PER_UNIT
