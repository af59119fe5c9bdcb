"""The noise of every test that runs in the test's own process is the same at each run.

leakcap draws from the operating system. A test that looks at what was drawn (an audit at 95 %, an interval
that holds nineteen times in twenty) would fail by chance, once in many runs. So the bytes behind
`leakcap.sampling.system_bytes` are those of a generator that the test's own name seeds. Processes that a
test starts, and forks of it, draw from the operating system.

`LEAKCAP_REAL_NOISE=1 pytest …` draws from the operating system everywhere.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import pytest

import leakcap.sampling.source as drawn
from seeded import SeededSource

REAL = "LEAKCAP_REAL_NOISE"


class NamedNoise:
    """Bytes that a name decides, for one process: a fork of it is given the operating system's."""

    def __init__(self, name: str) -> None:
        self._source = SeededSource(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
        self._process, self._turn = os.getpid(), threading.Lock()

    def __call__(self, n: int, /) -> bytes:
        if os.getpid() != self._process:
            return os.urandom(n)
        with self._turn:
            return self._source(n)


@contextmanager
def noise_of(name: str) -> Iterator[None]:
    """While this holds, `system_bytes` gives the bytes that `name` decides."""
    with mock.patch.object(drawn, "os", SimpleNamespace(urandom=NamedNoise(name))):
        yield


class SeededNoise:
    """A plugin: each test, and each fixture that several tests share, has noise by its own name."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with noise_of(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        with noise_of(f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"):
            return (yield)
