"""A curator with its real processes, and what a test needs to ask it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from curator_played import LEAKCAP, answers, free_port
from ending_with_us import with_us
from leakcap.service.configuration import load_configuration
from leakcap.service.store import Role, Store
from service.direct import written


@dataclass(frozen=True)
class Started:
    """A curator that runs: its port, its file, and Ada's token."""

    port: int
    file: Path
    token: str

    def logged(self) -> list[dict[str, Any]]:
        """What its log says of requests."""
        lines = (self.file.parent / "log").read_text().splitlines()
        said = [json.loads(line)["log"] for line in lines if line.startswith("{")]
        return [one for one in said if isinstance(one, dict) and "request" in one]


@contextmanager
def started(folder: Path, more: str = "", after: str = "", port: int | None = None) -> Iterator[Started]:
    """A curator of ninety people's rows whom Ada may ask; `more` stands before the rest of its file, `after`
    behind it."""
    file, port = written(folder), port or free_port()
    file.write_text(f'listen = "127.0.0.1:{port}"\n{more}\n{file.read_text()}{after}')
    with Store.open(load_configuration(file).store) as store:
        store.people.add("local:ada", by="test")
        store.grants.give("local:ada", Role.ANALYST, "ward", by="test")
        token = store.tokens.issue("local:ada", lifetime=timedelta(days=1)).secret
    with (folder / "log").open("wb") as log:
        command = with_us([*LEAKCAP, "curator", "run", str(file)])
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        give_up = time.monotonic() + 90
        while not answers(port):
            waiting = process.poll() is None and time.monotonic() < give_up
            assert waiting, (folder / "log").read_text()[-2000:]
            time.sleep(0.1)
        yield Started(port, file, token)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
