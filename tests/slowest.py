"""What each file of the tests takes of the processors: `make slowest`, `make slowest IN=tests/ledger`.

Seconds of CPU of this process and of those that it started, which hardly depend on what else the machine
does; of one process, so without `-n`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from multiprocessing import forkserver

import pytest

__all__ = ["cpu_seconds"]

FILES, TESTS = 40, 40
FILE: Counter[str] = Counter()
TEST: Counter[str] = Counter()


def cpu_seconds() -> float:
    """Those of this process, of children that ended, and of the one that others are forked from."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system + _of_forks()


def _of_forks() -> float:
    """`tests/warmed.py` starts it, and it ends after the tests: nobody waits for it before."""
    pid = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if pid is None:
        return 0.0
    with open(f"/proc/{pid}/stat", encoding="utf-8") as told:
        fields = told.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Add what a test took, with its fixtures, to it and to its file."""
    before = cpu_seconds()
    try:
        return (yield)
    finally:
        taken = cpu_seconds() - before
        TEST[item.nodeid] += taken
        FILE[item.nodeid.partition("::")[0]] += taken


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files and the tests that took most, largest first."""
    whole = cpu_seconds()
    terminalreporter.write_line(f"{whole:8.2f} s of CPU, {sum(FILE.values()):.2f} of them in tests")
    for taken, most in ((FILE, FILES), (TEST, TESTS)):
        terminalreporter.write_line("")
        for name, seconds in taken.most_common(most):
            terminalreporter.write_line(f"{seconds:8.2f}  {name}")
