"""What `docs/verify.md` tells a sceptic to run, with Python, python-flint and the one file alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import flint
import pytest

import leakcap_verify
from command_line import ROOT, leakcap
from leakcap.certificate import bundle

PAGE = ROOT / "docs" / "verify.md"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the one file, and python-flint beside it, which is all that Python finds there."""
    folder = tmp_path_factory.mktemp("sceptic")
    (folder / "leakcap_verify.py").write_bytes(Path(leakcap_verify.__file__).read_bytes())
    for found in Path(flint.__file__).parents[1].glob("*flint*"):
        (folder / found.name).symlink_to(found)
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python without its site-packages, in the folder."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-S", *words]
    told = {**plain, "PYTHONPATH": str(folder), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, timeout=60)


def commands() -> list[list[str]]:
    """Those of the section about the hospital."""
    section = PAGE.read_text(encoding="utf-8").split("### The hospital in five minutes")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line) for line in block.splitlines()]


def test_there_is_no_leakcap(bare: Path) -> None:
    done = run(bare, "-c", "import leakcap_verify, leakcap")
    assert done.returncode == 1
    assert "No module named 'leakcap'" in done.stderr


def test_the_hospitals_release_is_proved_without_leakcap(bare: Path, tmp_path: Path) -> None:
    written = bare / "hospital.json"
    url, report = f"sqlite:///{tmp_path}/h.db", tmp_path / "h.html"
    asked = ("release", ROOT / "examples/hospital/release.toml", "--ledger", url, "--report", report)
    done = leakcap(*asked, "--certificate", written, "--json")
    assert done.returncode == 0
    named = {"file": "hospital.json", "sha256": hashlib.sha256(written.read_bytes()).hexdigest()}
    assert json.loads(done.stdout)["certificate"] == named | {"check": "leakcap-verify hospital.json"}
    assert named["sha256"] in report.read_text(encoding="utf-8")
    check, show = commands()
    assert [words[0] for words in (check, show)] == ["python", "python"]
    told = run(bare, *check[1:])
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0] == "proved: filter: 0.0 ≤ truth ≤ 1.4000000000000001 nats"
    assert [line.split(":")[:2] for line in lines[1:]] == [["proved", " price"]] * 6
    assert f"`{lines[0]}`" in PAGE.read_text(encoding="utf-8")
    told = run(bare, *show[1:])
    verified = json.loads(leakcap("ledger", "verify", url, "--json").stdout)
    assert told.stdout.startswith(f"{verified['head']} ")
    assert '"epsilon":3000000000000' in told.stdout

    # Planted: the same file, in which 1.4 was claimed to be 1.3.
    found = json.loads(written.read_text(encoding="utf-8"))["certificates"]
    found[0]["claim"]["upper"] = (1.3).hex()
    written.write_text(bundle(found), encoding="utf-8")
    told = run(bare, *check[1:])
    assert (told.returncode, told.stdout.splitlines()[0][:11]) == (3, "not proved:")
