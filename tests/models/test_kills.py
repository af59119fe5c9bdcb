"""A run killed at any moment: no spend is forgotten, no step is seen twice, and what was seen goes on."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from leakcap.ledger import Ledger
from warmed import done_warmed

# Where the process dies: before the entry is marked, between a note and its file, half way through a file.
RUN = """
import os, signal, sys
from pathlib import Path
import numpy as np
from leakcap.ledger import Ledger
from leakcap.models import PrivateGradientDescent, checkpoint
from models.world import policy_of

moment, mode, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
hits = 0

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def at(owner, name, count, *, after=False):
    real = getattr(owner, name)
    def wrapped(*args, **kwargs):
        global hits
        hits += 1
        if hits == count and not after:
            die()
        found = real(*args, **kwargs)
        if hits == count:
            die()
        return found
    setattr(owner, name, wrapped)

if mode == "fit":
    {
        "after the reservation": lambda: at(Ledger, "reserve", 1, after=True),
        "in a step": lambda: at(PrivateGradientDescent, "_step", 14),
        "before a note": lambda: at(Ledger, "mark_progress", 2),
        "after it left": lambda: at(Ledger, "mark_progress", 2, after=True),
        "in its file": lambda: at(os, "fsync", 3),
        "at the end": lambda: at(Ledger, "mark_progress", 4, after=True),
        "before the end": lambda: at(Ledger, "mark_released", 1),
    }[moment]()
policy = policy_of(max_rows=100)
X = np.random.default_rng(1).uniform(-1, 1, (100, 2))
model = PrivateGradientDescent(
    policy=policy, ledger=folder / "ledger.db", steps=40, checkpoint=folder / "run.json", checkpoint_every=10
)
model = model.fit(X, X[:, 0]) if mode == "fit" else model.resume(X, X[:, 0])
print(model.theta_.tolist())
"""

MOMENTS = {
    "after the reservation": None,
    "in a step": 10,
    "before a note": 10,
    "after it left": 20,
    "in its file": 20,
    "at the end": 40,
    "before the end": 40,
}
QUICK = {"after it left"}


def run(moment: str, mode: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return done_warmed(RUN, moment, mode, str(folder), seconds=120)


@pytest.mark.parametrize(
    "moment", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in MOMENTS]
)
def test_killed_and_resumed(moment: str, tmp_path: Path) -> None:
    killed = run(moment, "fit", tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.read(url) as ledger:
        (paid,) = ledger.entries()
        spent = ledger.totals()
        assert paid.state == "reserved"
        assert spent.epsilon == paid.spend.epsilon > 0
        seen = [step.to for step in ledger.steps(paid.id).values()]
        assert max(seen, default=None) == MOMENTS[moment]
    file = tmp_path / "run.json"
    if moment == "after the reservation":
        assert not file.exists()
        return
    assert json.loads(file.read_text())["step"] in (MOMENTS[moment], (MOMENTS[moment] or 0) - 10)
    resumed = run(moment, "resume", tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    with Ledger.read(url) as ledger:
        assert ledger.totals().epsilon == spent.epsilon
        (paid,) = ledger.entries()
        assert paid.state == "released"
        assert {start: step.to for start, step in ledger.steps(paid.id).items()} == {
            0: 10,
            10: 20,
            20: 30,
            30: 40,
        }
        assert json.loads(resumed.stdout) == ledger.answer(paid.id).values[0]
        ledger.verify()
