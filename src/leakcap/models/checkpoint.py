"""A run that stopped goes on: what was released so far, in a ledger that lets each step leave once.

The ledger holds the parameters after so many steps, which are released values, in the row that says that
they left. There is no randomness in it: a state of the generator would repeat the noise of steps that were
seen already, and two answers with one noise show their difference exactly.

A note says from which step a run went on, and to which. From each step of a run one note may leave, the last
step's included. First it is reserved; earlier reservations from the same step, whose runs died before
anything of theirs was seen, are acknowledged as lost, after which they cannot leave; then the parameters are
recorded as its answer, in one transaction with the words that they left. So of two runs from one step one is
seen, whichever checkpoints they take, and what was never recorded was never seen: to run it again costs
nothing. The file only names the run, and shows its owner how far it is: a run goes on from the last step that
the *ledger* has, whatever became of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakcap.errors import LedgerError
from leakcap.ledger import Charge, Entry, Spend
from leakcap.models.budget import Account
from leakcap.models.estimator import Floats

__all__ = ["NOTE", "Checkpoint", "note_step", "resumed"]

NOTE = "checkpoint"
"""How the ledger calls the notes: queries that cost nothing."""


@dataclass(frozen=True)
class Checkpoint:
    """Parameters after `step` steps of the run that `entry` pays for.

    >>> Checkpoint(7, 100, np.array([0.5])).text()
    '{"entry": 7, "step": 100, "theta": [0.5]}'
    """

    entry: int
    step: int
    theta: Floats

    def text(self) -> str:
        """As JSON; Python's shortest decimals give back every bit."""
        return json.dumps({"entry": self.entry, "step": self.step, "theta": self.theta.tolist()})

    def save(self, path: Path) -> None:
        """Write it in one piece: a crash leaves the old file or the new one."""
        fresh = path.with_name(path.name + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(self.text())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read it. Raises `LedgerError` where the file is not one."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            theta = np.array([float(number) for number in content["theta"]])
            found = cls(int(content["entry"]), int(content["step"]), theta)
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if found is None:
            raise LedgerError(f"`{path}` is not a checkpoint that can be read. The spend stays; fit anew.")
        return found


def note_step(account: Account, before: Checkpoint, after: Checkpoint) -> None:
    """Record that the run went on from one step to another, with what is seen of it.

    Raises `LedgerError` where another run went on from that step before.
    """
    ledger, entry = account.ledger, before.entry
    text = _from(entry, before.step)
    nothing = Spend(0.0, 0.0, 0.0, 0.0, 0.0)
    mine = ledger.reserve([Charge(NOTE, text, nothing, account.analyst, {"to": after.step})])[0]
    for other in ledger.entries():
        if other.query != NOTE or other.text != text or other.id >= mine.id:
            continue
        if other.state == "released":
            raise LedgerError(
                f"Entry {entry} went on from step {before.step} in another run. This one may not be seen; "
                "resume it to go on from there."
            )
        if other.state == "reserved":  # fails where it leaves at this very moment
            ledger.acknowledge([other.id], note="its run stopped before anything of it was seen")
    account.release(mine.id, after.theta)


def _from(entry: int, step: int) -> str:
    return f"entry {entry} went on from step {step}"


def resumed(account: Account, path: Path, text: str) -> tuple[Entry, Checkpoint]:
    """The reservation of a run and its last step seen, if it may go on under the same settings.

    Raises `LedgerError` where the run has finished, where nothing says which run it is, where its settings or
    its ledger are others, or where another analyst paid for it: its steps are on that one's account.
    """
    entries = account.ledger.entries()
    if not path.exists():
        raise LedgerError(_nothing_to_resume(entries, path, text))
    checkpoint = Checkpoint.load(path)
    entry = next((e for e in entries if e.id == checkpoint.entry), None)
    if entry is None or entry.text != text:
        raise LedgerError("The checkpoint belongs to another ledger or to other settings. Bring those back.")
    if entry.analyst != account.analyst:
        payer = f"analyst `{entry.analyst}`" if entry.analyst else "no analyst by name"
        raise LedgerError(f"Entry {entry.id} was paid for by {payer}: only so may it be resumed.")
    if entry.state == "released":
        raise LedgerError(_finished(entry, f"Remove `{path}` and fit without resuming"))
    if entry.state != "reserved":
        raise LedgerError(f"Entry {entry.id} was {entry.state}: its steps leave no more. Fit anew.")
    seen = {e.text: e for e in entries if e.query == NOTE and e.state == "released" and e.details.get("to")}
    last = Checkpoint(entry.id, 0, np.zeros_like(checkpoint.theta))
    while (note := seen.get(_from(entry.id, last.step))) is not None:
        answer = account.ledger.answer(note.id)
        theta = None if answer is None else np.array(answer.values[0], dtype=np.float64)
        if theta is None or theta.shape != last.theta.shape:
            raise LedgerError(f"Entry {note.id} of the ledger has no parameters to go on from. Fit anew.")
        last = Checkpoint(entry.id, int(note.details["to"]), theta)
    return entry, last


def _nothing_to_resume(entries: Sequence[Entry], path: Path, text: str) -> str:
    """Why there is no checkpoint: a run removes its own when it finishes."""
    mine = [e for e in entries if e.text == text and e.state in ("released", "reserved")]
    if not mine:
        return f"Nothing to resume: no `{path}`, and no such descent in the ledger. Fit without resuming."
    if mine[-1].state == "released":
        return _finished(mine[-1], "Fit without resuming")
    return (
        f"Entry {mine[-1].id} of the ledger stopped, but `{path}`, which names it, is missing. Bring the "
        "file back; a fit without resuming is paid for."
    )


def _finished(entry: Entry, remedy: str) -> str:
    return (
        f"This descent has finished: entry {entry.id} of the ledger has its answer, and no step is left. "
        f"{remedy}: an answer that the ledger remembers is repeated for free, another fit is paid for."
    )
