"""The pictures of what ε means, drawn from its numbers."""

from __future__ import annotations

import math

from leakcap.choosing.meaning import BITS, Meaning
from leakcap.statement.wording import at_most, percent
from leakcap.web.figures import Figure, Spec, chart, lines
from leakcap.web.reading import short_number

__all__ = ["figures"]

# A head and shoulders, about one unit across.
_PERSON = (
    "M0,-0.9A0.34,0.34,0,1,1,0,-0.22A0.34,0.34,0,1,1,0,-0.9Z"
    "M-0.62,0.9C-0.62,0.1,-0.4,-0.1,0,-0.1C0.4,-0.1,0.62,0.1,0.62,0.9Z"
)
_ODDS = 6.0
_HALF = math.log10(2.0)
_SCALES = (
    (_HALF, [-_HALF, -math.log10(1.5), 0, math.log10(1.5), _HALF]),
    (1.0, [-1, -_HALF, 0, _HALF, 1]),
    (2.0, [-2, -1, 0, 1, 2]),
    (3.0, [-3, -2, -1, 0, 1, 2, 3]),
    (_ODDS, [-6, -3, 0, 3, 6]),
)


def figures(m: Meaning) -> list[Figure]:
    """All pictures, in the order in which they are read."""
    return [_people(m), _information(m), _odds(m), _cases(m), _error(m), _tests(m), _orders(m)]


def _percent_of(count: float) -> int:
    return min(100, math.ceil(count * 100 - 1e-9))


def _people(m: Meaning) -> Figure:
    k, before = m.asked.family, round(m.asked.prior * 100)
    groups = [
        ("before", m.asked.prior, "@pale"),
        ("after, one person", m.after(), "@accent"),
        (f"after, {k} together", m.after(k), "@warm"),
    ]
    rows = [
        {
            "who": who,
            "x": i % 10,
            "y": i // 10,
            "is": who if i < _percent_of(share) else "not",
            "order": order,
        }
        for order, (who, share, _) in enumerate(groups)
        for i in range(100)
    ]
    names = [who for who, _, _ in groups]
    panel = {
        "width": 130,
        "height": 150,
        "mark": {"type": "point", "shape": _PERSON, "filled": True, "size": 110, "opacity": 1},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [-0.6, 9.6]}},
            "y": {
                "field": "y",
                "type": "quantitative",
                "axis": None,
                "scale": {"domain": [9.6, -0.6], "reverse": False},
            },
            "color": {
                "field": "is",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": [*names, "not"], "range": [c for _, _, c in groups] + ["@grid"]},
            },
        },
    }
    title = {"labelColor": "@ink", "labelFontSize": 13, "title": None, "labelPadding": 4}
    spec = chart(150, data={"values": rows})
    del spec["width"], spec["height"]
    spec |= {
        "autosize": "pad",
        "columns": 3,
        "spacing": 24,
        "facet": {"field": "who", "type": "nominal", "sort": names, "header": title},
        "spec": panel,
    }
    telling = (
        "The answer that tells most can raise that to "
        if m.pure
        else "The most telling answers, which one in twenty gets of whom it holds, raise that together to at "
        "most "
    )
    text = (
        f"A fact is believed of somebody with {before} %. {telling}{percent(m.after())}; for something that "
        f"{k} people share, to {percent(m.after(k))}."
    )
    if not m.pure:
        text += " A single answer has no limit."
    return Figure("people", "How sure somebody can become", text, text, spec, wide=True)


