"""What a ledger remembers of answers whose numbers stand in an order that only their question knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leakcap.ledger import Charge, Ledger

__all__ = ["remembered_values"]


def remembered_values(
    ledger: Ledger, charge: Charge, dataset: str, entry: int | None = None
) -> Iterator[tuple[int, Sequence[Any]]]:
    """The entries that answered what a charge asks, oldest first, each with the numbers of its answer; of
    `entry` alone where that is given, so that no other answer is read."""
    for number in ledger.entries_answering(charge, dataset=dataset):
        answer = ledger.answer(number) if entry in (None, number) else None
        if answer is not None:
            yield number, answer.values
