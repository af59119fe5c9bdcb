"""The report of a preview: what queries would cost and tell, before anything is touched."""

from __future__ import annotations

from leakcap.plain import counted
from leakcap.release.results.record import figure_held
from leakcap.report.pages.workload import planned_workload_section
from leakcap.report.records import PlannedRecord, PreviewRecord
from leakcap.report.render.document import (
    Audience,
    Block,
    Document,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import (
    caps_section,
    gains_section,
    headlined,
    policy_section,
    price_cells,
    protection_section,
    statement_section,
)
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import shared
from leakcap.report.words.wording import sum_text
from leakcap.statement.restated import restated

__all__ = ["preview_page"]

_MOST = 12


def preview_page(record: PreviewRecord, audience: Audience) -> Document:
    """The report of `leakcap preview`."""
    full, total = audience == "reviewer", restated(record.together)
    heads: tuple[str, ...] = ("statistic", "95 % error")
    heads += ("ε", "δ", "nats, person", "nats, table") if full else ("ε",)
    rows = tuple(_row(one, full) for one in record.statistics)
    if not full and len(rows) > _MOST:
        rows = (*rows[: _MOST - 1], (f"and {len(rows) - _MOST + 1:,} more, in the full report", "", ""))
    cut = any(one.covers == "rows kept" for one in record.statistics)
    held = figure_held("rows kept" if cut else "table")
    note = Paragraph(
        f"Each answer lies within its error of the figure that {held}, with probability 95 % "
        "over the noise. Nothing was read and nothing was spent.",
        soft=True,
    )
    below: list[Block] = [note]
    if left_out := not_counted(record.policy):
        below.append(Paragraph(left_out, soft=True))
    names = [one.name for one in record.statistics]
    if assumed := shared(names, [one.assumed for one in record.statistics]):
        below.append(Items(tuple(assumed)))
    if about := shared(names, [one.about for one in record.statistics]):
        below.append(Items((*about, *([] if record.offered is None else [record.offered]))))
    if warned := tuple(one.useless for one in record.statistics if one.useless is not None):
        below.append(Items(warned, caution=True))
    sections = [
        Section("In short, if all of it is published", headlined(total)),
        Section("What would be published", (TextTable(heads, rows, tuple(range(1, len(heads)))), *below)),
        *(planned_workload_section(one, full=full) for one in record.workloads),
        *([] if full else protection_section(record.policy, full=False)),
        gains_section(total, "What this plan alone would let an attacker do"),
        *_caps_sections(record, full=full),
    ]
    if full:
        queries = tuple((one.name, one.query) for one in record.statistics)
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            Section("The queries", (TextTable(("statistic", "query"), queries),)),
            *protection_section(record.policy, full=True),
            policy_section(record.policy),
        ]
    told = counted(len(record.statistics), "private statistic")
    if tables := sum(table.asked for one in record.workloads for table in one.tables):
        told += f" and {counted(tables, 'table')}"
    return Document(
        title=record.dataset,
        subtitle=f"A plan of {told}",
        kind="plan",
        audience=audience,
        sections=tuple(sections),
    )


def _caps_sections(record: PreviewRecord, *, full: bool) -> tuple[Section, ...]:
    title = "What it would take of the caps, were nothing spent before"
    return (caps_section(record.caps, title, full=full),) if record.caps else ()


def _row(one: PlannedRecord, full: bool) -> tuple[Text, ...]:
    scales = ", ".join(f"{sum_text(scale)} ({role})" for role, scale in one.noise_scales.items())
    note = Note(f"the 95 % quantile of the noise of scale {scales}", "docs/noise.md")
    shown = NotedNumber(f"± {sum_text(one.error)}" if one.error_95 is not None else "no bound", note)
    name = f"{one.name} ({one.remark})" if one.remark else one.name
    cells = price_cells(one.price)
    return (name, shown, *(cells if full else cells[:1]))
