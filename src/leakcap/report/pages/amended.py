"""What a report says of amendments of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from leakcap.report.records import AmendmentRecord, ChangeRecord
from leakcap.report.render.document import Items, Paragraph, Section, TextTable

__all__ = ["amended_section", "amendment_section"]


def amended_section(amendments: Sequence[AmendmentRecord]) -> tuple[Section, ...]:
    """All amendments in a line each; nothing where there were none."""
    told = tuple(map(_amended, amendments))
    return (Section("Amendments of the policy", (Items(told),)),) if told else ()


def amendment_section(amendment: AmendmentRecord) -> Section:
    """One amendment of the policy, field by field."""
    heads = ("field", "before", "after", "")
    rows = tuple((c.field, c.before, c.after, c.effect) for c in amendment.changes)
    told = (
        Paragraph(_amended(amendment)),
        TextTable(heads, rows),
        Paragraph(amendment.carried, soft=True),
    )
    return Section("An amendment of the policy", told)


def _amended(amendment: AmendmentRecord) -> str:
    when = datetime.fromisoformat(amendment.time)
    by = f" by {amendment.by}" if amendment.by else ""
    caps = [c for c in amendment.changes if c.field.startswith("caps.")]
    changed = f" Caps: {'; '.join(f'{c.field[5:]} {_words(c)}' for c in caps)}." if caps else ""
    return f"On {when:%Y-%m-%d %H:%M} UTC{by}: {amendment.reason.rstrip('.')}.{changed}"


def _words(change: ChangeRecord) -> str:
    if change.effect in ("new", "removed"):
        return f"{change.effect}, {change.after or change.before}"
    return f"{change.effect} from {change.before} to {change.after}"
