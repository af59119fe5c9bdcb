"""A curator to be measured: its files, its processes, its people, and a client that costs little itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from leakcap.service.store import Role, Store

POLICY = """
dataset = "ward"
neighbours = "add-remove-one"
unit = {{ id = "id" }}
[columns.age]
bounds = [0.0, 120.0]
[columns.ward]
keys = ["a", "b", "c"]
[caps]
epsilon = {epsilon}
"""


@dataclass(frozen=True)
class Curated:
    """A running curator: its port, a token for each person, its processes, and where its files are."""

    port: int
    tokens: tuple[str, ...]
    process: subprocess.Popen[bytes]
    folder: Path
    ledger: str
    store: str

    def get(self, path: str, token: str = "") -> Any:
        """What an address answers, as JSON."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if token:
            asked.add_header("authorization", f"Bearer {token}")
        with urllib.request.urlopen(asked, timeout=30) as told:
            return json.load(told)

    def children(self) -> dict[int, str]:
        """The processes by number, with their roles."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == self.process.pid and b"leakcap.service.running.process" in words:
                role = words[words.index(b"leakcap.service.running.process") + 1].decode()
                found[int(entry.name)] = role
        return found

    def used(self) -> dict[str, float]:
        """CPU seconds of the processes so far, by role, of this one, and of the servers of PostgreSQL that
        are running. Of a server's sessions that ended nothing is left."""
        spent: dict[str, float] = {"clients": time.process_time()}
        for number, role in {**self.children(), **_servers()}.items():
            spent[role] = spent.get(role, 0.0) + _cpu_seconds(number)
        return spent


def _servers() -> dict[int, str]:
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "comm").read_text().strip() == "postgres":
                found[int(entry.name)] = "PostgreSQL"
    return found


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def written(folder: Path, *, rows: int, epsilon: float, more: str = "", ledger: str = "ward.db") -> Path:
    """Data, policy and configuration in a folder; the configuration's file."""
    numbers = np.arange(rows)
    table = {"id": numbers, "age": (numbers % 90).astype(float), "ward": np.array(list("abc"))[numbers % 3]}
    pyarrow.parquet.write_table(pyarrow.table(table), folder / "ward.parquet")
    (folder / "ward.parquet").chmod(0o600)
    (folder / "policy.toml").write_text(POLICY.format(epsilon=epsilon))
    data = f'[data.ward]\npolicy = "policy.toml"\nsource = "ward.parquet"\nledger = "{ledger}"\n'
    file = folder / "curator.toml"
    file.write_text(f"{more}\n{data}")
    file.chmod(0o600)
    return file


@contextmanager
def running(file: Path, *, people: int, ledger: str, store: str) -> Iterator[Curated]:
    """The curator of a configuration, with so many analysts and an auditor, who comes last."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file.write_text(f'listen = "127.0.0.1:{port}"\nstore = "{store}"\n' + file.read_text())
    tokens = []
    with Store.open(store) as opened:
        for number in range(people + 1):
            subject, role = f"local:p{number}", Role.AUDITOR if number == people else Role.ANALYST
            opened.people.add(subject, by="benchmark")
            opened.grants.give(subject, role, "ward", by="benchmark")
            tokens.append(opened.tokens.issue(subject, lifetime=timedelta(days=1)).secret)
    if store.startswith("sqlite"):
        Path(store.removeprefix("sqlite:///")).chmod(0o600)
    command = [sys.executable, "-m", "leakcap.cli.main", "curator", "run", str(file)]
    log = (file.parent / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})
    found = Curated(port, tuple(tokens), process, file.parent, ledger, store)
    try:
        ready(found)
        yield found
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def ready(curated: Curated, *, seconds: float = 60.0) -> float:
    """Wait until it says that it is ready; how long that took."""
    started = time.monotonic()
    while True:
        try:
            curated.get("/readyz")
            return time.monotonic() - started
        except OSError:
            if time.monotonic() - started > seconds:
                print((curated.folder / "log").read_text()[-3000:])
                raise
            time.sleep(0.05)


@contextmanager
def databases(folder: Path, postgresql: bool) -> Iterator[tuple[str, str]]:
    """The URLs of a ledger and of a store: SQLite files in the folder, or empty databases of a PostgreSQL
    server that runs as long as they are needed."""
    if not postgresql:
        yield f"sqlite:///{folder / 'ward.db'}", f"sqlite:///{folder / 'curator.db'}"
        return
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from ledger.server import emptied
    from ledger.server import running as server

    with server() as url:
        yield emptied(url, "ward"), emptied(url, "curator")


@dataclass(frozen=True)
class Told:
    """One answer: its status, its seconds and what it says; status 0 where the connection ended first."""

    status: int
    seconds: float
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def post(path: str, body: Mapping[str, Any], token: str, key: str, *, minimal: bool = True) -> bytes:
    """A request as it crosses the wire."""
    text = json.dumps(body).encode()
    prefer = "prefer: return=minimal\r\n" if minimal else ""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {token}\r\nidempotency-key: {key}\r\n{prefer}"
        f"content-length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


async def asked(port: int, requests: list[bytes], clients: int) -> list[Told]:
    """What so many clients are told, each over a connection of its own, one request after another."""
    waiting = list(enumerate(requests))[::-1]
    found: list[Told | None] = [None] * len(requests)

    async def client() -> None:
        reader = writer = None
        while waiting:
            place, request = waiting.pop()
            started = time.monotonic()
            try:
                if writer is None or reader is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                await writer.drain()
                status, body = await _answer(reader)
            except (OSError, asyncio.IncompleteReadError, ValueError):
                status, body = 0, b""
                if writer is not None:
                    writer.close()
                reader = writer = None
            found[place] = Told(status, time.monotonic() - started, body)
        if writer is not None:
            writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return [one for one in found if one is not None]


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    if "content-length" in headers:
        return int(head[0].split()[1]), await reader.readexactly(int(headers["content-length"]))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return int(head[0].split()[1]), b"".join(parts)
