"""Run what a page of the manual shows, from its first block to its last, as a reader would.

| block | what happens |
|---|---|
| `python` | run, all blocks of a page in one namespace; with `>>>` as a doctest |
| `console` | each line after `$ ` is run, and compared with what stands below it (`…` is anything) |
| `$ … # exit 2` | the command ends with this code |
| `toml`, `csv`, `sql` with `title="name"` | written to that file |
| `toml`, `json` | read, so that its grammar is right |
| `<!-- run` … `-->` | Python that the reader need not see, run like the rest |
| `text`, `sh` or no language | shown only |
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import leakcap

ROOT = Path(__file__).parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


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


def run_page(page: Path) -> int:
    """Run a page in the current directory; how many commands and blocks ran. Fails where one does."""
    space: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}:{block.line}"
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        if block.language in {"python", "run"}:
            _python(block, where, space)
        elif block.language == "console":
            ran += _console(block, where) - 1
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        else:
            continue
        ran += 1
    return ran


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


def _console(block: Block, where: str) -> int:
    steps = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    assert steps, f"{where}: a console block without a command"
    for step in steps:
        line, _, shown = step.partition("\n")
        words = shlex.split(line, comments=True)
        target = words[words.index(">") + 1] if ">" in words else ""
        assert words[0] == "leakcap", f"{where}: only leakcap is run, not {words[0]!r}"
        done = leakcap(*(words[1 : words.index(">")] if target else words[1:]))
        told = done.stdout + done.stderr
        code = re.search(r"# exit (\d)", line)
        assert done.returncode == (int(code[1]) if code else 0), f"{where}: {line}\n{told}"
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
    parts = [r"\s+".join(map(re.escape, part.split())) for part in shown.split("…")]
    return re.search(r"[\s\S]*?".join(parts), told) is not None
