"""The manual, built once for all tests of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import leakcap
from manual_pages import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built once."""
    folder = tmp_path_factory.mktemp("manual")
    known = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(Path(leakcap.__file__).parents[1])}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
