"""The report of a release: values and intervals, what they tell, what is left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from leakcap.release.columns.people import Covers
from leakcap.release.results.record import figure_held
from leakcap.report.pages.amended import amended_section
from leakcap.report.plots import release as plots
from leakcap.report.records import ReleasedRecord, ReleaseRecord, RowRecord
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
    figure_of,
    gains_section,
    headline,
    policy_section,
    price_cells,
    protection_section,
    statement_section,
)
from leakcap.report.words.crossed import crossed_table
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import ROUNDED, shared
from leakcap.report.words.wording import sum_text, to_its_noise
from leakcap.statement.restated import restated

__all__ = ["release_page"]

_FEW, _MOST = 4, 12
_ACROSS = 8
_INTERVAL = "exact integer noise: docs/noise.md"


def release_page(record: ReleaseRecord, audience: Audience) -> Document:
    """The report of what `leakcap release` or `leakcap sql` published."""
    full, total = audience == "reviewer", restated(record.so_far)
    sections = [
        Section("In short", (headline(total),)),
        Section("What is published", tuple(_published(record, full))),
        *([] if full else protection_section(record.policy, full=False)),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *amended_section(record.amendments),
    ]
    if full:
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            Section("Query by query", tuple(_queries(record))),
            *protection_section(record.policy, full=True),
            policy_section(record.policy),
        ]
    when, named = datetime.fromisoformat(record.time), record.publication
    about = "" if named is None else ". ".join(part for part in (record.dataset, named.line) if part)
    told = f"{len(record.releases):,} private statistics, {when:%-d %B %Y %H:%M} UTC"
    return Document(
        title=record.dataset if named is None else named.title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="release",
        audience=audience,
        sections=tuple(sections),
    )


def _published(record: ReleaseRecord, full: bool) -> Iterator[TextTable | Items | Paragraph | Plot]:
    rows: list[tuple[Text, ...]] = []
    for release in record.releases:
        if not release.values:
            rows.append((f"{release.name} (no group had enough people to appear)", "", "", ""))
        elif not release.grouped:
            rows.append((release.name, *_cells(release, release.values[0], full)))
        elif full and crossed_table(release, _ACROSS) is not None:
            rows.append((f"{release.name} (in a table of its own, below)", "", "", ""))
        elif full or len(release.values) <= _FEW:
            rows.append((release.name, "", "", ""))
            rows += [(f"   {_label(row)}", *_cells(release, row, full)) for row in release.values]
        else:
            rows.append((f"{release.name} ({len(release.values):,} values, in the full report)", "", "", ""))
    if not full and len(rows) > _MOST:
        rows[_MOST - 1 :] = [(f"and {len(rows) - _MOST + 1:,} more lines, in the full report", "", "", "")]
    yield TextTable(("statistic", "value", "95 % from", "to"), tuple(rows), (1, 2, 3))
    if full:
        yield from _crossed(record)
    # A record of before this was said is of the rows kept, unless the unit is a row.
    unsaid: Covers = "table" if record.policy.id_column is None else "rows kept"
    cut = any((release.covers or unsaid) == "rows kept" for release in record.releases)
    held = figure_held("rows kept" if cut else "table")
    yield Paragraph(
        f"Each interval holds, with probability 95 % over the noise, the figure that {held}. "
        "Counts and sums carry noise, so a small one can come out negative. That is kept, unless answers are "
        f"made to add up: clipping it would bias what is computed from it. {ROUNDED} "
        f"{not_counted(record.policy)}".rstrip(),
        soft=True,
    )
    about = shared([one.name for one in record.releases], [one.about for one in record.releases])
    if about:
        yield Items(tuple(about))
    changed = tuple((r.name, r.post_processed) for r in record.releases if r.post_processed is not None)
    if changed:
        yield TextTable(("statistic", "post-processed, which costs nothing"), changed)
    if full:
        for index, release in enumerate(r for r in record.releases if r.values and r.values[0].keys):
            label = f"{release.name}: values with 95 % intervals; the numbers are in the table"
            yield Plot(f"statistic-{index}", plots.statistic(release.name, release.values), label)


def _crossed(record: ReleaseRecord) -> Iterator[TextTable | Paragraph]:
    """The tables by two keys, rows by columns, each cell with its interval."""
    for release in record.releases:
        found = crossed_table(release, _ACROSS)
        if found is None:
            continue
        yield Paragraph(f"{release.name}, with 95 % intervals")
        rows = []
        for head, cells in found.rows:
            shown = (_cells(release, row, full=True) for row in cells)
            rows.append((head, *(_together(*cell) for cell in shown)))
        yield TextTable((found.corner, *found.heads), tuple(rows), tuple(range(1, len(found.heads) + 1)))


def _together(value: NotedNumber, low: str, high: str) -> Text:
    return value, f" ({low} to {high})"


def _cells(release: ReleasedRecord, row: RowRecord, full: bool) -> tuple[NotedNumber, str, str]:
    value, low, high = to_its_noise(row.value, *row.interval)
    noise = f"{release.noise.mechanism} noise"
    asked = f"{release.query}, and {noise} of scale {_scales(release)}" if full else noise
    return NotedNumber(value, Note(asked, _INTERVAL)), low, high


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
