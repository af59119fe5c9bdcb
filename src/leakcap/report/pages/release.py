"""The report of a release: values and intervals, what they tell, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from leakcap.plain import counted
from leakcap.release.columns.people import Covers
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held, population_held
from leakcap.report.pages.amended import amended_section
from leakcap.report.pages.revised import revised_section
from leakcap.report.pages.workload import table_by_table, workload_blocks
from leakcap.report.plots import release as plots
from leakcap.report.records import ReleasedRecord, ReleaseRecord, RowRecord, same_as_line
from leakcap.report.records.tables import WorkloadRecord
from leakcap.report.render.document import (
    Audience,
    Document,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import (
    caps_section,
    certificate_section,
    figure_of,
    gains_section,
    headlined,
    policy_section,
    price_cells,
    protection_section,
    statement_section,
)
from leakcap.report.words.crossed import crossed_table
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import ROUNDED, headings, none_shown, shared, unreliable
from leakcap.report.words.wording import sum_text, to_its_noise
from leakcap.statement.restated import restated

__all__ = ["release_page"]

# A board's page has lists and tables of so many values; longer ones it names as being elsewhere.
_LINES, _CELLS = 24, 60
_ACROSS = 8
_INTERVAL = "exact integer noise: docs/noise.md"


def release_page(record: ReleaseRecord, audience: Audience) -> Document:
    """The report of what `leakcap release` or `leakcap sql` published."""
    full, total = audience == "reviewer", restated(record.so_far)
    sections = [
        Section("In short", headlined(total)),
        Section("What is published", tuple(_published(record, full))),
        *(Section(_of_tables(one), tuple(workload_blocks(one, audience))) for one in record.workloads),
        *([] if full else protection_section(record.policy, full=False)),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *revised_section(record.revisions),
        *amended_section(record.amendments),
        *certificate_section(record.certificate),
    ]
    if full:
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            Section("Query by query", tuple(_queries(record))),
            *(Section(f"Table by table: {one.name}", tuple(table_by_table(one))) for one in record.workloads),
            *protection_section(record.policy, full=True),
            policy_section(record.policy),
        ]
    when = datetime.fromisoformat(record.time)
    title, about = headings(record.dataset, record.publication)
    statistics = counted(len(record.releases), "private statistic")
    if tables := sum(table.asked for one in record.workloads for table in one.tables):
        statistics += f" and {counted(tables, 'table')}"
    told = f"{statistics}, {when:%-d %B %Y %H:%M} UTC"
    return Document(
        title=title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="release",
        audience=audience,
        sections=tuple(sections),
    )


def _of_tables(one: WorkloadRecord) -> str:
    return f"{one.name}: tables of counts with one budget"


def _published(record: ReleaseRecord, full: bool) -> Iterator[TextTable | Items | Paragraph | Plot]:
    rows: list[tuple[Text, ...]] = []
    shown, too_long = [], []
    for release in record.releases:
        crossed = crossed_table(release, _ACROSS) is not None
        if not full and len(release.values) > (_CELLS if crossed else _LINES):
            too_long.append(f"{release.name} ({len(release.values):,} values)")
            continue
        shown.append(release)
        if not release.values:
            rows.append((f"{release.name} ({none_shown(release)})", "", "", ""))
        elif not release.grouped:
            rows.append((release.name, *_cells(release, release.values[0], full)))
        elif crossed:
            rows.append((f"{release.name} (in a table of its own, below)", "", "", ""))
        else:
            rows.append((release.name, "", "", ""))
            rows += [(f"   {_label(row)}", *_cells(release, row, full)) for row in release.values]
    if rows:
        yield TextTable(("statistic", "value", "95 % from", "to"), tuple(rows), (1, 2, 3))
    yield from _crossed(shown)
    if too_long:
        told = "; ".join(too_long)
        yield Paragraph(f"Also published, but too long for this page; see the reviewer's report: {told}.")
    # A record of before this was said is of the rows kept, unless the unit is a row.
    unsaid: Covers = "table" if record.policy.id_column is None else "rows kept"
    cut = any((release.covers or unsaid) == "rows kept" for release in record.releases)
    held = figure_held("rows kept" if cut else "table") + population_held(record.releases)
    yield Paragraph(
        f"Each interval holds, with probability 95 % over the noise, the figure that {held}. "
        "Counts and sums carry noise, so a small one can come out negative. That is kept, unless answers are "
        f"made to add up: clipping it would bias what is computed from it. {_small_print(record, full)}",
        soft=True,
    )
    if record.same_as is not None:
        yield Paragraph(same_as_line(record.same_as, record.source), soft=True)
    elif full and record.source:
        yield Paragraph(f"The data: {record.source}.", soft=True)
    about = shared([one.name for one in record.releases], [one.about for one in record.releases])
    if about:
        yield Items(tuple(about))
    changed = tuple((r.name, r.post_processed) for r in record.releases if r.post_processed is not None)
    if changed:
        yield TextTable(("statistic", "post-processed, which costs nothing"), changed)
    if full:
        for index, release in enumerate(r for r in record.releases if r.values and r.values[0].keys):
            label = f"{release.name}: values with 95 % intervals; the numbers are in the table"
            yield Plot(
                f"statistic-{index}", plots.statistic(release.name, release.cells or release.values), label
            )


def _small_print(record: ReleaseRecord, full: bool) -> str:
    """How values are shown, what the flag says, what is not counted: to a board in fewer words, for its one
    sheet of paper."""
    flagged = unreliable(record.releases)
    if full:
        return " ".join(one for one in (ROUNDED, flagged, not_counted(record.policy)) if one)
    shown = ROUNDED.partition(";")[0] + "."
    short = f"{FLAG}: the noise is as large as the value." if flagged else ""
    return " ".join(one for one in (shown, short, not_counted(record.policy)) if one)


def _crossed(releases: Sequence[ReleasedRecord]) -> Iterator[TextTable | Paragraph]:
    """The tables in rows and columns, each cell with its interval."""
    for release in releases:
        found = crossed_table(release, _ACROSS)
        if found is None:
            continue
        yield Paragraph(f"{release.name}, with 95 % intervals")
        rows = tuple((*keys, *(_together(release, row) for row in cells)) for keys, cells in found.rows)
        heads = (*found.corner, *found.heads)
        yield TextTable(heads, rows, tuple(range(len(found.corner), len(heads))))


def _together(release: ReleasedRecord, row: RowRecord | None) -> Text:
    if row is None:
        return ""
    value, low, high = _cells(release, row, full=True)
    return value, f" ({low} to {high})"


def _cells(release: ReleasedRecord, row: RowRecord, full: bool) -> tuple[NotedNumber, str, str]:
    value, low, high = to_its_noise(row.value, *row.interval, release.places)
    noise = f"{release.noise.mechanism} noise"
    asked = f"{release.query}, and {noise} of scale {_scales(release)}" if full else noise
    flagged = f"{value} {FLAG}" if row.drowned else value
    return NotedNumber(flagged, Note(asked, _INTERVAL)), low, high


def _label(row: RowRecord) -> str:
    return plots.label(row.keys or {})


def _scales(release: ReleasedRecord) -> str:
    scales = release.noise.scales
    if len(scales) == 1:
        return sum_text(next(iter(scales.values())))
    return ", ".join(f"{sum_text(scale)} ({role})" for role, scale in scales.items())


def _queries(record: ReleaseRecord) -> Iterator[TextTable]:
    heads = ("statistic", "ε", "δ", "nats, person", "nats, table", "noise", "guess", "odds")
    rows = []
    for release in record.releases:
        alone = restated(release.statement)
        again = " (from the ledger, for free)" if release.repeated else ""
        guess, odds = figure_of(alone["coin_flip"]), figure_of(alone["odds"])
        noise = f"{release.noise.mechanism}, {_scales(release)}"
        rows.append((f"{release.name}{again}", *price_cells(release.price), noise, guess, odds))
    yield TextTable(heads, tuple(rows), (1, 2, 3, 4))
    yield TextTable(("statistic", "query"), tuple(map(_asked, record.releases)))


def _asked(release: ReleasedRecord) -> tuple[str, str]:
    return release.name, ". ".join(one for one in (release.query, release.counted) if one)
