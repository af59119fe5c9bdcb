"""Run `leakcap` in this process as the console script does: entry point, arguments, codes and streams."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from leakcap.cli.main import run

__all__ = ["Done", "leakcap"]


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
