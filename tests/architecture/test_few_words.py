"""A process that works for another one tells it what the run must know of each test, and no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest
from xdist import remote

from few_words import LONG, pytest_sessionstart

HOOKS = ("pytest_runtest_logstart", "pytest_runtest_logfinish", "pytest_runtest_logreport")


class WorkerInteractor:
    """What xdist has by this name, as far as it tells of tests."""

    def __init__(self) -> None:
        self.told: list[object] = []

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self.told.append(nodeid)

    @pytest.hookimpl
    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        self.told.append(nodeid)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.told.append((report.when, report.outcome, bool(report.sections), report.duration))


Told = tuple[
    Literal["setup", "call", "teardown"], Literal["passed", "failed", "skipped"], list[tuple[str, str]], float
]


def told_of(reports: list[Told], *, quiet: bool) -> list[object]:
    plugins = pytest.PytestPluginManager()
    teller = WorkerInteractor()
    plugins.register(teller)
    if quiet:
        session = SimpleNamespace(config=SimpleNamespace(pluginmanager=plugins))
        pytest_sessionstart(cast(Any, session))
    place = ("test_it.py", 1, "test")
    plugins.hook.pytest_runtest_logstart(nodeid="test_it.py::test", location=place)
    for when, outcome, sections, duration in reports:
        report = pytest.TestReport(
            "test_it.py::test", place, {}, outcome, None, when, sections=sections, duration=duration
        )
        plugins.hook.pytest_runtest_logreport(report=report)
    plugins.hook.pytest_runtest_logfinish(nodeid="test_it.py::test", location=place)
    return teller.told


def test_of_a_test_that_passed_it_is_told_once() -> None:
    passed: list[Told] = [
        ("setup", "passed", [], 0.0),
        ("call", "passed", [], 0.0),
        ("teardown", "passed", [], 0.0),
    ]
    assert len(told_of(passed, quiet=False)) == 5
    assert told_of(passed, quiet=True) == [("call", "passed", False, 0.0)]


@pytest.mark.parametrize(
    "told",
    [
        ("setup", "failed", [], 0.0),
        ("setup", "skipped", [], 0.0),
        ("setup", "passed", [("Captured stdout setup", "x")], 0.0),
        ("setup", "passed", [], LONG),
        ("call", "failed", [], 0.0),
        ("call", "passed", [], 0.0),
        ("teardown", "failed", [], 0.0),
        ("teardown", "passed", [("Captured stderr teardown", "x")], 0.0),
        ("teardown", "passed", [], LONG),
    ],
)
def test_whatever_the_run_must_know_is_told(told: Told) -> None:
    when, outcome, sections, duration = told
    assert told_of([told], quiet=True) == [(when, outcome, bool(sections), duration)]


def test_xdist_still_tells_by_these_hooks() -> None:
    """Under another name nothing would be taken the place of, and all six messages sent."""
    assert all(callable(getattr(remote.WorkerInteractor, name)) for name in HOOKS)
