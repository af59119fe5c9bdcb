"""The pictures of what an office's method tells."""

from __future__ import annotations

from leakcap.choosing import MethodTells
from leakcap.choosing.methods import SURE, RiskTold
from leakcap.report.words.disclosure import numbers_text
from leakcap.statement.wording import percent
from leakcap.web.figures import Figure, Spec, chart, lines

__all__ = ["kind_text", "method_figures"]

_PRESENT, _ABSENT = "with the person", "without"
_MOST_COUNTS = 26


def kind_text(tells: MethodTells, kind: RiskTold) -> str:
    """Which cells are meant, or which noise."""
    if kind.others is None:
        return f"{getattr(kind.risk, 'name', 'noise')} noise"
    return numbers_text(kind.others, tells.method.start, tells.method.period)


def method_figures(tells: MethodTells) -> list[Figure]:
    """What is published, what each cell tells, how soon somebody is sure, and δ at each ε."""
    return [_published(tells), _cells(tells), _course(tells), _deltas(tells)]


def _named(tells: MethodTells) -> list[tuple[str, str, RiskTold]]:
    """Name, colour and risk of what is compared."""
    names = ["the cell that tells most", "the large cell that tells least"]
    colours = ["@warm", "@accent", "@ink", "@pale"]
    found = list(zip(names, colours, tells.cells, strict=False))
    noise = zip(("discrete Laplace noise", "discrete Gaussian noise"), colours[2:], tells.noise, strict=False)
    return [*found, *noise]


def _published(tells: MethodTells) -> Figure:
    others = (tells.worst.others or (0,))[0]
    rows: list[Spec] = []
    laws = ((_ABSENT, tells.method.law(others)), (_PRESENT, tells.method.law(others + 1)))
    shown = {value for _, law in laws for value in law}
    order = [str(value) for value in sorted(shown, key=lambda one: (isinstance(one, str), one))]
    for which, law in laws:
        rows += [{"which": which, "shown": str(value), "p": float(chance)} for value, chance in law.items()]
    spec = chart(
        200,
        data={"values": rows},
        mark={"type": "bar"},
        encoding={
            "x": {
                "field": "shown",
                "type": "nominal",
                "title": "what is published",
                "sort": order,
                "axis": {"labelAngle": 0},
            },
            "xOffset": {"field": "which", "sort": [_ABSENT, _PRESENT]},
            "y": {
                "field": "p",
                "type": "quantitative",
                "title": "how likely",
                "axis": {"format": ".0%", "tickCount": 5},
            },
            "color": lines([_ABSENT, _PRESENT], ["@pale", "@warm"]),
            "tooltip": [
                {"field": "which", "type": "nominal", "title": "the cell"},
                {"field": "shown", "type": "nominal", "title": "published"},
                {"field": "p", "type": "quantitative", "format": ".2%", "title": "how likely"},
            ],
        },
    )
    people = f"{others} other{'' if others == 1 else 's'}"
    text = (
        f"The cell that tells most has {people}. What is published of it without the person, and with: where "
        "only one of two bars stands, that value is proof."
    )
    return Figure("published", "What is published of one cell", text, text, spec)


