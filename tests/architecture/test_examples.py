"""Examples of docstrings are looked for in every file that holds one, and in no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

import docstrings


def left(path: Path, found: list[Any]) -> list[Any]:
    """What the hook leaves of what pytest would collect of a file."""
    hook = docstrings.pytest_collect_file(path)
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(found)
    kept: list[Any] = ended.value.value
    return kept


@pytest.mark.parametrize(
    ("text", "searched"), [('"""A sum.\n\n>>> 1 + 1\n2\n"""\n', True), ('"""A sum: 1 + 1 > 1."""\n', False)]
)
def test_examples_are_looked_for_where_there_is_one(text: str, searched: bool, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text, encoding="utf-8")
    tests, examples = object(), object.__new__(DoctestModule)
    assert left(tmp_path / "one.py", [tests, examples]) == ([tests, examples] if searched else [tests])
    assert left(tmp_path / "none.txt", [tests]) == [tests]
