"""How far another library's AIM got, as the benchmark says it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_what_rounds_spend_is_said_before_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "synthesizers"))
    progress = importlib.import_module("spent_rho")
    asked: list[Any] = []

    def choose(*words: object) -> str:
        asked.append(words)
        return "pair"

    mechanism = SimpleNamespace(worst_approximated=choose)
    # Two columns and a round with noise of 5: 3/50 of ρ; a choice by ε = 0.4: 0.02. Then noise of √12.5.
    progress.follow(mechanism, 2, 0.16)
    assert mechanism.worst_approximated("candidates", "answers", "model", 0.4, 5.0, False) == "pair"
    assert mechanism.worst_approximated("candidates", "answers", "model", 0.4, 12.5**0.5) == "pair"
    said = capsys.readouterr().err.splitlines()
    assert [line.rsplit(", ", 1)[0] for line in said] == ["round 1, 50.0% of ρ", "round 2, 87.5% of ρ"]
    assert asked[0] == ("candidates", "answers", "model", 0.4, 5.0, False)


def test_a_copy_without_the_mechanism_is_refused(tmp_path: Path) -> None:
    script = [sys.executable, str(BENCHMARKS / "synthesis_peers.py"), "hospital", "--aim", str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--aim must be a copy of the repository" in done.stderr


def test_a_run_that_is_stopped_says_how_far_it_got(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    peers = importlib.import_module("synthesis_peers")
    stopped = subprocess.CompletedProcess([], -24, "", "round 6, 10.3% of ρ, 61 s\n")
    monkeypatch.setattr(peers.subprocess, "run", lambda *_, **__: stopped)
    assert peers.job("leakcap", tmp_path, 60) == "stopped after 60 s of CPU in round 6, 10.3% of ρ, 61 s"
