"""What spans may say, and how a trace goes from process to process: plain values, without OpenTelemetry.

A span has a name and attributes out of what is public: a route's template, a method, a status, the name of a
data set in the configuration, an operation, how it ended, and the request's number, which every answer has.
Nothing else can be put into one, and nothing else leaves (`telemetry.PublicSpans`).

A trace's address travels as text, `00-<trace>-<span>-01` (W3C Trace Context), in a variable of this context
and in messages to the engine. It is of this curator's making, unless the owner has it taken from requests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeAlias

__all__ = [
    "CURRENT",
    "METHODS",
    "NOBODY",
    "NO_ROUTE",
    "OpenSpan",
    "PublicWords",
    "SpanValues",
    "Tracer",
    "is_trace_address",
]

SpanValues: TypeAlias = Mapping[str, str | int]
METHODS = ("GET", "HEAD", "POST", "DELETE", "(other)")
NO_ROUTE = "(none)"
_OUTCOMES = ("answered", "refused", "failed", "cancelled")
CURRENT: ContextVar[str] = ContextVar("leakcap_trace", default="")
"""The address of the span that is open here; empty where there is none."""
_ADDRESS = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]")
_NUMBER = re.compile(r"[0-9a-f]{16}")


class OpenSpan(Protocol):
    """A span that is open."""

    def call(self, name: str) -> None:
        """Give it another name."""

    def say(self, **values: str | int) -> None:
        """Further attributes; what is not public is left out."""

    def end_after(self, seconds: float) -> None:
        """It ends so long after it began, whenever it is closed."""


class Tracer(Protocol):
    """What opens spans."""

    def span(self, name: str, *, parent: str = "", **values: str | int) -> AbstractContextManager[OpenSpan]:
        """A span, open until the end of its context, below the one at this address."""


class _Silent:
    def call(self, name: str) -> None:
        pass

    def say(self, **values: str | int) -> None:
        pass

    def end_after(self, seconds: float) -> None:
        pass


class _Nobody:
    def span(self, name: str, *, parent: str = "", **values: str | int) -> AbstractContextManager[OpenSpan]:
        return nullcontext(_Silent())


NOBODY: Tracer = _Nobody()
"""Who opens no spans: the owner asked for none."""


@dataclass(frozen=True)
class PublicWords:
    """The words that spans are made of: lists that the curator had before anybody asked."""

    routes: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """No route is one that nobody knows."""
        object.__setattr__(self, "routes", self.routes | {NO_ROUTE})

    @property
    def names(self) -> frozenset[str]:
        """What a span may be called."""
        requests = {f"{method} {route}" for method in METHODS for route in self.routes}
        return frozenset(requests | self.operations | {f"job {one}" for one in self.operations})

    def public(self, values: SpanValues) -> dict[str, str | int]:
        """The attributes that may be told: each of a known name, with a value of its list, or with the form
        of a status or a request's number.

        >>> PublicWords(datasets=frozenset({"ward"})).public({"dataset": "ward", "query": "sum of age"})
        {'dataset': 'ward'}
        """
        lists: Mapping[str, Collection[str]] = {
            "http.request.method": METHODS,
            "http.route": self.routes,
            "dataset": self.datasets,
            "operation": self.operations,
            "outcome": _OUTCOMES,
        }
        return dict(_fine(values, lists))


def _fine(values: SpanValues, lists: Mapping[str, Collection[str]]) -> Iterable[tuple[str, str | int]]:
    for name, value in values.items():
        # Exactly these types: what only compares as equal could still carry more.
        if type(value) is int:
            fine = name == "http.response.status_code" and 100 <= value <= 599
        elif type(value) is str:
            fine = value in lists.get(name, ()) or (name == "request" and bool(_NUMBER.fullmatch(value)))
        else:
            fine = False
        if fine:
            yield name, value


def is_trace_address(text: object) -> bool:
    """Whether this is a trace's address, in its one form.

    >>> is_trace_address(f"00-{'a' * 32}-{'b' * 16}-01"), is_trace_address(f"00-{'0' * 32}-{'b' * 16}-01")
    (True, False)
    """
    return isinstance(text, str) and _ADDRESS.fullmatch(text) is not None
