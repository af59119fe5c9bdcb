"""What is loaded before anything is asked: the package, the list of commands."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import get_type_hints

import numpy
import pytest
import typer.main

import leakcap
from leakcap.arrays import NDArray, np
from leakcap.cli.main import app
from leakcap.numeric.logspace import logsumexp

HEAVY = (
    {"numpy", "duckdb", "sqlalchemy", "sqlglot", "pydantic", "jinja2", "scipy"}
    # Classes of Pydantic and data classes, which are made when they are imported.
    | {f"leakcap.report.records.{name}" for name in ("custody", "ledger", "tables", "versions")}
    | {f"leakcap.report.{name}" for name in ("render.document", "terminal.tables", "terminal.workloads")}
    | {f"leakcap.tables.{name}" for name in ("answer", "charge", "files", "plan", "question")}
    # What a ledger tells, moves and plans: nothing is asked of one.
    | {
        f"leakcap.ledger.{name}"
        for name in ("told", "transfers", "exporting", "paying", "slots", "slot_laws")
    }
)


def loaded(program: str) -> set[str]:
    """The heavy packages that a fresh process has loaded at the end of this program."""
    told = f"{program}\nimport sys; print('loaded:', *sorted(set(sys.modules) & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


HELP = """
import contextlib, io, sys
from leakcap.cli.main import app
sys.argv = ["leakcap", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
    app()
assert "dalenius" in shown.getvalue()
"""


@pytest.mark.parametrize("program", ["import leakcap", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded_before_it_is_asked_for(program: str) -> None:
    assert loaded(program) == set()


PREVIEW = """
import contextlib, gc, io, sys
from leakcap_command import run
sys.argv = ["leakcap", "preview", "examples/hospital/release.toml"]
before = gc.get_stats()
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
    run()
assert "malignant" in shown.getvalue()
searches = [after["collections"] - one["collections"] for one, after in zip(before, gc.get_stats())]
assert sum(searches) <= 5, searches
assert gc.get_freeze_count() > 10_000
"""


def test_a_preview_waits_for_no_database_and_no_arrays() -> None:
    assert loaded(PREVIEW) == {"pydantic", "sqlglot"}


def test_numpy_is_loaded_when_it_is_asked_for() -> None:
    assert loaded("from leakcap.arrays import ArrayLike, NDArray, np") == set()
    assert loaded("from leakcap.arrays import np; np.zeros(1)") == {"numpy"}
    assert np.zeros(2).tolist() == [0.0, 0.0]
    assert np.linalg is numpy.linalg
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = np.nonsense  # type: ignore[attr-defined]


def test_annotations_can_still_be_read() -> None:
    assert get_type_hints(logsumexp)["axis"] == int | None
    assert get_type_hints(quiet)["return"].__args__ == (numpy.float64,)


def quiet() -> NDArray[np.float64]:
    """For the test above."""
    return np.zeros(1)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("lc.capacity(noise, lc.Renyi(1), lc.AllPriors())", {"numpy"}),
        ("refines(noise, lc.Channel([[0.6, 0.4], [0.4, 0.6]]))", {"numpy"}),
        (
            "lc.utility.least_bayes_vulnerability([0.5, 0.5], [[0, 1], [1, 0]], max_loss=0.1)",
            {"numpy", "scipy"},
        ),
    ],
)
def test_scipy_is_installed_with_leakcap_and_loaded_where_a_linear_program_is(
    asked: str, wanted: set[str]
) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert any(need.startswith("scipy") for need in project["dependencies"])
    noise = "noise = lc.Channel([[0.75, 0.25], [0.25, 0.75]])"
    assert loaded(f"import leakcap as lc\nfrom leakcap.refinement import refines\n{noise}\n{asked}") == wanted


ROOMS = (
    "",
    ".capacities",
    ".definition",
    ".disclosure",
    ".ledger",
    ".mechanism",
    ".release",
    ".release.engine",
    ".report",
)


@pytest.mark.parametrize("room", [f"leakcap{room}" for room in ROOMS])
def test_no_module_stands_in_the_place_of_a_name(room: str) -> None:
    """A module of the same name would be found instead, once anything has imported it."""
    package, modules = importlib.import_module(room), set()
    for name in package.__all__:
        value = getattr(package, name)
        if isinstance(value, types.ModuleType):
            assert value.__name__.startswith(f"{room}."), name
            modules.add(name)
        assert name in dir(package)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{room}.{module.name}")
    for name in package.__all__:
        assert name in modules or not isinstance(getattr(package, name), types.ModuleType), name
    with pytest.raises(AttributeError, match=f"module `{room}` has no attribute 'nonsense'"):
        _ = package.nonsense


def test_the_test_sees_what_is_loaded() -> None:
    assert loaded("import leakcap; leakcap.Channel([[1.0]])") == {"numpy"}


def test_each_public_name_is_loaded_from_its_own_home() -> None:
    for name in leakcap.__all__:
        value = getattr(leakcap, name)
        assert getattr(value, "__name__", name).rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = leakcap.nonsense  # type: ignore[attr-defined]


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    group = typer.main.get_command(app)
    assert len(group.homes) > 10  # type: ignore[attr-defined]
    for name, home in group.homes.items():  # type: ignore[attr-defined]
        said = str(group.commands[name].help).partition("\n\n")[0]  # type: ignore[attr-defined]
        assert " ".join(said.split()) == home.about, name


def test_a_preview_does_not_wait_for_solvers() -> None:
    """Ten searches are imported in a sixth of its time, and a preview asks for none of them."""
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1.0},
        "columns": {"age": {"bounds": [0.0, 120.0]}},
    }
    asked = (
        "import sys; from leakcap.release import Query, preview; "
        f"preview([Query(name='n', statistic='count', epsilon=1.0)], policy={policy!r}); "
        "print([name for name in sys.modules if name.startswith(('leakcap.capacities.radius', "
        "'leakcap.capacities.records.'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", asked], text=True).strip() == "[]"
