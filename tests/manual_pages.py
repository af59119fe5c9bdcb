"""Run what a page of the manual shows, from its first block to its last, as a reader would.

| block | what happens |
|---|---|
| `python` | run, all blocks of a page in one namespace; with `>>>` as a doctest |
| `console` | each line after `$ ` is run, and compared with what stands below it (`…` is anything) |
| `$ … # exit 2` | the command ends with this code; every command ends with an answer (`endings.py`) |
| `sh` | run by bash, but for the lines below; what it exports stays for the rest of the page |
| `toml`, `csv`, `json`, `sql` | need `title="name"`: written to that file, which a later block has to name |
| `<!-- run` … `-->` | Python that the reader need not see, run like the rest |
| `text` | shown only: no code, and each is in the list of drawings in `tests/docs/test_pages.py` |

| line of `sh` | what happens |
|---|---|
| `export NAME=…` | run, unless the test has a server of its own under that name |
| `pip install 'leakcap[extra]'` | everything that the extra asks for is installed here |
| `leakcap serve …` | started on a free port, asked for its first page, and stopped with Ctrl-C |
| `ssh …` | read by `ssh -G`: no other machine is asked |
| `make target` | read by `make -n` in the repository: the target is there |

A page may say `<!-- needs: postgresql -->`, `<!-- needs: spark -->` or `<!-- needs: curator -->`, which are
servers, and
`<!-- needs: process -->`, one of its own. A page that needs Spark has one too, and so has each of its
commands, since a process has one kind of Spark session.
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from packaging.requirements import Requirement

from command_line import Done, leakcap
from ending_with_us import with_us
from endings import complaint

ROOT = Path(__file__).parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = {"python", "run", "console", "sh"}
WRITTEN = {"toml", "csv", "json", "sql"}
COMMAND = [sys.executable, "-c", "from leakcap_command import run; run()"]


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it stands for, its text, and where it begins."""

    language: str
    title: str
    text: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks and hidden ones, in order."""
    opened, lines, start, indent = None, list[str](), 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None and (fence := re.match(r"( *)```(.*)$", line) or re.match(r"()<!-- (run)$", line)):
            opened, lines, start, indent = fence[2], [], number, len(fence[1])
        elif opened is not None and line.strip() == ("-->" if opened == "run" else "```"):
            language, _, rest = opened.partition(" ")
            title = re.search(r'title="([^"]+)"', rest)
            yield Block(language, title[1] if title else "", "\n".join(lines) + "\n", start)
            opened = None
        elif opened is not None:
            lines.append(line[indent:])
    assert opened is None, f"a block that begins in line {start} has no end"


def prepare(folder: Path) -> None:
    """The examples, as in a clone, without what others have left there."""
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html", "*.md")
    )


def needs(text: str) -> set[str]:
    """The servers that a page wants."""
    return set(re.findall(r"^<!-- needs: (\w+) -->$", text, re.MULTILINE))


def run_page(page: Path, given: Mapping[str, str] | None = None, *, apart: bool = False) -> int:
    """Run a page in the current directory; how many commands and blocks ran. Fails where one does.

    `given` are the addresses of servers, in place of those that the page exports; `apart` runs each command
    in a process of its own.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    known, ran = dict(given or {}), 0
    command = _apart if apart else leakcap
    with mock.patch.dict(os.environ, known), _as_processes():
        for block in blocks(page.read_text(encoding="utf-8")):
            where = f"{page.name}:{block.line}"
            if block.language in {"python", "run"}:
                _python(block, where, space)
            elif block.language == "console":
                ran += _console(block, where, command) - 1
            elif block.language == "sh":
                _shell(block, where, known)
            elif block.language in WRITTEN:
                _write(block, where)
            else:
                assert block.language == "text", f"{where}: nobody runs a block of {block.language!r}"
                continue
            ran += 1
    return ran


@contextlib.contextmanager
def _as_processes() -> Iterator[None]:
    """A command closes its connections to a server by ending; here several commands share a process.

    What they left is looked for among what is new, not in all that was loaded before.
    """
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def _apart(*args: str | Path) -> Done:
    done = subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, timeout=900)
    return Done(done.returncode, done.stdout, done.stderr)


def _write(block: Block, where: str) -> None:
    assert block.title, f"{where}: a file without a title, which nothing can read"
    if block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    Path(block.title).write_text(block.text, encoding="utf-8")


