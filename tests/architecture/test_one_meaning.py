"""A name is one meaning: no public class of one file is called like that of another."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import leakcap

SOURCE = Path(leakcap.__file__).parent

ALLOWED: dict[str, str] = {}
"""Names that two classes may have, each with the reason."""


def twice(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The public classes that stand in several files, given as names with their texts."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, text in files:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name)
    return {one: names for one, names in found.items() if len(names) > 1}


def test_no_class_is_called_like_another() -> None:
    files = [(path.relative_to(SOURCE).as_posix(), path.read_text()) for path in sorted(SOURCE.rglob("*.py"))]
    assert len(files) > 400
    found = twice(files)
    assert {name: found[name] for name in found.keys() - ALLOWED.keys()} == {}
    assert ALLOWED.keys() <= found.keys(), "a name on the list is no longer twice there"


def test_a_planted_second_one_is_found() -> None:
    one = ("a.py", "class Plan:\n    pass\n\n\nclass _Own:\n    pass\n")
    other = ("b.py", "class Plan:\n    pass\n\n\nclass _Own:\n    pass\n")
    assert twice([one, other]) == {"Plan": ["a.py", "b.py"]}
    assert twice([one, ("b.py", "from a import Plan")]) == {}
