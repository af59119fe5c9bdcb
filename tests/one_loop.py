"""Requests of a test's client share one event loop, as those of a web worker do.

Starlette's client starts a loop and a thread for each request, a quarter of what a request takes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

__all__ = ["one_loop"]


@pytest.fixture(scope="session", autouse=True)
def one_loop() -> Iterator[None]:
    """For the tests of a room whose conftest.py names it, which processes of the tests import, too."""
    from anyio.from_thread import start_blocking_portal
    from starlette.testclient import TestClient

    with start_blocking_portal() as portal, mock.patch.object(TestClient, "portal", portal):
        yield
