"""The page for a perturbation table of the reader's own: an upload, weighed and drawn, kept nowhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from leakcap.errors import LeakcapError
from leakcap.web.choosing import office_method as form
from leakcap.web.choosing.own_table import OwnTable, asked_table, weigh_upload
from leakcap.web.pages import Pages
from leakcap.web.serving.bounded import bounded
from leakcap.web.serving.forms import form_of, require_ours
from leakcap.web.serving.guard import Keys

__all__ = ["own_table_page"]

Turn = Callable[[], AbstractContextManager[None]]


def own_table_page(app: FastAPI, pages: Pages, turn: Turn, keys: Keys) -> None:
    """Adds the page, at /method/own."""

    def shown(request: Request, raw: bytes | None, fields: dict[str, str]) -> Response:
        content: dict[str, Any] = {"kinds": form.KINDS, "matched": form.MATCHED, "complaints": [], "t": None}
        content |= {"figures": [], "problem": "", "asked": OwnTable()}
        try:
            content["asked"] = asked_table(fields)
            if raw is not None:
                with turn():
                    content |= bounded(weigh_upload, raw, content["asked"])._asdict()
        except LeakcapError as error:
            content["problem"] = str(error)
        return pages.show(request, "own_table", content, status=422 if content["problem"] else 200)

    @app.get("/method/own")
    def page(request: Request) -> Response:
        return shown(request, None, {})

    @app.post("/method/own")
    async def uploaded(request: Request) -> Response:
        fields, uploads = await form_of(request)
        require_ours(keys, fields)
        return await run_in_threadpool(shown, request, uploads.get("table", b""), fields)
