"""A PostgreSQL server of our own for the tests: a fresh cluster on loopback, thrown away afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cluster"]


def _binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    assert initdb is not None, "PostgreSQL's server is missing: run scripts/ensure-postgresql"
    return Path(initdb).parent


@contextmanager
def cluster() -> Iterator[str]:
    """The URL of a running server."""
    binaries, folder = _binaries(), Path(tempfile.mkdtemp(prefix="leakcap-postgresql-"))
    # The server refuses to run as root; Debian's package has made a user for it.
    owner = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        shutil.chown(folder, owner)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(*command: str) -> None:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
            **({"user": owner, "extra_groups": []} if os.geteuid() == 0 else {}),
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )

    data, log = folder / "data", folder / "log"
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    try:
        call(str(binaries / "initdb"), "-D", str(data), "-U", "tests", "-A", "trust", "-E", "UTF8", "-N")
        call(str(binaries / "pg_ctl"), "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tests@127.0.0.1:{port}/postgres"
        finally:
            call(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