def _cells(tells: MethodTells) -> Figure:
    ends = tells.method.start + tells.method.period
    most = min(max(ends + tells.method.period, 8), _MOST_COUNTS)
    told = {n: kind for kind in tells.kinds for n in kind.others or ()}
    rows: list[Spec] = []
    for n in range(most):
        start, period = tells.method.start, tells.method.period
        kind = told[n if n < ends else start + (n - start) % period]
        worst = "the most" if kind.risk.capacity.upper >= tells.worst.risk.capacity.lower else "less"
        rows.append({"others": n, "nats": kind.risk.capacity.upper, "which": worst})
    spec = chart(
        200,
        data={"values": rows},
        mark={"type": "bar"},
        encoding={
            "x": {
                "field": "others",
                "type": "ordinal",
                "title": "other people in the cell",
                "axis": {"labelAngle": 0, "labelOverlap": True},
            },
            "y": {
                "field": "nats",
                "type": "quantitative",
                "title": "nats, at most",
                "axis": {"format": ".3~g", "tickCount": 5},
            },
            "color": lines(["the most", "less"], ["@warm", "@accent"]),
            "tooltip": [
                {"field": "others", "type": "ordinal", "title": "others"},
                {"field": "nats", "type": "quantitative", "format": ".4f", "title": "nats, at most"},
            ],
        },
    )
    again = (
        "Every larger count tells the same as the last of these."
        if tells.method.period == 1
        else f"Larger counts go on like this: every {tells.method.period} counts it is the same again."
    )
    text = f"What a cell tells about one person on average at most, by how many others are in it. {again}"
    return Figure("cells", "What each cell tells", text, text, spec)


def _course(tells: MethodTells) -> Figure:
    named = _named(tells)
    rows: list[Spec] = [
        {"which": name, "cells": cells, "right": right}
        for name, _, kind in named
        for cells, right in kind.course
    ]
    x = {
        "field": "cells",
        "type": "quantitative",
        "title": "independent cells",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": [1, 10, 100, 1000], "format": "~g"},
    }
    y = {
        "field": "right",
        "type": "quantitative",
        "title": "a fifty-fifty guess is right",
        "scale": {"domain": [0.5, 1]},
        "axis": {"format": ".0%", "tickCount": 5},
    }
    spec = chart(
        230,
        layer=[
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 60}},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": lines([name for name, _, _ in named], [colour for _, colour, _ in named]),
                    "tooltip": [
                        {"field": "which", "type": "nominal", "title": "what is seen"},
                        {"field": "cells", "type": "quantitative", "title": "cells"},
                        {
                            "field": "right",
                            "type": "quantitative",
                            "format": ".2%",
                            "title": "right, at most",
                        },
                    ],
                },
            },
            {
                "data": {"values": [{"right": SURE}]},
                "mark": {"type": "rule", "strokeDash": [5, 5], "color": "@soft"},
                "encoding": {"y": {"field": "right", "type": "quantitative"}},
            },
        ],
    )
    sure = tells.worst.sure
    never = (
        "One cell of the worst kind never makes a guess that sure."
        if sure is None
        else (f"Of the worst kind {'one is' if sure == 1 else f'{sure:,} are'} enough.")
    )
    text = (
        "How often the best guess of somebody's presence is right, after so many cells with fresh chance "
        f"each. The broken line is 95 of 100. {never}"
    )
    return Figure("course", "How soon somebody is sure", text, text, spec)


def _deltas(tells: MethodTells) -> Figure:
    named = _named(tells)
    rows: list[Spec] = [
        {"which": name, "eps": epsilon, "delta": delta}
        for name, _, kind in named
        for epsilon, delta in zip(tells.epsilons, kind.deltas(tells.epsilons), strict=True)
    ]
    spec = chart(
        230,
        data={"values": rows},
        mark={"type": "line", "strokeWidth": 2.5},
        encoding={
            "x": {
                "field": "eps",
                "type": "quantitative",
                "title": "ε",
                "scale": {"nice": False},
                "axis": {"format": "~g", "tickCount": 6},
            },
            "y": {
                "field": "delta",
                "type": "quantitative",
                "title": "δ that it needs",
                "axis": {"format": ".3~g", "tickCount": 5},
            },
            "color": lines([name for name, _, _ in named], [colour for _, colour, _ in named]),
        },
    )
    proof = tells.worst.proof
    text = "Each ε holds with some δ: the lower the line, the more private. "
    text += (
        "Where it meets zero, this ε holds without."
        if proof == 0.0
        else f"That of the worst cell never falls below {percent(proof)}: so likely is something published "
        "that proves presence or absence, whatever ε is allowed."
    )
    return Figure("deltas", "Which ε holds, with which δ", text, text, spec)
