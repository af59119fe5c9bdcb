"""Spans say what is public and nothing else, whatever is asked, and nobody who asks is told of them."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode, TraceState

from leakcap.errors import InvalidParameter
from leakcap.service import telemetry
from leakcap.service.api.app import create_curator, openapi_of
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import load_configuration
from leakcap.service.console.application import ROOMS
from leakcap.service.engine.operations import OPERATIONS
from leakcap.service.engine.process import traced_together
from leakcap.service.running.checking import require_fit
from leakcap.service.running.jobs import work
from leakcap.service.telemetry import OpenTelemetryTracer, PublicSpans
from leakcap.service.ticks import rung
from leakcap.service.tracing import CURRENT, PublicWords, Tracer
from service.direct import DirectEngine, curator_in, written
from service.straight import Said, request

MARK = "zq7marked"
"""What stands in everything that is asked here, and never in a span."""
IDS = ("abad1dea" * 4, "c0ffee00" * 2)
"""A trace and a span of an analyst's choosing."""
PARENT = f"00-{IDS[0]}-{IDS[1]}-01"
ALLOWED = {
    "http.request.method", "http.route", "http.response.status_code",
    "dataset", "operation", "outcome", "request",
}  # fmt: skip


class TracedEngine(DirectEngine):
    """The engine's operations, within the spans of its process."""

    def __init__(self, curator: Curator, tracer: Tracer) -> None:
        super().__init__(curator.configuration)
        self._tracer, self.heard = tracer, list[Mapping[str, Any]]()

    def _told(self, message: Mapping[str, Any]) -> Any:
        self.heard.append(message)
        with self._one_at_a_time:
            (told,) = traced_together(
                [json.loads(json.dumps(message))], self._configuration, self._tables, self._tracer
            )
            return told


class Watched:
    """A curator with telemetry whose spans are kept in memory, after both gates."""

    def __init__(self, folder: Path, *, more: str = "") -> None:
        self.kept = InMemorySpanExporter()
        plain = curator_in(folder, more=f'[telemetry]\nendpoint = "http://127.0.0.1:4318/v1/traces"\n{more}')
        words = PublicWords(datasets=frozenset(plain.configuration.data), operations=frozenset(OPERATIONS))
        self.engine = TracedEngine(plain, self.tracer(words))
        self.curator = Curator(plain.configuration, plain.store, self.engine, plain.providers)
        self.app = create_curator(self.curator, self.tracer)

    def tracer(self, words: PublicWords) -> OpenTelemetryTracer:
        return OpenTelemetryTracer(SimpleSpanProcessor(PublicSpans(self.kept, words)), words)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.kept.get_finished_spans()

    def token(self, name: str = "ada") -> dict[str, str]:
        issued = self.curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1))
        return {"authorization": f"Bearer {issued.secret}"}


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path)
    yield found
    found.curator.store.close()


def routes_of(curator: Curator) -> list[tuple[str, str]]:
    """Every method and template that there is."""
    found = [
        (method.upper(), path) for path, methods in openapi_of(curator)["paths"].items() for method in methods
    ]
    for room in ROOMS:
        for one in room.routes.routes:
            found += [(method, one.path) for method in sorted(one.methods - {"HEAD"})]  # type: ignore[attr-defined]
    return found


QUESTION = {"name": MARK, "statistic": "mean", "column": "age", "where": f"ward = '{MARK}'", "epsilon": 0.01}
BODIES: Mapping[str, Any] = {
    "previews": {"queries": [QUESTION]},
    "releases": {"sql": f"SELECT COUNT(*) AS {MARK} FROM ward WHERE ward = '{MARK}'", "epsilon": 0.01},
    "session": {"name": MARK, "password": MARK},
    "fits": {"model": {"kind": MARK}},
    "tables": {"tables": [{"name": MARK}]},
    "amend": {"policy": {"dataset": MARK}, "reason": MARK},
    "pause": {"reason": MARK},
}


