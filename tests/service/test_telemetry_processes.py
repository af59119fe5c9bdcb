"""Spans of the real processes at a collector; one that is not there keeps nobody waiting."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from curator_played import free_port
from service.started import Started, started

pytestmark = pytest.mark.slow

MARK = "zq7marked"


class Collector:
    """Takes what is exported, as a collector does."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        kept = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                kept.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    @property
    def spans(self) -> list[Any]:
        found = []
        for body in self.bodies:
            message = ExportTraceServiceRequest()
            message.ParseFromString(body)
            found += [
                span for one in message.resource_spans for scope in one.scope_spans for span in scope.spans
            ]
        return found

    def arrived(self, name: str, seconds: float = 20) -> Any:
        """A span of this name."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            for span in self.spans:
                if span.name == name:
                    return span
            time.sleep(0.2)
        raise AssertionError([one.name for one in self.spans])


@contextmanager
def collecting() -> Iterator[Collector]:
    found = Collector()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()


def asked(curator: Started, key: str, *, later: bool = False) -> int:
    """The status of a question full of the mark."""
    body = {"queries": [{"name": MARK, "statistic": "count", "epsilon": 0.01}]}
    headers = {
        "authorization": f"Bearer {curator.token}",
        "content-type": "application/json",
        "idempotency-key": f"{MARK}-{key}",
        "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01",
        "baggage": f"{MARK}=1",
    }
    if later:
        headers["prefer"] = "respond-async"
    address = f"http://127.0.0.1:{curator.port}/v1/datasets/ward/releases?{MARK}"
    sent = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(sent, timeout=60) as answer:
        return int(answer.status)


def test_a_trace_goes_through_all_processes_and_says_nothing_of_the_question(tmp_path: Path) -> None:
    with collecting() as collector:
        telemetry = f'[telemetry]\nendpoint = "{collector.endpoint}"\n'
        with started(tmp_path, after=telemetry) as curator:
            assert asked(curator, "now") == 200
            assert asked(curator, "later", later=True) == 202
            above = collector.arrived("POST /v1/datasets/{dataset}/releases")
            work = collector.arrived("job release")
            collector.arrived("release")
            give_up = time.monotonic() + 20
            while len([one for one in collector.spans if one.name == "release"]) < 2:
                assert time.monotonic() < give_up
                time.sleep(0.2)
        below = {one.parent_span_id: one for one in collector.spans if one.name == "release"}
        for one in (above, work):
            assert below[one.span_id].trace_id == one.trace_id
            assert one.parent_span_id == b""
        assert not any(MARK.encode() in body or bytes.fromhex("ab" * 16) in body for body in collector.bodies)
        assert not any(word in body for body in collector.bodies for word in (b"127.0.0.1", b"local:ada"))


def test_a_collector_that_is_not_there_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Answers come, and all processes end within the supervisor's ten seconds."""
    telemetry = f'[telemetry]\nendpoint = "http://127.0.0.1:{free_port()}/v1/traces"\n'
    with started(tmp_path, after=telemetry) as curator:
        for number in range(5):
            begun = time.monotonic()
            assert asked(curator, str(number)) == 200
            assert time.monotonic() - begun < 10
        ending = time.monotonic()
    assert time.monotonic() - ending < 15
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line[:1] == "{"]
    failed = [one for one in told if "xport" in str(one["log"])]
    assert failed
    assert not any(MARK in json.dumps(one) for one in failed)
    assert "Traceback" not in (tmp_path / "log").read_text()
