"""The plot of a running count, as a Vega-Lite specification: its totals and their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.report.plots.release import ACCENT, INK, PALE, WARM, Spec, report_chart
from leakcap.report.records.running import SeriesRecord

__all__ = ["running_chart"]

_COLOURS = (ACCENT, WARM, INK, "#7a6f9b", "#8a8f3c", PALE)


def running_chart(series: Sequence[tuple[str, SeriesRecord]]) -> Spec:
    """The totals of each series, by its name, as lines, and their 95 % intervals as bands; six at most."""
    data = [
        {
            "period": step.period,
            "series": name,
            "total": step.total,
            "low": step.total_lower,
            "high": step.total_upper,
        }
        for name, one in series
        for step in one.steps
    ]
    names = [name for name, _ in series]
    across = {
        "field": "period",
        "type": "ordinal",
        "sort": None,
        "title": None,
        "axis": {"labelOverlap": "greedy", "labelAngle": 0},
    }
    colour = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": list(_COLOURS[: len(names)])},
        **({"legend": None} if len(names) == 1 else {}),
    }
    tooltip = [
        *({"field": field, "type": "nominal"} for field in ("period", "series")),
        *({"field": field, "type": "quantitative", "format": ",.6~g"} for field in ("total", "low", "high")),
    ]
    return report_chart(
        "Totals so far",
        "lines: the private totals; bands: 95 % intervals",
        260,
        data={"values": data},
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.25},
                "encoding": {
                    "x": across,
                    "y": {"field": "low", "type": "quantitative", "title": None},
                    "y2": {"field": "high"},
                    "color": colour,
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "point": len(data) <= 60},
                "encoding": {
                    "x": across,
                    "y": {"field": "total", "type": "quantitative", "title": None},
                    "color": colour,
                    "tooltip": tooltip,
                },
            },
        ],
    )
