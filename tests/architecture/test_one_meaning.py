"""A name is one meaning: no public class or function of one file is called like that of another."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import leakcap

SOURCE = Path(leakcap.__file__).parent

SAME_QUANTITY = (
    "one quantity, of what its room knows: a channel, an exact channel, a guarantee, a privacy loss"
)
ALLOWED: dict[str, str] = {
    "attach": "one verb: a training to a ledger, of each library; a table to an engine's connection",
    "bayes_capacity": SAME_QUANTITY,
    "compose": "one operation: of guarantees, and of what the statements say",
    "connect": "one verb: to a ledger's database, to a curator",
    "lift": SAME_QUANTITY,
    "lift_capacity": SAME_QUANTITY,
    "log_lift": SAME_QUANTITY,
    "posterior_vulnerability": SAME_QUANTITY,
    "renyi_of_pure": "one curve: as a closed form, and rounded up as the ledger needs it",
    "require": "one verb, an error unless it holds: of parameters, of queries, of what roles may do",
    "shannon_capacity": SAME_QUANTITY,
}
"""Names that two classes or functions may have, each with the reason."""

# A command's function is called like the command, and so like what it calls.
COMMANDS = "cli/"


def twice(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The public classes and functions that stand in several files, given as names with their texts."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, text in files:
        for node in ast.parse(text).body:
            told = isinstance(node, ast.ClassDef) or (
                isinstance(node, ast.FunctionDef) and not name.startswith(COMMANDS)
            )
            if told and not node.name.startswith("_"):
                found[node.name].append(name)
    return {one: names for one, names in found.items() if len(names) > 1}


def test_nothing_is_called_like_another() -> None:
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
    function = "def plan() -> None:\n    pass\n"
    assert twice([("a.py", function), ("b.py", function), ("cli/b.py", function)]) == {
        "plan": ["a.py", "b.py"]
    }
