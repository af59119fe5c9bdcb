"""Imports only point down: the order of the rooms is a fact of the code, not of a drawing."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import leakcap

SOURCE = Path(leakcap.__file__).parent

FLOORS: tuple[tuple[str, ...], ...] = (
    ("arrays", "credentials", "lazily"),
    ("errors",),
    ("apart", "cards", "keyed", "numeric", "plain", "progress", "uncollected"),
    ("sampling",),
    ("certificate",),
    ("bound",),
    ("channel", "divergence", "adversary"),
    ("capacities",),
    ("gain",),
    ("leakage",),
    ("refinement", "program"),
    ("utility",),
    ("mechanism",),
    ("definition",),
    ("accounting",),
    ("ledger",),
    ("policy",),
    ("disclosure", "statement"),
    ("release",),
    ("models", "audit", "owner", "tables", "integrations"),
    ("attack", "choosing", "running", "synthesis"),
    ("report",),
    ("wire",),
    ("client", "web"),
    ("service",),
    ("cli",),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}


@cache
def imports_in(text: str) -> tuple[ast.AST, ...]:
    """The statements that import something. Read once: two tests ask, and to parse all takes a second."""
    return tuple(
        node for node in statements(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
    )


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, also within others; no expression holds one, and expressions are most of a tree."""
    held: list[ast.AST] = [tree]
    while held:
        node = held.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            held += getattr(node, block, ())


def rooms_of(path: Path) -> str:
    part = path.relative_to(SOURCE).parts[0]
    return part.removesuffix(".py")


def imported_rooms(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
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
        for other in sorted(imported_rooms(imports_in(text)))
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


@pytest.mark.parametrize(
    "around",
    [
        "def f():\n    {}",
        "class C:\n    async def f(self):\n        async with a as b:\n            {}",
        "if a:\n    pass\nelif b:\n    pass\nelse:\n    {}",
        "try:\n    {}\nfinally:\n    pass",
        "try:\n    pass\nexcept E:\n    {}",
        "try:\n    pass\nexcept* E:\n    {}",
        "try:\n    pass\nexcept E:\n    pass\nelse:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "for a in b:\n    pass\nelse:\n    {}",
        "while a:\n    {}",
        "match a:\n    case 1:\n        {}",
    ],
)
def test_an_upward_import_is_caught_wherever_it_stands(around: str) -> None:
    assert upward(SOURCE / "numeric" / "new.py", around.format("from leakcap.release import PrivateTable"))


SUBROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "attack": (("value", "chance"), ("codes",), ("wifi",), ("correlated",), ("games", "tables")),
    "capacities": (("verb", "solvers", "noise"), ("given", "diameter"), ("records", "level", "cost")),
    "ledger": (
        tuple(path.stem for path in sorted((SOURCE / "ledger").glob("[a-z]*.py"))),
        ("custody",),
    ),
    "report": (("render", "words", "records"), ("plots",), ("sections", "terminal"), ("pages",)),
    "release": (
        ("query",),
        ("numbers",),
        ("columns",),
        ("conditions",),
        ("measurements",),
        ("plan",),
        ("statistics",),
        ("engine",),
        ("planning",),
        ("results",),
        ("asking",),
        ("sql",),
    ),
    "service": (
        ("job_times",),
        ("configuration", "faults", "requests", "store", "ticks", "tracing", "telemetry"),
        ("engine", "identity"),
        ("authorization",),
        ("api", "console"),
        ("running",),
    ),
    "web": (("figures", "reading", "serving"), ("pages", "choosing", "channels", "releasing")),
}
"""Of the large rooms what lies above what; what is not named lies above all of it."""


def name_of(path: Path) -> str:
    return ".".join(("leakcap", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


KNOWN = {name_of(path) for path in files()}


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The modules of leakcap that these nodes of a file import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("leakcap"):
            found = (f"{node.module}.{alias.name}" for alias in node.names)
            names |= {one if one in KNOWN else node.module for one in found}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & KNOWN


@cache
def imported_by(text: str) -> frozenset[str]:
    """The modules of leakcap that a file imports, wherever in it."""
    return frozenset(imported(imports_in(text)))


def loop(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Some files each of which imports the next, and the last the first; none where there are none."""
    try:
        TopologicalSorter({name: {*others} - {name} for name, others in graph.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_file_imports_itself_by_way_of_others() -> None:
    """Not for types either, and not from within a function."""
    graph = {}
    for path in files():
        graph[name_of(path)] = imported_by(path.read_text())
    assert sum(map(len, graph.values())) > 1000
    assert loop(graph) == []


def test_a_planted_loop_is_found() -> None:
    assert sorted(set(loop({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}))) == ["b", "c"]
    assert loop({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    for head in ("def f():", "if TYPE_CHECKING:"):
        text = f"{head}\n    from leakcap.channel.finite import Channel"
        assert imported(ast.walk(ast.parse(text))) == {"leakcap.channel.finite"}


def height(room: str, part: str) -> int:
    rows = SUBROOMS[room]
    return next((i for i, row in enumerate(rows) if part in row), len(rows))


def climbing(path: Path, text: str) -> list[str]:
    """Imports of a room's file from parts of the room that lie above its own."""
    room, *rest = name_of(path).split(".")[1:]
    if room not in SUBROOMS or not rest:
        return []
    found = (one.split(".") for one in imported_by(text))
    others = sorted({one[2] for one in found if one[1:2] == [room] and len(one) > 2})
    return [f"{name_of(path)} imports {one}" for one in others if height(room, one) > height(room, rest[0])]


def test_inside_the_large_rooms_imports_point_down_too() -> None:
    parts = [SOURCE / room / part for room, rows in SUBROOMS.items() for row in rows for part in row]
    assert [part for part in parts if not (part.is_dir() or part.with_suffix(".py").is_file())] == []
    assert [fault for path in files() for fault in climbing(path, path.read_text())] == []


def test_a_climbing_import_inside_a_room_is_caught() -> None:
    text = "from leakcap.attack.games.classics import averaging"
    assert climbing(SOURCE / "attack" / "codes" / "new.py", text)
    text = "if TYPE_CHECKING:\n    from leakcap.release.planning.queries import Query"
    assert climbing(SOURCE / "release" / "statistics" / "new.py", text)
    text = "from leakcap.ledger.custody.moving import move"
    assert climbing(SOURCE / "ledger" / "ledger.py", text)
    assert not climbing(SOURCE / "attack" / "tables" / "new.py", text)
