"""The manual, built once for all tests of it, and the servers of its pages."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import leakcap
from ledger.server import USER, binaries
from manual_pages import ROOT

Given = dict[str, str]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built once, by whichever of the test processes asks first; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, built = shared / "manual", shared / "manual.built"
    with (shared / "manual.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(folder)
            built.touch()
    return folder


def _build(folder: Path) -> None:
    known = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(Path(leakcap.__file__).parents[1])}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def postgresql(postgresql_server: str) -> Given:
    """What the reader of a page exports for PostgreSQL's own programs, and those on the path."""
    at = urlsplit(postgresql_server)
    path = os.pathsep.join([str(binaries()), os.environ["PATH"]])
    return {"PGHOST": str(at.hostname), "PGPORT": str(at.port), "PGUSER": USER, "PATH": path}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """What the reader of a page exports for Spark: a standalone cluster and Spark Connect."""
    from engines.cluster import connect_server, environment, standalone

    folder = tmp_path_factory.mktemp("spark")
    with standalone(folder) as cluster, connect_server(folder) as connect:
        yield {**environment(), "CLUSTER": cluster, "CONNECT": connect}


@pytest.fixture
def given(request: pytest.FixtureRequest) -> Callable[[set[str]], Given]:
    """The addresses of the servers that a page needs."""

    def of(needed: set[str]) -> Given:
        return {name: text for need in sorted(needed) for name, text in request.getfixturevalue(need).items()}

    return of


@pytest.fixture
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """What whoever asks a curator exports: its address, where tokens are kept, a password, and an agent's
    token. It holds `ward`, and lets `ada` and the agent `robot` ask."""
    from client.in_process import token_of
    from client.serving import served
    from service.direct import PASSWORD, curator_in

    folder = tmp_path_factory.mktemp("curator")
    own = '\n[caps.analysts."local:robot"]\nnats_per_person = 0.1\n'
    approved = "approval = { above_epsilon = 2.0, approvers = 1 }\n"
    found = curator_in(folder, more=approved, policy=own)
    found.store.people.add("local:robot", by="docs", agent=True)
    found.store.grants.give("local:robot", "analyst", "ward", by="docs")
    with served(found) as port:
        yield {
            "LEAKCAP_SERVER": f"http://127.0.0.1:{port}",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PASSWORD": PASSWORD,
            "AGENT_TOKEN": token_of(found, "robot"),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
    found.store.close()
