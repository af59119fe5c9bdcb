"""How the steps of a stream are paid for: once, all together, before the first; each is answered once.

The charge is committed before any noise is drawn, and every step is recorded before anybody sees it. A
process that dies in between has shown nothing, so that new noise may be drawn for the step. Of two processes
that answer the same step one is recorded, and both return that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from leakcap.errors import LeakcapError, LedgerError, after_commit, require
from leakcap.ledger.details import steps_paid
from leakcap.ledger.values import Charge, Entry

if TYPE_CHECKING:
    from leakcap.ledger.ledger import Ledger

__all__ = ["PaidSteps", "answer_steps", "recorded_steps"]

Answered: TypeAlias = list[list[int]]
"""For each step the integers that were released."""
Step: TypeAlias = Callable[[int], list[int]]


@dataclass(frozen=True)
class PaidSteps:
    """The steps of a stream as the ledger has them; `new` of them were answered now, the rest repeated."""

    entry: Entry
    steps: Answered
    new: int


def answer_steps(
    ledger: Ledger,
    charge: Charge,
    wanted: int,
    prepare: Callable[[], Callable[[Entry], Step]],
    *,
    analyst: str = "",
) -> PaidSteps:
    """At least the first `wanted` steps of a stream; what was answered before is told for free, as it was.

    `prepare` does whatever may still be refused, before anything is spent; what it returns is given the
    entry, reads the data after the commit, and returns what draws the answer of a step, from 0 on: with the
    noise that the entry paid for. The charge's detail `stream_steps` says how many steps there are, and no
    more are answered. Raises `LedgerError` or `BudgetExceeded` with nothing spent where the stream is another
    or does not fit, was ended, replaced or withdrawn; what fails after a commit says so.
    """
    total = steps_paid(charge.details)
    entry = ledger.stream(charge)
    least = 1 if entry is None else 0
    some = isinstance(wanted, int) and not isinstance(wanted, bool) and least <= wanted <= total
    require(some, "wanted", "answer_steps", f"be from {least} to {total}, the steps paid for", wanted)
    seen = [] if entry is None else recorded_steps(ledger, entry)
    if entry is not None and len(seen) >= wanted:
        _told(ledger, entry, analyst)
        _finished(ledger, entry, seen, total)
        return PaidSteps(entry, seen, 0)
    if entry is not None:
        _require_open(entry, len(seen))
    read = prepare()
    entry, begun = ledger.reserve_stream(charge)
    try:
        _told(ledger, entry, analyst)
        draw, new = read(entry), 0
        seen = recorded_steps(ledger, entry)
        while len(seen) < wanted:
            values = draw(len(seen))
            try:
                # Until here nobody has seen it: what cannot be recorded does not leave.
                place = len(seen), len(seen) + 1
                ledger.mark_progress(entry.id, place, [values], analyst=analyst)
            except LedgerError:
                known, seen = len(seen), recorded_steps(ledger, entry)
                if len(seen) <= known:
                    raise
            else:
                seen.append(values)
                new += 1
        _finished(ledger, entry, seen, total)
    except LeakcapError as error:
        if begun:
            raise after_commit(error) from None
        raise
    return PaidSteps(entry, seen, new)


def recorded_steps(ledger: Ledger, entry: Entry) -> Answered:
    """The steps that were answered, from the first on."""
    known, found = ledger.steps(entry.id), list[list[int]]()
    while (step := known.get(len(found))) is not None:
        found.append([int(value) for value in step.values[0]])
    return found


def _told(ledger: Ledger, entry: Entry, analyst: str) -> None:
    """Before anybody is told a stream that another paid for, it is recorded: accounts of analysts may begin
    later, and count what each was told."""
    if entry.analyst != analyst:
        ledger.mark_repeated([entry.id], analyst=analyst)


def _require_open(entry: Entry, answered: int) -> None:
    if entry.state != "reserved":
        raise LedgerError(
            f"Stream `{entry.query}`, entry {entry.id}, was ended after {answered} steps: it was "
            "acknowledged as lost, or the ledger was restored from a backup, which may lack steps that were "
            "published. Nothing was spent. Its steps until then are told for free; give a new stream another "
            "`name`."
        )


def _finished(ledger: Ledger, entry: Entry, seen: Answered, total: int) -> None:
    """With the last step the whole entry has left."""
    if len(seen) < total or entry.state != "reserved":
        return
    try:
        ledger.mark_released([entry.id], answers={entry.id: seen})
    except LedgerError:
        # Another process did it, or a ledger that is only read: the steps stand in any case.
        if ledger.steps(entry.id).get(total - 1) is None:
            raise
