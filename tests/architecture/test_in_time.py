"""A run whose time is up says which slow tests it left out, and leaves out no other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from warmed import pytest_warmed

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
    ends = None if later is None else str(time.time() + later)
    words = ("-p", "in_time", "-p", "no:cacheprovider", "-W", "ignore", "--rootdir", tmp_path, tmp_path)
    done = pytest_warmed(*words, folder=tmp_path, settings={"LEAKCAP_ENDS": ends})
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("2 passed, 1 skipped" if ran else "1 passed, 2 skipped") in done.stdout
    assert ("THESE SLOW TESTS WERE NOT RUN" in done.stdout) != ran
    assert ("test_it.py::test_slow\n" in done.stdout) != ran
    assert "test_left_out" not in done.stdout
