"""An office's method in words: which cells are meant, and what somebody learns from one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakcap.plain import counted
from leakcap.report.records.disclosure import DisclosureRecord, NoiseBesideRecord, WeighedCellRecord
from leakcap.statement.wording import at_most, percent

__all__ = ["HEADS", "KNOWN", "conclusions", "disclosure_rows", "numbers_text", "others_text"]

HEADS = ("others in the cell", "nats", "ε", "belief", "1 cell", "10 cells", "50 cells", "95 % after")
KNOWN = (
    "Somebody knows everybody in a cell but one person, and how the method works, but not its random "
    "numbers.",
    "Several cells count as independent where their random numbers are: a number that is published again as "
    "it was tells nothing new, and a margin with its parts may tell more than its cells one by one.",
    "Chances are those of the best guess, from fifty-fifty: no other way of guessing does better.",
)
_LISTED = 5


def others_text(cell: WeighedCellRecord, start: int, period: int | None) -> str:
    """Which numbers of others are meant, every larger one included.

    >>> cell = WeighedCellRecord.model_construct(others=(1,))
    >>> others_text(cell, 0, 3), others_text(cell, 1, 1), others_text(cell, 7, 1), others_text(cell, 1, None)
    ('1, 4, 7, …', '1 and more', '1', '1')
    """
    return numbers_text(cell.others, start, period)


def numbers_text(others: Sequence[int], start: int, period: int | None) -> str:
    """The same of the numbers alone.

    >>> numbers_text((0, 1, 3, 4), 0, 5), numbers_text((2,), 0, 5)
    ('0, 1, 3, 4, …', '2, 7, 12, …')
    """
    again = [n for n in others if period is not None and n >= start]
    once = [n for n in others if n not in set(again)]
    if period is not None and len(again) == period:
        first = min(again)
        while first - 1 in once:
            first -= 1
            once.remove(first)
        return ", ".join([*_few(once), f"{first} and more"])
    if not again:
        return ", ".join(_few(once))
    if len(again) == 1 and period is not None:
        return ", ".join([*_few(once), *(str(again[0] + k * period) for k in range(3)), "…"])
    return ", ".join([*_few(sorted([*once, *again])), "…"]).replace("…, …", "…")


def _few(numbers: list[int]) -> list[str]:
    shown = [str(n) for n in numbers[:_LISTED]]
    return [*shown, "…"] if len(numbers) > _LISTED else shown


def disclosure_rows(record: DisclosureRecord) -> list[tuple[str, ...]]:
    """A line for each kind of cell, the worst first, and for noise of the same error."""
    rows = [
        (others_text(cell, record.start, record.period), *_numbers(cell, percent(cell.belief)))
        for cell in record.cells
    ]
    return rows + [(one.name, *_numbers(one, "")) for one in record.noise]


def _numbers(one: WeighedCellRecord | NoiseBesideRecord, belief: str) -> tuple[str, ...]:
    never = "never" if all(guess.upper <= 0.5 for guess in one.guesses) else "over a million"
    sure = never if one.sure_after is None else f"{one.sure_after:,}"
    chances = (percent(guess.upper) for guess in one.guesses)
    return (at_most(_upper(one.capacity)), at_most(_upper(one.epsilon)), belief, *chances, sure)


def _upper(ends: tuple[float | None, float | None]) -> float:
    return math.inf if ends[1] is None else ends[1]


def conclusions(record: DisclosureRecord) -> list[str]:
    """What follows for the board, in sentences."""
    worst = record.cells[0]
    place = others_text(worst, record.start, record.period)
    told = [f"The cell that tells most has {place} {'other person' if place == '1' else 'other people'}."]
    if worst.sure_after is None and all(guess.upper <= 0.5 for guess in worst.guesses):
        return ["No published cell tells anything about whether one person is in it."]
    first = worst.guesses[0].upper
    told.append(
        "Whoever sees one such cell knows for sure whether the person is there."
        if first >= 1.0
        else f"Whoever sees one such cell guesses right with {percent(first)} at most whether the person is "
        "there; whoever sees nothing, with 50 %."
    )
    if worst.sure_after is not None and worst.sure_after > 1:
        told.append(
            f"After {counted(worst.sure_after, 'such cell')} the guess is right in 95 of 100 cases or more."
        )
    if _upper(worst.epsilon) == math.inf:
        several = any(n >= record.start for n in worst.others) and record.period is not None
        around = ", and many people around are no protection" if several else ""
        told.append(
            "Some published values prove that the person is there, or is not: the method keeps no ε "
            f"of differential privacy{around}."
        )
    if worst.belief >= 1.0 and first < 1.0:
        told.append("One of these values makes presence certain, whatever was believed before.")
    for noise in record.noise:
        sure = (
            ""
            if noise.sure_after is None
            else f", and in 95 of 100 cases after {counted(noise.sure_after, 'cell')}"
        )
        less = _upper(noise.capacity) < _upper(worst.capacity)
        told.append(
            f"Noise of differential privacy with the same error ({noise.name}) tells "
            f"{'less, ' if less else ''}{at_most(_upper(noise.capacity))} nats, of any cell: one guess is "
            f"right with {percent(noise.guesses[0].upper)} at most{sure}."
        )
    if record.noise and record.squared_error is not None:
        told.append(_error_meant(record.squared_error, record))
    if record.period is None:
        told.append("Of larger counts than the matrix has nothing is known.")
    return told


def _error_meant(average: float, record: DisclosureRecord) -> str:
    """Which error the noise has, and what is larger."""
    text = (
        f"The error is the mean square of published number minus count, {at_most(average)} over large counts"
    )
    if record.largest_squared_error is None or record.largest_epsilon is None:
        return f"{text}."
    return (
        f"{text} on average. Where it is largest, between the multiples say, it is "
        f"{at_most(record.largest_squared_error)}, and discrete Laplace noise of that error would have "
        f"ε = {at_most(record.largest_epsilon)}."
    )
