"""The report of attacks: what each got, what the theory allows at most, what stops it."""

from __future__ import annotations

import math

from leakcap.report.document import Audience, Document, Figure, Grid, Note, Paragraph, Section, Text
from leakcap.report.drawings import bars
from leakcap.report.records import AttackRecord, FindingRecord
from leakcap.report.wording import quantity, signed

__all__ = ["attack_page"]


def attack_page(record: AttackRecord, audience: Audience) -> Document:
    """The report of `leakcap attack`."""
    found = record.findings
    drawn = [
        (
            _title(f, i, len(found)),
            _share(f),
            f"{_value(f.got, up=False)} of at most {_value(f.at_most)} {f.unit}",
        )
        for i, f in enumerate(found, 1)
    ]
    rows = tuple(_row(finding) for finding in found)
    stops = tuple((one, "") for one in dict.fromkeys(f.stopped_by for f in found))
    sections = [
        Section(
            "What was got",
            (
                bars(drawn, warm=1.0),
                Grid(("attack", "got", "at most", "ratio"), rows, (1, 2, 3)),
                Paragraph(
                    "What was got is exact where the attack is computed, and a frequency where it is played, "
                    "which may by chance exceed what is allowed on average.",
                    soft=True,
                ),
            ),
        ),
        Section("What stops it", tuple(Paragraph(f"{stop[:1].upper()}{stop[1:]}.") for stop, _ in stops)),
    ]
    if audience == "reviewer":
        sections += [
            Section(_title(f, i, len(found)), (Grid(("figure", "value"), _own(f), (1,)),))
            for i, f in enumerate(found, 1)
            if f.own()
        ]
    return Document(
        title=found[0].attack if found else "attacks",
        subtitle="An attack carried out, against what the theory allows at most",
        kind="attack",
        audience=audience,
        sections=tuple(sections),
    )


def _title(finding: FindingRecord, index: int, count: int) -> str:
    return finding.attack if count == 1 else f"{index}. {finding.attack}"


def _value(value: float | None, *, up: bool = True) -> str:
    return "∞" if value is None else signed(value, upward=up)


def _share(finding: FindingRecord) -> float:
    if finding.ratio is None or not math.isfinite(finding.ratio):
        return 1.0
    return min(max(finding.ratio, 0.0), 1.0)


def _row(finding: FindingRecord) -> tuple[Text, ...]:
    got = Note("what this attack got", "computed, or counted over its runs: docs/attacks.md")
    most = Note("what the theory allows at most", f"stopped by {finding.stopped_by}")
    return (
        finding.attack,
        Figure(f"{_value(finding.got, up=False)} {finding.unit}", got),
        Figure(f"{_value(finding.at_most)} {finding.unit}", most),
        _value(finding.ratio, up=False),
    )


def _own(finding: FindingRecord) -> tuple[tuple[Text, ...], ...]:
    def word(value: object) -> str:
        if value is None:
            return "∞"
        if isinstance(value, float):
            return quantity(value, value, "").strip()
        return f"{value:,}" if isinstance(value, int) else str(value)

    return tuple((name.replace("_", " "), word(value)) for name, value in finding.own().items())
