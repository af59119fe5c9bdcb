"""A run that stopped goes on: what was released so far, in a ledger that lets each step leave once.

The ledger holds the parameters after so many steps, which are released values, in the row that says that
they left. There is no randomness in it: a state of the generator would repeat the noise of steps that were
seen already, and two answers with one noise show their difference exactly.

A row of the ledger says from which step a run went on, to which, and with which parameters. It belongs to
the entry that paid for the run: it is no query, costs nothing, and no cap can stop it. From each step of a
run one such row may leave, the last step's included. So of two runs from one step one is seen, whichever
checkpoints they take, and what was never recorded was never seen: to run it again costs nothing. The file
only names the run, and shows its owner how far it is: a run goes on from the last step that the *ledger* has,
whatever became of the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakcap.errors import LedgerError
from leakcap.ledger import Entry, Ledger, ProgressStep
from leakcap.models.budget import FitAccount
from leakcap.models.values import Floats

__all__ = ["Checkpoint", "note_step", "resumed"]


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


def note_step(account: FitAccount, before: Checkpoint, after: Checkpoint) -> None:
    """Record that the run went on from one step to another, with what is seen of it.

    Raises `LedgerError` where another run went on from that step before.
    """
    steps, values = (before.step, after.step), np.atleast_2d(after.theta).tolist()
    account.ledger.mark_progress(before.entry, steps, values, analyst=account.analyst)


def resumed(account: FitAccount, path: Path, text: str) -> tuple[Entry, Checkpoint]:
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
    seen = _older_notes(account.ledger, entries, entry.id) | account.ledger.steps(entry.id)
    last = Checkpoint(entry.id, 0, np.zeros_like(checkpoint.theta))
    while (step := seen.get(last.step)) is not None:
        theta = np.array(step.values[0], dtype=np.float64)
        if theta.shape != last.theta.shape:
            raise LedgerError(f"Entry {entry.id} of the ledger has other parameters to go on from. Fit anew.")
        last = Checkpoint(entry.id, step.to, theta)
    return entry, last


def _older_notes(ledger: Ledger, entries: Sequence[Entry], run: int) -> dict[int, ProgressStep]:
    """What leakcap 0.1 noted of a run, as queries of price zero: what was seen must not be run again."""
    seen = {}
    for note in entries:
        words = re.fullmatch(rf"entry {run} went on from step (\d+)", note.text)
        if note.query != "checkpoint" or note.state != "released" or words is None:
            continue
        answer = ledger.answer(note.id)
        if answer is None:
            raise LedgerError(f"Entry {note.id} of the ledger has no parameters to go on from. Fit anew.")
        seen[int(words[1])] = ProgressStep(int(note.details["to"]), answer.values)
    return seen


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
