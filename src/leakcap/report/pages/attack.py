"""The report of attacks: what each got, what the theory allows at most, what stops it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from leakcap.report.plots.attack import attack_figures, guard_figures
from leakcap.report.plots.release import Spec
from leakcap.report.records import AttackRecord, FindingRecord
from leakcap.report.render.document import (
    Audience,
    Document,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Section,
    Text,
    TextTable,
)
from leakcap.report.render.drawings import bars
from leakcap.report.words.wording import CHANCE, few_of, outward_text, quantity, signed

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
                TextTable(("attack", "got", "99 % interval", "at most", "ratio"), rows, (1, 2, 3, 4)),
                *(Paragraph(f"{_named(f)}: {CHANCE[f.above_by_chance]}.") for f in found if _above(f)),
                Paragraph(
                    "What was got is exact where the attack is computed, and a frequency where it is played, "
                    "which may by chance exceed what is allowed on average: the interval holds what it "
                    "stands for. Without its guard an attack may get more than is allowed.",
                    soft=True,
                ),
            ),
        ),
        Section("What stops it", tuple(Paragraph(f"{stop[:1].upper()}{stop[1:]}.") for stop, _ in stops)),
    ]
    if audience == "reviewer":
        sections += [
            Section(_title(f, i, len(found)), (TextTable(("figure", "value"), _own(f), (1,)),))
            for i, f in enumerate(found, 1)
            if f.own()
        ]
        sections[0] = Section(sections[0].title, (*sections[0].blocks, *_plots(found)))
    return Document(
        title=found[0].attack if len({f.attack for f in found}) == 1 else f"{len(found):,} attacks",
        subtitle="An attack carried out, against what the theory allows at most",
        kind="attack",
        audience=audience,
        sections=tuple(sections),
    )


def _named(finding: FindingRecord) -> str:
    detail = finding.own().get("sampler") or finding.own().get("joint")
    guarded = finding.own().get("guarded")
    guard = "" if guarded is None else ", guarded" if guarded else ", no guard"
    return f"{finding.attack}: {detail}{guard}" if detail else f"{finding.attack}{guard}"


def _title(finding: FindingRecord, index: int, count: int) -> str:
    return _named(finding) if count == 1 else f"{index}. {_named(finding)}"


def _plots(found: Sequence[FindingRecord]) -> list[Plot]:
    """The plots of this attack, with those findings that are finite."""
    return [
        Plot(f"figure-{index}", spec, f"{spec['title']['text']}; the numbers are in the table")
        for index, spec in enumerate(_specs(found))
    ]


def _specs(found: Sequence[FindingRecord]) -> list[Spec]:
    pairs = list(zip(found[::2], found[1::2], strict=False))
    if pairs and all((a.own().get("guarded"), b.own().get("guarded")) == (False, True) for a, b in pairs):
        drawn = [(_drawn(a), _drawn(b)) for a, b in pairs if _finite(a) and _finite(b)]
        return guard_figures(drawn) if drawn and len(found) == 2 * len(pairs) else []
    return attack_figures([_drawn(f) for f in found if _finite(f)]) if any(map(_finite, found)) else []


def _finite(finding: FindingRecord) -> bool:
    return finding.got is not None and finding.at_most is not None


def _drawn(finding: FindingRecord) -> Any:
    """A finding as plots take it: its figures as attributes, ∞ where the record says null."""
    own = {name: math.inf if value is None else value for name, value in finding.own().items()}
    plain = {"attack": finding.attack, "unit": finding.unit, "got": finding.got, "at_most": finding.at_most}
    return SimpleNamespace(**{**own, **plain})


def _value(value: float | None, *, up: bool = True) -> str:
    return "∞" if value is None else signed(value, upward=up)


def _share(finding: FindingRecord) -> float:
    if finding.got == 0.0:
        return 0.0
    if finding.ratio is None or not math.isfinite(finding.ratio):
        return math.inf
    return max(finding.ratio, 0.0)


def _row(finding: FindingRecord) -> tuple[Text, ...]:
    got = Note("what this attack got", "computed, or counted over its runs: docs/attacks.md")
    most = Note("what the theory allows at most", f"stopped by {finding.stopped_by}")
    return (
        _named(finding),
        NotedNumber(f"{_value(finding.got, up=False)} {finding.unit}", got),
        _interval(finding),
        NotedNumber(f"{_value(finding.at_most)} {finding.unit}", most),
        _value(finding.ratio, up=False),
    )


def _above(finding: FindingRecord) -> bool:
    return finding.above_by_chance is not None


def _interval(finding: FindingRecord) -> Text:
    if finding.got_lower is None or finding.got_upper is None:
        return "computed"
    return " to ".join(outward_text(finding.got_lower, finding.got_upper, digits=3))


def _own(finding: FindingRecord) -> tuple[tuple[Text, ...], ...]:
    def word(value: object) -> str:
        if value is None:
            return "∞"
        if isinstance(value, list | tuple):
            return few_of([str(one) for one in value], 200)
        if isinstance(value, float):
            return quantity(value, value, "").strip()
        return f"{value:,}" if isinstance(value, int) else str(value)

    return tuple((name.replace("_", " "), word(value)) for name, value in finding.own().items())
