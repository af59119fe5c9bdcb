"""A report as one HTML file that opens offline: light, dark, on a phone and on paper."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from leakcap.report.render import document as blocks
from leakcap.report.render.document import Document, marks, notes

__all__ = ["render_html", "write_html"]


def write_html(document: Document, path: Path) -> None:
    """Write the report; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_html(document), encoding="utf-8")


def render_html(document: Document) -> str:
    """The report as text. All it needs is inside; without plots that is a few kilobytes and no script."""
    plots = document.plots
    content: dict[str, Any] = {
        "document": document,
        "notes": notes(document),
        "scripts": (),
        "policy": _POLICY,
    }
    if plots:
        own = _DRAW.replace("SPECS", _json({plot.name: plot.spec for plot in plots}))
        content["scripts"] = (*_scripts(), own)
        hashes = " ".join((*_hashes(), _hash(own)))
        # Vega makes functions of its expressions; all of them are ours.
        content["policy"] = f"{_POLICY}; script-src {hashes} 'unsafe-eval'; img-src data: blob:"
    return str(_template().render(content))


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may do in a browser: nothing goes out, and no script runs that is not one of these."""

_DRAW = """
const specs = SPECS;
for (const [id, spec] of Object.entries(specs)) {
  const actions = { export: true, source: false, compiled: false, editor: false };
  vegaEmbed("#" + id, spec, { actions, renderer: "svg" });
}
"""


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _hashes() -> tuple[str, ...]:
    return tuple(_hash(script) for script in _scripts())


def _json(value: object) -> str:
    # Inside <script> nothing may look like markup, whatever a query is called.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _scripts() -> tuple[str, ...]:
    folder = files("leakcap.report") / "vega"
    return tuple(
        (folder / f"{name}.min.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
        for name in ("vega", "vega-lite", "vega-embed")
    )


@cache
def _template() -> Any:
    text = (files("leakcap.report") / "template.html.j2").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A name that the document has not is an error, not a block that is left out.
    environment.tests["shaped"] = lambda block, name: type(block) is getattr(blocks, name)
    environment.filters["marks"] = marks
    environment.filters["pieces"] = lambda text: text if isinstance(text, tuple) else (text,)
    return environment.from_string(text)
