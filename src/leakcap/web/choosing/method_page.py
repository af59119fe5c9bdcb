"""The page "What your method tells": what an office's method says of a person, beside noise of its error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from fastapi import FastAPI, Request, Response

from leakcap.choosing import told_by
from leakcap.web.choosing import office_method as form
from leakcap.web.choosing.method_content import method_content
from leakcap.web.pages import Pages
from leakcap.web.reading import not_shown

__all__ = ["method_page"]

Turn = Callable[[], AbstractContextManager[None]]


def method_page(app: FastAPI, pages: Pages, turn: Turn) -> None:
    """Adds the page, at /method."""

    @app.get("/method")
    def method(request: Request) -> Response:
        query = request.query_params
        asked = form.asked_method(query)
        sliders = form.sliders_of(asked)
        with turn():
            content = {
                "complaints": [
                    *not_shown(query, sliders, "kind", list(form.KINDS)),
                    *not_shown(query, [], "table", list(form.TABLES)),
                    *not_shown(query, [], "matched", list(form.MATCHED)),
                ],
                "asked": asked,
                "address": partial(form.method_address, asked),
                "kinds": form.KINDS,
                "tables": form.TABLES,
                "matched": form.MATCHED,
                "sliders": [
                    s.shown(v) for s, v in zip(form.drawn(asked), form.values_of(asked), strict=True)
                ],
                **method_content(told_by(asked))._asdict(),
            }
            return pages.show(request, "method", content, state=form.method_query(asked))
