"""Processes of their own, forked from one that has loaded leakcap: a fresh interpreter takes half a second.

For tests of what processes do to each other. What a fresh interpreter itself does, such as what it
imports, is tested with `alone` and with `subprocess`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TextIO
from unittest import mock

__all__ = ["Warmed", "done_warmed", "pytest_warmed"]


class Warmed:
    """A process that runs `code` as `python -c code words` would; the part of `Popen` that the tests use.

    `stdin` and `stdout` are pipes; what it wrote to the standard error is `error()`, once it has ended.
    """

    def __init__(self, code: str, *words: str, folder: Path | None = None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["loaded_for_forks"])
        paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
        with mock.patch.dict(os.environ, PYTHONPATH=paths):
            forkserver.ensure_running()
        asked, inlet = os.pipe()
        outlet, told = os.pipe()
        self.stdin = os.fdopen(inlet, "w", encoding="utf-8")
        self.stdout: TextIO = os.fdopen(outlet, encoding="utf-8")
        with tempfile.NamedTemporaryFile(delete=False) as errors:
            self._errors = Path(errors.name)
        streams = (Connection(asked, writable=False), Connection(told, readable=False))
        where = os.getcwd() if folder is None else str(folder)
        self._process = context.Process(target=_run, args=(code, words, where, streams, str(self._errors)))
        self._process.start()
        for stream in streams:
            stream.close()

    @property
    def returncode(self) -> int | None:
        """The exit status, minus the signal where one ended it."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        """The exit status, once it has ended."""
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", seconds or 0.0)
        return self._process.exitcode

    def communicate(self, seconds: float | None = None) -> tuple[str, str]:
        """All that it still prints, and what it wrote to the standard error."""
        if not self.stdin.closed:
            self.stdin.close()
        out = "" if self.stdout.closed else self.stdout.read()
        self.stdout.close()
        self.wait(seconds)
        return out, self.error()

    def error(self) -> str:
        """What it wrote to the standard error."""
        return self._errors.read_text() if self._errors.exists() else ""

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self._process.kill()

    def close(self) -> None:
        """End it if it still runs, and leave nothing behind."""
        self.kill()
        self.communicate()
        self._errors.unlink(missing_ok=True)
        self._process.close()


def done_warmed(
    code: str, *words: str, folder: Path | None = None, seconds: float = 900.0
) -> subprocess.CompletedProcess[str]:
    """Run `code` to its end, as `subprocess.run` would."""
    process = Warmed(code, *words, folder=folder)
    try:
        out, error = process.communicate(seconds)
        assert process.returncode is not None
        return subprocess.CompletedProcess(code, process.returncode, out, error)
    finally:
        process.close()


def pytest_warmed(
    *words: str | Path, folder: Path, settings: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run pytest with these words in a folder, with no plugins but its own, in a forked process.

    `settings` are set in its environment, and those that are None taken out. To start an interpreter, pytest
    and what a `conftest.py` imports took most of the time of a test of what a run does.
    """
    asked = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(settings or {})}
    code = f"""
import atexit, os, sys
import pytest
for name, word in {asked!r}.items():
    os.environ.pop(name, None) if word is None else os.environ.update({{name: word}})
ended = pytest.main({[*map(str, words)]!r})
atexit._run_exitfuncs()  # which a forked process ends without: pytest lets go of its folders there
sys.exit(int(ended))
"""
    return done_warmed(code, folder=folder)


def _run(
    code: str, words: tuple[str, ...], folder: str, streams: tuple[Connection, Connection], errors: str
) -> None:
    """What the forked process does: a standard input and output of its own, then the code."""
    with open(errors, "wb") as file:
        for descriptor, stream in ((0, streams[0]), (1, streams[1]), (2, file)):
            os.dup2(stream.fileno(), descriptor)
    for stream in streams:
        stream.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.argv = ["-c", *words]
    os.chdir(folder)
    exec(compile(code, "<forked>", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()
