"""Do what a page about the curator shows, line by line, with the real processes.

`curator init` and its passwords, a curator that runs to the end of the page, `leakcap login` with the
password that was shown, Python, and R, whose blocks are one program. The page's port becomes a free one. A
page that says `<!-- after: tutorials/curator.md -->` goes on where that one has its curator running.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ending_with_us import with_us
from manual_pages import ROOT, WRITTEN, Block, blocks, prepare

PAGE_PORT = "8422"
CHOSEN = "a horse that nobody staples"
LEAKCAP = [sys.executable, "-c", "from leakcap.cli.main import run; run()"]


@dataclass
class Played:
    """What was done so far: the folder, the port, what commands told, and the curators that run."""

    folder: Path
    port: int
    told: list[str] = field(default_factory=list)
    passwords: dict[str, str] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def library(self) -> Path:
        """Where R's packages of the page are."""
        place = self.folder / "library"
        place.mkdir(exist_ok=True)
        return place

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "NO_COLOR": "1",
            "R_LIBS": str(self.library),
        }

    def play(self, page: Path, *, until: str = "") -> None:
        """All blocks of a page, in order; those before the one that has the words `until`."""
        text = page.read_text(encoding="utf-8").replace(PAGE_PORT, str(self.port))
        before = re.search(r"^<!-- after: (\S+) -->$", text, re.MULTILINE)
        if before:
            self.play(ROOT / "docs" / before[1], until="leakcap login")
        program = ""
        for block in blocks(text):
            where = f"{page.name}:{block.line}"
            if until and until in block.text:
                return
            if block.language in WRITTEN:
                assert block.title, f"{where}: a file without a title"
                (self.folder / block.title).write_text(block.text, encoding="utf-8")
            elif block.language == "text":
                assert block.text.startswith("R CMD INSTALL clients/r\n"), f"{where}: shown, and not played"
                self._program(
                    ["R", "CMD", "INSTALL", f"--library={self.library}", str(ROOT / "clients/r")], where
                )
            elif block.language == "python":
                self._program([sys.executable, "-c", block.text], where)
            elif block.language == "r":
                program += block.text
            else:
                assert block.language in ("sh", "console"), f"{where}: nobody plays {block.language!r}"
                self._steps(block, where)
        if program:
            (self.folder / "page.R").write_text(program, encoding="utf-8")
            self._program(["Rscript", "page.R"], page.name)

    def _steps(self, block: Block, where: str) -> None:
        text = block.text.replace("\\\n", " ")
        if block.language == "sh":
            for line in filter(str.strip, text.splitlines()):
                self._command(line, where)
            return
        for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, shown = step.partition("\n")
            self._shown(self._command(line, where), shown, where)

    def _shown(self, told: str, shown: str, where: str) -> None:
        """Its lines stand in what was told, in order; `…` is anything."""
        flat, wanted = " ".join(told.split()), " ".join(shown.split())
        pattern = ".*?".join(map(re.escape, wanted.split("…")))
        assert re.search(pattern, flat, re.DOTALL), f"{where}: {told!r} is not {shown!r}"

    def _command(self, line: str, where: str) -> str:
        words = shlex.split(line, comments=True)
        if words[:2] == ["pip", "install"]:
            extra = re.fullmatch(r"leakcap\[([a-z]+)\]", words[2])
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert extra, where
            assert extra[1] in project["optional-dependencies"], where
            return ""
        if words[:3] == ["leakcap", "curator", "run"]:
            return self._run(words, where)
        if words[0] == "leakcap":
            return self._leakcap(words, where)
        assert words[0] in ("cp", "chmod", "mkdir", "mv", "rm"), f"{where}: {words[0]!r} is not played"
        subprocess.run(words, cwd=self.folder, check=True, timeout=30)
        return ""

    def _leakcap(self, words: list[str], where: str) -> str:
        given = None
        if words[1] == "login":
            name = words[words.index("--name") + 1]
            # The first time they choose their own in place of the one that was shown.
            given = f"{self.passwords[name]}\n{CHOSEN}\n"
            self.passwords[name] = CHOSEN
        done = subprocess.run(
            [*LEAKCAP, *words[1:]],
            cwd=self.folder,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
        found = re.findall(r"^local:(\S+)\s+password, shown once: (\S+)$", done.stdout, re.MULTILINE)
        self.passwords |= dict(found)
        if words[1:3] == ["curator", "init"]:
            file = self.folder / "curator.toml"
            file.write_text(file.read_text().replace(PAGE_PORT, str(self.port)))
        self.told.append(done.stdout)
        return done.stdout + done.stderr

    def _run(self, words: list[str], where: str) -> str:
        command = with_us([*LEAKCAP, *words[1:]])
        with (self.folder / "curator.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=self.environment)
        self.running.append(process)
        give_up = time.monotonic() + 90.0
        while not answers(self.port):
            told = (self.folder / "curator.log").read_text()[-3000:]
            waiting = process.poll() is None and time.monotonic() < give_up
            assert waiting, f"{where}: {told}"
            time.sleep(0.1)
        return (self.folder / "curator.log").read_text()

    def _program(self, words: list[str], where: str) -> None:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
        self.told.append(done.stdout)

    def end(self) -> None:
        """End the curators, as Ctrl-C does."""
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        self.running.clear()


def answers(port: int) -> bool:
    """Whether a curator is ready there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as told:
            return bool(told.status == 200)
    except OSError:
        return False


def free_port() -> int:
    """A port of loopback that nobody had a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def playing(folder: Path) -> Iterator[Played]:
    """A folder with the examples, in which pages are played; what they started is ended."""
    prepare(folder)
    played = Played(folder, free_port())
    try:
        yield played
    finally:
        played.end()
