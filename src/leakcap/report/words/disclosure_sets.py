"""A whole set of tables in words: which places are meant, and what somebody learns from all of it."""

from __future__ import annotations

import math

from leakcap.plain import counted
from leakcap.report.records.disclosure_sets import PlaceRecord, TableSetRecord
from leakcap.statement.wording import at_most, percent

__all__ = ["SET_HEADS", "set_assumptions", "set_conclusions", "set_rows"]

SET_HEADS = ("place", "others in its cells", "guess from 50 %", "from 10 %", "nats", "ε", "δ at ε = 1")
_ALIKE, _LISTED = 5e-4, 8


def set_rows(record: TableSetRecord) -> list[tuple[str, ...]]:
    """A line for each place, the worst first."""
    return [_row(place) for place in record.places]


def _row(place: PlaceRecord) -> tuple[str, ...]:
    numbers = [f"{cell.others:,}" for cell in place.cells]
    listed = [*numbers[:_LISTED], "…"] if len(numbers) > _LISTED else numbers
    return (
        place_text(place),
        ", ".join(listed),
        _chances(place.guess),
        _chances(place.unlikely_guess),
        _between(place.capacity),
        _between(place.epsilon),
        _between(place.delta),
    )


def place_text(place: PlaceRecord) -> str:
    """The place by its columns.

    >>> place_text(PlaceRecord.model_construct(place={"age": "80", "sex": "f"}))
    'age 80, sex f'
    """
    return ", ".join(" ".join(f"{name} {value}".split()) for name, value in place.place.items())


def _chances(ends: tuple[float, float]) -> str:
    low, high = percent(ends[0]), percent(ends[1])
    return high if ends[1] - ends[0] <= _ALIKE else f"{low} to {high}"


def _between(ends: tuple[float | None, float | None]) -> str:
    low, high = (math.inf if end is None else end for end in ends)
    if math.isinf(low) or high - low <= _ALIKE:
        return at_most(high)
    return f"{math.floor(low * 1000) / 1000:.3f} to {at_most(high)}"


def set_conclusions(record: TableSetRecord) -> list[str]:
    """What follows for the board, in sentences."""
    worst = record.places[0]
    who = "one person" if record.household == 1 else f"a household of {record.household}"
    if worst.guess[1] <= 0.5 + 1e-9 and record.others_at_most <= 0.5 + 1e-9:
        return [f"All that is published tells nothing about whether {who} is in these tables."]
    told = [
        f"{counted(len(record.tables), 'table')} with {record.published:,} cells are published. Whoever sees "
        f"all of them guesses whether {who} is at the worst place ({place_text(worst)}) with "
        f"{_said(worst.guess)}, from fifty-fifty."
    ]
    if not all(place.exact for place in record.places):
        told.append(
            "The first number is what the person's own cells tell, some of them with their siblings; the "
            "second is what is told where all other record keys are known. The truth lies between."
        )
    if worst.epsilon[0] is None:
        told.append("Some published values prove that somebody is there, or is not: the tables have no ε.")
    if record.further:
        told.append(
            f"At {counted(record.further, 'further place')} a guess is right with "
            f"{percent(record.others_at_most)} at most."
        )
    return told


def _said(ends: tuple[float, float]) -> str:
    text = _chances(ends)
    return text if " to " in text else f"{text} at most"


def set_assumptions(record: TableSetRecord) -> tuple[str, ...]:
    """What the numbers take for granted."""
    chance = (
        f"Record keys are secret, independent and uniform, {record.keys:,} of them; cells that share records "
        "share keys."
        if record.keys
        else "Each published cell has a chance of its own."
    )
    return (
        "Somebody knows everybody but one, and how the method works, but not its random numbers.",
        chance,
        "Chances are those of the best guess: no other way of guessing does better.",
    )
