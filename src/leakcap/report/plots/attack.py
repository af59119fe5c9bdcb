"""The plots of attacks, as Vega-Lite specifications: what each got, and what theory allows at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from leakcap.attack import Finding
from leakcap.report.plots.release import ACCENT, INK, PALE, WARM, Spec

__all__ = ["attack_figures", "attack_title", "guard_figures", "limits"]

_LEAST = 1e-6
"""Nothing smaller is drawn on a logarithmic scale."""
_FEW = 12
_SOLID, _DASHED, _DOTTED = [1, 0], [6, 4], [2, 3]
_POINT: Spec = {"type": "point", "filled": True, "size": 150, "opacity": 1}


def attack_figures(found: Sequence[Finding]) -> list[Spec]:
    """The plots of one attack, or of one attack at several sizes.

    >>> from leakcap.attack import membership
    >>> [spec["title"]["text"] for spec in attack_figures([membership(1.0)])]
    ['Got, and at most']
    """
    for fields, draw in _DRAWN:
        if len(found) > 1 and all(_has(f, fields) for f in found):
            return [draw(found)]
    if len(found) == 1 and _has(found[0], _JOINT):
        return [_promises(found[0]), limits(found)]
    units = list(dict.fromkeys(f.unit for f in found))
    return [limits([f for f in found if f.unit == unit]) for unit in units]


def _has(found: object, fields: Sequence[str]) -> bool:
    """Whether these are figures of its own: an attack drawn from its record has no other kind."""
    own = (getattr(found, field, None) for field in fields)
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in own)


def guard_figures(pairs: Sequence[tuple[Finding, Finding]]) -> list[Spec]:
    """Attacks without leakcap's guard and with it, one plot a unit.

    >>> from leakcap.attack import reused_noise
    >>> len(guard_figures([(reused_noise(), reused_noise(fresh=True))]))
    1
    """
    units = list(dict.fromkeys(_scale(pair[0]) for pair in pairs))
    return [_guards([pair for pair in pairs if _scale(pair[0]) == unit], unit) for unit in units]


def _scale(found: Finding) -> str:
    """A share of people is held against the same limit as a probability, and drawn beside it."""
    return "probability" if found.unit == "share of people" else found.unit


def attack_title(found: Finding) -> str:
    """The attack, and on what.

    >>> from leakcap.attack import membership
    >>> attack_title(membership(1.0))
    'membership in a histogram'
    """
    detail = getattr(found, "sampler", None) or getattr(found, "joint", None)
    return f"{found.attack}: {detail}" if isinstance(detail, str) and detail else found.attack


def limits(found: Sequence[Finding]) -> Spec:
    """Each attack's limit as a bar, and what it got as a point.

    >>> from leakcap.attack import membership
    >>> [row["what"] for row in limits([membership(1.0)])["data"]["values"]]
    ['at most', 'got']
    """
    unit, names = found[0].unit, ["at most", "got"]
    rows = [
        {"attack": attack_title(f), "what": what, "value": value}
        for f in found
        for what, value in zip(names, (f.at_most, f.got), strict=True)
    ]
    marks = ({"type": "bar", "height": 16}, _POINT)
    return _chart(
        "Got, and at most",
        f"the bar is what the theory allows, the point what the attack got; {unit}",
        44 * len(found) + 20,
        data={"values": rows},
        layer=_layers(dict(zip(names, marks, strict=True)), _colour(names, [PALE, WARM]), unit, zero=True),
    )


def _guards(pairs: Sequence[tuple[Finding, Finding]], unit: str) -> Spec:
    names = ["at most", "without the guard", "with it"]
    rows = [
        {"attack": attack_title(pair[0]).split(":")[0], "what": what, "value": value}
        for pair in pairs
        for what, value in zip(names, (pair[0].at_most, pair[0].got, pair[1].got), strict=True)
    ]
    marks = dict(zip(names, ({"type": "tick", "thickness": 3, "size": 26}, _POINT, _POINT), strict=True))
    return _chart(
        "The same attack without leakcap's guard and with it",
        f"the tick is what was promised at most; {unit}",
        40 * len(pairs) + 20,
        data={"values": rows},
        layer=_layers(marks, _colour(names, [INK, WARM, ACCENT]), unit, zero=unit not in ("probability",)),
    )


def _layers(marks: dict[str, Spec], colour: Spec, unit: str, *, zero: bool) -> list[Spec]:
    """One layer a name, over attacks."""
    axis = {"labelLimit": 300, "grid": False}
    y = {"field": "attack", "type": "nominal", "sort": None, "title": None, "axis": axis}
    x = {"field": "value", "type": "quantitative", "title": unit, "scale": {"zero": zero}}
    encoding = {"x": x, "y": y, "color": colour, "tooltip": _tooltip("value")}
    return [
        {"transform": [{"filter": f"datum.what == '{what}'"}], "mark": mark, "encoding": encoding}
        for what, mark in marks.items()
    ]


def _chart(title: str, subtitle: str, height: int, **parts: Any) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, "subtitle": subtitle, "anchor": "start", "fontSize": 15},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": "system-ui, sans-serif",
            "view": {"stroke": None},
            "background": "transparent",
            "legend": {"orient": "bottom", "columns": 3, "labelLimit": 260},
        },
        **parts,
    }


def _colour(names: Sequence[str], colours: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": list(colours)}
    return {"field": "what", "type": "nominal", "title": None, "scale": scale}


def _tooltip(*fields: str) -> list[Spec]:
    numbers = ({"field": field, "type": "quantitative", "format": ".5~g"} for field in fields)
    return [{"field": "what", "type": "nominal"}, *numbers]


Line = tuple[str, str, list[int]]
"""Name, colour and dashes of a line."""


def _lines(
    title: str, subtitle: str, x: tuple[str, str, str], y: Spec, lines: Sequence[Line], rows: list[Spec]
) -> Spec:
    """Lines over sizes: x is (field, title, kind of scale), y a title and a scale."""
    field, across, scale = x
    names = [name for name, _, _ in lines]
    dashes = {"domain": names, "range": [dash for _, _, dash in lines]}
    sizes = sorted({row[field] for row in rows})
    axis: Spec = {"grid": False, "labelExpr": "format(datum.value, '.6~g')"}
    axis |= {"values": sizes} if len(sizes) <= _FEW else {}
    chart = _chart(
        title,
        subtitle,
        300,
        data={"values": rows},
        mark={
            "type": "line",
            "strokeWidth": 2.5,
            "clip": True,
            "point": {"size": 45, "strokeDash": _SOLID},
        },
        encoding={
            "x": {
                "field": field,
                "type": "quantitative",
                "title": across,
                "scale": {"type": scale, "padding": 8, "nice": False},
                "axis": axis,
            },
            "y": {"field": "value", "type": "quantitative", "axis": {"format": "~g"}, **y},
            "color": _colour(names, [colour for _, colour, _ in lines]),
            "strokeDash": {"field": "what", "type": "nominal", "title": None, "scale": dashes},
            "tooltip": _tooltip(field, "value"),
        },
    )
    chart["config"]["legend"] |= {"symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 500}
    return chart


def _rows(found: Sequence[Any], x: str, shown: dict[str, str], least: float = 0.0) -> list[Spec]:
    """One row a finding and a name; `shown` is from names to fields."""
    return [
        {x: float(f"{getattr(f, x):.6g}"), "what": what, "value": getattr(f, field)}
        for what, field in shown.items()
        for f in found
        if math.isfinite(getattr(f, x)) and least <= getattr(f, field) < math.inf
    ]


def _copies(found: Sequence[Any]) -> Spec:
    """I(X;Y) → H(X) though I(X;Y|others) = 0, over the number of records."""
    shown = {
        "I(X;Y)": "got",
        "I(X;Y | all others)": "given_others",
        "cap on one person": "independent_cap",
        "ε + d": "extent_cap",
        "cap on the table": "table_cap",
    }
    marks = ((WARM, _SOLID), (ACCENT, _SOLID), (ACCENT, _DASHED), (INK, _DOTTED), (INK, _DASHED))
    top = min(max(1.25 * max(f.got for f in found), 1.1 * found[0].independent_cap), 1e308)
    return _lines(
        "One record in a noisy sum of records that depend on each other",
        f"ε = {found[0].epsilon:g}; the cap on one person is about whoever knows all the others",
        ("records", "records", "log"),
        {"title": "nats", "scale": {"domain": [0, top]}},
        [(name, *mark) for name, mark in zip(shown, marks, strict=True)],
        _rows(found, "records", shown),
    )


def _promises(found: Any) -> Spec:
    """One joint law: what is learned beside every promise, on a logarithmic scale."""
    pairs = [
        ("learned: I(X;Y)", found.got, WARM),
        ("learned, all others known", found.given_others, ACCENT),
        ("cap on one person", found.independent_cap, PALE),
        ("cap by kε", found.group_cap, PALE),
        ("cap by ε + d", found.extent_cap, PALE),
        ("cap on the table", found.table_cap, PALE),
        ("learned from the worst answer", found.lift, WARM),
        ("at most from any answer", found.lift_at_most, PALE),
    ]
    drawn = [pair for pair in pairs if _LEAST <= pair[1] < math.inf]
    names = [what for what, _, _ in drawn]
    axis = {"labelLimit": 300, "grid": True}
    return _chart(
        "What is learned, and who promised what",
        f"{attack_title(found).rpartition(': ')[2]}, ε = {found.epsilon:g}; "
        "nats, on a logarithmic scale (less than 10⁻⁶ is left out)",
        34 * len(drawn) + 20,
        data={"values": [{"what": what, "nats": value} for what, value, _ in drawn]},
        mark=_POINT,
        encoding={
            "y": {"field": "what", "type": "nominal", "sort": names, "title": None, "axis": axis},
            "x": {
                "field": "nats",
                "type": "quantitative",
                "scale": {"type": "log"},
                "axis": {"tickCount": 6, "format": "~g"},
            },
            "color": {**_colour(names, [colour for _, _, colour in drawn]), "legend": None},
            "tooltip": _tooltip("nats"),
        },
    )


def _knowledge(found: Sequence[Any]) -> Spec:
    shown = {
        "I(X;Y), others unknown": "got",
        "I(X;Y), all others known": "at_most",
        "probability of a fully telling answer": "told",
    }
    marks = ((WARM, _SOLID), (INK, _DASHED), (ACCENT, _SOLID))
    return _lines(
        "An adversary who does not know everybody else",
        f"ε = {found[0].epsilon:g}, entropy of each of the others at least {found[0].nats_each:g} nats",
        ("others", "unknown records", "symlog"),
        {"title": "nats; probability", "scale": {"type": "log"}},
        [(name, *mark) for name, mark in zip(shown, marks, strict=True)],
        _rows(found, "others", shown, _LEAST),
    )


def _floor(found: Sequence[Any]) -> Spec:
    shown = {
        "attained by a belief": "got",
        "no belief exceeds": "at_most",
        "cap on one person": "independent_cap",
    }
    marks, n = ((WARM, _SOLID), (INK, _DASHED), (ACCENT, _DASHED)), found[0].records
    return _lines(
        "An entropy floor on the table",
        f"what a noisy count of {n} records tells about one; ε = {found[0].epsilon:g}",
        ("missing", f"nats of the table that may be known: {n} ln 2 − floor", "symlog"),
        {"title": "nats"},
        [(name, *mark) for name, mark in zip(shown, marks, strict=True)],
        _rows(found, "missing", shown),
    )


def _skew(found: Sequence[Any]) -> Spec:
    return _lines(
        "How far an even outcome can be tilted",
        f"under a cap of {found[0].nats:g} nats at level α; randomised response reaches the bound",
        ("alpha", "level α", "log"),
        {"title": "probability of the likelier outcome", "scale": {"zero": False}},
        [("at most", INK, _SOLID), ("randomised response", WARM, _DASHED)],
        _rows(found, "alpha", {"at most": "at_most", "randomised response": "got"}),
    )


def _surprise(found: Sequence[Any]) -> Spec:
    return _lines(
        "How often an answer tells much more than the average",
        f"at level α = {found[0].alpha:g}; the average is {found[0].nats:.4g} nats",
        ("level", "nats", "linear"),
        {"title": "probability of so many nats or more"},
        [("at most", INK, _DASHED), ("this channel", WARM, _SOLID)],
        _rows(found, "level", {"at most": "at_most", "this channel": "got"}),
    )


_CAPS = ("records", "epsilon", "independent_cap")
_JOINT = (*_CAPS, "given_others", "group_cap", "extent_cap", "table_cap", "lift", "lift_at_most")
_DRAWN: tuple[tuple[tuple[str, ...], Callable[[Sequence[Any]], Spec]], ...] = (
    (_JOINT, _copies),
    (("others", "nats_each", "epsilon", "told"), _knowledge),
    ((*_CAPS, "missing"), _floor),
    (("alpha", "level", "nats"), _surprise),
    (("alpha", "nats"), _skew),
)
"""The figures of their own by which attacks at several sizes are known, and how they are drawn."""
