"""What all tests of hostile rows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.conftest import server, spark
from hostile_rows.pairs import few_cells

__all__ = ["server", "spark"]


@pytest.fixture(autouse=True)
def _few_cells() -> Iterator[None]:
    with few_cells():
        yield
