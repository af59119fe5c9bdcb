"""Templates of the console, and of the explorer for what both show: everything is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from leakcap import __version__
from leakcap.service.console.wording import day_and_time, question_words
from leakcap.web.pages import environment, static_file, template_text

__all__ = ["PageDrawing", "own_static"]

_STATIC = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
}

# Without any referrer a browser says of a form neither where it is from; other sites are told nothing.
_HEADERS = {"referrer-policy": "same-origin"}


def _load(name: str) -> str:
    own = files("leakcap.service.console") / "templates" / name
    return own.read_text(encoding="utf-8") if own.is_file() else template_text(name)


@cache
def _made() -> Environment:
    found = environment(_load)
    found.filters |= {"moment": day_and_time, "asked": question_words}
    return found


@dataclass(frozen=True)
class PageDrawing:
    """Draws pages from templates."""

    _environment: Environment = field(default_factory=_made)

    def page(self, name: str, content: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
        """A page by its name."""
        values = {"version": __version__, **content}
        text = self._environment.get_template(f"{name}.html.j2").render(values)
        return HTMLResponse(text, status, headers=_HEADERS)


@cache
def _content(name: str) -> tuple[bytes, str]:
    content = (files("leakcap.service.console") / "static" / name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]


def own_static(name: str, request: Request) -> Response | None:
    """One of the files that pages load, by its name in a fixed list; None for any other name."""
    if name not in _STATIC:
        return static_file(name, request)
    content, tag = _content(name)
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache", "content-type": _STATIC[name]}
    if request.headers.get("if-none-match") == f'"{tag}"':
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers)
