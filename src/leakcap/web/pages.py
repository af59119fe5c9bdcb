"""Templates and files of the explorer: everything is escaped, nothing is looked up by a reader's words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from leakcap import __version__
from leakcap.report.words.publication import off_by
from leakcap.report.words.wording import at_least, number, sum_text, to_its_noise
from leakcap.statement.wording import at_most, percent
from leakcap.web.figures import Figure
from leakcap.web.reading import plain_number
from leakcap.web.serving.guard import Keys

__all__ = ["NAVIGATION", "Pages", "environment", "static_file", "template_text"]

NAVIGATION = (
    ("/epsilon", "What does ε mean", "Meaning"),
    ("/choose", "Choose ε", "Choose ε"),
    ("/method", "What your method tells", "Methods"),
    ("/mechanism", "My mechanism", "Mechanism"),
    ("/release", "My release", "Release"),
)

_STATIC = {
    "style.css": ("web", "static/style.css", "text/css; charset=utf-8"),
    "app.js": ("web", "static/app.js", "text/javascript; charset=utf-8"),
    "theme.js": ("web", "static/theme.js", "text/javascript; charset=utf-8"),
    "htmx.min.js": ("web", "static/htmx.min.js", "text/javascript; charset=utf-8"),
    "vega-interpreter.js": ("web", "static/vega-interpreter.js", "text/javascript; charset=utf-8"),
    "vega.min.js": ("report", "vega/vega.min.js", "text/javascript; charset=utf-8"),
    "vega-lite.min.js": ("report", "vega/vega-lite.min.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("web", "static/icon.svg", "image/svg+xml"),
}


@cache
def _content(name: str) -> tuple[bytes, str, str]:
    room, path, kind = _STATIC[name]
    content = (files(f"leakcap.{room}") / path).read_bytes()
    # A map that is not there would make the browser ask for it and complain.
    content = content.replace(b"//# sourceMappingURL=", b"// source map: ")
    return content, kind, hashlib.sha256(content).hexdigest()[:16]


def static_file(name: str, request: Request) -> Response | None:
    """One of the files that pages load, by its name in a fixed list; None for any other name."""
    if name not in _STATIC:
        return None
    content, kind, tag = _content(name)
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache", "content-type": kind}
    if request.headers.get("if-none-match") == f'"{tag}"':
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers)


def _spec(figure: Figure) -> str:
    return json.dumps(figure.spec, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _ticked(text: str) -> Markup:
    """A message with what stands in backticks as code; all of it escaped.

    >>> str(_ticked("`<b>` must be a number"))
    '<code>&lt;b&gt;</code> must be a number'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick of somebody's own
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def template_text(name: str) -> str:
    """One of the explorer's templates."""
    return (files("leakcap.web") / "templates" / name).read_text(encoding="utf-8")


def environment(load: Callable[[str], str]) -> Environment:
    """Templates that escape every value, with the filters that show numbers; `load` finds one by name."""
    made = Environment(
        loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    tools = {
        "at_most": at_most,
        "percent": percent,
        "number": number,
        "shown": to_its_noise,
        "ticked": _ticked,
        "error": off_by,
        "spent": sum_text,
        "allowed": at_least,
        "plain": plain_number,
        "spec": _spec,
        "pieces": lambda text: text if isinstance(text, tuple) else (text,),
    }
    made.filters.update(tools)
    made.tests["shaped"] = lambda block, name: type(block).__name__ == name
    return made


@dataclass(frozen=True)
class Pages:
    """Draws pages: whole ones for a visit, the changing part alone for HTMX."""

    keys: Keys
    mode: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "_environment", environment(template_text))

    def show(
        self,
        request: Request,
        name: str,
        content: Mapping[str, Any],
        *,
        state: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> HTMLResponse:
        """A page by its name; with `state`, its address becomes the one that shows this state again."""
        environment: Environment = object.__getattribute__(self, "_environment")
        part = is_part(request)
        template = f"{name}_result.html.j2" if part else f"{name}.html.j2"
        values = {
            "path": request.url.path,
            "navigation": NAVIGATION,
            "form_key": self.keys.form,
            "version": __version__,
            "mode": self.mode,
            "part": part,
            **content,
        }
        # A browser reports a part that comes with an error status as a fault of the page.
        answer = HTMLResponse(environment.get_template(template).render(values), 200 if part else status)
        answer.headers["vary"] = "HX-Request"
        if part and state is not None:
            address = f"{request.url.path}?{urlencode(state)}"
            answer.headers["HX-Replace-Url"] = address if len(address) < 6000 else "false"
        return answer


def is_part(request: Request) -> bool:
    """Whether HTMX asks for the changing part only."""
    restoring = request.headers.get("hx-history-restore-request") == "true"
    return request.headers.get("hx-request") == "true" and not restoring