def _information(m: Meaning) -> Figure:
    slack = "" if m.pure else " and δ"
    told = [
        ("on average", m.average_bits, "@accent"),
        (f"any noise of this ε{slack}", m.tight_bits, "@soft"),
        ("in the worst case", m.worst_bits, "@warm"),
    ]
    if m.asked.mechanism == "any":
        del told[1]
    # Each bar has its number beside it: a bar may be too short to be seen.
    bars = [(f"{name}|≤ {at_most(bits)} bits", bits, colour) for name, bits, colour in told]
    names = [name for name, _, _ in bars]
    rows = [{"what": what, "bits": bits, "all": m.entropy_bits} for what, bits, _ in bars]
    axis = {"domain": False, "labelExpr": "split(datum.label, '|')", "labelLineHeight": 15}
    y = {"field": "what", "type": "nominal", "sort": names, "title": None, "axis": axis}
    x = {
        "field": "bits",
        "type": "quantitative",
        "title": "bits of one person's record",
        "scale": {"domain": [0, m.entropy_bits], "nice": False},
        "axis": {"tickCount": 8, "grid": False},
    }
    spec = chart(
        44 * len(bars),
        data={"values": rows},
        layer=[
            {
                "mark": {"type": "bar", "height": 18, "color": "@grid", "cornerRadius": 3},
                "encoding": {"x": {**x, "field": "all"}, "y": y},
            },
            {
                "mark": {"type": "bar", "height": 18, "cornerRadius": 3},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {
                        "field": "what",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": names, "range": [c for _, _, c in bars]},
                    },
                },
            },
            {
                "mark": {"type": "tick", "thickness": 3, "size": 22, "color": "@ink", "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
        ],
    )
    whole = f"{m.entropy_bits:.4g}"
    worst = (
        f"and at most {at_most(m.worst_bits)} with the unluckiest noise."
        if m.pure
        else "but nothing short of the whole record limits what the unluckiest noise tells."
    )
    text = (
        f"A record with {m.asked.values:,} equally likely values holds {whole} bits. The answers tell at "
        f"most {at_most(m.average_bits)} of them on average, {worst}"
    )
    return Figure("information", "How much of a record is told", text, text, spec)


def _odds(m: Meaning) -> Figure:
    k = m.asked.family
    spans = [
        ("one person", m.least(), m.after(), "@accent"),
        (f"{k} together", m.least(k), m.after(k), "@warm"),
    ]
    start = _log_odds(m.asked.prior)
    rows = [
        {"who": who, "low": _log_odds(low), "high": _log_odds(high), "start": start}
        for who, low, high, _ in spans
    ]
    names = [who for who, *_ in spans]
    y = {"field": "who", "type": "nominal", "sort": names, "title": None, "axis": {"domain": False}}
    reach = max(abs(start), *(abs(_log_odds(p)) for _, low, high, _ in spans for p in (low, high)))
    end, ticks = next((end, ticks) for end, ticks in _SCALES if reach <= end * 1.0001)
    ratio = "datum.value == 0 ? '1 : 1' : datum.value > 0 ? format(pow(10, datum.value), ',.2~r') + ' : 1' : "
    x = {
        "type": "quantitative",
        "title": "odds that the fact holds",
        "scale": {"domain": [-end, end], "nice": False},
        "axis": {
            "values": ticks,
            "labelExpr": ratio + "'1 : ' + format(pow(10, -datum.value), ',.2~r')",
        },
    }
    colour = {
        "field": "who",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": names, "range": [c for *_, c in spans]},
    }
    spec = chart(
        108,
        data={"values": rows},
        layer=[
            {
                "mark": {"type": "bar", "height": 14, "cornerRadius": 7},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": "@ink", "opacity": 1},
                "encoding": {"x": {**x, "field": "start"}, "y": y},
            },
        ],
    )
    note = " The axis ends at a million to one." if reach >= _ODDS else ""
    text = m.statement["odds"].sentence + " The dot is where they stood before." + note
    if not m.pure:
        text += (
            " The bars end where the twentieth of the answers that speaks most for the fact, or most against "
            "it, moves the odds on the whole."
        )
    return Figure("odds", "How far the odds can move", text, text, spec)


def _log_odds(p: float) -> float:
    if p <= 0.0 or p >= 1.0:
        return -_ODDS if p <= 0.0 else _ODDS
    return max(-_ODDS, min(_ODDS, math.log10(p) - math.log10(1.0 - p)))


def _cases(m: Meaning) -> Figure:
    before = max(m.asked.prior, 1.0 - m.asked.prior)
    average = max(m.guess.upper, before)
    worst = max(m.after(), 1.0 - m.least(), average)
    rows: list[Spec] = [
        {"what": "without the answers", "p": before},
        {"what": "on average", "p": average},
        {"what": "most telling answer" if m.pure else "most telling twentieth", "p": worst},
    ]
    colours = ["@pale", "@accent", "@warm"]
    if not m.pure:
        rows.append({"what": "most telling answer", "p": 1.0})
        colours.append("@warm")
    names = [str(row["what"]) for row in rows]
    spec = chart(
        150,
        data={"values": rows},
        mark={"type": "bar", "height": 24, "cornerRadius": 3},
        encoding={
            "y": {
                "field": "what",
                "type": "nominal",
                "sort": names,
                "title": None,
                "axis": {"domain": False},
            },
            "x": {
                "field": "p",
                "type": "quantitative",
                "title": "the guess is right",
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1], "grid": False},
            },
            "color": {
                "field": "what",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": names, "range": colours},
            },
            "tooltip": [
                {"field": "what", "type": "nominal", "title": "guess"},
                {"field": "p", "type": "quantitative", "format": ".2%", "title": "right, at most"},
            ],
        },
    )
    unlucky = (
        "when the noise is as unlucky as it can be."
        if m.pure
        else "on the most telling twentieth of the answers. A single answer has no limit short of certainty."
    )
    text = (
        f"The best guess whether the fact holds is right with {percent(before)} before, with at most "
        f"{percent(average)} on average over the noise, and with at most {percent(worst)} {unlucky}"
    )
    return Figure("cases", "The average case and the worst", text, text, spec)


