"""The built wheel, alone in an empty environment, runs the hospital's release outside the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_alone_runs_the_release() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "measure-install"], capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outside the repository" in done.stdout