async def everything_asked(watched: Watched) -> list[Said]:
    """Every route, by nobody, an analyst and an owner, with the mark in all that they say."""
    said = []
    for who in ({"authorization": f"Bearer {MARK}"}, watched.token(), watched.token("olga")):
        for method, template in routes_of(watched.curator):
            path = template.replace("{dataset}", "ward")
            path = re.sub(r"\{\w+\}", MARK, path) + f"?{MARK}={MARK}"
            headers = {
                **who, "idempotency-key": MARK, "user-agent": MARK, "traceparent": PARENT,
                "tracestate": f"{MARK}=1", "baggage": f"{MARK}=1", "b3": f"{IDS[0]}-{IDS[1]}-1",
                "x-request-id": MARK, "origin": "http://127.0.0.1:8422",
            }  # fmt: skip
            body = BODIES.get(template.rpartition("/")[2], {MARK: MARK}) if method == "POST" else None
            if body is not None and not template.startswith("/v1"):
                headers["content-type"], body = "application/x-www-form-urlencoded", f"{MARK}={MARK}".encode()
            said.append(await request(watched.app, method, path, headers, body))
        for path in (f"/v1/datasets/{MARK}/budget", f"/v1/{MARK}", f"/{MARK}", "/v1/datasets/ward/budget"):
            said.append(await request(watched.app, "GET", path, {**who, "traceparent": PARENT}))
        said.append(await request(watched.app, MARK.upper(), "/v1/me", who))
    return said


def leaks(spans: tuple[ReadableSpan, ...]) -> list[str]:
    """What spans say that they must not: the mark, or an attribute that is none of the list."""
    found = []
    for one in spans:
        text = one.to_json()
        if MARK in text.lower() or any(part in text for part in IDS):
            found.append(text)
        if not set(one.attributes or {}) <= ALLOWED or one.events or one.links or one.status.description:
            found.append(text)
    return found


def test_whatever_is_asked_spans_say_what_is_public(watched: Watched) -> None:
    """A span for each request but those of monitoring; nobody who asks is told of it."""
    said = asyncio.run(everything_asked(watched))
    of_requests = [one for one in watched.spans if "http.route" in (one.attributes or {})]
    assert len(said) > 200
    assert len(of_requests) == len([one for one in said if one.status]) - 3 * 3
    assert leaks(watched.spans) == []
    told = {str((one.attributes or {})["http.route"]) for one in of_requests}
    there = {path for _, path in routes_of(watched.curator)} - {"/healthz", "/readyz", "/metrics"}
    assert there <= told | {"/static/{name}"}
    assert {one.name.split()[0] for one in of_requests} == {"GET", "POST", "DELETE", "(other)"}
    assert any(one.name in OPERATIONS for one in watched.spans)
    numbers = {f"{number:0{width}x}" for one in watched.spans if one.context is not None
               for number, width in ((one.context.trace_id, 32), (one.context.span_id, 16))}  # fmt: skip
    for one in said:
        told_of = json.dumps(dict(one.headers)) + one.content.decode("latin-1")
        assert not any(number in told_of for number in numbers)
        assert not {"traceresponse", "traceparent", "server-timing"} & set(one.headers)