def _tests(m: Meaning) -> Figure:
    most = f"the least that ε{'' if m.pure else ' and δ'} allow{'s' if m.pure else ''}"
    own, none = "these answers", "nothing learned"
    rows = [{"which": none, "alarms": 0.0, "misses": 1.0}, {"which": none, "alarms": 1.0, "misses": 0.0}]
    names, colours = [none, most], ["@pale", "@warm"]
    if m.asked.mechanism != "any":
        rows += [{"which": own, "alarms": a, "misses": b} for a, b in m.tests]
        names, colours = [none, own, most], ["@pale", "@accent", "@warm"]
    # Dashed and drawn last: it is seen where the answers do all that it allows.
    rows += [{"which": most, "alarms": a, "misses": b} for a, b in m.corners]
    solid: list[int] = []
    dashes = {"domain": names, "range": [[6, 5] if name == most else solid for name in names]}
    spec = chart(
        230,
        data={"values": rows},
        mark={"type": "line", "strokeWidth": 2.5},
        encoding={
            "x": {
                "field": "alarms",
                "type": "quantitative",
                "title": "false alarms",
                "axis": {"format": ".0%", "tickCount": 5},
            },
            "y": {
                "field": "misses",
                "type": "quantitative",
                "title": "misses, at least",
                "axis": {"format": ".0%", "tickCount": 5},
            },
            "color": lines(names, colours),
            "strokeDash": {"field": "which", "type": "nominal", "title": None, "scale": dashes},
        },
    )
    text = (
        "A test that tries to tell two possible records apart cannot lie below the lines: few false alarms "
        "are paid for with misses. The nearer to the diagonal, the more private."
    )
    total = f"ε = {at_most(m.epsilon)}"
    if not m.pure:
        total += f" and δ = {short_number(m.asked.delta)}"
        text += f" All answers together keep {total}."
    spoken = text + f" With {total} both errors can be {percent(m.corner)} at once."
    return Figure("tests", "What a test can achieve", text, spoken, spec)


def _orders(m: Meaning) -> Figure:
    own, most, pair, limit = "this mechanism", "any noise of this ε", "two known records", "ε"
    rows: list[Spec] = []
    for alpha, bound, tight, apart in m.orders:
        values = [(pair, apart)] + ([(most, tight)] if m.pure else [])
        values += [] if bound is None else [(own, bound.upper)]
        rows += [{"which": which, "alpha": alpha, "bits": value * BITS} for which, value in values]
    rows += [{"which": limit, "alpha": a, "bits": m.asked.epsilon * BITS} for a in (1.0, m.orders[-1][0])]
    names, colours = [own, most, pair, limit], ["@accent", "@pale", "@soft", "@warm"]
    if m.asked.mechanism == "any":
        names, colours = names[1:], ["@accent", "@soft", "@warm"]
    y: Spec = {
        "field": "bits",
        "type": "quantitative",
        "title": "bits, at most",
        "axis": {"format": "~g"},
    }
    if not m.pure:
        # Two records have no limit: their line leaves the picture at twice ε.
        names, colours = [own, pair, limit], ["@accent", "@soft", "@warm"]
        top = 2.0 * m.asked.epsilon * BITS
        rows = [row for row in rows if row["bits"] <= top] + [_leaving(m, pair, top)]
        y["scale"] = {"domain": [0, top], "nice": False}
    spec = chart(
        230,
        data={"values": rows},
        mark={"type": "line", "strokeWidth": 2.5},
        encoding={
            "x": {
                "field": "alpha",
                "type": "quantitative",
                "title": "α: 1 is the average, large the rarest answers",
                "scale": {"type": "log", "nice": False},
                "axis": {"values": [1, 10, 100, 1000], "format": "~g"},
            },
            "y": y,
            "color": lines(names, colours),
        },
    )
    shannon = m.orders[0]
    low = shannon[2] if shannon[1] is None else shannon[1].upper
    ceiling = (
        f"no curve rises above ε = {at_most(m.asked.epsilon * BITS)} bits, the worst case of all."
        if m.pure
        else "between two known records it grows with α without end, past ε = "
        f"{at_most(m.asked.epsilon * BITS)} bits: without δ no ε holds."
    )
    text = (
        "One query, seen by attackers who care more and more for the rare telling answer. On average (α = 1) "
        f"at most {at_most(low * BITS)} bits are told; {ceiling}"
    )
    return Figure("orders", "From Shannon to ε", text, text, spec)


