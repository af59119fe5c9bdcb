"""A run that stopped goes on: what was released so far, and a ledger that lets each step leave once.

A checkpoint holds the parameters after so many steps, which are released values, and the number of the
reservation that pays for all steps. It holds no randomness: a state of the generator would repeat the noise
of steps that were seen already, and two answers with one noise show their difference exactly.

Before a checkpoint is written, the ledger notes that its step was reached. A run may only start from the last
step noted, and a step can be noted once: an older file put back, or the same file resumed twice, would show
two noisy versions of the same steps for one price, and is refused. What ran beyond the last checkpoint was
never seen, so running it again costs nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakcap.errors import LedgerError
from leakcap.ledger import Charge, Entry, Spend
from leakcap.models.budget import Account
from leakcap.models.estimator import Floats

__all__ = ["Checkpoint", "note_step", "resumed"]

_NAME = "checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Parameters after `step` steps of the run that `entry` pays for.

    >>> Checkpoint(7, 100, np.array([0.5])).text()
    '{"entry": 7, "step": 100, "theta": ["0x1.0000000000000p-1"]}'
    """

    entry: int
    step: int
    theta: Floats

    def text(self) -> str:
        """As JSON, the parameters to the last bit."""
        theta = [value.hex() for value in self.theta.tolist()]
        return json.dumps({"entry": self.entry, "step": self.step, "theta": theta})

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
            theta = np.array([float.fromhex(text) for text in content["theta"]])
            found = cls(int(content["entry"]), int(content["step"]), theta)
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if found is None:
            raise LedgerError(f"`{path}` is not a checkpoint that can be read. The spend stays; fit anew.")
        return found


def note_step(account: Account, entry: int, step: int) -> None:
    """Have the ledger note that a run reached this step; raises `LedgerError` where one did before."""
    text = f"entry {entry} reached step {step}"
    nothing = Spend(0.0, 0.0, 0.0, 0.0, 0.0)
    mine = account.ledger.reserve([Charge(_NAME, text, nothing, account.analyst)])[0]
    first = min(e.id for e in account.ledger.entries() if e.query == _NAME and e.text == text)
    account.ledger.mark_released([mine.id])
    if first != mine.id:
        raise LedgerError(
            f"Step {step} of entry {entry} was reached by another run. This one may not be seen."
        )


def resumed(account: Account, checkpoint: Checkpoint, text: str) -> Entry:
    """The reservation of a checkpoint, if it may go on from here under the same settings."""
    entries = account.ledger.entries()
    entry = next((e for e in entries if e.id == checkpoint.entry), None)
    if entry is None or entry.text != text:
        raise LedgerError("The checkpoint belongs to another ledger or to other settings. Bring those back.")
    if entry.state != "reserved":
        raise LedgerError(f"Entry {entry.id} was {entry.state} already: its steps leave once. Fit anew.")
    mark = f"entry {entry.id} reached step "
    steps = [int(e.text.removeprefix(mark)) for e in entries if e.query == _NAME and e.text.startswith(mark)]
    if checkpoint.step != max(steps, default=-1):
        raise LedgerError(
            f"The checkpoint is of step {checkpoint.step}, and the ledger notes {max(steps, default=0)}. "
            "Steps that were seen may not run again."
        )
    return entry