def test_an_error_that_nobody_foresaw_leaves_no_words(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError(MARK)

    monkeypatch.setattr(watched.curator.store.grants, "of", fail)
    said = asyncio.run(request(watched.app, "GET", "/v1/datasets/ward", watched.token()))
    (span,) = watched.spans
    assert (said.status, (span.attributes or {})["http.response.status_code"]) == (500, 500)
    assert leaks(watched.spans) == []


def test_a_leak_through_both_gates_is_seen(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what a span says of a data set is what the address says, and neither gate is shut."""
    monkeypatch.setattr(PublicWords, "public", lambda self, values: dict(values))
    asyncio.run(request(watched.app, "GET", f"/v1/datasets/{MARK}/budget", watched.token()))
    assert leaks(watched.spans)


PUBLIC = PublicWords(datasets=frozenset({"ward"}), operations=frozenset({"release"}))


def opened(
    kept: InMemorySpanExporter, resource: Resource | None = None, scope: str = "leakcap"
) -> trace.Tracer:
    """A tracer of OpenTelemetry's own before the second gate, for code that goes round the first."""
    own = Resource({"service.name": "leakcap-curator", "service.version": telemetry.__version__})
    provider = TracerProvider(resource=resource or own)
    provider.add_span_processor(SimpleSpanProcessor(PublicSpans(kept, PUBLIC)))
    return provider.get_tracer(scope, telemetry.__version__)


def say_nothing(span: trace.Span) -> None:
    span.set_attribute("dataset", "ward")


def raise_within(span: trace.Span) -> None:
    span.record_exception(ValueError(MARK))


PLANTED: Mapping[str, Any] = {
    "a question's text": lambda span: span.set_attribute("query", MARK),
    "a question's text under a known name": lambda span: span.set_attribute("dataset", MARK),
    "an exception": raise_within,
    "an event": lambda span: span.add_event(MARK),
    "a status with words": lambda span: span.set_status(Status(StatusCode.ERROR, MARK)),
    "another name": lambda span: span.update_name(f"release {MARK}"),
    "a number": lambda span: span.set_attribute("dataset", 41),
    "a status that is none": lambda span: span.set_attribute("http.response.status_code", 41),
    "a float": lambda span: span.set_attribute("http.response.status_code", 200.5),
    "a list": lambda span: span.set_attribute("dataset", ["ward", "ward"]),
    "a request's number that is none": lambda span: span.set_attribute("request", MARK),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_second_gate_keeps_back_what_says_more(planted: str, caplog: pytest.LogCaptureFixture) -> None:
    kept = InMemorySpanExporter()
    for change in (say_nothing, PLANTED[planted]):
        with opened(kept).start_as_current_span("release") as span:
            change(span)
    assert len(kept.get_finished_spans()) == 1
    assert "1 spans say more than is public" in caplog.text
    assert MARK not in caplog.text


def test_the_second_gate_looks_at_links_states_resources_and_scopes() -> None:
    kept, state = InMemorySpanExporter(), TraceState([(MARK, "1")])
    other = SpanContext(1, 2, is_remote=True, trace_state=state)
    opened(kept).start_span("release", links=[Link(SpanContext(1, 2, True), {"x": MARK})]).end()
    opened(kept).start_span("release", trace.set_span_in_context(NonRecordingSpan(other))).end()
    opened(kept, Resource({"process.command": MARK})).start_span("release").end()
    opened(kept, scope=MARK).start_span("release").end()
    assert kept.get_finished_spans() == ()
    opened(kept).start_span("release").end()
    assert len(kept.get_finished_spans()) == 1


def test_environment_variables_add_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"x={MARK}")
    monkeypatch.setenv("OTEL_SERVICE_NAME", MARK)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://evil.example/")
    kept = InMemorySpanExporter()
    with OpenTelemetryTracer(SimpleSpanProcessor(PublicSpans(kept, PUBLIC)), PUBLIC).span("release"):
        pass
    assert len(kept.get_finished_spans()) == 1
    assert leaks(kept.get_finished_spans()) == []
    exporter: Any = telemetry.collector_at("http://127.0.0.1:4318/v1/traces")
    assert exporter._endpoint == "http://127.0.0.1:4318/v1/traces"


def asked(watched: Watched, **headers: str) -> ReadableSpan:
    """The span of one request with these headers; names in other letters come as further ones."""
    watched.kept.clear()
    asyncio.run(request(watched.app, "GET", "/v1", headers))
    (span,) = watched.spans
    return span


GARBLED = (
    PARENT.upper(), PARENT[:-1], f"{PARENT} ", f"{PARENT},{PARENT}", f"01{PARENT[2:]}", f"{PARENT}-x",
    f"00-{'0' * 32}-{IDS[1]}-01", f"00-{IDS[0]}-{'0' * 16}-01", f"00-{IDS[0]}-{IDS[1]}-ff", MARK, "",
)  # fmt: skip


def test_an_analyst_chooses_no_trace(watched: Watched, tmp_path: Path) -> None:
    """Unless the owner says that a proxy writes the header; baggage and state are taken from nobody."""
    claims = {"traceparent": PARENT, "tracestate": f"{MARK}=1", "baggage": f"{MARK}=1"}
    span = asked(watched, **claims)
    assert span.parent is None
    assert leaks((span,)) == []
    (tmp_path / "proxied").mkdir()
    proxied = Watched(tmp_path / "proxied", more="parents = true\n")
    try:
        span = asked(proxied, **claims)
        assert span.parent is not None
        assert f"{span.parent.trace_id:032x}" == IDS[0]
        assert MARK not in span.to_json()
        for garbled in GARBLED:
            assert asked(proxied, traceparent=garbled).parent is None, garbled
        assert asked(proxied, traceparent=PARENT, Traceparent=PARENT).parent is None
    finally:
        proxied.curator.store.close()


def test_a_request_and_what_the_engine_does_for_it_are_one_trace(watched: Watched) -> None:
    tick = watched.curator.configuration.tick
    body = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.5}]}
    headers = {**watched.token(), "idempotency-key": "k"}
    said = asyncio.run(request(watched.app, "POST", "/v1/datasets/ward/releases", headers, body))
    above = next(one for one in watched.spans if one.parent is None)
    below = next(one for one in watched.spans if one.name == "release")
    assert above.context is not None
    assert below.parent is not None
    assert (below.parent.trace_id, below.parent.span_id) == (above.context.trace_id, above.context.span_id)
    assert dict(below.attributes or {}) == {"dataset": "ward", "operation": "release", "outcome": "answered"}
    assert dict(above.attributes or {}) == {
        "http.request.method": "POST", "http.route": "/v1/datasets/{dataset}/releases",
        "http.response.status_code": 200, "dataset": "ward", "request": said.headers["x-request-id"],
    }  # fmt: skip
    # What was computed from data ends on a rung, to the nanosecond.
    assert below.end_time is not None
    assert below.start_time is not None
    seconds = (below.end_time - below.start_time) / 1e9
    assert rung(seconds * (1 - 1e-6), tick / 8) == pytest.approx(seconds, rel=1e-6)
    again = {**body, "fresh": True, "queries": [{**body["queries"][0], "epsilon": 99.0}]}
    asyncio.run(
        request(watched.app, "POST", "/v1/datasets/ward/releases", {**headers, "idempotency-key": "j"}, again)
    )
    assert [(one.attributes or {})["outcome"] for one in watched.spans if one.name == "release"][
        -1
    ] == "refused"


