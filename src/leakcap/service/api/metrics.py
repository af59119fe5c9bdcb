"""Numbers for whoever runs the curator, for Prometheus: of requests, never of data.

Times are taken after the clock, so that they tell no more than answers do. Workers count together where the
supervisor named a folder for it (`PROMETHEUS_MULTIPROC_DIR`).
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["Metrics"]

_EDGES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by method, route and status, and how long they took."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        labels = ("method", "route", "status")
        self._count = Counter("leakcap_requests", "Requests that were answered.", labels, registry=self._own)
        self._seconds = Histogram(
            "leakcap_request_seconds",
            "Seconds until an answer left.",
            ("route",),
            buckets=_EDGES,
            registry=self._own,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answer."""
        self._count.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> str:
        """All of it, in the text format."""
        registry = self._own
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry).decode()
