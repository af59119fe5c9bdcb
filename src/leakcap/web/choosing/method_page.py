"""The page "What your method tells": what an office's method says of a person, beside noise of its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from fastapi import FastAPI, Request, Response

from leakcap.choosing import MethodTells, told_by
from leakcap.choosing.methods import RiskTold
from leakcap.statement.wording import at_most, percent
from leakcap.web.choosing import office_method as form
from leakcap.web.choosing.method_plots import kind_text, method_figures
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
            tells = told_by(asked)
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
                "t": tells,
                "rows": [_compared(tells, kind) for kind in (*tells.cells, *tells.noise)],
                "all": [_listed(tells, kind) for kind in tells.kinds],
                "figures": method_figures(tells),
                "limit": math.inf,
            }
            return pages.show(request, "method", content, state=form.method_query(asked))


def _listed(tells: MethodTells, kind: RiskTold) -> dict[str, object]:
    """One kind of cell in a table, without what takes long."""
    return {
        "name": kind_text(tells, kind),
        "others": kind.others,
        "nats": at_most(kind.risk.capacity.upper),
        "epsilon": at_most(kind.risk.epsilon.upper),
        "belief": "" if kind.belief is None else percent(kind.belief),
        "one": percent(kind.guess),
    }


def _compared(tells: MethodTells, kind: RiskTold) -> dict[str, object]:
    never = "never" if kind.guesses[-1] <= 0.5 else "over a million"
    return _listed(tells, kind) | {
        "guesses": [percent(right) for right in kind.guesses],
        "sure": never if kind.sure is None else f"{kind.sure:,}",
    }
