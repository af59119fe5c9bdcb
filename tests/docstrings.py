"""Examples in docstrings are looked for only in files that hold one: in all it took two seconds of a process.

A file without `>>>` has none, and need not be loaded for them. Nearly all files of tests are such, and half
of the sources.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

__all__ = ["pytest_collect_file"]

PROMPT = b">>>"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Leave out the search of a file where nothing can be found."""
    found = yield
    if any(isinstance(one, DoctestModule) for one in found) and PROMPT not in file_path.read_bytes():
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found
