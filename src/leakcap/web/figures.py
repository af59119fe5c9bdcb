"""What all pictures share: a Vega-Lite frame whose colours are names, filled in for light or dark.

A picture says `@accent` where it means the accent; the page's script puts in the colour of the theme that the
reader has chosen, and `themed` does the same here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leakcap.report.plots.release import ACCENT, INK, PALE, WARM

__all__ = ["DARK", "LIGHT", "Figure", "Spec", "chart", "lines", "named_colours", "themed"]

Spec = dict[str, Any]

# Blue, vermilion and grey differ in lightness as well as hue: they stay apart for every colour vision.
LIGHT: Mapping[str, str] = {
    "@ink": "#1d2733",
    "@soft": "#566270",
    "@grid": "#e4e9ed",
    "@pale": "#aab6c0",
    "@accent": "#1f6f8b",
    "@warm": "#c2502f",
    "@paper": "#ffffff",
}
DARK: Mapping[str, str] = {
    "@ink": "#e6edf2",
    "@soft": "#a3b1bd",
    "@grid": "#2c3842",
    "@pale": "#5d6d7a",
    "@accent": "#5fbcd9",
    "@warm": "#f2906f",
    "@paper": "#182128",
}


@dataclass(frozen=True)
class Figure:
    """A picture with what it says in words: `text` stands under it, `spoken` is read where it is not seen."""

    key: str
    title: str
    text: str
    spoken: str
    spec: Spec
    wide: bool = False


def chart(height: int, **parts: Any) -> Spec:
    """A Vega-Lite specification in the explorer's style."""
    axis = {
        "labelColor": "@soft",
        "titleColor": "@soft",
        "gridColor": "@grid",
        "domainColor": "@pale",
        "tickColor": "@pale",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    legend = {"labelColor": "@ink", "orient": "bottom", "title": None, "labelFontSize": 12, "labelLimit": 320}
    config = {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "legend": {**legend, "columns": 2},
        "text": {"color": "@ink"},
        "background": "@paper",
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": 480,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": config,
        **parts,
    }


def themed(value: Any, colours: Mapping[str, str]) -> Any:
    """A specification with the names of colours replaced.

    >>> themed({"color": "@paper", "n": 1}, LIGHT)
    {'color': '#ffffff', 'n': 1}
    """
    if isinstance(value, dict):
        return {key: themed(part, colours) for key, part in value.items()}
    if isinstance(value, list):
        return [themed(part, colours) for part in value]
    return colours.get(value, value) if isinstance(value, str) else value


_OF_REPORTS = {
    INK: "@ink",
    ACCENT: "@accent",
    WARM: "@warm",
    PALE: "@pale",
    "#e6eaee": "@grid",
    "#5b6773": "@soft",
    "transparent": "@paper",
}


def named_colours(spec: Mapping[str, Any]) -> Spec:
    """A specification of a report with the explorer's names of colours.

    >>> named_colours({"color": "#1f6f8b", "values": ["a"]})
    {'color': '@accent', 'values': ['a']}
    """
    # What is data stays as it is: a key may be called like a colour.
    rest = {key: part for key, part in spec.items() if key != "data"}
    found: Spec = themed(rest, _OF_REPORTS)
    return found | ({"data": spec["data"]} if "data" in spec else {})


def lines(names: list[str], colours: list[str]) -> Spec:
    """The colour channel of a few named curves."""
    return {
        "field": "which",
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": colours},
    }
