"""Attacks as one HTML file that opens offline: what each got, and what theory allows at most."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from leakcap.attack import Finding
from leakcap.report.attack_plots import attack_figures, guard_figures, named
from leakcap.report.plots import Spec

__all__ = ["attack_figures", "guard_figures", "render_attack", "write_attack"]


def write_attack(path: Path, title: str, found: Sequence[Finding], specs: Sequence[Spec]) -> None:
    """Write the page; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_attack(title, found, specs), encoding="utf-8")


def render_attack(title: str, found: Sequence[Finding], specs: Sequence[Spec]) -> str:
    """The page as text: plots, numbers, guards. All it needs is inside."""
    drawn = {f"figure-{i}": spec for i, spec in enumerate(specs)}
    content = {
        "title": title,
        "rows": [_row(f) for f in found],
        "guards": list(dict.fromkeys(f.stopped_by for f in found)),
        "figures": [
            (name, f"{s['title']['text']}; the numbers are in the table") for name, s in drawn.items()
        ],
        "specs": _json(drawn),
        **_scripts(),
    }
    return str(_template().render(content))


def _row(found: Finding) -> dict[str, Any]:
    plain = {"attack", "got", "at_most", "ratio", "unit", "stopped_by"}
    rest = {k.replace("_", " "): _word(v) for k, v in found.to_dict().items() if k not in plain}
    ratio = "∞" if math.isinf(found.ratio) else f"{found.ratio:.4g}"
    return {
        "attack": named(found),
        "got": f"{found.got:.6g}",
        "at_most": f"{found.at_most:.6g}",
        "ratio": ratio,
        "unit": found.unit,
        "rest": ", ".join(f"{name} {value}" for name, value in rest.items()),
    }


def _word(value: object) -> str:
    if value is None:
        return "∞"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _json(value: object) -> str:
    # Inside <script> nothing may look like markup, whatever a matrix or a person is called.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _scripts() -> dict[str, str]:
    folder = files("leakcap.report") / "vega"
    return {
        name: (folder / f"{file}.min.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
        for name, file in (("vega", "vega"), ("vega_lite", "vega-lite"), ("vega_embed", "vega-embed"))
    }


@cache
def _template() -> Any:
    text = (files("leakcap.report") / "attack.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
