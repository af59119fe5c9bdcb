"""Pictures with sliders, as Vega-Lite. Their numbers come from leakcap, for every place of the slider."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import leakcap as lc
from leakcap.accounting import PrivacyLoss
from leakcap.definition import meaning

Spec = dict[str, Any]
STEPS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0]


def _chart(description: str, height: int, **parts: Any) -> Spec:
    axis = {"labelColor": "colour:ink", "titleColor": "colour:soft", "gridColor": "colour:line",
            "domainColor": "colour:line", "tickColor": "colour:line", "gridOpacity": 0.5}  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "width": 440,
        "height": height,
        "background": "transparent",
        "config": {"axis": axis, "legend": {"labelColor": "colour:ink", "titleColor": "colour:soft"},
                   "view": {"stroke": None}, "text": {"color": "colour:ink"}, "font": "system-ui, sans-serif"},
        **parts,
    }  # fmt: skip


def _slider(name: str, label: str, steps: int, start: int) -> Spec:
    bind = {"input": "range", "min": 0, "max": steps - 1, "step": 1, "name": label}
    return {"name": name, "value": start, "bind": bind}


def odds() -> Spec:
    """A hundred people, ε on a slider."""
    shares = [math.ceil(1000 * meaning.posterior_bound(epsilon, 0.5) - 1e-9) / 10 for epsilon in STEPS]
    right = [math.ceil(share) for share in shares]
    labels = [
        f"ε = {epsilon:g}: a coin-flip guess is right at most {share:.1f} times of 100"
        for epsilon, share in zip(STEPS, shares, strict=True)
    ]
    names = ("right by tossing a coin", "right because of the answer, at most", "still wrong")
    who = f"datum.k < 50 ? '{names[0]}' : datum.k < {right}[place] ? '{names[1]}' : '{names[2]}'"
    colour = {
        "field": "who",
        "type": "nominal",
        "title": None,
        "legend": {"orient": "bottom", "direction": "vertical"},
        "scale": {"domain": list(names), "range": ["colour:soft", "colour:warm", "colour:wash"]},
    }
    place = {"type": "ordinal", "axis": None}
    return _chart(
        "A hundred people; a slider sets epsilon; coloured are those guessed right at most",
        230,
        data={"sequence": {"start": 0, "stop": 100, "as": "k"}},
        params=[_slider("place", "ε, from 0.05 to 5", len(STEPS), 1)],
        transform=[
            {"calculate": "datum.k % 10", "as": "x"},
            {"calculate": "floor(datum.k / 10)", "as": "y"},
            {"calculate": who, "as": "who"},
            {"calculate": f"{labels}[place]", "as": "percent"},
        ],
        layer=[
            {
                "mark": {"type": "circle", "size": 190, "opacity": 1},
                "encoding": {
                    "x": {"field": "x", **place},
                    "y": {"field": "y", "sort": "descending", **place},
                    "color": colour,
                },
            },
            {
                "transform": [{"filter": "datum.k == 0"}],
                "mark": {"type": "text", "align": "left", "fontSize": 14, "x": 0, "y": -12},
                "encoding": {"text": {"field": "percent"}},
            },
        ],
    )


def orders() -> Spec:
    """What ε allows at every order, ε on a slider."""
    kinds = {"any values, tight": {}, "diameter (RDP)": None}
    rows = []
    for i, epsilon in enumerate(STEPS):
        for step in range(25):
            alpha = 2.0 ** (step / 4)
            for name, facts in kinds.items():
                if facts is None:
                    value = lc.convert(lc.PureDP(epsilon), lc.RenyiDP, alpha=alpha).epsilon
                else:
                    value = lc.convert(lc.PureDP(epsilon), lc.LevelCapacity, alpha=alpha).nats
                rows.append(
                    {
                        "i": i,
                        "alpha": round(alpha, 4),
                        "value": value,
                        "name": name,
                        "known": f"ε = {epsilon:g}",
                    }
                )
    return _chart(
        "Capacity of level alpha and Rényi divergence that epsilon allows, against alpha; a slider sets epsilon",
        240,
        data={"values": rows},
        params=[_slider("place", "ε, from 0.05 to 5", len(STEPS), 6)],
        transform=[{"filter": "datum.i == place"}],
        layer=[
            {
                "mark": {"type": "line", "strokeWidth": 2.5},
                "encoding": {
                    "x": {
                        "field": "alpha",
                        "type": "quantitative",
                        "scale": {"type": "log", "base": 2},
                        "title": "order α",
                    },
                    "y": {"field": "value", "type": "quantitative", "title": "nats"},
                    "color": {
                        "field": "name",
                        "type": "nominal",
                        "title": None,
                        "legend": {"orient": "bottom"},
                        "scale": {"domain": list(kinds), "range": ["colour:accent", "colour:warm"]},
                    },
                },
            },
            {
                "transform": [{"filter": "datum.alpha == 1 && datum.name == 'diameter (RDP)'"}],
                "mark": {"type": "text", "align": "left", "fontSize": 13, "x": 12, "y": -8},
                "encoding": {"text": {"field": "known"}},
            },
        ],
    )


def composition() -> Spec:
    """ε of many queries at a δ, the size of one query on a slider."""
    sizes, counts = [0.02, 0.05, 0.1, 0.2, 0.5], [1, 3, 10, 30, 100, 300, 1000]
    rows = []
    for i, size in enumerate(sizes):
        loss = PrivacyLoss.of_mechanism(lc.mechanism.Laplace(1 / size))
        for k in counts:
            known = f"ε of one query = {size:g}"
            exact = min((loss**k).epsilon(1e-6).upper, k * size)
            rows.append({"i": i, "k": k, "value": k * size, "name": "sum, δ = 0", "known": known})
            rows.append({"i": i, "k": k, "value": exact, "name": "exact, δ = 10⁻⁶", "known": known})
    return _chart(
        "Epsilon of k Laplace queries as a sum and exactly at delta one in a million; a slider sets epsilon of one",
        240,
        data={"values": rows},
        params=[_slider("place", "ε of one query, 0.02 to 0.5", len(sizes), 2)],
        transform=[{"filter": "datum.i == place"}],
        layer=[
            {
                "mark": {"type": "line", "point": True, "strokeWidth": 2.5},
                "encoding": {
                    "x": {"field": "k", "type": "quantitative", "scale": {"type": "log"}, "title": "queries"},
                    "y": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {"type": "log"},
                        "title": "ε of all",
                    },
                    "color": {
                        "field": "name",
                        "type": "nominal",
                        "title": None,
                        "legend": {"orient": "bottom"},
                        "scale": {
                            "domain": ["sum, δ = 0", "exact, δ = 10⁻⁶"],
                            "range": ["colour:warm", "colour:accent"],
                        },
                    },
                },
            },
            {
                "transform": [{"filter": "datum.k == 1 && datum.name == 'sum, δ = 0'"}],
                "mark": {"type": "text", "align": "left", "fontSize": 13, "x": 12, "y": 12},
                "encoding": {"text": {"field": "known"}},
            },
        ],
    )


SPECIFICATIONS: dict[str, Callable[[], Spec]] = {"odds": odds, "orders": orders, "composition": composition}
