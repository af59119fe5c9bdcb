"""Errors as answers: problem details (RFC 9457), and nothing that was not meant to be said."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from leakcap.errors import LeakcapError
from leakcap.service.api.guard import problem_of
from leakcap.service.engine.calling import EngineFailed
from leakcap.service.store.errors import TooManyAttempts
from leakcap.wire import as_problem

__all__ = ["PROBLEMS", "problem_of_engine", "refusals"]

_MEDIA = "application/problem+json"
_MOST = 80
_ENGINE = {
    "time": (504, "out-of-time", "It took too long. Ask again under the same idempotency key: nothing is "
                                 "paid twice."),
    "ended": (503, "engine-ended", "The engine was interrupted. Ask again under the same idempotency key: "
                                   "nothing is paid twice."),
    "ledger": (503, "ledger-unavailable", "The ledger cannot be used just now. Ask again under the same "
                                          "idempotency key: nothing is paid twice."),
    "unreachable": (503, "engine-unreachable", "The engine is starting. Ask again in a moment."),
    "internal": (500, "internal", "What failed is in the curator's log, under this request's number."),
}  # fmt: skip

_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "committed": {"type": "boolean"},
    },
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": {_MEDIA: {"schema": _SCHEMA}}}
    for status, said in (
        (400, "Cannot be read"),
        (401, "Not signed in"),
        (403, "Not allowed"),
        (404, "Not there, or not to be seen"),
        (405, "No such method"),
        (408, "Too slow to arrive"),
        (409, "Refused: a cap, the ledger, or a state"),
        (413, "Too large"),
        (415, "Not JSON"),
        (421, "Another host's name"),
        (422, "Not as it must be"),
        (429, "Too many requests"),
        (503, "Not now"),
        (504, "Took too long"),
    )
}
"""What every route may answer beside its own, for the OpenAPI document."""


def problem_of_engine(error: EngineFailed) -> dict[str, Any]:
    """What is said where the engine gave no answer."""
    status, kind, detail = _ENGINE[error.kind]
    return problem_of(status, kind, "No answer", detail)


def refusals(app: FastAPI) -> None:
    """How the application answers what is raised."""

    @app.exception_handler(LeakcapError)
    def known(request: Request, error: LeakcapError) -> Response:
        problem = as_problem(error)
        headers = {}
        if problem["status"] == 401:
            headers["www-authenticate"] = "Bearer"
        if isinstance(error, TooManyAttempts):
            headers["retry-after"] = str(error.seconds)
        return _problem(problem, headers)

    @app.exception_handler(EngineFailed)
    def engine(request: Request, error: EngineFailed) -> Response:
        return _problem(problem_of_engine(error))

    @app.exception_handler(Exception)
    def fault(request: Request, error: Exception) -> Response:
        """Raised again after it: the guard writes to the log where it was, without its text."""
        return _problem(problem_of_engine(EngineFailed("internal")))

    @app.exception_handler(RequestValidationError)
    def unread(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()[0] if error.errors() else {}
        where = ".".join(str(part)[:_MOST] for part in found.get("loc", ())[1:]) or "the request"
        detail = f"`{where[:_MOST]}`: {str(found.get('msg', 'not as it must be'))[:200]}."
        return _problem(problem_of(422, "invalid-request", "Not as it must be", detail))

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        words = {
            404: ("not-found", "There is no such address."),
            405: ("method-not-allowed", "This address does not take that method."),
        }
        kind, detail = words.get(error.status_code, ("refused", str(error.detail)[:200]))
        return _problem(problem_of(error.status_code, kind, "Refused", detail), dict(error.headers or {}))


def _problem(problem: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return JSONResponse(problem, int(problem["status"]), headers, media_type=_MEDIA)