def _shell(block: Block, where: str, given: Mapping[str, str]) -> None:
    lines: list[str] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        own = re.match(r"(export (?P<name>\w+)=|pip |leakcap serve|ssh |make )", line)
        if own is None or (own["name"] is not None and own["name"] not in given):
            lines.append(line)
            continue
        _bash(lines, where)
        lines.clear()
        words = shlex.split(line, comments=True)
        if own["name"] is None:
            {"pip": _installed, "leakcap": _served, "ssh": _tunnel, "make": _made}[words[0]](words, where)
    _bash(lines, where)


def _bash(lines: list[str], where: str) -> None:
    """Run lines by bash; what they export is exported here too."""
    if not lines:
        return
    here = Path(".environment")
    script = "\n".join(["set -eu", *lines, f"env -0 > {here}"])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    wrong = complaint(done.returncode, 0, done.stdout + done.stderr)
    assert not wrong, f"{where}: {wrong}\n{done.stdout}{done.stderr}"
    exported = dict(pair.split("=", 1) for pair in here.read_text(encoding="utf-8").split("\0") if pair)
    os.environ.update({name: value for name, value in exported.items() if name not in {"PATH", "_", "SHLVL"}})


def _installed(words: list[str], where: str) -> None:
    assert words[:2] == ["pip", "install"], where
    for asked in map(Requirement, words[2:]):
        assert asked.name == "leakcap", where
        wanted = [Requirement(text) for text in importlib.metadata.requires("leakcap") or []]
        extras = {
            extra for one in wanted for extra in asked.extras if one.marker and extra in str(one.marker)
        }
        assert extras == asked.extras, f"{where}: there is no extra {asked.extras - extras}"
        for one in wanted:
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in asked.extras):
                assert importlib.metadata.version(one.name) in one.specifier, f"{where}: {one}"


def _served(words: list[str], where: str) -> None:
    command = with_us([*COMMAND, *words[1:], "--port", "0"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline() + process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+\S*", told)
            assert address, f"{where}: {told}"
            reader = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with reader.open(address[0], timeout=20) as answer:
                assert b"leakcap" in answer.read(), where
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 130, f"{where}: exit {process.returncode}"


def _tunnel(words: list[str], where: str) -> None:
    done = subprocess.run(["ssh", "-G", *words[1:]], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"{where}: {done.stderr}"


def _made(words: list[str], where: str) -> None:
    done = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"{where}: {done.stderr}"


def _python(block: Block, where: str, space: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * block.line + block.text, where, "exec"), space)
        return
    test = doctest.DocTestParser().get_doctest(block.text, space, where, where, block.line)
    for example in test.examples:
        example.want = example.want.replace("…", "...")
    told = io.StringIO()
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.write, clear_globs=False)
    space.update(test.globs)
    assert told.getvalue() == "", told.getvalue()


def inline_commands(text: str) -> Iterator[str]:
    """The commands that stand in sentences, in backticks: read and not run, since many have placeholders."""
    outside, inside = list[str](), False
    for line in text.splitlines():
        inside ^= line.lstrip().startswith("```")
        outside += [] if inside else [line]
    yield from re.findall(r"`(leakcap [^`]*)`", "\n".join(outside))


def _console(block: Block, where: str, command: Callable[..., Done]) -> int:
    steps = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    assert steps, f"{where}: a console block without a command"
    for step in steps:
        line, _, shown = step.partition("\n")
        words = shlex.split(line, comments=True)
        target = words[words.index(">") + 1] if ">" in words else ""
        assert words[0] == "leakcap", f"{where}: only leakcap is run, not {words[0]!r}"
        done = command(*(words[1 : words.index(">")] if target else words[1:]))
        told = done.stdout + done.stderr
        code = re.search(r"# exit (\d)", line)
        wrong = complaint(done.returncode, int(code[1]) if code else 0, told)
        assert not wrong, f"{where}: {line}\n{wrong}\n{told}"
        if target:
            Path(target).write_text(done.stdout, encoding="utf-8")
        if shown.strip():
            assert matches(shown, told), f"{where}: {line}\nshown:\n{shown}\nsaid:\n{told}"
    return len(steps)


def matches(shown: str, told: str) -> bool:
    """Whether the words shown are among those said, in this order; `…` stands for any words or none.

    >>> matches("a … d", "a b c d e"), matches("a d", "a b c d")
    (True, False)
    """
    place = 0
    for part in shown.split("…"):
        # The first place where a part stands leaves most room for the others: there is nothing to try again.
        found = re.compile(r"\s+".join(map(re.escape, part.split()))).search(told, place)
        if found is None:
            return False
        place = found.end()
    return True
