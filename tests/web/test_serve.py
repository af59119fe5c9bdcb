"""`leakcap serve` as a person starts it: address, token, Ctrl-C, and what is said when it cannot start."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from command_line import leakcap
from ending_with_us import with_us
from running_explorer import hospital

COMMAND = [sys.executable, "-u", "-m", "leakcap.cli.main", "serve", "--port", "0"]


@contextlib.contextmanager
def started(*words: str | Path) -> Iterator[str]:
    """The address that a running `leakcap serve` printed; then Ctrl-C, and one line of farewell."""
    with subprocess.Popen(
        with_us([*COMMAND, *map(str, words)]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            yield found[0]
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
            assert (process.returncode, said.count("\n")) == (130, 1)
            assert "Traceback" not in said
        finally:
            process.kill()


def test_it_listens_here_and_stops_cleanly() -> None:
    with started() as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urlopen(address) as page:
            assert "What does ε mean" in page.read().decode()


def test_releases_ask_for_a_token(tmp_path: Path) -> None:
    hospital(tmp_path)
    words = ["--policy", tmp_path / "policy.toml", "--ledger", tmp_path / "h.db"]
    with started(*words, "--data", tmp_path / "patients.parquet", "--allow-release") as address:
        bare, _, token = address.partition("enter?token=")
        assert len(token) >= 43
        for place in (bare + "release", address):  # urlopen keeps no cookie
            with pytest.raises(HTTPError, match="401") as refused:
                urlopen(place)
            refused.value.close()


SERVED = """
import gc, sys
import leakcap.web
from leakcap_command import run
leakcap.web.serve = lambda *_, **__: print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000)
sys.argv = ["leakcap", "serve"]
run()
"""


def test_a_server_looks_for_garbage_as_python_does_but_not_among_what_was_loaded() -> None:
    """A command that ends soon does so less often; a server would keep what it no longer needs."""
    done = subprocess.run([sys.executable, "-c", SERVED], capture_output=True, text=True, check=False)
    assert "700 True" in done.stdout, done.stderr


def test_what_cannot_be_served_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = leakcap("serve", "--port", str(port))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"another program uses 127.0.0.1:{port}" in done.stderr
    for host in ("192.0.2.1", "no.such.host.invalid", "a..b", "2001:db8::1"):
        done = leakcap("serve", "--host", host, "--port", "0")
        assert (done.returncode, f"Got `{host}`" in done.stderr) == (2, True), done
    for words in (["--allow-release"], ["--ledger", "x.db"], ["--policy", "missing.toml"], ["missing.toml"]):
        done = leakcap("serve", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), words
        assert "Traceback" not in done.stderr


def test_without_the_extra_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = leakcap("serve")
    assert done.returncode == 2
    assert "pip install 'leakcap[web]'" in done.stderr
