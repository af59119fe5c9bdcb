"""One command for all processes: engine, web workers and the one for jobs; whoever ends is started again.

The supervisor itself opens neither data nor ledgers. It binds the sockets, so that a worker that is started
again takes the same ones and no request is refused meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leakcap.errors import InvalidParameter
from leakcap.service.configuration import Configuration, load_configuration
from leakcap.service.running.checking import require_fit
from leakcap.service.running.continuing import require_continued
from leakcap.service.running.listening import QUEUE
from leakcap.service.store import Store

__all__ = ["Supervisor", "run"]

_log = logging.getLogger("leakcap.curator")
_GRACE = 10.0
_PAUSES = (0.05, 0.2, 1.0, 3.0)


@dataclass
class Child:
    """One process that is kept running."""

    role: str
    arguments: Sequence[str]
    sockets: Sequence[socket.socket]
    process: subprocess.Popen[bytes] | None = None
    starts: list[float] = field(default_factory=list)
    due: float | None = None
    """When it is started again, after it ended."""

    def start(self) -> None:
        """Start it, or start it again."""
        self.due = None
        kept = [one.fileno() for one in self.sockets]
        command = [sys.executable, "-m", "leakcap.service.running.process", self.role, *self.arguments]
        self.process = subprocess.Popen(command, pass_fds=kept, start_new_session=True)
        self.starts = [*self.starts[-9:], time.monotonic()]

    def pause(self) -> float:
        """How long to wait before it is started again: longer where it ended soon, several times."""
        lately = [one for one in self.starts if time.monotonic() - one < 30.0]
        return _PAUSES[min(len(lately), len(_PAUSES)) - 1] if lately else 0.0


class Supervisor:
    """The processes of a curator."""

    def __init__(self, configuration: Configuration, file: Path, folder: Path) -> None:
        self.configuration, self._file, self._folder = configuration, file.resolve(), folder
        self._listener = listening(configuration)
        self._engine = _local(folder / "engine.sock")
        self._work = _local(folder / "work.sock")
        self.children = [
            *(self._child("engine", self._engine) for _ in range(configuration.engines)),
            *(self._child("work", self._work) for _ in range(configuration.jobs)),
            *(self._child("jobs") for _ in range(configuration.jobs)),
            *(self._child("web", self._listener) for _ in range(configuration.workers)),
        ]
        self._ending = False

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def _child(self, role: str, *sockets: socket.socket) -> Child:
        numbers = [str(one.fileno()) for one in sockets]
        return Child(role, [str(self._file), str(self._folder), *numbers], sockets)

    def start(self) -> None:
        """Start all."""
        for child in self.children:
            child.start()

    def watch(self) -> None:
        """Start again whoever ends, until `end`. Several that end at once, as where their database begins
        anew, wait side by side."""
        while not self._ending:
            for child in self.children:
                if child.process is None or child.process.poll() is None:
                    continue
                if child.due is None:
                    _log.warning(
                        "a process of the curator ended: %s, %s", child.role, child.process.returncode
                    )
                    child.due = time.monotonic() + child.pause()
                if child.due <= time.monotonic() and not self._ending:
                    child.start()
            time.sleep(0.05)

    def end(self, *_: object) -> None:
        """End all: what is being answered is answered first."""
        self._ending = True
        for child in reversed(self.children):
            if child.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    child.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        for child in self.children:
            if child.process is None:
                continue
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
        for one in (self._listener, self._engine, self._work):
            one.close()


def listening(configuration: Configuration) -> socket.socket:
    """The socket for people. Raises `InvalidParameter` where the address cannot be had."""
    host, port = configuration.address
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError):
        listener.close()
        raise InvalidParameter(
            f"`listen` must be a free address of this machine. Got {configuration.listen}."
        ) from None
    listener.listen(QUEUE)
    return listener


def _local(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    os.chmod(path, 0o600)
    listener.listen(QUEUE)
    return listener


def run(file: str | Path, *, ready: Callable[[Supervisor], None] = lambda _: None) -> None:
    """Run a curator until it is ended by SIGTERM or Ctrl-C. Raises `InvalidParameter` for a configuration
    with which it cannot run."""
    path = Path(file)
    configuration = load_configuration(path)
    require_fit(configuration, path)
    os.umask(0o077)
    with Store.open(configuration.store) as store:
        require_continued(configuration, store)
        store.tokens.forget(store.clock())
    with tempfile.TemporaryDirectory(prefix="leakcap-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        supervisor = Supervisor(configuration, path, Path(folder))
        signal.signal(signal.SIGTERM, supervisor.end)
        signal.signal(signal.SIGINT, supervisor.end)
        supervisor.start()
        ready(supervisor)
        supervisor.watch()
