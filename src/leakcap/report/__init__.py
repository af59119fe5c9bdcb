"""For people: terminal, JSON, HTML and plots. Nothing is computed here.

write_report     a page, or the values alone, of what a table released
read_record      what a command printed with `--json`, as a record
page_of          the page of a record
released_of      the tables that a record is of, from nothing but the record
ReleaseRecord    what a run released, with policy, statement and caps
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.report.records import ReleaseRecord
    from leakcap.report.records.recovered import released_of
    from leakcap.report.sources import page_of, read_record
    from leakcap.report.writing import write_report

__all__ = ["ReleaseRecord", "page_of", "read_record", "released_of", "write_report"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.report.records": ("ReleaseRecord",),
        "leakcap.report.records.recovered": ("released_of",),
        "leakcap.report.sources": ("page_of", "read_record"),
        "leakcap.report.writing": ("write_report",),
    },
)
