"""The report of a running count: its totals as a picture, every period in a table, what it tells."""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.plain import counted
from leakcap.policy.document import Policy
from leakcap.release.results.record import figure_held
from leakcap.report.plots.running import running_chart
from leakcap.report.records.running import RunningRecord, SeriesRecord
from leakcap.report.render.document import (
    Audience,
    Block,
    Card,
    Cards,
    Document,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import (
    PERSON,
    RHO,
    caps_section,
    certificate_section,
    gains_section,
    headlined,
    policy_section,
    protection_section,
    statement_section,
)
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import estimated, headings
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["running_blocks", "running_page"]

_DRAWN = 6
# So many series are in tables, with so many of their last periods.
_SERIES: dict[Audience, int] = {"board": 4, "reviewer": 40}
_PERIODS: dict[Audience, int] = {"board": 12, "reviewer": 400}
_COUNT = Note(
    "best linear unbiased estimate from all periods so far, with discrete Gaussian noise by the square-root "
    "factorisation",
    "Fichtenberger, Henzinger & Upadhyay 2023; docs/theory/running.md",
)


def running_page(record: RunningRecord, audience: Audience) -> Document:
    """The report of what `leakcap running` published so far."""
    full, total = audience == "reviewer", restated(record.so_far)
    sections = [
        Section("In short", headlined(total)),
        Section("What is published", tuple(running_blocks(record, audience))),
        *([] if full else protection_section(record.policy, full=False)),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *certificate_section(record.certificate),
    ]
    if full:
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            *protection_section(record.policy, full=True, rows=_rows(record.policy)),
            policy_section(record.policy),
        ]
    title, about = headings(record.dataset, record.publication)
    answered = len(record.series[0].steps)
    told = f"{record.name}: {counted(answered, 'period')} of {record.horizon} by {record.period}"
    return Document(
        title=title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="running count",
        audience=audience,
        sections=tuple(sections),
    )


def running_blocks(record: RunningRecord, audience: Audience) -> Iterator[Block]:
    """What was paid, the totals as lines with bands, every period in a table, what the intervals hold."""
    if audience == "reviewer":
        yield _paid(record)
    if record.series[0].steps:
        drawn = [(_named(record, one), one) for one in record.series[:_DRAWN]]
        last = ", ".join(f"{name} {one.steps[-1].total:,.0f}" for name, one in drawn)
        told = f"Totals by {record.period} with 95 % intervals, at the end: {last}."
        yield Plot("running", running_chart(drawn), told)
    shown = record.series[: _SERIES[audience]]
    for one in shown:
        if record.by:
            yield Paragraph(_named(record, one))
        yield _periods(record, one, _PERIODS[audience])
    if hidden := len(record.series) - len(shown):
        yield Paragraph(f"Also published, and not on this page: {hidden:,} more series.")
    yield Paragraph(
        f"Each interval holds, with probability 95 % over the noise, the figure that "
        f"{figure_held(record.covers)}. Counts carry noise, so a small one can come out negative. Values are "
        "shown to what their noise leaves of them, each by itself; --json has every digit.",
        soft=True,
    )
    for words in (record.of_time, record.about, not_counted(record.policy)):
        if words:
            yield Paragraph(words, soft=True)
    if audience == "reviewer" and record.source:
        yield Paragraph(f"The data: {record.source}.", soft=True)


def _paid(record: RunningRecord) -> Cards:
    """What the whole horizon costs."""
    rho = "no bound" if record.rho is None else f"ρ = {sum_text(record.rho)}"
    nats = "no bound" if record.nats_person is None else f"{sum_text(record.nats_person)} nats"
    paid = f"was paid once for all {record.horizon:,} periods, entry {record.entry}"
    off = f"± {sum_text(record.worst_deviation, 3)}"
    return Cards(
        (
            Card(NotedNumber(rho, RHO), paid),
            Card(NotedNumber(nats, PERSON), "are told about one person on average by them, at most"),
            Card(NotedNumber(off, _COUNT), "is the error of the last total (standard deviation), at most"),
        )
    )


def _rows(policy: Policy) -> str:
    """Which rows of a person count: as in no other answer the same in every step, and not by a hash."""
    if policy.id_column is None:
        return ""
    first = "first row" if policy.rows_per_unit == 1 else f"first {policy.rows_per_unit:,} rows"
    return f"Of one {policy.id_column} the {first} by period count, the same in every step."


def _named(record: RunningRecord, one: SeriesRecord) -> str:
    """The series' keys, or what is counted where there is one series."""
    keys = zip(record.by, one.keys, strict=True)
    return ", ".join(f"{name} {key}" for name, key in keys) or record.name


def _periods(record: RunningRecord, one: SeriesRecord, most: int) -> TextTable:
    rows: list[tuple[Text, ...]] = []
    for step in one.steps[-most:]:
        count, of_count = estimated(step.count, (step.lower, step.upper))
        total, of_total = estimated(step.total, (step.total_lower, step.total_upper))
        noted = (NotedNumber(count, _COUNT), of_count, NotedNumber(total, _COUNT), of_total)
        rows.append((step.period, *noted))
    heads = (record.period, "count", "interval", f"total since {record.first}", "interval")
    return TextTable(heads, tuple(rows), (1, 2, 3, 4))
