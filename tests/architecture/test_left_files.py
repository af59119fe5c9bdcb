"""A test that leaves a file in the repository's root fails the run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize(("place", "code"), [("release.html", 1), ("tests/own.html", 0)])
def test_a_run_that_leaves_a_file_fails(place: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(CHECK, tmp_path / "tests" / "conftest.py")
    (tmp_path / "tests" / "test_it.py").write_text(
        f"from pathlib import Path\n\ndef test_it():\n    Path({str(tmp_path / place)!r}).touch()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "tests"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("SOME TEST LEFT FILES" in done.stdout) == (code == 1)
    assert (place in done.stdout) == (code == 1)
