"""The pictures beside a choice of ε: both sides of it, and what others chose."""

from __future__ import annotations

import math

from leakcap.choosing import Choice
from leakcap.statement.guessing import success
from leakcap.statement.wording import percent
from leakcap.web.choosing.deployments import DEPLOYMENTS
from leakcap.web.figures import Figure, Spec, chart
from leakcap.web.reading import plain_number

__all__ = ["need_figures"]


def need_figures(choice: Choice) -> list[Figure]:
    """Accuracy against risk, and the ladder of published choices."""
    return [_sides(choice), _others(choice)]


def _ladder(centre: float) -> list[float]:
    return [float(f"{centre * 10 ** (i / 12):.6g}") for i in range(-18, 19)]


def _sides(c: Choice) -> Figure:
    n = c.need.queries
    rows = [
        {
            "eps": e,
            "error": max(c.need.previewed(e).error, 0.5),
            "guess": success(c.need.contents(e), 0.0),
        }
        for e in _ladder(c.epsilon)
        if 1e-6 <= e <= 100
    ]
    here = [{"eps": c.epsilon, "error": max(c.error, 0.5), "guess": c.guess}]
    spec = chart(170)
    del spec["width"], spec["height"]
    spec |= {
        "autosize": "pad",
        "columns": 2,
        "spacing": 40,
        "concat": [
            _panel(rows, here, "error", "a count is off by, at most", {"type": "log"}, "~g", "@accent"),
            _panel(rows, here, "guess", "a fifty-fifty guess is right", {"domain": [0.5, 1]}, ".0%", "@warm"),
        ],
    }
    text = (
        f"At ε = {plain_number(c.epsilon)} each count is off by at most ±{c.error:,} (95 %), and after "
        f"{n:,} {'query' if n == 1 else 'queries'} a fifty-fifty guess about one person is right with at "
        f"most {percent(c.guess)}. Less of the one is more of the other."
    )
    return Figure("sides", "Both sides of the choice", text, text, spec, wide=True)


def _powers(values: list[float]) -> list[float]:
    """The powers of ten among and around some values: lines enough for a logarithmic axis."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [float(f"1e{power}") for power in range(low, high + 1)]


def _panel(
    rows: list[Spec], here: list[Spec], field: str, title: str, scale: Spec, form: str, colour: str
) -> Spec:
    x = {
        "field": "eps",
        "type": "quantitative",
        "title": "ε of one query",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": "~g", "values": _powers([row["eps"] for row in rows])},
    }
    y = {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"format": form}
        | ({"values": _powers([r["error"] for r in rows])} if field == "error" else {}),
    }
    return {
        "width": 260,
        "height": 170,
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 2.5, "color": colour},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": here},
                "mark": {"type": "point", "filled": True, "size": 130, "color": "@ink", "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
        ],
    }


def _others(c: Choice) -> Figure:
    yours = f"yours, {c.need.queries:,} {'query' if c.need.queries == 1 else 'queries'}"
    rows: list[Spec] = [
        {
            "who": f"{d.who}: {d.what}",
            "eps": d.epsilon,
            "kind": "on the device" if d.local else "by the publisher",
            "unit": d.unit,
        }
        for d in DEPLOYMENTS
    ]
    rows.append({"who": yours, "eps": c.total, "kind": "yours", "unit": "a person's record"})
    rows.sort(key=lambda row: float(row["eps"]))
    reach = [float(rows[0]["eps"]) / 1.5, float(rows[-1]["eps"]) * 1.5]
    powers = [p for p in _powers(reach) if reach[0] <= p <= reach[1]]
    spec = chart(
        26 * len(rows),
        data={"values": rows},
        mark={"type": "point", "filled": True, "size": 130, "opacity": 1},
        encoding={
            "y": {
                "field": "who",
                "type": "nominal",
                "title": None,
                "sort": [row["who"] for row in rows],
                "axis": {"labelLimit": 290, "grid": True, "domain": False, "ticks": False},
            },
            "x": {
                "field": "eps",
                "type": "quantitative",
                "title": "ε per unit of privacy",
                "scale": {"type": "log", "domain": reach, "nice": False},
                "axis": {"format": "~g", "values": powers},
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "title": None,
                "scale": {
                    "domain": ["yours", "by the publisher", "on the device"],
                    "range": ["@warm", "@accent", "@pale"],
                },
            },
            "shape": {
                "field": "kind",
                "type": "nominal",
                "title": None,
                "scale": {
                    "domain": ["yours", "by the publisher", "on the device"],
                    "range": ["diamond", "circle", "square"],
                },
            },
            "tooltip": [
                {"field": "who", "type": "nominal", "title": "who"},
                {"field": "eps", "type": "quantitative", "title": "ε"},
                {"field": "unit", "type": "nominal", "title": "protects"},
            ],
        },
    )
    text = (
        "Noise is added by the publisher, or on each device. These numbers protect different things, so they "
        "rank nothing: the table says what each is about."
    )
    return Figure("others", "Where published deployments stand", text, text, spec, wide=True)
