"""The curator as an ASGI application: routes and pages behind their guard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

import leakcap
from leakcap.service.api.bodies import Status
from leakcap.service.api.curator import Curator
from leakcap.service.api.dataset_routes import dataset_routes
from leakcap.service.api.guard import CuratorGuard
from leakcap.service.api.identity_routes import identity_routes
from leakcap.service.api.job_routes import job_routes
from leakcap.service.api.lately import Lately
from leakcap.service.api.owner_routes import owner_routes
from leakcap.service.api.rates import Rates
from leakcap.service.api.refusing import PROBLEMS, refusals
from leakcap.service.api.work_routes import work_routes
from leakcap.service.console.application import console_app, with_console
from leakcap.service.engine.calling import EngineFailed
from leakcap.service.tracing import NOBODY, PublicWords, Tracer
from leakcap.web.serving.settings import is_loopback

__all__ = ["create_curator", "host_names", "openapi_of", "route_templates"]

TIMED = re.compile(r"POST /.*/releases|GET /v1/jobs/[^/]+/answer|GET /jobs/[^/]+(/answer\.[^/]+)?", re.DOTALL)
"""Methods and addresses whose answers were computed from data, which leave on the clock: also those of jobs,
at the console on the job's page."""


def create_curator(
    curator: Curator, tracer: Callable[[PublicWords], Tracer] = lambda words: NOBODY
) -> ASGIApp:
    """The application of one web worker; `tracer` opens spans that are made of these words."""
    api, pages = _routes(curator), console_app(curator)
    configuration = curator.configuration
    routes = frozenset(route_templates(api.routes)) | frozenset(route_templates(pages.routes))
    telemetry = configuration.telemetry
    return CuratorGuard(
        with_console(api, pages),
        names=host_names(configuration.origin, configuration.address[0]),
        most=configuration.limits.body_kib * 1024,
        tick=configuration.tick,
        timed=TIMED,
        rates=Rates(configuration.limits.requests_per_minute),
        observe=curator.metrics.observe,
        tracer=tracer(PublicWords(routes=routes, datasets=frozenset(configuration.data))),
        parents=telemetry is not None and telemetry.parents,
    )


def route_templates(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """The addresses of routes as they are declared; newer FastAPIs keep the routers that they include."""
    for one in routes:
        inner = getattr(one, "original_router", None)
        if inner is not None:
            yield from route_templates(inner.routes)
        elif isinstance(one, Route):
            yield one.path


def openapi_of(curator: Curator) -> dict[str, Any]:
    """The document that describes the interface (OpenAPI 3.1)."""
    return _routes(curator).openapi()


def host_names(origin: str, host: str) -> frozenset[str]:
    """Under which host names the curator is asked for.

    >>> sorted(host_names("https://curator.example.org", "127.0.0.1"))
    ['127.0.0.1', '::1', 'curator.example.org', 'localhost']
    """
    names = {urlsplit(origin).hostname or "", host}
    if is_loopback(host):
        names |= {"localhost", "127.0.0.1", "::1"}
    return frozenset(names - {"", "0.0.0.0", "::"})


def _routes(curator: Curator) -> FastAPI:
    app = FastAPI(
        title="leakcap curator",
        version="1",
        description="Private answers under durable caps. Amounts of information are in nats.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
        separate_input_output_schemas=False,
        redirect_slashes=False,
    )
    refusals(app)

    for made in (identity_routes, dataset_routes, work_routes, job_routes, owner_routes):
        app.include_router(made(curator))
    _monitored(app, curator)
    return app


def _ready(curator: Curator) -> bool:
    try:
        curator.store.pauses.list()
        for dataset in curator.configuration.data:
            curator.engine.call("check", dataset, "")
    except (EngineFailed, leakcap.errors.LeakcapError):
        return False
    return True


def _monitored(app: FastAPI, curator: Curator) -> None:
    @app.get("/healthz", tags=["monitoring"])
    def alive() -> dict[str, str]:
        """This worker answers."""
        return {"status": "alive", "version": leakcap.__version__}

    readiness = Lately(lambda: _ready(curator))

    @app.get("/readyz", tags=["monitoring"], response_model=Status, responses={503: {"model": Status}})
    def ready() -> Response:
        """Store and engine answer; whoever asks again within a second is told the same."""
        if not readiness():
            return JSONResponse({"status": "not ready"}, 503)
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", tags=["monitoring"], response_class=PlainTextResponse)
    def metrics(request: Request) -> Response:
        """Numbers of requests, for this machine alone."""
        near = request.client is None or is_loopback(request.client.host)
        forwarded = "x-forwarded-for" in request.headers or "forwarded" in request.headers
        if not near or forwarded:
            return PlainTextResponse("Only from the curator's own machine.", 403)
        return PlainTextResponse(curator.metrics.text())
