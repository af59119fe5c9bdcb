"""A process of pytest-xdist says of a test that passed that it passed, and no more.

It says of each test that it begins and ends, and of its setup, its call and its end that they passed: six
messages, each packed, sent, unpacked and thrown away by the process that is told, half a millisecond a test
and ten seconds of a run. Whatever failed, was skipped, printed something or took long is said as before.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

__all__ = ["pytest_sessionstart"]

LONG = 0.5
"""Seconds of a setup or an end, of which `--durations` is told."""


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """In a process that works for another one, take the place of what tells it."""
    plugins = session.config.pluginmanager
    for teller in plugins.get_plugins():
        if type(teller).__name__ == "WorkerInteractor":
            plugins.unregister(teller)
            teller.pytest_runtest_logstart = teller.pytest_runtest_logfinish = None
            teller.pytest_runtest_logreport = _only_what_matters(teller.pytest_runtest_logreport)
            plugins.register(teller)


def _only_what_matters(tell: Callable[[pytest.TestReport], None]) -> Callable[..., None]:
    @pytest.hookimpl
    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.sections or report.duration >= LONG:
            tell(report)

    return pytest_runtest_logreport
