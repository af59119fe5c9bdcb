"""Imports only point down: the order of the rooms is a fact of the code, not of a drawing."""

from __future__ import annotations

import ast
from pathlib import Path

import leakcap

SOURCE = Path(leakcap.__file__).parent

FLOORS: tuple[tuple[str, ...], ...] = (
    ("credentials", "lazily"),
    ("errors",),
    ("apart", "cards", "numeric", "plain", "progress"),
    ("sampling",),
    ("bound",),
    ("channel", "divergence", "adversary"),
    ("capacities",),
    ("gain",),
    ("leakage",),
    ("refinement",),
    ("utility",),
    ("mechanism",),
    ("definition",),
    ("accounting",),
    ("ledger",),
    ("statement",),
    ("release",),
    ("models", "audit"),
    ("attack",),
    ("report",),
    ("web",),
    ("cli",),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}


def rooms_of(path: Path) -> str:
    part = path.relative_to(SOURCE).parts[0]
    return part.removesuffix(".py")


def imported_rooms(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("leakcap"):
            rest = node.module.split(".")[1:]
            names |= {rest[0]} if rest else {alias.name for alias in node.names if alias.name in FLOOR}
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("leakcap.")}
    return names


def upward(path: Path, text: str) -> list[str]:
    here = rooms_of(path)
    return [
        f"{path.name} of `{here}` imports `{other}`"
        for other in sorted(imported_rooms(ast.parse(text)))
        if other != here and FLOOR.get(other, 99) >= FLOOR[here]
    ]


def files() -> list[Path]:
    return [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


def test_every_room_has_a_floor() -> None:
    assert {rooms_of(p) for p in files()} <= set(FLOOR)


def test_imports_point_down() -> None:
    assert len(files()) > 20
    assert [fault for p in files() for fault in upward(p, p.read_text())] == []


def test_an_upward_import_is_caught() -> None:
    assert upward(SOURCE / "numeric" / "new.py", "from leakcap.release import PrivateTable")
    assert upward(SOURCE / "channel.py", "import leakcap.divergence")
