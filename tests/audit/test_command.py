"""`leakcap audit` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import leakcap

MODULE = """
import random
SOURCE = random.Random(7)
def noisy(x):
    return x + int(SOURCE.expovariate(1.0)) - int(SOURCE.expovariate(1.0))
def many(x, n):
    return [noisy(x) for _ in range(n)]
def fails(x):
    raise ValueError("secret widget")
five = 5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    name = f"audited_{abs(hash(tmp_path)) % 10**9}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "name").write_text(name)
    return tmp_path


def test_a_claim_that_holds_and_one_that_does_not(folder: Path) -> None:
    module = (folder / "name").read_text()
    held = leakcap("audit", f"{module}:noisy", "0", "1", "--claim", "PureDP(1)", "--seed", "1", cwd=folder)
    assert (held.returncode, held.stderr) == (0, "")
    assert "is consistent" in held.stdout
    broken = leakcap(
        "audit", f"{module}:many", "0", "1", "--batch", "--claim", "PureDP(0.5)", "--json", cwd=folder
    )
    assert broken.returncode == 1
    answer = json.loads(broken.stdout)
    assert answer["claim"]["verdict"] == "violated"
    assert answer["claim"]["floor"] > 0.5
    assert 0.5 < answer["epsilon"] < 1.2


def test_outputs_in_files(folder: Path) -> None:
    for name, share in (("a.txt", 3), ("b.txt", 9)):
        (folder / name).write_text("".join("1\n" if i % 10 < share else "0\n" for i in range(3000)))
    done = leakcap("audit", "-", "a.txt", "b.txt", "--json", "--seed", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    # ln(0.7/0.1) on one side.
    assert 1.3 < json.loads(done.stdout)["epsilon"] < 1.9459


@pytest.mark.parametrize(
    ("target", "extra", "named"),
    [
        ("{}:nothing", [], "no Python function"),
        ("{}:five", [], "function of one input"),
        ("{}:fails", [], "raised ValueError"),
        ("{}:noisy", ["--claim", "PureDP(x)"], "PureDP"),
        ("{}:noisy", ["--confidence", "2"], "confidence"),
        ("no-such-program", [], "no-such-program"),
        ("-", [], "no file"),
    ],
)
def test_one_clear_line(folder: Path, target: str, extra: list[str], named: str) -> None:
    done = leakcap("audit", target.format((folder / "name").read_text()), "0", "1", *extra, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert "widget" not in done.stderr


def test_help_has_an_example() -> None:
    assert "Example" in leakcap("audit", "--help").stdout
