"""What the page on reports shows runs as it stands, one line after the other."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from command_line import leakcap

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_commands(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html")
    )
    lines = re.findall(r"^\$ leakcap (.+)$", TEXT, re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        words, _, target = line.partition(" > ")
        done = leakcap(*shlex.split(words), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), line
        if target:
            (tmp_path / target).write_text(done.stdout, encoding="utf-8")
    assert (tmp_path / "result.report.html").stat().st_size < 60_000
    assert (tmp_path / "survey.md").exists()
