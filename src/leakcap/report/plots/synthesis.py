"""The plots of microdata, as Vega-Lite specifications: how far its tables are off, and its columns."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.report.plots.release import ACCENT, INK, PALE, Spec, report_chart
from leakcap.report.records.synthesis import FileColumnRecord, FileTableRecord

__all__ = ["column_chart", "distances_chart"]

_BAR, _LETTERS = 26, 70


def distances_chart(tables: Sequence[tuple[str, FileTableRecord]]) -> Spec:
    """For each table, its distance from the released one and the bound on that from the exact, by name."""
    data = [{"table": name, "distance": one.distance, "bound": one.bound} for name, one in tables]
    down = {
        "field": "table",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 260, "ticks": False},
    }
    tooltip = [
        {"field": "table", "type": "nominal"},
        {"field": "distance", "type": "quantitative", "format": ",.4~g", "title": "from the released table"},
        {"field": "bound", "type": "quantitative", "format": ",.4~g", "title": "from the exact one, at most"},
    ]
    return report_chart(
        "How far the file's tables are off",
        "dark: from the released table; pale: from the exact one, at most (95 %)",
        _BAR * max(len(data), 1) + 10,
        data={"values": data},
        layer=[
            {
                "mark": {"type": "bar", "color": colour, "height": height, "cornerRadiusEnd": 3},
                "encoding": {
                    "y": down,
                    "x": {
                        "field": field,
                        "type": "quantitative",
                        "title": "rows of the data, added up over the cells",
                    },
                    "tooltip": tooltip,
                },
            }
            for field, colour, height in (("bound", PALE, 16), ("distance", ACCENT, 8))
        ],
    )


def column_chart(column: FileColumnRecord) -> Spec:
    """The file's counts by the keys of a column as bars, and the released ones with their intervals."""
    letters = sum(len(str(one.key)) for one in column.margin)
    data = [
        {
            "key": str(one.key),
            "file": one.file,
            "released": one.released,
            "low": one.lower,
            "high": one.upper,
        }
        for one in column.margin
    ]
    across = {
        "field": "key",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {
            "labelAngle": 0 if letters <= _LETTERS else -35,
            "labelLimit": 140,
            "labelOverlap": "greedy",
        },
    }
    tooltip = [
        {"field": "key", "type": "nominal"},
        *(
            {"field": field, "type": "quantitative", "format": ",.4~f"}
            for field in ("file", "released", "low", "high")
        ),
    ]
    line = {"type": "rule", "color": INK, "strokeWidth": 1.5}
    return report_chart(
        column.name,
        "bars: the file; points: the released counts with 95 % intervals",
        180,
        data={"values": data},
        layer=[
            {
                "mark": {"type": "bar", "color": ACCENT, "opacity": 0.55, "cornerRadiusEnd": 2},
                "encoding": {
                    "x": across,
                    "y": {"field": "file", "type": "quantitative", "title": "rows of the data"},
                    "tooltip": tooltip,
                },
            },
            {
                "mark": line,
                "encoding": {
                    "x": across,
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 36, "color": INK},
                "encoding": {
                    "x": across,
                    "y": {"field": "released", "type": "quantitative"},
                    "tooltip": tooltip,
                },
            },
        ],
    )
