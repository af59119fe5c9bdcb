from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from leakcap.service.store import Store, database
from ledger.server import emptied
from one_loop import one_loop

__all__ = ["one_loop"]

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Argon2 with as little work as it does: the tests of passwords do it hundreds of times."""


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 27, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> datetime:
        self.now += timedelta(**time)
        return self.now


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture(scope="session")
def server(postgresql_server: str) -> str:
    """The URL of a PostgreSQL server that runs as long as the tests do."""
    return postgresql_server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Both kinds of place that a store can have."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return emptied(request.getfixturevalue("server"), "store")


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """For tests of what does not hang on the kind of database."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def opened(clock: Hands, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Store]]:
    """Open a store; every store is closed at the end. It has one connection: whoever waited for a second one
    while they hold it would wait for ever."""
    for name in ("_TO_A_SERVER", "_TO_A_FILE"):
        monkeypatch.setattr(database, name, 1)
    stores: list[Store] = []

    def open_(url: str) -> Store:
        stores.append(Store.open(url, clock=clock, hasher=QUICK))
        return stores[-1]

    yield open_
    for one in stores:
        one.close()


@pytest.fixture
def store(opened: Callable[[str], Store], url: str) -> Store:
    """A store with an administrator, `local:root`."""
    found = opened(url)
    found.people.add("local:root", by="curator")
    found.grants.give("local:root", "admin", by="curator")
    return found
