"""Ctrl-C: exit code 130, one line, nothing half written to the ledger. And the shell's completion."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from command_line import leakcap
from ending_with_us import with_us

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "leakcap.cli.main"]
LONG = {
    "attack": ["attack", "wifi", "--bits", "16", "--fields", "100000", "--adaptive"],
    "audit": ["audit", "examples.noisy_count:noisy_count", "1", "2", "--samples", "50000000"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html")
    )
    return tmp_path


def busy(child: subprocess.Popen[str], seconds: float) -> None:
    """Wait until a child has computed for so long, or has ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    end = time.monotonic() + 60.0
    while time.monotonic() < end and child.poll() is None:
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= seconds:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("job", LONG)
def test_long_work_stops_on_ctrl_c(place: Path, job: str) -> None:
    child = subprocess.Popen(
        with_us([*COMMAND, *LONG[job]]), cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    busy(child, 2.0)  # a second to load, and one of work
    assert child.poll() is None, child.communicate()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if line.strip()] == [
        "leakcap: stopped. What was committed to the ledger stays spent."
    ]


@pytest.mark.slow
def test_the_ledger_holds_after_ctrl_c_at_any_moment(place: Path) -> None:
    """Interrupted after more and more work, a release is either not in the ledger or wholly paid for."""
    query = "examples/hospital/release.toml"
    counts = set()
    for moment in (0.6, 0.9, 1.2, 1.5, 30.0):
        child = subprocess.Popen(
            with_us([*COMMAND, "release", query, "--fresh", "--yes"]),
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        busy(child, moment)
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert child.returncode in {0, 2, 130, -signal.SIGINT}
        assert "internal error" not in err
        ledger = place / "examples" / "hospital" / "hospital.db"
        if not ledger.exists():
            continue
        verified = leakcap("ledger", "verify", str(ledger), cwd=place)
        if "There is no ledger" in verified.stderr:  # stopped before its tables: nothing is paid
            assert counts == set()
            continue
        assert verified.returncode == 0, verified.stderr
        with closing(sqlite3.connect(ledger)) as connection:
            (spends,) = connection.execute(
                "SELECT COUNT(*) FROM leakcap_event WHERE kind = 'reserve'"
            ).fetchone()
        counts.add(spends % 6)
    assert counts == {0}


@pytest.mark.parametrize(
    ("shell", "said"), [("bash", "complete -"), ("zsh", "compdef"), ("fish", "complete ")]
)
def test_completion_for_each_shell(shell: str, said: str) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [shutil.which("leakcap", path=str(Path(sys.executable).parent)) or "", "--show-completion", shell],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert "_LEAKCAP_COMPLETE" in done.stdout


def test_the_shell_gets_commands_and_options() -> None:
    program = shutil.which("leakcap", path=str(Path(sys.executable).parent)) or ""
    for words, wanted in (
        ("leakcap le", "ledger"),
        ("leakcap ledger ver", "verify"),
        ("leakcap report --fo", "--for"),
    ):
        environment = {
            **os.environ,
            "_LEAKCAP_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run(
            [program], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert wanted in done.stdout.split(), (words, done.stdout, done.stderr)


def test_ctrl_c_while_it_is_still_loading(place: Path) -> None:
    """At several moments of the half second before the command line is there."""
    said = set()
    start = "from leakcap_command import run; print(flush=True); run()"
    for moment in (0.02, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3):
        child = subprocess.Popen(
            with_us([sys.executable, "-c", start, "attack", "wifi", "--fields", "100000", "--adaptive"]),
            cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()  # from here on the command is ours
        time.sleep(moment)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
        lines = [line for line in err.splitlines() if line.strip()]
        assert (child.returncode, len(lines)) == (130, 1), err
        said.add(lines[0])
    assert "leakcap: stopped before anything was done." in said
