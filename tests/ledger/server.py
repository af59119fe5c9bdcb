"""A PostgreSQL server of the tests' own: in a temporary directory, on loopback, as a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

REMEDY = "Run scripts/ensure-postgresql (Debian: apt-get install postgresql)."
USER = "leakcap"


def binaries() -> Path:
    """Where initdb and postgres are; a failure with the remedy where they are not."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[4])
    on_path = shutil.which("initdb")
    found = [path.parent for path in installed] + ([Path(on_path).resolve().parent] if on_path else [])
    assert found, f"There is no PostgreSQL server for the tests of a team's ledger. {REMEDY}"
    return found[0]


def unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: its own user does, or nobody."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    person = known.get("postgres") or known["nobody"]
    return {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running() -> Iterator[str]:
    """The server's URL, without a database, while it runs."""
    folder, who, bin_ = Path(tempfile.mkdtemp(prefix="leakcap-postgresql-")), unprivileged(), binaries()
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        options = {"cwd": "/", "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **who}
        making = [
            bin_ / "initdb",
            "-D",
            folder / "data",
            "-A",
            "trust",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--no-sync",
        ]
        made = subprocess.run(making, capture_output=True, text=True, check=False, **options)
        assert made.returncode == 0, f"initdb failed: {made.stderr} {REMEDY}"
        port = free_port()
        settings = [
            f"port={port}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=80",
            "fsync=off",
            # No copy of it follows, and it is never started anew after a crash.
            "full_page_writes=off",
            "wal_level=minimal",
            "max_wal_senders=0",
            "autovacuum=off",
        ]
        command = [bin_ / "postgres", "-D", folder / "data", *(f"--{setting}" for setting in settings)]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, **options)
        try:
            wait(server, port, folder / "log")
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGQUIT)  # immediate shutdown: nothing is kept
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    give_up = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user=USER, dbname="postgres").close()
            return
        except psycopg.OperationalError:
            dead = server.poll() is not None or time.monotonic() > give_up
            assert not dead, f"PostgreSQL did not start: {log.read_text()} {REMEDY}"
            time.sleep(0.05)


def emptied(server: str, name: str) -> str:
    """The URL of a database without a table and without anybody else connected to it.

    It is one database, emptied: each is a thousand files, and to delete them takes a slow disk a minute.
    """
    known = f"SELECT datname FROM pg_database WHERE datname = '{name}'"
    if not execute(f"{server}/postgres", known):
        execute(f"{server}/postgres", f"CREATE DATABASE {name}")
    execute(
        f"{server}/{name}",
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        f"WHERE datname = '{name}' AND pid <> pg_backend_pid()",
        "DROP SCHEMA public CASCADE",
        "CREATE SCHEMA public",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
    )
    return f"{server}/{name}"


def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """What someone with the server and a shell can do."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            done = connection.execute(statement)
            rows += done.fetchall() if done.description else []
        return rows
