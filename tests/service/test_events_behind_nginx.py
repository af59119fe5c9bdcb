"""A job's stream through the nginx example: as it comes, through long silence, and on where it was cut."""

from __future__ import annotations

import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leakcap.service.configuration import load_configuration
from leakcap.service.store import Role, Store
from service.behind_nginx import CURATOR, NAME, Proxy, in_front
from service.started import Started, started

pytestmark = pytest.mark.slow

ASKED = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.01}]}
EVENTS = "            proxy_buffering off;\n"
"""What the example says of streams."""


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A curator each of whose questions waits for an approver."""
    folder = tmp_path_factory.mktemp("streaming")
    with started(folder, CURATOR, after="[data.ward.approval]\n") as found:
        yield found


@pytest.fixture(scope="module")
def approver(curator: Started) -> str:
    """An approver's token."""
    with Store.open(load_configuration(curator.file).store) as store:
        store.people.add("local:pia", by="test")
        store.grants.give("local:pia", Role.APPROVER, "ward", by="test")
        return store.tokens.issue("local:pia", lifetime=timedelta(hours=1)).secret


@pytest.fixture(scope="module")
def proxy(curator: Started, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The example, whose patience with a silent curator is a little longer than the curator's silence."""
    with in_front(tmp_path_factory.mktemp("p"), curator, changes=[("timeout 90s", "timeout 20s")]) as found:
        yield found


class Stream:
    """A stream through the proxy, read as it comes by a thread."""

    def __init__(self, proxy: Proxy, job: str, last: str = "") -> None:
        self._connection = proxy.connection()
        head = [f"GET /v1/jobs/{job}/events HTTP/1.1", f"Host: {NAME}", f"Last-Event-ID: {last}"]
        head += [f"Authorization: Bearer {proxy.curator.token}", "", ""]
        self._connection.sendall("\r\n".join(head).encode())
        self._arrived: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.text = b""

    def _read(self) -> None:
        try:
            self._connection.settimeout(120)
            while part := self._connection.recv(65536):
                self._arrived.put(part)
        except (OSError, ssl.SSLError):
            pass
        self._arrived.put(b"")

    def until(self, words: bytes, seconds: float, *, many: int = 1) -> bool:
        """Whether they came within these seconds, on a connection that still stood, or ended with them."""
        deadline = time.monotonic() + seconds
        while self.text.count(words) < many:
            try:
                part = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return False
            if not part:
                return False
            self.text += part
        return True

    def ended(self, seconds: float) -> bool:
        """Whether the answer ends within these seconds, as a whole one does: the last chunk is empty."""
        return self.until(b"\r\n0\r\n\r\n", seconds)

    @property
    def last(self) -> str:
        """The last event's id."""
        return self.text.rpartition(b"id: ")[2][:16].decode()

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(20)
        self._connection.close()


@contextmanager
def stream(proxy: Proxy, job: str, last: str = "") -> Iterator[Stream]:
    found = Stream(proxy, job, last)
    try:
        yield found
    finally:
        found.close()


def told(proxy: Proxy, method: str, path: str, token: str, body: Any = None, key: str = "") -> Any:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {NAME}",
        "Connection: close",
        f"Authorization: Bearer {token}",
    ]
    lines += [f"Idempotency-Key: {key}"] if key else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"] if content else []
    said = proxy.told("\r\n".join([*lines, "", ""]).encode() + content, seconds=20)
    return json.loads(said.partition(b"\r\n\r\n")[2])


def asked(proxy: Proxy, key: str) -> str:
    """A job that waits."""
    found = told(proxy, "POST", "/v1/datasets/ward/releases", proxy.curator.token, ASKED, key)
    assert found["state"] == "awaiting approval"
    return str(found["id"])


def test_a_stream_comes_at_once_lives_through_silence_and_ends_with_the_job(
    proxy: Proxy, approver: str
) -> None:
    job = asked(proxy, "silence")
    with stream(proxy, job) as open_:
        assert open_.until(b'"state": "awaiting approval"', 3)
        # Two comments, half a minute: longer than the proxy waits for a word.
        assert open_.until(b": still so", 40, many=2)
        told(proxy, "POST", f"/v1/approvals/{job}", approver, {"verdict": "approve"})
        assert open_.until(b'"state": "done"', 20)
        assert open_.ended(5)
        assert b"X-Accel-Buffering" not in open_.text
        last = open_.last
    with stream(proxy, job, last) as again:
        assert again.until(b" 204 No Content\r\n", 5)


def test_what_is_cut_goes_on_after_the_last_event(curator: Started, approver: str, tmp_path: Path) -> None:
    """A proxy with less patience than the curator's silence cuts it: so a cut would have been seen."""
    with in_front(tmp_path, curator, changes=[("timeout 90s", "timeout 4s")]) as hasty:
        job = asked(hasty, "cut")
        with stream(hasty, job) as first:
            assert first.until(b'"state": "awaiting approval"', 3)
            assert not first.until(b": still so", 30)
            last = first.last
        with stream(hasty, job, last) as second:
            assert not second.until(b"event: job", 2)
            ended = told(hasty, "DELETE", f"/v1/jobs/{job}", curator.token)
            assert ended["state"] == "cancelled"
            assert second.until(b'"state": "cancelled"', 3)
            assert second.text.count(b"event: job") == 1
            assert second.ended(5)
            last = second.last
        with stream(hasty, job, last) as third:
            assert third.until(b" 204 No Content\r\n", 5)


def test_who_leaves_makes_room_behind_the_proxy(proxy: Proxy) -> None:
    """The proxy passes on that a client left; else eight streams that nobody reads would be all there are."""
    job = asked(proxy, "room")
    for _ in range(2):
        streams = [Stream(proxy, job) for _ in range(8)]
        assert all(one.until(b"event: job", 5) for one in streams)
        with stream(proxy, job) as ninth:
            assert ninth.until(b" 429 ", 5)
        for one in streams:
            one.close()
        time.sleep(3)
    told(proxy, "DELETE", f"/v1/jobs/{job}", proxy.curator.token)


def test_a_proxy_that_gathers_would_be_noticed(curator: Started, tmp_path: Path) -> None:
    gathers = "            proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;\n"
    with in_front(tmp_path, curator, changes=[(EVENTS, gathers)]) as gathering:
        job = asked(gathering, "gathered")
        with stream(gathering, job) as open_:
            assert not open_.until(b"event: job", 4)
        told(gathering, "DELETE", f"/v1/jobs/{job}", curator.token)
