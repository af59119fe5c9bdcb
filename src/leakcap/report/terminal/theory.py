"""Channels, conversions and attacks on the terminal (Rich), from their records."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakcap.bound import Bound
from leakcap.plain import plain
from leakcap.report.records import (
    AttackRecord,
    ChannelRecord,
    ConvertRecord,
    DaleniusRecord,
    FindingRecord,
    MeasureRecord,
)
from leakcap.report.terminal.crossed import MOST_ROWS
from leakcap.report.terminal.plain_tables import plain_table
from leakcap.report.words.wording import CHANCE, few_of, outward_text, signed

__all__ = ["print_attacks", "print_channel", "print_dalenius", "print_route"]

_MOST_SECRETS = 8
_ACCENT, _SOFT = "bold cyan", "dim"


def print_channel(console: Console, record: ChannelRecord) -> None:
    """What a channel leaks, section by section, and the beliefs that it leads to, where these were asked."""
    secrets, outputs = record.shape
    _print_measures(console, f"{record.file}: {secrets} secrets, {outputs} outputs", record.measures)
    if record.hyper is not None:
        _print_hyper(console, record)


def print_dalenius(console: Console, record: DaleniusRecord) -> None:
    """What a channel leaks about another secret."""
    values, secrets, _ = record.shape
    about = f"{record.file}, about {record.correlation}"
    _print_measures(console, f"{about}: {values} values, seen through {secrets} secrets", record.measures)


def _print_measures(console: Console, title: str, measures: Sequence[MeasureRecord]) -> None:
    console.print(Text(plain(title), style="bold"))
    section = ""
    table = plain_table("", "value", "bits", "unit")
    table.columns[0].no_wrap = True
    for one in measures:
        if one.section != section:
            section = one.section
            table.add_row(Text(section, style=_SOFT))
        bound = _bound(one)
        wide = bound.width > 1e-9 * max(1.0, abs(bound.upper))
        value = f"{bound.lower:.10g} to {bound.upper:.10g}" if wide else f"{bound.upper:.10g}"
        bits = f"{bound.bits.upper:.6g}" if bound.unit == "nats" and math.isfinite(bound.upper) else ""
        name, unit = Text("  " + one.measure), Text(bound.unit, style=_SOFT)
        table.add_row(name, Text(value, style=_ACCENT), bits, unit)
    console.print(table)


def _bound(measure: MeasureRecord) -> Bound:
    """The interval that the record has, null for ∞."""
    low, high = (math.inf if end is None else end for end in (measure.lower, measure.upper))
    return Bound(low, high, measure.method, measure.source, measure.unit)


def _print_hyper(console: Console, record: ChannelRecord) -> None:
    """Which beliefs an output leads to, the likeliest first, and how often."""
    beliefs, secrets = record.hyper or (), record.secrets or ()
    console.print(Text("\nwhat is believed after an output", style=_SOFT))
    table = plain_table("", "how often", *map(plain, secrets[:_MOST_SECRETS]))
    for one in sorted(beliefs, key=lambda belief: -belief.probability)[:MOST_ROWS]:
        cells = (f"{belief:.4g}" for belief in one.posterior[:_MOST_SECRETS])
        table.add_row("", Text(f"{one.probability:.4g}", style=_ACCENT), *cells)
    console.print(table)
    if len(beliefs) > MOST_ROWS or len(secrets) > _MOST_SECRETS:
        sizes = f"{len(beliefs):,} beliefs about {len(secrets):,} secrets"
        console.print(Text(f"There are {sizes}; --json has all of them.", style=_SOFT))


def print_route(console: Console, record: ConvertRecord) -> None:
    """What follows from a guarantee, step by step, each with its source."""
    lines = [f"{record.from_} implies {record.to}"]
    for place, step in enumerate(record.steps, start=1):
        attained = "" if step.attained_by is None else f"\n      attained by {step.attained_by}"
        lines.append(f"{place}. {step.from_} ⇒ {step.to}\n      {step.formula}  [{step.source}]{attained}")
    console.print("\n".join(lines), soft_wrap=True, markup=False)
    for edge in record.looser:
        told = f"looser, as published: {edge.formula}  [{edge.source}]"
        console.print(told, style=_SOFT, markup=False)


def print_attacks(console: Console, record: AttackRecord) -> None:
    """What attacks got, what they may get at most, and what stops them."""
    found = record.findings
    pairs = all(_guarded(one) is not None for one in found)
    _print_table(console, found)
    if pairs:
        for one in found[::2]:
            console.print(Text(f"{one.attack}: stopped by {one.stopped_by}"))
        return
    for one in found:
        shown = ", ".join(
            f"{name.replace('_', ' ')} {_word(value)}"
            for name, value in one.own().items()
            if value not in ((), [])
        )
        if shown:
            console.print(Text(shown, style=_SOFT))
    console.print(Text(f"stopped by {found[0].stopped_by}"))


def _guarded(finding: FindingRecord) -> object:
    return finding.own().get("guarded")


def _how(finding: FindingRecord) -> str:
    guarded = _guarded(finding)
    return "" if guarded is None else "guarded" if guarded else "no guard"


def _print_table(console: Console, found: Sequence[FindingRecord]) -> None:
    table = Table(box=None, pad_edge=False)
    played = any(one.got_lower is not None for one in found)
    interval = ("99 %",) if played else ()
    for column in ("attack", "", "got", *interval, "at most", "ratio", ""):
        table.add_column(column, justify="left" if column in ("attack", "") else "right")
    for one in found:
        ratio = "∞" if one.ratio is None else f"{one.ratio:.4g}"
        cells = [_signed(one.got, upward=False)]
        cells += [_interval(one)] if played else []
        table.add_row(Text(one.attack), _how(one), *cells, _signed(one.at_most, upward=True), ratio, one.unit)
    console.print(table)
    for one in found:
        if one.above_by_chance is not None:
            name = f"{one.attack}, {_how(one)}" if _how(one) else one.attack
            console.print(Text(f"{name}: {CHANCE[one.above_by_chance]}"), soft_wrap=True)


def _signed(value: float | None, *, upward: bool) -> str:
    return signed(math.inf if value is None else value, upward=upward)


def _interval(finding: FindingRecord) -> str:
    if finding.got_lower is None or finding.got_upper is None:
        return "computed"
    return "–".join(outward_text(finding.got_lower, finding.got_upper, digits=3))


def _word(value: object) -> str:
    if value is None:
        return "∞"
    if isinstance(value, list | tuple):
        return few_of([str(one) for one in value])
    return f"{value:.6g}" if isinstance(value, float) else str(value)
