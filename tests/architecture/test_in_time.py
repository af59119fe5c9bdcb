"""A run whose time is up says which slow tests it left out, and leaves out no other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILE = """
import pytest

@pytest.mark.slow
def test_slow():
    pass

def test_quick():
    pass

@pytest.mark.skip(reason="something else")
def test_left_out():
    pass
"""


@pytest.mark.parametrize(("later", "ran"), [(-1.0, False), (600.0, True), (None, True)])
def test_slow_tests_after_the_end_are_named(later: float | None, ran: bool, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FILE, encoding="utf-8")
    settings = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    settings.pop("LEAKCAP_ENDS", None)
    if later is not None:
        settings["LEAKCAP_ENDS"] = str(time.time() + later)
    command = [sys.executable, "-m", "pytest", "-p", "in_time", "-p", "no:cacheprovider", "-W", "ignore"]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, tmp_path], env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("2 passed, 1 skipped" if ran else "1 passed, 2 skipped") in done.stdout
    assert ("THESE SLOW TESTS WERE NOT RUN" in done.stdout) != ran
    assert ("test_it.py::test_slow\n" in done.stdout) != ran
    assert "test_left_out" not in done.stdout
