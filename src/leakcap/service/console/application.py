"""The console as an application beside `/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from leakcap.errors import LeakcapError
from leakcap.service.api.curator import Curator
from leakcap.service.api.refusing import problem_of_engine
from leakcap.service.console import (
    accounts,
    asking,
    audit,
    datasets,
    entering,
    jobs,
    passwords,
    people,
    providers,
    requests,
    tokens,
)
from leakcap.service.console.drawing import PageDrawing, own_static
from leakcap.service.console.visiting import AskAgain, Console, console_of
from leakcap.service.engine.calling import EngineFailed
from leakcap.service.identity.principal import Unauthenticated
from leakcap.wire import as_problem

__all__ = ["ROOMS", "console_app", "with_console"]

_OF_THE_API = ("/v1", "/healthz", "/readyz", "/metrics")
ROOMS = (entering, providers, passwords, datasets, asking, accounts, jobs, people, requests, tokens, audit)
"""The modules whose `routes` are the console's."""


def with_console(api: ASGIApp, pages: ASGIApp) -> ASGIApp:
    """Pages everywhere but where the interface is."""

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "/v1")
        is_api = path in _OF_THE_API or path.startswith("/v1/")
        await (api if is_api else pages)(scope, receive, send)

    return both


def console_app(curator: Curator) -> FastAPI:
    """The pages alone."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.console = Console(curator, PageDrawing())
    for room in ROOMS:
        app.include_router(room.routes)

    @app.get("/static/{name}")
    def static(request: Request, name: str) -> Response:
        found = own_static(name, request)
        if found is None:
            raise HTTPException(404)
        return found

    _faults(app)
    return app


def _faults(app: FastAPI) -> None:
    """What is raised, in words."""

    @app.exception_handler(Unauthenticated)
    def nobody(request: Request, error: Unauthenticated) -> Response:
        if request.method == "GET":
            to = "" if request.url.path == "/" else f"?{urlencode({'to': request.url.path})}"
            return RedirectResponse(f"/sign-in{to}", 303)
        detail = "Nobody is signed in here, or no longer. Nothing was done. Sign in, and send the form again."
        return _said(request, {"status": 401, "title": "Not signed in", "detail": detail})

    @app.exception_handler(AskAgain)
    def again(request: Request, error: AskAgain) -> Response:
        asked = {"to": request.url.path, "again": "yes"}
        return RedirectResponse(f"/sign-in/{error.alias}?{urlencode(asked)}", 303)

    @app.exception_handler(LeakcapError)
    def known(request: Request, error: LeakcapError) -> Response:
        return _said(request, as_problem(error))

    @app.exception_handler(EngineFailed)
    def engine(request: Request, error: EngineFailed) -> Response:
        return _said(request, problem_of_engine(error))

    @app.exception_handler(RequestValidationError)
    def unread(request: Request, error: RequestValidationError) -> Response:
        detail = "This address is not understood."
        return _said(request, {"status": 422, "title": "Not as it must be", "detail": detail})

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        words = {404: "There is no such page.", 405: "This page does not take that."}
        detail = words.get(error.status_code, "This cannot be done.")
        return _said(request, {"status": error.status_code, "title": "Not shown", "detail": detail})


def _said(request: Request, problem: Mapping[str, Any]) -> Response:
    content = {"title": problem["title"], "detail": problem["detail"]}
    return console_of(request).page("fault", content, status=int(problem["status"]))