def test_a_job_is_a_trace(watched: Watched) -> None:
    body = {"queries": [{"name": MARK, "statistic": "count", "epsilon": 0.5}]}
    watched.curator.store.jobs.create("local:ada", "ward", "release", body, key=MARK)
    rounds = iter([True, False])
    words = PublicWords(datasets=frozenset({"ward"}), operations=frozenset(OPERATIONS))
    curator = watched.curator
    work(
        curator.store, curator.engine, curator.configuration, going=lambda: next(rounds),
        tracer=watched.tracer(words),
    )  # fmt: skip
    below, above = watched.spans
    assert (above.name, below.name) == ("job release", "release")
    assert above.context is not None
    assert below.parent is not None
    assert below.parent.span_id == above.context.span_id
    assert (above.attributes or {})["outcome"] == "answered"
    assert leaks(watched.spans) == []


def test_without_telemetry_no_message_carries_a_trace(tmp_path: Path) -> None:
    curator = curator_in(tmp_path)
    engine = TracedEngine(curator, None)  # type: ignore[arg-type]
    engine._told = lambda message: engine.heard.append(message) or {"result": {}}  # type: ignore[method-assign, func-returns-value]
    engine.call("describe", "ward", "local:ada")
    assert CURRENT.get() == ""
    assert "trace" not in engine.heard[0]
    curator.store.close()


def test_without_the_extra_it_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, more='[telemetry]\nendpoint = "https://collector.example.org/v1/traces"\n')
    require_fit(load_configuration(file), file)
    monkeypatch.setitem(sys.modules, "leakcap.service.telemetry", None)
    with pytest.raises(
        InvalidParameter, match=r"`telemetry` of `curator.toml` needs OpenTelemetry.*leakcap\[telemetry"
    ):
        require_fit(load_configuration(file), file)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://collector.example.org/v1/traces",
        "https://ada:secret@collector.example.org/",
        "ftp://x/",
        "x",
        "",
    ],
)
def test_spans_do_not_cross_the_network_in_the_open(endpoint: str, tmp_path: Path) -> None:
    file = written(tmp_path, more=f'[telemetry]\nendpoint = "{endpoint}"\n')
    with pytest.raises(InvalidParameter) as told:
        load_configuration(file)
    assert "secret" not in str(told.value)
