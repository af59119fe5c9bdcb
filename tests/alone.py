"""A module of the tests, run in a process of its own with the same sources."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["alone"]


def alone(
    module: str,
    *words: str,
    warnings: str = "error",
    settings: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> str:
    """What `python -m module words` prints last, with these settings in its environment."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    run = subprocess.run(
        [sys.executable, "-W", warnings, "-m", module, *words],
        env={**os.environ, **(settings or {}), "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stdout.strip().splitlines()[-1]
