"""One HTML file that opens offline: values, plots, statement, caps."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from leakcap.ledger import Balance
from leakcap.release import Release
from leakcap.report import plots
from leakcap.report.publication import CAPS, Publication, assumptions, figures, number, protects, scales
from leakcap.statement import Statement
from leakcap.statement.wording import percent

__all__ = ["render_html", "write_html"]


def write_html(publication: Publication, path: Path) -> None:
    """Write the report; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_html(publication), encoding="utf-8")


def render_html(publication: Publication) -> str:
    """The report as text. All it needs is inside."""
    grouped = [r for r in publication.releases if r.grouped]
    total = publication.total
    content: dict[str, Any] = {
        "title": publication.policy.dataset,
        "subtitle": f"{len(publication.releases)} private statistics, {publication.time:%-d %B %Y %H:%M} UTC",
        "protects": protects(publication.policy),
        "hero": _hero(total),
        "scalars": [_scalar(r) for r in publication.releases if not r.grouped],
        "grouped": [_grouped(r) for r in grouped],
        "lines": _lines(total),
        "queries": [
            {"name": r.name, "figures": f"ε = {r.price.epsilon:g}", "lines": _lines(s)}
            for r, s in zip(publication.releases, publication.statements, strict=True)
        ],
        "balances": [_balance(b) for b in publication.balances],
        "assumptions": assumptions(publication.policy),
        "footer": "Made by leakcap. Every number is exact or the outward end of a certified interval.",
        "specs": _json({f"statistic-{i}": _plot(r) for i, r in enumerate(grouped)} | _plots(publication)),
        **_scripts(),
    }
    return str(_template().render(content))


def _hero(total: Statement) -> list[tuple[str, str]]:
    own, family = total["information_own"], total["family"]
    average = f"{plots.short((own.bits or (0.0, 0.0))[1])} bits" if math.isfinite(own.upper) else "no bound"
    return [
        (
            percent(total["coin_flip"].upper),
            "is how sure a fifty-fifty guess about one person can become, at most",
        ),
        (average, "are learned about one person on average, at most, if everybody else is known"),
        (percent(family.upper), f"for something that {family.detail['k']} people share, a household say"),
    ]


def _scalar(release: Release) -> dict[str, str]:
    row = release.rows[0]
    return _described(release) | {
        "value": number(row.value),
        "low": number(row.interval[0]),
        "high": number(row.interval[1]),
    }


def _grouped(release: Release) -> dict[str, Any]:
    rows = [
        {
            "label": plots.label(r.keys),
            "value": number(r.value),
            "low": number(r.interval[0]),
            "high": number(r.interval[1]),
        }
        for r in release.rows
    ]
    return _described(release) | {"rows": rows}


def _described(release: Release) -> dict[str, str]:
    return {
        "name": release.name,
        "text": release.text,
        "scale": scales(release),
        "epsilon": f"{release.price.epsilon:g}",
    }


def _lines(statement: Statement) -> list[dict[str, str]]:
    return [
        {
            "sentence": line.sentence,
            "figures": figures(statement, line.key),
            "formula": line.formula,
            "source": line.source,
        }
        for line in statement.lines
    ]


def _balance(balance: Balance) -> dict[str, str]:
    def show(value: float | None) -> str:
        return "not capped" if value is None else f"{value:.6g}"

    return {
        "name": CAPS.get(balance.name, balance.name),
        "cap": show(balance.cap),
        "spent": show(balance.spent),
        "left": show(balance.left),
    }


def _plot(release: Release) -> plots.Spec:
    return plots.statistic(release.name, release.rows)


def _plots(publication: Publication) -> dict[str, plots.Spec]:
    total = publication.total
    return {
        "guess": plots.guess(total),
        "information": plots.information(total),
        "future": plots.future(total),
        "budget": plots.budget(publication.balances),
    }


def _json(value: object) -> str:
    # Inside <script> nothing may look like markup, whatever a query is called.
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
    text = (files("leakcap.report") / "template.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
