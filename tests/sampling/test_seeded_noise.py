"""The noise of a test is decided by its name, and by nothing that another test did."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from leakcap.sampling import system_bytes
from seeded_noise import REAL, noise_of
from warmed import pytest_warmed


def test_a_name_decides_the_bytes() -> None:
    drawn: list[tuple[bytes, bytes]] = []
    for name in ("one", "other", "one"):
        with noise_of(name):
            drawn.append((system_bytes(40), system_bytes(3)))
    assert drawn[0] == drawn[2] != drawn[1]


def test_a_fork_draws_its_own() -> None:
    """Two processes that shared a seed would add the same noise to two answers."""
    reading, writing = os.pipe()
    with noise_of("parent"):
        child = os.fork()
        if not child:
            os.write(writing, system_bytes(16))
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reading, 16) != system_bytes(16)


PAGE = """
import pytest
from leakcap.sampling import system_bytes
@pytest.fixture(scope="module")
def shared():
    return system_bytes(8)
def test_first(shared):
    print("SEEN", shared.hex(), system_bytes(8).hex())
def test_second(shared):
    print("SEEN", shared.hex(), system_bytes(8).hex())
"""


@pytest.mark.parametrize("real", [False, True])
def test_two_runs_draw_the_same_in_any_order(tmp_path: Path, real: bool) -> None:
    """Also what a fixture of two tests drew, whichever asked first. Real noise is asked for."""
    (tmp_path / "test_page.py").write_text(PAGE)
    (tmp_path / "conftest.py").write_text(
        "import os\nfrom seeded_noise import REAL, SeededNoise\n"
        "def pytest_configure(config):\n"
        "    if not os.environ.get(REAL):\n        config.pluginmanager.register(SeededNoise())\n"
    )
    runs: list[list[str]] = []
    for order in (["test_first", "test_second"], ["test_second", "test_first"]):
        names = [f"test_page.py::{name}" for name in order]
        words = ("-s", "-q", "-p", "no:cacheprovider", *names)
        done = pytest_warmed(*words, folder=tmp_path, settings={REAL: "1" if real else ""})
        assert done.returncode == 0, done.stdout + done.stderr
        runs.append(sorted(re.findall(r"SEEN (.*)", done.stdout)))
    assert len(runs[0]) == 2
    assert (runs[0] == runs[1]) is not real
