"""Run `leakcap` in this process as the console script does: entry point, arguments, codes and streams."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

from leakcap.cli.main import app, run

__all__ = ["COMMANDS", "ROOT", "WHOLE", "Done", "example", "leakcap", "record_told", "tables_example"]

ROOT = Path(__file__).parents[1]
ENDLESS = {"serve"}
"""Commands that run until they are stopped; their own tests start them."""
OF_CURATOR = {"login", "logout", "password", "datasets", "job", "mcp"}
"""Commands that ask a curator and nothing else; `tests/client` has one for them."""


def walk(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield " ".join(path), command
        return
    for name, child in children.items():
        yield from walk(child, (*path, name))


WHOLE = typer.main.get_command(app)
"""Built once: a command line does it for each of its runs, and a process has only one."""
COMMANDS = {
    name: command
    for name, command in walk(WHOLE)
    if name not in ENDLESS | OF_CURATOR and not name.startswith("curator ")
}
"""But for those that begin and run a curator, which `tests/service` does."""


def example(name: str) -> list[str]:
    """The words of the example in a command's help, which may run over several lines."""
    text = str(getattr(COMMANDS[name], "help", ""))
    found = re.search(r"Example: leakcap ((?:.+\n?)+)", text)
    assert found, f"`leakcap {name}` has no example in its help"
    return shlex.split(found[1])


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def leakcap(*args: str | Path, cwd: Path | None = None) -> Done:
    """Run `leakcap args…` in `cwd`. What escapes `run` would be a traceback at a user: it fails the test."""
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(cwd or before)
    code = 0
    try:
        with (
            mock.patch.object(typer.main, "get_command", return_value=WHOLE),
            mock.patch.object(sys, "argv", ["leakcap", *map(str, args)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                run()
            except SystemExit as stop:
                code = int(stop.code or 0)
    finally:
        os.chdir(before)
    return Done(code, out.getvalue(), err.getvalue())


def record_told(*words: str, place: Path) -> dict[str, Any]:
    """What a command prints with --json, which succeeds and says nothing else."""
    done = leakcap(*words, "--json", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tables_example(place: Path) -> Path:
    """`place` with a copy of the example of tables and of the data that it is about."""
    unused = shutil.ignore_patterns("*.db*")
    shutil.copytree(ROOT / "examples/tables", place / "examples/tables", ignore=unused)
    (place / "examples/hospital").mkdir()
    shutil.copy(ROOT / "examples/hospital/patients.parquet", place / "examples/hospital")
    return place
