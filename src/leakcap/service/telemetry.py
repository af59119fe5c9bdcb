"""Spans as OpenTelemetry has them, sent to the owner's collector: the one module that loads it.

No instrumentation of frameworks is used, which would tell addresses, questions, statements and exceptions.
What a span says passes two gates: `PublicWords` when it is said, and `PublicSpans` before it leaves, which
keeps back the whole of a span that says anything else, in whatever field. Environment variables change
neither what is told of this process nor where it goes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import requests
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from leakcap import __version__
from leakcap.service.tracing import CURRENT, OpenSpan, PublicWords, is_trace_address
from leakcap.web.serving.settings import is_loopback

__all__ = ["OpenTelemetryTracer", "PublicSpans", "collector_at", "tracer_of"]

_log = logging.getLogger("leakcap.curator")
_SCOPE = "leakcap"
_SERVICE = {"service.name": "leakcap-curator", "service.version": __version__}
_ATTRIBUTES = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
}
"""What OpenTelemetry's conventions call them."""
_SECONDS = 3.0
"""How long the collector may take; what it does not take is dropped, and nobody waits for it."""


class PublicSpans(SpanExporter):
    """Passes on the spans that say nothing but what is public, and keeps back all others."""

    def __init__(self, inner: SpanExporter, words: PublicWords) -> None:
        self._inner, self._words, self._names = inner, words, words.names

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export those that are public."""
        fine = [one for one in spans if self.is_public(one)]
        if len(fine) < len(spans):
            # Not which, and not what: that would tell it here.
            _log.error("%s spans say more than is public and were kept back", len(spans) - len(fine))
        return self._inner.export(fine) if fine else SpanExportResult.SUCCESS

    def is_public(self, span: ReadableSpan) -> bool:
        """Whether every field of it is."""
        attributes, scope, context = dict(span.attributes or {}), span.instrumentation_scope, span.context
        return (
            span.name in self._names
            and attributes == self._words.public(attributes)  # type: ignore[arg-type]
            and not span.events
            and not span.links
            and not span.status.description
            and dict(span.resource.attributes) == _SERVICE
            and scope is not None
            and (scope.name, scope.version, scope.schema_url or "", dict(scope.attributes or {}))
            == (_SCOPE, __version__, "", {})
            and context is not None
            and not context.trace_state
            and (span.parent is None or not span.parent.trace_state)
        )

    def shutdown(self) -> None:
        """No more."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 3000) -> bool:
        """Send what waits."""
        return self._inner.force_flush(timeout_millis)


class _Open:
    """A span of OpenTelemetry that is open."""

    def __init__(self, span: trace.Span, words: PublicWords, begun: int) -> None:
        self._span, self._words, self._begun = span, words, begun
        self.ended: int | None = None

    def call(self, name: str) -> None:
        """Give it another name."""
        self._span.update_name(name)

    def say(self, **values: str | int) -> None:
        """Further attributes; what is not public is left out."""
        told = {_ATTRIBUTES.get(name, name): value for name, value in values.items()}
        self._span.set_attributes(self._words.public(told))

    def end_after(self, seconds: float) -> None:
        """It ends so long after it began, whenever it is closed."""
        self.ended = self._begun + int(seconds * 1e9)


class OpenTelemetryTracer:
    """Opens spans, whose values are held to these words, and hands them to a processor."""

    def __init__(self, processor: SpanProcessor, words: PublicWords) -> None:
        self._words = words
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=Resource(_SERVICE))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(_SCOPE, __version__)

    @contextmanager
    def span(self, name: str, *, parent: str = "", **values: str | int) -> Iterator[OpenSpan]:
        """A span, open until the end of its context, below the one at this address.

        An exception that passes through is not told: neither its kind nor its text.
        """
        begun = time.time_ns()
        made = self._tracer.start_span(name, _context_of(parent), start_time=begun, record_exception=False)
        found = _Open(made, self._words, begun)
        found.say(**values)
        token = CURRENT.set(_address_of(made.get_span_context()))
        try:
            yield found
        finally:
            CURRENT.reset(token)
            made.end(found.ended)


def collector_at(endpoint: str) -> SpanExporter:
    """Spans go there by OTLP over HTTP; no redirect is followed, and to this machine no proxy leads."""
    session = requests.Session()
    session.max_redirects = 0
    session.trust_env = not is_loopback(urlsplit(endpoint).hostname or "")
    return OTLPSpanExporter(endpoint=endpoint, timeout=_SECONDS, session=session)


def tracer_of(endpoint: str, words: PublicWords) -> OpenTelemetryTracer:
    """What opens spans in one process, and sends those that are public to the collector."""
    return OpenTelemetryTracer(BatchSpanProcessor(PublicSpans(collector_at(endpoint), words)), words)


def _context_of(address: str) -> Context:
    """Below the span at this address; of a trace of its own where there is none. Nothing of the thread's."""
    if not is_trace_address(address):
        return Context()
    _, number, above, _ = address.split("-")
    flags = TraceFlags(TraceFlags.SAMPLED)
    context = SpanContext(int(number, 16), int(above, 16), is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(NonRecordingSpan(context), Context())


def _address_of(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"
