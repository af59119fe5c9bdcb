"""An anchor: what a ledger was at one moment, kept where nobody who can write the ledger can write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from leakcap.errors import LedgerError
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.ticks import AMOUNTS, LARGEST, TICKS_PER_UNIT, Curve, Ticks, decimal

__all__ = ["Anchor", "lost_between"]

_HASH = re.compile(r"[0-9a-f]{64}")
_MOST = LARGEST * TICKS_PER_UNIT


@dataclass(frozen=True)
class Anchor:
    """The end of a ledger's chain, and where it was read from a file, what was spent until then.

    `spent` and `curve` are exact decimals, None where no bound is known; `rows` is 0 where only the hash is
    known.
    """

    head: str
    rows: int = 0
    entries: int = 0
    dataset: str = ""
    policy: str = ""
    spent: Mapping[str, str | None] | None = None
    curve: tuple[str | None, ...] = ()

    @classmethod
    def of(cls, dataset: str, policy: str, rows: int, head: str, spent: Ticks) -> Anchor:
        """That of a ledger in this state.

        >>> one = Anchor.of("d", "ab12cd34", 2, "0" * 64, Ticks(10**11, 0, None, 0, queries=1))
        >>> one.entries, one.spent["epsilon"], one.spent["nats_person"]
        (1, '0.1', None)
        """
        amounts = {name: _told(amount) for name, amount in zip(AMOUNTS, spent.numbers, strict=False)}
        curve = tuple(map(_told, spent.curve))
        return cls(head, rows, spent.queries or 0, dataset, policy, amounts, curve)

    @classmethod
    def read(cls, text: str) -> Anchor:
        """A hash, a file that `leakcap ledger verify --json` or `backup --json` printed, or an anchor as a
        curator gives it.

        Raises `LedgerError`.

        >>> Anchor.read("ab" * 32).rows
        0
        """
        if _HASH.fullmatch(text):
            return cls(text)
        try:
            found = json.loads(Path(text).read_text(encoding="utf-8"))
            told = found.get("anchor", found)
            anchor = cls(**told | {"curve": tuple(told["curve"])})
            _require_read(anchor)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
            raise LedgerError(
                f"The anchor `{text[:80]}` cannot be read. Give the 64 hex digits of a head, or a file with "
                "what `leakcap ledger verify --json` printed."
            ) from None
        return anchor

    @property
    def ticks(self) -> Ticks | None:
        """What was spent, in ticks; None where only the hash is known."""
        if self.spent is None:
            return None
        amounts = [_ticks(self.spent[name]) for name in AMOUNTS]
        return Ticks.of([*amounts, self.entries], tuple(map(_ticks, self.curve)))


def _require_read(anchor: Anchor) -> None:
    """Raise `ValueError` or `TypeError` for what no ledger writes."""
    counts, names = (anchor.rows, anchor.entries), (anchor.dataset, anchor.policy)
    if not (_HASH.fullmatch(anchor.head) and all(type(one) is int and one >= 0 for one in counts)):
        raise ValueError(anchor)
    if not all(isinstance(name, str) for name in names) or len(anchor.curve) not in (0, len(ORDERS)):
        raise TypeError(anchor)
    ticks = anchor.ticks
    if ticks is not None and not anchor.curve and any(ticks.numbers):
        # Nothing was told without a curve: what was spent has one, of numbers or of nothing known.
        raise ValueError(anchor)


def lost_between(before: Ticks, after: Ticks) -> Ticks | None:
    """What was spent from one moment of a ledger to a later one; None where it cannot be its later one."""
    numbers = [_more(*pair) for pair in zip(before.numbers, after.numbers, strict=True)]
    none: Curve = (0,) * len(ORDERS)
    curve = [_more(*pair) for pair in zip(before.curve or none, after.curve or none, strict=True)]
    if any(amount is not None and amount < 0 for amount in [*numbers, *curve]):
        return None
    return Ticks.of(numbers, tuple(curve) if after.curve else ())


def _more(before: int | None, after: int | None) -> int | None:
    """What must be added to get from one to the other: nothing where both have no bound."""
    if before is None:
        return 0 if after is None else -1
    return None if after is None or after - before > _MOST else after - before


def _told(amount: int | None) -> str | None:
    return None if amount is None else decimal(amount)


def _ticks(text: str | None) -> int | None:
    found = None if text is None else Fraction(text) * TICKS_PER_UNIT
    if found is not None and found.denominator != 1:
        raise ValueError(text)
    return None if found is None else int(found)
