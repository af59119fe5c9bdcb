"""The report of a tree of counts: its upper levels as they hang together, its levels, what it tells."""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.plain import counted
from leakcap.release.results.pivot import FLAG
from leakcap.release.results.record import figure_held
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.records.versions import same_as_line
from leakcap.report.render.document import (
    Audience,
    Block,
    Card,
    Cards,
    Document,
    Drawing,
    Note,
    NotedNumber,
    Paragraph,
    Section,
    Text,
    TextTable,
)
from leakcap.report.render.drawings import Node, icicle
from leakcap.report.sections import (
    PERSON,
    RHO,
    caps_section,
    certificate_section,
    gains_section,
    headline,
    policy_section,
    protection_section,
    statement_section,
)
from leakcap.report.words.promises import not_counted
from leakcap.report.words.publication import headings
from leakcap.report.words.trees import levels_that_fit, nodes_in_order, stated
from leakcap.report.words.wording import sum_text

__all__ = ["hierarchy_blocks", "hierarchy_page"]

_NODES: dict[Audience, int] = {"board": 40, "reviewer": 400}
_PICTURED = (
    "From left to right the levels of the tree, each node as high as its count. Grey: the noise is as large "
    "as the count. Framed: exact by law."
)
_COUNT = Note(
    "whole counts nearest to the least squares fit of the tree, with discrete Gaussian noise at each level",
    "docs/theory/hierarchies.md",
)
_BY_LAW = Note("published exactly, by law; named in the question, and never read from the data", "")


def hierarchy_page(record: HierarchyRecord, audience: Audience) -> Document:
    """The report of what `leakcap hierarchy` published."""
    full, total, known = audience == "reviewer", stated(record), record.policy
    beside = bool(record.exact)
    # What is exact by law is told before the headline: no line about the noisy counts speaks of it.
    exact = tuple(Paragraph(words) for words in (record.exact_statement,) if words)
    sections = [
        Section("In short", (*exact, headline(total))),
        Section("What is published", tuple(hierarchy_blocks(record, audience))),
        *([] if full or known is None else protection_section(known, full=False, exact_totals=beside)),
        gains_section(total, "What everything published so far lets an attacker do"),
        caps_section(record.caps, full=full),
        *certificate_section(record.certificate),
    ]
    if full:
        sections += [
            statement_section(total, "Every line of the statement", record.caps),
            Section("Level by level", (_levels(record),)),
        ]
        if known is not None:
            sections += [
                *protection_section(known, full=True, exact_totals=beside),
                policy_section(known),
            ]
    title, about = headings(record.dataset, record.publication)
    nodes = sum(len(level.keys) for level in record.levels)
    told = f"{record.name}: {counted(nodes, 'private count')} in {counted(len(record.levels), 'level')}"
    return Document(
        title=title,
        subtitle=". ".join(part for part in (about, told) if part),
        kind="hierarchy",
        audience=audience,
        sections=tuple(sections),
    )


def hierarchy_blocks(record: HierarchyRecord, audience: Audience) -> Iterator[Block]:
    """What was paid, the tree as a picture and as a table, what is exact, what the intervals hold."""
    if audience == "reviewer":
        yield _paid(record)
    shown = levels_that_fit(record, _NODES[audience])
    if shown > 1:
        yield _picture(record, shown, _NODES[audience])
        yield Paragraph(_PICTURED, soft=True)
    yield _tree(record, shown, _NODES[audience])
    if hidden := sum(len(level.keys) for level in record.levels) - _drawn(record, shown, _NODES[audience]):
        yield Paragraph(f"Also published, and not on this page: {counted(hidden, 'node')}.")
    for one in record.exact:
        yield Paragraph(f"Exact in {one.level}: {one.reason}")
    flagged = any(level.drowned for level in record.levels[:shown])
    unreliable = f" {FLAG}: unreliable, because the noise is as large as the count." if flagged else ""
    yield Paragraph(
        f"Each count is the sum of those below it. Each interval holds, with probability 95 % over the "
        f"noise, the figure that {figure_held(record.covers)}.{unreliable}",
        soft=True,
    )
    if record.about:
        yield Paragraph(record.about, soft=True)
    if record.policy is not None and (words := not_counted(record.policy)):
        yield Paragraph(words, soft=True)
    if record.same_as is not None:
        yield Paragraph(same_as_line(record.same_as, record.source), soft=True)
    elif audience == "reviewer" and record.source:
        yield Paragraph(f"The data: {record.source}.", soft=True)


def _paid(record: HierarchyRecord) -> Cards:
    """What the whole tree costs."""
    rho = "no bound" if record.rho is None else f"ρ = {sum_text(record.rho)}"
    nats = "no bound" if record.nats_person is None else f"{sum_text(record.nats_person)} nats"
    again = ", some time ago: it was repeated from the ledger for free" if record.repeated else ""
    return Cards(
        (
            Card(NotedNumber(rho, RHO), f"was paid for the whole tree, entry {record.entry}{again}"),
            Card(NotedNumber(nats, PERSON), "are told about one person on average by it, at most"),
        )
    )


def _picture(record: HierarchyRecord, shown: int, most: int) -> Drawing:
    """Each node as high as its count, beside the one that it is part of; the same nodes as in the table."""
    nodes = []
    for (depth, place, _), _n in zip(nodes_in_order(record, shown), range(most), strict=False):
        level = record.levels[depth]
        name, value, exact = str(level.keys[place]), level.values[place], place in level.exact
        ends = "exact" if exact else f"{level.lower[place]:,} to {level.upper[place]:,}"
        words = f"{name} ({level.level}): {value:,}, {ends}"
        kind = "known" if exact else "faint" if place in level.drowned else ""
        nodes.append(Node(depth, f"{name} {value:,}", value, words, kind))
    told = " down to ".join(dict.fromkeys((record.levels[0].level, record.levels[shown - 1].level)))
    return icicle(nodes, f"Counts from {told} as heights: {counted(len(nodes), 'node')}, all in the table.")


def _drawn(record: HierarchyRecord, shown: int, most: int) -> int:
    return min(most, sum(len(level.keys) for level in record.levels[:shown]))


def _tree(record: HierarchyRecord, shown: int, most: int) -> TextTable:
    rows: list[tuple[Text, ...]] = []
    for (depth, place, _), _n in zip(nodes_in_order(record, shown), range(most), strict=False):
        level = record.levels[depth]
        name, value = f"{'– ' * depth}{level.keys[place]}", f"{level.values[place]:,}"
        if place in level.exact:
            rows.append((name, level.level, NotedNumber(value, _BY_LAW), "exact"))
            continue
        shown_value = f"{value} {FLAG}" if place in level.drowned else value
        ends = f"{level.lower[place]:,} to {level.upper[place]:,}"
        rows.append((name, level.level, NotedNumber(shown_value, _COUNT), ends))
    return TextTable(("", "level", "count", "interval"), tuple(rows), (2, 3))


def _levels(record: HierarchyRecord) -> TextTable:
    """How many nodes each level has, how far its counts are off, and how many of them the noise drowns."""
    rows = tuple(
        (
            level.level,
            f"{len(level.keys):,}",
            NotedNumber(sum_text(max(level.standard_deviations, default=0.0), 3), _COUNT),
            f"{len(level.drowned):,}",
            f"{len(level.exact):,}",
        )
        for level in record.levels
    )
    heads = ("level", "nodes", "standard deviation of a count's error, at most", "unreliable", "exact")
    return TextTable(heads, rows, (1, 2, 3, 4))
