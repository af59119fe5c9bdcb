"""The plots of a report, as Vega-Lite specifications. Pure functions from numbers to dictionaries.

Specifications are written by hand rather than through a plotting package: they are the stable, documented
format, the core stays light, and a test validates each against Vega-Lite's own schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leakcap.definition.meaning import posterior_bound
from leakcap.release.results.record import RowRecord
from leakcap.statement import Statement
from leakcap.statement.least import least_guess
from leakcap.statement.wording import at_most

__all__ = ["Spec", "future", "guess", "information_bars", "label", "report_chart", "short", "statistic"]

Spec = dict[str, Any]

INK, ACCENT, WARM, PALE = "#1d2733", "#1f6f8b", "#c8553d", "#b9c4cd"
BITS = math.log2(math.e)


def short(value: float) -> str:
    """A quantity in a headline: three digits, rounded up.

    >>> short(0.0018034)
    '0.00181'
    """
    return at_most(value)


def label(keys: Mapping[str, object]) -> str:
    """A group's name: its keys, in order.

    >>> label({"ward": "A", "year": 2024})
    'A, 2024'
    """
    return ", ".join(str(value) for value in keys.values())


def report_chart(title: str, subtitle: str, height: int, **parts: Any) -> Spec:
    """A chart as wide as its place, in the colours and letters of a report, with these marks and data."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": title,
            "subtitle": subtitle,
            "anchor": "start",
            "fontSize": 15,
            "subtitleColor": "#5b6773",
        },
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": "system-ui, sans-serif",
            "background": "transparent",
            "view": {"stroke": None},
            "axis": {
                "labelColor": INK,
                "titleColor": INK,
                "gridColor": "#e6eaee",
                "domainColor": PALE,
                "tickColor": PALE,
            },
            "legend": {"labelColor": INK, "titleColor": INK, "orient": "bottom", "columns": 3},
        },
        **parts,
    }


def guess(statement: Statement) -> Spec:
    """How sure a guess about one person can become, against how sure it was."""
    shown = statement.exposure
    k = int(statement["family"].detail["k"])
    curves = [("nothing was published", 0.0), ("one person", shown.epsilon_contents)]
    note = "at most, by how sure it was before"
    odds = statement["odds"]
    if odds.detail["exception"] > 0.0:
        # Odds move so far but for a rare exception, and no such curve holds for a family.
        moved = math.log(odds.upper) if math.isfinite(odds.upper) else 2 * shown.epsilon_contents
        curves[1] = ("one person", moved)
        note += f", except with probability {at_most(odds.detail['exception'])}"
    else:
        curves.append((f"{k} together", k * shown.epsilon_contents))
    data = [
        {"before": i / 100, "after": posterior_bound(e, i / 100), "who": who, "order": order}
        for order, (who, e) in enumerate(curves)
        for i in range(101)
    ]
    names = [who for who, _ in curves]
    return report_chart(
        "How sure a guess can become",
        note,
        260,
        data={"values": data},
        mark={"type": "line", "strokeWidth": 2.5},
        encoding={
            "x": {
                "field": "before",
                "type": "quantitative",
                "axis": {"format": ".0%", "title": "sure before"},
            },
            "y": {
                "field": "after",
                "type": "quantitative",
                "axis": {"format": ".0%", "title": "sure after, at most"},
            },
            "order": {"field": "before", "type": "quantitative"},
            "color": {
                "field": "who",
                "type": "nominal",
                "title": None,
                "scale": {"domain": names, "range": [PALE, ACCENT, WARM]},
            },
            "tooltip": [
                {"field": "who", "type": "nominal", "title": "about"},
                {"field": "before", "type": "quantitative", "format": ".0%"},
                {"field": "after", "type": "quantitative", "format": ".2%"},
            ],
        },
    )


