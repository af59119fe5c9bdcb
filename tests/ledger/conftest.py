from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leakcap.ledger import Caps, Charge, Ledger, Spend
from ledger.server import emptied
from warmed import Warmed

POLICY = "ab12cd34ef56ab78"
CAPS = Caps(epsilon=0.9)
Open = Callable[..., Ledger]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hospital.db"


@pytest.fixture
def opened(file: Path) -> Iterator[Open]:
    """Open the test's ledger file; every ledger is closed at the end."""
    ledgers: list[Ledger] = []

    def open_(caps: Caps = CAPS, **options: Any) -> Ledger:
        asked = {"dataset": "patients", "policy": POLICY, "caps": caps} | options
        ledgers.append(Ledger.open(f"sqlite:///{file}", **asked))
        return ledgers[-1]

    yield open_
    for ledger in ledgers:
        ledger.close()


@pytest.fixture(scope="session")
def server(postgresql_server: str) -> str:
    """The URL of a PostgreSQL server that runs as long as the tests do."""
    return postgresql_server


@pytest.fixture
def database(server: str) -> str:
    """The URL of an empty database."""
    return emptied(server, "ledger")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, file: Path) -> str:
    """Both kinds of place that a ledger can have."""
    return f"sqlite:///{file}" if request.param == "sqlite" else str(request.getfixturevalue("database"))


@pytest.fixture
def charge() -> Callable[..., Charge]:
    def make(epsilon: float = 0.1, **spend: float) -> Charge:
        return Charge("malignant", "count where diagnosis = 'malignant'", Spend(epsilon, **spend))

    return make


@pytest.fixture
def sql(file: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """What someone with the file and an SQLite shell can do."""

    def run(*statements: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            return [row for statement in statements for row in connection.execute(statement).fetchall()]

    return run


@pytest.fixture
def started(file: Path) -> Iterator[Callable[..., Warmed]]:
    """Start a Python process with `ledger` opened under a cap, running the given code."""
    processes: list[Warmed] = []
    head = "import sys, time, os\nfrom leakcap.ledger import *\n"

    def start(code: str, caps: str = "Caps(epsilon=0.9)", url: str = f"sqlite:///{file}") -> Warmed:
        opening = f"ledger = Ledger.open({url!r}, dataset='patients', policy={POLICY!r}, caps={caps})\n"
        processes.append(Warmed(head + opening + code))
        return processes[-1]

    yield start
    for process in processes:
        process.close()
