"""The picture of ε spent over time, beside its cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from leakcap.ledger import Entry
from leakcap.ledger.odometer import odometer
from leakcap.ledger.ticks import total
from leakcap.release import Policy
from leakcap.release.results.exposure import delta_said
from leakcap.report.words.wording import at_least, sum_text
from leakcap.web.figures import Figure, chart, lines

__all__ = ["over_time"]

_MOST_POINTS = 400


def over_time(
    policy: Policy, entries: Sequence[Entry], epsilon: Sequence[float], cap: float | None
) -> Figure:
    """ε spent after each entry, as the account of everything counts it, beside its cap.

    Where no cap is on ε and an answer has none of its own, it is what all answers together prove, which is no
    amount of a cap.
    """
    rows, every = [], math.ceil(len(entries) / _MOST_POINTS)
    proved = cap is None and math.isinf(epsilon[-1])
    if proved:
        epsilon = _proved(entries, delta_said(policy))
    for number, (entry, spent) in enumerate(zip(entries, epsilon, strict=True), start=1):
        if number % every == 0 or number == len(entries):
            when = f"{entry.time:%Y-%m-%d %H:%M}"
            row = {"n": number, "epsilon": spent, "which": "spent", "query": entry.query, "time": when}
            rows.append(row)
    rows.insert(0, {"n": 0, "epsilon": 0.0, "which": "spent", "query": "", "time": ""})
    ends = (0, len(entries)) if cap is not None else ()
    rows += [{"n": n, "epsilon": cap, "which": "cap", "query": "", "time": ""} for n in ends]
    spec = chart(
        200,
        data={"values": rows},
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 2.5, "point": {"size": 45}},
        encoding={
            "x": {
                "field": "n",
                "type": "quantitative",
                "title": "releases, in order",
                "axis": {"tickMinStep": 1, "format": "d"},
            },
            "y": {
                "field": "epsilon",
                "type": "quantitative",
                "title": "ε proved" if proved else "ε spent",
                "axis": {"format": "~g"},
            },
            "color": lines(["spent", "cap"], ["@accent", "@warm"]),
            "tooltip": [
                {"field": "query", "type": "nominal"},
                {"field": "time", "type": "nominal", "title": "UTC"},
                {"field": "epsilon", "type": "quantitative", "format": ".6g", "title": "ε so far"},
            ],
        },
    )
    first, last = entries[0].time, entries[-1].time
    when = f"{first:%-d %B %Y}" if first.date() == last.date() else f"{first:%-d %B %Y} to {last:%-d %B %Y}"
    many = "one release" if len(entries) == 1 else f"{len(entries):,} releases"
    said = "proved by all answers together" if proved else "spent"
    of = "" if cap is None else f" of {at_least(cap)}"
    text = f"{many}, {when} (UTC): ε = {sum_text(epsilon[-1])} {said}{of}."
    return Figure("spent", "The budget over time", text, text, spec)


def _proved(entries: Sequence[Entry], delta: float) -> list[float]:
    """The odometer's reading after each entry."""
    spends = (entry.spend.ticks(None).on_everything(entry.slot) for entry in entries)
    return [odometer(sums, delta).epsilon for sums in accumulate(spends, lambda a, b: total([a, b]))]
