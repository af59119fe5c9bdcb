"""A job's stream: news once, comments in silence, on after the last event, and only so many at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from leakcap.service.api import job_events
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.api.job_events import JobEvents, event_id
from leakcap.service.api.rates import AtOnce
from service.direct import curator_in
from service.visiting import HOME

BODY = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.5}]}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    yield found
    found.store.close()


def headers_of(curator: Curator, name: str = "ada") -> dict[str, str]:
    issued = curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1))
    return {"authorization": f"Bearer {issued.secret}"}


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The id and what was told of each event."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields["id"], json.loads(fields["data"])))
    return found


async def streamed(monkeypatch: pytest.MonkeyPatch, told: list[Mapping[str, Any]], since: str = "") -> str:
    """What the stream says of a job that is so, look after look."""
    monkeypatch.setattr(job_events, "_PAUSE", 0.001)
    looks = iter(told)

    async def look() -> dict[str, Any]:
        return dict(next(looks))

    async def gone() -> bool:
        return False

    stream = JobEvents(look, since=since, gone=gone, subject="local:ada", at_once=AtOnce())
    return "".join([str(one) async for one in stream.body_iterator])


RUNNING = [{"state": "running", "updated": str(second)} for second in range(5)]
DONE = {"state": "done", "updated": "9"}


def test_a_beat_of_its_process_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    text = asyncio.run(streamed(monkeypatch, [*RUNNING, DONE]))
    assert [told["state"] for _, told in events_in(text)] == ["running", "done"]
    assert text.startswith("retry: 2000\n\n")


def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_events, "BEAT", 0.0)
    text = asyncio.run(streamed(monkeypatch, [*RUNNING, DONE]))
    assert text.count("\n: still so\n") == len(RUNNING) - 1


def test_it_goes_on_after_the_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two connections nothing is told twice, and nothing is left out."""
    first = asyncio.run(streamed(monkeypatch, [{"state": "queued", "updated": "0"}, *RUNNING, DONE]))
    (_, (last, _), _) = events_in(first)
    again = asyncio.run(streamed(monkeypatch, [*RUNNING, DONE], since=last))
    assert [told["state"] for _, told in events_in(again)] == ["done"]
    missed = asyncio.run(streamed(monkeypatch, [DONE], since=last))
    assert [told["state"] for _, told in events_in(missed)] == ["done"]
    assert event_id({"state": "queued"}) != event_id({"state": "running"})


def test_who_was_told_of_the_end_is_not_to_come_back(curator: Curator) -> None:
    job, _ = curator.store.jobs.create("local:ada", "ward", "release", BODY, key="k")
    curator.store.jobs.cancel(job.id)
    web, path = TestClient(create_curator(curator), base_url=HOME), f"/v1/jobs/{job.id}/events"
    who = headers_of(curator)
    said = web.get(path, headers=who)
    ((last, told),) = events_in(said.text)
    assert (said.status_code, told["state"]) == (200, "cancelled")
    assert said.headers["x-accel-buffering"] == "no"
    assert said.headers["cache-control"] == "no-store"
    assert web.get(path, headers={**who, "last-event-id": last}).status_code == 204
    for other in ("", "0" * 16, last[:15], f"{last} {last}", "x" * 9000):
        assert len(events_in(web.get(path, headers={**who, "last-event-id": other}).text)) == 1
    assert web.get(path, headers={**headers_of(curator, "ben"), "last-event-id": last}).status_code == 404


async def opened(app: ASGIApp, path: str, who: Mapping[str, str], many: int) -> list[int]:
    """How so many streams begin that stay open until all have begun; then all are left."""
    leave = asyncio.Event()

    async def one(begun: asyncio.Future[int]) -> None:
        given = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if given:
                return given.pop()
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                begun.set_result(message["status"])

        headers = [(b"host", b"127.0.0.1"), *((a.encode(), b.encode()) for a, b in who.items())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8422),
        }  # fmt: skip
        await app(scope, receive, send)

    begun = [asyncio.get_running_loop().create_future() for _ in range(many)]
    tasks = [asyncio.create_task(one(future)) for future in begun]
    try:
        return [await asyncio.wait_for(future, 20) for future in begun]
    finally:
        leave.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 20)


def test_nobody_keeps_all_connections_by_streams(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight of one person's are open; the ninth is refused, another's is not, and who leaves makes room.

    With room for more the ninth opens: it is the limit that refuses it.
    """
    monkeypatch.setattr(job_events, "_PAUSE", 0.01)
    app = create_curator(curator)
    paths = []
    for name in ("ada", "ben"):
        job, _ = curator.store.jobs.create(f"local:{name}", "ward", "release", BODY, key="k", needed=1)
        paths.append((f"/v1/jobs/{job.id}/events", headers_of(curator, name)))
    for _ in range(2):
        begun = asyncio.run(opened(app, *paths[0], 9))
        assert sorted(begun) == [*([200] * 8), 429]
    assert asyncio.run(opened(app, *paths[1], 1)) == [200]
    monkeypatch.setattr(curator.streams, "_most", 9)
    assert asyncio.run(opened(app, *paths[0], 9)) == [200] * 9
