"""Servers that the tests of engines share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def server(postgresql_server: str) -> str:
    return f"{postgresql_server}/postgres"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark of this process. What Python holds of it, Java holds too: garbage is looked for as often as
    Python does, not as seldom as in other tests, or Java's memory is full after some hundred statements.
    """
    from leakcap.release.engine.spark import local_session

    session = local_session(2)
    session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    seldom = gc.get_threshold()
    gc.set_threshold(2_000, 10, 10)
    yield session
    gc.set_threshold(*seldom)
    session.stop()
