"""A run that has an end: slow tests that it does not reach are named, loudly, and not passed over in silence.

Continuous integration kills what takes 90 minutes, and then says nothing of what passed. `LEAKCAP_ENDS` is
the second, as `date +%s` counts, from which no further slow test is begun; the Makefile sets it for the slow
suites where `CI` is set, and `conftest.py` looks.
On a machine of usual speed all is done in half of the time, and nothing is left out.
"""

from __future__ import annotations

import os
import time

import pytest

ENDS = "LEAKCAP_ENDS"
NOT_REACHED = "time is up"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a slow test out that would begin too late."""
    end = os.environ.get(ENDS)
    if end and item.get_closest_marker("slow") and time.time() >= float(end):
        pytest.skip(NOT_REACHED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not reached."""
    skipped = terminalreporter.stats.get("skipped", [])
    left = [one.nodeid for one in skipped if NOT_REACHED in str(one.longrepr)]
    if left:
        terminalreporter.section("TIME IS UP: THESE SLOW TESTS WERE NOT RUN", "!")
        for name in sorted({one.partition("[")[0] for one in left}):
            terminalreporter.write_line(name)
        terminalreporter.write_line(f"{len(left):,} tests. Run them with `make test-slow`.")
