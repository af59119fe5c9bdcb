"""What the README shows runs as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from command_line import leakcap
from leakcap.release import load_policy, query_from

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order; `""` for those without one."""
    found, opened = [], None
    for line in TEXT.splitlines():
        if opened is None and line.startswith("```"):
            opened, lines = line.removeprefix("```"), list[str]()
        elif opened is not None and line == "```":
            found.append((opened, "\n".join(lines)))
            opened = None
        elif opened is not None:
            lines.append(line)
    return [text for named, text in found if named == language]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python(copy: Path) -> None:
    assert len(blocks("python")) == 2
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert {path.name for path in copy.rglob("*.db")} == {"hospital.db"}
    assert (copy / "examples/hospital/hospital.db").exists()


def test_toml() -> None:
    policy, queries = (tomllib.loads(block) for block in blocks("toml"))
    assert load_policy(policy).dataset == "ward visits"
    assert [query_from(query).epsilon for query in queries["query"]] == [0.1]


def test_commands(copy: Path) -> None:
    lines = [line for block in blocks("") for line in block.splitlines()]
    others = {
        line.split("#")[0].strip() for line in lines if line.strip() and not line.startswith("leakcap ")
    }
    assert others == {
        "make demo",
        "make explore",
        "source .venv/bin/activate",
    }  # the first runs in CI, the others are read
    for target in ("demo", "explore"):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
    commands = [line.split("#")[0].strip() for line in lines if line.startswith("leakcap ")]
    assert len(commands) == 11
    for command in commands:
        words = [word.strip("'\"") for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)]
        done = leakcap(*words[1:], cwd=copy)
        assert done.returncode == 0, (command, done.stderr)
