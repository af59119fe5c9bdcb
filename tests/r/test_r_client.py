"""The R client: its pages and its code agree, and it keeps its head before a server that does not.

The page `docs/how-to/r.md` runs it against a real curator (`tests/docs/test_curator_pages.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients/r"
PREFIX = "urn:leakcap:problem:"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("library")
    done = run("R", "CMD", "INSTALL", f"--library={place}", str(PACKAGE), library=place)
    assert "DONE (leakcap)" in done.stdout + done.stderr
    return place


def run(*words: str, library: Path) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "R_LIBS": str(library), "XDG_CONFIG_HOME": str(library)}
    done = subprocess.run(words, env=known, capture_output=True, text=True, timeout=240, cwd=library)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_documentation_is_that_of_the_code(library: Path) -> None:
    """Rd files are well formed, every function that is exported has one, and usages are what the code has."""
    code = (
        f"for (file in list.files('{PACKAGE}/man', full.names = TRUE)) print(tools::checkRd(file));"
        f"print(tools::codoc('leakcap', lib.loc = '{library}'));"
        f"print(tools::undoc('leakcap', lib.loc = '{library}')); cat('end')"
    )
    assert run("Rscript", "-e", code, library=library).stdout.strip() == "end"


def record(rows: list[dict[str, Any]], columns: list[str] | None = None) -> dict[str, Any]:
    return {
        "name": "c",
        "query": "count",
        "columns": columns or [],
        "values": rows,
        "price": {"epsilon": 0.1},
    }


class Bad(BaseHTTPRequestHandler):
    """A server that loses answers (`ward`), is down, refuses, or is no curator at all, by the data set."""

    keys: list[tuple[str, str]] = []  # noqa: RUF012
    looks: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        dataset, key = self.path.split("/")[3], self.headers["idempotency-key"]
        self.keys.append((dataset, key))
        assert self.headers["authorization"] == "Bearer lkc_0123456789abcdef_secret"
        assert body["queries"][0]["epsilon"] == 0.1
        getattr(self, f"_{dataset}")(body, sum(one == (dataset, key) for one in self.keys))

    def _ward(self, _: object, times: int) -> None:
        if times == 1:
            self._told(503, {"type": f"{PREFIX}engine-ended", "detail": "No answer."})
        elif times == 2:
            self.connection.close()
        else:
            self._told(200, {"releases": [record([{"keys": {}, "value": 7, "interval": [None, 9.0]}])]})

    def _keys(self, body: dict[str, Any], _: int) -> None:
        assert body["queries"][0]["by"] == ["a b", "n"]
        rows: list[dict[str, Any]] = [
            {"keys": {"a b": "x", "n": 1}, "value": 1, "interval": [0, 2]},
            {"keys": {"a b": None, "n": 2}, "value": 1, "interval": [0, 2]},
        ]
        self._told(200, {"releases": [record(rows, ["a b", "n"])]})

    def _down(self, *_: object) -> None:
        self._told(502, None)

    def _full(self, *_: object) -> None:
        passed = [{"cap": "epsilon", "limit": 1.0, "left": 0.5, "asked": 0.6}]
        told = {"type": f"{PREFIX}budget-exceeded", "detail": "No.\033[2J", "passed": passed}
        self._told(409, told)

    def _waits(self, *_: object) -> None:
        self._told(202, {"id": "j1", "state": "awaiting approval"})

    def _later(self, *_: object) -> None:
        self._told(202, {"id": "j2", "state": "queued", "needed": 0})

    def _never(self, *_: object) -> None:
        self._told(202, {"id": "j3", "state": "running", "needed": 0})

    def do_GET(self) -> None:
        """Jobs: one is done at the second look, the other has no answer."""
        self.looks.append(self.path)
        if self.path == "/v1/jobs/j2/answer":
            self._told(200, {"releases": [record([{"keys": {}, "value": 5, "interval": [1.0, 9.0]}])]})
        elif self.path == "/v1/jobs/j2":
            state = "running" if self.looks.count(self.path) == 1 else "done"
            self._told(200, {"id": "j2", "state": state, "needed": 0})
        else:
            problem = {"type": f"{PREFIX}engine", "status": 503, "detail": "No answer."}
            self._told(200, {"id": "j3", "state": "failed", "needed": 0, "problem": problem})

    def _elsewhere(self, *_: object) -> None:
        self.send_response(307)
        self.send_header("location", "http://127.0.0.1:1/")
        self.send_header("content-length", "0")
        self.end_headers()

    def _page(self, *_: object) -> None:
        self._told(200, None)

    def _broken(self, *_: object) -> None:
        self._told(200, None, sort="application/json")

    def _told(self, status: int, told: object, sort: str = "") -> None:
        text = b"<html>" if told is None else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", sort or ("text/html" if told is None else "application/json"))
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing is written."""


@pytest.fixture
def bad_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bad)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Bad.keys.clear()
    Bad.looks.clear()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_lost_answers_lies_and_refusals(library: Path, bad_server: str) -> None:
    done = run("Rscript", str(Path(__file__).with_name("client.R")), bad_server, library=library)
    assert done.stdout.strip() == "done"
    asked = {dataset: [key for one, key in Bad.keys if one == dataset] for dataset, _ in Bad.keys}
    assert [len(asked["ward"]), len(set(asked["ward"]))] == [6, 2]
    assert [len(asked["down"]), len(set(asked["down"]))] == [4, 1]
    assert all(
        len(asked[one]) == 1 for one in ("full", "waits", "later", "never", "elsewhere", "page", "broken")
    )
    assert Bad.looks == ["/v1/jobs/j2", "/v1/jobs/j2", "/v1/jobs/j2/answer", "/v1/jobs/j3"]
