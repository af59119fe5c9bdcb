"""Servers that the tests of engines share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def server(postgresql_server: str) -> str:
    return f"{postgresql_server}/postgres"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from leakcap.release.engine.spark import local_session

    session = local_session(2)
    session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