def information_bars(statement: Statement) -> Spec:
    """Average information by three bounds, beside the worst case, in bits."""
    shown = {
        "information_own": "average: the noise used",
        "information_tight": "average: any such mechanism",
        "information_published": "average: published bound",
    }
    if statement.exposure.delta_contents > 0.0:
        shown["information_tight"] = "average: a yes/no fact"
    known = {line.key: line.upper for line in statement.lines if math.isfinite(line.upper)}
    pairs = [(label, known[key]) for key, label in shown.items() if key in known]
    pairs.append(("worst case: ε", statement.exposure.epsilon_contents))
    labels = [label for label, _ in pairs]
    data = [{"what": what, "bits": v * BITS, "nats": v} for what, v in pairs]
    colours = [
        ACCENT if "used" in what or "any" in what or "yes" in what else PALE for what in labels[:-1]
    ] + [WARM]
    return report_chart(
        "Information about one person",
        "at most, in bits, on a logarithmic scale",
        260,
        data={"values": data},
        mark={"type": "point", "filled": True, "size": 160},
        encoding={
            "y": {
                "field": "what",
                "type": "nominal",
                "sort": list(labels),
                "title": None,
                "axis": {"labelLimit": 240, "grid": True},
            },
            "x": {
                "field": "bits",
                "type": "quantitative",
                "scale": {"type": "log"},
                "title": "bits",
                "axis": {"tickCount": 6, "format": "~g"},
            },
            "color": {
                "field": "what",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": labels, "range": colours},
            },
            "tooltip": [
                {"field": "what", "type": "nominal"},
                {"field": "bits", "type": "quantitative", "format": ".4g"},
                {"field": "nats", "type": "quantitative", "format": ".4g"},
            ],
        },
    )


def future(statement: Statement) -> Spec:
    """A fifty-fifty guess after more releases like everything so far."""
    shown, most = statement.exposure, int(statement["more"].detail["more"])
    places = range(most + 1) if shown.composed is None else sorted({most * i // 40 for i in range(41)})
    totals = [(m, shown.repeated(m + 1)) for m in places]
    data = [{"more": m, "after": least_guess(e.pairs_contents)} for m, e in totals]
    return report_chart(
        "If this were repeated",
        "how sure a fifty-fifty guess could become, at most",
        200,
        data={"values": data},
        mark={"type": "area", "line": {"color": WARM, "strokeWidth": 2.5}, "color": WARM, "opacity": 0.15},
        encoding={
            "x": {"field": "more", "type": "quantitative", "title": "further releases"},
            "y": {
                "field": "after",
                "type": "quantitative",
                "scale": {"domain": [0.5, 1.0]},
                "stack": None,
                "axis": {"format": ".0%", "title": "sure, at most"},
            },
            "tooltip": [
                {"field": "more", "type": "quantitative"},
                {"field": "after", "type": "quantitative", "format": ".2%"},
            ],
        },
    )


def statistic(name: str, rows: Sequence[RowRecord]) -> Spec:
    """The values of a grouped statistic, with their 95 % intervals."""
    data = [
        {"key": label(r.keys or {}), "value": r.value, "low": r.interval[0], "high": r.interval[1]}
        for r in rows
    ]
    angle = 0 if max(len(str(d["key"])) for d in data) * len(data) <= 90 else -40
    across = {
        "field": "key",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 200, "labelAngle": angle},
    }
    tooltip = [
        {"field": "key", "type": "nominal"},
        *({"field": f, "type": "quantitative", "format": ",.6~g"} for f in ("value", "low", "high")),
    ]
    value = {"field": "value", "type": "quantitative", "title": None}
    return report_chart(
        name,
        "bars: the private values; lines: 95 % intervals",
        220,
        data={"values": data},
        layer=[
            {
                "mark": {"type": "bar", "color": ACCENT, "opacity": 0.75},
                "encoding": {"x": across, "y": value, "tooltip": tooltip},
            },
            {
                "mark": {"type": "rule", "color": INK, "strokeWidth": 2},
                "encoding": {
                    "x": across,
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                    "tooltip": tooltip,
                },
            },
        ],
    )
