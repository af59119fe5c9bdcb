"""Processes that end are started again, each in its own time."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from leakcap.service.running import supervisor
from leakcap.service.running.supervisor import Child, Supervisor


class Ended:
    """A process that ended as soon as it was started, or, where it `lives`, goes on."""

    def __init__(self, lives: bool) -> None:
        self.returncode = None if lives else 1

    def poll(self) -> int | None:
        return self.returncode


class Moments:
    """A clock that moves on where one sleeps, and ends the supervisor after a while."""

    def __init__(self, watched: Supervisor, until: float) -> None:
        self.now, self._watched, self._until = 0.0, watched, until

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._watched._ending = self.now > self._until


def started(
    monkeypatch: pytest.MonkeyPatch, lives_after: dict[str, int], until: float
) -> dict[str, list[float]]:
    """When each of these children was started, of which all but the last of so many starts fail at once."""
    watched, found = object.__new__(Supervisor), dict[str, list[float]]()
    watched._ending = False
    watched.children = [Child(role, [], []) for role in lives_after]
    clock = Moments(watched, until)

    def start(command: list[str], **_: Any) -> Ended:
        role = command[3]
        found.setdefault(role, []).append(round(clock.now, 2))
        return Ended(len(found[role]) >= lives_after[role])

    monkeypatch.setattr(supervisor, "time", clock)
    monkeypatch.setattr(subprocess, "Popen", start)
    watched.start()
    watched.watch()
    return found


def test_all_that_end_at_once_are_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their database is away for a while: eight wait as long as one, not one after the other."""
    roles = [f"web{number}" for number in range(8)]
    found = started(monkeypatch, dict.fromkeys(roles, 5), 20.0)
    assert len({tuple(times) for times in found.values()}) == 1
    assert all(len(times) == 5 and times[-1] < 5.0 for times in found.values())


def test_whoever_ends_time_and_again_does_not_keep_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = started(monkeypatch, {"broken": 100, "web": 2}, 20.0)
    assert found["web"][1] <= 0.2
    pauses = [after - before for before, after in zip(found["broken"], found["broken"][1:], strict=False)]
    assert pauses[:3] == sorted(pauses[:3])
    assert all(3.0 <= pause <= 3.2 for pause in pauses[3:])
