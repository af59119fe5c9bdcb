"""The pages as an ASGI application: routes that read the query, call, and draw."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from leakcap.choosing import Scenario, choice, meaning_of
from leakcap.errors import InvalidChannel, InvalidQuery, LeakcapError
from leakcap.ledger import Entry
from leakcap.release.statistics import statistics
from leakcap.web.channels.comparing import GAINS, compare, given
from leakcap.web.channels.matrices import EXAMPLES, as_text
from leakcap.web.choosing import choose_epsilon, epsilon, needs_plots
from leakcap.web.choosing.deployments import DEPLOYMENTS
from leakcap.web.choosing.epsilon_plots import figures as epsilon_figures
from leakcap.web.choosing.method_page import method_page
from leakcap.web.choosing.own_table_page import own_table_page
from leakcap.web.figures import LIGHT, themed
from leakcap.web.pages import Pages, static_file
from leakcap.web.reading import not_shown
from leakcap.web.releasing.asking import FIELDS, OneTimeTokens, asked_query, previewed, released
from leakcap.web.releasing.drawn import TOO_LARGE, DrawnAnswer, drawn_answer
from leakcap.web.releasing.ledger_view import (
    answer_of,
    entry_statement,
    layout_of,
    ledger_view,
    policy_of,
    revised_of,
    shown_entry,
)
from leakcap.web.releasing.questions import columns, condition, offered
from leakcap.web.serving.bounded import OutOfTime, bounded
from leakcap.web.serving.forms import form_of, require_ours
from leakcap.web.serving.guard import Guard, Keys
from leakcap.web.serving.settings import Settings

__all__ = ["create_app"]

_BUSY = threading.BoundedSemaphore(2)
_PATIENCE = 10.0


@contextmanager
def _turn() -> Iterator[None]:
    """At most two long computations at once; who waits too long is told so."""
    if not _BUSY.acquire(timeout=_PATIENCE):
        raise HTTPException(503, "The explorer is busy. Try again in a moment.")
    try:
        yield
    finally:
        _BUSY.release()


def create_app(settings: Settings | None = None, *, keys: Keys | None = None) -> ASGIApp:
    """The explorer behind its guard.

    >>> type(create_app(Settings())).__name__
    'Guard'
    """
    settings = Settings() if settings is None else settings
    keys = Keys(settings.token, f"leakcap_{settings.port}") if keys is None else keys
    mode = "releases allowed" if settings.allow_release else "read-only"
    pages = Pages(keys, mode)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, title="leakcap explorer")
    _entrance(app, pages, keys)
    _meaning(app, pages)
    _choosing(app, pages, settings)
    method_page(app, pages, _turn)
    own_table_page(app, pages, _turn, keys)
    _mechanism(app, pages, keys)
    _release(app, pages, keys, settings)
    _faults(app, pages)
    return Guard(app, settings, keys)


def _entrance(app: FastAPI, pages: Pages, keys: Keys) -> None:
    @app.get("/")
    def home() -> Response:
        return RedirectResponse("/epsilon", 303)

    @app.get("/static/{name}")
    def static(request: Request, name: str) -> Response:
        found = static_file(name, request)
        return pages_missing() if found is None else found

    def let_in(request: Request, token: str) -> Response:
        if not keys.opens(token):
            return pages.show(request, "enter", {"wrong": bool(token)}, status=403 if token else 200)
        answer = RedirectResponse("/epsilon", 303)
        answer.set_cookie(keys.cookie, keys.session, httponly=True, samesite="strict", path="/")
        return answer

    @app.get("/enter")
    def enter(request: Request) -> Response:
        return let_in(request, request.query_params.get("token", ""))

    @app.post("/enter")
    async def entered(request: Request) -> Response:
        fields, _ = await form_of(request)
        return let_in(request, fields.get("token", ""))


def pages_missing() -> Response:
    """What answers an address that is none."""
    raise HTTPException(404, "There is no such page.")


def _meaning(app: FastAPI, pages: Pages) -> None:
    @app.get("/epsilon")
    def meaning(request: Request) -> Response:
        asked = epsilon.asked(request.query_params)
        with _turn():
            m = meaning_of(asked)
            content = {
                "m": m,
                "complaints": not_shown(
                    request.query_params, epsilon.SLIDERS, "mechanism", list(epsilon.MECHANISMS)
                ),
                "asked": asked,
                "mechanisms": epsilon.MECHANISMS,
                "sliders": [s.shown(v) for s, v in zip(epsilon.SLIDERS, _values(asked), strict=True)],
                "figures": epsilon_figures(m),
                "lines": [line for line in m.statement.lines if line.key not in ("table", "more")],
            }
            return pages.show(request, "epsilon", content, state=epsilon.query_of(asked))

    @app.get("/epsilon.json")
    def numbers(request: Request) -> Response:
        asked = epsilon.asked(request.query_params)
        with _turn():
            m = meaning_of(asked)
            specs = {f.key: themed(f.spec, LIGHT) for f in epsilon_figures(m)}
            return JSONResponse(
                {"asked": epsilon.query_of(asked), "statement": m.statement.to_dict(), "pictures": specs}
            )


def _values(asked: Scenario) -> tuple[float, ...]:
    prior = round(asked.prior * 100)
    return asked.epsilon, asked.delta, asked.queries, asked.family, prior, asked.values


def _choosing(app: FastAPI, pages: Pages, settings: Settings) -> None:
    @app.get("/choose")
    def choose(request: Request) -> Response:
        given = dict(request.query_params)
        with suppress(LeakcapError):
            # Without a sound policy the page starts with one row a person.
            given = choose_epsilon.of_policy(policy_of(settings)) | given
        need = choose_epsilon.needed(given)
        moved = [
            choose_epsilon.SLIDERS[need.kind],
            choose_epsilon.QUERIES,
            choose_epsilon.PEOPLE,
            choose_epsilon.ROWS,
            choose_epsilon.GROUPS,
        ]
        values = (need.amount, need.queries, need.people, need.rows, need.groups)
        with _turn():
            found = choice(need)
            content = {
                "complaints": [
                    *not_shown(given, moved, "need", list(choose_epsilon.NEEDS)),
                    *not_shown(given, [], "counts", list(choose_epsilon.COUNTS)),
                    *not_shown(given, [], "neighbours", list(choose_epsilon.NEIGHBOURS)),
                ],
                "need": need,
                "address": partial(choose_epsilon.need_address, need),
                "counts": choose_epsilon.COUNTS,
                "neighbours": choose_epsilon.NEIGHBOURS,
                "needs": choose_epsilon.NEEDS,
                "sliders": [slider.shown(value) for slider, value in zip(moved, values, strict=True)],
                "c": found,
                "figures": needs_plots.need_figures(found),
                "deployments": DEPLOYMENTS,
            }
            return pages.show(request, "choose", content, state=choose_epsilon.need_query(need))


def _mechanism(app: FastAPI, pages: Pages, keys: Keys) -> None:
    def answer(request: Request, query: Mapping[str, str], problem: str = "") -> Response:
        asked = given(query)
        content: dict[str, Any] = {"asked": asked, "gains": GAINS, "examples": EXAMPLES, "found": None}
        content |= {"problem": problem, "figures": [], "own": bool(query.get("a", "").strip())}
        if not problem:
            try:
                with _turn():
                    content["found"] = bounded(compare, asked)
                content["figures"] = content["found"].figures
            except LeakcapError as error:
                content["problem"] = str(error)
        status = 422 if content["problem"] else 200
        return pages.show(request, "mechanism", content, state=asked.query, status=status)

    @app.get("/mechanism")
    def mechanism(request: Request) -> Response:
        return answer(request, request.query_params)

    @app.post("/mechanism")
    async def uploaded(request: Request) -> Response:
        fields, uploads = await form_of(request)
        require_ours(keys, fields)
        try:
            for name, raw in uploads.items():
                if raw and name in ("file_a", "file_b"):
                    fields[name[-1]] = as_text(raw, name[-1].upper())
        except InvalidChannel as error:
            return await run_in_threadpool(answer, request, fields, str(error))
        return await run_in_threadpool(answer, request, fields)


def _release(app: FastAPI, pages: Pages, keys: Keys, settings: Settings) -> None:
    promises = OneTimeTokens()

    def content(fields: Mapping[str, str]) -> dict[str, Any]:
        return {
            "fields": {name: fields.get(name, "") for name in FIELDS},
            "questions": offered(),
            "uses": {name: statistic.fields for name, statistic in statistics().items()},
            "allowed": settings.allow_release,
            "preview": None,
            "promise": "",
            "release": None,
            "problem": "",
        }

    def about(values: dict[str, Any]) -> dict[str, Any]:
        try:
            found = ledger_view(settings)
            more = {"columns": columns(found.policy), "example": condition(found.policy)}
            return values | more | {"ledger_view": found, "missing": ""}
        except LeakcapError as error:
            return values | {"ledger_view": None, "missing": str(error)}

    @app.get("/release")
    def mine(request: Request) -> Response:
        if settings.policy is None:
            return pages.show(request, "none", {"figures": []})
        asked = request.query_params.get("statistic", "") != ""
        return previewing(request) if asked else pages.show(request, "release", about(content({})))

    def previewing(request: Request) -> Response:
        values = content(request.query_params)
        status = 200
        try:
            with _turn():
                values["preview"] = bounded(previewed, settings, asked_query(request.query_params))
            if settings.allow_release:
                values["promise"] = promises.make(settings, values["fields"])
        except LeakcapError as error:
            values["problem"], status = str(error), 422
        state = {name: text for name, text in values["fields"].items() if text}
        return pages.show(request, "release", about(values), state=state, status=status)

    def releasing(request: Request, fields: Mapping[str, str]) -> Response:
        values = content(fields)
        try:
            query = asked_query(fields)
            promises.keep(fields.get("promise", ""), settings, fields)
            values["release"] = released(settings, query)
        except LeakcapError as error:
            values["problem"] = str(error)
        return pages.show(request, "release", about(values), status=422 if values["problem"] else 200)

    @app.post("/release")
    async def release(request: Request) -> Response:
        fields, _ = await form_of(request)
        require_ours(keys, fields)
        if not settings.allow_release:
            raise HTTPException(403, "This explorer only shows. Start it with --allow-release to release.")
        return await run_in_threadpool(releasing, request, fields)

    def drawn(entry: Entry) -> DrawnAnswer:
        if not layout_of(settings, entry):
            return DrawnAnswer()
        try:
            with _turn():
                return bounded(drawn_answer, settings, entry)
        except OutOfTime:
            return DrawnAnswer(note=TOO_LARGE)
        except LeakcapError as error:
            return DrawnAnswer(note=f"This answer is not drawn here: {error}")

    @app.get("/release/entry/{number}")
    def entry(request: Request, number: int) -> Response:
        try:
            found = shown_entry(settings, number)
        except LeakcapError as error:
            raise HTTPException(404, str(error)) from None
        if found is None:
            return pages_missing()
        content = {"entry": found, "told": entry_statement(settings, found)}
        content |= {"answer": answer_of(settings, found), "drawn": drawn(found)}
        content |= {"revised": revised_of(settings, found)}
        return pages.show(request, "entry", content)

    @app.get("/release/policy.json")
    def policy() -> Response:
        try:
            return JSONResponse(policy_of(settings).model_dump(mode="json"))
        except InvalidQuery as error:
            raise HTTPException(404, str(error)) from None


def _faults(app: FastAPI, pages: Pages) -> None:
    def said(request: Request, status: int, reason: str) -> HTMLResponse:
        return pages.show(request, "fault", {"reason": reason}, status=status)

    async def expected(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 422
        reasons = {404: "There is no such page.", 422: "This address is not understood."}
        reason = error.detail if isinstance(error, HTTPException) else ""
        return said(request, status, reasons.get(status, reason) if status == 404 else reason or reasons[422])

    async def unexpected(request: Request, error: Exception) -> Response:
        # The text of an unforeseen error may hold data: only its kind is shown.
        return said(request, 500, f"Internal error ({type(error).__name__}).")

    handlers: dict[Any, Callable[[Request, Exception], Any]] = {
        HTTPException: expected,
        422: expected,
        Exception: unexpected,
    }
    from fastapi.exceptions import RequestValidationError

    handlers[RequestValidationError] = expected
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
