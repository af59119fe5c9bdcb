"""A test that leaves a file in the repository's root fails the run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warmed import pytest_warmed

CHECK = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize(("place", "code"), [("release.html", 1), ("tests/own.html", 0)])
def test_a_run_that_leaves_a_file_fails(place: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(CHECK, tmp_path / "tests" / "conftest.py")
    (tmp_path / "tests" / "test_it.py").write_text(
        f"from pathlib import Path\n\ndef test_it():\n    Path({str(tmp_path / place)!r}).touch()\n"
    )
    done = pytest_warmed("-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "tests", folder=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("SOME TEST LEFT FILES" in done.stdout) == (code == 1)
    assert (place in done.stdout) == (code == 1)


@pytest.mark.parametrize(
    ("markers", "room", "kept"), [("not slow", 0, True), ("not slow", 1 << 60, False), ("slow", 0, False)]
)
def test_the_default_run_keeps_its_folders_in_memory_where_there_is_room(
    markers: str, room: int, kept: bool, tmp_path: Path
) -> None:
    """What stands for the memory here is another folder; where there is too little room, the disk serves."""
    memory = tmp_path / "memory"
    (tmp_path / "tests").mkdir()
    memory.mkdir()
    text = CHECK.read_text(encoding="utf-8")
    line = 'MEMORY, ROOM = Path("/dev/shm"), 4 << 30'
    assert line in text
    here = text.replace(line, f"MEMORY, ROOM = Path({str(memory)!r}), {room}")
    (tmp_path / "tests" / "conftest.py").write_text(here, encoding="utf-8")
    (tmp_path / "tests" / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.slow\ndef test_slow(tmp_path):\n    print(tmp_path)\n\n"
        "def test_it(tmp_path):\n    print(tmp_path)\n",
        encoding="utf-8",
    )
    words = ("-qs", "-p", "no:cacheprovider", "-W", "ignore", "-m", markers, "--rootdir", tmp_path, "tests")
    done = pytest_warmed(*words, folder=tmp_path, settings={"PYTEST_DEBUG_TEMPROOT": None})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (str(memory) in done.stdout) == kept