def _leaving(m: Meaning, which: str, top: float) -> Spec:
    """Where the line of two records, αD₁, meets the upper edge; its last point where it does not."""
    first = m.orders[0][3] * BITS
    alpha = min(top / first, m.orders[-1][0])
    return {"which": which, "alpha": alpha, "bits": alpha * first}


def _error(m: Meaning) -> Figure:
    if m.asked.mechanism == "response":
        return _truth(m)
    whole = m.asked.mechanism in ("laplace", "any")
    rows: list[Spec] = [{"eps": e, "error": _drawn(m.error_at(e))} for e in _ladder(1 if m.pure else 2)]
    here = [{"eps": m.asked.epsilon, "error": _drawn(m.error)}]
    x, y = _error_axes(f"a {'count' if whole else 'number'} is off by, at most")
    spec = chart(
        150,
        layer=[
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 2.5, "color": "@accent"}
                | ({"interpolate": "step-after"} if whole else {}),
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": here},
                "mark": {"type": "point", "filled": True, "size": 120, "color": "@warm", "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
        ],
    )
    if not whole:
        return Figure("error", "What it costs: the error of a number", _cost(m), _cost(m), spec)
    whose = "" if m.asked.mechanism == "laplace" else " (with discrete Laplace noise)"
    near = f"lies within ±{m.error_text} of the truth" if m.error else "is exact"
    text = f"Each published count{whose} {near} with 95 % probability, or more."
    return Figure("error", "What it costs: the error of a count", text, text, spec)


def _drawn(error: float) -> float:
    """A count that is exact stands at the lower end of a logarithmic axis."""
    return max(error, 0.5) if isinstance(error, int) else error


def _cost(m: Meaning) -> str:
    near = (
        f"Each published number lies within ±{m.error_text} of the truth with 95 % probability, in units of "
        "what one person can change."
    )
    return near + m.noise


def _error_axes(title: str) -> tuple[Spec, Spec]:
    x = {
        "field": "eps",
        "type": "quantitative",
        "title": "ε of one query",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": [0.01, 0.1, 1, 10], "format": "~g"},
    }
    y = {
        "field": "error",
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log"},
        "axis": {"values": [1, 10, 100, 1000], "format": "~g"},
    }
    return x, y


def _ladder(step: int = 1) -> list[float]:
    return [float(f"{10 ** (-2 + i / 16):.4g}") for i in range(0, 49, step)]


def _truth(m: Meaning) -> Figure:
    from leakcap.definition.meaning import guess_bound

    rows = [{"eps": e, "error": guess_bound(e, m.asked.values)} for e in _ladder()]
    here = [{"eps": m.asked.epsilon, "error": m.truth}]
    x, _ = _error_axes("")
    y = {
        "field": "error",
        "type": "quantitative",
        "title": "an answer is true",
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "tickCount": 5},
    }
    spec = chart(
        150,
        layer=[
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 2.5, "color": "@accent"},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": here},
                "mark": {"type": "point", "filled": True, "size": 120, "color": "@warm", "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
        ],
    )
    text = (
        f"Each person's answer is the true one of {m.asked.values:,} values with probability "
        f"{percent(m.truth)} at most."
    )
    return Figure("error", "What it costs: the truth of an answer", text, text, spec)
