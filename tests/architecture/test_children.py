"""What tests start ends with them, also where they are killed."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ELSEWHERE = {
    "engines/cluster.py": "Spark's own processes, in a group of theirs",
    "ledger/server.py": "PostgreSQL, which runs as a user who cannot read this folder",
}
STARTER = """
import subprocess, sys
sys.path.insert(0, {tests!r})
from ending_with_us import with_us
words = [sys.executable, "-c", "import time; time.sleep(60)"]
child = subprocess.Popen(with_us(words) if {ours} else words)
print(child.pid, flush=True)
child.wait()
"""


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("ours", [True, False])
def test_a_process_ends_with_the_one_that_started_it_and_a_plain_one_does_not(ours: bool) -> None:
    command = [sys.executable, "-c", STARTER.format(tests=str(TESTS), ours=ours)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        time.sleep(0.3)  # until it has asked
        starter.kill()
        starter.wait()
        end = time.monotonic() + (10.0 if ours else 0.5)
        while running(child) and time.monotonic() < end:
            time.sleep(0.02)
        left = running(child)
        if left:
            os.kill(child, signal.SIGKILL)
    assert left is not ours


def started() -> list[tuple[str, bool]]:
    """Each `Popen` of the tests, and whether its words are told to end with us."""
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "Popen(" not in text:
            continue
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and "with_us(" in ast.unparse(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in calls:
            if ast.unparse(call.func).endswith("Popen"):
                words = ast.unparse(call.args[0])
                found.append((str(path.relative_to(TESTS)), words.startswith("with_us(") or words in names))
    return found


def test_whatever_runs_beside_the_tests_ends_with_them() -> None:
    found = [one for one in started() if one[0] != "architecture/test_children.py"]
    assert {name for name, told in found if not told} == set(ELSEWHERE)
    assert sum(told for _, told in found) >= 7
